//! What the two other servers say (whether they are there, and what time it is), and what the
//! database says.

use std::time::Duration;

use ostrakon_node::config::{Config, Role, ServerConfig};
use ostrakon_store::{Database, Error, Store};
use tokio::net::TcpStream;

use super::Findings;
use crate::system;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How far clocks may differ. A presence counts for longer than that, and an epoch should not end
/// early by it.
const SKEW: u64 = 5;

/// Asks the database and the two others.
pub async fn check(config: &Config, findings: &mut Findings) {
    database(config, findings).await;
    let own = config.id().index();
    let others: Vec<_> =
        config.servers.iter().enumerate().filter(|(party, _)| *party != own).collect();
    for (_, server) in others {
        // Only engines have links with the other servers.
        if config.process.role != Role::Intake {
            link(server, findings).await;
        }
        if let Err(reason) = clock(server, findings).await {
            findings
                .warning(format!("{} does not answer at {}: {reason}", server.name, server.url));
        }
    }
}

/// Whether a server can be reached by this one.
async fn link(server: &ServerConfig, findings: &mut Findings) {
    let connection = tokio::time::timeout(PATIENCE, TcpStream::connect(&server.address)).await;
    let wrong = match connection {
        Ok(Ok(_)) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no answer".into(),
    };
    findings.warning(format!(
        "{} cannot be reached at {} ({wrong}): it may not run yet, or a firewall is in between",
        server.name, server.address
    ));
}

/// Whether a PostgreSQL database lets this server in. It is joined as intake processes do, which
/// changes nothing in it and does not disturb a running engine.
async fn database(config: &Config, findings: &mut Findings) {
    let Ok(database @ Database::Postgres(_)) = config.database() else { return };
    match tokio::time::timeout(PATIENCE, Store::join(&database)).await {
        Ok(Ok(store)) => store.close().await,
        // An engine makes the schema, or brings it up to date, when it starts.
        Ok(Err(Error::OlderSchema)) if config.process.role != Role::Intake => {}
        Ok(Err(error)) => findings.error(error.to_string()),
        Err(_) => findings
            .error("the PostgreSQL database does not answer: check that it runs and that the store's URL leads to it"),
    }
}

/// Compares the clocks, as far as HTTP tells the time.
async fn clock(server: &ServerConfig, findings: &mut Findings) -> Result<(), String> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(PATIENCE)
        .build()
        .map_err(|error| error.to_string())?;
    let answer = client.head(format!("{}/healthz", server.url)).send().await;
    let answer = answer.map_err(|error| {
        std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
            .last()
            .map_or_else(String::new, ToString::to_string)
    })?;
    let date = answer.headers().get("date").and_then(|date| date.to_str().ok());
    let Some(theirs) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else {
        return Ok(());
    };
    let theirs = theirs.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let ours = system::unix_time();
    if ours.abs_diff(theirs) > SKEW {
        let (difference, side) =
            (ours.abs_diff(theirs), if ours > theirs { "ahead of" } else { "behind" });
        findings.warning(format!(
            "this machine's clock is {difference} s {side} that of {}: have both kept by NTP",
            server.name
        ));
    }
    Ok(())
}

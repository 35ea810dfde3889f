//! What the two other servers say: whether they are there, and what time it is.

use std::time::Duration;

use ostrakon_node::config::{Config, ServerConfig};
use tokio::net::TcpStream;

use super::Findings;
use crate::edge;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How far clocks may differ. A presence counts for longer than that, and an epoch should not end early by it.
const SKEW: u64 = 5;

/// Asks the two others.
pub async fn check(config: &Config, findings: &mut Findings) {
    let own = config.id().index();
    let others: Vec<_> = config.servers.iter().enumerate().filter(|(party, _)| *party != own).collect();
    for (_, server) in others {
        let connection = tokio::time::timeout(PATIENCE, TcpStream::connect(&server.address)).await;
        let wrong = match connection {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("no answer".into()),
        };
        if let Some(reason) = wrong {
            findings.warning(format!(
                "{} cannot be reached at {} ({reason}): it may not run yet, or a firewall is in between",
                server.name, server.address
            ));
        }
        if let Err(reason) = clock(server, findings).await {
            findings.warning(format!("{} does not answer at {}: {reason}", server.name, server.url));
        }
    }
}

/// Compares the clocks, as far as HTTP tells the time.
async fn clock(server: &ServerConfig, findings: &mut Findings) -> Result<(), String> {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().map_err(|error| error.to_string())?;
    let answer = client.head(format!("{}/healthz", server.url)).send().await;
    let answer = answer.map_err(|error| {
        std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
            .last()
            .map_or_else(String::new, ToString::to_string)
    })?;
    let date = answer.headers().get("date").and_then(|date| date.to_str().ok());
    let Some(theirs) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else { return Ok(()) };
    let theirs = theirs.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let ours = edge::unix_time();
    if ours.abs_diff(theirs) > SKEW {
        let (difference, side) = (ours.abs_diff(theirs), if ours > theirs { "ahead of" } else { "behind" });
        findings.warning(format!(
            "this machine's clock is {difference} s {side} that of {}: have both kept by NTP",
            server.name
        ));
    }
    Ok(())
}

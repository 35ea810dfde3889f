//! `ostrakon mixer status`: how a room stands, as everybody may see it who has its link.

use std::time::Duration;

use anyhow::Result;
use ostrakon_asynchromix::evidence::Deed;
use ostrakon_asynchromix::visitor::{End, Here};
use serde::Serialize;

use super::visiting::Visiting;
use super::{Link, words};
use crate::{failure, output, secret};

/// How long servers that do not answer are waited for.
const PATIENCE: Duration = Duration::from_secs(8);

/// Options of `mixer status`.
#[derive(clap::Args)]
pub struct Options {
    /// The room's link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Prints it as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Convicted<'a> {
    server: u8,
    name: &'a str,
    deed: Deed,
}

#[derive(Serialize)]
struct Status<'a> {
    entries: u64,
    open: bool,
    mixing: u32,
    prepared: u32,
    ended: Option<End>,
    silent: Vec<&'a str>,
    convicted: Vec<Convicted<'a>>,
}

/// Asks all servers once, and says what more of them than may lie say alike.
///
/// # Errors
/// If the room cannot be found, or too few servers answer.
pub async fn run(options: &Options) -> Result<()> {
    let mut visiting = Visiting::watch(&options.link).await?;
    let heard = async {
        while visiting.with(|visitor| !visitor.has_heard_all()) {
            visiting.next().await?;
        }
        anyhow::Ok(())
    };
    if let Ok(heard) = tokio::time::timeout(PATIENCE, heard).await {
        heard?;
    }
    let (here, believed) = visiting.with(|visitor| (visitor.here(), visitor.is_believed()));
    if !believed {
        return Err(failure::unreachable("too few servers answer to know how the room stands"));
    }
    let names = visiting.names();
    if options.json { json(&here, names) } else { print(&here, names) }
}

fn json(here: &Here, names: &[String]) -> Result<()> {
    let convicted = |(party, deed): &(ostrakon_party::PartyId, Deed)| Convicted {
        server: party.0,
        name: words::name(names, *party),
        deed: *deed,
    };
    output::json(&Status {
        entries: here.entries,
        open: here.collecting.is_some(),
        mixing: here.mixing,
        prepared: here.ready,
        ended: here.ended,
        silent: here.silent.iter().map(|party| words::name(names, *party)).collect(),
        convicted: here.convicted.iter().map(convicted).collect(),
    })
}

fn print(here: &Here, names: &[String]) -> Result<()> {
    let open = match here.collecting {
        Some(collecting) => {
            format!("round {} is open, {} have handed in", collecting.epoch, collecting.rows)
        }
        None => "no round is open".to_owned(),
    };
    output::line(&format!("{} rounds are on the board; {open}", here.entries))?;
    output::line(&words::stock(here))?;
    for party in &here.silent {
        output::line(&format!("{} does not answer", words::name(names, *party)))?;
    }
    if let Some(remedy) = words::remedy(here, names.len()) {
        output::line(&remedy)?;
    }
    words::convicted(here, names).iter().try_for_each(|line| output::line(line))
}

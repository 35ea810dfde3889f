//! `ostrakon committee up`: all members of a committee on this machine.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostrakon_computation::Committee;

use super::home::{FEWEST_REPORTS, Home, KIND, Settings};
use crate::output;
use crate::serving::cards::{Directory, Loopback, run_until_stopped};
use crate::serving::site::Server;

/// Options of `committee up`.
#[derive(clap::Args)]
pub struct Options {
    /// Where the members keep their keys and data; made on the first start.
    #[arg(long, default_value = "ostrakon-committee")]
    data_dir: PathBuf,
    /// On the first start: how many members [default: 3]. Any one honest keeps all inputs secret.
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=9))]
    members: Option<u8>,
    /// On the first start: the first member's public port; the others have the next ones.
    #[arg(long, default_value_t = 7200)]
    base_port: u16,
    /// On the first start: questions for statistics whose minimum of reports is smaller are
    /// refused.
    #[arg(long, value_name = "REPORTS", default_value_t = FEWEST_REPORTS, value_parser = clap::value_parser!(u32).range(1..))]
    fewest_reports: u32,
    /// The directory of the web client's files.
    #[arg(long)]
    web: Option<PathBuf>,
}

/// Members of a new committee, unless another number is asked for.
const MEMBERS: u8 = 3;

/// Runs the members until Ctrl-C.
///
/// # Errors
/// If they cannot be set up, or do not come to work.
pub async fn run(options: Options) -> Result<()> {
    let Options { data_dir, members, base_port, fewest_reports, web } = options;
    let prepared = prepared(&data_dir, members, base_port, fewest_reports);
    let (committee, servers) = prepared.context("--data-dir")?;
    run_until_stopped(servers, web.as_deref(), "the members find each other", || {
        let (members, url) = (committee.members.len(), &committee.members[0].url);
        let name = &committee.name;
        output::line(&format!("{members} members serve as the committee \"{name}\": {url}"))?;
        eprintln!("Ask something: ostrakon stats create --server {url} …");
        if web.is_some() {
            eprintln!("Or in a browser: {}", page(&committee));
            eprintln!("What the first member's operator sees: {url}/#/operator");
        }
        Ok(())
    })
    .await
}

/// Where people ask a committee.
pub fn page(committee: &Committee) -> String {
    format!("{}/#/ask", committee.members[0].url)
}

/// The committee of a directory, which is founded if there is none, and its members as processes
/// to be started.
///
/// # Errors
/// If files cannot be written, are missing or wrong, or there are not as many members as asked for.
pub fn prepared(
    directory: &Path,
    members: Option<u8>,
    base_port: u16,
    fewest_reports: u32,
) -> Result<(Committee, Vec<Server>)> {
    let group = Loopback::new(directory, &KIND);
    if !group.exists(members)? {
        create(&group, members.unwrap_or(MEMBERS), base_port, fewest_reports)?;
    }
    let (committee, _) = Home::open(Directory::new(&group.home(0), &KIND))?.committee()?;
    let cards = committee.members.iter();
    let servers = group.servers(cards.map(|card| (card.name.as_str(), card.url.as_str())));
    Ok((committee, servers))
}

/// Founds a committee on this machine.
///
/// # Errors
/// If its files cannot be written.
fn create(group: &Loopback<'_>, members: u8, base_port: u16, fewest_reports: u32) -> Result<()> {
    let places = group.places(members, base_port)?;
    let mut cards = Vec::new();
    for place in &places {
        let directory = Directory::new(&place.home, &KIND);
        let settings = Settings::new(place.http, place.mesh, fewest_reports);
        let (url, address) = (place.url(), place.mesh.to_string());
        cards.push(Home::create(directory, settings, &place.name, &url, &address)?);
    }
    group.hand_out(&places, &Committee::found("On this machine", cards)?)
}

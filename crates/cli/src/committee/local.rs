//! `ostrakon committee up`: all members of a committee on this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ostrakon_computation::Committee;

use super::home::{COMMITTEE, FEWEST_REPORTS, Home, Settings};
use crate::client::http_client;
use crate::processes::Processes;
use crate::serve::interrupted;
use crate::site::Server;
use crate::{output, secret};

/// From a member's public port to the port for the other members.
const MESH_OFFSET: u16 = 100;

/// Options of `committee up`.
#[derive(clap::Args)]
pub struct Options {
    /// Where the members keep their keys and data; made on the first start.
    #[arg(long, default_value = "ostrakon-committee")]
    data_dir: PathBuf,
    /// On the first start: how many members. Any one honest keeps all inputs secret.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=9))]
    members: u8,
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

/// Runs the members until Ctrl-C.
///
/// # Errors
/// If they cannot be set up, or do not come to work.
pub async fn run(options: Options) -> Result<()> {
    let Options { data_dir, members, base_port, fewest_reports, web } = options;
    let prepared = prepared(&data_dir, members, base_port, fewest_reports);
    let (committee, servers) = prepared.context("--data-dir")?;
    let mut processes = Processes::of(servers, web.as_deref())?;
    let http = http_client()?;
    let work = async {
        let spinner = output::spinner("the members find each other");
        processes.ready(&http, |reason| spinner.set_message(reason)).await?;
        spinner.finish_and_clear();
        output::line(&format!(
            "{} members serve as the committee \"{}\": {}",
            committee.members.len(),
            committee.name,
            committee.members[0].url
        ))?;
        eprintln!("Ask something: ostrakon stats create --server {} …", committee.members[0].url);
        if web.is_some() {
            eprintln!("Or in a browser: {}", page(&committee));
        }
        eprintln!("Ctrl-C stops the members; the next start continues with the same data.");
        processes.keep(|text| eprintln!("{text}")).await
    };
    let result = tokio::select! {
        result = work => result,
        () = interrupted() => {
            eprintln!("stopping");
            Ok(())
        }
    };
    processes.stop().await;
    result
}

/// Where people ask a committee.
pub fn page(committee: &Committee) -> String {
    format!("{}/#/ask", committee.members[0].url)
}

/// The committee of a directory, which is founded if there is none, and its members as processes
/// to be started.
///
/// # Errors
/// If files cannot be written, are missing or wrong.
pub fn prepared(
    directory: &Path,
    members: u8,
    base_port: u16,
    fewest_reports: u32,
) -> Result<(Committee, Vec<Server>)> {
    if !directory.exists() {
        create(directory, members, base_port, fewest_reports)?;
    }
    open(directory)
}

/// Founds a committee on this machine.
///
/// # Errors
/// If its files cannot be written.
fn create(directory: &Path, members: u8, base_port: u16, fewest_reports: u32) -> Result<()> {
    let last = u16::MAX - MESH_OFFSET - u16::from(members);
    ensure!((1..last).contains(&base_port), "--base-port must be from 1 to {last}");
    let mut cards = Vec::new();
    for number in 0..members {
        let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let http = at(base_port + u16::from(number));
        let mesh = at(base_port + MESH_OFFSET + u16::from(number));
        let (name, url) = (name(number), format!("http://{http}"));
        let home = directory.join(&name);
        let settings = Settings::new(http, mesh, fewest_reports);
        cards.push(Home::create(&home, settings, [&name, &url, &mesh.to_string()])?);
    }
    let committee = Committee::found("On this machine", cards)?;
    let text = serde_json::to_string_pretty(&committee)?;
    for number in 0..members {
        secret::write_new(&directory.join(name(number)).join(COMMITTEE), &text)?;
    }
    Ok(())
}

fn name(number: u8) -> String {
    format!("member-{}", number + 1)
}

/// The committee that [`create`] made, and its members as processes to be started.
///
/// # Errors
/// If a file is missing or wrong.
fn open(directory: &Path) -> Result<(Committee, Vec<Server>)> {
    let (committee, _) = Home::open(&directory.join(name(0)))?.committee()?;
    let server = |(number, member): (u8, &ostrakon_computation::Card)| {
        let home = directory.join(name(number));
        let log = home.join("log");
        Server {
            name: member.name.clone(),
            command: vec!["committee".into(), "serve".into(), "--home".into(), home.into()],
            log,
            url: member.url.clone(),
        }
    };
    let servers = (0..).zip(&committee.members).map(server).collect();
    Ok((committee, servers))
}

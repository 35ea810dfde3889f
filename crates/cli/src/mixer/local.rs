//! `ostrakon mixer up`: all servers of a room on this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ostrakon_asynchromix::Description;
use ostrakon_crypto::Digest;

use super::home::{Home, ROOM};
use super::{RoomOptions, link_of};
use crate::client::http_client;
use crate::processes::Processes;
use crate::serve::interrupted;
use crate::site::Server;
use crate::{edge, output, secret};

/// From a server's public port to the port for the other servers.
const MESH_OFFSET: u16 = 100;

/// Options of `mixer up`.
#[derive(clap::Args)]
pub struct Options {
    /// Where the servers keep their keys and data; made on the first start.
    #[arg(long, default_value = "ostrakon-mixer")]
    data_dir: PathBuf,
    /// On the first start: how many servers. 4 and 5 bear one that fails or lies, 7 bear two; 5 go
    /// on for ever without one.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(4..=11))]
    servers: u8,
    /// On the first start: the first server's public port; the others have the next ones.
    #[arg(long, default_value_t = 7400)]
    base_port: u16,
    /// On the first start: what the room is like. One person alone sees what it says.
    #[command(flatten)]
    room: RoomOptions,
    /// The directory of the web client's files.
    #[arg(long)]
    web: Option<PathBuf>,
}

impl Options {
    /// What `ostrakon up --engine asynchromix` runs.
    pub fn of_up(data_dir: PathBuf, servers: u8, base_port: u16, web: Option<PathBuf>) -> Self {
        let room = RoomOptions { places: 64, bytes: 280, seconds: 3 };
        Self { data_dir, servers, base_port, room, web }
    }
}

/// Runs the servers until Ctrl-C.
///
/// # Errors
/// If they cannot be set up, or do not come to work.
pub async fn run(options: Options) -> Result<()> {
    let directory = &options.data_dir;
    if !directory.exists() {
        create(&options).context("--data-dir")?;
    }
    let (description, servers) = open(directory).context("--data-dir")?;
    let room = description.room()?;
    let mut processes = Processes::of(servers, options.web.as_deref())?;
    let http = http_client()?;
    let work = async {
        let spinner = output::spinner("the servers make their common key");
        processes.ready(&http, |reason| spinner.set_message(reason)).await?;
        spinner.finish_and_clear();
        output::line(&format!(
            "The room \"{}\" is open. Any of these links leads there:",
            description.name
        ))?;
        for server in 0..description.servers.len() {
            output::line(&format!("  {}", link_of(&description, server, &room)))?;
        }
        eprintln!("{}", promise(&description));
        eprintln!("Ctrl-C stops the servers; the next start continues with the same data.");
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

/// What people are told of a room with so many servers (step W6).
pub fn promise(description: &Description) -> String {
    let (servers, corrupt) = (description.servers.len(), description.corrupt);
    let some = if corrupt == 1 { "one".to_owned() } else { corrupt.to_string() };
    let lasting = if servers > 3 * corrupt + 1 {
        format!("and new rounds go on without {some}")
    } else {
        format!(
            "but new rounds need all {servers}: without one, what is prepared lasts for a few rounds"
        )
    };
    let trial = if description.shape.minimum == 1 {
        "\nThis room is a trial: whoever is alone in a round is alone on the board, so it hides nobody."
    } else {
        ""
    };
    format!(
        "Of {servers} servers {some} may fail, be blocked or lie at any moment: what is under way comes out, {lasting}.{trial}"
    )
}

fn create(options: &Options) -> Result<()> {
    let Options { data_dir, servers, base_port, room, .. } = options;
    let last = u16::MAX - MESH_OFFSET - u16::from(*servers);
    ensure!((1..last).contains(base_port), "--base-port must be from 1 to {last}");
    let mut cards = Vec::new();
    for number in 0..*servers {
        let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let http = at(base_port + u16::from(number));
        let mesh = at(base_port + MESH_OFFSET + u16::from(number));
        let (name, url) = (name(number), format!("http://{http}"));
        let home = data_dir.join(&name);
        cards.push(Home::create(&home, (http, mesh), &name, &url, &mesh.to_string())?);
    }
    let description = Description {
        name: "Agora".to_owned(),
        nonce: Digest(edge::random()),
        corrupt: ostrakon_mixer::demo::corrupt(cards.len())?,
        servers: cards,
        // One person alone is to see what it says.
        shape: room.shape(1),
        admitted: None,
    };
    drop(description.room()?);
    let text = serde_json::to_string_pretty(&description)?;
    for number in 0..*servers {
        secret::write_new(&data_dir.join(name(number)).join(ROOM), &text)?;
    }
    Ok(())
}

fn name(number: u8) -> String {
    format!("server-{}", number + 1)
}

/// The room that [`create`] made, and its servers as processes to be started.
fn open(directory: &Path) -> Result<(Description, Vec<Server>)> {
    let (description, _) = Home::open(&directory.join(name(0)))?.room()?;
    let server = |(number, card): (u8, &ostrakon_asynchromix::Card)| {
        let home = directory.join(name(number));
        Server {
            name: card.name.clone(),
            log: home.join("log"),
            command: vec!["mixer".into(), "serve".into(), "--home".into(), home.into()],
            url: card.url.clone(),
        }
    };
    let servers = (0..).zip(&description.servers).map(server).collect();
    Ok((description, servers))
}

//! `ostrakon up`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ostrakon_broadcast::client::Link;
use ostrakon_broadcast::room::{Admission, PRACTICE};
use ostrakon_node::config::Mail;
use ostrakon_protocol::{NewRoom, RoomInfo, RoomState};
use tokio::task::JoinSet;

use crate::client::http_client;
use crate::committee::{FEWEST_REPORTS, local};
use crate::processes::Processes;
use crate::serve::interrupted;
use crate::site::{Ports, Site};
use crate::{chat, mixer, output};

/// Options of `up`.
#[derive(clap::Args)]
pub struct Options {
    /// Where the servers keep their configuration, keys and data; made on the first start.
    #[arg(long, default_value = "ostrakon-data")]
    data_dir: PathBuf,
    /// The directory of the web client's files.
    #[arg(long)]
    web: Option<PathBuf>,
    /// On the first start: the first server's public port; the others have the next two.
    #[arg(long, default_value_t = 7000)]
    base_port: u16,
    /// On the first start: a mail server on this machine, as in smtp://127.0.0.1:1025, which the
    /// first server hands e-mail to.
    #[arg(long, value_name = "URL")]
    smtp: Option<String>,
    /// Runs one room on servers of which some may fail, be blocked or lie, instead of the three.
    #[arg(long, value_enum, conflicts_with_all = ["messages", "committee", "smtp"])]
    engine: Option<Engine>,
    /// How many servers that room has; 5 go on for ever without one, 7 bear two.
    #[arg(long, requires = "engine", value_parser = clap::value_parser!(u8).range(4..=11))]
    servers: Option<u8>,
    /// Opens a room for messages, too, with a partner for practice, and prints how to call it.
    #[arg(long)]
    messages: bool,
    /// Runs a committee of so many members, too, which computes statistics, and prints where it is
    /// asked.
    #[arg(long, value_name = "MEMBERS", value_parser = clap::value_parser!(u8).range(2..=9))]
    committee: Option<u8>,
    /// On the first start of a committee: questions whose minimum of reports is smaller are
    /// refused.
    #[arg(long, value_name = "REPORTS", requires = "committee", default_value_t = FEWEST_REPORTS, value_parser = clap::value_parser!(u32).range(1..))]
    fewest_reports: u32,
}

/// An engine of its own servers.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Engine {
    /// Without a clock: what is under way comes out whatever a third of the servers does.
    Asynchromix,
}

/// From the first server's public port to the first member's.
const COMMITTEE_OFFSET: u16 = 200;

/// Runs the servers until Ctrl-C.
///
/// # Errors
/// If they cannot be set up, or do not come to work.
pub async fn run(options: Options) -> Result<()> {
    if let Some(web) = &options.web {
        ensure!(
            web.join("index.html").is_file(),
            "--web: {} holds no index.html; build the page first",
            web.display()
        );
    }
    if let Some(Engine::Asynchromix) = options.engine {
        let directory = options.data_dir.join("mixer");
        let servers = options.servers.unwrap_or(4);
        let options =
            mixer::local::Options::of_up(directory, servers, options.base_port, options.web);
        return mixer::local::run(options).await;
    }
    let site = match Site::open(&options.data_dir) {
        Ok(site) => site,
        Err(_) if !options.data_dir.exists() => first_site(&options)?,
        Err(error) => return Err(error.context("--data-dir")),
    };
    let mut processes = Processes::start(&site, options.web.as_deref())?;
    let result = tokio::select! {
        result = work(&site, &mut processes, &options) => result,
        () = interrupted() => {
            eprintln!("stopping");
            Ok(())
        }
    };
    processes.stop().await;
    result
}

fn first_site(options: &Options) -> Result<Site> {
    let mail = options.smtp.as_ref().map(|smtp| Mail {
        smtp: smtp.clone(),
        from: "Ostrakon <ostrakon@localhost.localdomain>".to_owned(),
        user: None,
        password_file: None,
    });
    Site::create_with(&options.data_dir, Ports::from_base(options.base_port)?, |party, config| {
        if party == 0 {
            config.mail.clone_from(&mail);
        }
    })
}

async fn work(site: &Site, processes: &mut Processes, options: &Options) -> Result<()> {
    let http = http_client()?;
    let spinner = output::spinner("the servers set up");
    processes.ready(&http, |reason| spinner.set_message(reason)).await?;
    spinner.set_message("opening the room");
    let administrator = site.administrator(http.clone())?;
    let rooms = administrator.rooms().await?;
    let open = |room: &&RoomInfo, messages: bool| {
        let is_for_messages = room.descriptor.admission == Admission::Messages;
        room.state == RoomState::Open && is_for_messages == messages
    };
    let room = match rooms.iter().find(|room| open(room, false)) {
        Some(room) => room.clone(),
        None => {
            administrator.create(first_room()).await.context("the first room cannot be created")?
        }
    };
    spinner.finish_and_clear();
    announce(&room, &administrator.links(&room).await?)?;
    if !options.messages {
        eprintln!("With --messages there is also a room in which two people write to each other.");
    }
    let mut practice = JoinSet::new();
    if options.messages {
        let room = match rooms.iter().find(|room| open(room, true)) {
            Some(room) => room.clone(),
            None => administrator.create(messages_room()).await?,
        };
        let link = administrator.links(&room).await?.swap_remove(0);
        let (contact, partner) =
            chat::practice(link.clone(), options.data_dir.join("practice")).await?;
        output::line(&format!(
            "For messages between two people there is \"{}\":\n  {link}\nOpen this in a browser to meet a partner for practice, a program that gives you your \
             own words back:\n  {contact}",
            room.descriptor.name
        ))?;
        practice.spawn(async {
            if let Err(error) = partner.await {
                eprintln!("the partner for practice has left: {error:#}");
            }
        });
    }
    if let Some(members) = options.committee {
        let directory = options.data_dir.join("committee");
        let port = options.base_port.checked_add(COMMITTEE_OFFSET).context("--base-port")?;
        let (committee, servers) =
            local::prepared(&directory, members, port, options.fewest_reports)?;
        processes.add(servers)?;
        processes.ready(&http, |_| ()).await?;
        output::line(&format!(
            "A committee of {} computes statistics of what people answer; ask it something:\n  {}",
            committee.members.len(),
            local::page(&committee)
        ))?;
    }
    processes.keep(|text| eprintln!("{text}")).await
}

/// One person alone is to see what it says.
fn first_room() -> NewRoom {
    NewRoom { capacity: 64, seconds: 6, minimum: PRACTICE, ..NewRoom::named("Agora") }
}

/// One person alone is to find out how it goes, and to have an answer within twenty seconds: that
/// takes two cycles of rounds, and a turn of the conversation's channel.
fn messages_room() -> NewRoom {
    NewRoom {
        admission: Admission::Messages,
        retention_days: Some(1),
        capacity: 64,
        seconds: 1,
        minimum: PRACTICE,
        ..NewRoom::named("Letters")
    }
}

fn announce(room: &RoomInfo, links: &[Link]) -> Result<()> {
    output::line(&format!(
        "The room \"{}\" is open. Any of these links leads there:",
        room.descriptor.name
    ))?;
    links.iter().try_for_each(|link| output::line(&format!("  {link}")))?;
    eprintln!("Ctrl-C stops the servers; the next start continues with the same data.");
    Ok(())
}

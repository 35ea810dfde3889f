//! `ostrakon up`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ostrakon_mixing::link::Link;
use ostrakon_mixing::room::{Admission, PRACTICE};
use ostrakon_node::config::Mail;
use ostrakon_protocol::{NewRoom, RoomInfo, RoomState};
use tokio::task::JoinSet;

use crate::client::http_client;
use crate::committee::{FEWEST_REPORTS, local};
use crate::serving::processes::Processes;
use crate::serving::serve::interrupted;
use crate::serving::site::{Ports, Site};
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
    /// With --engine: how many servers that room has, 4 to 11; 5 go on for ever without one, 7 bear
    /// two. Otherwise as --committee.
    #[arg(long, group = "size")]
    servers: Option<u8>,
    /// Opens a room for messages, too, with a partner for practice, and prints how to call it.
    #[arg(long)]
    messages: bool,
    /// Runs a committee of so many members, too, which computes statistics and, if they are three,
    /// on graphs, and prints where it is asked.
    #[arg(long, value_name = "MEMBERS", group = "size", value_parser = clap::value_parser!(u8).range(2..=9))]
    committee: Option<u8>,
    /// On the first start of a committee: questions whose minimum of reports is smaller are
    /// refused.
    #[arg(long, value_name = "REPORTS", requires = "size", conflicts_with = "engine", default_value_t = FEWEST_REPORTS, value_parser = clap::value_parser!(u32).range(1..))]
    fewest_reports: u32,
}

/// What runs besides the three servers, or instead of them.
#[derive(Debug, PartialEq, Eq)]
enum Work {
    /// A room of so many servers, alone; of as many as it has, or the usual number.
    Mixer(Option<u8>),
    /// The three servers, and a committee of so many members.
    Servers { members: Option<u8> },
}

impl Options {
    fn work(&self) -> Result<Work> {
        let Self { engine, servers, committee, .. } = self;
        match (engine, servers) {
            (Some(Engine::Asynchromix), servers) => {
                let bad = servers.filter(|servers| !(4..=11).contains(servers));
                ensure!(bad.is_none(), "--servers: a room of this engine has 4 to 11");
                Ok(Work::Mixer(*servers))
            }
            (None, servers) => {
                let bad = servers.filter(|servers| !(2..=9).contains(servers));
                ensure!(bad.is_none(), "--servers: a committee on one machine has 2 to 9");
                Ok(Work::Servers { members: committee.or(*servers) })
            }
        }
    }
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
    let members = match options.work()? {
        Work::Mixer(servers) => {
            let directory = options.data_dir.join("mixer");
            let options =
                mixer::local::Options::of_up(directory, servers, options.base_port, options.web);
            return mixer::local::run(options).await;
        }
        Work::Servers { members } => members,
    };
    let site = match Site::open(&options.data_dir) {
        Ok(site) => site,
        Err(_) if !options.data_dir.exists() => first_site(&options)?,
        Err(error) => return Err(error.context("--data-dir")),
    };
    let mut processes = Processes::start(&site, options.web.as_deref())?;
    let result = tokio::select! {
        result = work(&site, &mut processes, (&options, members)) => result,
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

async fn work(
    site: &Site,
    processes: &mut Processes,
    (options, members): (&Options, Option<u8>),
) -> Result<()> {
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
    if let Some(members) = members {
        let directory = options.data_dir.join("committee");
        let port = options.base_port.checked_add(COMMITTEE_OFFSET).context("--base-port")?;
        let (committee, servers) =
            local::prepared(&directory, Some(members), port, options.fewest_reports)?;
        processes.add(servers)?;
        processes.ready(&http, |_| ()).await?;
        output::line(&format!(
            "A committee of {} computes {}; ask it something:\n  {}",
            committee.members.len(),
            match committee.members.len() {
                3 => "statistics of what people answer, and on graphs that several know a part of",
                _ => "statistics of what people answer",
            },
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
    output::line(&opened(&room.descriptor.name, room.descriptor.minimum))?;
    links.iter().try_for_each(|link| output::line(&format!("  {link}")))?;
    eprintln!("Ctrl-C stops the servers; the next start continues with the same data.");
    Ok(())
}

/// What is said above a room's links.
fn opened(name: &str, minimum: u32) -> String {
    let practice = if minimum == PRACTICE {
        " It is for practice, without a crowd: what one person says alone is published, and everybody knows whose it is."
    } else {
        ""
    };
    format!("The room \"{name}\" is open.{practice} Any of these links leads there:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        options: Options,
    }

    fn work(arguments: &[&str]) -> Result<Work> {
        Program::try_parse_from([&["up"], arguments].concat())?.options.work()
    }

    #[test]
    fn so_many_servers_are_a_committee_or_a_room_of_the_engine() {
        let committee = |members| Work::Servers { members };
        assert_eq!(work(&[]).unwrap(), committee(None));
        assert_eq!(work(&["--servers", "5"]).unwrap(), committee(Some(5)));
        assert_eq!(work(&["--committee", "5"]).unwrap(), committee(Some(5)));
        assert_eq!(work(&["--servers", "2", "--fewest-reports", "3"]).unwrap(), committee(Some(2)));
        assert_eq!(work(&["--engine", "asynchromix"]).unwrap(), Work::Mixer(None));
        let seven = work(&["--engine", "asynchromix", "--servers", "7"]).unwrap();
        assert_eq!(seven, Work::Mixer(Some(7)));
        for wrong in [
            &["--servers", "10"][..],
            &["--servers", "1"],
            &["--engine", "asynchromix", "--servers", "3"],
            &["--fewest-reports", "3"],
            &["--servers", "3", "--committee", "3"],
            &["--engine", "asynchromix", "--servers", "4", "--fewest-reports", "3"],
        ] {
            let said = work(wrong).unwrap_err().to_string();
            assert!(said.contains("--servers") || said.contains("--engine"), "{wrong:?}: {said}");
        }
    }

    #[test]
    fn a_room_without_a_crowd_is_announced_as_one_for_practice() {
        let first = first_room();
        assert!(opened(&first.name, first.minimum).contains("for practice, without a crowd"));
        assert!(!opened(&first.name, PRACTICE + 1).contains("practice"));
    }
}

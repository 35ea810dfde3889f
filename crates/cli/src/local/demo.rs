//! `ostrakon demo`: real servers, real clients, and a file to say.

mod asynchromix;
mod decide;
mod graph;
mod stats;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use indicatif::ProgressBar;
use ostrakon_broadcast::Archive;
use ostrakon_mixing::room::{CAPACITY, PAYLOAD_BYTES};
use ostrakon_mixing::{EngineKind, engines};
use ostrakon_party::PartyId;
use ostrakon_protocol::NewRoom;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::{Event, Participant, Room, http_client};
use crate::output::MessageJson;
use crate::rooms::export;
use crate::rooms::room;
use crate::serving::processes::Processes;
use crate::serving::serve::interrupted;
use crate::serving::site::{Ports, Site};
use crate::{failure, output};

/// With fewer participants, covers join them: a lone speaker is not anonymous, and its epoch is not
/// published.
const FEWEST: usize = 6;

/// What is shown.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Says every line of a file, each by a participant of its own, and prints the board.
    Broadcast(Broadcast),
    /// Lets people decide, each with an account of its own and in a random order, and checks the
    /// result.
    Decide(decide::Options),
    /// Computes statistics of numbers in a file by servers of which none learns a number.
    Stats(stats::Options),
    /// Computes distances, degrees or rankings on several owners' edges by three servers of which
    /// none sees an edge.
    Graph(graph::Options),
}

/// Options of `demo broadcast`.
#[derive(clap::Args)]
pub struct Broadcast {
    /// The file; empty lines are left out.
    #[arg(long)]
    messages: PathBuf,
    /// The engine that mixes.
    #[arg(long, value_parser = demo_engine(), default_value = "ruffle")]
    engine: DemoEngine,
    /// With --engine asynchromix: how many servers, from 4 on; 4 bear one that is dead or lies.
    #[arg(long, value_name = "N")]
    servers: Option<usize>,
    /// With --engine asynchromix: kills these servers, from 0 on, in the middle of the first epoch:
    /// one of 4 to 6, up to two of 7 to 9, up to three of 10 and 11.
    #[arg(long, value_name = "SERVER,…", value_delimiter = ',')]
    kill: Vec<usize>,
    /// Seconds of an epoch; chosen by the number of lines unless given.
    #[arg(long)]
    seconds: Option<u32>,
    /// Keeps the exported board in this file.
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// Gives up after so many seconds.
    #[arg(long, default_value_t = 600)]
    timeout: u64,
    /// Prints one JSON object with the messages and the figures.
    #[arg(long)]
    json: bool,
}

/// The engines that can be shown.
#[derive(Clone, Copy, Debug)]
enum DemoEngine {
    /// Of three servers.
    Room(EngineKind),
    /// Of four or more servers without a clock.
    Asynchromix,
}

fn demo_engine() -> impl TypedValueParser<Value = DemoEngine> {
    let asynchromix = PossibleValue::new("asynchromix").help(
        "Four or more servers without a clock: the board is complete although some are dead or lie",
    );
    PossibleValuesParser::new(room::engine_names().chain([asynchromix]))
        .map(|name| engines::named(&name).map_or(DemoEngine::Asynchromix, DemoEngine::Room))
}

/// What came of it.
#[derive(Serialize)]
struct Summary<'a> {
    messages: Vec<MessageJson<'a>>,
    epochs: Vec<Epoch>,
    link: String,
    /// From the first participant's arrival to the last message's publication.
    seconds: f64,
    head: String,
    verified: bool,
}

#[derive(Serialize)]
struct Epoch {
    number: u64,
    accepted: u32,
    messages: usize,
}

/// Runs the demonstration.
///
/// # Errors
/// If the servers do not come to work, or what they publish is not what was said.
pub async fn run(command: Command) -> Result<()> {
    let options = match command {
        Command::Broadcast(options) => options,
        Command::Decide(options) => return decide::run(options).await,
        Command::Graph(options) => {
            return tokio::task::spawn_blocking(move || graph::run(&options)).await?;
        }
        Command::Stats(options) => {
            return tokio::task::spawn_blocking(move || stats::run(&options)).await?;
        }
    };
    let lines = read_lines(&options.messages).context("--messages")?;
    let engine = match options.engine {
        DemoEngine::Asynchromix => return asynchromix::run(&options, lines).await,
        DemoEngine::Room(kind) => kind,
    };
    ensure!(
        options.servers.is_none() && options.kill.is_empty(),
        "--servers and --kill are for --engine asynchromix; the other engines have three servers, \
         which all must be there"
    );
    let directory = tempfile::Builder::new().prefix("ostrakon-demo-").tempdir()?;
    let site = Site::create(directory.path(), Ports::free()?)?;
    let mut processes = Processes::start(&site, None)?;
    let limit = Duration::from_secs(options.timeout);
    let result = tokio::select! {
        result = tokio::time::timeout(
            limit,
            broadcast(&site, &mut processes, (&options, engine), &lines),
        ) => {
            result.unwrap_or_else(|_| Err(anyhow::anyhow!("not done after {limit:?}; --timeout gives it more time")))
        }
        () = interrupted() => Err(anyhow::anyhow!("interrupted")),
    };
    processes.stop().await;
    result
}

/// The file's lines, which are the messages.
fn read_lines(path: &Path) -> Result<Vec<Vec<u8>>> {
    let text = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let longest = *PAYLOAD_BYTES.end() as usize - 2;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        ensure!(
            line.len() <= longest,
            "line {number} has {} bytes; {longest} are the most",
            line.len()
        );
        if !line.is_empty() {
            lines.push(line.to_vec());
        }
    }
    ensure!(!lines.is_empty(), "{} has no lines", path.display());
    let most = *CAPACITY.end() as usize / 2;
    ensure!(lines.len() <= most, "{} lines; {most} are the most", lines.len());
    Ok(lines)
}

/// A room that everybody fits into, with some places to spare at each server.
fn room_for(lines: &[Vec<u8>], options: &Broadcast, engine: EngineKind) -> Result<NewRoom> {
    let participants = lines.len().max(FEWEST);
    let capacity = u32::try_from((participants + participants / 4 + 12).next_multiple_of(3))?;
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0) + 2;
    let payload = u32::try_from(longest.next_multiple_of(8))?.max(*PAYLOAD_BYTES.start());
    let seconds = options.seconds.unwrap_or(3 + u32::try_from(participants / 250)?);
    Ok(NewRoom {
        payload,
        capacity,
        seconds,
        engine: Some(engine),
        ..NewRoom::named("Demonstration")
    })
}

async fn broadcast(
    site: &Site,
    processes: &mut Processes,
    (options, engine): (&Broadcast, EngineKind),
    lines: &[Vec<u8>],
) -> Result<()> {
    let http = http_client()?;
    let spinner = output::spinner("three servers set up");
    processes.ready(&http, |reason| spinner.set_message(reason)).await?;
    let administrator = site.administrator(http.clone())?;
    let room = administrator.create(room_for(lines, options, engine)?).await?;
    let link = administrator
        .links(&room)
        .await?
        .into_iter()
        .next()
        .context("the servers have no links")?;
    let room = Room::open(&http, link).await?;
    spinner.finish_and_clear();

    let watching = room.watch();
    let bar = output::bar(lines.len(), "messages on the board");
    let start = Instant::now();
    tokio::select! {
        result = say_all(&room, lines, &bar) => result?,
        result = processes.keep(|text| bar.suspend(|| eprintln!("{text}"))) => result?,
    }
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    drop(watching);

    let (archive, text) = export::fetch(&room).await?;
    if let Some(file) = &options.archive {
        export::write(file, &text)?;
    }
    compare(lines, &archive)?;
    report(&room, &archive, seconds, options.json)
}

/// Lets everybody take part until every line is on the board. Whoever has spoken stays until then:
/// a last one alone would be too few, and never published.
async fn say_all(room: &Arc<Room>, lines: &[Vec<u8>], bar: &ProgressBar) -> Result<()> {
    let parties: Vec<PartyId> = room.parties().collect();
    let (published, mut on_board) = tokio::sync::mpsc::unbounded_channel();
    let mut everybody = JoinSet::new();
    for i in 0..lines.len().max(FEWEST) {
        // Spread over the servers from the start, which people who come one by one do by
        // themselves.
        let home = Some(parties[i % parties.len()]);
        let participant = Participant::new(room.clone(), lines.get(i).cloned(), home)?.staying();
        let (bar, published) = (bar.clone(), published.clone());
        everybody.spawn(participant.take_part(move |event| match event {
            Event::Again(epoch) => {
                tracing::info!(epoch, "a message enters the next epoch");
                bar.tick();
            }
            // Nobody listens once the last one is there.
            Event::Published(_) => drop(published.send(())),
            _ => {}
        }));
    }
    for _ in lines {
        tokio::select! {
            Some(()) = on_board.recv() => bar.inc(1),
            Some(ended) = everybody.join_next() => drop(ended??),
        }
    }
    Ok(())
}

/// Checks that the board holds every line as often as the file, and nothing else.
fn compare(lines: &[Vec<u8>], archive: &Archive) -> Result<()> {
    let mut missing: HashMap<&[u8], i64> = HashMap::new();
    for line in lines {
        *missing.entry(line).or_default() += 1;
    }
    for message in archive.entries.iter().flat_map(|signed| signed.entry.bodies()) {
        *missing.entry(message).or_default() -= 1;
    }
    let lost: i64 = missing.values().filter(|count| **count > 0).sum();
    let added: i64 = -missing.values().filter(|count| **count < 0).sum::<i64>();
    if lost != 0 || added != 0 {
        return Err(failure::unproven(format!(
            "the board lacks {lost} lines and has {added} that were not said"
        )));
    }
    Ok(())
}

fn report(room: &Room, archive: &Archive, seconds: f64, json: bool) -> Result<()> {
    let entries = archive.entries.iter().map(|signed| &signed.entry);
    let epochs: BTreeMap<u64, Epoch> = entries
        .clone()
        .map(|e| {
            (
                e.epoch.number,
                Epoch { number: e.epoch.number, accepted: e.accepted, messages: e.messages.len() },
            )
        })
        .collect();
    let messages: Vec<_> = entries.flat_map(|entry| entry.bodies()).collect();
    if messages.is_empty() {
        bail!("nothing was published");
    }
    if json {
        return output::json(&Summary {
            messages: messages.iter().map(|message| MessageJson::of(message)).collect(),
            epochs: epochs.into_values().collect(),
            link: room.link.to_string(),
            seconds,
            head: archive.head.to_hex(),
            verified: true,
        });
    }
    messages.iter().try_for_each(|message| output::message(message))?;
    eprintln!(
        "{} in {} and {seconds:.1} s, every line exactly once; the board's archive is authentic (head {})",
        output::counted(messages.len(), "message", "messages"),
        output::counted(epochs.len(), "epoch", "epochs"),
        archive.head.to_hex()
    );
    Ok(())
}

//! A demonstration: every line of a list is said by a participant of its own, while servers are
//! killed in the middle of the epoch.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_asynchromix::Participant;
use ostrakon_asynchromix::board::{Outcome, SignedEntry};
use ostrakon_asynchromix::participant::News;

use crate::devices::Devices;
use crate::process::{Note, Program};
use crate::runner::secret;
use crate::site::{Heard, Plan, Site};

/// With fewer participants, covers join them.
const FEWEST: usize = 6;
/// Fewest rows that are mixed, without those of the t homes that have most.
const MINIMUM: usize = 3;
/// Ticks of an epoch, and one more for so many lines.
const TICKS: u32 = 20;
const LINES_A_TICK: usize = 25;
/// How long a server that was killed may take to come back to where the others are.
const RETURN: Duration = Duration::from_secs(60);
/// How long founding and the first stock may take.
const FOUNDING: Duration = Duration::from_secs(300);

/// What is shown.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many servers.
    pub servers: usize,
    /// Who is killed in the middle of the first epoch: as many as may be corrupt, or fewer.
    pub kill: Vec<usize>,
    /// What is said.
    pub lines: Vec<Vec<u8>>,
    /// Ticks of an epoch; by the number of lines unless given.
    pub ticks: Option<u32>,
}

/// When an epoch came how far at the first server that did, in seconds since its first participant,
/// and at the last one for its end.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Times {
    /// Closed to participants.
    pub closed: f64,
    /// Sealed.
    pub sealed: f64,
    /// The shuffle begins.
    pub mixing: f64,
    /// Its output is there.
    pub mixed: f64,
    /// On the board at all servers that live.
    pub published: f64,
    /// Sealed rows.
    pub rows: usize,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The board.
    pub board: Vec<Arc<SignedEntry>>,
    /// Seconds from the start of the processes until all had founded the room.
    pub founded: f64,
    /// Until the first epoch could be opened everywhere.
    pub stocked: f64,
    /// From the first participant until the last line was on the board.
    pub seconds: f64,
    /// When servers were killed, since the first participant, and what happened just then.
    pub killed: Option<(f64, &'static str)>,
    /// Seconds that the servers which were killed took, started again from their disks, until all
    /// of them had the board.
    pub returned: Option<f64>,
    /// By epoch.
    pub times: BTreeMap<u64, Times>,
    /// What servers said of each other.
    pub faults: Vec<(usize, u8, String)>,
}

impl Shown {
    /// The messages, in the board's order.
    pub fn messages(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.board.iter().flat_map(|signed| match &signed.entry.outcome {
            Outcome::Messages(messages) => &messages[..],
            Outcome::TooFew => &[],
        })
    }

    /// Whether the board holds every line as often as the list, and nothing else.
    #[must_use]
    pub fn is_complete(&self, lines: &[Vec<u8>]) -> bool {
        let mut counts: HashMap<&[u8], i64> = HashMap::new();
        lines.iter().for_each(|line| *counts.entry(line).or_default() += 1);
        self.messages().for_each(|message| *counts.entry(message).or_default() -= 1);
        counts.values().all(|count| *count == 0)
    }
}

/// How many may be corrupt among so many servers.
///
/// # Errors
/// If there are too few or too many.
pub fn corrupt(servers: usize) -> Result<usize> {
    match servers {
        4..=6 => Ok(1),
        7..=9 => Ok(2),
        10..=11 => Ok(3),
        _ => bail!("{servers} servers: from 4 to 11 are possible; 4 bear one that is dead or lies"),
    }
}

impl Options {
    fn plan(&self) -> Result<Plan> {
        ensure!(!self.lines.is_empty(), "there is nothing to say");
        let servers = self.servers;
        let bears = corrupt(servers)?;
        for kill in &self.kill {
            ensure!(*kill < servers, "there is no server {kill}; they are 0 to {}", servers - 1);
        }
        let killed: BTreeSet<usize> = self.kill.iter().copied().collect();
        ensure!(
            killed.len() == self.kill.len() && killed.len() <= bears,
            "{servers} servers bear {bears} that are dead, each named once"
        );
        let participants = self.lines.len().max(FEWEST);
        // Homes give out no more than their quota, and one of them may be dead.
        let rows = (participants + participants / 2 + servers).next_power_of_two();
        let payload = self.lines.iter().map(Vec::len).max().unwrap_or(0).max(8);
        let usual = TICKS + u32::try_from(participants / LINES_A_TICK)?;
        let ticks = self.ticks.unwrap_or(usual);
        Ok(Plan { servers, corrupt: bears, rows, payload, minimum: MINIMUM, ticks })
    }
}

/// Runs the demonstration. `report` is told what is being waited for.
///
/// # Errors
/// If the servers cannot be started, or do not come to work.
pub async fn run(
    program: &Program,
    directory: &Path,
    options: &Options,
    report: impl Fn(&str),
) -> Result<Shown> {
    let plan = options.plan()?;
    report("servers make the coin's key and found the room");
    let mut site = Site::start(program, directory, &plan)?;
    let started = site.all_tell(FOUNDING, |note| *note == Note::Started)?;
    let founded = site.elapsed().as_secs_f64();
    report("servers prepare the first epoch");
    let is_open = |heard: &Heard| matches!(heard.note, Note::Opened(_));
    if started.iter().filter(|heard| is_open(heard)).count() < plan.servers {
        let open = |note: &Note| matches!(note, Note::Opened(_));
        drop(site.all_tell(FOUNDING, open)?);
    }
    let stocked = site.elapsed().as_secs_f64();
    report("participants say the lines");
    let mut show = Show::new(&site, options, founded, stocked)?;
    show.say(&mut site, options).await?;
    if show.shown.killed.is_some() {
        report("who was killed is started again, and catches up");
        show.shown.returned = Some(returned(&mut site, &options.kill, show.shown.board.len())?);
    }
    Ok(show.shown)
}

/// Starts servers that were killed with their disks, and waits until all of them have the board.
fn returned(site: &mut Site, servers: &[usize], entries: usize) -> Result<f64> {
    let begun = site.elapsed();
    for &server in servers {
        site.restart(server)?;
    }
    let mut lacking: Vec<usize> = servers.to_vec();
    let until = begun + RETURN;
    while let Some(heard) = site.hear(until.saturating_sub(site.elapsed())) {
        let has = |epoch: u64| usize::try_from(epoch).is_ok_and(|epoch| epoch + 1 >= entries);
        if matches!(heard.note, Note::Published(epoch) if has(epoch)) {
            lacking.retain(|server| *server != heard.server);
        }
        if lacking.is_empty() {
            return Ok((heard.at - begun).as_secs_f64());
        }
    }
    bail!("servers {lacking:?} were started again and have no board after {RETURN:?}")
}

/// The demonstration under way.
struct Show {
    devices: Devices,
    begun: Duration,
    shown: Shown,
    waiting: usize,
}

impl Show {
    fn new(site: &Site, options: &Options, founded: f64, stocked: f64) -> Result<Self> {
        let room = Arc::new(site.join().room()?);
        let mut devices = Devices::start(&room, site.devices(), &site.join().addresses());
        let covers = FEWEST.saturating_sub(options.lines.len());
        let lines = options.lines.iter().cloned().map(Some);
        for (home, said) in lines.chain((0..covers).map(|_| None)).enumerate() {
            let participant = Participant::new(Arc::clone(&room), said, home, &secret()?);
            devices.add(participant.context("a line is too long")?);
        }
        let shown = Shown {
            board: Vec::new(),
            founded,
            stocked,
            seconds: 0.0,
            killed: None,
            returned: None,
            times: BTreeMap::new(),
            faults: Vec::new(),
        };
        let waiting = options.lines.len() + covers;
        Ok(Self { devices, begun: site.elapsed(), shown, waiting })
    }

    /// Carries messages until every line is on the board, and looks at what the servers tell.
    async fn say(&mut self, site: &mut Site, options: &Options) -> Result<()> {
        let mut pause = tokio::time::interval(Duration::from_millis(5));
        while self.waiting > 0 {
            let Self { devices, waiting, .. } = self;
            let saying = devices.run(|_, news| {
                *waiting -= usize::from(matches!(news, News::Published(_) | News::Covered(_)));
                *waiting == 0
            });
            tokio::select! {
                result = saying => result?,
                _ = pause.tick() => {}
            }
            self.look(site, options)?;
        }
        self.shown.seconds = self.since(site.elapsed());
        // What the servers told until now is of the last epoch, too.
        tokio::time::sleep(Duration::from_millis(200)).await;
        self.look(site, options)?;
        self.shown.board = self.devices.board().values().cloned().collect();
        Ok(())
    }

    fn since(&self, at: Duration) -> f64 {
        at.saturating_sub(self.begun).as_secs_f64()
    }

    fn look(&mut self, site: &mut Site, options: &Options) -> Result<()> {
        for heard in site.heard() {
            let at = self.since(heard.at);
            let times = &mut self.shown.times;
            let first = |time: &mut f64| {
                if *time == 0.0 {
                    *time = at;
                }
            };
            match heard.note {
                Note::Closed(epoch) => first(&mut times.entry(epoch).or_default().closed),
                Note::Sealed(epoch, rows) => {
                    let times = times.entry(epoch).or_default();
                    times.rows = rows;
                    first(&mut times.sealed);
                }
                Note::Mixing(epoch) => {
                    first(&mut times.entry(epoch).or_default().mixing);
                    if !options.kill.is_empty() && self.shown.killed.is_none() {
                        options.kill.iter().try_for_each(|kill| site.kill(*kill))?;
                        let when = self.since(site.elapsed());
                        self.shown.killed = Some((when, "the shuffle had begun"));
                    }
                }
                Note::Mixed(epoch, _) => first(&mut times.entry(epoch).or_default().mixed),
                Note::Published(epoch) => times.entry(epoch).or_default().published = at,
                Note::Fault(party, what) => self.shown.faults.push((heard.server, party, what)),
                _ => {}
            }
        }
        Ok(())
    }
}

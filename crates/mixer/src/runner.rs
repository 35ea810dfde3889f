//! The state machine at work: what comes is handled, what it writes is made durable, then what it
//! sends leaves.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use ostrakon_asynchromix::service::{Effects, Event, Told};
use ostrakon_asynchromix::visit::{Answer, Standing};
use ostrakon_asynchromix::{Room, Server};
use ostrakon_crypto::{Secret, VerifyingKey};
use ostrakon_net::Identity;
use ostrakon_party::PartyId;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use crate::journal::Journal;
use crate::links::{Incoming, Links, Peers};
use crate::visits::{Health, Reception, Stands, Visit, Visits};

/// How often the state machine is told that time passes.
pub const TICK: Duration = Duration::from_millis(50);
/// Frames that are handled between two flushes of the journal at most.
const TOGETHER: usize = 64;
/// Visits that are answered between two flushes at most.
const VISITED: usize = 32;

/// What a runner says to whoever started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The state machine's news.
    Told(Told),
    /// Something of the process itself, now and then.
    Size {
        /// Bytes of the journal.
        journal: u64,
        /// Bytes of messages that are kept for others.
        messages: usize,
        /// Batches of which shares are held.
        batches: usize,
        /// Commits of the ledger.
        commits: u64,
    },
}

/// What a server is run with.
pub struct Config {
    /// The room.
    pub room: Arc<Room>,
    /// The seed of the server's identity key.
    pub identity: Secret,
    /// Where the journal is.
    pub directory: PathBuf,
    /// Where the other servers come.
    pub listener: TcpListener,
    /// Where the other servers are, by number.
    pub addresses: Vec<String>,
    /// The key by which participants come over a link, if they do.
    pub devices: Option<VerifyingKey>,
}

/// A server process's inside.
pub struct Runner {
    server: Server,
    journal: Journal,
    links: Links,
    keys: Vec<VerifyingKey>,
    numbers: BTreeMap<VerifyingKey, PartyId>,
    devices: Option<VerifyingKey>,
    frames: mpsc::UnboundedReceiver<Incoming>,
    reception: Reception,
    ticks: u64,
    /// It has told that its data are lost, and was not told to be readmitted.
    lost: bool,
}

/// 32 random bytes.
///
/// # Errors
/// If the system gives none.
#[expect(clippy::disallowed_methods, reason = "a process is where randomness enters")]
pub fn secret() -> Result<Secret> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow!("the system gives no random bytes: {error}"))?;
    Ok(Secret::new(bytes))
}

impl Runner {
    /// Opens the journal, connects with the other servers, and goes on with what is there.
    ///
    /// # Errors
    /// If the journal cannot be opened.
    pub fn start(config: Config) -> Result<(Self, Visits, Vec<Report>)> {
        let Config { room, identity, directory, listener, addresses, devices } = config;
        let own = Identity::from_seed(identity.expose());
        let keys = room.identities().as_slice().to_vec();
        let me = keys.iter().position(|key| *key == own.verifying_key());
        let me = me.context("this server's key is not among the room's")?;
        let dialled = keys.iter().zip(addresses).skip(me + 1);
        let dialled = dialled.map(|(key, address)| (*key, address)).collect();
        let mut dialling = keys[..me].to_vec();
        dialling.extend(devices);
        let longest = room.longest() + (2 << 20);
        let (links, frames) =
            Links::start(&own, Some(listener), Peers { dialling, dialled, longest });
        let (journal, disk) = Journal::open(&directory)?;
        let numbers = keys.iter().copied().zip(room.parties()).collect();
        let me = PartyId(u8::try_from(me)?);
        let (server, effects) = Server::start(Arc::clone(&room), me, &identity, &disk, secret()?);
        let (visits, reception) = Visits::new(&room, me);
        let mut runner = Self {
            server,
            journal,
            links,
            keys,
            numbers,
            devices,
            frames,
            reception,
            ticks: 0,
            lost: false,
        };
        let reports = runner.carry_out(effects)?;
        Ok((runner, visits, reports))
    }

    /// The disk is a restored copy, or known to be old: nothing of it is used.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn readmit(&mut self) -> Result<()> {
        let nonce = *secret()?.expose();
        let effects = self.server.handle(Event::Readmit(nonce));
        self.carry_out(effects)?;
        self.lost = false;
        Ok(())
    }

    /// Handles what comes until nothing more can.
    ///
    /// # Errors
    /// If the journal cannot be written: the server must stop, as it may say nothing any more.
    pub async fn run(mut self, mut report: impl FnMut(Report)) -> Result<()> {
        let mut clock = interval(TICK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut effects = Effects::default();
            let mut answers = Vec::new();
            // What servers tell each other goes before what devices ask.
            tokio::select! {
                biased;
                _ = clock.tick() => {
                    effects.extend(self.server.handle(Event::Tick));
                    self.ticks += 1;
                    if self.ticks.is_multiple_of(20) {
                        report(self.size());
                    }
                    self.show_health();
                }
                frame = self.frames.recv() => {
                    let Some(frame) = frame else { return Ok(()) };
                    self.take(&frame, &mut effects);
                }
                Some(visit) = self.reception.visits.recv() => {
                    answers.extend(self.answer(visit, &mut effects));
                }
            }
            for _ in 0..TOGETHER {
                let Ok(frame) = self.frames.try_recv() else { break };
                self.take(&frame, &mut effects);
            }
            for _ in 0..VISITED {
                let Ok(visit) = self.reception.visits.try_recv() else { break };
                answers.extend(self.answer(visit, &mut effects));
            }
            self.carry_out(effects)?.into_iter().for_each(&mut report);
            // Whoever does not wait any more has no answer.
            answers.into_iter().for_each(|(to, answer)| drop(to.send(answer)));
        }
    }

    /// A visit's answer, which leaves after the effects are carried out.
    fn answer(
        &mut self,
        visit: Visit,
        effects: &mut Effects,
    ) -> Option<(oneshot::Sender<Answer>, Answer)> {
        if visit.answer.is_closed() {
            return None;
        }
        let reached = self.others(true);
        let (more, answer) = self.server.visit(visit.ask, reached);
        effects.extend(more);
        Some((visit.answer, answer))
    }

    /// The other servers with which there is a link, or is none.
    fn others(&self, linked: bool) -> Vec<PartyId> {
        let own = self.server.me();
        let others = self.numbers.iter().filter(|(_, party)| **party != own);
        let mut others: Vec<PartyId> = others
            .filter(|(key, _)| self.links.reaches(key) == linked)
            .map(|(_, id)| *id)
            .collect();
        others.sort_unstable();
        others
    }

    fn show_health(&self) {
        let stands = match self.server.service() {
            None => Stands::Founding,
            Some(service) if service.runs() => Stands::Runs,
            Some(_) if self.lost => Stands::DataLost,
            Some(_) => Stands::Asking,
        };
        let missing = self.others(false);
        let journal = self.journal.length();
        let mut health = Health { stands, missing, journal, ..Health::default() };
        if let Some(service) = self.server.service() {
            let Standing { entries, collecting, mixing, ready, spoilt, .. } =
                service.standing(Vec::new());
            let stock = &service.state().stock;
            let newest = stock.burnt().last_key_value();
            let of = |party: &PartyId| Some((*party, service.commits_of(*party)?));
            health = Health {
                commits: service.commits(),
                commits_of: self.numbers.values().filter_map(of).collect(),
                entries,
                collecting,
                mixing,
                ready,
                spoilt,
                lacking: newest.map_or(Vec::new(), |(_, burnt)| burnt.lacking(service.room())),
                convicted: stock.convicted().clone(),
                messages: service.held().0,
                ..health
            };
        }
        self.reception.health.send_if_modified(|shown| {
            let new = *shown != health;
            *shown = health;
            new
        });
    }

    fn take(&mut self, frame: &Incoming, effects: &mut Effects) {
        let event = match self.numbers.get(&frame.from) {
            Some(from) => Event::Server(*from, &frame.bytes),
            None => Event::Client(&frame.bytes),
        };
        effects.extend(self.server.handle(event));
    }

    /// Write, then send.
    fn carry_out(&mut self, effects: Effects) -> Result<Vec<Report>> {
        self.journal.append(&effects.writes)?;
        for (to, bytes) in effects.sends {
            self.links.send(&self.keys[to.index()], bytes);
        }
        for (client, message) in effects.replies {
            let bytes = [&client.0[..], &message.encode()].concat();
            if let Some(devices) = &self.devices {
                self.links.send(devices, bytes.into());
            }
        }
        self.lost |= effects.told.contains(&Told::DataLost);
        Ok(effects.told.into_iter().map(Report::Told).collect())
    }

    fn size(&self) -> Report {
        let service = self.server.service();
        let (messages, batches) = service.map_or((0, 0), |service| service.held());
        Report::Size {
            journal: self.journal.length(),
            messages,
            batches,
            commits: service.map_or(0, |service| service.commits()),
        }
    }
}

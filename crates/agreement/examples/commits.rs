//! How long a record takes from its proposal to its commit, with the keys of service.
//!
//! ```sh
//! cargo run --release --package ostrakon-agreement --example commits
//! ```
//!
//! All servers of a ledger are in this process and on this thread; time is virtual. A message
//! takes as long as is told, a tick comes every 50 ms, as at the servers of a room, and what a
//! server does takes as long as it took here, without the time in which others had the core: every
//! block, vote, certificate and share of the coin is made, encoded, decoded and verified. Left out
//! are disks, TLS and sockets.

#[path = "../tests/agreement/founded.rs"]
mod founded;
#[path = "../../robust/examples/worldwide/meter.rs"]
mod meter;

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_agreement::{Event, Ledger, Output, ServerKeys, Step};
use ostrakon_crypto::Digest;
use ostrakon_crypto::hash::digest;
use ostrakon_party::{PartyId, Trust};
use ostrakon_testkit::Draw;

use crate::meter::Meter;

/// Nanoseconds.
type Time = u64;

const MILLISECOND: Time = 1_000_000;
/// As at the servers of a room.
const TICK: Time = 50 * MILLISECOND;
/// At most so long is nothing proposed after everybody has committed a record.
const PAUSE: Time = 300 * MILLISECOND;
/// Bytes of a record.
const RECORD: usize = 100;

/// What servers compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cores {
    /// Computing takes no time: the messages' delay alone is seen.
    NoTime,
    /// A core of its own.
    Each,
    /// One core for all servers.
    Shared,
}

/// A ledger whose commits are timed.
#[derive(Clone, Copy, Debug)]
struct Plan {
    servers: usize,
    /// How long a message takes.
    delay: Time,
    cores: Cores,
    /// So many are proposed, one after another.
    records: usize,
}

/// What happens at a time.
enum What {
    Tick(usize),
    Message(PartyId, usize, Arc<[u8]>),
    /// The server whose turn it is has something to say.
    Propose,
}

/// What was seen of each record.
#[derive(Default)]
struct Seen {
    /// Until its server had committed it.
    own: Vec<Time>,
    /// Until all had.
    everywhere: Vec<Time>,
    /// Computing of all servers, ticks included.
    computed: Time,
}

struct World {
    plan: Plan,
    ledgers: Vec<Ledger<ServerKeys>>,
    /// Each server's application: a digest of all that it was told.
    states: Vec<Digest>,
    /// By time, and in the order of sending where that is the same.
    queue: BTreeMap<(Time, u64), What>,
    sent: u64,
    /// By core: until when it works.
    busy: Vec<Time>,
    meter: Meter,
    draw: Draw,
    /// When the record under way was proposed.
    proposed: Time,
    /// Who has committed it.
    committed: Vec<bool>,
    seen: Seen,
}

impl World {
    fn new(plan: Plan) -> World {
        let n = plan.servers;
        let trust = Trust::under_a_third(n).expect("so many servers can be");
        // As in service.
        let (keys, params) = founded::make_keys(trust, 64, 64);
        let mut world = World {
            plan,
            ledgers: Vec::new(),
            states: vec![Digest([0; 32]); n],
            queue: BTreeMap::new(),
            sent: 0,
            busy: vec![0; n],
            meter: Meter::new(),
            draw: Draw(1),
            proposed: 0,
            committed: vec![true; n],
            seen: Seen::default(),
        };
        for (i, keys) in keys.into_iter().enumerate() {
            let (ledger, step) = Ledger::found(params, keys);
            world.ledgers.push(ledger);
            world.take(i, 0, step);
            // Nobody's clock is another's.
            world.push(TICK * i as u64 / n as u64, What::Tick(i));
        }
        world.push(0, What::Propose);
        world
    }

    fn push(&mut self, at: Time, what: What) {
        self.sent += 1;
        self.queue.insert((at, self.sent), what);
    }

    /// Has a server do something as soon as it can; when it began.
    fn work(
        &mut self,
        i: usize,
        at: Time,
        work: impl FnOnce(&mut Ledger<ServerKeys>) -> Step,
    ) -> Time {
        let core = if self.plan.cores == Cores::Shared { 0 } else { i };
        let begun = at.max(self.busy[core]);
        let ledger = &mut self.ledgers[i];
        let (step, took) = self.meter.measure(|| work(ledger));
        let took = if self.plan.cores == Cores::NoTime { 0 } else { took };
        self.seen.computed += took;
        self.busy[core] = begun + took;
        self.take(i, begun + took, step);
        begun
    }

    /// Carries out what a server's work led to.
    fn take(&mut self, i: usize, at: Time, step: Step) {
        assert!(step.faults.is_empty(), "{:?}", step.faults);
        let from = PartyId(u8::try_from(i).expect("few servers"));
        for send in step.sends {
            self.push(at + self.plan.delay, What::Message(from, send.to.index(), send.bytes));
        }
        for output in step.outputs {
            match output {
                Output::Commit(commit) => {
                    let mut told = self.states[i].0.to_vec();
                    for (_, record) in commit.records() {
                        told.extend(record);
                        if record == self.record() {
                            self.commit(i, at);
                        }
                    }
                    self.states[i] = digest("commits of an example", &told);
                }
                Output::CheckpointDue(commits) => {
                    let digest = self.states[i];
                    self.work(i, at, |ledger| ledger.handle(Event::State { commits, digest }));
                }
                _ => {}
            }
        }
    }

    /// The record under way: the same bytes come again long after it was committed.
    fn record(&self) -> Vec<u8> {
        vec![(self.seen.everywhere.len() % 251) as u8; RECORD]
    }

    /// A server has committed the record under way.
    fn commit(&mut self, i: usize, at: Time) {
        let took = at - self.proposed;
        if i == self.seen.everywhere.len() % self.plan.servers {
            self.seen.own.push(took);
        }
        self.committed[i] = true;
        if self.committed.iter().all(|committed| *committed) {
            self.seen.everywhere.push(took);
            let pause = self.draw.bits() % PAUSE;
            self.push(at + pause, What::Propose);
        }
    }

    /// Proposes and commits all records.
    fn run(mut self) -> Seen {
        while self.seen.everywhere.len() < self.plan.records {
            let ((at, _), what) = self.queue.pop_first().expect("ticks come without end");
            match what {
                What::Tick(i) => {
                    let begun = self.work(i, at, |ledger| ledger.handle(Event::Tick));
                    self.push(begun + TICK, What::Tick(i));
                }
                What::Message(from, to, bytes) => {
                    self.work(to, at, |ledger| ledger.handle(Event::Receive(from, &bytes)));
                }
                What::Propose => {
                    let record = self.record();
                    self.proposed = at;
                    self.committed.fill(false);
                    let whose = self.seen.everywhere.len() % self.plan.servers;
                    self.work(whose, at, |ledger| ledger.propose(record).expect("one waits"));
                }
            }
        }
        self.seen
    }
}

/// Milliseconds.
fn mean(times: &[Time]) -> f64 {
    times.iter().sum::<Time>() as f64 / times.len() as f64 / MILLISECOND as f64
}

fn main() {
    let records = std::env::args().nth(1).map_or(200, |count| count.parse().expect("a number"));
    println!("{records} records each; milliseconds");
    println!("| servers | one way | cores | mean | mean, everywhere | worst | computed |");
    println!("|---|---|---|---|---|---|---|");
    for servers in [4, 16] {
        let timed = [(0, Cores::Shared), (0, Cores::Each), (50, Cores::NoTime), (50, Cores::Each)];
        for (milliseconds, cores) in timed {
            let delay = milliseconds * MILLISECOND;
            let seen = World::new(Plan { servers, delay, cores, records }).run();
            let worst = seen.everywhere.iter().max().map_or(0, |worst| worst / MILLISECOND);
            println!(
                "| {servers} | {milliseconds} | {cores:?} | {:.1} | {:.1} | {worst} | {:.1} |",
                mean(&seen.own),
                mean(&seen.everywhere),
                mean(&[seen.computed]) / records as f64,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round is a block, votes and a certificate. A commit needs a leader's round, the votes' and
    /// the blocks of the coin's, so nothing is committed sooner than seven delays; a leader whom
    /// the coin does not choose takes two more rounds.
    #[test]
    fn records_are_committed_within_a_few_delays() {
        let night = ostrakon_testkit::nightly();
        for (servers, records) in if night { vec![(4, 40), (7, 40)] } else { vec![(4, 10)] } {
            let (delay, cores) = (50 * MILLISECOND, Cores::NoTime);
            let seen = World::new(Plan { servers, delay, cores, records }).run();
            assert!(seen.own.iter().all(|took| *took >= 7 * delay), "{:?}", seen.own);
            assert!(mean(&seen.own) <= 1000.0, "n = {servers}: {}", mean(&seen.own));
            let counts = (seen.own.len(), seen.everywhere.len(), seen.computed);
            assert_eq!(counts, (records, records, 0));
        }
    }

    /// One core for all servers takes longer than one for each.
    #[test]
    fn computing_takes_time() {
        let of = |cores| World::new(Plan { servers: 4, delay: 0, cores, records: 10 }).run();
        let (shared, each) = (of(Cores::Shared), of(Cores::Each));
        assert!(each.computed > 0 && mean(&each.own) > 0.0);
        assert!(mean(&shared.own) > mean(&each.own));
    }
}

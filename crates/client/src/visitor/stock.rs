//! Filling the stock of one-time keys with which an account can be asked while it is away
//! (`docs/spec/decide.md`, step 3; `docs/spec/visitor.md`, V6).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ostrakon_crypto::{Secret, SigningKey, Stream};
use ostrakon_decide::keys::{MOST_LIFETIME, STOCK, STOCK_THRESHOLD, stock_digest};
use ostrakon_decide::{CertifiedKey, Operators};
use ostrakon_party::{PartyId, wire};
use ostrakon_protocol::decisions::StockLevel;

use super::making::{Maker, Making};
use super::news::{Failure, SEQUENCER};
use super::request::{Answer, Call, Kind, Request};
use crate::pauses::{Draws, Errand};
use crate::time::{Clock, Millis};

/// Keys that are handed in together; what comes after them does not take them back.
const BATCH: usize = 2;
/// Between two keys: many devices behind one address fill their stocks at the same time.
const PACE: Millis = 300;
/// How often the first server is asked before it counts as away.
const ATTEMPTS: u32 = 7;
/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;
/// Less than shares last at most, in seconds, for clocks that differ.
const SPARE: u64 = 3_600;

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum Filling {
    /// Send this. What comes of it is told by [`Stock::replied`].
    Ask(Request),
    /// The stock is filled; so many keys were added.
    Full(u64),
    /// It is not, and will not be now. What was handed in before stays.
    Failed(Failure),
}

/// What is done.
enum Stage {
    /// The first server is asked how many keys there are.
    Level(Errand),
    Making(Box<Making>),
    Resting(Millis),
    /// It is given what was made.
    Adding(Errand),
    Over,
}

/// Fills an account's stock.
pub struct Stock {
    operators: Operators,
    owner: Arc<SigningKey>,
    most: u64,
    stage: Stage,
    attempts: u32,
    made: Vec<CertifiedKey>,
    missing: u64,
    added: u64,
    draws: Draws,
    rng: Stream,
    clock: Clock,
    now: Millis,
    unix: Millis,
    asked: BTreeMap<u64, (PartyId, Kind)>,
    next: u64,
    fillings: VecDeque<Filling>,
}

impl Stock {
    /// Of an account, up to what the server wants and to `most` keys. `seed` is 32 fresh random
    /// bytes, from which the keys are drawn.
    pub fn new(
        operators: Operators,
        owner: impl Into<Arc<SigningKey>>,
        most: u64,
        seed: &Secret,
    ) -> Self {
        let part = |context| {
            let mut bytes = [0; 32];
            seed.fill(context, &[], &mut bytes);
            Secret::new(bytes)
        };
        let secret = part("ostrakon/v1/client/stock secrets");
        let (attempts, made, missing, added, clock) = Default::default();
        let (now, unix, asked, next, fillings) = Default::default();
        Self {
            operators,
            owner: owner.into(),
            most,
            stage: Stage::Level(Errand::new()),
            attempts,
            made,
            missing,
            added,
            draws: Draws::new(part("ostrakon/v1/client/stock pauses")),
            rng: Stream::of(secret, "ostrakon/v1/client/stock secrets"),
            clock,
            now,
            unix,
            asked,
            next,
            fillings,
        }
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: Millis) {
        self.at(now);
        self.step();
    }

    /// A request was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        if let Some((_, kind)) = self.asked.get(&id) {
            let answer = Answer::read(*kind, status, body);
            self.answered(now, id, answer);
        }
    }

    /// What came of a request.
    pub fn answered(&mut self, now: Millis, id: u64, answer: Answer) {
        let Some((party, _)) = self.asked.remove(&id) else { return };
        self.at(now);
        match (&mut self.stage, answer) {
            (Stage::Making(making), answer) => {
                match making.answered(self.now, party, answer, &mut self.draws) {
                    Ok(()) => self.proceed(),
                    Err(failure) => self.fail(failure),
                }
            }
            (Stage::Level(_), Answer::Level(level)) => self.begin(level),
            (Stage::Adding(_), Answer::Level(_)) => {
                self.added += self.made.len() as u64;
                self.made.clear();
                self.go_on();
            }
            (_, Answer::Refused(refusal)) if !refusal.passes() => {
                self.fail(Failure::Server { party, refusal });
            }
            (Stage::Level(errand) | Stage::Adding(errand), _) if self.attempts < ATTEMPTS => {
                errand.again(self.now, &mut self.draws);
            }
            (Stage::Level(_) | Stage::Adding(_), _) => self.fail(Failure::Away(party)),
            (Stage::Resting(_) | Stage::Over, _) => {}
        }
        self.step();
    }

    /// The next thing to do.
    pub fn next_filling(&mut self) -> Option<Filling> {
        self.fillings.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let due = match &self.stage {
            Stage::Level(errand) | Stage::Adding(errand) => errand.due(),
            Stage::Making(making) => making.due(),
            Stage::Resting(until) => Some(*until),
            Stage::Over => None,
        };
        let latest = self.now + LONGEST_SLEEP;
        self.clock.outside(due.map_or(latest, |due| due.min(latest)))
    }

    fn at(&mut self, now: Millis) {
        (self.now, self.unix) = (self.clock.read(now), now);
    }

    fn ask(&mut self, party: PartyId, call: Call) {
        let id = self.next;
        self.next += 1;
        self.asked.insert(id, (party, call.kind()));
        self.fillings.push_back(Filling::Ask(Request { id, party, call }));
    }

    fn fail(&mut self, failure: Failure) {
        self.stage = Stage::Over;
        self.fillings.push_back(Filling::Failed(failure));
    }

    fn begin(&mut self, level: StockLevel) {
        let wanted = level.wanted.min(self.most);
        self.missing = wanted.saturating_sub(level.stock).min(STOCK as u64);
        self.go_on();
    }

    /// Makes the next key, or hands in what was made.
    fn go_on(&mut self) {
        self.attempts = 0;
        let done = self.added + self.made.len() as u64;
        if self.made.len() == BATCH || (done == self.missing && !self.made.is_empty()) {
            self.stage = Stage::Adding(Errand::new());
        } else if done == self.missing {
            self.stage = Stage::Over;
            self.fillings.push_back(Filling::Full(self.added));
        } else if done == 0 {
            self.make();
        } else {
            self.stage = Stage::Resting(self.now + PACE);
        }
    }

    fn make(&mut self) {
        let expires = (self.unix / 1_000).saturating_add(MOST_LIFETIME - SPARE);
        self.stage = Stage::Making(Box::new(Making::new((STOCK_THRESHOLD, expires))));
    }

    fn proceed(&mut self) {
        let Self { operators, owner, rng, stage, .. } = self;
        let Stage::Making(making) = stage else { return };
        match making.proceed(&mut Maker { operators, owner, rng }) {
            Ok(Some(key)) => {
                self.made.push(key);
                self.go_on();
            }
            Ok(None) => {}
            Err(invalid) => self.fail(Failure::Key(invalid)),
        }
    }

    fn step(&mut self) {
        let (now, owner) = (self.now, self.owner.verifying_key());
        let is_due = |errand: &Errand| errand.due().is_some_and(|due| due <= now);
        match &mut self.stage {
            Stage::Resting(until) if *until <= now => {
                self.make();
                self.step();
            }
            Stage::Level(errand) if is_due(errand) => {
                errand.asked();
                self.attempts += 1;
                let time = self.unix / 1_000;
                let signature = self.owner.sign(&stock_digest(&self.operators, &owner, time));
                self.ask(SEQUENCER, Call::Level { owner, time, signature });
            }
            Stage::Adding(errand) if is_due(errand) => {
                errand.asked();
                self.attempts += 1;
                let keys = wire::encode(&self.made);
                self.ask(SEQUENCER, Call::Stock { owner, keys });
            }
            Stage::Making(making) => {
                for (party, call) in making.calls(now) {
                    self.ask(party, call);
                }
            }
            _ => {}
        }
    }
}

//! Sessions in one process, decided by a seed.

use std::sync::Arc;

use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, Secret, Stream};
use rand_core::Rng;

use crate::closing::{Absence, Closing};
use crate::layer::Layer;
use crate::{Ballot, Group, Helpers, History, OneTimeKey, Session, SessionId, Step, Visitor};

/// Random numbers that a seed decides.
pub fn seeded(seed: u64) -> Stream {
    let secret = Secret::new(digest("ostrakon/v1/onepass/test", &seed.to_le_bytes()).0);
    Stream::of(secret, "ostrakon/v1/onepass/test stream")
}

/// A number below `bound`; the bias does not matter.
pub fn below(rng: &mut Stream, bound: usize) -> usize {
    (rng.next_u64() % bound as u64) as usize
}

/// A visitor, the head before its step, and the step.
pub type Recorded = (usize, Digest, Vec<u8>);

/// A session with everybody's secrets.
pub struct World<G: Group> {
    pub session: Arc<Session<G>>,
    seeds: Vec<Secret>,
    pub helpers: Helpers,
    pub rng: Stream,
}

pub const OPERATORS: usize = 2;

impl<G: Group> World<G> {
    pub fn new(seed: u64, visitors: usize, helpers: Helpers, ballots: Vec<Ballot>) -> Self {
        Self::with_id(seed, seed, visitors, helpers, ballots)
    }

    /// Two worlds of one seed have the same keys; the id tells their sessions apart.
    pub fn with_id(
        seed: u64,
        id: u64,
        visitors: usize,
        helpers: Helpers,
        ballots: Vec<Ballot>,
    ) -> Self {
        let seed_of = |place: usize| {
            Secret::new(
                digest(
                    "ostrakon/v1/onepass/test key",
                    &[seed.to_le_bytes(), place.to_le_bytes()].concat(),
                )
                .0,
            )
        };
        let seeds: Vec<Secret> = (0..visitors + OPERATORS).map(seed_of).collect();
        let mut keys: Vec<_> = seeds
            .iter()
            .map(|seed| OneTimeKey::<G>::from_seed(seed, helpers).layer_key())
            .collect();
        let operators = keys.split_off(visitors);
        let id = SessionId(digest("ostrakon/v1/onepass/test session", &id.to_le_bytes()));
        let session = Session::new(id, keys, operators, helpers, ballots)
            .expect("a session within its limits");
        Self { session: Arc::new(session), seeds, helpers, rng: seeded(seed) }
    }

    pub fn visitors(&self) -> usize {
        self.session.visitors().len()
    }

    pub fn start(&self) -> History<G> {
        History::start(self.session.clone())
    }

    pub fn key(&self, layer: Layer) -> OneTimeKey<G> {
        let place = match layer {
            Layer::Visitor(place) => place,
            Layer::Operator(place) => self.visitors() + place,
        };
        OneTimeKey::from_seed(&self.seeds[place], self.helpers)
    }

    /// An honest visit.
    pub fn visit(&mut self, history: &History<G>, visitor: usize, choices: &[u16]) -> Step<G> {
        let key = self.key(Layer::Visitor(visitor));
        let visit = Visitor::new(history, visitor, key).expect("may come");
        visit.visit(history, choices, &head(history), &mut self.rng).expect("choices fit")
    }

    /// The history with an honest visit, verified.
    pub fn walk(&mut self, history: History<G>, visitor: usize, choices: &[u16]) -> History<G> {
        let step = self.visit(&history, visitor, choices).to_bytes();
        let previous = head(&history);
        self.verify(history, visitor, &previous, &step).expect("an honest step")
    }

    pub fn verify(
        &mut self,
        history: History<G>,
        visitor: usize,
        previous: &Digest,
        step: &[u8],
    ) -> Result<History<G>, crate::HistoryError> {
        let mut verifier = history.verifier();
        verifier.push(visitor, previous, step, &mut self.rng)?;
        verifier.finish(&mut self.rng)
    }

    /// Everybody of `order` comes; the steps come back with the heads before them.
    pub fn run(&mut self, order: &[usize], choices: &[Vec<u16>]) -> (History<G>, Vec<Recorded>) {
        let mut history = self.start();
        let mut steps = Vec::new();
        for &visitor in order {
            let step = self.visit(&history, visitor, &choices[visitor]);
            let (previous, bytes) = (head(&history), step.to_bytes());
            history = history.after(visitor, &previous, &bytes, Arc::new(step.tables.clone()));
            steps.push((visitor, previous, bytes));
        }
        (history, steps)
    }

    /// The outputs, with all operators there and helpers for the absent.
    pub fn open(&mut self, closing: &Closing<G>) -> Vec<u32> {
        let mut removed = Vec::new();
        for operator in 0..OPERATORS {
            removed.push(self.operate(closing, operator));
        }
        for visitor in closing.absent().to_vec() {
            for helper in 0..self.helpers.threshold() {
                removed.push(self.help(closing, helper, Layer::Visitor(visitor)));
            }
        }
        closing.open(&removed).expect("everything is removed")
    }

    /// An honest helper's part for a layer.
    pub fn partial(
        &mut self,
        closing: &Closing<G>,
        helper: usize,
        layer: Layer,
    ) -> crate::PartialDecryption<G> {
        let share = self.key(layer).share(helper);
        closing.decrypt_as_helper(helper, layer, &share, &mut self.rng).expect("it has its share")
    }

    /// The same, verified.
    pub fn help(&mut self, closing: &Closing<G>, helper: usize, layer: Layer) -> crate::Removed<G> {
        let partial = self.partial(closing, helper, layer);
        closing.verify_helper(helper, layer, partial).expect("an honest helper")
    }

    /// An honest operator's part, verified.
    pub fn operate(&mut self, closing: &Closing<G>, operator: usize) -> crate::Removed<G> {
        let key = self.key(Layer::Operator(operator));
        let partial = closing.decrypt_as_operator(operator, &key, &mut self.rng).expect("its key");
        closing.verify_operator(operator, partial).expect("an honest operator")
    }
}

/// The head of the caller's chain, which is the caller's to make; here it is made of the trail.
pub fn head<G: Group>(history: &History<G>) -> Digest {
    digest("ostrakon/v1/onepass/test head", &history.trail().0)
}

/// Who has not come, each with the same default in every ballot as in `choices`.
pub fn absences<G: Group>(history: &History<G>, choices: &[Vec<u16>]) -> Vec<Absence> {
    history
        .remaining()
        .into_iter()
        .map(|visitor| Absence { visitor, choices: choices[visitor].clone() })
        .collect()
}

/// A ballot of two values by the output for each number of ones.
pub fn binary(visitors: usize, f: impl Fn(usize) -> u32) -> Ballot {
    Ballot::new(2, visitors, (0..=visitors).map(f).collect()).expect("within its limits")
}

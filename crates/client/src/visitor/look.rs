//! What is known of the looks at what servers show (`docs/spec/visitor.md`, V3).

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_party::PartyId;
use ostrakon_protocol::decisions::DecisionInfo;

use crate::pauses::Draws;
use crate::refusal::Refusal;
use crate::time::Millis;

/// The first pause between two looks while something is awaited, and the longest: they double.
pub const FIRST: Millis = 100;
const LONGEST: Millis = 1_500;
/// How far a look is.
pub enum Stage {
    /// The next one begins then.
    Resting(Millis),
    /// Servers are asked how it stands.
    Asking(Waiting),
    /// Servers are asked for what they have more.
    Fetching(Waiting),
    /// What they showed is taken in.
    Settling,
}

/// Servers that are waited for.
pub struct Waiting {
    /// These have not answered.
    pub open: BTreeSet<PartyId>,
    /// So many have given what they were asked for.
    pub done: usize,
    /// Nobody is waited for after that.
    pub until: Option<Millis>,
}

impl Waiting {
    pub fn of(parties: &[PartyId]) -> Self {
        Self { open: parties.iter().copied().collect(), done: 0, until: None }
    }

    pub fn is_over(&self, now: Millis) -> bool {
        self.open.is_empty() || self.until.is_some_and(|until| until <= now)
    }
}

/// What is known of the looks.
pub struct Look {
    pub stage: Stage,
    /// Looks that were begun, and the last one that ended.
    pub number: u64,
    pub ended: u64,
    pub infos: Vec<Option<DecisionInfo>>,
    pub said: BTreeMap<PartyId, Option<Refusal>>,
    /// The same of the last look that ended.
    pub silence: BTreeMap<PartyId, Option<Refusal>>,
    pub refusals: BTreeMap<PartyId, String>,
    pub answered: usize,
    pub pause: Millis,
    /// Whose turn it is to tell the news.
    pub turn: usize,
}

impl Look {
    /// At so many servers; the first look is due.
    pub fn new(servers: usize) -> Self {
        let (number, ended, said, silence, refusals) = Default::default();
        let (stage, infos, pause) = (Stage::Resting(0), vec![None; servers], FIRST);
        let (answered, turn) = (0, 0);
        Self { stage, number, ended, infos, said, silence, refusals, answered, pause, turn }
    }

    /// Looks that were begun.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn answered(&self) -> usize {
        self.answered
    }

    pub fn silence(&self) -> &BTreeMap<PartyId, Option<Refusal>> {
        &self.silence
    }

    pub fn refusals(&self) -> &BTreeMap<PartyId, String> {
        &self.refusals
    }

    /// The next look begins at once, if none is under way.
    pub fn hurry(&mut self, now: Millis) {
        self.pause = FIRST;
        self.rest(now);
    }

    /// The next look begins then at the latest, if none is under way.
    pub fn rest(&mut self, until: Millis) {
        if let Stage::Resting(at) = &mut self.stage {
            *at = until.min(*at);
        }
    }

    /// The next look begins after a pause that grows.
    pub fn pause(&mut self, now: Millis, draws: &mut Draws) {
        self.rest(now + draws.between(self.pause * 3 / 4, self.pause * 5 / 4));
        self.pause = (self.pause * 2).min(LONGEST);
    }

    /// Records that the server says to have that says most.
    pub fn most(&self) -> u32 {
        self.infos.iter().flatten().map(|info| info.records).max().unwrap_or(0)
    }

    /// Whether nobody is waited for any more.
    pub fn is_over(&self, now: Millis) -> bool {
        match &self.stage {
            Stage::Asking(waiting) | Stage::Fetching(waiting) => waiting.is_over(now),
            _ => false,
        }
    }
}

//! One epoch of a participant: from a slot to a submission that enough servers have.

use std::collections::BTreeSet;

use ostrakon_mixing::Content;
use ostrakon_mixing::envelope::{Agreed, Issued};
use ostrakon_mixing::submission::Submission;
use ostrakon_party::PartyId;

use crate::pauses::{Draws, Errand};
use crate::time::Millis;

/// How often whoever has no slot looks whether its home is fuller than others, and how often at
/// most.
const LOOK_EVERY: Millis = 1_000;
const LOOKS: u32 = 8;
/// Least time between a submission and the sealing, and the most, in rooms with long epochs.
const MARGIN: Millis = 1_500;
const EARLIEST: Millis = 60_000;
/// How long what the servers gave may contradict itself before the home is left.
const CONTRADICTED: Millis = 15_000;
/// The pause while what goes into the epoch cannot be decided or written down.
pub const LATER: Millis = 400;

/// What was done for one epoch. The submission, once made, is the only one there will ever be for
/// it.
pub struct Epoch {
    /// Its number.
    pub number: u64,
    /// Whether the participant was present when it began, and so could count on a slot.
    pub expects_slot: bool,
    /// Since when it waits for a slot where it is, and where it has waited in vain.
    pub since: Millis,
    pub shunned: BTreeSet<PartyId>,
    look: Millis,
    looks: u32,
    /// What was opened of the servers' issues, by party, and the asking for it.
    pub issues: Vec<Option<Issued>>,
    pub issuing: Vec<Errand>,
    /// Since the first issue came: how long before the sealing the submission leaves.
    margin: Option<Millis>,
    /// When it is time to leave the home, since what the servers gave does not suffice although the
    /// moment has come.
    contradicted: Option<Millis>,
    /// Whether an issue came since a submission was tried last.
    fresh: bool,
    /// What goes into the epoch, once it is decided and written down.
    pub content: Option<Content>,
    pub stage: Stage,
    /// The handing in, by party.
    pub delivering: Vec<Errand>,
    reported: bool,
}

/// How far the submission is.
pub enum Stage {
    /// The servers' issues do not suffice, or its time has not come.
    Gathering,
    /// It is decided and written down what goes in.
    Filling(Agreed),
    /// It could not be; that is tried again then.
    Later(Millis),
    /// It is handed in.
    Made(Submission),
    /// Nothing more goes into the epoch from this device.
    Nothing,
}

impl Epoch {
    /// An epoch that was just heard of.
    pub fn new(number: u64, servers: usize, expects_slot: bool, now: Millis) -> Self {
        let errands = || (0..servers).map(|_| Errand::new()).collect();
        let (shunned, looks, margin, contradicted, content) = Default::default();
        Self {
            number,
            expects_slot,
            since: now,
            shunned,
            look: now + LOOK_EVERY,
            looks,
            issues: vec![None; servers],
            issuing: errands(),
            margin,
            contradicted,
            fresh: false,
            content,
            stage: Stage::Gathering,
            delivering: errands(),
            reported: false,
        }
    }

    /// Whether no server has given anything yet.
    pub fn has_no_slot(&self) -> bool {
        matches!(self.stage, Stage::Gathering) && self.issues.iter().all(Option::is_none)
    }

    /// The participant is at a home as of now, and waits there anew.
    pub fn arrive(&mut self, now: Millis) {
        (self.since, self.look, self.looks) = (now, now + LOOK_EVERY, 0);
    }

    /// When to look next whether there are fewer elsewhere.
    pub fn looks_at(&self) -> Option<Millis> {
        (self.looks < LOOKS).then_some(self.look)
    }

    /// It is looked now.
    pub fn looked(&mut self, now: Millis) {
        (self.look, self.looks) = (now + LOOK_EVERY, self.looks + 1);
    }

    /// Takes what a server gave. Whether the participant has its place now, and had none before.
    pub fn take(&mut self, party: PartyId, issued: Issued) -> bool {
        self.issues[party.index()] = Some(issued);
        self.issuing[party.index()].done();
        self.fresh = true;
        self.margin.is_none()
    }

    /// Draws the moment of handing in, `left` before the sealing (P4.2).
    pub fn place(&mut self, left: Millis, draws: &mut Draws) {
        let share = draws.between(200, 400);
        let left = left.min(10 * EARLIEST);
        self.margin = Some((left * share / 1_000).clamp(MARGIN, EARLIEST));
    }

    /// Whether the participant has its place.
    pub fn is_placed(&self) -> bool {
        self.margin.is_some()
    }

    /// When to hand in, in an epoch that is `sealed` then, or nobody knows when.
    pub fn moment(&self, sealed: Option<Millis>) -> Option<Millis> {
        let margin = self.margin?;
        Some(sealed.map_or(0, |sealed| sealed.saturating_sub(margin)))
    }

    /// Whether a submission is to be tried.
    pub fn is_ready(&mut self, now: Millis, sealed: Option<Millis>) -> bool {
        let due = self.moment(sealed).is_some_and(|moment| moment <= now);
        if !due || !matches!(self.stage, Stage::Gathering) {
            return false;
        }
        self.contradicted.get_or_insert(now + CONTRADICTED);
        std::mem::take(&mut self.fresh)
    }

    /// When what they gave will not have sufficed for too long.
    pub fn contradicted_at(&self) -> Option<Millis> {
        self.contradicted.filter(|_| matches!(self.stage, Stage::Gathering))
    }

    /// It has not; the next home has its time.
    pub fn was_contradicted(&mut self, now: Millis) {
        self.contradicted = self.contradicted.map(|_| now + CONTRADICTED);
    }

    /// Asks again for what was given, since nothing can be made of it (P4.4).
    pub fn ask_again(&mut self, now: Millis, draws: &mut Draws) {
        let given = self.issuing.iter_mut().filter(|errand| errand.is_done());
        given.for_each(|errand| errand.again(now, draws));
    }

    /// Lets it be decided again what goes in, once the pause is over.
    pub fn go_on(&mut self, now: Millis) {
        if matches!(self.stage, Stage::Later(until) if until <= now) {
            (self.stage, self.fresh) = (Stage::Gathering, true);
        }
    }

    /// Whether as many servers as are `believed` have the submission, and had not before.
    pub fn is_handed_in(&mut self, believed: usize) -> bool {
        let taken = self.delivering.iter().filter(|errand| errand.is_done()).count();
        let now = taken >= believed && !self.reported;
        self.reported |= now;
        now
    }

    /// The asking that goes on: for issues, or for the submission to be taken.
    pub fn errands(&mut self) -> &mut [Errand] {
        match self.stage {
            Stage::Made(_) => &mut self.delivering,
            _ => &mut self.issuing,
        }
    }
}

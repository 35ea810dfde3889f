//! Messages of runs survive loss, reconnection and restarts (spec V8): what this server has sent in
//! a run is kept until the run is over, and whoever lacks some of it asks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_party::PartyId;

use crate::message::{RunId, StepBytes};

/// Ticks without a message of a run after which what it lacks is asked for, the first time; each
/// time that nothing comes the pause is doubled.
const QUIET: u32 = 2;
/// The longest pause, in ticks.
const LONGEST: u32 = 64;

/// Messages by the step that they begin with.
type Steps = BTreeMap<StepBytes, Arc<[u8]>>;

/// A run as the network has it.
#[derive(Default)]
struct Traffic {
    /// What was sent, by receiver.
    sent: BTreeMap<PartyId, Steps>,
    /// Of which steps messages have come, by sender. They are noted unseen: a sender that lies
    /// about them misses its own messages only.
    came: BTreeMap<PartyId, BTreeSet<StepBytes>>,
    /// Elements of what was sent, each message counted once.
    elements: usize,
    /// Who has been answered since the last tick.
    answered: BTreeSet<PartyId>,
    quiet: u32,
    pause: u32,
    /// Whether this server still needs anything.
    waits: bool,
}

/// All runs under way.
#[derive(Default)]
pub(crate) struct Delivery {
    runs: BTreeMap<RunId, Traffic>,
}

/// The step that a run's message begins with.
pub(crate) fn step_of(bytes: &[u8]) -> Option<StepBytes> {
    bytes.first_chunk().copied()
}

impl Delivery {
    /// Begins to keep a run's messages. Whether it was not kept before: what came until now was
    /// dropped, and is to be asked for.
    pub fn begin(&mut self, run: RunId) -> bool {
        let fresh = !self.runs.contains_key(&run);
        if fresh {
            let traffic = Traffic { waits: true, pause: QUIET, ..Traffic::default() };
            self.runs.insert(run, traffic);
        }
        fresh
    }

    /// Whether messages of a run are kept.
    pub fn has(&self, run: RunId) -> bool {
        self.runs.contains_key(&run)
    }

    /// Keeps a message of a step with so many elements, as it goes over the wire.
    pub fn sent(
        &mut self,
        run: RunId,
        to: PartyId,
        (step, elements): (StepBytes, usize),
        bytes: &Arc<[u8]>,
    ) {
        if let Some(traffic) = self.runs.get_mut(&run) {
            traffic.elements += elements;
            traffic.sent.entry(to).or_default().insert(step, Arc::clone(bytes));
        }
    }

    /// Notes a message that has come.
    pub fn came(&mut self, run: RunId, from: PartyId, bytes: &[u8], steps: usize) {
        if let (Some(traffic), Some(step)) = (self.runs.get_mut(&run), step_of(bytes)) {
            let of = traffic.came.entry(from).or_default();
            if of.len() < steps && of.insert(step) {
                (traffic.quiet, traffic.pause) = (0, QUIET);
            }
        }
    }

    /// Elements that this server has sent in a run.
    pub fn elements(&self, run: RunId) -> usize {
        self.runs.get(&run).map_or(0, |traffic| traffic.elements)
    }

    /// This server needs nothing more of a run. Others may.
    pub fn done(&mut self, run: RunId) {
        if let Some(traffic) = self.runs.get_mut(&run) {
            traffic.waits = false;
            traffic.came.clear();
        }
    }

    /// Forgets a run.
    pub fn forget(&mut self, run: RunId) {
        self.runs.remove(&run);
    }

    /// What to send to who asks, once a tick.
    pub fn again(&mut self, run: RunId, from: PartyId, have: &[StepBytes]) -> Vec<Arc<[u8]>> {
        let Some(traffic) = self.runs.get_mut(&run) else { return Vec::new() };
        if !traffic.answered.insert(from) {
            return Vec::new();
        }
        let lacking = traffic.sent.get(&from).into_iter().flatten();
        lacking.filter(|(step, _)| !have.contains(step)).map(|(_, bytes)| bytes.clone()).collect()
    }

    /// Which runs ask now, and what they have of each server.
    pub fn tick(&mut self) -> Vec<RunId> {
        let mut asking = Vec::new();
        for (run, traffic) in &mut self.runs {
            traffic.answered.clear();
            if !traffic.waits {
                continue;
            }
            traffic.quiet += 1;
            if traffic.quiet >= traffic.pause {
                (traffic.quiet, traffic.pause) = (0, (2 * traffic.pause).min(LONGEST));
                asking.push(*run);
            }
        }
        asking
    }

    /// The steps of a run of which a server's messages have come.
    pub fn have(&self, run: RunId, from: PartyId) -> Vec<StepBytes> {
        let came = self.runs.get(&run).and_then(|traffic| traffic.came.get(&from));
        came.into_iter().flatten().copied().collect()
    }

    /// Bytes of messages that are kept.
    pub fn bytes(&self) -> usize {
        let sent = self.runs.values().flat_map(|traffic| traffic.sent.values());
        sent.flat_map(BTreeMap::values).map(|bytes| bytes.len()).sum()
    }
}

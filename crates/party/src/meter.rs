//! Counts of what a party sent: bytes per peer and step, and rounds.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::{Instance, PartyId, Step};

/// What was sent under one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Bytes of their bodies. Headers and signatures are the same for every message and not counted
    /// here.
    pub bytes: u64,
}

#[derive(Default)]
struct Counts {
    sent: BTreeMap<(Instance, Step, PartyId), Traffic>,
    depth: BTreeMap<Instance, u32>,
}

/// Counts one party's messages per instance, step and peer, and the longest chain of messages that
/// each caused the next, which is the number of rounds.
#[derive(Default)]
pub struct Meter(Mutex<Counts>);

impl Meter {
    /// Notes a message sent, and returns its depth: one more than the deepest message received in
    /// the instance.
    pub(crate) fn sent(&self, instance: Instance, step: Step, to: PartyId, bytes: u64) -> u32 {
        let mut counts = self.0.lock().expect("no panic while counting");
        let traffic = counts.sent.entry((instance, step, to)).or_default();
        traffic.messages += 1;
        traffic.bytes += bytes;
        counts.depth.get(&instance).map_or(1, |depth| depth.saturating_add(1))
    }

    /// Notes the depth of a message received.
    pub(crate) fn received(&self, instance: Instance, depth: u32) {
        let mut counts = self.0.lock().expect("no panic while counting");
        let deepest = counts.depth.entry(instance).or_default();
        *deepest = (*deepest).max(depth);
    }

    /// What was sent in an instance, per step and peer.
    pub fn traffic(&self, instance: Instance) -> BTreeMap<(Step, PartyId), Traffic> {
        let counts = self.0.lock().expect("no panic while counting");
        let of_instance = counts.sent.iter().filter(|((i, _, _), _)| *i == instance);
        of_instance.map(|((_, step, peer), traffic)| ((*step, *peer), *traffic)).collect()
    }

    /// Bytes of bodies sent in an instance to all peers together.
    pub fn bytes_sent(&self, instance: Instance) -> u64 {
        self.traffic(instance).values().map(|t| t.bytes).sum()
    }

    /// The deepest message received in an instance: how many rounds it has taken so far.
    pub fn rounds(&self, instance: Instance) -> u32 {
        self.0.lock().expect("no panic while counting").depth.get(&instance).copied().unwrap_or(0)
    }

    /// Drops the counts of an instance, for servers that run for years.
    pub fn forget(&self, instance: Instance) {
        let mut counts = self.0.lock().expect("no panic while counting");
        counts.sent.retain(|(i, _, _), _| *i != instance);
        counts.depth.remove(&instance);
    }
}

//! What the servers say about the room. A single one is believed of nothing that matters.

use ostrakon_mixing::{EpochContext, RoomDescriptor};
use ostrakon_party::PartyId;
use ostrakon_protocol::{Outcome, Status};

use crate::time::Millis;

/// By less a server's word on when it seals an epoch does not move: answers take their time.
const STEADY: Millis = 250;

/// One server's last word, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq)]
struct Report {
    /// Whether it answers.
    reachable: bool,
    /// The epoch that collects, or is about to.
    number: Option<u64>,
    /// When that one is sealed.
    seals: Option<Millis>,
    /// What a submission must be made for.
    context: Option<EpochContext>,
    /// The last epoch that ended with too few, if it was the last one.
    too_few: Option<u64>,
    /// By party, the places that it gave out; of itself also those who wait for one.
    places: Vec<u32>,
}

/// What all servers said last.
#[derive(Debug)]
pub struct Reports {
    reports: Vec<Report>,
    /// How many must say the same for one of them to be honest.
    believed: usize,
    /// The latest epoch that so many have described alike.
    collecting: Option<u64>,
}

/// By party, how many have a place from it or wait for one there; `None` where it does not say.
pub type Counts = Vec<Option<u32>>;

impl Reports {
    /// Nothing yet, of so many servers.
    pub fn new(servers: usize, believed: usize) -> Self {
        Self { reports: vec![Report::default(); servers], believed, collecting: None }
    }

    /// Hears a server about `room`; `None` says that it does not answer. Whether that is news to a
    /// participant, more than how many there are.
    pub fn hear(
        &mut self,
        room: &RoomDescriptor,
        now: Millis,
        party: PartyId,
        status: Option<&Status>,
    ) -> bool {
        let Some(before) = self.reports.get_mut(party.index()) else { return false };
        let Some(status) = status else {
            before.context = None;
            return std::mem::take(&mut before.reachable);
        };
        let number = status.epoch.map(|epoch| epoch.number);
        let last = status.last.as_ref();
        let too_few = last.filter(|last| last.outcome == Outcome::TooFew).map(|last| last.number);
        let places = std::mem::replace(&mut before.places, status.places.clone());
        let after = Report {
            reachable: true,
            number,
            seals: seals(now, status, before),
            context: status.context.clone(),
            too_few,
            places: status.places.clone(),
        };
        let news = *before != after || places.is_empty();
        *before = after;
        // Servers hear of the next epoch one after the other; nobody goes back.
        self.collecting = self.collecting.max(self.described(room));
        news
    }

    /// The latest epoch of the room that enough servers have described alike (P2.1).
    pub fn collecting(&self) -> Option<u64> {
        self.collecting
    }

    fn described(&self, room: &RoomDescriptor) -> Option<u64> {
        let contexts = || self.reports.iter().filter_map(|report| report.context.as_ref());
        let enough = |context: &&EpochContext| {
            contexts().filter(|other| other == context).count() >= self.believed
        };
        contexts()
            .filter(enough)
            .filter(|context| context.is_of(room))
            .map(|context| context.epoch.number)
            .max()
    }

    /// When an epoch is sealed: when the last server's clock has run out, of which one alone is not
    /// believed. So the middle one of three, the later one of two; `None` if nobody knows.
    pub fn seals(&self, number: u64) -> Option<Millis> {
        let of_it = |report: &&Report| report.reachable && report.number == Some(number);
        let mut said: Vec<Millis> =
            self.reports.iter().filter(of_it).filter_map(|report| report.seals).collect();
        said.sort_unstable();
        said.get(said.len() / 2).copied()
    }

    /// When a server says that the epoch that it speaks of is sealed.
    pub fn seals_by(&self, party: PartyId) -> Option<Millis> {
        self.reports.get(party.index()).and_then(|report| report.seals)
    }

    /// The epoch that a server says ended with too few, if it was the last one.
    pub fn too_few(&self, party: PartyId) -> Option<u64> {
        self.reports.get(party.index()).and_then(|report| report.too_few)
    }

    /// How many there are at each server, by its own word.
    pub fn counts(&self) -> Counts {
        let count = |(party, report): (usize, &Report)| {
            report.reachable.then(|| report.places.get(party).copied()).flatten()
        };
        self.reports.iter().enumerate().map(count).collect()
    }
}

/// When a server seals the epoch that it speaks of. One that waits for people has no time left for
/// as long as it waits: when it was to be sealed is past, and stays so.
fn seals(now: Millis, status: &Status, before: &Report) -> Option<Millis> {
    let epoch = status.epoch?;
    let left = epoch.closes_in_ms?;
    let due = before.seals.filter(|_| before.number == Some(epoch.number));
    let seals = now.saturating_add(left);
    Some(match due {
        Some(due) if left == 0 => due.min(now),
        Some(due) if due.abs_diff(seals) < STEADY => due,
        _ => seals,
    })
}

//! Batches under way and in stock (spec V3).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;
use ostrakon_robust::offline::Record;
use ostrakon_robust::rotation::to_start;
use serde::{Deserialize, Serialize};

use crate::evidence::{Burnt, Conviction, Shown};
use crate::room::{BURNT, Room};

use super::Change;

/// A batch, as the order has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Members' commitments to their seeds, by position.
    pub committed: BTreeMap<usize, Digest>,
    /// Members that have said that it is right.
    right: BTreeSet<usize>,
    /// Whether it is ready.
    pub ready: bool,
}

/// All batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stock {
    /// By set: how many batches it has begun.
    begun: Vec<u64>,
    /// Under way and in stock, by number.
    pub batches: BTreeMap<u64, Batch>,
    /// Those that are ready, in the order in which they became so.
    ready: VecDeque<u64>,
    /// Burnt batches of which not all members have shown what they have.
    burnt: BTreeMap<u64, Burnt>,
    /// Batches that were burnt since one was ready.
    spoilt: u32,
    /// Who was convicted: its sets begin nothing more.
    convicted: BTreeMap<PartyId, Conviction>,
}

impl Batch {
    /// Whether the member at a position has said that it is right.
    #[must_use]
    pub fn is_right_for(&self, position: usize) -> bool {
        self.right.contains(&position)
    }
}

impl Stock {
    pub(super) fn new(room: &Room) -> Self {
        Self {
            begun: vec![0; room.committees().len()],
            batches: BTreeMap::new(),
            ready: VecDeque::new(),
            burnt: BTreeMap::new(),
            spoilt: 0,
            convicted: BTreeMap::new(),
        }
    }

    /// Batches that are ready.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Begins a batch in every set that has fewer than two: a function of the state.
    pub(super) fn begin(&mut self, room: &Room) -> Vec<u64> {
        let sets = self.begun.len();
        let mut begun = Vec::new();
        loop {
            let mut counts = vec![0; sets];
            for number in self.batches.keys() {
                counts[usize::try_from(*number % sets as u64).expect("there are few sets")] += 1;
            }
            let corrupt = |set: &usize| {
                let members = room.committees()[*set].members();
                members.iter().any(|member| self.convicted.contains_key(member))
            };
            let start: Vec<_> = to_start(&counts).into_iter().filter(|s| !corrupt(s)).collect();
            if start.is_empty() {
                return begun;
            }
            for set in start {
                let number = self.begun[set] * sets as u64 + set as u64;
                self.begun[set] += 1;
                self.batches.insert(number, Batch::default());
                begun.push(number);
            }
        }
    }

    /// Whether a batch was begun in this state or before. A state may be older than what a server
    /// has on its disk: of batches that it does not know yet it says nothing.
    #[must_use]
    pub fn has_begun(&self, number: u64) -> bool {
        let sets = self.begun.len() as u64;
        let of_set = usize::try_from(number % sets).ok().and_then(|set| self.begun.get(set));
        of_set.is_some_and(|begun| number / sets < *begun)
    }

    /// Takes the batch that has been ready for the longest time.
    pub(super) fn take(&mut self) -> Option<u64> {
        let number = self.ready.pop_front()?;
        self.batches.remove(&number);
        Some(number)
    }

    /// What is said of a batch; the same rules as [`ostrakon_robust::offline::Batch`].
    pub(super) fn record(
        &mut self,
        room: &Room,
        number: u64,
        author: PartyId,
        record: &[u8],
    ) -> Vec<Change> {
        let committee = room.committee_of(number);
        let (Some(position), Some(record)) =
            (committee.position(author), Record::from_bytes(record))
        else {
            return Vec::new();
        };
        let Some(batch) = self.batches.get_mut(&number).filter(|batch| !batch.ready) else {
            return Vec::new();
        };
        let all_committed = batch.committed.len() == committee.size();
        match record {
            Record::Commit(digest) => {
                batch.committed.entry(position).or_insert(digest);
            }
            Record::Right if all_committed => {
                batch.right.insert(position);
                if batch.right.len() == committee.size() {
                    batch.ready = true;
                    self.ready.push_back(number);
                    self.spoilt = 0;
                    return vec![Change::Ready(number)];
                }
            }
            // What members show they sign.
            Record::Right | Record::Complaint(_) | Record::Reveal(_) => {}
        }
        Vec::new()
    }

    /// What a member shows of a batch: that it does not come out, or what it has of it then.
    pub(super) fn show(
        &mut self,
        room: &Room,
        number: u64,
        author: PartyId,
        shown: &Shown,
    ) -> Vec<Change> {
        let committee = room.committee_of(number);
        let Some(position) = committee.position(author) else { return Vec::new() };
        if self.burnt.contains_key(&number) {
            return self.shown(room, number, position, shown);
        }
        let may_burn = |batch: &&Batch| !batch.ready && batch.committed.len() == committee.size();
        let Some(batch) = self.batches.get(&number).filter(may_burn) else { return Vec::new() };
        let commitments = batch.committed.values().copied().collect();
        let Some(burnt) = Burnt::new(room, number, commitments, (position, shown)) else {
            return Vec::new();
        };
        self.batches.remove(&number);
        self.spoilt = self.spoilt.saturating_add(1);
        let sets = self.begun.len() as u64;
        let of_set: Vec<u64> =
            self.burnt.keys().copied().filter(|other| other % sets == number % sets).collect();
        if let Some(oldest) = of_set.first().filter(|_| of_set.len() >= BURNT) {
            self.burnt.remove(oldest);
        }
        self.burnt.insert(number, burnt);
        vec![Change::Burnt(number)]
    }

    /// A member shows what it has of a burnt batch; with all of it the batch is judged.
    fn shown(&mut self, room: &Room, number: u64, position: usize, shown: &Shown) -> Vec<Change> {
        let Some(burnt) = self.burnt.get_mut(&number) else { return Vec::new() };
        if !burnt.show(room, position, shown) {
            return Vec::new();
        }
        let verdict = burnt.verdict(room);
        if verdict.is_none() && !burnt.lacking(room).is_empty() {
            return Vec::new();
        }
        let evidence = self.burnt.remove(&number);
        let mut changes = vec![Change::Judged(number, verdict)];
        if let (Some(verdict), Some(evidence)) = (verdict, evidence) {
            let deed = verdict.deviation.into();
            self.convicted.entry(verdict.culprit).or_insert(Conviction { deed, evidence });
            changes.extend(self.give_up(room, verdict.culprit));
        }
        changes
    }

    /// Gives up what is under way with a server that was convicted. What is ready all members have
    /// found right.
    fn give_up(&mut self, room: &Room, party: PartyId) -> Vec<Change> {
        let under_way = |(number, batch): &(&u64, &Batch)| {
            !batch.ready && room.committee_of(**number).position(party).is_some()
        };
        let numbers: Vec<u64> = self.batches.iter().filter(under_way).map(|(n, _)| *n).collect();
        numbers.iter().for_each(|number| drop(self.batches.remove(number)));
        numbers.into_iter().map(Change::Dropped).collect()
    }

    /// A member is out of a batch: it can never be ready.
    pub(super) fn out(&mut self, room: &Room, number: u64, author: PartyId) -> Vec<Change> {
        let member = room.committee_of(number).position(author).is_some();
        if member && self.batches.get(&number).is_some_and(|batch| !batch.ready) {
            self.batches.remove(&number);
            return vec![Change::Dropped(number)];
        }
        Vec::new()
    }

    /// Drops the batches of a server that has lost its shares of them.
    pub(super) fn forsake(&mut self, room: &Room, party: PartyId) -> Vec<Change> {
        let of = |number: &u64| room.committee_of(*number).position(party).is_some();
        let lost: Vec<u64> = self.batches.keys().copied().filter(of).collect();
        self.batches.retain(|number, _| !of(number));
        self.ready.retain(|number| !of(number));
        lost.into_iter().map(Change::Dropped).collect()
    }

    /// Who was convicted, and of what.
    #[must_use]
    pub fn convicted(&self) -> &BTreeMap<PartyId, Conviction> {
        &self.convicted
    }

    /// Batches that were burnt since one was ready.
    #[must_use]
    pub fn spoilt(&self) -> u32 {
        self.spoilt
    }

    /// Burnt batches that are not judged.
    #[must_use]
    pub fn burnt(&self) -> &BTreeMap<u64, Burnt> {
        &self.burnt
    }
}

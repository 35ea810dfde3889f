//! The certified blocks that this server holds with everything that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_party::{ByParty, PartyId};

use crate::block::{Certificate, CheckedBlock, Reference, Slot};
use crate::params::Round;

/// A certified block.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub block: Arc<CheckedBlock>,
    pub certificate: Certificate,
}

/// Certified blocks by place. What a block names is here, too, or was dropped or ordered before.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    rounds: BTreeMap<Round, BTreeMap<PartyId, Held>>,
    newest: ByParty<Option<Reference>>,
    /// Everything of this round and below has been dropped.
    floor: Round,
}

impl Graph {
    pub fn new(parties: usize) -> Self {
        Self { rounds: BTreeMap::new(), newest: ByParty::new(parties, |_| None), floor: 0 }
    }

    pub fn floor(&self) -> Round {
        self.floor
    }

    pub fn get(&self, (round, author): Slot) -> Option<&Held> {
        self.rounds.get(&round)?.get(&author)
    }

    pub fn has(&self, reference: &Reference) -> bool {
        self.get(reference.slot()).is_some_and(|held| held.block.digest() == reference.digest)
    }

    /// The blocks of a round.
    pub fn round(&self, round: Round) -> impl Iterator<Item = &Held> {
        self.rounds.get(&round).into_iter().flat_map(BTreeMap::values)
    }

    /// All blocks above a round, by ascending place.
    pub fn above(&self, round: Round) -> impl Iterator<Item = &Held> {
        self.rounds.range(round + 1..).flat_map(|(_, blocks)| blocks.values())
    }

    /// The highest round with a block; 0 if there is none.
    pub fn top(&self) -> Round {
        self.rounds.last_key_value().map_or(0, |(round, _)| *round)
    }

    /// The highest round of which `needed` blocks are here; 0 if there is none.
    pub fn highest_with(&self, needed: usize) -> Round {
        let full =
            |(round, blocks): (&Round, &BTreeMap<_, _>)| (blocks.len() >= needed).then_some(*round);
        self.rounds.iter().rev().find_map(full).unwrap_or(0)
    }

    /// The newest block of an author.
    pub fn newest(&self, author: PartyId) -> Option<Reference> {
        self.newest[author]
    }

    pub fn insert(&mut self, held: Held) {
        let reference = held.block.reference();
        let newest = &mut self.newest[reference.author];
        if newest.is_none_or(|newest| newest.round < reference.round) {
            *newest = Some(reference);
        }
        self.rounds.entry(reference.round).or_default().insert(reference.author, held);
    }

    /// Drops everything of round `floor` and below.
    pub fn drop_through(&mut self, floor: Round) {
        self.floor = self.floor.max(floor);
        self.rounds = self.rounds.split_off(&(self.floor + 1));
        for author in 0..self.newest.parties() {
            let author = PartyId(u8::try_from(author).expect("parties are numbered by bytes"));
            if self.newest[author].is_some_and(|newest| newest.round <= self.floor) {
                self.newest[author] = None;
            }
        }
    }

    /// Whether a chain of parents leads from one block down to another. Both are above the last
    /// committed leader, so everything between them is here.
    pub fn reaches(&self, from: &Reference, to: &Reference) -> bool {
        let mut layer: BTreeSet<PartyId> = [from.author].into();
        for round in (to.round + 1..=from.round).rev() {
            let parents = |author: &PartyId| self.get((round, *author)).map(|held| &held.block);
            layer = layer
                .iter()
                .filter_map(parents)
                .flat_map(|block| block.block().parents.iter().map(|(author, _)| *author))
                .collect();
        }
        layer.contains(&to.author)
    }

    /// The blocks from `leader` down that `skip` does not stop, in the common order: by round, then
    /// by author.
    pub fn history(
        &self,
        leader: &Reference,
        skip: impl Fn(&Reference) -> bool,
    ) -> Vec<Arc<CheckedBlock>> {
        let mut found: BTreeMap<Slot, Arc<CheckedBlock>> = BTreeMap::new();
        let mut stack = vec![*leader];
        while let Some(reference) = stack.pop() {
            if found.contains_key(&reference.slot()) || skip(&reference) {
                continue;
            }
            let Some(held) = self.get(reference.slot()) else { continue };
            found.insert(reference.slot(), held.block.clone());
            stack.extend(held.block.block().references());
        }
        found.into_values().collect()
    }
}

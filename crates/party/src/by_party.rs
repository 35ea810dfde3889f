//! Tables with one entry for each party, and sets of parties.

use std::ops::{Index, IndexMut};

use crate::PartyId;

/// One value for each party, indexed by its number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByParty<T>(Vec<T>);

impl<T> ByParty<T> {
    /// A table for `parties` parties, filled by `value`.
    ///
    /// # Panics
    /// If there are more parties than a [`PartyId`] can number.
    pub fn new(parties: usize, value: impl FnMut(PartyId) -> T) -> Self {
        assert!(parties <= PartySet::CAPACITY, "a party's number is a byte");
        Self(ids(parties).map(value).collect())
    }

    /// The value of a party, or `None` if there is no such party.
    pub fn get(&self, party: PartyId) -> Option<&T> {
        self.0.get(party.index())
    }

    /// The value of a party to change, or `None` if there is no such party.
    pub fn get_mut(&mut self, party: PartyId) -> Option<&mut T> {
        self.0.get_mut(party.index())
    }

    /// How many parties the table has.
    pub fn parties(&self) -> usize {
        self.0.len()
    }

    /// All parties with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (PartyId, &T)> {
        ids(self.0.len()).zip(&self.0)
    }

    /// The values, by number.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

/// The numbers of `parties` parties.
fn ids(parties: usize) -> impl Iterator<Item = PartyId> {
    (0..parties).map(|i| PartyId(u8::try_from(i).expect("at most 256 parties")))
}

impl<T> From<Vec<T>> for ByParty<T> {
    /// # Panics
    /// If there are more values than a [`PartyId`] can number.
    fn from(values: Vec<T>) -> Self {
        assert!(values.len() <= PartySet::CAPACITY, "a party's number is a byte");
        Self(values)
    }
}

impl<T> Index<PartyId> for ByParty<T> {
    type Output = T;

    fn index(&self, party: PartyId) -> &T {
        &self.0[party.index()]
    }
}

impl<T> IndexMut<PartyId> for ByParty<T> {
    fn index_mut(&mut self, party: PartyId) -> &mut T {
        &mut self.0[party.index()]
    }
}

/// A set of parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartySet([u64; 4]);

impl PartySet {
    /// How many parties can be numbered.
    pub const CAPACITY: usize = 256;

    /// All of `parties` parties.
    ///
    /// # Panics
    /// If there are more parties than a [`PartyId`] can number.
    #[must_use]
    pub fn all(parties: usize) -> Self {
        ids(parties).collect()
    }

    fn place(party: PartyId) -> (usize, u64) {
        (party.index() / 64, 1 << (party.index() % 64))
    }

    /// Adds a party; says whether it was not there before.
    pub fn insert(&mut self, party: PartyId) -> bool {
        let (word, bit) = Self::place(party);
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    /// Takes a party out; says whether it was there.
    pub fn remove(&mut self, party: PartyId) -> bool {
        let (word, bit) = Self::place(party);
        let there = self.0[word] & bit != 0;
        self.0[word] &= !bit;
        there
    }

    /// Whether a party is in the set.
    #[must_use]
    pub fn contains(&self, party: PartyId) -> bool {
        let (word, bit) = Self::place(party);
        self.0[word] & bit != 0
    }

    /// How many parties are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether nobody is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// The parties, in order.
    pub fn iter(&self) -> impl Iterator<Item = PartyId> + use<> {
        let set = *self;
        ids(Self::CAPACITY).filter(move |party| set.contains(*party))
    }
}

impl FromIterator<PartyId> for PartySet {
    fn from_iter<I: IntoIterator<Item = PartyId>>(parties: I) -> Self {
        let mut set = Self::default();
        for party in parties {
            set.insert(party);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_counts_each_party_once_and_in_order() {
        let mut set: PartySet = [200, 3, 64, 3, 255, 0].map(PartyId).into_iter().collect();
        assert_eq!(set.len(), 5);
        assert_eq!(set.iter().map(|p| p.0).collect::<Vec<_>>(), [0, 3, 64, 200, 255]);
        assert!(!set.insert(PartyId(64)) && set.insert(PartyId(65)));
        assert!(set.remove(PartyId(64)) && !set.remove(PartyId(64)));
        assert!(!set.contains(PartyId(64)) && set.contains(PartyId(65)));
        assert!(PartySet::default().is_empty() && !set.is_empty());
        assert_eq!(PartySet::all(256).len(), 256);
        assert_eq!(PartySet::all(5).iter().count(), 5);
    }

    #[test]
    fn a_table_has_the_parties_that_there_are() {
        let mut table = ByParty::new(4, |party| u64::from(party.0) * 10);
        table[PartyId(2)] += 1;
        assert_eq!(table.as_slice(), [0, 10, 21, 30]);
        assert_eq!((table[PartyId(3)], table.parties()), (30, 4));
        assert_eq!(table.get(PartyId(4)), None);
        assert_eq!(table.get_mut(PartyId(4)), None);
        assert_eq!(table.iter().map(|(id, v)| (id.0, *v)).last(), Some((3, 30)));
    }
}

//! How many parties there are, how many may be corrupt, and every number that follows.
//!
//! A count that is too small type-checks and works, until the day it is attacked: two signatures
//! where four of five are corrupt are a forgery. So whoever counts asks a [`Trust`], and the table
//! test below says what each engine's trust answers for every number of parties.

use crate::{ByParty, PartySet};

/// What an engine or a ledger promises of its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// A corrupt party can stop it, so everybody is waited for.
    Stoppable,
    /// It ends whatever the corrupt parties do, so nobody waits for more than those who must be
    /// there.
    Guaranteed,
}

/// A trust model at work among a number of parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trust {
    parties: usize,
    corrupt: usize,
    delivery: Delivery,
}

/// Numbers of parties and corruptions that no protocol here can bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{corrupt} corrupt of {parties} parties cannot be borne with {delivery:?} delivery")]
pub struct Unbearable {
    /// n.
    pub parties: usize,
    /// t.
    pub corrupt: usize,
    /// What was to be promised.
    pub delivery: Delivery,
}

impl Trust {
    /// `corrupt` of `parties` parties may be corrupt.
    ///
    /// # Errors
    /// [`Unbearable`] if there is nobody or more than [`PartySet::CAPACITY`], if all may be
    /// corrupt, or if delivery is to be guaranteed with a third or more of them corrupt.
    pub fn new(parties: usize, corrupt: usize, delivery: Delivery) -> Result<Self, Unbearable> {
        let bearable = match delivery {
            Delivery::Stoppable => corrupt < parties,
            Delivery::Guaranteed => corrupt.checked_mul(3).is_some_and(|c| c < parties),
        };
        if bearable && parties <= PartySet::CAPACITY {
            Ok(Self { parties, corrupt, delivery })
        } else {
            Err(Unbearable { parties, corrupt, delivery })
        }
    }

    /// An honest majority of three that a corrupt party can stop: n = 3, t = 1.
    #[must_use]
    pub fn one_of_three() -> Self {
        Self { parties: 3, corrupt: 1, delivery: Delivery::Stoppable }
    }

    /// One honest party suffices, and each can stop it: t = n − 1.
    ///
    /// # Errors
    /// [`Unbearable`] if there is nobody, or too many.
    pub fn all_but_one(parties: usize) -> Result<Self, Unbearable> {
        Self::new(parties, parties.saturating_sub(1), Delivery::Stoppable)
    }

    /// Delivery is guaranteed whatever less than a third of the parties do: t = ⌈n/3⌉ − 1.
    ///
    /// # Errors
    /// [`Unbearable`] if there is nobody, or too many.
    pub fn under_a_third(parties: usize) -> Result<Self, Unbearable> {
        Self::new(parties, parties.saturating_sub(1) / 3, Delivery::Guaranteed)
    }

    /// n: how many parties there are.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.parties
    }

    /// t: how many of them may be corrupt.
    #[must_use]
    pub fn corrupt(&self) -> usize {
        self.corrupt
    }

    /// Whether delivery is guaranteed.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// t + 1: of so many parties that say the same at least one is honest.
    #[must_use]
    pub fn believed(&self) -> usize {
        self.corrupt + 1
    }

    /// How many parties are waited for: all, or n − t where delivery is guaranteed. There, any two
    /// sets of so many parties share an honest one.
    #[must_use]
    pub fn awaited(&self) -> usize {
        match self.delivery {
            Delivery::Stoppable => self.parties,
            Delivery::Guaranteed => self.parties - self.corrupt,
        }
    }

    /// How many participants are certainly not of the corrupt parties' making, where party i let in
    /// `by_class[i]` of them: the sum without the t largest classes.
    #[must_use]
    pub fn anonymity(&self, by_class: &ByParty<u64>) -> u64 {
        let mut sizes: Vec<u64> = by_class.iter().map(|(_, size)| *size).collect();
        sizes.sort_unstable();
        let kept = self.parties.min(sizes.len()).saturating_sub(self.corrupt);
        sizes[..kept].iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each trust model answers: (n, t, believed, awaited).
    fn row(trust: Trust) -> (usize, usize, usize, usize) {
        (trust.parties(), trust.corrupt(), trust.believed(), trust.awaited())
    }

    #[test]
    fn every_engine_s_numbers_for_every_number_of_parties() {
        // Replicated sharing, and additive sharing with an honest majority: three parties.
        assert_eq!(row(Trust::one_of_three()), (3, 1, 2, 3));
        // Additive sharing and authenticated bits: all but one corrupt, everybody is believed
        // together only and waited for.
        for n in 1..=PartySet::CAPACITY {
            assert_eq!(row(Trust::all_but_one(n).unwrap()), (n, n - 1, n, n), "n = {n}");
        }
        // Robust: written out up to the sizes in use, then by the rules that define them.
        let table = [
            (1, 0, 1, 1),
            (2, 0, 1, 2),
            (3, 0, 1, 3),
            (4, 1, 2, 3),
            (5, 1, 2, 4),
            (6, 1, 2, 5),
            (7, 2, 3, 5),
            (8, 2, 3, 6),
            (9, 2, 3, 7),
            (10, 3, 4, 7),
            (13, 4, 5, 9),
            (16, 5, 6, 11),
            (100, 33, 34, 67),
        ];
        for expected in table {
            assert_eq!(row(Trust::under_a_third(expected.0).unwrap()), expected);
        }
        for n in 1..=PartySet::CAPACITY {
            let (n, t, believed, awaited) = row(Trust::under_a_third(n).unwrap());
            assert!(3 * t < n && 3 * (t + 1) >= n, "n = {n}: t is the largest that can be borne");
            assert!(believed > t, "n = {n}: one who is believed is honest");
            assert!(2 * awaited > n + t, "n = {n}: two quorums share an honest party");
            assert!(awaited + t <= n, "n = {n}: the honest parties alone are a quorum");
            assert!(awaited - t >= believed, "n = {n}: a quorum's honest members are believed");
        }
    }

    #[test]
    fn fewer_corruptions_than_the_most_are_counted_as_they_are() {
        // n = 5, t = 1, and n = 4, t = 0: numbers follow t, not n.
        assert_eq!(row(Trust::new(5, 1, Delivery::Guaranteed).unwrap()), (5, 1, 2, 4));
        assert_eq!(row(Trust::new(4, 0, Delivery::Guaranteed).unwrap()), (4, 0, 1, 4));
        assert_eq!(row(Trust::new(5, 4, Delivery::Stoppable).unwrap()), (5, 4, 5, 5));
    }

    #[test]
    fn what_cannot_be_borne_is_refused() {
        for (n, t, delivery) in [
            (0, 0, Delivery::Stoppable),
            (0, 0, Delivery::Guaranteed),
            (3, 3, Delivery::Stoppable),
            (3, 1, Delivery::Guaranteed),
            (6, 2, Delivery::Guaranteed),
            (4, usize::MAX, Delivery::Guaranteed),
            (PartySet::CAPACITY + 1, 1, Delivery::Stoppable),
        ] {
            let unbearable = Unbearable { parties: n, corrupt: t, delivery };
            assert_eq!(Trust::new(n, t, delivery), Err(unbearable));
        }
    }

    #[test]
    fn the_corrupt_parties_largest_classes_hide_nobody() {
        let classes = ByParty::from(vec![5, 9, 1, 7]);
        let anonymity = |t, delivery| Trust::new(4, t, delivery).unwrap().anonymity(&classes);
        assert_eq!(anonymity(0, Delivery::Guaranteed), 22);
        assert_eq!(anonymity(1, Delivery::Guaranteed), 13);
        assert_eq!(anonymity(2, Delivery::Stoppable), 6);
        assert_eq!(anonymity(3, Delivery::Stoppable), 1);
        // A table that is too short is no crowd.
        let trust = Trust::new(4, 1, Delivery::Guaranteed).unwrap();
        assert_eq!(trust.anonymity(&ByParty::from(vec![3])), 0);
    }
}

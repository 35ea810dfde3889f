//! Pairs of parties, the index of replicated sharing.

use serde::{Deserialize, Serialize};

/// A pair of the three parties. Share `[v]_ij` of a replicated sharing `v = [v]_01 ⊕ [v]_02 ⊕
/// [v]_12` is held by the pair `{P_i, P_j}` and missed by the third party (Ruffle §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Pair {
    /// P0 and P1.
    P01,
    /// P0 and P2.
    P02,
    /// P1 and P2.
    P12,
}

impl Pair {
    /// All pairs, in order.
    pub const ALL: [Pair; 3] = [Pair::P01, Pair::P02, Pair::P12];

    /// The numbers of its members, the lower one first.
    pub fn members(self) -> [u8; 2] {
        match self {
            Pair::P01 => [0, 1],
            Pair::P02 => [0, 2],
            Pair::P12 => [1, 2],
        }
    }

    /// The number of the party that is not in it.
    pub fn outsider(self) -> u8 {
        let [a, b] = self.members();
        3 - a - b
    }

    /// The pair that misses this party.
    pub fn without(party: u8) -> Pair {
        match party {
            0 => Pair::P12,
            1 => Pair::P02,
            _ => Pair::P01,
        }
    }

    /// The pair of two different parties.
    pub fn of(a: u8, b: u8) -> Pair {
        Pair::without(3 - a - b)
    }

    /// Whether the party is in the pair.
    pub fn contains(self, party: u8) -> bool {
        self.members().contains(&party)
    }

    /// The other member.
    pub fn other(self, member: u8) -> u8 {
        let [a, b] = self.members();
        if member == a { b } else { a }
    }

    /// Place in arrays indexed by pair.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The two pairs that a party is in, in order.
    pub fn of_party(party: u8) -> [Pair; 2] {
        match party {
            0 => [Pair::P01, Pair::P02],
            1 => [Pair::P01, Pair::P12],
            _ => [Pair::P02, Pair::P12],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relations_agree() {
        for pair in Pair::ALL {
            assert_eq!(Pair::without(pair.outsider()), pair);
            let [a, b] = pair.members();
            assert_eq!((Pair::of(a, b), Pair::of(b, a)), (pair, pair));
            assert_eq!((pair.other(a), pair.other(b)), (b, a));
            for party in 0..3 {
                assert_eq!(pair.contains(party), party != pair.outsider());
                assert_eq!(pair.contains(party), Pair::of_party(party).contains(&pair));
            }
        }
    }
}

use ostrakon_field::Fp;
use ostrakon_party::PartyId;

/// The servers that share one batch's material, and how many of them may be corrupt.
///
/// A server is known to protocols by its *position* among the members. Its evaluation point depends
/// on its party number, so it is the same in every committee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committee {
    members: Vec<PartyId>,
    corrupt: usize,
}

impl Committee {
    /// The committee of these members, ascending, of whom `corrupt` may be; `None` if there are
    /// fewer than 3·`corrupt` + 1, if nobody may be corrupt, or if a member occurs twice.
    #[must_use]
    pub fn new(members: &[PartyId], corrupt: usize) -> Option<Committee> {
        let ascending = members.is_sorted_by(|a, b| a < b);
        (corrupt > 0 && members.len() > 3 * corrupt && ascending)
            .then(|| Committee { members: members.to_vec(), corrupt })
    }

    /// How many members there are, N.
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// How many members may be corrupt, t: the degree of sharings.
    #[must_use]
    pub fn corrupt(&self) -> usize {
        self.corrupt
    }

    /// So many values that lie on one polynomial of degree t make it the right one, because t + 1
    /// of them are honest members': 2t + 1.
    #[must_use]
    pub fn agreeing(&self) -> usize {
        2 * self.corrupt + 1
    }

    /// Whether the committee is of the size in which material is prepared, 3t + 1.
    #[must_use]
    pub fn prepares(&self) -> bool {
        self.size() == 3 * self.corrupt + 1
    }

    /// The members, ascending.
    #[must_use]
    pub fn members(&self) -> &[PartyId] {
        &self.members
    }

    /// The position of a member.
    #[must_use]
    pub fn position(&self, party: PartyId) -> Option<usize> {
        self.members.binary_search(&party).ok()
    }

    /// Where polynomials are evaluated for the member at a position: its party number plus one.
    pub fn point(&self, position: usize) -> Fp {
        Fp::new(u64::from(self.members[position].0) + 1)
    }

    /// All points, by position.
    #[must_use]
    pub fn points(&self) -> Vec<Fp> {
        (0..self.size()).map(|position| self.point(position)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_than_three_t_and_one_are_refused() {
        let parties = |ids: &[u8]| ids.iter().map(|&id| PartyId(id)).collect::<Vec<_>>();
        assert!(Committee::new(&parties(&[0, 1, 2]), 1).is_none());
        assert!(Committee::new(&parties(&[0, 1, 2, 3, 4, 5]), 2).is_none());
        assert!(Committee::new(&parties(&[0, 1, 2, 3]), 0).is_none());
        assert!(Committee::new(&parties(&[0, 1, 1, 3]), 1).is_none());
        assert!(Committee::new(&parties(&[1, 0, 2, 3]), 1).is_none());
        let committee = Committee::new(&parties(&[0, 2, 3, 4]), 1).unwrap();
        assert!(committee.prepares() && committee.agreeing() == 3);
        assert_eq!(committee.position(PartyId(3)), Some(2));
        assert_eq!(committee.position(PartyId(1)), None);
        assert_eq!(committee.point(1), Fp::new(3));
    }
}

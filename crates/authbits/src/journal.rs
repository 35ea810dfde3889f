//! Numbers of segments, of which none is used twice, also over crashes.
//!
//! A prepared [`crate::Segment`] is in memory only: it is not `Clone`, nothing writes it down, and
//! nothing makes one but a preparation, so that none is there after a restart. What could come
//! again is its number. Its messages and coins would then be another try at the run that broke
//! off, and honest parties would take messages of the one for messages of the other. Only a party
//! whose run is on a tape ([`ostrakon_party::Tape`]) uses its number again: with the same
//! randomness and against the same messages, which is the same run and no other try.

use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_party::{Party, PartyId, Roster};

use crate::params::BadSpec;
use crate::spec::SegmentSpec;

/// Where a party writes down what it has used, and what it said, before it says it.
pub trait Journal {
    /// Writes durably and for ever, all or none: each name with its bytes, unless something stands
    /// under the name already, which stays. Returns, for each entry in order, what stood there
    /// before; `None` if it is new. An entry that might not survive a crash is an error.
    ///
    /// # Errors
    /// Why nothing could be written.
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String>;

    /// Writes that `name` is used; false if it was before.
    ///
    /// # Errors
    /// As [`Journal::keep`].
    fn mark(&mut self, name: Digest) -> Result<bool, String> {
        match &self.keep(&[(name, Vec::new())])?[..] {
            [before] => Ok(before.is_none()),
            _ => Err("the journal has not answered for one entry".to_owned()),
        }
    }
}

/// Why a segment may not be prepared. Nothing was sent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoTicket {
    /// The specification is refused; nothing was written.
    #[error(transparent)]
    Spec(#[from] BadSpec),
    /// The number has been used, perhaps by a run that broke off.
    #[error("the segment's number {0} has been used")]
    Used(u64),
    /// The journal cannot be written.
    #[error("the use of a segment's number cannot be written down: {0}")]
    Journal(String),
}

/// The right to prepare one segment once, whose number is written down as used.
#[must_use]
pub struct Ticket {
    spec: SegmentSpec,
    name: Digest,
    /// Of the randomness that it is good for, if it may have been taken before.
    seed: Option<Digest>,
}

/// What is written beside the number of a recorded run.
fn commitment(name: &Digest, random: &Secret) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/authbits/randomness of a number");
    transcript.field(&name.0).field(random.expose());
    transcript.finish()
}

/// What is written down: a number of a session at one party, whatever the specification says
/// besides.
fn name(roster: &Roster, party: PartyId, number: u64) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/authbits/used number");
    transcript.field(&roster.session.0.0).number(u64::from(party.0)).number(number);
    transcript.finish()
}

impl Ticket {
    /// Writes down that `party` uses the specification's number.
    ///
    /// # Errors
    /// [`NoTicket`].
    pub fn take(
        journal: &mut (impl Journal + ?Sized),
        party: &Party,
        spec: SegmentSpec,
    ) -> Result<Self, NoTicket> {
        spec.validate(party.roster.keys.len())?;
        let name = name(&party.roster, party.id, spec.number);
        match journal.mark(name) {
            Ok(true) => Ok(Self { spec, name, seed: None }),
            Ok(false) => Err(NoTicket::Used(spec.number)),
            Err(why) => Err(NoTicket::Journal(why)),
        }
    }

    /// The same for a run with this randomness. If `party` is recorded, the number may have been
    /// used before with the same randomness: that was the same run, which goes on.
    ///
    /// # Errors
    /// [`NoTicket`].
    pub fn take_for(
        journal: &mut (impl Journal + ?Sized),
        party: &Party,
        spec: SegmentSpec,
        random: &Secret,
    ) -> Result<Self, NoTicket> {
        spec.validate(party.roster.keys.len())?;
        let name = name(&party.roster, party.id, spec.number);
        let seed = commitment(&name, random);
        let before = journal.keep(&[(name, seed.0.to_vec())]).map_err(NoTicket::Journal)?;
        match &before[..] {
            [None] => Ok(Self { spec, name, seed: Some(seed) }),
            [Some(before)] if *before == seed.0 && party.is_recorded() => {
                Ok(Self { spec, name, seed: Some(seed) })
            }
            [Some(_)] => Err(NoTicket::Used(spec.number)),
            _ => Err(NoTicket::Journal("it has not answered for one entry".to_owned())),
        }
    }

    /// What may be prepared; `None` by another party than the one that took the ticket, in another
    /// session, or with other randomness than the ticket's.
    pub(crate) fn spend(self, party: &Party, random: &Secret) -> Option<SegmentSpec> {
        let own = name(&party.roster, party.id, self.spec.number);
        let seed = self.seed.is_none_or(|seed| seed == commitment(&own, random));
        (self.name == own && seed).then_some(self.spec)
    }
}

#[cfg(test)]
mod tests {
    use super::Ticket;
    use crate::segment::Segment;

    trait Once<Which> {
        fn is_so() {}
    }
    impl<T> Once<()> for T {}
    impl<T: Clone> Once<u8> for T {}

    /// Does not compile if a ticket or a segment can be copied: two answers would fit.
    #[test]
    fn tickets_and_segments_are_not_cloned() {
        <Ticket as Once<_>>::is_so();
        <Segment as Once<_>>::is_so();
    }
}

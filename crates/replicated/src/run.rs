//! The rules of Ruffle's messages, for runs of them.

use ostrakon_party::{Header, Instance, Length, PartyId, Roster, SignedHeader, Step, Tag};
use ostrakon_threeparty::{Offence, Protocol};

use crate::accusation::fault::{Evidence, Fault};
use crate::messages::{self, Kind, Subject};

pub use ostrakon_threeparty::run::{HEARD, either};

/// A run as one party sees it.
pub type Run = ostrakon_threeparty::Run<Subject>;

impl Protocol for Subject {
    type Evidence = Evidence;
    type Fault = Fault;

    fn instance(&self) -> Instance {
        Subject::instance(self)
    }

    fn length(&self, step: Step) -> Length {
        messages::length(self, step)
    }

    fn addressed_rightly(header: &Header) -> bool {
        messages::addressed_rightly(header)
    }

    fn binds(tag: &Tag) -> bool {
        messages::binds(tag)
    }

    fn content_is_wellformed(&self, roster: &Roster, signed: &SignedHeader, body: &[u8]) -> bool {
        messages::content_is_wellformed(self, roster, signed, body)
    }

    fn opens(commitment: Step, opening: Step) -> bool {
        let pairs =
            [(Kind::CoinCommitment, Kind::CoinOpening), (Kind::SumCommitment, Kind::SumOpening)];
        pairs.iter().any(|(c, o)| (commitment, opening) == (c.step(), o.step()))
    }

    fn fault(&self, culprit: PartyId, evidence: Evidence) -> Fault {
        Fault { culprit, subject: *self, evidence }
    }

    fn show(fault: &Fault) -> Vec<u8> {
        fault.encode()
    }

    fn heed(&self, roster: &Roster, reader: PartyId, shown: &[u8]) -> Option<Fault> {
        let fault = Fault::decode(shown).ok()?;
        let heeded = fault.subject == *self && fault.culprit != reader && fault.verify(roster);
        heeded.then_some(fault)
    }
}

impl From<Offence> for Evidence {
    fn from(offence: Offence) -> Self {
        match offence {
            Offence::Equivocation(statements) => Evidence::Equivocation(statements),
            Offence::Malformed(statement) => Evidence::Malformed(statement),
            Offence::Opening { commitment, opening } => Evidence::Opening { commitment, opening },
        }
    }
}

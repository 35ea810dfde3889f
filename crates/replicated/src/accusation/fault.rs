//! Who did wrong, and how a third person can see it.
//!
//! Evidence is made of the culprit's own signatures. Nobody is accused for silence, and nobody on
//! another party's word.

use ostrakon_party::{Header, Instance, Length, PartyId, Roster, SignedHeader, Step, Tag, wire};
use ostrakon_threeparty::{Offence, Protocol, evidence};
use serde::{Deserialize, Serialize};

use crate::accusation::blame::{BatchEvidence, ShuffleEvidence, opening_fails};
use crate::accusation::material::{LastEvidence, PadsEvidence};
use crate::messages::{self, Kind, Subject};

pub use ostrakon_threeparty::Statement;

/// Proof that one party broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// Two different statements under one tag.
    Equivocation(Box<[SignedHeader; 2]>),
    /// A message whose length or content its step forbids. The body is empty if the length is the
    /// offence.
    Malformed(Box<Statement>),
    /// A commitment and what was said to open it, and does not.
    Opening {
        /// The commitment.
        commitment: Box<Statement>,
        /// The opening.
        opening: Box<Statement>,
    },
    /// A batch whose seeds were opened: the culprit's message is not what they prescribe.
    Batch(Box<BatchEvidence>),
    /// Pads that do not open the pair's root.
    Pads(Box<PadsEvidence>),
    /// An online message that is not what the opened seeds prescribe.
    Shuffle(Box<ShuffleEvidence>),
    /// Wrong material for opening the output.
    Last(Box<LastEvidence>),
}

/// A party that is proved to have cheated, and the proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{culprit} cheated: {}", self.what())]
pub struct Fault {
    /// The cheater.
    pub culprit: PartyId,
    /// In which run.
    pub subject: Subject,
    /// The proof.
    pub evidence: Evidence,
}

/// Why a run ended without its result.
pub type Stop = ostrakon_threeparty::Stop<Fault>;

impl Fault {
    /// What was done, in a few words.
    pub fn what(&self) -> &'static str {
        match &self.evidence {
            Evidence::Equivocation(_) => "said two different things under one tag",
            Evidence::Malformed(_) => "signed a malformed message",
            Evidence::Opening { .. } => "opened a commitment to something else",
            Evidence::Batch(_) => "deviated in preprocessing",
            Evidence::Pads(_) => "showed pads that its commitment does not contain",
            Evidence::Shuffle(_) => "sent a wrong table or digest in the shuffle",
            Evidence::Last(_) => "gave wrong material for opening the output",
        }
    }

    /// Whether the evidence proves the culprit's guilt to somebody who knows the roster only.
    #[must_use]
    pub fn verify(&self, roster: &Roster) -> bool {
        self.proven(roster) == Some(self.culprit)
    }

    fn proven(&self, roster: &Roster) -> Option<PartyId> {
        let subject = &self.subject;
        if !matches!(subject, Subject::Setup) && !subject.shape().is_valid() {
            return None;
        }
        match &self.evidence {
            Evidence::Equivocation(two) => evidence::equivocated(roster, subject, two),
            Evidence::Malformed(statement) => evidence::malformed(roster, subject, statement),
            Evidence::Opening { commitment, opening } => {
                evidence::opened_otherwise(roster, subject, commitment, opening, opening_fails)
            }
            Evidence::Batch(evidence) => evidence.proven(roster, subject),
            Evidence::Pads(evidence) => evidence.proven(roster, subject),
            Evidence::Shuffle(evidence) => evidence.proven(roster, subject),
            Evidence::Last(evidence) => evidence.proven(roster, subject),
        }
    }

    /// Bytes for storing and sending.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads what [`Fault::encode`] writes. Says nothing about whether the evidence holds
    /// ([`Fault::verify`]).
    ///
    /// # Errors
    /// [`wire::Malformed`].
    pub fn decode(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        wire::decode(bytes)
    }
}

/// The rules of Ruffle's messages, for runs of them.
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

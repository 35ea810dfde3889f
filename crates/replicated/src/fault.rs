//! Who did wrong, and how a third person can see it.
//!
//! Evidence is made of the culprit's own signatures. Nobody is accused for silence, and nobody on another party's word.

use ostrakon_party::{PartyId, Roster, SignedHeader, wire};
use serde::{Deserialize, Serialize};

use crate::blame::{BatchEvidence, ShuffleEvidence};
use crate::coin;
use crate::messages::{self, Subject};
use crate::output::LastEvidence;
use crate::pads::PadsEvidence;
use crate::pair::Pair;

/// A signed statement with its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What the sender signed.
    pub signed: SignedHeader,
    /// The body that the header's digest is of.
    pub body: Vec<u8>,
}

impl Statement {
    /// Whether the signature is the sender's and the body is the one that it signed.
    #[must_use]
    pub fn holds(&self, roster: &Roster) -> bool {
        let header = &self.signed.header;
        let body = header.length == self.body.len() as u64
            && header.digest == ostrakon_party::Header::digest_of(&self.body);
        body && roster.vouches(&self.signed)
    }
}

impl From<&ostrakon_party::Received> for Statement {
    fn from(received: &ostrakon_party::Received) -> Self {
        Self { signed: received.signed, body: received.body.to_vec() }
    }
}

/// Proof that one party broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// Two different statements under one tag.
    Equivocation(Box<[SignedHeader; 2]>),
    /// A message whose length or content its step forbids. The body is empty if the length is the offence.
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// A cheater was found.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// The two members of a pair state different things about a secret that they alone share: one of them is lying, and
    /// it cannot be seen which without opening a long-lived key. Nothing depended on it yet.
    #[error(
        "the members of {0:?} disagree about their common key: set the servers up again; one of the two is faulty"
    )]
    Disagreement(Pair),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Fault(Box::new(fault))
    }
}

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
        let of_run = |signed: &SignedHeader| {
            signed.header.tag.instance == subject.instance() && roster.vouches(signed)
        };
        match &self.evidence {
            Evidence::Equivocation(statements) => {
                let [a, b] = &**statements;
                (of_run(a) && of_run(b) && a.contradicts(b) && messages::binds(&a.header.tag))
                    .then_some(a.header.from)
            }
            Evidence::Malformed(statement) => {
                let header = &statement.signed.header;
                let wrong_length =
                    !messages::length(subject, header.tag.step).admits(header.length);
                let wrong = wrong_length
                    || !messages::addressed_rightly(header)
                    || (statement.holds(roster)
                        && !messages::content_is_wellformed(
                            subject,
                            roster,
                            &statement.signed,
                            &statement.body,
                        ));
                (of_run(&statement.signed) && wrong).then_some(header.from)
            }
            Evidence::Opening { commitment, opening } => {
                let genuine = [commitment, opening].into_iter().all(|statement| {
                    let header = &statement.signed.header;
                    statement.holds(roster)
                        && messages::length(subject, header.tag.step).admits(header.length)
                });
                let proven = genuine
                    && of_run(&commitment.signed)
                    && coin::opening_fails(commitment, opening);
                proven.then_some(opening.signed.header.from)
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

    /// Reads what [`Fault::encode`] writes. Says nothing about whether the evidence holds ([`Fault::verify`]).
    ///
    /// # Errors
    /// [`wire::Malformed`].
    pub fn decode(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        wire::decode(bytes)
    }
}

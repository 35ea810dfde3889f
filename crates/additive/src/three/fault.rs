//! Who did wrong, and how a third person can see it (`docs/spec/clarion.md`, sections 1 and 7).

use ostrakon_party::{
    Header, Instance, Length, PartyId, Recipient, Roster, SignedHeader, Step, Tag, wire,
};
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;
use ostrakon_threeparty::{Offence, Protocol, Statement};
use serde::{Deserialize, Serialize};

use super::messages::{self, Kind, PairStatement, Subject, TABLES, WORDS, decode_tables};
use super::purposes::{Purpose, opened_of, seed_digest};

/// Proof that one party broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// A breach of rules that all protocols have.
    Offence(Offence),
    /// A seed or a table given at the opening (`message`; of a table the header only) that is not
    /// what its sender had stated (`statement`).
    Opened {
        /// What was given.
        message: Box<Statement>,
        /// What had been stated.
        statement: Box<Statement>,
    },
}

impl From<Offence> for Evidence {
    fn from(offence: Offence) -> Self {
        Evidence::Offence(offence)
    }
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

impl Fault {
    /// What was done, in a few words.
    pub fn what(&self) -> &'static str {
        match &self.evidence {
            Evidence::Offence(Offence::Equivocation(_)) => {
                "said two different things under one tag"
            }
            Evidence::Offence(Offence::Malformed(_)) => "signed a malformed message",
            Evidence::Offence(Offence::Opening { .. }) => "opened a commitment to something else",
            Evidence::Opened { .. } => "gave wrong material for opening the output",
        }
    }

    /// Whether the evidence proves the culprit's guilt to somebody who knows the roster only.
    #[must_use]
    pub fn verify(&self, roster: &Roster) -> bool {
        let proven = match &self.evidence {
            _ if !self.subject.is_valid() => None,
            Evidence::Offence(offence) => offence.proven(roster, &self.subject),
            Evidence::Opened { message, statement } => {
                opened_falsely(roster, &self.subject, message, statement)
            }
        };
        proven == Some(self.culprit)
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

fn opened_falsely(
    roster: &Roster,
    subject: &Subject,
    message: &Statement,
    statement: &Statement,
) -> Option<PartyId> {
    let (given, stated) = (&message.signed.header, &statement.signed.header);
    let Recipient::One(to) = given.to else { return None };
    let culprit = given.from;
    let genuine = stated.from == culprit
        && to != culprit
        && to.0 <= 2
        && culprit.0 <= 2
        && roster.vouches(&message.signed)
        && statement.holds(roster)
        && messages::length(subject, stated.tag.step).admits(stated.length);
    if !genuine {
        return None;
    }
    let false_ = if given.tag == subject.tag(Kind::OpenZ1) {
        let headers = decode_tables(subject, roster, culprit, &statement.body).ok()?;
        stated.tag == subject.tag(Kind::TableStatement)
            && headers.iter().any(|table| {
                let header = &table.header;
                header.tag == subject.tag(Kind::Z1) && header.digest != given.digest
            })
    } else {
        let pair = Pair::without(to.0);
        let kind = if opened_of(pair) == Some(Purpose::B) { Kind::OpenB } else { Kind::OpenD };
        opened_of(pair).is_some()
            && given.tag == subject.tag(kind)
            && stated.tag == subject.tag(Kind::SeedStatement)
            && message.holds(roster)
            && PairStatement::of(&statement.body, culprit.0, pair).opened
                != seed_digest(&message.body)
    };
    false_.then_some(culprit)
}

/// Two makers' signed words about the same words that differ: one of them lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The signed header of the words.
    pub words: SignedHeader,
    /// The second maker's digest of them.
    pub digest: Statement,
}

impl Contradiction {
    /// The two makers, if the two do contradict each other before a third person.
    #[must_use]
    pub fn pair(&self, roster: &Roster, subject: &Subject) -> Option<Pair> {
        let (words, digest) = (&self.words.header, &self.digest.signed.header);
        let genuine = roster.vouches(&self.words)
            && self.digest.holds(roster)
            && words.to == digest.to
            && self.digest.body != words.digest.0;
        let of_route = WORDS.iter().any(|route| {
            (words.tag, digest.tag) == (subject.tag(route.kind), subject.tag(route.digest))
                && (words.from, digest.from) == (PartyId(route.from), PartyId(route.second))
        });
        (genuine && of_route).then(|| Pair::of(words.from.0, digest.from.0))
    }
}

/// Why a server stops; what it signs for both peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Abort {
    /// A peer is proved to have cheated.
    Fault(Box<Fault>),
    /// The makers of some words contradict each other.
    Contradiction(Box<Contradiction>),
    /// A table does not pass its check, or is of another length.
    Table(Kind),
    /// The words under this kind are of another length.
    Words(Kind),
    /// The members of a pair state different keys.
    Keys(Pair),
    /// A member of a pair gives a false seed of a registration, or none.
    Seeds(Pair),
    /// A peer has stopped.
    Told,
}

impl Abort {
    /// The two servers of whom one is at fault, as `by` says, who stopped for this.
    pub fn pair(&self, roster: &Roster, subject: &Subject, by: PartyId) -> Option<Pair> {
        let with = |other: u8| (other != by.0).then(|| Pair::of(by.0, other));
        match self {
            Abort::Fault(fault) => with(fault.culprit.0),
            Abort::Contradiction(contradiction) => contradiction.pair(roster, subject),
            Abort::Table(kind) => {
                TABLES.iter().find(|table| table.kind == *kind).and_then(|table| with(table.from))
            }
            Abort::Words(kind) => {
                WORDS.iter().find(|words| words.kind == *kind).and_then(|words| with(words.from))
            }
            Abort::Keys(pair) | Abort::Seeds(pair) => Some(*pair),
            Abort::Told => None,
        }
    }
}

/// The rules of the engine's messages, for runs of it.
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
        if signed.header.tag.step == Kind::Abort.step() {
            return wire::decode::<Abort>(body).is_ok();
        }
        messages::content_is_wellformed(self, roster, signed, body)
    }

    fn opens(commitment: Step, opening: Step) -> bool {
        (commitment, opening) == (steps::COIN_COMMITMENT, steps::COIN_OPENING)
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

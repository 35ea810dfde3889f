//! What servers send each other (spec, wire table).

use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::block::{Certificate, SignedBlock, SignedHeader, Slot, Vote};
use crate::keys::Keys;
use crate::params::{MAX_MISSING, Params, Round};

use super::checkpoint::SignedCheckpoint;

/// A message. The channel that carries it says who sent it; nothing else of it has been checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// An author's new block.
    Block(Box<SignedBlock>),
    /// A vote, to the block's author.
    Vote(Vote),
    /// The certificate of a block, from its author.
    Certificate(Certificate),
    /// A certified block that the receiver's status did not have.
    Item(Box<SignedBlock>, Certificate),
    /// How far the sender is.
    Status(Status),
    /// A checkpoint for a server that lacks what others have dropped.
    Checkpoint(Box<SignedCheckpoint>),
    /// A server that starts asks what others have heard of it.
    Hello([u8; 32]),
    /// The newest block and the newest votes that the sender has of the receiver.
    Welcome(Welcome),
    /// A server that lost its data asks how far the others are.
    Ask(Ask),
    /// The highest certificate that the sender has.
    Answer(Answer),
    /// The answers of q other servers.
    Petition(Petition),
}

/// How far a server is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// How many leaders it has committed.
    pub commits: u64,
    /// The round of the last one.
    pub last: Round,
    /// By author: the round of the newest certified block, and, from the lowest bit, which of the
    /// 64 rounds before it are there.
    pub held: Vec<(Round, u64)>,
    /// Certified blocks that it knows of and lacks.
    pub missing: Vec<Slot>,
}

impl Status {
    pub(crate) fn is_well_formed(&self, params: &Params) -> bool {
        self.held.len() == params.parties() && self.missing.len() <= MAX_MISSING
    }

    /// Whether the sender has the block, or is too far for it to matter. What is older than the
    /// bits tell counts as there: it is asked for by name.
    pub(crate) fn has(&self, (round, author): Slot) -> bool {
        let (newest, before) = self.held[author.index()];
        match newest.checked_sub(round) {
            None => false,
            Some(0) => true,
            Some(below) if below <= 64 => before & (1 << (below - 1)) != 0,
            Some(_) => true,
        }
    }

    /// The highest round of which the sender has anything.
    pub(crate) fn top(&self) -> Round {
        self.held.iter().map(|(newest, _)| *newest).fold(self.last, Round::max)
    }
}

/// What a server has heard of one that starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The nonce of the question.
    pub nonce: [u8; 32],
    /// The asker's newest block.
    pub block: Option<SignedHeader>,
    /// The asker's newest votes that the sender knows of, at most
    /// [`crate::params::MAX_WELCOME_VOTES`].
    pub votes: Vec<Vote>,
}

/// A server that lost its data asks for a beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// A fresh nonce.
    pub nonce: [u8; 32],
    /// The incarnation that is to begin.
    pub incarnation: u32,
}

/// The highest certificate of a server, for one that lost its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was asked.
    pub ask: Ask,
    /// The certificate of the highest round; `None` before any.
    pub highest: Option<Certificate>,
    /// The signature on question and certificate.
    pub signature: Signature,
}

impl Answer {
    /// What is signed for `party`, who asked.
    pub(crate) fn statement(
        params: &Params,
        party: PartyId,
        ask: &Ask,
        highest: Option<&Certificate>,
    ) -> Digest {
        let mut transcript = params.transcript("ostrakon/v1/agreement/readmission answer");
        transcript
            .number(u64::from(party.0))
            .number(u64::from(ask.incarnation))
            .field(&ask.nonce)
            .field(&wire::encode(&highest.map(|certificate| certificate.block)));
        transcript.finish()
    }

    /// Whether `from` signed it for `party`, with a certificate that holds.
    pub(crate) fn verifies(
        &self,
        params: &Params,
        keys: &impl Keys,
        from: PartyId,
        party: PartyId,
    ) -> bool {
        let statement = Self::statement(params, party, &self.ask, self.highest.as_ref());
        keys.verifies(from, &statement, &self.signature)
            && self.highest.as_ref().is_none_or(|highest| highest.verifies(params, keys))
    }
}

/// The answers of q servers to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Petition {
    /// The question.
    pub ask: Ask,
    /// Answers by ascending server.
    pub answers: Vec<(PartyId, Answer)>,
}

impl Petition {
    /// R₀: two rounds past the highest certificate shown. Nothing has been checked.
    pub(crate) fn from(&self) -> Round {
        let rounds = self.answers.iter().filter_map(|(_, answer)| answer.highest.as_ref());
        rounds.map(|highest| highest.block.round).max().unwrap_or(0).saturating_add(2)
    }

    /// Whether q servers other than `party` answered its question.
    pub(crate) fn verifies(&self, params: &Params, keys: &impl Keys, party: PartyId) -> bool {
        self.answers.len() >= params.quorum()
            && self.answers.len() <= params.parties()
            && self.answers.is_sorted_by(|a, b| a.0 < b.0)
            && self.answers.iter().all(|(from, answer)| {
                let asked = *from != party && answer.ask == self.ask;
                asked && answer.verifies(params, keys, *from, party)
            })
    }
}

impl Message {
    /// The canonical encoding.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a message of this ledger; nothing of it has been checked.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything too long or not canonical.
    pub fn decode(bytes: &[u8], params: &Params) -> Result<Self, wire::Malformed> {
        if bytes.len() > params.max_message() {
            return Err(wire::Malformed);
        }
        wire::decode(bytes)
    }
}

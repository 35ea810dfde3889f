//! Material for opening the output that is not what its sender had stated.

use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, Recipient, Roster, wire};
use ostrakon_threeparty::{Statement, seal};
use serde::{Deserialize, Serialize};

use crate::batch::pads::{self, Show};
use crate::batch::statements::stated;
use crate::coin::seed_digest;
use crate::messages::{self, Kind, Subject, TranscriptStatement};
use crate::pair::Pair;

/// Pads that do not open the root that their sender had stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PadsEvidence {
    /// The pads.
    pub message: Statement,
    /// The sender's vote on the sealed slots.
    pub vote: Statement,
    /// The slots and submissions that it voted for.
    pub sealed: Vec<(u32, Digest)>,
    /// The sender's statement about the pair's seeds and slots.
    pub statement: Statement,
}

impl PadsEvidence {
    pub(crate) fn proven(&self, roster: &Roster, subject: &Subject) -> Option<PartyId> {
        let Subject::Epoch(spec) = subject else { return None };
        let batch = Subject::Batch(spec.batch);
        let culprit = self.message.signed.header.from;
        let said = |statement: &Statement, subject: &Subject, kind: Kind| {
            let header = &statement.signed.header;
            header.from == culprit
                && header.tag == subject.tag(kind)
                && messages::length(subject, kind.step()).admits(header.length)
                && statement.holds(roster)
        };
        let genuine = said(&self.message, subject, Kind::Pads)
            && said(&self.vote, subject, Kind::SealVote)
            && said(&self.statement, &batch, Kind::SeedStatement)
            && self.vote.body == seal::digest(&self.sealed).0;
        let Recipient::One(to) = self.message.signed.header.to else { return None };
        if !genuine || to.0 > 2 || to == culprit {
            return None;
        }
        let pair = Pair::without(to.0);
        let root = stated(&self.statement.body, culprit.0, pair).slots;
        let shown: Vec<u32> = self.sealed.iter().map(|(slot, _)| *slot).collect();
        let opens = pads::verify(
            Show::Pads,
            &spec.batch,
            &roster.session.0,
            pair,
            &root,
            &shown,
            &self.message.body,
        );
        (!opens).then_some(culprit)
    }
}

/// A share of α_out that is not the one stated in preprocessing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastEvidence {
    /// What was sent; of a table the header only.
    pub message: Statement,
    /// What its sender had stated: about its seeds, or about the table.
    pub statement: Statement,
}

impl LastEvidence {
    pub(crate) fn proven(&self, roster: &Roster, subject: &Subject) -> Option<PartyId> {
        let Subject::Epoch(spec) = subject else { return None };
        let batch = Subject::Batch(spec.batch);
        let (message, statement) = (&self.message.signed.header, &self.statement.signed.header);
        let culprit = message.from;
        let Recipient::One(to) = message.to else { return None };
        if statement.from != culprit || to == culprit || to.0 > 2 || !self.statement.holds(roster) {
            return None;
        }
        let pair = Pair::without(to.0);
        let differs = if message.tag == subject.tag(Kind::LastTable) {
            let transcript: TranscriptStatement = wire::decode(&self.statement.body).ok()?;
            statement.tag == batch.tag(Kind::TranscriptStatement)
                && pair == Pair::P12
                && roster.vouches(&self.message.signed)
                && transcript.last_table != message.digest
        } else {
            let length = messages::length(&batch, statement.tag.step).admits(statement.length);
            message.tag == subject.tag(Kind::LastSeed)
                && statement.tag == batch.tag(Kind::SeedStatement)
                && length
                && self.message.holds(roster)
                && stated(&self.statement.body, culprit.0, pair).last
                    != seed_digest(&self.message.body)
        };
        differs.then_some(culprit)
    }
}

//! What a server remembers of a decision that is over.

use ostrakon_crypto::{Digest, VerifyingKey};

use super::rules::{self, Signatures};
use super::{Chain, Stage};
use crate::draft::DecisionId;
use crate::operators::Operators;
use crate::record::{Content, SignedRecord};
use crate::refused::Refused;

/// A decision to which nothing can be added but that somebody has checked it: how it stands, and
/// who may still say so. Some bytes for each person, where a [`Chain`] has some hundreds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    operators: Operators,
    id: DecisionId,
    length: u32,
    head: Digest,
    stage: Stage,
    deadline: u64,
    remaining: usize,
    answered: usize,
    /// The accounts of those who are asked, and whether they say to have checked everything.
    people: Vec<(VerifyingKey, bool)>,
}

impl Chain {
    /// What is left of it once it is over; `None` before.
    pub fn ended(&self) -> Option<Ended> {
        if matches!(self.stage, Stage::Accepting | Stage::Answering) {
            return None;
        }
        let people =
            self.asked().filter_map(|(_, person)| Some((*person.owner()?, person.has_verified())));
        Some(Ended {
            operators: self.operators,
            id: self.id,
            length: self.length,
            head: self.head,
            stage: self.stage,
            deadline: self.draft.deadline,
            remaining: self.remaining(),
            answered: self.answered(),
            people: people.collect(),
        })
    }
}

impl Ended {
    /// Whether the record may follow: as [`Chain::check`] says.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check(&self, signed: &SignedRecord) -> Result<(), Refused> {
        self.author(signed, Signatures::Verify).map(|_| ())
    }

    /// Takes a record that has passed [`Ended::check`]: as [`Chain::apply_checked`].
    ///
    /// # Errors
    /// [`Refused`]; then nothing is changed.
    pub fn apply_checked(&mut self, signed: &SignedRecord) -> Result<(), Refused> {
        let author = self.author(signed, Signatures::Trust)?;
        self.people[author].1 = true;
        self.head = signed.digest(&self.operators);
        self.length += 1;
        Ok(())
    }

    /// Who says to have checked everything, by the place among the people.
    fn author(&self, signed: &SignedRecord, signatures: Signatures) -> Result<usize, Refused> {
        let end = rules::End {
            operators: &self.operators,
            id: self.id,
            length: self.length,
            head: self.head,
        };
        end.check(signed, signatures)?;
        let rule = |reason: String| Refused::Rule { number: self.length, reason };
        if !matches!(signed.record.content, Content::Verified) || self.stage != Stage::Closed {
            return Err(rule(rules::wrong_time(self.stage)));
        }
        let author = self.people.iter().position(|(owner, _)| *owner == signed.record.author);
        let author = author.ok_or_else(|| rule("its author is not among the people".into()))?;
        if self.people[author].1 {
            Err(rule("its author has said so before".into()))
        } else {
            Ok(author)
        }
    }

    /// The digest of the last record.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Records taken.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// How it ended.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The deadline, in seconds since 1970.
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    /// How many were asked and not removed.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// How many have answered.
    pub fn answered(&self) -> usize {
        self.answered
    }

    /// How many say to have checked everything.
    pub fn verified(&self) -> usize {
        self.people.iter().filter(|(_, verified)| *verified).count()
    }
}

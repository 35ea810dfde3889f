//! What may follow what, and who may say it.

use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::PartyId;

use super::{Chain, Stage};
use crate::draft::function::Function;
use crate::draft::{Ballot, DecisionId, Seat};
use crate::keys::{CertifiedKey, GRACE, InvalidKey};
use crate::operators::Operators;
use crate::record::{Content, Creation, MOST_RECORDS, RECORD_BYTES, SignedRecord, claim_digest};
use crate::refused::Refused;

/// Whether signatures and proofs are verified, which is nearly all of the work, or were before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Signatures {
    /// They are.
    Verify,
    /// They were, by this process or by an earlier one that kept the record.
    Trust,
}

/// Where a chain ends: what every further record has to fit.
pub struct End<'a> {
    pub operators: &'a Operators,
    pub id: DecisionId,
    pub length: u32,
    pub head: Digest,
}

impl End<'_> {
    /// Whether the record is the next one, and its author's.
    pub fn check(&self, signed: &SignedRecord, signatures: Signatures) -> Result<(), Refused> {
        let record = &signed.record;
        if record.decision != self.id {
            return Err(Refused::Decision { number: record.number });
        }
        if record.number != self.length || record.previous != self.head {
            return Err(Refused::NotNext { next: self.length });
        }
        if self.length >= MOST_RECORDS {
            let reason = format!("a decision has at most {MOST_RECORDS} records");
            return Err(Refused::Rule { number: self.length, reason });
        }
        check_signature(self.operators, signed, signatures)
    }
}

/// What is wrong with a record that the stage does not allow.
pub fn wrong_time(stage: Stage) -> String {
    let state = match stage {
        Stage::Accepting => "not everybody has accepted yet",
        Stage::Answering => "everybody has accepted, and answers are taken",
        Stage::Closed => "the decision is closed",
        Stage::Lapsed => "the decision has lapsed",
        Stage::Cancelled => "the decision was cancelled",
    };
    format!("it comes at the wrong time: {state}")
}

/// Checks the first record of a decision.
pub fn check_creation<'a>(
    operators: &Operators,
    first: &'a SignedRecord,
    signatures: Signatures,
) -> Result<&'a Creation, Refused> {
    let record = &first.record;
    let rule = |reason: &str| Refused::Rule { number: record.number, reason: reason.to_owned() };
    let Content::Create(creation) = &record.content else {
        return Err(rule("a decision begins with the record that creates it"));
    };
    if record.number != 0 || record.previous != Digest([0; 32]) {
        return Err(rule("the record that creates a decision is its first"));
    }
    let draft = &creation.draft;
    draft.validate()?;
    if draft.servers != operators.digest || record.decision != draft.id() {
        return Err(Refused::Decision { number: 0 });
    }
    if record.author != draft.creator {
        return Err(rule("only the creator that the draft names can create the decision"));
    }
    check_signature(operators, first, signatures)?;
    for (party, layer) in (0..).map(PartyId).zip(&creation.layers) {
        let error = |error| Refused::Key {
            number: 0,
            whose: format!("the layer of server {}", party.0),
            error,
        };
        if layer.party != party {
            return Err(error(InvalidKey::Server(party.0)));
        }
        if !layer.is_fresh(record.time) {
            return Err(rule("the servers drew their layers too long before it"));
        }
        match signatures {
            Signatures::Verify => layer.verify(operators, draft).map_err(error)?,
            Signatures::Trust => drop(layer.layer_key(draft.threshold).map_err(error)?),
        }
        if creation.layers[..party.index()]
            .iter()
            .any(|other| other.commitments[0] == layer.commitments[0])
        {
            return Err(error(InvalidKey::Form("another server has the same key".into())));
        }
    }
    Ok(creation)
}

fn check_signature(
    operators: &Operators,
    signed: &SignedRecord,
    signatures: Signatures,
) -> Result<(), Refused> {
    let number = signed.record.number;
    if signatures == Signatures::Trust {
        return Ok(());
    }
    if signed.encode().len() > RECORD_BYTES {
        return Err(Refused::Form);
    }
    if signed.record.author.verifies(&signed.digest(operators), &signed.signature) {
        Ok(())
    } else {
        Err(Refused::Signature { number })
    }
}

impl Chain {
    /// Whether the record may follow.
    pub(super) fn check_rules(
        &self,
        signed: &SignedRecord,
        signatures: Signatures,
    ) -> Result<(), Refused> {
        let record = &signed.record;
        let end =
            End { operators: &self.operators, id: self.id, length: self.length, head: self.head };
        // The signature first: what follows blames its author.
        end.check(signed, signatures)?;
        let author = &record.author;
        match &record.content {
            Content::Create(_) => Err(self.rule("the decision has begun already")),
            Content::Accept { person, key, claim } => {
                self.check_accept(signed, (*person, key, claim.as_ref()), signatures)
            }
            Content::Remove { person } => self.check_remove(signed, *person),
            Content::Begin { without } => self.check_begin(signed, without),
            Content::Cancel => {
                self.needs(&[Stage::Accepting, Stage::Answering])?;
                self.allow(
                    *author == self.draft.creator,
                    "only the creator can cancel the decision",
                )
            }
            Content::Step { person, .. } => {
                self.needs(&[Stage::Answering])?;
                let standing =
                    self.people.get(usize::from(*person)).filter(|standing| !standing.removed);
                let standing = standing
                    .ok_or_else(|| self.rule("it answers for somebody who is not asked"))?;
                let name = self.name(*person);
                let own = standing.owner() == Some(author);
                self.allow(own, format!("it answers for “{name}”, but somebody else signed it"))?;
                self.allow(standing.step.is_none(), format!("“{name}” has answered before"))
            }
            Content::Close { absent } => self.check_close(signed, absent),
            Content::Lapse => self.check_lapse(signed),
            Content::Verified => {
                self.needs(&[Stage::Closed])?;
                let person = self.asked().find(|(_, person)| person.owner() == Some(author));
                let (place, person) =
                    person.ok_or_else(|| self.rule("its author is not among the people"))?;
                self.allow(!person.verified, format!("“{}” has said so before", self.name(place)))
            }
        }
    }

    fn check_accept(
        &self,
        signed: &SignedRecord,
        (person, key, claim): (u16, &CertifiedKey, Option<&Signature>),
        signatures: Signatures,
    ) -> Result<(), Refused> {
        self.needs(&[Stage::Accepting])?;
        let standing = self.people.get(usize::from(person)).filter(|standing| !standing.removed);
        let standing =
            standing.ok_or_else(|| self.rule("it takes the place of somebody who is not asked"))?;
        let name = self.name(person);
        self.allow(
            standing.key.is_none(),
            format!("the place of “{name}” is taken: the link was used before"),
        )?;
        let (author, owner) = (&signed.record.author, &key.statement.owner);
        match (&self.draft.people[usize::from(person)].seat, claim) {
            (Seat::Account(account), None) => {
                self.allow(
                    owner == account,
                    format!("the place of “{name}” belongs to another account"),
                )?;
                let by = author == owner || author == self.operators.sequencer();
                self.allow(
                    by,
                    format!("only “{name}” or server 0 can say that “{name}” takes part"),
                )?;
            }
            (Seat::Invitation(invitation), Some(claim)) => {
                self.allow(
                    author == owner,
                    format!("only the owner of the key of “{name}” can say that it takes part"),
                )?;
                let digest = claim_digest(&self.operators, &self.id, person, owner);
                let invited =
                    signatures == Signatures::Trust || invitation.verifies(&digest, claim);
                self.allow(
                    invited,
                    format!("the invitation of “{name}” was not used for this account"),
                )?;
            }
            _ => {
                return Err(self.rule(format!(
                    "“{name}” takes part by an invitation or by an account, not by this"
                )));
            }
        }
        self.check_distinct(person, key)?;
        let whose = || format!("the key of “{name}”");
        let error = |error| Refused::Key { number: signed.record.number, whose: whose(), error };
        let (expected, found) = (self.draft.threshold, key.statement.threshold);
        if expected != found {
            return Err(error(InvalidKey::Threshold { expected, found }));
        }
        let lasting = self.draft.deadline.saturating_add(GRACE);
        if expected != 0 && key.statement.expires < lasting {
            return Err(error(InvalidKey::Lifetime));
        }
        match signatures {
            Signatures::Verify => key.verify(&self.operators).map_err(error),
            // The session is made of the keys' points.
            Signatures::Trust => key.statement.layer_key().map(drop).map_err(error),
        }
    }

    /// Nobody has two places, and no key is there twice.
    fn check_distinct(&self, person: u16, key: &CertifiedKey) -> Result<(), Refused> {
        let owner = &key.statement.owner;
        for (place, standing) in self.asked().filter(|(place, _)| *place != person) {
            let seat = self.draft.people[usize::from(place)].seat;
            if standing.owner() == Some(owner) || seat == Seat::Account(*owner) {
                return Err(self.rule(format!(
                    "the account that it names is that of “{}” already",
                    self.name(place)
                )));
            }
        }
        let first = key.statement.commitments.first();
        let people = self.people.iter().filter_map(|standing| standing.key()?.commitments.first());
        let layers = self.layers.iter().filter_map(|layer| layer.commitments.first());
        let new = people.chain(layers).all(|other| Some(other) != first);
        self.allow(new, "its key is somebody else's already")
    }

    fn check_remove(&self, signed: &SignedRecord, person: u16) -> Result<(), Refused> {
        self.needs(&[Stage::Accepting])?;
        self.allow(
            signed.record.author == self.draft.creator,
            "only the creator can remove people",
        )?;
        let standing = self.people.get(usize::from(person)).filter(|standing| !standing.removed);
        let standing = standing.ok_or_else(|| self.rule("it removes somebody who is not asked"))?;
        let name = self.name(person);
        self.allow(standing.key.is_none(), format!("“{name}” has accepted and cannot be removed"))?;
        let left = self.remaining() - 1;
        self.allow(left >= 2, "at least two people must remain")?;
        self.do_without(&[person], left).map_err(|reason| self.rule(reason))
    }

    /// Whether every function has a value for so many people, without these.
    fn do_without(&self, without: &[u16], left: usize) -> Result<(), String> {
        let names: Vec<_> = without.iter().map(|one| format!("“{}”", self.name(*one))).collect();
        for ballot in &self.draft.ballots {
            if matches!(ballot.function, Function::Custom { .. }) {
                return Err("a table of one's own is for a fixed number of people, so nobody can be removed".into());
            }
            if let Some(objection) = ballot.function.objection(left, ballot.options.len()) {
                return Err(format!("without {} {objection}", names.join(", ")));
            }
        }
        Ok(())
    }

    /// Who is left out if it goes on at the day by which to accept, with those who have by now.
    ///
    /// # Errors
    /// Why it would lapse instead: a sentence.
    pub fn goes_on_without(&self) -> Result<Vec<u16>, String> {
        let without = self.not_accepted();
        if without.is_empty() {
            return Ok(without);
        }
        if self.draft.all_needed {
            return Err("the creator wants all or none, and not everybody has accepted".into());
        }
        let (left, quorum) = (self.remaining() - without.len(), self.quorum());
        if left < quorum {
            return Err(format!("{quorum} people must take part, but only {left} have accepted"));
        }
        self.do_without(&without, left)?;
        Ok(without)
    }

    /// Whether it lapses if a single one of those who are asked does not accept in time: the
    /// creator wants it so, or one fewer are too few for the quorum or for what is computed.
    pub fn needs_all(&self) -> bool {
        let left = self.remaining().saturating_sub(1);
        let objects =
            |ballot: &Ballot| ballot.function.objection(left, ballot.options.len()).is_some();
        self.draft.all_needed || left < self.quorum() || self.draft.ballots.iter().any(objects)
    }

    /// Why there can be no result although the deadline has passed: somebody is missing whom nobody
    /// stands in for, or too few have answered.
    pub fn shortfall(&self) -> Option<String> {
        let (answered, quorum) = (self.answered(), self.quorum());
        if self.missing().is_empty() {
            None
        } else if self.draft.threshold == 0 {
            Some("somebody is absent, and nobody can stand in".into())
        } else {
            let few = || format!("{quorum} people must answer, but only {answered} have");
            (answered < quorum).then(few)
        }
    }

    /// P0 leaves out who has not accepted in time.
    fn check_begin(&self, signed: &SignedRecord, without: &[u16]) -> Result<(), Refused> {
        self.needs(&[Stage::Accepting])?;
        self.allow(
            signed.record.author == *self.operators.sequencer(),
            "only server 0 lets a decision go on without somebody",
        )?;
        self.check_time(signed, self.draft.accept_by)?;
        let exact = self.goes_on_without().map_err(|reason| self.rule(reason))?;
        self.allow(without == exact, "it must name exactly those who have not accepted")
    }

    fn check_lapse(&self, signed: &SignedRecord) -> Result<(), Refused> {
        self.needs(&[Stage::Accepting, Stage::Answering])?;
        self.allow(
            signed.record.author == *self.operators.sequencer(),
            "only server 0 lets a decision lapse",
        )?;
        let (hopeless, date) = match self.stage {
            Stage::Accepting => (self.goes_on_without().is_err(), self.draft.accept_by),
            _ => (self.shortfall().is_some(), self.draft.deadline),
        };
        self.allow(hopeless, "it can have a result, so it does not lapse")?;
        self.check_time(signed, date)
    }

    fn check_close(&self, signed: &SignedRecord, absent: &[u16]) -> Result<(), Refused> {
        self.needs(&[Stage::Answering])?;
        self.allow(
            signed.record.author == *self.operators.sequencer(),
            "only server 0 closes a decision",
        )?;
        let exact = absent == self.missing();
        self.allow(exact, "it must name exactly those as absent who have not answered")?;
        if absent.is_empty() {
            return Ok(());
        }
        if let Some(shortfall) = self.shortfall() {
            return Err(self.rule(shortfall));
        }
        self.check_time(signed, self.draft.deadline)
    }

    /// What comes only after a date does not say itself that it comes earlier.
    fn check_time(&self, signed: &SignedRecord, date: u64) -> Result<(), Refused> {
        let time = signed.record.time;
        self.allow(time >= date, format!("its own time, {time}, is before the date, {date}"))
    }

    fn needs(&self, stages: &[Stage]) -> Result<(), Refused> {
        self.allow(stages.contains(&self.stage), wrong_time(self.stage))
    }

    fn allow(&self, condition: bool, otherwise: impl Into<String>) -> Result<(), Refused> {
        if condition { Ok(()) } else { Err(self.rule(otherwise)) }
    }

    fn rule(&self, reason: impl Into<String>) -> Refused {
        Refused::Rule { number: self.length, reason: reason.into() }
    }
}

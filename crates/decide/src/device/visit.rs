//! A device's visit: it reads all records, believes nothing that it has not verified, and answers
//! (spec, steps 11 to 13).

use std::sync::Arc;

use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_onepass::{History, HistoryVerifier, Ristretto, Visitor};
use ostrakon_party::Invitation;
use rand_core::CryptoRng;

use crate::chain::{Chain, Stage};
use crate::device::memory::Memory;
use crate::device::receipt::Receipt;
use crate::draft::{DecisionId, Seat};
use crate::keys::{CertifiedKey, one_time_key};
use crate::operators::Operators;
use crate::record::{Content, SignedRecord, claim_digest};
use crate::refused::Refused;

/// How far the steps are verified.
enum Course {
    /// There is no session yet.
    None,
    /// All that were read.
    Verified(Box<History<Ristretto>>),
    /// Some were read that are not verified.
    Reading(Box<HistoryVerifier<Ristretto>>),
    /// One did not hold.
    Refused(Refused),
}

/// What a device has read of a decision.
pub struct Visit {
    operators: Operators,
    id: DecisionId,
    chain: Option<Chain>,
    /// The digests of all records.
    digests: Vec<Digest>,
    /// The people whose steps were read, in order, and the numbers of the records.
    steps: Vec<(u16, u32)>,
    course: Course,
}

impl Visit {
    /// Nothing is read yet. `operators` and `id` are those of the link.
    pub fn new(operators: Operators, id: DecisionId) -> Self {
        Self {
            operators,
            id,
            chain: None,
            digests: Vec::new(),
            steps: Vec::new(),
            course: Course::None,
        }
    }

    /// Reads the next record and checks all of it but the proof of a step, which [`Visit::verify`]
    /// does for many at once. A step is decoded here: for long chains that is half of the work.
    ///
    /// # Errors
    /// [`Refused`] names the record and the person; it is not taken in.
    pub fn read(&mut self, bytes: &[u8], rng: &mut impl CryptoRng) -> Result<(), Refused> {
        let signed = SignedRecord::decode(bytes)?;
        if signed.record.decision != self.id {
            return Err(Refused::Decision { number: signed.record.number });
        }
        let digest = signed.digest(&self.operators);
        let Some(chain) = &mut self.chain else {
            self.chain = Some(Chain::begin(self.operators, &signed)?);
            self.digests.push(digest);
            return Ok(());
        };
        if let Content::Step { person, step } = &signed.record.content {
            chain.check(&signed)?;
            let visitor = chain.visitor(*person).expect("the rules admit people only");
            let mut verifier = match std::mem::replace(&mut self.course, Course::None) {
                Course::Verified(history) => Box::new(history.verifier()),
                Course::Reading(verifier) => verifier,
                Course::Refused(refused) => {
                    self.course = Course::Refused(refused.clone());
                    return Err(refused);
                }
                Course::None => unreachable!("the rules admit steps in a session only"),
            };
            let pushed = verifier.push(visitor, &signed.record.previous, step, rng);
            self.course = Course::Reading(verifier);
            pushed.map_err(|error| chain.wrong_step(signed.record.number, *person, error.fault))?;
            self.steps.push((*person, signed.record.number));
        }
        let accepting = chain.stage() == Stage::Accepting;
        chain.apply(&signed)?;
        self.digests.push(digest);
        if accepting && let Some(session) = chain.session() {
            self.course = Course::Verified(Box::new(History::start(Arc::new(session))));
        }
        Ok(())
    }

    /// Verifies all steps that were read and not verified yet, together.
    ///
    /// # Errors
    /// [`Refused::Step`] names the first one that does not hold. Nothing more can be read or
    /// answered then.
    pub fn verify(&mut self, rng: &mut impl CryptoRng) -> Result<(), Refused> {
        let verifier = match std::mem::replace(&mut self.course, Course::None) {
            Course::Reading(verifier) => verifier,
            Course::Refused(refused) => {
                self.course = Course::Refused(refused.clone());
                return Err(refused);
            }
            course => {
                self.course = course;
                return Ok(());
            }
        };
        match verifier.finish(rng) {
            Ok(history) => {
                self.course = Course::Verified(Box::new(history));
                Ok(())
            }
            Err(error) => {
                let (person, number) = self.steps[error.position];
                let chain = self.chain.as_ref().expect("a step was read");
                let refused = chain.wrong_step(number, person, error.fault);
                self.course = Course::Refused(refused.clone());
                Err(refused)
            }
        }
    }

    /// What the records amount to; `None` before the first. Believe it after [`Visit::verify`]
    /// only.
    pub fn chain(&self) -> Option<&Chain> {
        self.chain.as_ref()
    }

    /// The digest of a record that was read.
    pub fn digest(&self, number: u32) -> Option<Digest> {
        self.digests.get(usize::try_from(number).ok()?).copied()
    }

    /// The verified history, with the chain.
    pub(crate) fn verified(&self) -> Result<(&Chain, Option<&History<Ristretto>>), Refused> {
        let chain = self.read_chain()?;
        match &self.course {
            Course::None => Ok((chain, None)),
            Course::Verified(history) => Ok((chain, Some(history))),
            Course::Reading(_) => Err(device("the answers before were not verified yet")),
            Course::Refused(refused) => Err(refused.clone()),
        }
    }

    fn read_chain(&self) -> Result<&Chain, Refused> {
        self.chain.as_ref().ok_or_else(|| device("nothing was read of the decision yet"))
    }

    /// Checks that the chain continues what the device has seen before, and takes note of it and of
    /// the one-time key.
    ///
    /// # Errors
    /// [`Refused::Shorter`] or [`Refused::Forked`]; or something is not verified, or the one-time
    /// key is used in another decision.
    pub fn remember(&self, account: &VerifyingKey, memory: &mut Memory) -> Result<(), Refused> {
        let (chain, _) = self.verified()?;
        memory.pin(self.id, &self.digests)?;
        let own =
            chain.person(account).and_then(|person| chain.people()[usize::from(person)].key());
        own.map_or(Ok(()), |key| memory.use_key(&self.id, key.serial))
    }

    /// The place among the people that an account can take: that of the invitation, or the one that
    /// names it.
    ///
    /// # Errors
    /// [`Refused`] if there is none.
    pub fn seat(
        &self,
        account: &VerifyingKey,
        invitation: Option<&Invitation>,
    ) -> Result<u16, Refused> {
        let seat = invitation.map_or(Seat::Account(*account), |invitation| {
            Seat::Invitation(invitation.key().verifying_key())
        });
        let people = &self.read_chain()?.draft().people;
        let place = people.iter().position(|person| person.seat == seat);
        place
            .and_then(|place| u16::try_from(place).ok())
            .ok_or_else(|| device("nobody is invited by this link or with this account"))
    }

    /// The record by which the account takes part: with the invitation of a link, or as the draft
    /// names it. `time` in seconds since 1970.
    ///
    /// # Errors
    /// [`Refused`] if there is no place for it, or the place is taken.
    pub fn accept(
        &self,
        account: &SigningKey,
        key: CertifiedKey,
        invitation: Option<&Invitation>,
        time: u64,
    ) -> Result<SignedRecord, Refused> {
        let chain = self.read_chain()?;
        let owner = account.verifying_key();
        let person = self.seat(&owner, invitation)?;
        let sign = |invitation: &Invitation| {
            invitation.key().sign(&claim_digest(&self.operators, &self.id, person, &owner))
        };
        let claim = invitation.map(sign);
        let signed = chain.next(account, time, Content::Accept { person, key, claim });
        chain.check(&signed)?;
        Ok(signed)
    }

    /// The record with the account's answers, one option for each ballot, after what was read and
    /// verified. If another record came first (409), read on, verify, and ask again with the same
    /// answers; as long as none did, it is the same record again, byte by byte. `memory` must be
    /// kept before the record leaves the device.
    ///
    /// # Errors
    /// [`Refused`]: something is not verified, the chain is not the one seen before, the one-time
    /// key is used elsewhere, or the device has answered otherwise.
    pub fn answer(
        &self,
        account: &SigningKey,
        answers: &[u8],
        memory: &mut Memory,
        time: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<SignedRecord, Refused> {
        let (chain, history) = self.verified()?;
        let owner = account.verifying_key();
        let person =
            chain.person(&owner).ok_or_else(|| device("this account does not take part"))?;
        let standing = &chain.people()[usize::from(person)];
        if standing.answered().is_some() {
            return Err(device("this account has answered; it cannot be changed any more"));
        }
        let Some(history) = history.filter(|_| chain.stage() == Stage::Answering) else {
            return Err(device("no answers are taken now"));
        };
        self.remember(&owner, memory)?;
        check_answers(chain, answers)?;
        let statement = standing.key().expect("who takes part has a key");
        let operators = &self.operators;
        let key = one_time_key(account, &statement.serial, statement.threshold, operators);
        let key = key.map_err(|error| device(error.to_string()))?;
        let visitor = chain.visitor(person).expect("who takes part is asked");
        let failed = |error: ostrakon_onepass::VisitError| device(error.to_string());
        let visitor = Visitor::new(history, visitor, key).map_err(failed)?;
        memory.fix(&self.id, answers)?;
        let next = |sent: &SignedRecord| chain.check(sent).is_ok();
        if let Some(sent) = memory.sent(&self.id).filter(next) {
            return Ok(sent);
        }
        let choices: Vec<u16> = answers.iter().copied().map(u16::from).collect();
        let step = visitor.visit(history, &choices, &chain.head(), rng).map_err(failed)?;
        let signed = chain.next(account, time, Content::Step { person, step: step.to_bytes() });
        memory.send(&self.id, &signed);
        Ok(signed)
    }

    /// The receipt, to which servers have to add their signatures, once the account's answers are
    /// in the chain that was read and verified. Call it with what was read from another server than
    /// the one that took the record.
    pub fn receipt(&self, account: &VerifyingKey) -> Option<Receipt> {
        let (chain, _) = self.verified().ok()?;
        let person = chain.person(account)?;
        let number = chain.people()[usize::from(person)].answered()?;
        let digest = self.digest(number)?;
        let (decision, servers) = (self.id, self.operators.digest);
        Some(Receipt { decision, servers, person, number, digest, signatures: Vec::new() })
    }

    /// The same; the answers are then forgotten.
    pub fn confirmed(&self, account: &VerifyingKey, memory: &mut Memory) -> Option<Receipt> {
        let receipt = self.receipt(account)?;
        memory.settle(&self.id);
        Some(receipt)
    }
}

fn check_answers(chain: &Chain, answers: &[u8]) -> Result<(), Refused> {
    let ballots = &chain.draft().ballots;
    if answers.len() != ballots.len() {
        return Err(device(format!(
            "one answer to each of {} ballots is needed, not {}",
            ballots.len(),
            answers.len()
        )));
    }
    match answers
        .iter()
        .zip(ballots)
        .position(|(answer, ballot)| usize::from(*answer) >= ballot.options.len())
    {
        Some(ballot) => {
            Err(device(format!("the answer to ballot {} is none of its options", ballot + 1)))
        }
        None => Ok(()),
    }
}

fn device(text: impl Into<String>) -> Refused {
    Refused::Device(text.into())
}

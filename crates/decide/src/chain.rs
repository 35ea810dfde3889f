//! The chain of a decision's records: the one rule by which a record is accepted, and what the
//! records amount to.
//!
//! The state is light: who takes part and with which key, who answered, the head. It holds no
//! tables. That a step's proof holds is not looked at here but by [`Chain::verify_step`],
//! [`crate::device::visit`] and [`crate::opening`].

mod ended;
pub mod residual;
mod rules;
mod session;
pub mod vouch;

use std::sync::Arc;

pub use ended::Ended;
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use ostrakon_onepass::{self as onepass, History, Ristretto};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use self::session::Roster;
use crate::draft::{DecisionId, Draft, Seat};
use crate::keys::layers::Layer;
use crate::keys::{KeyStatement, account_seed, joining_seed};
use crate::operators::{Operators, SERVERS};
use crate::record::{Content, Record, SignedRecord};
use crate::refused::Refused;
use rules::Signatures;

/// How far a decision has come. Whether a closed one has its result is told by the servers'
/// openings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Somebody's key is not known yet.
    Accepting,
    /// Answers are taken.
    Answering,
    /// No more answers are taken.
    Closed,
    /// It ended without a result.
    Lapsed,
    /// The creator called it off.
    Cancelled,
}

/// Where a person stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    key: Option<Arc<KeyStatement>>,
    removed: bool,
    late: bool,
    step: Option<u32>,
    verified: bool,
}

impl Standing {
    /// The account of the person, once it has accepted.
    pub fn owner(&self) -> Option<&VerifyingKey> {
        self.key.as_deref().map(|key| &key.owner)
    }

    /// The person's one-time key, once it has accepted.
    pub fn key(&self) -> Option<&KeyStatement> {
        self.key.as_deref()
    }

    /// Whether the person is not asked any more: removed by the creator, or late.
    pub fn is_removed(&self) -> bool {
        self.removed
    }

    /// Whether it went on without the person, who had not accepted in time.
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// The number of the record with the person's answers.
    pub fn answered(&self) -> Option<u32> {
        self.step
    }

    /// Whether the person says to have checked everything.
    pub fn has_verified(&self) -> bool {
        self.verified
    }
}

/// What the steps so far amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Course {
    /// The digest of the record with which the session begins.
    begins: Digest,
    /// The engine's digest of all steps.
    trail: Digest,
    /// The visitors by their place among those who are asked, in the order of arrival.
    arrived: Vec<usize>,
}

/// A decision as far as its records were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    operators: Operators,
    id: DecisionId,
    draft: Arc<Draft>,
    layers: Arc<[Layer; SERVERS]>,
    length: u32,
    head: Digest,
    stage: Stage,
    people: Vec<Standing>,
    course: Option<Course>,
    last_step: Option<u32>,
    close: Option<(Digest, Vec<u16>)>,
    ended_at: Option<u64>,
}

impl Chain {
    /// Checks the record that begins a decision.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn begin(operators: Operators, first: &SignedRecord) -> Result<Self, Refused> {
        Self::begin_with(operators, first, Signatures::Verify)
    }

    /// The same for a record whose signatures and proofs this process, or an earlier one that kept
    /// it, has verified: those are not looked at again.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn begin_checked(operators: Operators, first: &SignedRecord) -> Result<Self, Refused> {
        Self::begin_with(operators, first, Signatures::Trust)
    }

    fn begin_with(
        operators: Operators,
        first: &SignedRecord,
        signatures: Signatures,
    ) -> Result<Self, Refused> {
        let creation = rules::check_creation(&operators, first, signatures)?;
        Ok(Self {
            operators,
            id: first.record.decision,
            people: vec![Standing::default(); creation.draft.people.len()],
            draft: Arc::new(creation.draft.clone()),
            layers: Arc::new(creation.layers.clone()),
            length: 1,
            head: first.digest(&operators),
            stage: Stage::Accepting,
            course: None,
            last_step: None,
            close: None,
            ended_at: None,
        })
    }

    /// Whether the record may follow; nothing is changed.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check(&self, signed: &SignedRecord) -> Result<(), Refused> {
        self.check_rules(signed, Signatures::Verify)
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// [`Refused`]; then nothing is changed.
    pub fn apply(&mut self, signed: &SignedRecord) -> Result<(), Refused> {
        self.check_rules(signed, Signatures::Verify)?;
        self.take(signed);
        Ok(())
    }

    /// Takes the next record, whose signatures and proofs were verified before: it has passed
    /// [`Chain::check`] here, or was kept by a server to which it had. Signatures and proofs are
    /// not looked at again, the rules are.
    ///
    /// # Errors
    /// [`Refused`]; then nothing is changed.
    pub fn apply_checked(&mut self, signed: &SignedRecord) -> Result<(), Refused> {
        self.check_rules(signed, Signatures::Trust)?;
        self.take(signed);
        Ok(())
    }

    /// Takes a record that the rules allow.
    fn take(&mut self, signed: &SignedRecord) {
        let digest = signed.digest(&self.operators);
        let people = &mut self.people;
        match &signed.record.content {
            Content::Create(_) => unreachable!("the rules allow it in the first place only"),
            Content::Accept { person, key, .. } => {
                people[usize::from(*person)].key = Some(Arc::new(key.statement.clone()));
            }
            Content::Remove { person } => people[usize::from(*person)].removed = true,
            Content::Begin { without } => {
                for person in without {
                    let person = &mut people[usize::from(*person)];
                    (person.removed, person.late) = (true, true);
                }
            }
            Content::Cancel => self.stage = Stage::Cancelled,
            Content::Step { person, step } => {
                self.take_step(*person, &signed.record.previous, step)
            }
            Content::Close { absent } => {
                self.stage = Stage::Closed;
                self.close = Some((digest, absent.clone()));
            }
            Content::Lapse => self.stage = Stage::Lapsed,
            Content::Verified => {
                let person =
                    people.iter_mut().find(|person| person.owner() == Some(&signed.record.author));
                person.expect("the rules allow it to people only").verified = true;
            }
        }
        if matches!(self.stage, Stage::Closed | Stage::Lapsed | Stage::Cancelled) {
            self.ended_at.get_or_insert(signed.record.time);
        }
        self.head = digest;
        self.length += 1;
        if self.stage == Stage::Accepting && self.asked().all(|(_, person)| person.key.is_some()) {
            self.begin_session();
        }
    }

    /// The session begins with the record that was just taken.
    fn begin_session(&mut self) {
        let session = self
            .roster(&self.head)
            .session()
            .expect("the rules admit no keys that make no session");
        self.course =
            Some(Course { begins: self.head, trail: *session.binding(), arrived: Vec::new() });
        self.stage = Stage::Answering;
    }

    fn take_step(&mut self, person: u16, previous: &Digest, step: &[u8]) {
        let visitor = self.visitor(person).expect("the rules allow steps to people only");
        let course = self.course.as_mut().expect("the rules allow steps in a session only");
        course.trail = onepass::history::trail_after(&course.trail, visitor, previous, step);
        course.arrived.push(visitor);
        self.people[usize::from(person)].step = Some(self.length);
        self.last_step = Some(self.length);
    }

    /// The next record of this author, signed. It is not taken yet.
    pub fn next(&self, key: &SigningKey, time: u64, content: Content) -> SignedRecord {
        let author = key.verifying_key();
        let record = Record {
            decision: self.id,
            number: self.length,
            previous: self.head,
            time,
            author,
            content,
        };
        record.sign(&self.operators, key)
    }

    /// Whether the operators still keep what they drew for its layers, if it begins at this time,
    /// in
    /// seconds since 1970.
    pub fn is_fresh(&self, time: u64) -> bool {
        self.layers.iter().all(|layer| layer.is_fresh(time))
    }

    /// What P0 has to append by now, if anything. `now` in seconds since 1970. What leaves people
    /// out needs the other servers' word besides ([`vouch`]).
    pub fn due(&self, now: u64) -> Option<Content> {
        let draft = &self.draft;
        match self.stage {
            Stage::Accepting if now >= draft.accept_by => Some(match self.goes_on_without() {
                Ok(without) => Content::Begin { without },
                Err(_) => Content::Lapse,
            }),
            Stage::Answering => {
                let absent = self.missing();
                match (absent.is_empty(), now >= draft.deadline) {
                    (true, _) => Some(Content::Close { absent }),
                    (false, true) if self.shortfall().is_some() => Some(Content::Lapse),
                    (false, true) => Some(Content::Close { absent }),
                    (false, false) => None,
                }
            }
            _ => None,
        }
    }

    /// Verifies a step, which has passed [`Chain::check`], against the tables before it: what P0
    /// does before it takes one. `before` is the record of number [`Chain::last_step`], if there is
    /// one. It takes long.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn verify_step(
        &self,
        before: Option<&SignedRecord>,
        signed: &SignedRecord,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Refused> {
        let number = signed.record.number;
        let rule = |reason: &str| Refused::Rule { number, reason: reason.to_owned() };
        let Content::Step { person, step } = &signed.record.content else {
            return Err(rule("it is no step"));
        };
        let visitor = self.visitor(*person).ok_or_else(|| rule("its person is not asked"))?;
        let before = match before.map(|before| &before.record) {
            Some(Record { content: Content::Step { step, .. }, number, .. })
                if Some(*number) == self.last_step =>
            {
                Some(step.as_slice())
            }
            None if self.last_step.is_none() => None,
            _ => return Err(rule("the record given as the step before it is another one")),
        };
        let refuse = |fault| self.wrong_step(number, *person, fault);
        let mut verifier =
            self.resume(before).map_err(|()| rule("there is no session yet"))?.verifier();
        verifier
            .push(visitor, &signed.record.previous, step, rng)
            .map_err(|error| refuse(error.fault))?;
        verifier.finish(rng).map_err(|error| refuse(error.fault))?;
        Ok(())
    }

    /// The engine's history as it stands, taken on trust from the last step.
    fn resume(&self, last: Option<&[u8]>) -> Result<History<Ristretto>, ()> {
        let course = self.course.as_ref().ok_or(())?;
        let session = Arc::new(self.session().ok_or(())?);
        match last {
            None => Ok(History::start(session)),
            Some(step) => {
                History::resume(session, course.arrived.clone(), course.trail, step).map_err(|_| ())
            }
        }
    }

    pub(crate) fn wrong_step(
        &self,
        number: u32,
        person: u16,
        fault: onepass::StepFault,
    ) -> Refused {
        Refused::Step { number, person, name: self.name(person), fault }
    }

    fn roster<'a>(&'a self, begins: &'a Digest) -> Roster<'a> {
        let people =
            self.asked().filter_map(|(place, person)| Some((place, person.key.clone()?))).collect();
        Roster {
            operators: &self.operators,
            draft: &self.draft,
            layers: &self.layers[..],
            begins,
            people,
        }
    }

    /// The engine's session, once everybody's key is known. It is computed anew.
    pub(crate) fn session(&self) -> Option<onepass::Session<Ristretto>> {
        self.roster(&self.course.as_ref()?.begins).session().ok()
    }

    /// A person's place among those who are asked.
    pub(crate) fn visitor(&self, person: u16) -> Option<usize> {
        self.asked().position(|(place, _)| place == person)
    }

    /// The people who are not removed, by their place in the draft.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (u16, &Standing)> {
        (0u16..).zip(&self.people).filter(|(_, person)| !person.removed)
    }

    /// What the draft calls a person.
    pub(crate) fn name(&self, person: u16) -> String {
        self.draft
            .people
            .get(usize::from(person))
            .map(|person| person.name.clone())
            .unwrap_or_default()
    }

    /// The servers.
    pub fn operators(&self) -> &Operators {
        &self.operators
    }

    /// The decision's name.
    pub fn id(&self) -> DecisionId {
        self.id
    }

    /// What is decided.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The digest of the last record: whoever has the same one has read the same history.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Records taken: the number of the next one.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// How far it has come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Where everybody stands, by their place in the draft.
    pub fn people(&self) -> &[Standing] {
        &self.people
    }

    /// How many are asked and not removed.
    pub fn remaining(&self) -> usize {
        self.asked().count()
    }

    /// How many have answered.
    pub fn answered(&self) -> usize {
        self.people.iter().filter(|person| person.step.is_some()).count()
    }

    /// How many say to have checked everything.
    pub fn verified(&self) -> usize {
        self.people.iter().filter(|person| person.verified).count()
    }

    /// Who is asked and has not answered, ascending.
    pub fn missing(&self) -> Vec<u16> {
        self.asked().filter(|(_, person)| person.step.is_none()).map(|(place, _)| place).collect()
    }

    /// Who is asked and has not accepted, ascending.
    pub fn not_accepted(&self) -> Vec<u16> {
        self.asked().filter(|(_, person)| person.key.is_none()).map(|(place, _)| place).collect()
    }

    /// How many must answer: as the draft says, or all where the creator has left fewer.
    pub fn quorum(&self) -> usize {
        usize::from(self.draft.quorum).min(self.remaining())
    }

    /// The digest of the record that closed it, and who was absent.
    pub fn close(&self) -> Option<(Digest, &[u16])> {
        self.close.as_ref().map(|(digest, absent)| (*digest, absent.as_slice()))
    }

    /// When no more answers were taken, by the clock of who ended it, in seconds since 1970.
    pub fn ended_at(&self) -> Option<u64> {
        self.ended_at
    }

    /// The number of the latest step.
    pub fn last_step(&self) -> Option<u32> {
        self.last_step
    }

    /// The account under which a device takes part, by its own account: that one if the draft names
    /// it, or if it has accepted by it; otherwise the one by which it has asked to join if the
    /// draft names that, or one that it has for this decision alone.
    pub fn account_of(&self, device: SigningKey) -> SigningKey {
        match self.seed_of(&device) {
            None => device,
            Some(seed) => SigningKey::from_seed(seed.expose()),
        }
    }

    /// The seed of [`Chain::account_of`]; `None` if that is the device's own account.
    pub fn seed_of(&self, device: &SigningKey) -> Option<Secret> {
        let own = device.verifying_key();
        if self.names(&own) || self.person(&own).is_some() {
            return None;
        }
        let joined = self.draft.gathering.map(|id| joining_seed(device, &self.operators, &id));
        let key = |seed: &Secret| SigningKey::from_seed(seed.expose()).verifying_key();
        let joined = joined.filter(|seed| self.names(&key(seed)));
        Some(joined.unwrap_or_else(|| account_seed(device, &self.operators, &self.id)))
    }

    /// Whether the draft has a place for this account.
    fn names(&self, account: &VerifyingKey) -> bool {
        self.draft.people.iter().any(|person| person.seat == Seat::Account(*account))
    }

    /// The place of the person whose account this is, once it has accepted.
    pub fn person(&self, account: &VerifyingKey) -> Option<u16> {
        self.asked().find(|(_, person)| person.owner() == Some(account)).map(|(place, _)| place)
    }

    /// The people whom the draft names by an account and who have not accepted: P0 looks for a key
    /// in their stock.
    pub fn waits_for_stock(&self) -> Vec<(u16, VerifyingKey)> {
        let account =
            |(place, person): (u16, &Standing)| match self.draft.people[usize::from(place)].seat {
                Seat::Account(account) if person.key.is_none() => Some((place, account)),
                _ => None,
            };
        if self.stage == Stage::Accepting {
            self.asked().filter_map(account).collect()
        } else {
            Vec::new()
        }
    }
}

//! What is decided, by whom, and how: the draft, which the creator signs.

pub mod flaw;
pub mod function;
pub mod gathering;
pub mod warning;

use std::collections::BTreeSet;

use ostrakon_crypto::{Digest, Transcript, VerifyingKey};
use ostrakon_onepass::Helpers;
use ostrakon_onepass::params::{CIPHERTEXT_BYTES, MAX_ENTRIES, proof_bytes, table_entries};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::draft::flaw::{Flaw, InvalidDraft};
use crate::draft::function::Function;
use crate::hex::hexadecimal;
use crate::operators::SERVERS;
use crate::params::RECORD_BYTES;
use gathering::GatheringId;

/// People of a decision.
pub const PEOPLE: std::ops::RangeInclusive<usize> = 2..=200;
/// Ballots of a decision.
pub const BALLOTS: std::ops::RangeInclusive<usize> = 1..=20;
/// Options of a ballot.
pub const OPTIONS: std::ops::RangeInclusive<usize> = 2..=8;
/// Longest question in bytes of UTF-8.
pub const QUESTION_BYTES: usize = 500;
/// Longest name, option or label of a ballot in bytes of UTF-8.
pub const LABEL_BYTES: usize = 100;
/// The farthest deadline, in seconds from now.
pub const MOST_SECONDS: u64 = 400 * 24 * 3600;

/// Bytes of a record around a step, generously.
const STEP_FRAME: usize = 500;

hexadecimal! {
    /// A decision's name: the first half of its draft's digest.
    DecisionId, 16
}

/// Who may take a person's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seat {
    /// The owner of this account.
    Account(VerifyingKey),
    /// Whoever has the secret half of this key first: the invitation's link carries it.
    Invitation(VerifyingKey),
}

impl Seat {
    /// The account's or the invitation's key.
    pub fn key(&self) -> &VerifyingKey {
        match self {
            Seat::Account(key) | Seat::Invitation(key) => key,
        }
    }
}

/// Somebody who is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// At most [`LABEL_BYTES`] bytes; all different.
    pub name: String,
    /// Who may take the place.
    pub seat: Seat,
}

/// One thing that is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ballot {
    /// What it is about, where there are several, for example a date; may be empty.
    pub label: String,
    /// As many as [`OPTIONS`] says, all different.
    pub options: Vec<String>,
    /// What is computed.
    pub function: Function,
    /// The option that counts for whoever stays away.
    pub assumed: u8,
}

/// A decision as its creator drafts it. It never changes; its digest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// What is asked.
    pub question: String,
    /// What is answered, all in one visit.
    pub ballots: Vec<Ballot>,
    /// Who is asked.
    pub people: Vec<Person>,
    /// Until when to accept, in seconds since 1970; before the deadline.
    pub accept_by: u64,
    /// Whether it lapses if somebody has not accepted by then. Otherwise it goes on without them.
    pub all_needed: bool,
    /// Until when to answer, in seconds since 1970.
    pub deadline: u64,
    /// How many must answer: with fewer nothing is opened, whoever stayed away ([`least_quorum`],
    /// [`usual_quorum`]).
    pub quorum: u16,
    /// How many servers can stand in for whoever stays away: 2 or 3; with 0 nobody can, and there
    /// is no result if somebody does.
    pub threshold: u8,
    /// Who signs the record that begins the decision.
    pub creator: VerifyingKey,
    /// The join link by which people have asked to take part, if there was one. The accounts that
    /// asked are named by [`Person::seat`].
    #[serde(default)]
    pub gathering: Option<GatheringId>,
    /// Random; makes equal drafts different.
    pub nonce: [u8; 16],
    /// The digest of the servers.
    pub servers: Digest,
}

/// The smallest quorum for so many people: three, or all where they are fewer. Whoever decides who
/// stays away would otherwise learn a single answer.
pub fn least_quorum(people: usize) -> usize {
    people.min(3)
}

/// The quorum unless somebody wants another one: half of the people, rounded up, and no fewer than
/// must be.
pub fn usual_quorum(people: usize) -> usize {
    people.div_ceil(2).max(least_quorum(people))
}

/// Who can stand in with this threshold; `None` if it is none of 0, 2 and 3.
pub(crate) fn helpers(threshold: u8) -> Option<Helpers> {
    match threshold {
        0 => Some(Helpers::none()),
        2 | 3 => Helpers::new(usize::from(threshold), SERVERS).ok(),
        _ => None,
    }
}

fn complain<T>(flaw: Flaw, sentence: String) -> Result<T, InvalidDraft> {
    Err(InvalidDraft::new(flaw, sentence))
}

/// Whether a text has 1 to `most` bytes and says something.
fn says(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.len() <= most
}

/// What is wrong with a text that does not say anything within its limit.
fn unsaid(flaw: Flaw, text: &str) -> Flaw {
    if text.trim().is_empty() { flaw } else { Flaw::Long }
}

impl Ballot {
    fn validate(&self, place: usize, people: usize) -> Result<(), InvalidDraft> {
        let number = place + 1;
        if self.label.len() > LABEL_BYTES {
            return complain(
                Flaw::Long,
                format!("the label of ballot {number} must have at most {LABEL_BYTES} bytes"),
            );
        }
        if !OPTIONS.contains(&self.options.len()) {
            let (least, most) = (OPTIONS.start(), OPTIONS.end());
            return complain(
                Flaw::Options,
                format!(
                    "ballot {number} must have {least} to {most} options, not {}",
                    self.options.len()
                ),
            );
        }
        if let Some(option) = self.options.iter().find(|option| !says(option, LABEL_BYTES)) {
            let flaw = unsaid(Flaw::Options, option);
            return complain(
                flaw,
                format!("each option of ballot {number} must have 1 to {LABEL_BYTES} bytes"),
            );
        }
        let distinct: BTreeSet<_> = self.options.iter().map(|option| option.trim()).collect();
        if distinct.len() != self.options.len() {
            return complain(
                Flaw::Options,
                format!("the options of ballot {number} must all be different"),
            );
        }
        if usize::from(self.assumed) >= self.options.len() {
            return complain(
                Flaw::Assumed,
                format!(
                    "the answer that ballot {number} assumes of who stays away is none of its options"
                ),
            );
        }
        match self.function.objection(people, self.options.len()) {
            Some(InvalidDraft { flaw, sentence }) => {
                complain(flaw, format!("ballot {number}: {sentence}"))
            }
            None => Ok(()),
        }
    }
}

impl Draft {
    /// Checks every limit but the deadline's.
    ///
    /// # Errors
    /// [`InvalidDraft`] names the limit and what may be done.
    pub fn validate(&self) -> Result<(), InvalidDraft> {
        if !says(&self.question, QUESTION_BYTES) {
            let flaw = unsaid(Flaw::Question, &self.question);
            return complain(flaw, format!("the question must have 1 to {QUESTION_BYTES} bytes"));
        }
        if helpers(self.threshold).is_none() {
            return complain(
                Flaw::Threshold,
                format!("0, 2 or 3 servers stand in for who stays away, not {}", self.threshold),
            );
        }
        if !BALLOTS.contains(&self.ballots.len()) {
            let (least, most) = (BALLOTS.start(), BALLOTS.end());
            return complain(
                Flaw::Ballots,
                format!("a decision has {least} to {most} ballots, not {}", self.ballots.len()),
            );
        }
        self.validate_people()?;
        self.validate_turnout()?;
        self.validate_labels()?;
        for (place, ballot) in self.ballots.iter().enumerate() {
            ballot.validate(place, self.people.len())?;
        }
        let entries = |ballot: &Ballot| {
            table_entries(self.people.len(), u16::try_from(ballot.options.len()).ok()?)
        };
        let all: Option<usize> = self.ballots.iter().map(entries).sum();
        if all.is_none_or(|all| all > MAX_ENTRIES) {
            return complain(
                Flaw::Large,
                format!(
                    "the tables of all ballots together have more than {MAX_ENTRIES} entries: ask fewer people, or take fewer ballots or options"
                ),
            );
        }
        if self.step_bytes() > RECORD_BYTES - STEP_FRAME {
            return complain(Flaw::Large, "an answer to all ballots would be too long to send: ask fewer people, or take fewer ballots or options".into());
        }
        Ok(())
    }

    /// Bytes of the longest step, the first one. The tables are within their limit.
    fn step_bytes(&self) -> usize {
        let values = |ballot: &Ballot| u16::try_from(ballot.options.len()).unwrap_or(u16::MAX);
        let entries = |ballot: &Ballot| {
            table_entries(self.people.len() - 1, values(ballot))
                .unwrap_or(usize::MAX / CIPHERTEXT_BYTES)
        };
        self.ballots
            .iter()
            .map(|ballot| CIPHERTEXT_BYTES * entries(ballot) + proof_bytes(values(ballot)))
            .sum()
    }

    fn validate_people(&self) -> Result<(), InvalidDraft> {
        if !PEOPLE.contains(&self.people.len()) {
            let (least, most) = (PEOPLE.start(), PEOPLE.end());
            return complain(
                Flaw::People,
                format!("{least} to {most} people can be asked, not {}", self.people.len()),
            );
        }
        if let Some(person) = self.people.iter().find(|person| !says(&person.name, LABEL_BYTES)) {
            return complain(
                unsaid(Flaw::Names, &person.name),
                format!("the name “{}” must have 1 to {LABEL_BYTES} bytes", person.name),
            );
        }
        let mut names = BTreeSet::new();
        if let Some(person) = self.people.iter().find(|person| !names.insert(person.name.trim())) {
            return complain(
                Flaw::Names,
                format!(
                    "two people are called “{}”: give them different names",
                    person.name.trim()
                ),
            );
        }
        let mut keys = BTreeSet::new();
        if let Some(person) = self.people.iter().find(|person| !keys.insert(*person.seat.key())) {
            return complain(
                Flaw::Seats,
                format!("“{}” has the account or the invitation of somebody else", person.name),
            );
        }
        Ok(())
    }

    fn validate_turnout(&self) -> Result<(), InvalidDraft> {
        let (least, people) = (least_quorum(self.people.len()), self.people.len());
        if !(least..=people).contains(&usize::from(self.quorum)) {
            return complain(
                Flaw::Quorum,
                format!(
                    "of {people} people at least {least} and at most {people} must answer for a result, not {}: what fewer say could be told apart",
                    self.quorum
                ),
            );
        }
        if self.accept_by >= self.deadline {
            return complain(
                Flaw::AcceptBy,
                "the day by which to accept must come before the deadline for answers".into(),
            );
        }
        Ok(())
    }

    /// Whoever answers must be able to tell the ballots apart.
    fn validate_labels(&self) -> Result<(), InvalidDraft> {
        let mut labels = BTreeSet::new();
        let again = self.ballots.iter().position(|ballot| !labels.insert(ballot.label.trim()));
        match again.map(|place| (place + 1, self.ballots[place].label.trim())) {
            None => Ok(()),
            Some((number, "")) => complain(
                Flaw::Labels,
                format!(
                    "ballot {number} needs a label: there are several, and another one has none"
                ),
            ),
            Some((number, label)) => complain(
                Flaw::Labels,
                format!(
                    "ballot {number} is called “{label}” as another one: give them different labels"
                ),
            ),
        }
    }

    /// Checks that the deadline is to come and not too far. `now` in seconds since 1970.
    ///
    /// # Errors
    /// [`InvalidDraft`].
    pub fn validate_deadline(&self, now: u64) -> Result<(), InvalidDraft> {
        if self.deadline <= now {
            return complain(Flaw::Deadline, "the deadline has passed: take a later one".into());
        }
        if self.accept_by <= now {
            return complain(
                Flaw::AcceptBy,
                "the day by which to accept has passed: take a later one".into(),
            );
        }
        if self.deadline - now > MOST_SECONDS {
            return complain(
                Flaw::Deadline,
                "the deadline is more than 400 days ahead: take an earlier one".into(),
            );
        }
        Ok(())
    }

    /// The draft's digest.
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/decide/draft");
        transcript.field(&self.servers.0).field(&wire::encode(self)).finish()
    }

    /// The decision's name.
    pub fn id(&self) -> DecisionId {
        DecisionId(self.digest().0[..16].try_into().expect("half of 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::warning::Warning;
    use super::*;

    fn ballot() -> Ballot {
        let options = vec!["no".into(), "yes".into()];
        Ballot { label: String::new(), options, function: Function::Majority, assumed: 0 }
    }

    fn labelled(label: &str) -> Ballot {
        Ballot { label: label.into(), ..ballot() }
    }

    fn several(count: u8) -> Vec<Ballot> {
        (0..count).map(|i| labelled(&format!("ballot {i}"))).collect()
    }

    #[test]
    fn half_of_the_people_must_answer_and_three_where_there_are_that_many() {
        let usual = [(2, 2), (3, 3), (4, 3), (5, 3), (6, 3), (7, 4), (20, 10), (200, 100)];
        for (people, quorum) in usual {
            assert_eq!(usual_quorum(people), quorum, "{people} people");
        }
        assert_eq!((least_quorum(2), least_quorum(3), least_quorum(200)), (2, 3, 3));
    }

    fn draft(people: u8) -> Draft {
        let person =
            |i: u8| Person { name: format!("p{i}"), seat: Seat::Invitation(VerifyingKey([i; 32])) };
        Draft {
            question: "Shall we?".into(),
            ballots: vec![ballot()],
            people: (0..people).map(person).collect(),
            accept_by: 900,
            all_needed: false,
            deadline: 1_000,
            quorum: u16::try_from(usual_quorum(usize::from(people))).unwrap(),
            threshold: 2,
            creator: VerifyingKey([7; 32]),
            gathering: None,
            nonce: [3; 16],
            servers: Digest([9; 32]),
        }
    }

    #[test]
    fn two_people_are_warned_although_there_were_more_at_first() {
        let two = |people| warning::warnings(&draft(3), people).contains(&Warning::TwoPeople);
        assert_eq!([2, 3, 200].map(two), [true, false, false]);
    }

    fn with(change: impl FnOnce(&mut Draft)) -> Draft {
        let mut draft = draft(3);
        change(&mut draft);
        draft
    }

    #[test]
    fn every_limit_is_named() {
        assert_eq!(draft(3).validate(), Ok(()));
        assert_eq!(draft(200).validate(), Ok(()));
        let bad = [
            (with(|d| d.question = " ".into()), "question"),
            (with(|d| d.question = "q".repeat(501)), "question"),
            (with(|d| d.threshold = 1), "stand in"),
            (with(|d| d.ballots.clear()), "ballots"),
            (with(|d| d.ballots = several(21)), "ballots"),
            (with(|d| d.people.truncate(1)), "people"),
            (with(|d| d.quorum = 2), "must answer"),
            (with(|d| d.quorum = 4), "must answer"),
            (with(|d| d.accept_by = 1_000), "before the deadline"),
            (with(|d| d.ballots = vec![ballot(), ballot()]), "needs a label"),
            (with(|d| d.ballots = vec![labelled("x"), labelled(" x")]), "called “x”"),
            (draft(201), "people"),
            (with(|d| d.people[1].name = String::new()), "name"),
            (with(|d| d.people[1].name = " p0".into()), "called “p0”"),
            (with(|d| d.people[1].seat = d.people[0].seat), "“p1”"),
            (with(|d| d.ballots[0].options.truncate(1)), "options"),
            (with(|d| d.ballots[0].options[1] = "no ".into()), "different"),
            (with(|d| d.ballots[0].options[1] = String::new()), "option"),
            (with(|d| d.ballots[0].assumed = 2), "assumes"),
            (with(|d| d.ballots[0].label = "l".repeat(101)), "label"),
            (with(|d| d.ballots[0].function = Function::AtLeast { k: 4 }), "ballot 1"),
        ];
        for (draft, word) in bad {
            let error = draft.validate().unwrap_err();
            assert!(error.sentence.contains(word), "{error}");
        }
        let mut many = draft(100);
        many.ballots = several(9);
        assert!(many.validate().unwrap_err().sentence.contains("together"));
        let mut long = draft(44);
        long.ballots = several(20);
        assert!(long.validate().unwrap_err().sentence.contains("too long"));
        long.people.truncate(40);
        long.quorum = 20;
        assert_eq!(long.validate(), Ok(()));
        assert!(draft(3).validate_deadline(1_000).is_err());
        assert!(draft(3).validate_deadline(900).unwrap_err().sentence.contains("accept"));
        assert_eq!(draft(3).validate_deadline(899), Ok(()));
        assert!(with(|d| d.deadline = MOST_SECONDS + 2).validate_deadline(1).is_err());
    }

    #[test]
    fn every_part_is_in_the_name() {
        let changed = [
            with(|_| ()),
            with(|d| d.question.push('!')),
            with(|d| d.threshold = 3),
            with(|d| d.deadline += 1),
            with(|d| d.accept_by += 1),
            with(|d| d.all_needed = true),
            with(|d| d.quorum += 1),
            with(|d| d.gathering = Some(GatheringId([1; 16]))),
            with(|d| d.nonce[0] = 1),
            with(|d| d.servers.0[0] = 1),
            with(|d| d.creator.0[0] = 1),
            with(|d| d.people[0].name.push('x')),
            with(|d| d.people[0].seat = Seat::Account(VerifyingKey([0; 32]))),
            with(|d| d.ballots[0].assumed = 1),
            with(|d| d.ballots[0].function = Function::Veto),
        ];
        let names: BTreeSet<_> = changed.iter().map(Draft::id).collect();
        assert_eq!(names.len(), changed.len());
    }

    /// The forms in `docs/spec/decide.md`.
    #[test]
    fn drafts_have_the_forms_that_are_specified() {
        let forms = [
            (Function::Majority, r#""majority""#),
            (Function::AtLeast { k: 3 }, r#"{"at-least":{"k":3}}"#),
            (Function::Plurality { tie: crate::Tie::First }, r#"{"plurality":{"tie":"first"}}"#),
            (Function::Custom { outputs: vec![1, 0] }, r#"{"custom":{"outputs":[1,0]}}"#),
        ];
        for (function, form) in forms {
            assert_eq!(serde_json::to_string(&function).unwrap(), form);
        }
        let seat = serde_json::to_string(&Seat::Account(VerifyingKey([17; 32]))).unwrap();
        assert_eq!(seat, format!(r#"{{"account":"{}"}}"#, "11".repeat(32)));
        let text = serde_json::to_string(&draft(2)).unwrap();
        assert_eq!(serde_json::from_str::<Draft>(&text).unwrap(), draft(2));
    }
}

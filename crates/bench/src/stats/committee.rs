//! A committee that computes statistics: processes on this machine, connected by TLS as in
//! production, and what they are told.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use ostrakon_authbits::SegmentSpec;
use ostrakon_stats::{Answer, Committee as Members, Member, Part, Places, Question, Scope};
use serde::{Deserialize, Serialize};

use crate::control::{Program, Running, spawn};

/// What a member does next.
#[derive(Serialize, Deserialize)]
pub(super) enum Command {
    /// Connects with the others, over links on which every message takes so much longer.
    Join { members: Vec<Member>, ports: Vec<u16>, latency: Duration },
    /// Prepares a segment, and no more.
    Prepare { number: u64, triples: usize, bucket: usize, security: u32 },
    /// Shows its part of where the things of lists fall.
    Part { question: Question },
    /// Checks reports to a question, as their reporters made them, and keeps them.
    Take { question: Question, reports: Vec<Bytes> },
    /// Computes the answers to the question on the reports that were taken.
    Compute { number: u64 },
    /// Forgets the last run's messages: all members are done with it.
    Retire,
}

impl Command {
    fn prepare(spec: SegmentSpec) -> Self {
        let SegmentSpec { number, triples, bucket, security } = spec;
        Command::Prepare { number, triples, bucket, security }
    }
}

/// Bytes that travel as text.
#[derive(Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[derive(Clone)]
pub(super) struct Bytes(pub Vec<u8>);

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> String {
        data_encoding::BASE64.encode(&bytes.0)
    }
}

impl TryFrom<String> for Bytes {
    type Error = data_encoding::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        data_encoding::BASE64.decode(text.as_bytes()).map(Self)
    }
}

/// What a member says of itself, first.
#[derive(Serialize, Deserialize)]
pub(super) struct Bound {
    pub port: u16,
    pub member: Member,
}

/// What came of a command, or why nothing did.
pub(super) type Told<T> = Result<T, String>;

/// Seconds of the phases of a run, at the slowest member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// All reports' signatures and proofs are checked, which a service does as they come in.
    pub check: f64,
    /// Triples, and masks for the reports.
    pub preparation: f64,
    /// From the reports' differences to the list of those that count.
    pub adjust: f64,
    /// From that to the accepted numbers under the key: every member's points are shown and
    /// verified. Lists are not opened.
    pub open: f64,
    /// From that to the checked answer.
    pub circuit: f64,
}

impl Phases {
    /// All together.
    pub fn sum(&self) -> f64 {
        self.check + self.preparation + self.adjust + self.open + self.circuit
    }

    fn slowest(self, other: Self) -> Self {
        Self {
            check: self.check.max(other.check),
            preparation: self.preparation.max(other.preparation),
            adjust: self.adjust.max(other.adjust),
            open: self.open.max(other.open),
            circuit: self.circuit.max(other.circuit),
        }
    }
}

/// What came out at one member, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The answers, in the order of the statistics.
    pub answers: Vec<Answer>,
    /// AND gates of the circuit.
    pub ands: usize,
    /// Triples that were prepared.
    pub triples: usize,
    /// How many leaky ones each was made of.
    pub bucket: usize,
    /// What this member has sent.
    pub sent: Sent,
    /// Bytes of it that the formulas give to the preparation of triples.
    pub offline_bytes: u64,
    /// The phases.
    pub phases: Phases,
}

/// What a member has sent in a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Bytes of message bodies.
    pub bytes: u64,
    /// As many as the formulas say.
    pub formula_bytes: u64,
    /// Rounds, one after the other.
    pub rounds: u32,
    /// As many as the formulas say.
    pub formula_rounds: u32,
}

impl Sent {
    fn check(&self) -> Result<()> {
        let Self { bytes, formula_bytes, rounds, formula_rounds } = self;
        ensure!(
            bytes == formula_bytes,
            "a server has sent {bytes} bytes, and {formula_bytes} are the formula"
        );
        ensure!(
            rounds == formula_rounds,
            "a server has taken {rounds} rounds, and {formula_rounds} are the formula"
        );
        Ok(())
    }
}

/// What the preparation of a segment cost one member.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// What it has sent.
    pub sent: Sent,
    /// How long it took.
    pub seconds: f64,
}

/// The members' processes. They end when this is dropped.
pub struct Committee {
    members: Vec<Running>,
    keys: Members,
    number: u64,
}

/// What the reports of a run are about.
pub(super) fn scope<'a>(committee: &'a Members, question: &'a Question) -> Scope<'a> {
    let subject = ostrakon_crypto::hash::digest("ostrakon/v1/bench/survey", &[]);
    Scope { subject, committee, question, number: 0 }
}

impl Committee {
    /// Starts the processes and connects them.
    ///
    /// # Errors
    /// If one cannot be started, or ends.
    pub fn start(program: &Program, members: usize) -> Result<Self> {
        Self::start_apart(program, members, Duration::ZERO)
    }

    /// The same, over links on which every message takes so much longer.
    ///
    /// # Errors
    /// As [`Committee::start`].
    pub fn start_apart(program: &Program, members: usize, latency: Duration) -> Result<Self> {
        let mut members = (0..members).map(|_| spawn(program)).collect::<Result<Vec<_>>>()?;
        let (mut entries, mut ports) = (Vec::new(), Vec::new());
        for member in &mut members {
            let Bound { port, member } = member.answer()?;
            entries.push(member);
            ports.push(port);
        }
        let keys = Members::new(entries.clone())?;
        let mut committee = Self { members, keys, number: 0 };
        committee.tell_all(&Command::Join { members: entries, ports, latency })?;
        for member in &mut committee.members {
            member.answer::<()>()?;
        }
        Ok(committee)
    }

    fn tell_all(&mut self, command: &Command) -> Result<()> {
        self.members.iter_mut().try_for_each(|member| member.tell(command))
    }

    /// Tells all members the same, and waits for what came of it.
    fn all<T: serde::de::DeserializeOwned>(&mut self, command: &Command) -> Result<Vec<T>> {
        self.tell_all(command)?;
        let mut answers = Vec::new();
        for member in &mut self.members {
            match member.answer::<Told<T>>()? {
                Ok(answer) => answers.push(answer),
                Err(why) => bail!("the servers have no answer: {why}"),
            }
        }
        Ok(answers)
    }

    /// What a report to these members about a question is made for.
    pub fn scope<'a>(&'a self, question: &'a Question) -> Scope<'a> {
        scope(&self.keys, question)
    }

    /// Has the members prepare a segment, whose number is the committee's next. Returns what it
    /// cost the slowest member.
    ///
    /// # Errors
    /// If a member ends or fails, or sends other amounts than the formulas say.
    pub fn prepare(&mut self, spec: SegmentSpec) -> Result<Prepared> {
        self.number += 1;
        let spec = SegmentSpec { number: self.number, ..spec };
        let prepared = self.all::<Prepared>(&Command::prepare(spec))?;
        prepared.iter().try_for_each(|prepared| prepared.sent.check())?;
        self.tell_all(&Command::Retire)?;
        let slowest = prepared.into_iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(slowest.expect("a committee has members"))
    }

    /// Where the things of lists fall.
    ///
    /// # Errors
    /// If a member ends, or does not show its part.
    pub fn places(&mut self, question: &Question) -> Result<Places> {
        let parts = self.all::<Part>(&Command::Part { question: question.clone() })?;
        Ok(Places::of(&self.scope(question), &parts)?)
    }

    /// Has the members answer a question on these reports, each of another reporter.
    ///
    /// # Errors
    /// If a member ends or fails, they have different answers, or one sends other amounts than the
    /// formulas say.
    pub fn compute(&mut self, question: &Question, reports: &[Vec<u8>]) -> Result<Outcome> {
        self.number += 1;
        let (question, number) = (question.clone(), self.number);
        let reports = reports.iter().cloned().map(Bytes).collect();
        let checked = self.all::<f64>(&Command::Take { question, reports })?;
        let mut outcomes = self.all::<Outcome>(&Command::Compute { number })?;
        outcomes.iter().try_for_each(|outcome| outcome.sent.check())?;
        let alike = outcomes.iter().all(|other| other.answers == outcomes[0].answers);
        ensure!(alike, "the servers hold different answers");
        self.tell_all(&Command::Retire)?;
        let check = checked.into_iter().fold(0.0, f64::max);
        let phases = outcomes.iter().map(|outcome| outcome.phases);
        let phases = phases.fold(Phases { check, ..Phases::default() }, Phases::slowest);
        Ok(Outcome { phases, ..outcomes.swap_remove(0) })
    }
}

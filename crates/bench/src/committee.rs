//! A committee that computes statistics: processes on this machine, connected by TLS as in
//! production, and what they are told.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::{Digest, Secret, SigningKey, Transcript, VerifyingKey};
use ostrakon_party::{Instance, Party, Roster, SessionId};
use ostrakon_stats::{
    Answer, Answered, Committee as Members, ExchangeKey, Member, Question, Report, Scope, Seal,
    Sealed, compute, report,
};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::control::{Program, Running, spawn};
use crate::party::{Place, answer, meet, secret};

/// What a member does next.
#[derive(Serialize, Deserialize)]
enum Command {
    /// Connects with the others.
    Join { members: Vec<Member>, ports: Vec<u16> },
    /// Computes the answers to a question on these reports, as their reporters made them.
    Compute { question: Question, number: u64, reports: Vec<Bytes> },
    /// Forgets the last computation's messages: all members have its answers.
    Retire,
}

/// Bytes that travel as text.
#[derive(Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[derive(Clone)]
struct Bytes(Vec<u8>);

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
struct Bound {
    port: u16,
    member: Member,
}

/// What a member has computed, or why it has not.
type Computed = Result<Outcome, String>;

/// What came out at one member, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The answers, in the order of the statistics.
    pub answers: Vec<Answer>,
    /// AND gates of the circuit.
    pub ands: usize,
    /// Triples that were prepared.
    pub triples: usize,
    /// Bytes of message bodies that this member has sent.
    pub bytes: u64,
    /// What the formulas say that it sends.
    pub formula_bytes: u64,
    /// Rounds, one after the other.
    pub rounds: u32,
}

/// The members' processes. They end when this is dropped.
pub struct Committee {
    members: Vec<Running>,
    keys: Members,
    number: u64,
}

/// What the reports of a run are about.
fn scope<'a>(committee: &'a Members, question: &'a Question) -> Scope<'a> {
    let subject = ostrakon_crypto::hash::digest("ostrakon/v1/bench/survey", &[]);
    Scope { subject, committee, question, number: 0 }
}

impl Committee {
    /// Starts the processes and connects them.
    ///
    /// # Errors
    /// If one cannot be started, or ends.
    pub fn start(program: &Program, members: usize) -> Result<Self> {
        let mut members = (0..members).map(|_| spawn(program)).collect::<Result<Vec<_>>>()?;
        let (mut entries, mut ports) = (Vec::new(), Vec::new());
        for member in &mut members {
            let Bound { port, member } = member.answer()?;
            entries.push(member);
            ports.push(port);
        }
        let keys = Members::new(entries.clone())?;
        let mut committee = Self { members, keys, number: 0 };
        committee.tell_all(&Command::Join { members: entries, ports })?;
        for member in &mut committee.members {
            member.answer::<()>()?;
        }
        Ok(committee)
    }

    fn tell_all(&mut self, command: &Command) -> Result<()> {
        self.members.iter_mut().try_for_each(|member| member.tell(command))
    }

    /// What a report to these members about a question is made for.
    pub fn scope<'a>(&'a self, question: &'a Question) -> Scope<'a> {
        scope(&self.keys, question)
    }

    /// Has the members answer a question on these reports, each of another reporter. Returns the
    /// outcome and the seconds that it took.
    ///
    /// # Errors
    /// If a member ends or fails, or they have different answers.
    #[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
    pub fn compute(&mut self, question: &Question, reports: &[Vec<u8>]) -> Result<(Outcome, f64)> {
        self.number += 1;
        let begun = Instant::now();
        let (question, number) = (question.clone(), self.number);
        let reports = reports.iter().cloned().map(Bytes).collect();
        self.tell_all(&Command::Compute { question, number, reports })?;
        let mut outcomes = Vec::new();
        for member in &mut self.members {
            match member.answer::<Computed>()? {
                Ok(outcome) => outcomes.push(outcome),
                Err(why) => bail!("the servers have no answer: {why}"),
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        for Outcome { bytes, formula_bytes, .. } in &outcomes {
            ensure!(
                bytes == formula_bytes,
                "a server has sent {bytes} bytes, and {formula_bytes} are the formula"
            );
        }
        let alike = outcomes.iter().all(|other| other.answers == outcomes[0].answers);
        ensure!(alike, "the servers hold different answers");
        self.tell_all(&Command::Retire)?;
        Ok((outcomes.swap_remove(0), seconds))
    }
}

/// What a member has used: its processes live as long as the committee.
#[derive(Default)]
struct Used(BTreeMap<Digest, Vec<u8>>);

impl ostrakon_authbits::Journal for Used {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let keep = |(name, bytes): &(Digest, Vec<u8>)| {
            let before = self.0.get(name).cloned();
            self.0.entry(*name).or_insert_with(|| bytes.clone());
            before
        };
        Ok(entries.iter().map(keep).collect())
    }
}

/// A member: carries out commands from standard input until it ends.
///
/// # Errors
/// If a command is none, or nobody reads the answers.
pub fn run() -> Result<()> {
    let runtime = Runtime::new().context("the network's threads cannot be started")?;
    let Place { seed, listener, port, key } = Place::taken(&runtime)?;
    let exchange = ExchangeKey::from_seed(&Secret::new(secret()?));
    answer(&Bound { port, member: exchange.member(&SigningKey::from_seed(&seed)) })?;
    let mut lines = std::io::stdin().lock().lines();
    let mut next = || -> Result<Option<Command>> {
        lines.next().map(|line| Ok(serde_json::from_str(&line?)?)).transpose()
    };
    let Some(Command::Join { members, ports }) = next()? else { return Ok(()) };
    let members = Members::new(members)?;
    let keys: Vec<VerifyingKey> = members.members().iter().map(|member| member.key).collect();
    let roster = Roster { session: session(&keys), keys };
    let party = runtime.block_on(meet(seed, &key, listener, roster, &ports))?;
    answer(&())?;
    let (mut used, mut last) = (Used::default(), None);
    while let Some(command) = next()? {
        match command {
            Command::Join { .. } => bail!("the member has joined already"),
            Command::Retire => forget(&party, last.take()),
            Command::Compute { question, number, reports } => {
                let scope = scope(&members, &question);
                // Only what has been checked is computed on.
                let checked = reports.iter().map(|report| report::check(&report.0, &scope));
                let seal = Seal::of(checked.collect::<Result<Vec<Report>, _>>()?);
                let sealed = Sealed { scope, run: number, reports: &seal.reports };
                let random = Secret::new(secret()?);
                let computing = compute(&party, &exchange, sealed, &mut used, random);
                let computed = runtime.block_on(computing).map_err(|why| why.to_string());
                answer(&computed.map(|answered| {
                    last = Some(answered.run);
                    outcome(&party, answered)
                }))?;
            }
        }
    }
    Ok(())
}

fn outcome(party: &Party, answered: Answered) -> Outcome {
    let Answered { answers, run, ands, triples, cost, .. } = answered;
    let (bytes, rounds) = (party.meter.bytes_sent(run), party.meter.rounds(run));
    Outcome { answers, ands, triples, bytes, formula_bytes: cost.bytes, rounds }
}

fn forget(party: &Party, run: Option<Instance>) {
    if let Some(run) = run {
        party.retire(run);
        party.meter.forget(run);
    }
}

fn session(keys: &[VerifyingKey]) -> SessionId {
    let mut transcript = Transcript::new("ostrakon/v1/stats/committee");
    keys.iter().for_each(|key| {
        transcript.field(&key.0);
    });
    SessionId(transcript.finish())
}

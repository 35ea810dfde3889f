//! A committee that computes statistics: processes on this machine, connected by TLS as in
//! production, and what they are told.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::{Digest, Secret, Transcript, VerifyingKey};
use ostrakon_party::{Instance, Party, Roster, SessionId};
use ostrakon_stats::{Answer, Answered, Question, Report, Sealed, compute};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::control::{Program, Running, spawn};
use crate::party::{Place, answer, meet, secret};

/// What a member does next.
#[derive(Serialize, Deserialize)]
enum Command {
    /// Connects with the others.
    Join { keys: Vec<VerifyingKey>, ports: Vec<u16> },
    /// Computes the answers to a question.
    Compute { question: Question, number: u64, list: Digest, reports: Vec<Report> },
    /// Forgets the last computation's messages: all members have its answers.
    Retire,
}

/// What a member says of itself, first.
#[derive(Serialize, Deserialize)]
struct Bound {
    port: u16,
    key: VerifyingKey,
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
    number: u64,
}

impl Committee {
    /// Starts the processes and connects them.
    ///
    /// # Errors
    /// If one cannot be started, or ends.
    pub fn start(program: &Program, members: usize) -> Result<Self> {
        let mut members = (0..members).map(|_| spawn(program)).collect::<Result<Vec<_>>>()?;
        let (mut keys, mut ports) = (Vec::new(), Vec::new());
        for member in &mut members {
            let Bound { port, key } = member.answer()?;
            keys.push(key);
            ports.push(port);
        }
        let mut committee = Self { members, number: 0 };
        committee.tell_all(&Command::Join { keys, ports })?;
        for member in &mut committee.members {
            member.answer::<()>()?;
        }
        Ok(committee)
    }

    fn tell_all(&mut self, command: &Command) -> Result<()> {
        self.members.iter_mut().try_for_each(|member| member.tell(command))
    }

    /// Has the members answer a question on these reports: of each, the members' shares in order.
    /// Returns the outcome and the seconds that it took.
    ///
    /// # Errors
    /// If a member ends or fails, or they have different answers.
    #[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
    pub fn compute(
        &mut self,
        question: &Question,
        reports: &[Vec<Report>],
    ) -> Result<(Outcome, f64)> {
        self.number += 1;
        let begun = Instant::now();
        for (i, member) in self.members.iter_mut().enumerate() {
            let own = reports.iter().map(|shares| shares.get(i).cloned());
            let reports = own.collect::<Option<Vec<_>>>().context("a share for each member")?;
            let (question, number) = (question.clone(), self.number);
            let list = list_of(reports.len());
            member.tell(&Command::Compute { question, number, list, reports })?;
        }
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

/// The list of reports: one program is all reporters here, and they are numbered.
fn list_of(count: usize) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/numbered reports");
    transcript.number(count as u64);
    transcript.finish()
}

/// What a member has used: its processes live as long as the committee.
#[derive(Default)]
struct Used(BTreeSet<[u8; 32]>);

impl ostrakon_authbits::Journal for Used {
    fn mark(&mut self, name: Digest) -> Result<bool, String> {
        Ok(self.0.insert(name.0))
    }
}

/// A member: carries out commands from standard input until it ends.
///
/// # Errors
/// If a command is none, or nobody reads the answers.
pub fn run() -> Result<()> {
    let runtime = Runtime::new().context("the network's threads cannot be started")?;
    let Place { seed, listener, port, key } = Place::taken(&runtime)?;
    answer(&Bound { port, key })?;
    let mut lines = std::io::stdin().lock().lines();
    let mut next = || -> Result<Option<Command>> {
        lines.next().map(|line| Ok(serde_json::from_str(&line?)?)).transpose()
    };
    let Some(Command::Join { keys, ports }) = next()? else { return Ok(()) };
    let roster = Roster { session: session(&keys), keys };
    let party = runtime.block_on(meet(seed, &key, listener, roster, &ports))?;
    answer(&())?;
    let (mut used, mut last) = (Used::default(), None);
    while let Some(command) = next()? {
        match command {
            Command::Join { .. } => bail!("the member has joined already"),
            Command::Retire => forget(&party, last.take()),
            Command::Compute { question, number, list, reports } => {
                let sealed = Sealed { question: &question, number, list, reports: &reports };
                let computing = compute(&party, sealed, &mut used, Secret::new(secret()?));
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
    let Answered { answers, run, ands, triples, cost } = answered;
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

//! A member of a benchmark's committee: a process that does what it is told by line.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ostrakon_authbits::cost::{self, Cost};
use ostrakon_authbits::{Journal, Kind, SegmentSpec, Ticket, prepare};
use ostrakon_crypto::{Digest, Secret, SigningKey, Transcript, VerifyingKey};
use ostrakon_party::{Instance, Party, Roster, SessionId, Step};
use ostrakon_stats::{
    Answered, Committee as Members, ExchangeKey, Form, Part, Question, Report, Seal, Sealed,
    compute, report,
};
use tokio::runtime::Runtime;

use super::committee::{Bound, Bytes, Command, Outcome, Phases, Prepared, Sent, Told, scope};
use super::link::{Slow, Turns};
use crate::party::{Place, answer, meet_over};
use crate::random::secret;

/// What a member has used: its processes live as long as the committee. When it is asked to write
/// something down tells how far a run is.
#[derive(Default)]
struct Used {
    entries: BTreeMap<Digest, Vec<u8>>,
    written: Vec<Instant>,
}

impl Journal for Used {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        self.written.push(now());
        let keep = |(name, bytes): &(Digest, Vec<u8>)| {
            let before = self.entries.get(name).cloned();
            self.entries.entry(*name).or_insert_with(|| bytes.clone());
            before
        };
        Ok(entries.iter().map(keep).collect())
    }
}

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
fn now() -> Instant {
    Instant::now()
}

struct Server {
    runtime: Runtime,
    members: Members,
    exchange: ExchangeKey,
    party: Party,
    used: Used,
    turns: Turns,
    taken: Option<(Question, Seal)>,
    last: Option<Instance>,
}

/// Carries out commands from standard input until it ends.
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
    let Some(Command::Join { members, ports, latency }) = next()? else { return Ok(()) };
    let members = Members::new(members)?;
    let keys: Vec<VerifyingKey> = members.members().iter().map(|member| member.key).collect();
    let roster = Roster { session: session(&keys), keys };
    let turns = Turns::default();
    let over = |channel| turns.of(Slow::down(channel, latency));
    let party = runtime.block_on(meet_over(over, seed, &key, listener, roster, &ports))?;
    answer(&())?;
    let (used, taken, last) = Default::default();
    let mut server = Server { runtime, members, exchange, party, used, turns, taken, last };
    while let Some(command) = next()? {
        match command {
            Command::Join { .. } => bail!("the member has joined already"),
            Command::Retire => server.forget(),
            Command::Prepare { number, triples, bucket, security } => {
                let spec = SegmentSpec { number, triples, bucket, security };
                answer(&server.prepare(spec).map_err(|why| why.to_string()))?;
            }
            Command::Part { question } => answer(&server.part(&question))?,
            Command::Take { question, reports } => answer(&server.take(question, &reports))?,
            Command::Compute { number } => {
                answer(&server.compute(number).map_err(|why| why.to_string()))?;
            }
        }
    }
    Ok(())
}

impl Server {
    fn prepare(&mut self, spec: SegmentSpec) -> Result<Prepared> {
        let (party, parties) = (&self.party, self.party.roster.keys.len());
        let begun = now();
        let ticket = Ticket::take(&mut self.used, party, spec)?;
        let segment = self.runtime.block_on(prepare(party, ticket, Secret::new(secret()?)))?;
        let seconds = begun.elapsed().as_secs_f64();
        drop(segment);
        let cost = cost::base_transfers(parties) + cost::preparation(parties, &spec);
        self.last = Some(spec.instance());
        Ok(Prepared { sent: sent(party, spec.instance(), cost), seconds })
    }

    /// What reporters of lists need of this member.
    fn part(&self, question: &Question) -> Told<Part> {
        let scope = scope(&self.members, question);
        Ok(Part::of(&self.exchange, self.party.id.index(), &scope))
    }

    /// Only what has been checked is computed on. Seconds that it took.
    fn take(&mut self, question: Question, reports: &[Bytes]) -> Told<f64> {
        let begun = now();
        let scope = scope(&self.members, &question);
        let checked = reports.iter().map(|report| report::check(&report.0, &scope));
        let checked = checked.collect::<Result<Vec<Report>, _>>().map_err(|why| why.to_string())?;
        self.taken = Some((question, Seal::of(checked)));
        Ok(begun.elapsed().as_secs_f64())
    }

    fn compute(&mut self, number: u64) -> Result<Outcome> {
        let (question, seal) = self.taken.take().context("there are no reports")?;
        let scope = scope(&self.members, &question);
        let sealed = Sealed { scope, run: number, first: true, reports: &seal.reports };
        let random = Secret::new(secret()?);
        self.used.written.clear();
        self.turns.take();
        let begun = now();
        let computing = compute(&self.party, &self.exchange, sealed, &mut self.used, random);
        let answered = self.runtime.block_on(computing)?;
        let marks = Marks { begun, written: &self.used.written, ended: now() };
        let phases = match question.form {
            Form::Items { .. } => marks.phases_of_lists(&self.turns.take()),
            Form::Number { .. } | Form::Grouped { .. } => marks.phases(&self.turns.take()),
        };
        let Answered { answers, run, ands, triples, bucket, cost, .. } = answered;
        self.last = Some(run);
        let (parties, security) = (self.party.roster.keys.len(), 0);
        let spec = SegmentSpec { number, triples, bucket, security };
        let offline = cost::base_transfers(parties) + cost::preparation(parties, &spec);
        let (sent, offline_bytes) = (sent(&self.party, run, cost), offline.bytes);
        Ok(Outcome { answers, ands, triples, bucket, sent, offline_bytes, phases })
    }

    fn forget(&mut self) {
        if let Some(run) = self.last.take() {
            self.party.retire(run);
            self.party.meter.forget(run);
        }
    }
}

/// What tells how far a run was at which moment: it writes down its number, then the reports'
/// differences, then that it opens the accepted.
struct Marks<'a> {
    begun: Instant,
    written: &'a [Instant],
    ended: Instant,
}

impl Marks<'_> {
    /// The first message of another step after the accepted are opened is the circuit's.
    fn phases(&self, turns: &[(Step, Instant)]) -> Phases {
        let adjusting = self.written.get(1).copied().unwrap_or(self.ended);
        let opening = self.written.get(2).copied().unwrap_or(self.ended);
        let circuit = turns.iter().find(|(_, at)| *at > opening).map_or(self.ended, |(_, at)| *at);
        self.between(adjusting, opening, circuit)
    }

    /// Lists are not opened. Their sum's difference is, and compared; what is opened next is the
    /// circuit's.
    fn phases_of_lists(&self, turns: &[(Step, Instant)]) -> Phases {
        let adjusting = self.written.get(1).copied().unwrap_or(self.ended);
        let is_opening =
            |(step, at): &&(Step, Instant)| *step == Kind::Opening.step() && *at > adjusting;
        let circuit = turns.iter().filter(is_opening).nth(1).map_or(self.ended, |(_, at)| *at);
        self.between(adjusting, circuit, circuit)
    }

    fn between(&self, adjusting: Instant, opening: Instant, circuit: Instant) -> Phases {
        let seconds = |from: Instant, to: Instant| Duration::as_secs_f64(&(to - from));
        Phases {
            check: 0.0,
            preparation: seconds(self.begun, adjusting),
            adjust: seconds(adjusting, opening),
            open: seconds(opening, circuit),
            circuit: seconds(circuit, self.ended),
        }
    }
}

fn sent(party: &Party, run: Instance, formula: Cost) -> Sent {
    let (bytes, rounds) = (party.meter.bytes_sent(run), party.meter.rounds(run));
    Sent { bytes, formula_bytes: formula.bytes, rounds, formula_rounds: formula.rounds }
}

fn session(keys: &[VerifyingKey]) -> SessionId {
    let mut transcript = Transcript::new("ostrakon/v1/stats/committee");
    keys.iter().for_each(|key| {
        transcript.field(&key.0);
    });
    SessionId(transcript.finish())
}

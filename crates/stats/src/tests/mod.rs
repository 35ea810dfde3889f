//! Committees in one process whose base transfers are dealt, and the attacks on them.

mod attacks;
mod cheaters;
mod places;
mod reports;
mod restarts;
mod sabotage;
mod seals;
mod sketches;

use ostrakon_testkit::nightly;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use ostrakon_authbits::ot::{Delta, KEY_BITS, base::BaseKey};
use ostrakon_authbits::{BaseKeys, Journal, Kind};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_party::{Message, Party, PartyId};
use ostrakon_testkit::{Network, Saboteur, World};

use crate::compute::carry_out;
use crate::compute::plan::Plan;
use crate::report::{Field, check, fields, make};
use crate::{
    Answer, Answered, Committee, ExchangeKey, Failed, Form, Part, Places, Question, Report, Scope,
    Seal, Sealed, Statistic, Value,
};

/// What is written down, by name.
pub type Kept = BTreeMap<Digest, Vec<u8>>;

/// A member's disk. A clone of it is the same disk.
#[derive(Clone, Default)]
pub struct Disk(pub Arc<Mutex<Kept>>);

impl Journal for Disk {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let mut kept = self.0.lock().map_err(|error| error.to_string())?;
        let mut keep = |(name, bytes): &(Digest, Vec<u8>)| {
            let before = kept.get(name).cloned();
            kept.entry(*name).or_insert_with(|| bytes.clone());
            before
        };
        Ok(entries.iter().map(&mut keep).collect())
    }
}

fn secret(names: &[u64]) -> Secret {
    let names: Vec<u8> = names.iter().flat_map(|name| name.to_le_bytes()).collect();
    Secret::new([0x5a; 32]).derive("test", &[&names])
}

/// What base transfers would make, dealt by a dealer whom only tests trust.
fn dealt(seed: u64, parties: usize, party: usize) -> BaseKeys {
    let mut bytes = [0; 24];
    let delta = |party: usize, bytes: &mut [u8; 24]| {
        secret(&[seed, 1, party as u64]).fill("test", &[], bytes);
        let mac = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        Delta { mac, hash: u128::from_le_bytes(bytes[8..].try_into().unwrap()) }
    };
    let own = delta(party, &mut bytes);
    let pair = |owner: usize, holder: usize| -> Vec<[BaseKey; 2]> {
        let mut bytes = vec![0; 32 * KEY_BITS];
        secret(&[seed, 2, owner as u64, holder as u64]).fill("test", &[], &mut bytes);
        let key = |bytes: &[u8]| bytes.try_into().unwrap();
        bytes.chunks_exact(32).map(|pair| [key(&pair[..16]), key(&pair[16..])]).collect()
    };
    let chosen = |peer: usize| {
        let keys = pair(peer, party).into_iter().enumerate();
        keys.map(|(k, keys)| keys[usize::from(1 ^ own.bit(k))]).collect()
    };
    let of = |peer: usize| {
        if peer == party { (Vec::new(), Vec::new()) } else { (pair(party, peer), chosen(peer)) }
    };
    let (sent, received) = (0..parties).map(of).unzip();
    BaseKeys { delta: own, sent, received }
}

/// A committee, a question, and what people report.
pub struct Scene {
    pub world: World,
    pub exchanges: Vec<ExchangeKey>,
    pub committee: Committee,
    pub question: Question,
    pub subject: Digest,
    pub number: u64,
}

pub type Outcome = Option<Result<Answered, Failed>>;

impl Scene {
    pub fn new(seed: u64, parties: usize, question: Question) -> Self {
        let world = World::new(seed, u8::try_from(parties).unwrap());
        let exchanges: Vec<ExchangeKey> =
            (0..parties).map(|i| ExchangeKey::from_seed(&secret(&[seed, 3, i as u64]))).collect();
        let member = |(i, exchange): (usize, &ExchangeKey)| {
            exchange.member(&world.key(PartyId(u8::try_from(i).unwrap())))
        };
        let members = exchanges.iter().enumerate().map(member).collect();
        let committee = Committee::new(members).unwrap();
        Self { world, exchanges, committee, question, subject: Digest([9; 32]), number: 0 }
    }

    pub fn scope(&self) -> Scope<'_> {
        let Self { subject, committee, question, number, .. } = self;
        Scope { subject: *subject, committee, question, number: *number }
    }

    pub fn parties(&self) -> usize {
        self.exchanges.len()
    }

    /// A report, as its reporter makes it.
    pub fn made(&self, reporter: u8, value: &Value) -> Vec<u8> {
        let randomness = secret(&[self.world.seed, 4, u64::from(reporter)]);
        make(&self.scope(), value, &reporter_key(reporter), &randomness).unwrap()
    }

    /// The reports of numbers, in the seal's order.
    pub fn reports(&self, numbers: &[u64]) -> Vec<Report> {
        self.reports_of(numbers.iter().map(|number| Value::Number(*number)))
    }

    /// The reports of values, in the seal's order.
    fn reports_of(&self, values: impl Iterator<Item = Value>) -> Vec<Report> {
        let made = values
            .zip(0..)
            .map(|(value, reporter)| check(&self.made(reporter, &value), &self.scope()).unwrap());
        Seal::of(made).reports
    }

    /// Where things fall.
    pub fn places(&self) -> Places {
        let part = |(i, key)| Part::of(key, i, &self.scope());
        let parts: Vec<Part> = self.exchanges.iter().enumerate().map(part).collect();
        Places::of(&self.scope(), &parts).unwrap()
    }

    /// Reports of three lists, of which each two in a row share half of their things.
    pub fn lists(&self) -> Vec<Report> {
        let thing = |i: u32| i.to_le_bytes().to_vec();
        let places = self.places();
        let list = |first: u32| Value::Items((first..first + 20).map(thing).collect(), places);
        self.reports_of([0, 10, 20].into_iter().map(list))
    }

    /// A report whose reporter states another check value, and proves and signs it.
    pub fn with_wrong_check(&self, reporter: u8, number: u64) -> Report {
        let randomness = secret(&[self.world.seed, 4, u64::from(reporter)]);
        let key = reporter_key(reporter);
        let bytes = crate::report::forge::wrong_check(&self.scope(), number, &key, &randomness);
        check(&bytes.unwrap(), &self.scope()).unwrap()
    }

    pub fn sealed<'a>(&'a self, run: u64, reports: &'a [Report]) -> Sealed<'a> {
        Sealed { scope: self.scope(), run, first: true, reports }
    }

    /// One member's computation, with its disk.
    pub async fn compute(
        &self,
        party: &Party,
        sealed: Sealed<'_>,
        mut disk: Disk,
    ) -> Result<Answered, Failed> {
        let plan = Plan::new(party, &self.exchanges[party.id.index()], &sealed)?;
        self.carry_out(&plan, &mut disk).await
    }

    /// The same, of a plan.
    pub async fn carry_out(
        &self,
        plan: &Plan<'_>,
        journal: &mut dyn Journal,
    ) -> Result<Answered, Failed> {
        let (id, run) = (plan.party.id, plan.run);
        let randomness = Secret::new(self.world.randomness(id, &format!("run {run}")));
        let base = dealt(self.world.seed, self.parties(), id.index());
        carry_out(plan, journal, randomness, (3, Some(base))).await
    }

    pub fn disks(&self) -> Vec<Disk> {
        self.exchanges.iter().map(|_| Disk::default()).collect()
    }

    /// Everybody computes, with these disks.
    pub fn run(
        &self,
        network: &Network,
        run: u64,
        reports: &[Report],
        disks: &[Disk],
    ) -> Vec<Outcome> {
        self.world.run(network, |party| {
            let disk = disks[party.id.index()].clone();
            async move { self.compute(&party, self.sealed(run, reports), disk).await }.boxed_local()
        })
    }

    /// The fields of a report of which a member has said its point, in whatever statement.
    pub fn shown(&self, network: &Network, member: PartyId, report: &Report) -> Vec<Field> {
        let (secret, said) = (self.exchanges[member.index()].secret(), statements(network, member));
        let is_shown = |field: &Field| {
            let point = (secret * report.ephemeral(*field).point).compress().0;
            said.iter().any(|body| body.as_chunks::<32>().0.contains(&point))
        };
        fields(&self.question.form).iter().copied().filter(is_shown).collect()
    }

    /// A network on which a member's messages pass through `rewrite`.
    pub fn corrupt(
        &self,
        party: PartyId,
        rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Network {
        let network = Network::default();
        network.corrupt(Saboteur::rewriting(party, self.world.key(party), rewrite));
        network
    }
}

pub fn reporter_key(reporter: u8) -> SigningKey {
    SigningKey::from_seed(secret(&[5, u64::from(reporter)]).expose())
}

/// The sum of numbers of four bits.
pub fn sum_of_four_bits() -> Question {
    let statistics = vec![Statistic::Sum];
    let text = "How many?".into();
    Question { text, form: Form::Number { width: 4 }, minimum: 2, statistics, epsilon: None }
}

/// How many different things there are, with the smallest sketch.
pub fn different_things() -> Question {
    let (form, statistics) = (Form::Items { counters: 16 }, vec![Statistic::Distinct]);
    let text = "Which?".into();
    Question { text, form, minimum: 2, statistics, epsilon: None }
}

/// The bodies of a member's statements, in order, as its own code has posted them to one peer.
pub fn statements(network: &Network, of: PartyId) -> Vec<Vec<u8>> {
    let sent = network.sent();
    let mut seen = std::collections::BTreeSet::new();
    let own = sent.iter().filter(|(_, message)| {
        let header = &message.signed.header;
        header.from == of && header.tag.step == Kind::Statement.step()
    });
    own.filter(|(_, message)| seen.insert(message.signed.header.tag))
        .map(|(_, message)| message.body.to_vec())
        .collect()
}

/// Bytes of a statement that opens one field of so many reports.
pub fn opening_of(reports: usize) -> usize {
    crate::opening::bytes(reports)
}

pub fn count_in(outcome: &Outcome) -> Option<u64> {
    match &outcome.as_ref()?.as_ref().ok()?.answers[..] {
        [Answer::Distinct { estimate }] => Some(*estimate),
        _ => None,
    }
}

pub fn sum_in(outcome: &Outcome) -> Option<i64> {
    match &outcome.as_ref()?.as_ref().ok()?.answers[..] {
        [Answer::Sum(sum)] => Some(*sum),
        _ => None,
    }
}

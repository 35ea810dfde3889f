//! A network of servers, its scheduler, and its corrupt members.

pub use ostrakon_testkit::nightly;
use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey, own};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use ostrakon_robust::client::{MaskReader, Masks};
use ostrakon_robust::fault::Fault;
use ostrakon_robust::machine::{Machine, Outcome, Step};
use ostrakon_robust::message::{Instance, Signed, StepId};
use ostrakon_robust::offline::{Batch, Checked, Event, Journal, Recipe, Record, Spent, Subject};
use ostrakon_robust::phase::Phase;
use ostrakon_robust::program::Program;
use ostrakon_robust::{Committee, Tape};
use rand_core::Rng;

/// What a corrupt member sends instead of an honest one's message.
pub type Act = Box<dyn FnMut(&Corruption, Signed) -> Vec<Sent>>;

/// A message of a corrupt member.
pub struct Sent {
    pub bytes: Vec<u8>,
    /// It arrives when nothing else moves.
    pub late: bool,
}

impl Sent {
    pub fn now(message: &Signed) -> Sent {
        Sent { bytes: message.to_bytes(), late: false }
    }
}

/// What a corrupt member knows.
pub struct Corruption {
    pub instance: Arc<Instance>,
    pub key: Arc<SigningKey>,
}

impl Corruption {
    /// The message with another body, signed anew.
    pub fn resign(&self, message: &Signed, body: Vec<u8>) -> Signed {
        self.instance.sign(&self.key, message.step, [message.from, message.to], body)
    }

    /// One element is made larger by one.
    pub fn bump(&self, message: &Signed, place: usize) -> Signed {
        let mut body = message.body.clone();
        let word = &mut body[8 * place..8 * place + 8];
        let value = Fp::from_le_bytes(word.try_into().unwrap()).unwrap() + Fp::ONE;
        word.copy_from_slice(&value.to_le_bytes());
        self.resign(message, body)
    }
}

/// The adversary: who is corrupt, and what they do; whose messages the network holds back.
pub struct Adversary {
    pub corrupt: Vec<PartyId>,
    pub act: Act,
    /// Everything to and from this server arrives when nothing else moves.
    pub starved: Option<PartyId>,
    /// Records that a corrupt member has in the ledger in place of a proposed one.
    pub record: Box<dyn FnMut(PartyId, Record) -> Option<Record>>,
    /// Records that corrupt members have in the ledger when all has come to rest.
    pub afterwards: Vec<(PartyId, Record)>,
}

impl Adversary {
    pub fn none() -> Adversary {
        Adversary::new(&[], |_, message| vec![Sent::now(&message)])
    }

    pub fn new(
        corrupt: &[u8],
        act: impl FnMut(&Corruption, Signed) -> Vec<Sent> + 'static,
    ) -> Adversary {
        Adversary {
            corrupt: corrupt.iter().map(|&id| PartyId(id)).collect(),
            act: Box::new(act),
            starved: None,
            record: Box::new(|_, record| Some(record)),
            afterwards: vec![],
        }
    }

    /// Corrupt members that send nothing.
    pub fn silent(corrupt: &[u8]) -> Adversary {
        Adversary::new(corrupt, |_, _| vec![])
    }
}

struct Flight {
    from: PartyId,
    to: PartyId,
    bytes: Vec<u8>,
    late: bool,
}

/// A deployment: its servers' keys, a random tape for the schedule and for private checks.
pub struct World {
    pub committee: Arc<Committee>,
    pub keys: Vec<Arc<SigningKey>>,
    pub tape: Tape,
    pub adversary: Adversary,
    flights: Vec<Flight>,
    batches: u64,
    /// Elements that each position has sent, and messages.
    pub sent: BTreeMap<PartyId, usize>,
    pub steps: BTreeMap<StepId, usize>,
}

/// How preparation ended at the honest members, by position.
pub struct Prepared<T> {
    pub ready: Vec<Option<Checked<T>>>,
    pub burned: bool,
    pub judged: Vec<Option<PartyId>>,
    pub faults: Vec<Fault>,
    pub instance: Arc<Instance>,
}

impl<T> Prepared<T> {
    fn new(committee: &Arc<Committee>) -> Prepared<T> {
        let name = Digest([0; 32]);
        let committee = Arc::clone(committee);
        Prepared {
            ready: (0..committee.size()).map(|_| None).collect(),
            burned: false,
            judged: vec![],
            faults: vec![],
            instance: Arc::new(Instance { name, committee, keys: vec![], phases: vec![] }),
        }
    }
}

/// How a run ended.
pub struct Ran<T> {
    pub outputs: Vec<Option<T>>,
    pub faults: Vec<(PartyId, Fault)>,
}

#[derive(Default)]
pub struct Marks(pub BTreeMap<Digest, Digest>);

impl Journal for Marks {
    fn spend(&mut self, batch: Digest, purpose: Digest) -> bool {
        *self.0.entry(batch).or_insert(purpose) == purpose
    }
}

impl World {
    pub fn new(n: usize, t: usize, seed: u64) -> World {
        let members: Vec<PartyId> = (0..n as u8).map(PartyId).collect();
        World::of(&members, t, seed)
    }

    pub fn of(members: &[PartyId], t: usize, seed: u64) -> World {
        own::remember();
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let keys = members.iter().map(|m| {
            let mut bytes = bytes;
            bytes[8] = m.0 + 1;
            Arc::new(SigningKey::from_seed(&bytes))
        });
        World {
            committee: Arc::new(Committee::new(members, t).unwrap()),
            keys: keys.collect(),
            tape: Tape::new(&Secret::new(bytes)),
            adversary: Adversary::none(),
            flights: Vec::new(),
            batches: 0,
            sent: BTreeMap::new(),
            steps: BTreeMap::new(),
        }
    }

    pub fn size(&self) -> usize {
        self.committee.size()
    }

    pub fn verifying(&self) -> Vec<VerifyingKey> {
        self.keys.iter().map(|key| key.verifying_key()).collect()
    }

    pub fn honest(&self) -> Vec<usize> {
        let honest = |p: &usize| !self.adversary.corrupt.contains(&self.committee.members()[*p]);
        (0..self.size()).filter(honest).collect()
    }

    fn post(&mut self, from: PartyId, sends: Vec<(PartyId, Vec<u8>)>, instance: &Arc<Instance>) {
        for (to, bytes) in sends {
            let message = Signed::from_bytes(&bytes).unwrap();
            *self.sent.entry(from).or_default() += message.body.len() / 8;
            *self.steps.entry(message.step).or_default() += 1;
            let sent = if self.adversary.corrupt.contains(&from) {
                let key = Arc::clone(&self.keys[self.committee.position(from).unwrap()]);
                let corruption = Corruption { instance: Arc::clone(instance), key };
                (self.adversary.act)(&corruption, message)
            } else {
                vec![Sent { bytes, late: false }]
            };
            for Sent { bytes, late } in sent {
                let to = Signed::from_bytes(&bytes).map_or(to, |m| m.to);
                let starved = [from, to].contains(&self.adversary.starved.unwrap_or(PartyId(255)));
                self.flights.push(Flight { from, to, bytes, late: late || starved });
            }
        }
    }

    /// The next message to arrive: a random one of those that are not held back.
    fn fly(&mut self) -> Option<Flight> {
        let now: Vec<usize> = (0..self.flights.len()).filter(|&i| !self.flights[i].late).collect();
        if now.is_empty() {
            // What was held back arrives in the end.
            if self.flights.is_empty() {
                return None;
            }
            let i = self.tape.next_u64() as usize % self.flights.len();
            return Some(self.flights.swap_remove(i));
        }
        let i = now[self.tape.next_u64() as usize % now.len()];
        Some(self.flights.swap_remove(i))
    }

    /// An instance of a run on spent stock.
    pub fn instance(&self, name: Digest, phases: Vec<Phase>) -> Instance {
        let committee = Arc::clone(&self.committee);
        Instance { name, committee, keys: self.verifying(), phases }
    }

    /// Prepares a batch.
    pub fn prepare<R: Recipe>(&mut self, recipe: &R) -> Prepared<<R::Program as Program>::Output> {
        self.prepare_by(|_| recipe.clone())
    }

    /// Prepares a batch, each position by its recipe. The ledger gives every member all records in
    /// one order, each at its time.
    pub fn prepare_by<R: Recipe>(
        &mut self,
        recipe: impl Fn(usize) -> R,
    ) -> Prepared<<R::Program as Program>::Output> {
        self.batches += 1;
        let subject = Subject {
            session: Digest([7; 32]),
            number: self.batches,
            committee: Arc::clone(&self.committee),
            keys: self.verifying(),
        };
        let mut ledger: Vec<(PartyId, Record)> = Vec::new();
        let mut batches: Vec<Batch<R>> = Vec::new();
        for me in 0..self.size() {
            let mut seed = [0; 32];
            self.tape.fill_bytes(&mut seed);
            let key = Arc::clone(&self.keys[me]);
            let (batch, record) =
                Batch::new(subject.clone(), recipe(me), me, key, Secret::new(seed));
            self.order(&mut ledger, me, record);
            batches.push(batch);
        }
        let mut cursors = vec![0; self.size()];
        let mut end = Prepared::new(&self.committee);
        loop {
            let behind: Vec<usize> =
                (0..self.size()).filter(|&i| cursors[i] < ledger.len()).collect();
            let pick = self.tape.next_u64();
            let (me, step) =
                if !behind.is_empty() && (pick.is_multiple_of(4) || self.flights.is_empty()) {
                    let me = behind[pick as usize / 4 % behind.len()];
                    let (author, record) = ledger[cursors[me]].clone();
                    cursors[me] += 1;
                    (me, batches[me].ordered(author, record, &mut self.tape))
                } else if let Some(flight) = self.fly() {
                    let me = self.committee.position(flight.to).unwrap();
                    (me, batches[me].handle(flight.from, &flight.bytes, &mut self.tape))
                } else if let Some((author, record)) = self.adversary.afterwards.pop() {
                    ledger.push((author, record));
                    continue;
                } else {
                    break;
                };
            if let Some(instance) = batches[me].instance() {
                end.instance = Arc::clone(instance);
            }
            let instance = Arc::clone(&end.instance);
            let from = self.committee.members()[me];
            self.post(from, step.sends, &instance);
            let honest = !self.adversary.corrupt.contains(&from);
            if honest {
                end.faults.extend(step.faults);
            }
            for event in step.outputs {
                match event {
                    Event::Propose(record) => self.order(&mut ledger, me, record),
                    Event::Ready(checked) => end.ready[me] = Some(checked),
                    Event::Burned => end.burned = true,
                    Event::Judged(culprit) if honest => end.judged.push(culprit),
                    Event::Judged(_) => {}
                }
            }
        }
        end
    }

    fn order(&mut self, ledger: &mut Vec<(PartyId, Record)>, me: usize, record: Record) {
        let author = self.committee.members()[me];
        let record = Record::from_bytes(&record.to_bytes()).expect("records are read as written");
        let record = if self.adversary.corrupt.contains(&author) {
            (self.adversary.record)(author, record)
        } else {
            Some(record)
        };
        ledger.extend(record.map(|record| (author, record)));
    }

    /// Prepares a batch that must succeed, and takes it into use for a purpose.
    pub fn stock<R: Recipe>(
        &mut self,
        recipe: &R,
        purpose: u8,
    ) -> Vec<Spent<<R::Program as Program>::Output>> {
        let prepared = self.prepare(recipe);
        let spend = |checked: Option<Checked<_>>| {
            let mut marks = Marks::default();
            checked.expect("the batch is ready").spend(Digest([purpose; 32]), &mut marks).unwrap()
        };
        prepared.ready.into_iter().map(spend).collect()
    }

    /// Runs a program to the end of all messages.
    pub fn run<P: Program>(&mut self, instance: Instance, programs: Vec<P>) -> Ran<P::Output> {
        let instance = Arc::new(instance);
        let tape = || Tape::new(&Secret::new([0; 32]));
        let mut machines: Vec<Machine<P>> = programs
            .into_iter()
            .enumerate()
            .map(|(me, program)| {
                let key = Arc::clone(&self.keys[me]);
                Machine::new(Arc::clone(&instance), me, key, program, tape())
            })
            .collect();
        let mut outputs: Vec<Option<P::Output>> = (0..self.size()).map(|_| None).collect();
        let mut faults = Vec::new();
        let mut take = |world: &mut World, me: usize, step: Step<Outcome<P::Output>>| {
            let from = world.committee.members()[me];
            if !world.adversary.corrupt.contains(&from) {
                faults.extend(step.faults.into_iter().map(|fault| (from, fault)));
            }
            for outcome in step.outputs {
                match outcome {
                    Outcome::Done(output) => outputs[me] = Some(output),
                    Outcome::Spoilt(step) => panic!("{from} gave up in {step:?}"),
                }
            }
            world.post(from, step.sends, &instance);
        };
        // Members begin at drawn moments: some get messages before they do.
        let mut unborn: Vec<usize> = (0..self.size()).collect();
        loop {
            let pick = self.tape.next_u64() as usize;
            let (me, step) =
                if !unborn.is_empty() && (pick.is_multiple_of(4) || self.flights.is_empty()) {
                    let me = unborn.swap_remove(pick / 4 % unborn.len());
                    (me, machines[me].start(&mut self.tape))
                } else if let Some(flight) = self.fly() {
                    let me = self.committee.position(flight.to).unwrap();
                    (me, machines[me].handle(flight.from, &flight.bytes, &mut self.tape))
                } else {
                    break;
                };
            take(self, me, step);
        }
        Ran { outputs, faults }
    }

    /// What the owner of a slot gets, each server's shares given by `shares`.
    pub fn masks(&mut self, shares: impl Fn(usize) -> Vec<Fp>) -> Masks {
        let count = shares(0).len();
        let mut reader = MaskReader::new((*self.committee).clone(), count);
        let corrupt = self.adversary.corrupt.clone();
        for position in 0..self.size() {
            let party = self.committee.members()[position];
            let mut given = shares(position);
            if corrupt.contains(&party) {
                given[0] += Fp::ONE;
            }
            if let Some(masks) = reader.receive(party, &given, &mut self.tape) {
                return masks;
            }
        }
        panic!("2t + 1 honest servers' shares suffice");
    }

    pub fn random_rows(&mut self, rows: usize, width: usize) -> Vec<Vec<Fp>> {
        (0..rows).map(|_| (0..width).map(|_| Fp::random(&mut self.tape)).collect()).collect()
    }
}

/// The values that the members share, from all positions' shares, after a check of the degree.
pub fn secrets(committee: &Committee, shares: &[Vec<Fp>]) -> Vec<Fp> {
    let points = committee.points();
    (0..shares[0].len())
        .map(|i| {
            let values: Vec<Fp> = shares.iter().map(|share| share[i]).collect();
            assert!(ostrakon_robust::interpolation::fits(&points, &values, committee.corrupt()));
            ostrakon_robust::opening::reveal(committee, &values)
        })
        .collect()
}

/// Nothing wrong is said to come from somebody honest.
pub fn assert_only_corrupt_blamed(world: &World, faults: &[(PartyId, Fault)]) {
    for (_, fault) in faults {
        let corrupt = world.adversary.corrupt.contains(&fault.from);
        assert!(corrupt, "{} is honest: {:?}", fault.from, fault.kind);
    }
}

//! A batch of stock that is prepared in memory, by all members on one thread.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use anyhow::{Result, ensure};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use ostrakon_robust::machine::Step;
use ostrakon_robust::message::HEADER;
use ostrakon_robust::offline::{Batch, Checked, Event, Recipe, Record, Subject};
use ostrakon_robust::program::Program;
use ostrakon_robust::{Committee, Tape};

/// A batch that is ready at all members.
pub(super) struct Prepared<T> {
    /// By position.
    pub stock: Vec<Checked<T>>,
    /// Elements that all members sent.
    pub elements: usize,
}

/// Messages and records on their way, and the stock of members that have it.
struct Queue<T> {
    messages: VecDeque<(PartyId, PartyId, Vec<u8>)>,
    ledger: VecDeque<(PartyId, Record)>,
    ready: BTreeMap<PartyId, Checked<T>>,
    elements: usize,
}

impl<T> Queue<T> {
    fn new() -> Self {
        let (messages, ledger) = (VecDeque::new(), VecDeque::new());
        Self { messages, ledger, ready: BTreeMap::new(), elements: 0 }
    }

    fn post(&mut self, from: PartyId, step: Step<Event<T>>) -> Result<()> {
        for (to, bytes) in step.sends {
            self.elements += (bytes.len() - HEADER) / size_of::<Fp>();
            self.messages.push_back((from, to, bytes));
        }
        for event in step.outputs {
            match event {
                Event::Propose(record) => self.ledger.push_back((from, record)),
                Event::Ready(stock) => drop(self.ready.insert(from, stock)),
                Event::Burned | Event::Judged(_) => {
                    anyhow::bail!("a batch of honest servers fails")
                }
            }
        }
        Ok(())
    }
}

/// Prepares one batch, all members in turn.
pub(super) fn prepare<R: Recipe>(
    committee: &Arc<Committee>,
    recipe: &R,
    seed: &Secret,
    number: u64,
) -> Result<Prepared<<R::Program as Program>::Output>> {
    let members = committee.members();
    let key = |party: &PartyId| Arc::new(SigningKey::from_seed(&[party.0 + 1; 32]));
    let keys: Vec<_> = members.iter().map(key).collect();
    let subject = Subject {
        session: Digest([0; 32]),
        number,
        committee: Arc::clone(committee),
        keys: keys.iter().map(|key| key.verifying_key()).collect(),
    };
    let mut checks = Tape::new(&seed.derive("ostrakon/v1/bench/checks", &[&number.to_le_bytes()]));
    let mut queue = Queue::new();
    let mut parts = Vec::new();
    for (me, (&party, key)) in members.iter().zip(keys).enumerate() {
        let label = [&[party.0][..], &number.to_le_bytes()];
        let own = seed.derive("ostrakon/v1/bench/tape", &label);
        let (batch, record) = Batch::new(subject.clone(), recipe.clone(), me, key, own);
        parts.push(batch);
        queue.ledger.push_back((party, record));
    }
    loop {
        if let Some((author, record)) = queue.ledger.pop_front() {
            for (part, &party) in parts.iter_mut().zip(members) {
                queue.post(party, part.ordered(author, record.clone(), &mut checks))?;
            }
        } else if let Some((from, to, bytes)) = queue.messages.pop_front() {
            let step = parts[to.index()].handle(from, &bytes, &mut checks);
            queue.post(to, step)?;
        } else {
            break;
        }
    }
    ensure!(queue.ready.len() == members.len(), "a batch of honest servers is not ready");
    Ok(Prepared { stock: queue.ready.into_values().collect(), elements: queue.elements })
}

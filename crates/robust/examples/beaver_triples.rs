//! Prepares batches of triples, all members on one thread without a network, and says how many. It
//! reads no clock: run it under `time`, in the release profile.
//!
//! ```sh
//! time cargo run --release -p ostrakon-robust --example beaver_triples -- 4 1 100000 10
//! ```
//!
//! Arguments: members, corrupt, triples a batch, batches.

use std::collections::VecDeque;
use std::sync::Arc;

use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_party::PartyId;
use ostrakon_robust::machine::Step;
use ostrakon_robust::offline::recipes::Triples;
use ostrakon_robust::offline::{Batch, Event, Record, Subject};
use ostrakon_robust::program::Triple;
use ostrakon_robust::{Committee, Tape};

/// Messages and records on their way.
#[derive(Default)]
struct Queue {
    messages: VecDeque<(PartyId, PartyId, Vec<u8>)>,
    ledger: VecDeque<(PartyId, Record)>,
    ready: usize,
}

impl Queue {
    fn post(&mut self, from: PartyId, step: Step<Event<Vec<Triple>>>) {
        self.messages.extend(step.sends.into_iter().map(|(to, bytes)| (from, to, bytes)));
        for event in step.outputs {
            match event {
                Event::Propose(record) => self.ledger.push_back((from, record)),
                Event::Ready(checked) => self.ready += checked.stock().len(),
                Event::Burned | Event::Judged(_) => panic!("everybody is honest"),
            }
        }
    }
}

fn main() {
    let arguments: Vec<usize> =
        std::env::args().skip(1).map(|a| a.parse().expect("four numbers")).collect();
    let &[size, corrupt, count, batches] = &arguments[..] else {
        panic!("members, corrupt, triples a batch, batches");
    };
    let members: Vec<PartyId> = (0..size as u8).map(PartyId).collect();
    let committee = Arc::new(Committee::new(&members, corrupt).expect("3t + 1 members"));
    let keys: Vec<_> =
        members.iter().map(|m| Arc::new(SigningKey::from_seed(&[m.0; 32]))).collect();
    let mut checks = Tape::new(&Secret::new([1; 32]));
    let mut total = 0;
    for number in 0..batches as u64 {
        let subject = Subject {
            session: Digest([0; 32]),
            number,
            committee: Arc::clone(&committee),
            keys: keys.iter().map(|key| key.verifying_key()).collect(),
        };
        let mut queue = Queue::default();
        let mut parts = Vec::new();
        for (me, &party) in members.iter().enumerate() {
            let seed = Secret::new([me as u8 + 1; 32]).derive("example", &[&number.to_le_bytes()]);
            let key = Arc::clone(&keys[me]);
            let (batch, record) = Batch::new(subject.clone(), Triples { count }, me, key, seed);
            parts.push(batch);
            queue.ledger.push_back((party, record));
        }
        loop {
            if let Some((author, record)) = queue.ledger.pop_front() {
                for (part, &party) in parts.iter_mut().zip(&members) {
                    queue.post(party, part.ordered(author, record.clone(), &mut checks));
                }
            } else if let Some((from, to, bytes)) = queue.messages.pop_front() {
                let step = parts[to.index()].handle(from, &bytes, &mut checks);
                queue.post(to, step);
            } else {
                break;
            }
        }
        assert_eq!(queue.ready, count * size, "every member has all triples");
        total += count;
    }
    println!("{total} triples among {size} members");
}

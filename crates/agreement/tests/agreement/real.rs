//! The ledger with the keys of service: Ed25519, and a coin whose key the servers made.

use std::collections::VecDeque;

use ostrakon_agreement::{Event, Ledger, Output, Step};
use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;

use crate::founded::make_keys;
use crate::nightly;
use crate::world::{id, params};

#[test]
fn records_and_beacons_are_ordered_with_the_keys_of_service() {
    for n in if nightly() { vec![4, 5, 7, 10] } else { vec![4] } {
        let mut pool: VecDeque<(PartyId, PartyId, std::sync::Arc<[u8]>)> = VecDeque::new();
        let mut orders = vec![Vec::new(); n];
        let mut beacons = vec![Vec::new(); n];
        let mut take = |i: usize, step: Step, pool: &mut VecDeque<_>| {
            assert_eq!(step.faults, []);
            pool.extend(step.sends.into_iter().map(|send| (id(i), send.to, send.bytes)));
            for output in step.outputs {
                match output {
                    Output::Commit(commit) => orders[i]
                        .extend(commit.records().map(|(author, record)| (author, record.to_vec()))),
                    Output::Beacon(name, value) => beacons[i].push((name, value)),
                    _ => {}
                }
            }
        };
        let mut ledgers = Vec::new();
        let (keys, params) = make_keys(*params(n, 16, 4).trust(), 16, 4);
        for (i, keys) in keys.into_iter().enumerate() {
            let (ledger, step) = Ledger::found(params, keys);
            ledgers.push(ledger);
            take(i, step, &mut pool);
        }
        for (i, ledger) in ledgers.iter_mut().enumerate() {
            let step = ledger.propose(vec![i as u8]).unwrap();
            take(i, step, &mut pool);
            let step = ledger.handle(Event::Beacon(Digest([5; 32])));
            take(i, step, &mut pool);
        }
        while let Some((from, to, bytes)) = pool.pop_front() {
            let step = ledgers[to.index()].handle(Event::Receive(from, &bytes));
            take(to.index(), step, &mut pool);
        }
        assert!(orders.iter().all(|order| *order == orders[0] && order.len() == n), "{orders:?}");
        assert!(beacons.iter().all(|of| of.len() == 1 && of == &beacons[0]), "{beacons:?}");
    }
}

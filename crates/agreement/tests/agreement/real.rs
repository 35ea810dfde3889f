//! The ledger with the keys of service: Ed25519, and a coin whose key the servers made.

use std::collections::VecDeque;

use ostrakon_agreement::dkg::{Dkg, DkgStep, Finished, Outcome};
use ostrakon_agreement::{Event, Ledger, Output, Params, ServerKeys, Step};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_party::{ByParty, PartyId, SessionId};

use crate::nightly;
use crate::world::{id, params};

fn signing(i: usize) -> SigningKey {
    SigningKey::from_seed(&digest("ledger test", &[i as u8]).0)
}

/// The coin's keys of n servers, all present, and a ledger's parameters with them.
fn make_keys(n: usize) -> (Vec<ServerKeys>, Params) {
    let identities = ByParty::new(n, |party| signing(party.index()).verifying_key());
    let (mut machines, mut pool, mut done) = (Vec::new(), VecDeque::new(), Vec::new());
    done.resize_with(n, || None::<Finished>);
    let mut take = |i: usize, step: DkgStep, pool: &mut VecDeque<(usize, usize, Vec<u8>)>| {
        for bytes in step.sends {
            pool.extend((0..n).filter(|to| *to != i).map(|to| (i, to, bytes.clone())));
        }
        if let Some(Outcome::Finished(finished)) = step.outcome {
            done[i] = Some(*finished);
        }
    };
    for i in 0..n {
        let trust = *params(n, 16, 4).trust();
        let (machine, step) =
            Dkg::new(Digest([2; 32]), 0, trust, id(i), signing(i).into(), identities.clone());
        machines.push(machine);
        take(i, step, &mut pool);
    }
    while let Some((from, to, bytes)) = pool.pop_front() {
        let step = machines[to].handle(id(from), &bytes);
        take(to, step, &mut pool);
    }
    let coin = done[0].as_ref().expect("all are present").keys.digest();
    let trust = *params(n, 16, 4).trust();
    let params = Params::with(SessionId(Digest([7; 32])), &coin, trust, 16, 4).unwrap();
    let keys = done.into_iter().enumerate().map(|(i, finished)| {
        let Finished { keys, secret, .. } = finished.expect("all are present");
        ServerKeys::new(id(i), signing(i), identities.clone(), keys, Some(secret))
    });
    (keys.collect(), params)
}

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
        let (keys, params) = make_keys(n);
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

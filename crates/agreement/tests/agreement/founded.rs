//! Keys of service: Ed25519, and a coin whose key the servers made.

use std::collections::VecDeque;

use ostrakon_agreement::dkg::{Dkg, DkgStep, Finished, Outcome};
use ostrakon_agreement::{Params, ServerKeys};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_party::{ByParty, PartyId, SessionId, Trust};

fn signing(i: usize) -> SigningKey {
    SigningKey::from_seed(&digest("ledger test", &[i as u8]).0)
}

fn id(index: usize) -> PartyId {
    PartyId(u8::try_from(index).unwrap())
}

/// The keys of servers that were all present, and the parameters of their ledger.
pub fn make_keys(trust: Trust, horizon: u64, interval: u64) -> (Vec<ServerKeys>, Params) {
    let n = trust.parties();
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
    let session = SessionId(Digest([7; 32]));
    let params = Params::with(session, &coin, trust, horizon, interval).unwrap();
    let keys = done.into_iter().enumerate().map(|(i, finished)| {
        let Finished { keys, secret, .. } = finished.expect("all are present");
        ServerKeys::new(id(i), signing(i), identities.clone(), keys, Some(secret))
    });
    (keys.collect(), params)
}

//! Attacks on registrations.

use std::collections::BTreeSet;

use ostrakon_additive::client::{OwnSeeds, Registration};
use ostrakon_additive::three::messages::{ABOUT, Kind, RegistrationSpec};
use ostrakon_additive::three::registration::{
    Looked, RegistrationKey, Registry, Unregistered, agree, exchange_keys,
};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::{Message, PartyId, Step};
use ostrakon_testkit::Network;
use ostrakon_threeparty::Stop;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;

use crate::world::*;

type List = Vec<(Registration, OwnSeeds)>;

fn registered(deployment: &Deployment, count: u32) -> List {
    (0..count).map(|number| deployment.register(number, 0)).collect()
}

/// Signs a registration that was changed.
pub fn sign(deployment: &Deployment, registration: &mut Registration, number: u32) {
    let key = participant(number);
    let occasion = deployment.registration_spec().occasion();
    let content = registration.content();
    let listed = Registration::listed(&occasion, number, &key.verifying_key(), &content);
    registration.signature = key.sign(&listed);
}

/// What a changed statement about lacking seeds says, of the list that it was about.
pub fn about(message: &Message, lacking: Vec<u8>) -> Vec<u8> {
    [&message.body[..ABOUT], &lacking].concat()
}

/// The registered, by number, alike at the servers given; both holders of a seed have the same one.
pub fn agreed(results: &Registered, of: &[usize], count: u32) -> Vec<u32> {
    let registries: Vec<&Registry> =
        of.iter().map(|i| results[*i].as_ref().unwrap().as_ref().unwrap()).collect();
    let numbers = |registry: &Registry| -> Vec<u32> {
        let known = |number: &u32| registry.get(&participant(*number).verifying_key()).is_some();
        (0..count).filter(known).collect()
    };
    for registry in &registries {
        assert_eq!(numbers(registry), numbers(registries[0]));
    }
    let found = numbers(registries[0]);
    for number in &found {
        let owner = participant(*number).verifying_key();
        for (x, a) in of.iter().zip(&registries) {
            for (y, b) in of.iter().zip(&registries).filter(|(y, _)| *y != x) {
                let pair = Pair::of(*x as u8, *y as u8);
                let pad = |registry: &Registry, server: usize| {
                    let place = usize::from(Pair::of_party(server as u8)[1] == pair);
                    let seeds = registry.get(&owner).unwrap().seeds();
                    seeds[place].pad(&Digest([1; 32]), 0, &owner)
                };
                assert_eq!(pad(a, *x), pad(b, *y));
            }
        }
    }
    found
}

/// One participant signs two registrations: it is dropped, and the others go on.
#[test]
fn two_registrations() {
    let deployment = Deployment::new(41);
    let list = registered(&deployment, 4);
    let (other, _) = deployment.register(2, 1);
    let results = deployment.registrations(&Network::default(), |party| {
        let mut slots = registered_slots(&list);
        if party == PartyId(2) {
            slots[2].submission = Some(other.clone());
        }
        slots
    });
    assert_eq!(agreed(&results, &[0, 1, 2], 4), [0, 1, 3]);
}

/// A corrupt server says that it lacks seeds that it has: it is given them, nobody is dropped.
#[test]
fn one_holder_vetoes() {
    let deployment = Deployment::new(42);
    let list = registered(&deployment, 4);
    for (corrupt, bits) in [(0u8, 1u8), (0, 3), (1, 3), (2, 2), (2, 3)] {
        let network = deployment.corrupt(corrupt, move |_, message| {
            let all = (0..4u32).flat_map(|n| n.to_le_bytes().into_iter().chain([bits]));
            is(message, Kind::Lacking).then(|| about(message, all.collect()))
        });
        let results = deployment.registrations(&network, |_| registered_slots(&list));
        let honest: Vec<usize> = (0..3).filter(|i| *i != usize::from(corrupt)).collect();
        assert_eq!(agreed(&results, &honest, 4), [0, 1, 2, 3]);
    }
}

/// A box that does not open at P1: its seeds come from the two others, tested by the commitments. A
/// false one stops the registration and names the pair; none is ever taken.
#[test]
fn false_forwarded_seed() {
    let deployment = Deployment::new(43);
    let mut list = registered(&deployment, 3);
    list[1].0.boxes[0].closed[5] ^= 1;
    sign(&deployment, &mut list[1].0, 1);
    let results = deployment.registrations(&Network::default(), |_| registered_slots(&list));
    assert_eq!(agreed(&results, &[0, 1, 2], 3), [0, 1, 2], "given by the other holders");
    for corrupt in [1u8, 2] {
        let network = deployment.corrupt(corrupt, |_, message| {
            let mut body = message.body.to_vec();
            is(message, Kind::Seeds).then(|| {
                body[10] ^= 1;
                body
            })
        });
        let results = deployment.registrations(&network, |_| registered_slots(&list));
        let pair = Pair::of(0, corrupt);
        match &results[0] {
            Some(Err(stopped)) => assert_eq!(*stopped, Unregistered::Disagreement(pair)),
            _ => panic!("a false seed was taken"),
        }
        assert!(results.iter().all(|result| !matches!(result, Some(Ok(_)))));
    }
}

/// A participant gives different seeds to two holders: what is not committed to is as lacking; if
/// both hold such, it is dropped. Whoever is registered is in an epoch that works.
#[test]
fn split_seeds() {
    let deployment = Deployment::new(44);
    let list = registered(&deployment, 5);
    let split = |number: usize, servers: &[usize]| {
        let (mut changed, (other, _)) =
            (list[number].0.clone(), deployment.register(number as u32, 9));
        for server in servers {
            changed.boxes[*server] = other.boxes[*server].clone();
        }
        sign(&deployment, &mut changed, number as u32);
        changed
    };
    // Another pair of seeds at P1 alone; at P1 and P2, who then both lack s12.
    let (one, two) = (split(1, &[0]), split(3, &[0, 1]));
    let results = deployment.registrations(&Network::default(), |_| {
        let mut slots = registered_slots(&list);
        slots[1].submission = Some(one.clone());
        slots[3].submission = Some(two.clone());
        slots
    });
    assert_eq!(agreed(&results, &[0, 1, 2], 5), [0, 1, 2, 4]);
}

/// A registration with a box of another length, handed to two servers only: it is none, and the
/// third one does not wait for it. No server is corrupt.
#[test]
fn a_box_of_another_length_is_no_registration() {
    let deployment = Deployment::new(45);
    let mut list = registered(&deployment, 3);
    for length in [0, 64, 5000] {
        list[0].0.boxes[1].closed.resize(length, 7);
        sign(&deployment, &mut list[0].0, 0);
        for lacking in (0..3).map(PartyId) {
            let results = deployment.registrations(&Network::default(), |party| {
                let mut slots = registered_slots(&list);
                slots[0].submission = slots[0].submission.take().filter(|_| party != lacking);
                slots
            });
            assert_eq!(agreed(&results, &[0, 1, 2], 3), [1, 2]);
        }
    }
}

/// All that a server has posted of a kind.
pub fn said(network: &Network, by: u8, step: Step) -> BTreeSet<Vec<u8>> {
    let sent = network.sent();
    let own = sent.iter().filter(|(_, m)| {
        let header = &m.signed.header;
        header.from == PartyId(by) && header.tag.step == step
    });
    own.map(|(_, m)| m.body.to_vec()).collect()
}

/// P2 lists a participant who has registered with P1 and P2 alone, lets the others crash when they
/// have voted, and does not list it then. Nobody votes for a second list, and P2's two convict it.
#[test]
fn a_list_changed_after_a_crash_gets_no_second_vote() {
    let deployment = Deployment::new(46);
    let list = registered(&deployment, 4);
    let marks: [Memory; 3] = Default::default();
    let slots = |with_both: bool| {
        let list = &list;
        move |party: PartyId| {
            let mut slots = registered_slots(list);
            if party == PartyId(2) || (party == PartyId(1) && !with_both) {
                slots[3].submission = None;
            }
            slots
        }
    };
    let first = deployment
        .corrupt(1, |_, m| (m.signed.header.tag.step == steps::SEAL_VOTE).then(|| vec![0; 32]));
    deployment.registrations_with(&first, slots(true), &marks);
    assert_eq!(said(&first, 0, steps::SEAL_VOTE).len(), 1);
    let second = Network::default();
    let results = deployment.registrations_with(&second, slots(false), &marks);
    for honest in [0, 2] {
        let both = [&first, &second].map(|network| said(network, honest, steps::SEAL_VOTE));
        assert!(both[1].is_subset(&both[0]), "two votes of P{}", honest + 1);
        let convicted = match &results[usize::from(honest)] {
            Some(Err(Unregistered::Fault(fault))) => fault.culprit == PartyId(1),
            _ => false,
        };
        assert!(convicted, "P{} goes on", honest + 1);
    }
    // With the list that is on record it goes on.
    let results = deployment.registrations_with(&Network::default(), slots(true), &marks);
    assert_eq!(agreed(&results, &[0, 1, 2], 4), [0, 1, 2, 3]);
}

/// P2 says that it lacks a seed that P1 really lacks, and after a crash of the others that it has
/// it: in the first run the participant is dropped, in the second one it is not.
#[test]
fn a_lack_denied_after_a_crash_gets_no_second_vote() {
    let deployment = Deployment::new(47);
    let mut list = registered(&deployment, 3);
    list[1].0.boxes[0].closed[5] ^= 1;
    sign(&deployment, &mut list[1].0, 1);
    let marks: [Memory; 3] = Default::default();
    let registered = Kind::Registered.step();
    let first = deployment.corrupt(1, move |_, message| match message.signed.header.tag.step {
        step if step == registered => Some(vec![0; 32]),
        step if step == Kind::Lacking.step() => Some(about(message, vec![1, 0, 0, 0, 1])),
        _ => None,
    });
    deployment.registrations_with(&first, |_| registered_slots(&list), &marks);
    let second = Network::default();
    let results = deployment.registrations_with(&second, |_| registered_slots(&list), &marks);
    for honest in [0, 2] {
        let both = [&first, &second].map(|network| said(network, honest, registered));
        assert_eq!(both[0].len(), 1);
        assert!(both[1].is_subset(&both[0]), "two votes of P{}", honest + 1);
        assert!(results[usize::from(honest)].is_none(), "nobody is convicted of it");
    }
}

/// Somebody tells a participant a key of its own for P2's. The other holders of its seeds would
/// make up for P2's box, which does not open there: but the participant has signed the keys that it
/// was told, so no honest server takes its registration for one.
#[test]
fn false_registration_key() {
    let deployment = Deployment::new(48);
    let mut list = registered(&deployment, 3);
    let mut keys = deployment.registration_spec().keys;
    keys[1] = RegistrationKey::new(&Secret::new([0x66; 32])).public();
    list[1] = deployment.register_for(&keys, 1, 0);
    let results = deployment.registrations(&Network::default(), |_| registered_slots(&list));
    assert_eq!(agreed(&results, &[0, 1, 2], 3), [0, 2]);
    // Nor does a server go on under a key that is not its own.
    let spec = RegistrationSpec { keys, ..deployment.registration_spec() };
    let results = deployment.world.run(&Network::default(), |party| {
        let key = deployment.registration_key(party.id);
        let deployment = &deployment;
        Box::pin(async move {
            let slots = registered_slots(&registered(deployment, 1));
            let slots = looked_at(&party, &spec, &key, slots);
            agree(&party, spec, &key, slots, &Memory::default()).await
        })
    });
    assert!(matches!(results[1], Some(Err(Unregistered::Unfit(_)))));
    assert!(results[0].is_none() && results[2].is_none());
}

/// The servers know each other's keys before anybody registers; who tells two is convicted.
#[test]
fn servers_know_the_same_registration_keys() {
    let deployment = Deployment::new(49);
    let told = |network: &Network| {
        deployment.world.run(network, |party| {
            let key = deployment.registration_key(party.id);
            Box::pin(async move { exchange_keys(&party, 3, &key).await })
        })
    };
    for keys in told(&Network::default()) {
        assert_eq!(keys.unwrap().unwrap(), deployment.registration_spec().keys);
    }
    let network = deployment.corrupt(1, |to, message| {
        (is(message, Kind::RegistrationKey) && to == PartyId(0)).then(|| vec![9; 32])
    });
    let results = told(&network);
    for honest in [0, 2] {
        let Some(Err(Stop::Fault(fault))) = &results[honest] else { panic!("two keys of P2") };
        assert_eq!(fault.culprit, PartyId(1));
        assert!(fault.verify(&deployment.world.roster));
    }
}

/// What a server found of a registration counts for the occasion, the number and the owner that it
/// was looked at for: elsewhere it is as if nothing had arrived.
#[test]
fn what_was_found_is_of_that_use_only() {
    let deployment = Deployment::new(50);
    let list = registered(&deployment, 5);
    let spec = deployment.registration_spec();
    let elsewhere = RegistrationSpec { context: Digest([5; 32]), ..spec };
    let results = deployment.world.run(&Network::default(), |party| {
        let key = deployment.registration_key(party.id);
        let look = |spec: &RegistrationSpec, number: u32, registration: &Registration| {
            let owner = participant(number).verifying_key();
            Looked::at(&party, spec, &key, number, &owner, registration)
        };
        assert!(look(&elsewhere, 0, &list[0].0).is_none(), "signed for another occasion");
        assert!(look(&spec, 1, &list[0].0).is_none(), "under another number");
        let mut slots = looked_at(&party, &spec, &key, registered_slots(&list));
        // Another occasion; another number; another owner.
        slots[1].submission = look(&elsewhere, 1, &deployment.register_at(&elsewhere, 1));
        assert!(slots[1].submission.is_some());
        slots[2].submission = look(&spec, 3, &list[3].0);
        slots[4].owner = participant(9).verifying_key();
        Box::pin(async move { agree(&party, spec, &key, slots, &Memory::default()).await })
    });
    assert_eq!(agreed(&results, &[0, 1, 2], 5), [0, 3]);
}

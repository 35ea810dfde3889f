//! Attacks on registrations.

use ostrakon_additive::client::{OwnSeeds, Registration};
use ostrakon_additive::three::messages::Kind;
use ostrakon_additive::three::registration::{Registry, Unregistered};
use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;
use ostrakon_testkit::Network;
use ostrakon_threeparty::pair::Pair;

use crate::world::*;

type Registered = Vec<(Registration, OwnSeeds)>;

fn registered(deployment: &Deployment, count: u32) -> Registered {
    (0..count).map(|number| deployment.register(number, 0)).collect()
}

/// Signs a registration that was changed.
fn sign(registration: &mut Registration, number: u32) {
    let key = participant(number);
    let context = registration_spec().context;
    let content = registration.content();
    let listed = Registration::listed(&context, number, &key.verifying_key(), &content);
    registration.signature = key.sign(&listed);
}

/// The registered, by number, alike at the servers given; both holders of a seed have the same one.
fn agreed(
    results: &[Option<Result<Registry, Unregistered>>],
    of: &[usize],
    count: u32,
) -> Vec<u32> {
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
                let pad = |registry: &Registry| {
                    registry.get(&owner).unwrap().seed(pair).pad(&Digest([1; 32]), 0, &owner)
                };
                assert_eq!(pad(a), pad(b));
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
            is(message, Kind::Lacking).then(|| all.collect())
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
    sign(&mut list[1].0, 1);
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
        sign(&mut changed, number as u32);
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

/// Hostile boxes of any length do not fit, and are not forwarded.
#[test]
fn a_box_of_another_length_is_no_registration() {
    let deployment = Deployment::new(45);
    let mut list = registered(&deployment, 3);
    list[0].0.boxes[1].closed.clear();
    sign(&mut list[0].0, 0);
    let results = deployment.registrations(&Network::default(), |_| registered_slots(&list));
    // Both holders of each of its seeds but P2 have them: it is repaired like any box.
    assert_eq!(agreed(&results, &[0, 1, 2], 3), [0, 1, 2]);
}

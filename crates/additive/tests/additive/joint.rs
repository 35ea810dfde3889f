//! Attacks on registrations that come with the epoch's rows, under one list.

use ostrakon_additive::client::{Registration, Submission};
use ostrakon_additive::three::epoch::{Looking, Participants, Registering, Unmixed, mix};
use ostrakon_additive::three::keys::BatchKeys;
use ostrakon_additive::three::messages::{Kind, RegistrationSpec};
use ostrakon_additive::three::registration::RegistrationKey;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::PartyId;
use ostrakon_testkit::Network;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;
use ostrakon_threeparty::seal::Slot;

use crate::registrations::{about, said, sign};
use crate::world::*;

const WIDTH: u32 = 16;

fn scene(seed: u64) -> Scene {
    Scene::registering(seed, 5, WIDTH)
}

/// The registrations of a scene's participants.
fn registrations(scene: &Scene) -> Vec<Registration> {
    scene.registering.as_ref().unwrap()(PartyId(0))
}

/// Has a server be handed another registration by a participant.
fn give(scene: &mut Scene, to: u8, number: u32, other: Registration) {
    let before = scene.registering.take().unwrap();
    scene.registering = Some(Box::new(move |party| {
        let mut list = before(party);
        if party == PartyId(to) {
            list[number as usize] = other.clone();
        }
        list
    }));
}

/// Changes a participant's registration, which it signs and names in its row.
fn change(scene: &mut Scene, number: u32, change: impl Fn(&mut Registration)) {
    let mut changed = registrations(scene)[number as usize].clone();
    change(&mut changed);
    sign(&scene.deployment, &mut changed, number);
    scene.registrations[number as usize] = changed.name();
    (0..3).for_each(|server| give(scene, server, number, changed.clone()));
    scene.slots[number as usize] = scene.slot(number);
}

fn run(scene: &Scene, network: &Network, marks: &[Memory; 3]) -> Result3 {
    scene.run_with(network, |_| scene.slots.clone(), marks)
}

/// A participant hands in two registrations, with a row for each: it is dropped, and the others go
/// on.
#[test]
fn two_registrations() {
    let mut scene = scene(141);
    let (other, seeds) = scene.deployment.register(2, 1);
    let first = scene.registrations[2];
    let own = std::mem::replace(&mut scene.seeds[2], seeds);
    scene.registrations[2] = other.name();
    let row = scene.slot(2).submission;
    (scene.seeds[2], scene.registrations[2]) = (own, first);
    give(&mut scene, 2, 2, other);
    let slots = |party: PartyId| {
        let mut slots = scene.slots.clone();
        if party == PartyId(2) {
            slots[2].submission = row.clone();
        }
        slots
    };
    for result in scene.run_with(&Network::default(), slots, &Default::default()) {
        scene.assert_whole_but(&[2], &result);
    }
}

/// A participant tells one server another registration than its row names: there it has handed in
/// nothing, and what the two others have counts.
#[test]
fn a_registration_that_the_row_does_not_name() {
    for server in 0..3 {
        let mut scene = scene(142);
        let (other, _) = scene.deployment.register(2, 1);
        give(&mut scene, server, 2, other);
        let network = Network::default();
        for result in scene.run(&network) {
            scene.assert_whole(&result);
        }
        let forwards = |(_, m): &(PartyId, ostrakon_party::Message)| {
            m.signed.header.tag.step == steps::FORWARD
        };
        assert!(network.sent().iter().any(forwards), "it comes from who has it");
    }
}

/// A forwarding server gives another registration than was listed, or with another row: that is
/// nothing, and the other holder is asked.
#[test]
fn a_forged_forward() {
    let mut scene = scene(143);
    let (other, _) = scene.deployment.register(2, 1);
    give(&mut scene, 2, 2, other.clone());
    let right = bodies(&registrations(&scene), &scene.slots)[2].submission.clone().unwrap();
    let forged = [&other.to_bytes()[..], &right[other.to_bytes().len()..]].concat();
    let body = ostrakon_party::wire::encode(&[(2u32, forged)].to_vec());
    let network = scene.deployment.corrupt(0, move |_, message| {
        (message.signed.header.tag.step == steps::FORWARD).then(|| body.clone())
    });
    for result in &run(&scene, &network, &Default::default())[1..] {
        scene.assert_whole(result);
    }
}

/// A corrupt server says that it lacks seeds that it has: it is given them, nobody is dropped.
#[test]
fn one_holder_vetoes() {
    let scene = scene(144);
    for (corrupt, bits) in [(0u8, 1u8), (0, 3), (1, 3), (2, 2), (2, 3)] {
        let network = scene.deployment.corrupt(corrupt, move |_, message| {
            let all = (0..5u32).flat_map(|n| n.to_le_bytes().into_iter().chain([bits]));
            is(message, Kind::Lacking).then(|| about(message, all.collect()))
        });
        for honest in (0..3).filter(|server| *server != usize::from(corrupt)) {
            scene.assert_whole(&run(&scene, &network, &Default::default())[honest]);
        }
    }
}

/// A box that does not open at P1: its seeds come from the two others, tested by the commitments. A
/// false one stops the epoch before it is sealed and names the pair; none is ever taken.
#[test]
fn false_forwarded_seed() {
    let mut scene = scene(145);
    change(&mut scene, 1, |registration| registration.boxes[0].closed[5] ^= 1);
    for result in scene.run(&Network::default()) {
        scene.assert_whole(&result);
    }
    for corrupt in [1u8, 2] {
        let network = scene.deployment.corrupt(corrupt, |_, message| {
            let mut body = message.body.to_vec();
            is(message, Kind::Seeds).then(|| {
                body[10] ^= 1;
                body
            })
        });
        let results = run(&scene, &network, &Default::default());
        let stopped = results[0].as_ref().unwrap().as_ref().err().unwrap();
        let pair = Some(Pair::of(0, corrupt));
        assert_eq!(*stopped, Unmixed::Aborted { by: PartyId(0), pair });
        assert!(results.iter().all(|result| !matches!(result, Some(Ok(_)))));
        let voted = network.sent().iter().any(|(_, m)| {
            m.signed.header.from == PartyId(0) && m.signed.header.tag.step == steps::SEAL_VOTE
        });
        assert!(!voted, "nothing is sealed");
    }
}

/// A participant gives different seeds to two holders: what is not committed to is as lacking; if
/// both hold such, it is dropped with its row.
#[test]
fn split_seeds() {
    let mut scene = scene(146);
    for (number, servers) in [(1, &[0][..]), (3, &[0, 1])] {
        let (other, _) = scene.deployment.register(number, 9);
        change(&mut scene, number, |registration| {
            for server in servers {
                registration.boxes[*server] = other.boxes[*server].clone();
            }
        });
    }
    for result in scene.run(&Network::default()) {
        scene.assert_whole_but(&[3], &result);
    }
}

/// A box of another length is not listed by who has it, whatever that does to the others.
#[test]
fn a_box_of_another_length_is_no_registration() {
    let mut scene = scene(147);
    let mut long = registrations(&scene)[0].clone();
    long.boxes[1].closed.push(7);
    sign(&scene.deployment, &mut long, 0);
    scene.registrations[0] = long.name();
    scene.slots[0] = scene.slot(0);
    (0..3).for_each(|server| give(&mut scene, server, 0, long.clone()));
    for result in scene.run(&Network::default()) {
        scene.assert_whole_but(&[0], &result);
    }
}

/// Somebody tells a participant a key of its own for P2's: the participant has signed the keys that
/// it was told, so no honest server lists what it hands in. Nor does a server go on under a key
/// that is not its own.
#[test]
fn false_registration_key() {
    let mut scene = scene(148);
    let mut keys = scene.deployment.registration_spec().keys;
    keys[1] = RegistrationKey::new(&Secret::new([0x66; 32])).public();
    let (told, seeds) = scene.deployment.register_for(&keys, 1, 0);
    scene.seeds[1] = seeds;
    scene.registrations[1] = told.name();
    scene.slots[1] = scene.slot(1);
    (0..3).for_each(|server| give(&mut scene, server, 1, told.clone()));
    for result in scene.run(&Network::default()) {
        scene.assert_whole_but(&[1], &result);
    }
    let spec = RegistrationSpec { keys, ..scene.deployment.registration_spec() };
    let results = scene.deployment.world.run(&Network::default(), |party| {
        let scene = &scene;
        Box::pin(async move {
            let key = scene.deployment.registration_key(party.id);
            let batch = &scene.deployment.batches[party.id.index()];
            let batch = BatchKeys::from_bytes(batch).unwrap();
            let slots = Vec::new();
            let participants = Participants::Registering(Registering { spec, key: &key, slots });
            let marks = Memory::default();
            mix(&party, batch, scene.spec, participants, &marks, [5; 32]).await.map(drop)
        })
    });
    assert!(matches!(results[1], Some(Err(Unmixed::Unfit(_)))));
    assert!(results[0].is_none() && results[2].is_none());
}

/// P2 lists a participant who came to P1 and P2 alone, and whose box does not open at P1; lets the
/// others crash when they have said whom they lack seeds of, and does not list it then. Nobody says
/// that a second time otherwise, which would convict it; its two lists convict P2.
#[test]
fn a_list_changed_after_a_crash_gets_no_second_word() {
    let mut scene = scene(149);
    change(&mut scene, 3, |registration| registration.boxes[0].closed[5] ^= 1);
    let marks: [Memory; 3] = Default::default();
    let slots = |with_both: bool| {
        let scene = &scene;
        move |party: PartyId| {
            let mut slots = scene.slots.clone();
            if party == PartyId(2) || (party == PartyId(1) && !with_both) {
                slots[3].submission = None;
            }
            slots
        }
    };
    let first = drops(&scene, 1, Kind::Lacking);
    scene.run_with(&first, slots(true), &marks);
    let lacking = Kind::Lacking.step();
    assert_eq!(said(&first, 0, lacking).len(), 1);
    assert!(!said(&first, 0, lacking).contains(&Vec::new()), "it lacks seeds");
    let second = Network::default();
    let results = scene.run_with(&second, slots(false), &marks);
    for honest in [0, 2] {
        for step in [lacking, steps::SEAL_VOTE] {
            let both = [&first, &second].map(|network| said(network, honest, step));
            assert!(both[1].is_subset(&both[0]), "two words of P{}", honest + 1);
        }
        assert_eq!(scene.fault(&results[usize::from(honest)]).culprit, PartyId(1));
    }
}

/// P2 says what it lacks of another list than P1 has, and gives P1 no seed, as an honest server
/// would that has come to another list: P1 cannot know, and does not say that one of them lies.
#[test]
fn who_speaks_of_another_list_is_not_suspected() {
    let mut scene = scene(152);
    change(&mut scene, 1, |registration| registration.boxes[0].closed[5] ^= 1);
    let network = scene.deployment.corrupt(1, |_, message| {
        let mut body = message.body.to_vec();
        let otherwise = is(message, Kind::Lacking).then(|| {
            body[0] ^= 1;
            body
        });
        otherwise.or_else(|| is(message, Kind::Seeds).then(Vec::new))
    });
    let results = run(&scene, &network, &Default::default());
    for honest in [0, 2] {
        assert!(results[usize::from(honest)].is_none(), "P{} goes on", honest + 1);
        assert!(!posted(&network, honest, Kind::Abort), "P{} names somebody", honest + 1);
        assert!(said(&network, honest, steps::SEAL_VOTE).is_empty(), "P{} seals", honest + 1);
    }
}

/// P2 says that it lacks a seed that P1 really lacks, and after a crash of the others that it has
/// it: in the first run the participant is dropped, in the second one it is not.
#[test]
fn a_lack_denied_after_a_crash_gets_no_second_vote() {
    let mut scene = scene(150);
    change(&mut scene, 1, |registration| registration.boxes[0].closed[5] ^= 1);
    let marks: [Memory; 3] = Default::default();
    let first =
        scene.deployment.corrupt(1, move |_, message| match message.signed.header.tag.step {
            steps::SEAL_VOTE => Some(vec![0; 32]),
            step if step == Kind::Lacking.step() => Some(about(message, vec![1, 0, 0, 0, 1])),
            _ => None,
        });
    run(&scene, &first, &marks);
    let second = Network::default();
    let results = run(&scene, &second, &marks);
    for honest in [0, 2] {
        let both = [&first, &second].map(|network| said(network, honest, steps::SEAL_VOTE));
        assert_eq!(both[0].len(), 1);
        assert!(both[1].is_subset(&both[0]), "two votes of P{}", honest + 1);
        assert!(results[usize::from(honest)].is_none(), "nobody is convicted of it");
    }
}

/// What a server found as something came in counts for the occasion, the slot and the owner that it
/// was looked at for, and for the very bytes: elsewhere it is as if nothing had arrived.
#[test]
fn what_was_found_is_of_that_use_and_these_bytes_only() {
    let scene = scene(151);
    let (spec, prints) = (scene.deployment.registration_spec(), scene.prints());
    let elsewhere = RegistrationSpec { context: Digest([5; 32]), ..spec };
    let bodies = bodies(&registrations(&scene), &scene.slots);
    let body = |slot: usize| bodies[slot].submission.as_deref().unwrap();
    let owner = |slot: u32| participant(slot).verifying_key();
    let other = |change: &dyn Fn(&mut Registration, &mut Submission)| {
        let mut registration = registrations(&scene)[0].clone();
        let mut submission = scene.slots[0].submission.clone().unwrap();
        change(&mut registration, &mut submission);
        [registration.to_bytes(), submission.to_bytes()].concat()
    };
    let unsigned = other(&|registration, _| registration.signature.0[0] ^= 1);
    let unnamed = other(&|_, submission| submission.registration.0[0] ^= 1);
    let moved = other(&|_, submission| submission.padded[3] ^= 1);
    let results = scene.deployment.world.run(&Network::default(), |party| {
        let key = scene.deployment.registration_key(party.id);
        let looking = |spec| Looking::new(&party, &scene.spec, spec, &key, &prints);
        let (here, there) = (looking(spec), looking(elsewhere));
        assert!(there.at(0, &owner(0), body(0)).is_none(), "signed for another occasion");
        assert!(here.at(1, &owner(0), body(0)).is_none(), "under another number");
        assert!(here.at(0, &owner(1), body(0)).is_none(), "by somebody else");
        assert!(here.at(0, &owner(0), &body(0)[..600]).is_none(), "too short");
        let seen = || here.at(0, &owner(0), body(0));
        assert!(here.again(seen(), 0, &owner(0), &unsigned).is_none(), "another signature");
        assert!(here.again(seen(), 0, &owner(0), &unnamed).is_none(), "of another registration");
        let joint = |from: &dyn Fn(u32) -> Option<_>| {
            (0..5).map(|slot| Slot { slot, owner: owner(slot), submission: from(slot) }).collect()
        };
        let mut slots: Vec<Slot<_>> =
            joint(&|slot| here.again(None, slot, &owner(slot), body(slot as usize)));
        // Of another row; for another number; of another owner.
        slots[0].submission = here.again(seen(), 0, &owner(0), &moved);
        slots[2].submission = here.again(None, 3, &owner(3), body(3));
        slots[4].owner = owner(9);
        let batch = BatchKeys::from_bytes(&scene.deployment.batches[party.id.index()]).unwrap();
        let scene = &scene;
        Box::pin(async move {
            let key = scene.deployment.registration_key(party.id);
            let participants = Participants::Registering(Registering { spec, key: &key, slots });
            let marks = Memory::default();
            let mixed = mix(&party, batch, scene.spec, participants, &marks, [5; 32]).await;
            mixed.unwrap().open().await.table
        })
    });
    let mut rows: Vec<Vec<u8>> = [0, 1, 3].map(|slot| scene.row(slot)).to_vec();
    rows[0][3] ^= 1;
    rows.sort();
    for table in results {
        assert!(rows_of(&table.unwrap(), WIDTH as usize) == rows, "the row that was kept");
    }
}

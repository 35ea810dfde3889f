//! Everybody honest: the output is right and costs what the formulas say.

use std::time::Duration;

use ostrakon_additive::three::cost;
use ostrakon_additive::three::epoch::{Participants, may_have_opened, mix};
use ostrakon_additive::three::keys::BatchKeys;
use ostrakon_party::PartyId;
use ostrakon_testkit::{Mutation, Network, Saboteur, Target, Wire};

use crate::registering::make_keys;
use crate::registrations::{agreed, sign};
use crate::world::*;

#[test]
fn every_table_from_one_to_300_rows_comes_out_permuted() {
    let mut scene = Scene::new(1, 300, 8);
    let slots = scene.slots.clone();
    let (mut orders, mut tables) = (0, 0);
    for rows in (1..=300).filter(|rows| nightly() || *rows <= 24 || rows % 23 == 1) {
        scene.spec.slots = rows;
        let some = slots[..rows as usize].to_vec();
        let results = scene.run_with(&Network::default(), |_| some.clone(), &Default::default());
        results.iter().for_each(|result| scene.assert_whole(result));
        let boards: Vec<&Vec<u8>> =
            results.iter().map(|r| &r.as_ref().unwrap().as_ref().unwrap().table).collect();
        assert!(boards.iter().all(|table| *table == boards[0]), "one board");
        let unpermuted: Vec<u8> = (0..rows).flat_map(|slot| scene.row(slot)).collect();
        orders += u32::from(*boards[0] != unpermuted);
        tables += 1;
    }
    assert!(orders + 4 >= tables, "the order is not that of the slots");
}

#[test]
fn bytes_and_rounds_are_those_of_the_formulas() {
    for (rows, width) in [(1, 8), (7, 24), (60, 48), (64, 272)] {
        let scene = Scene::new(2, rows, width);
        let network = Network::default();
        let latency = Duration::from_millis(40);
        network.wires(Wire { latency, bytes_per_second: u64::MAX });
        scene.run(&network).iter().for_each(|result| scene.assert_whole(result));
        let (sent, took) = metered(&network, latency);
        let cost = cost::epoch(rows, width);
        assert!(cost.admits(sent), "{rows} × {width}: {sent} bytes, {cost:?}");
        assert_eq!(cost.table, u64::from(rows) * (5 * u64::from(width) + 120 + 216));
        assert_eq!(took, u128::from(cost::EPOCH_ROUNDS), "{rows} × {width}");
    }
}

/// Bytes of all bodies, and rounds, of what ran on a network with this latency.
fn metered(network: &Network, latency: Duration) -> (u64, u128) {
    let sent = network.sent().iter().map(|(_, m)| m.body.len() as u64).sum();
    (sent, network.elapsed().as_millis() / latency.as_millis())
}

#[test]
fn what_comes_before_an_epoch_costs_what_the_formulas_say() {
    let latency = Duration::from_millis(40);
    let wired = || {
        let network = Network::default();
        network.wires(Wire { latency, bytes_per_second: u64::MAX });
        network
    };
    let deployment = Deployment::new(6);
    let network = wired();
    assert!(make_keys(&deployment, &network).iter().all(|made| matches!(made, Some(Ok(_)))));
    let (sent, rounds) = metered(&network, latency);
    assert!(cost::batch_keys().admits(sent), "{sent} bytes, {:?}", cost::batch_keys());
    assert_eq!(rounds, u128::from(cost::BATCH_KEYS_ROUNDS));
    // Of the first `lacking` participants P1 cannot open its box, and is given both seeds.
    for (registered, lacking) in [(1, 0), (9, 0), (9, 1), (20, 7)] {
        let mut list: Vec<_> =
            (0..registered).map(|number| deployment.register(number, 0)).collect();
        for (number, (registration, _)) in (0..lacking).zip(&mut list) {
            registration.boxes[0].closed[5] ^= 1;
            sign(&deployment, registration, number);
        }
        let network = wired();
        let results = deployment.registrations(&network, |_| registered_slots(&list));
        assert_eq!(agreed(&results, &[0, 1, 2], registered).len(), registered as usize);
        let (sent, rounds) = metered(&network, latency);
        let cost = cost::registering(registered, lacking, 2 * lacking);
        assert!(cost.admits(sent), "{registered}, {lacking}: {sent} bytes, {cost:?}");
        assert_eq!(cost.table, u64::from(registered) * 216 + u64::from(lacking) * (10 + 72));
        assert_eq!(rounds, u128::from(cost::REGISTERING_ROUNDS + u32::from(lacking > 0)));
    }
}

/// Whoever registers with the epoch costs no second list and no second vote.
#[test]
fn registering_with_an_epoch_costs_what_the_formulas_say() {
    // Of the first `lacking` participants P1 cannot open its box, and is given both seeds.
    for (rows, lacking) in [(1, 0), (9, 0), (9, 1), (20, 7)] {
        let deployment = Deployment::new(7);
        let mut list: Vec<_> = (0..rows).map(|number| deployment.register(number, 0)).collect();
        for (number, (registration, _)) in (0..lacking).zip(&mut list) {
            registration.boxes[0].closed[5] ^= 1;
            sign(&deployment, registration, number);
        }
        let scene = Scene::registering_with(deployment, list, 24);
        let (network, latency) = (Network::default(), Duration::from_millis(40));
        network.wires(Wire { latency, bytes_per_second: u64::MAX });
        scene.run(&network).iter().for_each(|result| scene.assert_whole(result));
        let (sent, took) = metered(&network, latency);
        let cost = cost::registering_with_epoch(lacking, 2 * lacking) + cost::epoch(rows, 24);
        assert!(cost.admits(sent), "{rows}, {lacking}: {sent} bytes, {cost:?}");
        let table = u64::from(rows) * (5 * 24 + 120 + 216) + u64::from(lacking) * (10 + 72);
        assert_eq!(cost.table, table);
        let rounds = cost::EPOCH_ROUNDS + cost::REGISTERING_WITH_EPOCH_ROUNDS;
        assert_eq!(took, u128::from(rounds + u32::from(lacking > 0)));
    }
}

#[test]
fn too_few_is_an_outcome_that_all_find_alike() {
    let mut scene = Scene::new(3, 6, 8);
    scene.spec.minimum = 5;
    let marks: [Memory; 3] = Default::default();
    for result in scene.run_with(&Network::default(), |_| scene.slots.clone(), &marks) {
        let stopped = result.unwrap().err().unwrap();
        assert_eq!(stopped, ostrakon_additive::three::epoch::Unmixed::TooFew(4));
    }
    assert!(!may_have_opened(&scene.spec, &marks[0].all()));
    // Nobody has submitted: there is no table, whatever the minimum is.
    scene.spec.minimum = 0;
    for result in scene.run_with(&Network::default(), |_| Vec::new(), &Default::default()) {
        assert!(result.unwrap().is_err());
    }
}

#[test]
fn a_batch_is_for_its_own_epoch_and_marks_tell_what_may_have_been_read() {
    let scene = Scene::new(4, 3, 8);
    let marks: [Memory; 3] = Default::default();
    let network = Network::default();
    let first = scene.run_with(&network, |_| scene.slots.clone(), &marks);
    assert!(marks.iter().all(|marks| may_have_opened(&scene.spec, &marks.all())));
    // The same again after a crash of all three: the same board.
    let again = scene.run_with(&Network::default(), |_| scene.slots.clone(), &marks);
    for (first, again) in first.into_iter().zip(again) {
        assert_eq!(first.unwrap().unwrap().table, again.unwrap().unwrap().table);
    }
    // Other rows with the batch are refused by the mark.
    let network = Network::default();
    let mut other = scene.spec;
    other.number += 1;
    let stopped = scene.deployment.world.run(&network, |party| {
        let (marks, registry) = (&marks[party.id.index()], &scene.registries[party.id.index()]);
        let slots = taken_in(scene.slots[..2].to_vec());
        let batch = BatchKeys::from_bytes(&scene.deployment.batches[party.id.index()]).unwrap();
        Box::pin(async move {
            let participants = Participants::Registered(registry, slots);
            mix(&party, batch, other, participants, marks, [1; 32]).await.err()
        })
    });
    assert!(stopped.iter().all(|s| {
        s.as_ref().unwrap() == &Some(ostrakon_additive::three::epoch::Unmixed::Spent)
    }));
}

#[test]
fn a_restart_of_all_after_any_lost_message_changes_nothing() {
    let scene = Scene::new(5, 4, 16);
    let network = Network::default();
    let whole = scene.run(&network);
    let whole: Vec<_> = whole.into_iter().map(|r| r.unwrap().unwrap()).collect();
    for crashed in (0..3).map(PartyId) {
        for lost in (0..network.posted(crashed)).filter(|lost| nightly() || lost % 4 == 0) {
            let marks: [Memory; 3] = Default::default();
            let before = Network::default();
            before.corrupt(Saboteur::new(
                crashed,
                scene.deployment.world.key(crashed),
                0,
                Target::Nth(lost),
                Mutation::Drop,
                Default::default(),
            ));
            scene.run_with(&before, |_| scene.slots.clone(), &marks);
            let again = scene.run_with(&Network::default(), |_| scene.slots.clone(), &marks);
            for (result, whole) in again.into_iter().zip(&whole) {
                assert_eq!(result.unwrap().unwrap().table, whole.table, "{crashed}, {lost}");
            }
        }
    }
    assert_eq!(scene.deployment.world.roster.session, network.sent()[0].1.signed.header.session);
    let subject = ostrakon_additive::three::messages::Subject::Epoch(scene.spec);
    assert_eq!(subject.instance(), network.sent()[0].1.signed.header.tag.instance);
}

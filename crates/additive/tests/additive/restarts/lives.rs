//! Broadcasts over two lives of each honest server: the corrupt one's word in the second life is
//! another one than in the first, in which one of the two has returned and the other has not.

use std::collections::BTreeSet;

use ostrakon_additive::client::Submission;
use ostrakon_additive::three::fault::Evidence;
use ostrakon_additive::three::messages::Kind;
use ostrakon_crypto::Digest;
use ostrakon_party::{Message, PartyId, SignedHeader, Step, wire};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target};
use ostrakon_threeparty::Offence;
use ostrakon_threeparty::protocol::{echo, steps};
use ostrakon_threeparty::seal::Slot;

use crate::coins::other_coin;
use crate::registrations::said;
use crate::world::*;

const WIDTH: u32 = 16;

/// What was handed in at a server, in its first life or its second.
type HandsIn<'a> = dyn Fn(PartyId, usize) -> Vec<Slot<Submission>> + 'a;

fn honest(corrupt: u8) -> [u8; 2] {
    [(corrupt + 1) % 3, (corrupt + 2) % 3]
}

/// The words of another server that a server has echoed under a step.
fn echoed(network: &Network, by: u8, of: u8, step: Step) -> BTreeSet<Digest> {
    let bodies = said(network, by, echo(step));
    let headers = bodies.iter().flat_map(|body| wire::decode::<[SignedHeader; 2]>(body).unwrap());
    let of_peer = headers.filter(|signed| signed.header.from == PartyId(of));
    of_peer.map(|signed| signed.header.digest).collect()
}

/// A network on which a server's echo under a step does not reach one of the others.
fn without_echo(scene: &Scene, corrupt: u8, to: u8, step: Step, slots: &HandsIn<'_>) -> Network {
    let whole = Network::default();
    scene.run_with(&whole, |party| slots(party, 0), &Default::default());
    let sent = whole.sent();
    let own = sent.iter().filter(|(_, m)| m.signed.header.from == PartyId(corrupt));
    let is = |(peer, m): &(PartyId, Message)| {
        *peer == PartyId(to) && m.signed.header.tag.step == echo(step)
    };
    let place = own.enumerate().find(|(_, sent)| is(sent)).expect("it echoes").0;
    let network = Network::default();
    let (key, target) = (scene.deployment.world.key(PartyId(corrupt)), Target::Nth(place));
    let drops = Saboteur::new(PartyId(corrupt), key, 0, target, Mutation::Drop, Default::default());
    network.corrupt(drops);
    network
}

/// Plays both lives, the second one on the given network, and asserts that nobody echoes a second
/// word: else who waits for the echo would return with it, and the other one has returned with the
/// first. Returns what became of the second life.
fn no_second_word(
    scene: &Scene,
    corrupt: u8,
    step: Step,
    slots: &HandsIn<'_>,
    second: &Network,
) -> Result3 {
    let marks: [Memory; 3] = Default::default();
    let [returns, waits] = honest(corrupt);
    let first = without_echo(scene, corrupt, waits, step, slots);
    scene.run_with(&first, |party| slots(party, 0), &marks);
    let results = scene.run_with(second, |party| slots(party, 1), &marks);
    for by in [returns, waits] {
        let words = [&first, second].map(|network| echoed(network, by, corrupt, step));
        assert_eq!(words[0].len(), 1, "P{} has heard the first word", by + 1);
        assert!(words[1].is_subset(&words[0]), "P{} echoes a second word", by + 1);
        let fault = scene.fault(&results[usize::from(by)]);
        assert_eq!(fault.culprit, PartyId(corrupt), "by both its words");
        assert!(matches!(fault.evidence, Evidence::Offence(Offence::Equivocation(_))));
    }
    results
}

/// C commits to one coin, lets one server return, and to another one when both come back. Else the
/// two would come to say words under two coins.
#[test]
fn a_commitment_to_a_coin_is_echoed_in_one_word() {
    for corrupt in 0..3 {
        let scene = Scene::new(161, 4, WIDTH);
        let session = scene.deployment.world.roster.session;
        let second = scene.deployment.corrupt(corrupt, other_coin(session, |_| true));
        let slots = |_, _| scene.slots.clone();
        no_second_word(&scene, corrupt, steps::COIN_COMMITMENT, &slots, &second);
        for by in honest(corrupt) {
            assert!(said(&second, by, steps::COIN_OPENING).is_empty(), "nobody opens");
        }
    }
}

/// The same with the opening: another one is convicted, but not echoed before that.
#[test]
fn an_opening_of_a_coin_is_echoed_in_one_word() {
    for corrupt in 0..3 {
        let scene = Scene::new(162, 4, WIDTH);
        let second = scene.deployment.corrupt(corrupt, |_, message| {
            (message.signed.header.tag.step == steps::COIN_OPENING).then(|| vec![0x66; 64])
        });
        let slots = |_, _| scene.slots.clone();
        no_second_word(&scene, corrupt, steps::COIN_OPENING, &slots, &second);
        for by in honest(corrupt) {
            assert!(WORDS.iter().all(|kind| !posted(&second, by, *kind)), "words of that coin");
        }
    }
}

/// C lists a participant in the one life and not in the other: else two honest servers would have
/// different lists.
#[test]
fn a_list_is_echoed_in_one_word() {
    let scenes = [Scene::new(163, 4, WIDTH), Scene::registering(163, 4, WIDTH)];
    for (scene, corrupt) in scenes.iter().flat_map(|scene| (0..3).map(move |c| (scene, c))) {
        let [_, without] = honest(corrupt);
        let slots = |party: PartyId, life: usize| {
            let mut slots = scene.slots.clone();
            if party == PartyId(without) || (party == PartyId(corrupt) && life == 1) {
                slots[2].submission = None;
            }
            slots
        };
        let second = Network::default();
        no_second_word(scene, corrupt, steps::SUBMISSION_LIST, &slots, &second);
        for by in honest(corrupt) {
            for step in [Kind::Lacking.step(), steps::SEAL_VOTE] {
                assert!(said(&second, by, step).is_empty(), "P{} goes on", by + 1);
            }
        }
    }
}

/// A participant has signed two rows, and C shows one of them in one life only.
#[test]
fn conflict_details_are_echoed_in_one_word() {
    for corrupt in 0..3 {
        let scene = Scene::new(164, 4, WIDTH);
        let other = scene.submit(1, &row(1, 9, WIDTH as usize));
        let slots = |party: PartyId, _| {
            let mut slots = scene.slots.clone();
            if party == PartyId(corrupt) {
                slots[1].submission = Some(other.clone());
            }
            slots
        };
        let second = scene.deployment.corrupt(corrupt, |_, message| {
            (message.signed.header.tag.step == steps::CONFLICT_DETAILS).then(Vec::new)
        });
        no_second_word(&scene, corrupt, steps::CONFLICT_DETAILS, &slots, &second);
        for by in honest(corrupt) {
            assert!(said(&second, by, steps::SEAL_VOTE).is_empty(), "P{} seals", by + 1);
        }
    }
}

/// A server whose own list is not the one that it has on record has signed two. It says nothing
/// that follows from the second one, and names nobody for it.
#[test]
fn who_has_another_own_list_on_record_goes_no_further() {
    let scene = Scene::new(165, 4, WIDTH);
    let marks: [Memory; 3] = Default::default();
    let without = |life: usize| {
        let scene = &scene;
        move |party: PartyId| {
            let mut slots = scene.slots.clone();
            if party == PartyId(1) && life == 1 {
                slots[0].submission = None;
            }
            slots
        }
    };
    let first = drops(&scene, 0, Kind::SeedStatement);
    scene.run_with(&first, without(0), &marks);
    let second = Network::default();
    let results = scene.run_with(&second, without(1), &marks);
    assert!(said(&second, 1, echo(steps::SUBMISSION_LIST)).is_empty(), "P2 echoes");
    assert!(said(&second, 1, steps::SEAL_VOTE).is_empty(), "P2 votes");
    assert_eq!(scene.fault(&results[0]).culprit, PartyId(1), "its signatures are its own");
    // Whoever hears of the two from the others passes that on: of itself it says nothing.
    let marks: [Memory; 3] = Default::default();
    scene.run_with(&drops(&scene, 0, Kind::SeedStatement), without(0), &marks);
    let unheard = drops(&scene, 0, Kind::Abort);
    let (party, step) = (PartyId(2), Target::Step(Kind::Abort.step()));
    let key = scene.deployment.world.key(party);
    unheard.corrupt(Saboteur::new(party, key, 0, step, Mutation::Drop, Default::default()));
    let results = scene.run_with(&unheard, without(1), &marks);
    assert!(results[1].is_none(), "P2 waits");
}

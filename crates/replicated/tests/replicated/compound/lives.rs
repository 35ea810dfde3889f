//! A broadcast over two lives of each honest server, of which one has returned in the first.

use std::collections::BTreeSet;

use ostrakon_testkit::{Mutation, Target};

use super::*;

/// The words of the liar that a server has echoed of what was broadcast.
fn echoed(network: &Network, by: u8, liar: u8, kind: Kind) -> BTreeSet<Vec<u8>> {
    let own = |(_, m): &(PartyId, Message)| {
        m.signed.header.from == PartyId(by) && m.signed.header.tag.step == kind.echo()
    };
    let sent = network.sent();
    let headers = sent.iter().filter(|sent| own(sent)).flat_map(|(_, m)| {
        let headers: [SignedHeader; 2] = wire::decode(&m.body).unwrap();
        headers
    });
    let of_liar = headers.filter(|signed| signed.header.from == PartyId(liar));
    of_liar.map(|signed| signed.header.digest.0.to_vec()).collect()
}

/// A network on which the liar's echo does not reach one of the others.
fn without_echo(scene: &Scene, liar: u8, to: u8, kind: Kind, held: &Held<'_>) -> Network {
    let whole = Network::default();
    scene.live(&whole, |_| false, |server| Some(held(server, 0)));
    scene.marks.iter().for_each(|marks| marks.0.lock().unwrap().clear());
    let sent = whole.sent();
    let own = sent.iter().filter(|(_, m)| m.signed.header.from == PartyId(liar));
    let is = |(peer, m): &(PartyId, Message)| {
        *peer == PartyId(to) && m.signed.header.tag.step == kind.echo()
    };
    let place = own.enumerate().find(|(_, sent)| is(sent)).expect("it echoes").0;
    let network = Network::default();
    let key = scene.deployment.world.key(PartyId(liar));
    let (target, drop) = (Target::Nth(place), Mutation::Drop);
    network.corrupt(Saboteur::new(PartyId(liar), key, 0, target, drop, Default::default()));
    network
}

/// What a server has, in its first life or its second.
type Held<'a> = dyn Fn(PartyId, usize) -> Vec<Slot> + 'a;

/// Plays both lives: nobody echoes a second word of the liar, and its two convict it.
fn no_second_word(scene: &Scene, liar: u8, kind: Kind, held: &Held<'_>, second: &Network) {
    let [returns, waits] = [(liar + 1) % 3, (liar + 2) % 3];
    let first = without_echo(scene, liar, waits, kind, held);
    scene.live(&first, |_| false, |server| Some(held(server, 0)));
    let results = scene.live(second, |_| false, |server| Some(held(server, 1)));
    for by in [returns, waits] {
        let words = [&first, second].map(|network| echoed(network, by, liar, kind));
        assert_eq!(words[0].len(), 1, "P{by} has heard the first word");
        assert!(words[1].is_subset(&words[0]), "P{by} echoes a second word");
        assert!(posted(second, PartyId(by), Kind::SealVote).is_none(), "P{by} seals");
        match &results[usize::from(by)] {
            Some(Ok(opened)) => {
                assert!(scene.spec.robust);
                assert_eq!(opened.faults[0].culprit, PartyId(liar));
            }
            stopped => assert_eq!(culprit(stopped), PartyId(liar)),
        }
    }
}

/// The liar lists a submission in the one life and not in the other.
#[test]
fn a_list_is_echoed_in_one_word() {
    for (robust, liar) in [false, true].into_iter().flat_map(|r| (0..3).map(move |l| (r, l))) {
        let scene = Scene::new(81, robust);
        let held = |server: PartyId, life: usize| {
            let mut slots = scene.slots.clone();
            if server == PartyId((liar + 2) % 3) || (server == PartyId(liar) && life == 1) {
                slots[2].submission = None;
            }
            slots
        };
        no_second_word(&scene, liar, Kind::SubmissionList, &held, &Network::default());
    }
}

/// A participant has signed two rows, and the liar shows one of them in one life only.
#[test]
fn conflict_details_are_echoed_in_one_word() {
    for liar in 0..3 {
        let scene = Scene::new(82, false);
        let slot = scene.slots[1].slot;
        let other = row(77, WIDTH as usize);
        let key = participant(slot);
        let second = scene.deployment.submission(&scene.stock, &scene.spec, slot, &other, &key);
        let held = |server: PartyId, _| {
            let mut slots = scene.slots.clone();
            if server == PartyId(liar) {
                slots[1].submission = Some(second.clone());
            }
            slots
        };
        let silent = scene.corrupt(liar, |_, m| is(m, Kind::ConflictDetails).then(Vec::new));
        no_second_word(&scene, liar, Kind::ConflictDetails, &held, &silent);
    }
}

/// What is written down in an epoch in which lists do not differ: what was heard of them, the
/// sealed list, what the batch is spent on, outcome and certificate, and at P2 δ_01.
#[test]
fn an_epoch_has_so_many_marks() {
    let scene = Scene::new(83, false);
    scene.run(&Network::default());
    let counts = scene.marks.each_ref().map(|marks| marks.0.lock().unwrap().len());
    assert_eq!(counts, [5, 5, 6]);
}

/// What was heard is on record before anything is sealed: by that alone nobody can have read a row,
/// also where a server may be trusted.
#[test]
fn nothing_was_opened_where_lists_were_heard_and_no_more() {
    let scene = Scene::new(84, true);
    let network = Network::default();
    let has_echoed = |id: PartyId| {
        let is_echo = |m: &Message| m.signed.header.tag.step == Kind::SubmissionList.echo();
        network.sent().iter().any(|(_, m)| m.signed.header.from == id && is_echo(m))
    };
    scene.live(&network, has_echoed, |_| Some(scene.slots.clone()));
    let all = |marks: &Memory| -> Vec<_> { marks.0.lock().unwrap().clone().into_iter().collect() };
    let mut heard = scene.marks.iter().map(all).filter(|marks| marks.len() == 1).peekable();
    assert!(heard.peek().is_some(), "none has heard lists alone");
    assert!(heard.all(|marks| !epoch::may_have_opened(&scene.spec, &marks)));
}

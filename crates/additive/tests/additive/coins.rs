//! Attacks on the coin of the checks.

use ostrakon_additive::three::fault::Evidence;
use ostrakon_additive::three::messages::Kind;
use ostrakon_party::{Header, Message, PartyId};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target};
use ostrakon_threeparty::Offence;
use ostrakon_threeparty::commitment::commitment;
use ostrakon_threeparty::protocol::steps;

use crate::world::*;

const WIDTH: usize = 16;

/// What a corrupt party says of another contribution: commitment and opening fit each other.
pub fn other_coin(
    session: ostrakon_party::SessionId,
    to_whom: impl Fn(PartyId) -> bool + Send + Sync + 'static,
) -> impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static {
    move |to, message| {
        let header = message.signed.header;
        let body = vec![0x77; 64];
        let opening = Header {
            session,
            tag: ostrakon_party::Tag { step: steps::COIN_OPENING, ..header.tag },
            length: 64,
            digest: Header::digest_of(&body),
            ..header
        };
        match header.tag.step {
            _ if !to_whom(to) => None,
            steps::COIN_OPENING => Some(body),
            steps::COIN_COMMITMENT => Some(commitment(&opening, &body).0.to_vec()),
            _ => None,
        }
    }
}

/// P3 lets the two others crash after words have gone, and comes with another contribution: two
/// coins on the same tables would give P1 a linear form of every row.
#[test]
fn coin_tossed_twice() {
    let scene = Scene::new(14, 4, WIDTH as u32);
    let marks: [Memory; 3] = Default::default();
    let slots = |_| scene.slots.clone();
    let first = drops(&scene, 2, Kind::WordsU);
    scene.run_with(&first, slots, &marks);
    assert!(posted(&first, 2, Kind::WordsFG), "words have gone under the first coin");
    let session = scene.deployment.world.roster.session;
    let second = scene.deployment.corrupt(2, other_coin(session, |_| true));
    let results = scene.run_with(&second, slots, &marks);
    for honest in [0, 1] {
        assert!(results[usize::from(honest)].as_ref().unwrap().is_err());
        assert!(WORDS.iter().all(|kind| !posted(&second, honest, *kind)), "words of a second coin");
    }
}

/// P2 lets P1 alone complete the coin, lets both others crash, and has committed to another
/// contribution when they come back. P1's digest of U under the one coin and P3's U under the other
/// would test guesses of all rows by author; and with the two others' contributions known, P2 could
/// look for a coin that its error passes.
#[test]
fn coin_committed_twice() {
    let scene = Scene::new(24, 4, WIDTH as u32);
    let marks: [Memory; 3] = Default::default();
    let slots = |_| scene.slots.clone();
    let whole = Network::default();
    scene.run(&whole);
    let echo = ostrakon_threeparty::protocol::echo(steps::COIN_OPENING);
    let sent = whole.sent();
    let own = sent.iter().filter(|(_, m)| m.signed.header.from == PartyId(1));
    let place = own
        .enumerate()
        .find(|(_, (to, m))| *to == PartyId(2) && m.signed.header.tag.step == echo)
        .expect("P2 echoes the openings to P3")
        .0;
    let first = Network::default();
    let key = scene.deployment.world.key(PartyId(1));
    let (target, dropped) = (Target::Nth(place), Mutation::Drop);
    first.corrupt(Saboteur::new(PartyId(1), key, 0, target, dropped, Default::default()));
    scene.run_with(&first, slots, &marks);
    assert!(posted(&first, 0, Kind::DigestU), "P1 has the first coin");
    assert!(!posted(&first, 2, Kind::WordsU), "P3 has none");
    let session = scene.deployment.world.roster.session;
    let second = scene.deployment.corrupt(1, other_coin(session, |_| true));
    let results = scene.run_with(&second, slots, &marks);
    for honest in [0, 2] {
        assert_eq!(scene.fault(&results[usize::from(honest)]).culprit, PartyId(1));
        assert!(WORDS.iter().all(|kind| !posted(&second, honest, *kind)), "words of a second coin");
    }
}

/// P1 opens its part of the coin to P2 in another way than to P3: the second maker's digest would
/// test guesses of all rows. No digest and no word leaves before the echo is complete.
#[test]
fn coin_opened_differently() {
    let scene = Scene::new(15, 4, WIDTH as u32);
    let session = scene.deployment.world.roster.session;
    let only_opening = |to: PartyId, message: &Message| {
        let opens = message.signed.header.tag.step == steps::COIN_OPENING;
        (opens && to == PartyId(2)).then(|| vec![0x66; 64])
    };
    let networks = [
        scene.deployment.corrupt(0, other_coin(session, |to| to == PartyId(2))),
        scene.deployment.corrupt(0, only_opening),
    ];
    for network in networks {
        let results = scene.run(&network);
        for honest in [1, 2] {
            assert_eq!(scene.fault(&results[usize::from(honest)]).culprit, PartyId(0));
            let digests = [Kind::DigestFG, Kind::DigestL, Kind::DigestM, Kind::DigestA];
            for kind in WORDS.into_iter().chain(digests) {
                assert!(!posted(&network, honest, kind), "{kind:?} before the coin is common");
            }
        }
    }
}

/// P3 opens last, when it has seen the others' contributions, and opens to both another one than it
/// has committed to. It could look for a coin that an error in its table passes.
#[test]
fn coin_opened_against_its_commitment() {
    let scene = Scene::new(26, 4, WIDTH as u32);
    let opens = |m: &Message| m.signed.header.tag.step == steps::COIN_OPENING;
    let network = scene.deployment.corrupt(2, move |_, m| opens(m).then(|| vec![0x66; 64]));
    network.schedule(move |_, m| u32::from(opens(m) && m.signed.header.from == PartyId(2)));
    let results = scene.run(&network);
    for honest in [0, 1] {
        let fault = scene.fault(&results[usize::from(honest)]);
        assert_eq!(fault.culprit, PartyId(2));
        assert!(matches!(fault.evidence, Evidence::Offence(Offence::Opening { .. })));
        assert!(WORDS.iter().all(|kind| !posted(&network, honest, *kind)), "words of that coin");
    }
}

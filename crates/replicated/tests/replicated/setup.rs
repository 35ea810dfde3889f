//! The set-up over two lives of each server: in the first, one honest server has come to its end,
//! and the other one has not heard the last word.

use ostrakon_crypto::Secret;
use ostrakon_party::{Header, Message, PartyId, SessionId, Tag};
use ostrakon_replicated::fault::Stop;
use ostrakon_replicated::messages::Kind;
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::setup::{self, SharedKeys};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target, World};

use crate::attacks::commitment_to;
use crate::common::*;

fn world() -> World {
    let world = World::new(61, 3);
    world.with_session(setup::setup_session(&world.roster.keys))
}

fn honest(liar: u8) -> [u8; 2] {
    [(liar + 1) % 3, (liar + 2) % 3]
}

fn said_by(network: &Network, liar: u8) -> Vec<(PartyId, Message)> {
    let mut sent = network.sent();
    sent.retain(|(_, m)| m.signed.header.from == PartyId(liar));
    sent
}

/// A network on which the liar's echo of the coin's openings does not reach one of the others.
fn without_last_echo(world: &World, liar: u8, to: u8) -> Network {
    let whole = Network::default();
    run_setup(world, &whole, &Default::default());
    let is = |(peer, m): &(PartyId, Message)| {
        *peer == PartyId(to) && m.signed.header.tag.step == Kind::CoinOpening.echo()
    };
    let place = said_by(&whole, liar).iter().position(is).expect("it echoes");
    let network = Network::default();
    let (id, target) = (PartyId(liar), Target::Nth(place));
    let drops = Saboteur::new(id, world.key(id), 0, target, Mutation::Drop, Default::default());
    network.corrupt(drops);
    network
}

/// What two honest servers must have in common: the session, and the key of their pair.
fn common(keys: &SharedKeys, pair: Pair) -> (SessionId, Secret) {
    let (_, key) = keys.pairs().into_iter().find(|(own, _)| *own == pair).expect("an own pair");
    (keys.session(), Secret::new(*key.expose()))
}

/// Plays both lives, and asserts that whoever has keys has those of the first life, and that
/// nobody names two honest servers; and that the liar's two words convict it.
fn one_set_of_keys(
    liar: u8,
    draws: [&'static str; 2],
    second: impl Fn(&World, &Network) -> Network,
) {
    let world = world();
    let marks: [Memory; 3] = Default::default();
    let [returns, waits] = honest(liar);
    let pair = Pair::of(returns, waits);
    let first = without_last_echo(&world, liar, waits);
    let draw =
        |life: usize| move |id: PartyId| if id == PartyId(liar) { draws[life] } else { "set-up" };
    let ends = run_setup_drawn(&world, &first, draw(0), &marks);
    assert!(ends[usize::from(waits)].is_none(), "P{waits} has an end");
    let Some(Ok(keys)) = &ends[usize::from(returns)] else { panic!("P{returns} has no keys") };
    let (session, key) = common(keys, pair);
    let second = second(&world, &first);
    let ends = run_setup_drawn(&world, &second, draw(1), &marks);
    for by in [returns, waits] {
        match &ends[usize::from(by)] {
            Some(Ok(keys)) => {
                let (other_session, other) = common(keys, pair);
                assert_eq!(other_session, session, "P{by} comes to another session");
                assert!(other.expose() == key.expose(), "P{by} comes to another key");
                panic!("P{by} has not heard that P{liar} says another thing");
            }
            Some(Err(Stop::Fault(fault))) => {
                assert_eq!(fault.culprit, PartyId(liar));
                assert!(fault.verify(&world.roster));
            }
            Some(Err(other)) => panic!("{other}"),
            None => panic!("P{by} waits"),
        }
    }
}

/// The liar tells another ephemeral key when both come back, and contributes the same to the coin.
/// Else the two would have different keys of one session, and be named as the pair of which one
/// lies, in the first batch.
#[test]
fn an_ephemeral_key_is_the_same_in_all_lives() {
    for liar in 0..3 {
        one_set_of_keys(liar, ["set-up", "another"], |world, first| {
            let before = said_by(first, liar);
            let network = Network::default();
            let again = move |_: PartyId, message: &Message| {
                let step = message.signed.header.tag.step;
                let coin = [Kind::CoinCommitment, Kind::CoinOpening].map(Kind::step);
                let said = before.iter().find(|(_, m)| m.signed.header.tag.step == step);
                coin.contains(&step).then(|| said.expect("it was said").1.body.to_vec())
            };
            let id = PartyId(liar);
            network.corrupt(Saboteur::rewriting(id, world.key(id), again));
            network
        });
    }
}

/// The liar contributes something else to the coin when both come back, and tells the same key.
/// Else the two would be in different sessions.
#[test]
fn a_contribution_to_the_session_is_the_same_in_all_lives() {
    for liar in 0..3 {
        one_set_of_keys(liar, ["set-up", "set-up"], |world, _| {
            let network = Network::default();
            let session = world.roster.session;
            let other = move |_: PartyId, message: &Message| {
                let header = message.signed.header;
                let body = vec![0x77; 64];
                let tag = Tag { step: Kind::CoinOpening.step(), ..header.tag };
                let digest = Header::digest_of(&body);
                let opening = Header { session, tag, length: 64, digest, ..header };
                match header.tag.step {
                    step if step == Kind::CoinOpening.step() => Some(body),
                    step if step == Kind::CoinCommitment.step() => {
                        Some(commitment_to(&opening, &body).0.to_vec())
                    }
                    _ => None,
                }
            };
            let id = PartyId(liar);
            network.corrupt(Saboteur::rewriting(id, world.key(id), other));
            network
        });
    }
}

/// Where nobody lies, whoever is killed at whatever mark comes to the same keys.
#[test]
fn a_crash_changes_nothing() {
    let world = world();
    let marks: [Memory; 3] = Default::default();
    let [first, second] = [(); 2].map(|()| run_setup(&world, &Network::default(), &marks));
    for (one, other) in first.into_iter().zip(second) {
        let [one, other] = [one, other].map(|end| end.unwrap().unwrap().to_bytes());
        assert!(one == other);
    }
    assert!(marks.iter().all(|marks| marks.0.lock().unwrap().len() == 3), "what was heard");
}

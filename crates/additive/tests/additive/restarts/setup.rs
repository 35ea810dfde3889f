//! The set-up of pair keys over two lives of each server: in the first, one honest server has come
//! to its end, and the other one has not heard the last word.

use ostrakon_additive::three::keys::Chain;
use ostrakon_additive::three::messages::EpochSpec;
use ostrakon_additive::three::purposes::Purpose;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::{Message, PartyId, SessionId};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target, World};
use ostrakon_threeparty::Stop;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::{echo, steps};
use ostrakon_threeparty::setup::setup_session;

use crate::coins::other_coin;
use crate::registrations::said;
use crate::world::*;

fn world() -> World {
    let world = World::new(166, 3);
    world.with_session(setup_session(&world.roster.keys))
}

/// A network on which a server's echo of the coin's openings does not reach one of the others.
fn without_last_echo(world: &World, corrupt: u8, to: u8) -> Network {
    let whole = Network::default();
    set_up(world, &whole, |_| "set-up", &Default::default());
    let sent = whole.sent();
    let own = sent.iter().filter(|(_, m)| m.signed.header.from == PartyId(corrupt));
    let is = |(peer, m): &(PartyId, Message)| {
        *peer == PartyId(to) && m.signed.header.tag.step == echo(steps::COIN_OPENING)
    };
    let place = own.enumerate().find(|(_, sent)| is(sent)).expect("it echoes").0;
    let network = Network::default();
    let (id, target) = (PartyId(corrupt), Target::Nth(place));
    let drops = Saboteur::new(id, world.key(id), 0, target, Mutation::Drop, Default::default());
    network.corrupt(drops);
    network
}

/// What the two members of a pair must have in common.
fn common(chain: &mut Chain, pair: Pair) -> (SessionId, Secret) {
    let spec = EpochSpec {
        context: Digest([8; 32]),
        number: 5,
        batch: 0,
        round: 0,
        slots: 4,
        width: 16,
        minimum: 0,
    };
    let purposes = [Purpose::Pi12, Purpose::Pi1, Purpose::Pi2];
    let purpose = purposes.into_iter().find(|purpose| purpose.pair() == pair).expect("one each");
    (chain.session(), chain.batch(0).expect("the first").epoch(&spec).seed(purpose))
}

/// Plays both lives: whoever has keys has those of the first one, nobody names two honest servers,
/// and the corrupt one's two words convict it.
fn one_chain(corrupt: u8, draws: [&'static str; 2], second: impl Fn(&World, &Network) -> Network) {
    let world = world();
    let marks: [Memory; 3] = Default::default();
    let [returns, waits] = [(corrupt + 1) % 3, (corrupt + 2) % 3];
    let pair = Pair::of(returns, waits);
    let draw = |life: usize| {
        move |id: PartyId| if id == PartyId(corrupt) { draws[life] } else { "set-up" }
    };
    let first = without_last_echo(&world, corrupt, waits);
    let mut ends = set_up(&world, &first, draw(0), &marks);
    assert!(ends[usize::from(waits)].is_none(), "P{} has an end", waits + 1);
    let Some(Ok(chain)) = &mut ends[usize::from(returns)] else { panic!("no keys") };
    let (session, seed) = common(chain, pair);
    let mut ends = set_up(&world, &second(&world, &first), draw(1), &marks);
    for by in [returns, waits] {
        match ends[usize::from(by)].as_mut().expect("an end") {
            Ok(chain) => {
                let (other_session, other) = common(chain, pair);
                assert_eq!(other_session, session, "P{} comes to another session", by + 1);
                assert!(other.expose() == seed.expose(), "P{} comes to another key", by + 1);
                panic!("P{} does not see that another thing is said", by + 1);
            }
            Err(Stop::Fault(fault)) => {
                assert_eq!(fault.culprit, PartyId(corrupt));
                assert!(fault.verify(&world.roster));
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// Another ephemeral key after the others have come back, with the same contribution to the coin:
/// else two honest servers would have different keys of one session, and be named as the pair of
/// which one lies, in the first epoch.
#[test]
fn an_ephemeral_key_is_the_same_in_all_lives() {
    for corrupt in 0..3 {
        one_chain(corrupt, ["set-up", "another"], |world, first| {
            let [commitment, opening] = [steps::COIN_COMMITMENT, steps::COIN_OPENING]
                .map(|step| said(first, corrupt, step).pop_first().expect("it was said"));
            let again = move |_: PartyId, message: &Message| match message.signed.header.tag.step {
                steps::COIN_COMMITMENT => Some(commitment.clone()),
                steps::COIN_OPENING => Some(opening.clone()),
                _ => None,
            };
            let (network, id) = (Network::default(), PartyId(corrupt));
            network.corrupt(Saboteur::rewriting(id, world.key(id), again));
            network
        });
    }
}

/// Another contribution to the coin, under the same key: else two honest servers would be in
/// different sessions.
#[test]
fn a_contribution_to_the_session_is_the_same_in_all_lives() {
    for corrupt in 0..3 {
        one_chain(corrupt, ["set-up", "set-up"], |world, _| {
            let (network, id) = (Network::default(), PartyId(corrupt));
            let other = other_coin(world.roster.session, |_| true);
            network.corrupt(Saboteur::rewriting(id, world.key(id), other));
            network
        });
    }
}

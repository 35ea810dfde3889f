//! What the third party can find out about a pair's permutation from what it is shown.

use std::collections::BTreeSet;

use futures::FutureExt;
use ostrakon_crypto::Digest;
use ostrakon_party::{Header, PartyId, wire};
use ostrakon_testkit::{Network, World};

use super::*;
use crate::batch::stages;
use crate::messages::{Inputs, Kind, Shape, TranscriptStatement};
use crate::preparation::preprocessing;
use crate::preparation::setup::{self, SharedKeys};

const SPEC: BatchSpec =
    BatchSpec { number: 1, shape: Shape { rows: 5, width: 16 }, inputs: Inputs::Slots };

/// All orders of `0..rows`.
fn orders(rows: u32) -> Vec<Vec<u32>> {
    (0..rows).fold(vec![Vec::new()], |orders, next| {
        let with = |order: Vec<u32>| {
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, next);
                order
            })
        };
        orders.into_iter().flat_map(with).collect()
    })
}

/// A batch as it is prepared, with everybody's keys.
fn prepared() -> (Network, Vec<SharedKeys>) {
    let world = World::new(61, 3);
    let world = world.with_session(setup::setup_session(&world.roster.keys));
    let keys = world.run(&Network::default(), |party| {
        let randomness = world.randomness(party.id, "set-up");
        async move { setup::run_once(&party, randomness).await }.boxed_local()
    });
    let keys: Vec<SharedKeys> = keys.into_iter().map(|keys| keys.unwrap().unwrap()).collect();
    let world = world.with_session(keys[0].session());
    let network = Network::default();
    let stock = world.run(&network, |party| {
        let keys = &keys[party.id.index()];
        let randomness = world.randomness(party.id, "batch");
        async move { preprocessing::prepare(&party, keys, SPEC, randomness).await }.boxed_local()
    });
    assert!(stock.into_iter().all(|stock| stock.unwrap().is_ok()));
    (network, keys)
}

/// All digests of a stage's messages that a party is shown in statements.
fn shown(network: &Network, to: u8, stage: usize) -> BTreeSet<Digest> {
    let statements = network.sent().into_iter().filter(|(recipient, message)| {
        let step = message.signed.header.tag.step;
        *recipient == PartyId(to) && step == Kind::TranscriptStatement.step()
    });
    let headers = statements.flat_map(|(_, message)| {
        wire::decode::<TranscriptStatement>(&message.body).unwrap().stages.into_iter().flatten()
    });
    let of_stage = headers
        .filter(|signed| signed.header.tag.step == Kind::shuffle_pair(stage).step())
        .map(|signed| signed.header.digest);
    of_stage.collect()
}

/// In every stage the third party knows all rows and masks of a message, and tries every order of
/// them. It meets what was sent, and no digest tells it so.
#[test]
fn stated_digests_are_no_test_of_the_permutation() {
    let (network, keys) = prepared();
    for (stage, pair) in STAGES.into_iter().enumerate() {
        let outsider = pair.outsider();
        let seeds = BatchSeeds::of_party(&keys[usize::from(outsider)], &SPEC);
        let table = match stage {
            0 => stages::input(&SPEC, &seeds),
            _ => output(&seeds, stage - 1, None),
        };
        let table = stages::next_input(&seeds, stage, &table);
        // A member whose share with the third party is derived: the third party has it at once.
        let derived = |member: &u8| table[Pair::of(*member, outsider).index()].is_some();
        let member = pair.members().into_iter().find(derived).expect("one of them");
        let sent = network.sent();
        let (_, sent) = sent
            .iter()
            .find(|(_, message)| {
                let header = &message.signed.header;
                (header.from.0, header.tag.step) == (member, Kind::shuffle_pair(stage).step())
            })
            .expect("members send");
        let stated = shown(&network, outsider, stage);
        assert!(stated.contains(&sent.signed.header.digest), "it is shown the digest");
        let mut right = 0;
        for index in orders(SPEC.shape.rows) {
            let permuting =
                Permuting { spec: &SPEC, seeds: &seeds, stage, index: &index, table: &table };
            let guess = permuting.masked(member, &mut Stored::default());
            let known = &guess[..guess.len() - SALT];
            right += u32::from(sent.body.starts_with(known));
            for guess in [known, &guess] {
                assert!(!stated.contains(&Header::digest_of(guess)), "stage {stage}: {index:?}");
            }
        }
        assert_eq!(right, 1, "stage {stage}: all but the salt follows from the permutation");
    }
}

/// Two messages never end alike, so a salt that becomes known, in a batch that is opened, is of use
/// for no other message.
#[test]
fn every_message_has_a_salt_of_its_own() {
    let (network, _) = prepared();
    let kinds = [0, 1, 2].map(|stage| Kind::shuffle_pair(stage).step());
    let sent = network.sent();
    let messages = sent.iter().filter(|(_, m)| kinds.contains(&m.signed.header.tag.step));
    let salts: BTreeSet<&[u8]> = messages.map(|(_, m)| &m.body[m.body.len() - SALT..]).collect();
    assert_eq!(salts.len(), 6);
}

//! What the third server can find out about a pair's factor from what it is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use futures::FutureExt;
use ostrakon_field::Fp61;
use ostrakon_party::Header;
use ostrakon_replicated::setup::{self, SharedKeys};
use ostrakon_testkit::{Network, World};

use super::*;
use crate::ruffle2::steps::SALT;
use crate::ruffle2::uses::UseId;

const ROWS: u32 = 4;
const JOB: JobName = JobName { number: 1, digest: Digest([5; 32]) };

#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Journal for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.0.lock().unwrap().entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }
}

fn bundle() -> Bundle {
    let permutation = Permutation { id: 0, rows: ROWS, mirrored: false };
    let id = |number| UseId { permutation: 0, number, inverse: false };
    Bundle::of([1, 2].map(|number| Use { id: id(number), permutation, words: 1 }).to_vec()).unwrap()
}

/// A slice as it is prepared, with everybody's keys.
fn prepared() -> (Network, Vec<SharedKeys>) {
    let world = World::new(62, 3);
    let world = world.with_session(setup::setup_session(&world.roster.keys));
    let keys = world.run(&Network::default(), |party| {
        let randomness = world.randomness(party.id, "set-up");
        async move { setup::run(&party, randomness).await }.boxed_local()
    });
    let keys: Vec<SharedKeys> = keys.into_iter().map(|keys| keys.unwrap().unwrap()).collect();
    let world = world.with_session(keys[0].session());
    let network = Network::default();
    let bundles = [bundle()];
    let done = world.run(&network, |party| {
        let seeds = JobSeeds::of_party(&keys[party.id.index()], &JOB);
        let randomness = world.randomness(party.id, "slice");
        let bundles = &bundles;
        async move {
            let journal = Memory::default();
            let run = |phase| Run { party: party.clone(), instance: JOB.instance(phase) };
            let permutations = [bundles[0].first().permutation];
            let stated =
                state_seeds(&run(Phase::Seeds), &JOB, &seeds, &permutations, &journal).await?;
            let slice = Slice { job: &JOB, number: 0, bundles, failing: Failing::Opens };
            let run = run(Phase::Slice(0));
            prepare::<Fp61>(&run, &seeds, &slice, &stated, randomness, &journal).await
        }
        .boxed_local()
    });
    assert!(done.into_iter().all(|prepared| prepared.unwrap().is_ok()));
    (network, keys)
}

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

/// In every stage the third server knows all rows and masks of a message, and tries every order of
/// them. It meets what was sent, and no digest tells it so.
#[test]
fn stated_digests_are_no_test_of_a_factor() {
    let (network, keys) = prepared();
    let bundle = bundle();
    let mut salts = BTreeSet::new();
    let sent = network.sent();
    for (stage, pair) in bundle.first().roles().stages().into_iter().enumerate() {
        let outsider = pair.outsider();
        let seeds = JobSeeds::of_party(&keys[usize::from(outsider)], &JOB);
        let previous = stage.checked_sub(1).map(|last| stage_output(&seeds, &bundle, last, None));
        let table = columns::stage_input(&seeds, &bundle, stage, previous.as_ref());
        let statements = sent.iter().filter(|(to, m)| {
            let step = m.signed.header.tag.step;
            to.0 == outsider && step == Kind::TranscriptStatement.step()
        });
        let stated: BTreeSet<Digest> = statements
            .flat_map(|(_, m)| wire::decode::<Vec<Headers>>(&m.body).unwrap())
            .flat_map(|headers| headers.into_iter().flatten())
            .map(|signed| signed.header.digest)
            .collect();
        for member in pair.members() {
            let (_, sent) = sent
                .iter()
                .find(|(_, m)| {
                    let header = &m.signed.header;
                    (header.from.0, header.tag.step) == (member, Kind::shuffle_pair(stage).step())
                })
                .expect("members send");
            assert!(stated.contains(&sent.signed.header.digest), "it is shown the digest");
            assert!(salts.insert(sent.body[bundle.bytes()..].to_vec()), "no two salts are alike");
            if table[Pair::of(member, outsider).index()].is_none() {
                // A share that came of messages; the third server has it too, but not from seeds.
                continue;
            }
            let mut right = 0;
            for index in orders(ROWS) {
                let seeds = &seeds;
                let permuting =
                    Permuting { bundle: &bundle, seeds, stage, index: &index, table: &table };
                let guess = permuting.masked::<Fp61>(member);
                right += u32::from(sent.body.starts_with(&guess));
                for end in [&[][..], &[0; SALT]] {
                    let digest = Header::digest_of(&[&guess, end].concat());
                    assert!(!stated.contains(&digest), "stage {stage}: {index:?}");
                }
            }
            assert_eq!(right, 1, "stage {stage}: all but the salt follows from the permutation");
        }
    }
}

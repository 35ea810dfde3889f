//! What the third server can find out about a pair's factor from what it is shown, who opens false
//! sums, and when coins are tossed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use futures::FutureExt;
use ostrakon_field::Fp61;
use ostrakon_party::{Header, Message};
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
    bundle_of(0)
}

/// Two uses of one permutation, others in each slice.
fn bundle_of(slice: u32) -> Bundle {
    let permutation = Permutation { id: 0, rows: ROWS, mirrored: false };
    let id = |number| UseId { permutation: 0, number, inverse: false };
    let uses = [1, 2].map(|use_of| Use { id: id(2 * slice + use_of), permutation, words: 1 });
    Bundle::of(uses.to_vec()).unwrap()
}

/// A slice as it is prepared, with everybody's keys.
fn prepared() -> (Network, Vec<SharedKeys>) {
    let network = Network::default();
    let (keys, done) = prepare_on(&network, 1);
    assert!(done.into_iter().all(|prepared| prepared.unwrap().is_ok()));
    (network, keys)
}

type Done = Vec<Option<Result<usize, Stop>>>;

/// Three servers after their set-up.
fn keyed() -> (World, Vec<SharedKeys>) {
    let world = World::new(62, 3);
    let world = world.with_session(setup::setup_session(&world.roster.keys));
    let keys = world.run(&Network::default(), |party| {
        let randomness = world.randomness(party.id, "set-up");
        async move { setup::run_once(&party, randomness).await }.boxed_local()
    });
    let keys: Vec<SharedKeys> = keys.into_iter().map(|keys| keys.unwrap().unwrap()).collect();
    let world = world.with_session(keys[0].session());
    (world, keys)
}

/// So many slices, one after the other, and how many uses each server has then.
fn prepare_on(network: &Network, slices: u32) -> (Vec<SharedKeys>, Done) {
    let (world, keys) = keyed();
    let done = world.run(network, |party| {
        let fresh = FreshSeeds::of_party(&keys[party.id.index()], &JOB);
        let randomness = |slice| world.randomness(party.id, &format!("slice {slice}"));
        let randomness: Vec<_> = (0..slices).map(randomness).collect();
        async move {
            let journal = Memory::default();
            let run = |phase| Run { party: party.clone(), instance: JOB.instance(phase) };
            let permutations = [bundle().first().permutation];
            let seeds = fresh.seeds();
            let stated =
                state_seeds(&run(Phase::Seeds), &JOB, seeds, &permutations, &journal).await?;
            let mut uses = 0;
            for (number, randomness) in (0..).zip(randomness) {
                let bundles = &[bundle_of(number)];
                let failing = Failing::Opens(&fresh);
                let slice = Slice { job: &JOB, number, bundles, failing };
                let run = run(Phase::Slice(number));
                let task = prepare::<Fp61>(&run, &slice, &stated, randomness, &journal);
                uses += run.with_accusations(task).await?.len();
            }
            Ok(uses)
        }
        .boxed_local()
    });
    (keys, done)
}

/// A server that has computed rightly opens a false sum, to which it has committed: that the check
/// fails is its doing alone, and the opened seeds say so.
#[test]
fn who_opens_a_false_sum_is_found() {
    for corrupt in 0..3 {
        let (world, keys) = keyed();
        let bundles = [bundle()];
        let ends = world.run(&Network::default(), |party| {
            let fresh = FreshSeeds::of_party(&keys[party.id.index()], &JOB);
            let randomness = world.randomness(party.id, "false sum");
            let bundles = &bundles;
            async move {
                let run = |phase| Run { party: party.clone(), instance: JOB.instance(phase) };
                let permutations = [bundles[0].first().permutation];
                let journal = Memory::default();
                let seeds = fresh.seeds();
                let stated =
                    state_seeds(&run(Phase::Seeds), &JOB, seeds, &permutations, &journal).await?;
                let failing = Failing::Opens(&fresh);
                let slice = Slice { job: &JOB, number: 0, bundles, failing };
                let run = run(Phase::Slice(0));
                if party.id.0 != corrupt {
                    return prepare::<Fp61>(&run, &slice, &stated, randomness, &journal)
                        .await
                        .map(drop);
                }
                let randomness = Secret::new(randomness);
                let factors = Factors::expand(seeds, bundles.iter().map(Bundle::first));
                let (stages, headers) =
                    shuffle_pairs::<Fp61>(&run, seeds, bundles, &factors).await?;
                let transcripts = countersign(&run, bundles, &headers).await?;
                let coin = coin::toss(&run, 0, &randomness).await?;
                let mut sums = masked_sums::<Fp61>(&run, &slice, &stages, &coin);
                sums[1] += Fp61::ONE;
                let own: Vec<u8> =
                    coin.0.into_iter().chain(ostrakon_field::to_table(sums)).collect();
                let kinds = (Kind::SumCommitment, Kind::SumOpening);
                let opened = coin::commit_and_open(&run, kinds, 0, [3; 32], &own).await?;
                let said = blame::Said { transcripts: &transcripts, coin: &coin, opened: &opened };
                Err(blame::open_slice::<Fp61>(&run, &fresh, &slice, &stated, said).await)
            }
            .boxed_local()
        });
        for party in (0..3).filter(|party| *party != usize::from(corrupt)) {
            let Some(Err(Stop::Broken(by, "its seeds"))) = &ends[party] else {
                panic!("P{corrupt}: {:?}", ends[party])
            };
            assert_eq!(by.0, corrupt);
        }
    }
}

/// Every slice has a coin of its own, to which nobody commits before all have countersigned what
/// was sent in that slice; sums are opened after it.
#[test]
fn each_slice_has_a_coin_that_is_tossed_when_its_messages_are_countersigned() {
    let network = Network::default();
    let (_, done) = prepare_on(&network, 3);
    assert!(done.into_iter().all(|uses| uses.unwrap().unwrap() == 6));
    let sent = network.sent();
    let mut coins = BTreeSet::new();
    for slice in 0..3 {
        let instance = JOB.instance(Phase::Slice(slice));
        let of = |kind: Kind| {
            let tag = |message: &Message| message.signed.header.tag;
            let of_kind = sent.iter().map(|(_, message)| message).filter(move |message| {
                (tag(message).instance, tag(message).step) == (instance, kind.step())
            });
            of_kind.collect::<Vec<_>>()
        };
        let depth = |kind: Kind| {
            let depths: Vec<u32> = of(kind).iter().map(|message| message.depth).collect();
            (*depths.iter().min().unwrap(), *depths.iter().max().unwrap())
        };
        assert!(depth(Kind::shuffle_pair(2)).1 < depth(Kind::CoinCommitment).0, "slice {slice}");
        let order = [
            Kind::TranscriptStatement,
            Kind::CoinCommitment,
            Kind::CoinOpening,
            Kind::SumCommitment,
            Kind::SumOpening,
        ];
        for two in order.windows(2) {
            assert!(depth(two[0]).1 < depth(two[1]).0, "slice {slice}: {two:?}");
        }
        let opened = of(Kind::CoinOpening);
        coins.extend(opened.iter().map(|message| message.body.to_vec()));
    }
    assert_eq!(coins.len(), 9, "three contributions to each of three coins");
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
        let seeds = FreshSeeds::of_party(&keys[usize::from(outsider)], &JOB).into_seeds();
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

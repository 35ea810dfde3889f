//! Everybody honest: the output is right, uniformly permuted, and costs what the formulas say.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::*;
use futures::FutureExt;
use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, Step, wire};
use ostrakon_replicated::Stock;
use ostrakon_replicated::cost;
use ostrakon_replicated::epoch::{self, Opened, Unmixed};
use ostrakon_replicated::fault::Statement;
use ostrakon_replicated::messages::{BatchSpec, Kind};
use ostrakon_testkit::{Network, Wire};

fn boards(opened: Vec<Option<Result<Opened, Unmixed>>>) -> Vec<Opened> {
    opened.into_iter().map(|opened| opened.expect("not waiting").expect("not stopped")).collect()
}

#[test]
fn every_row_comes_out_once_and_absent_slots_are_noise() {
    let deployment = Deployment::new(1);
    let spec = batch(1, 13, 48);
    let stock = deployment.stock(spec);
    let epoch = epoch_of(spec, 2, false);
    let rows = rows_of([0, 1, 2, 5, 7, 12], 48);
    let slots = deployment.slots(&stock, &epoch, &rows);
    let opened = boards(deployment.epoch(
        &Network::default(),
        &stock,
        epoch,
        |_| slots.clone(),
        &Default::default(),
    ));
    for party in &opened {
        assert_eq!(party.table, opened[0].table, "all three hold the same board");
        assert_eq!(party.accepted, 6);
        assert!(party.faults.is_empty() && party.trusted.is_none());
        assert_eq!(recognised(&party.table, &rows), [0, 1, 2, 5, 7, 12]);
    }
}

/// Bytes of bodies posted under some steps, by all parties.
fn bytes(network: &Network, kinds: &[Kind]) -> u64 {
    let steps: Vec<Step> = kinds.iter().map(|kind| kind.step()).collect();
    let posted =
        network.sent().into_iter().filter(|(_, m)| steps.contains(&m.signed.header.tag.step));
    posted.map(|(_, m)| m.body.len() as u64).sum()
}

#[test]
fn bytes_and_rounds_are_those_of_the_formulas() {
    for (rows, width) in [(3, 24), (8, 48), (50, 48), (64, 272)] {
        let deployment = Deployment::new(2);
        let spec = batch(1, rows, width);
        let shape = spec.shape;
        let network = Network::default();
        let rounds = deployment.world.run(&network, |party| {
            let keys = deployment.keys_of(party.id);
            let randomness = deployment.world.randomness(party.id, "batch");
            async move {
                ostrakon_replicated::preprocessing::prepare(&party, &keys, spec, randomness)
                    .await
                    .unwrap();
                party.meter.rounds(spec.instance())
            }
            .boxed_local()
        });
        let stages = [Kind::ShufflePair1, Kind::ShufflePair2, Kind::ShufflePair3];
        let per_row = u64::from(width) + 8;
        let salts = 6 * 32;
        let messages = 6 * u64::from(rows) * per_row + salts;
        assert_eq!(bytes(&network, &stages), messages, "6N(ℓ + 64) bits");
        let all: u64 = network.sent().iter().map(|(_, m)| m.body.len() as u64).sum();
        assert!(cost::preprocessing(shape).admits(all), "{all} bytes for {shape:?}");
        assert_eq!(rounds.into_iter().flatten().max(), Some(cost::PREPROCESSING_ROUNDS));

        let epoch = epoch_of(spec, 1, false);
        let stock = deployment.stock(spec);
        let slots = deployment.slots(&stock, &epoch, &rows_of([0, 1, 2], width));
        let network = Network::default();
        boards(deployment.epoch(&network, &stock, epoch, |_| slots.clone(), &Default::default()));
        let tables = [Kind::Delta02, Kind::Delta01, Kind::Delta12];
        let digests = [Kind::Delta02Digest, Kind::Delta01Digest, Kind::Delta12Digest];
        assert_eq!(bytes(&network, &tables), 3 * shape.bytes() as u64, "3Nℓ bits");
        assert!(
            (96..=96 + cost::SIGNED_HEADER).contains(&bytes(&network, &digests)),
            "three digests and a header"
        );
        assert_eq!(bytes(&network, &[Kind::Pads]), 3 * 32 * u64::from(rows));
        assert_eq!(bytes(&network, &[Kind::LastTable, Kind::LastSeed]), shape.bytes() as u64 + 64);
        let all: u64 = network.sent().iter().map(|(_, m)| m.body.len() as u64).sum();
        assert!(cost::epoch(shape, 3).admits(all), "{all} bytes for {shape:?}");
    }
}

/// A message is of the round after the last message that its sender waited for. β is agreed in
/// round `d`; then the shuffle's three tables and digests are of rounds `d + 1` and `d + 2` (Fig.
/// 4).
#[test]
fn the_shuffle_takes_two_rounds() {
    let deployment = Deployment::new(3);
    let epoch = epoch_of(batch(1, 8, 48), 1, false);
    let stock = deployment.stock(epoch.batch);
    let slots = deployment.slots(&stock, &epoch, &rows_of([0, 1, 2], 48));
    let network = Network::default();
    boards(deployment.epoch(&network, &stock, epoch, |_| slots.clone(), &Default::default()));
    let depth = |kind: Kind| {
        let posted =
            network.sent().into_iter().filter(|(_, m)| m.signed.header.tag.step == kind.step());
        posted.map(|(_, m)| m.depth).max().unwrap()
    };
    let vote = depth(Kind::TableVote);
    assert_eq!([Kind::Delta02, Kind::Delta02Digest, Kind::Delta01].map(depth), [vote + 1; 3]);
    assert_eq!([Kind::Delta01Digest, Kind::Delta12, Kind::Delta12Digest].map(depth), [vote + 2; 3]);
    assert_eq!(depth(Kind::Ready), vote + 3, "verification");
}

/// On links of 40 ms an epoch takes as long as its rounds, from lists to the opened table: nine.
#[test]
fn an_epoch_takes_nine_rounds_of_latency() {
    let deployment = Deployment::new(8);
    let epoch = epoch_of(batch(1, 8, 48), 1, false);
    let stock = deployment.stock(epoch.batch);
    let slots = deployment.slots(&stock, &epoch, &rows_of([0, 1, 2], 48));
    let network = Network::default();
    let latency = Duration::from_millis(40);
    network.wires(Wire { latency, bytes_per_second: u64::MAX });
    boards(deployment.epoch(&network, &stock, epoch, |_| slots.clone(), &Default::default()));
    let rounds = network.elapsed().as_millis() / latency.as_millis();
    assert_eq!(rounds, 9);
}

/// On narrow links an epoch takes at least the three tables that follow each other (δ_02, δ_12, the
/// share of α_out for P0), and less than all its bytes one after another.
#[test]
fn an_epoch_takes_the_time_of_its_longest_chain_of_tables() {
    let deployment = Deployment::new(9);
    let epoch = epoch_of(batch(1, 64, 272), 1, false);
    let stock = deployment.stock(epoch.batch);
    let slots = deployment.slots(&stock, &epoch, &rows_of([0, 1, 2], 272));
    let network = Network::default();
    let bytes_per_second = 100_000;
    network.wires(Wire { latency: Duration::ZERO, bytes_per_second });
    boards(deployment.epoch(&network, &stock, epoch, |_| slots.clone(), &Default::default()));
    let seconds = |bytes: u64| Duration::from_secs_f64(bytes as f64 / bytes_per_second as f64);
    let all: u64 = network.sent().iter().map(|(_, m)| m.body.len() as u64).sum();
    let table = epoch.batch.shape.bytes() as u64;
    assert!(network.elapsed() >= seconds(3 * table), "{:?}", network.elapsed());
    assert!(network.elapsed() < seconds(all), "{:?}", network.elapsed());
}

fn permutations() -> BTreeMap<Vec<u32>, usize> {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    orders.into_iter().map(Vec::from).zip(0..).collect()
}

/// Pearson's statistic against equal probabilities.
fn chi_square(counts: &[u32]) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum()
}

/// The permutation of the whole pipeline is uniform over S_3, and every server's view is
/// independent of it.
///
/// The view's features are bits of everything that a server received in preprocessing and online.
/// Thresholds are the 1 - 10^-6 quantiles of chi-square with 5 and 15 degrees of freedom; the seeds
/// are fixed, so the test is not a gamble.
#[test]
fn the_permutation_is_uniform_and_no_view_tells_it() {
    let runs = if ostrakon_testkit::nightly() { 6000 } else { 600 };
    let deployment = Deployment::new(4);
    let rows = rows_of([0, 1, 2], 24);
    let index = permutations();
    let mut counts = [0u32; 6];
    let mut joint = [[[0u32; 4]; 6]; 3];
    for number in 0..runs {
        let spec = batch(number, 3, 24);
        let epoch = epoch_of(spec, 1, false);
        let (prepared, online) = (Network::default(), Network::default());
        let stock: Vec<Vec<u8>> = deployment
            .prepare(&prepared, spec)
            .into_iter()
            .map(|s| s.unwrap().unwrap().to_bytes())
            .collect();
        let slots = deployment.slots(&stock, &epoch, &rows);
        let opened = boards(deployment.epoch(
            &online,
            &stock,
            epoch,
            |_| slots.clone(),
            &Default::default(),
        ));
        let order: Vec<u32> = opened[0]
            .table
            .chunks(24)
            .map(|row| {
                *rows.iter().find(|(_, expected)| *expected == row).expect("no slot is absent").0
            })
            .collect();
        let permutation = index[&order];
        counts[permutation] += 1;
        for (party, joint) in (0..3).map(PartyId).zip(&mut joint) {
            joint[permutation][view(party, &prepared) ^ view(party, &online)] += 1;
        }
    }
    let uniform = chi_square(&counts);
    assert!(uniform < 35.9, "chi-square {uniform} over {counts:?}");
    for (party, table) in joint.iter().enumerate() {
        let cells: f64 = independence(table);
        assert!(
            cells < 56.5,
            "P{party}'s view tells something of the permutation: chi-square {cells}"
        );
    }
}

/// Two bits of the tables that a party received: of the first and of the last row.
fn view(party: PartyId, network: &Network) -> usize {
    let tables = [
        Kind::ShufflePair1,
        Kind::ShufflePair2,
        Kind::ShufflePair3,
        Kind::Delta02,
        Kind::Delta01,
        Kind::Delta12,
    ];
    let steps = tables.map(Kind::step);
    let received = network
        .sent()
        .into_iter()
        .filter(|(to, m)| *to == party && steps.contains(&m.signed.header.tag.step));
    received.fold(0, |bits, (_, m)| {
        bits ^ usize::from(m.body[0] & 1) ^ usize::from(m.body[48] & 1) << 1
    })
}

fn independence(table: &[[u32; 4]; 6]) -> f64 {
    let total: f64 = table.iter().flatten().map(|c| f64::from(*c)).sum();
    let row = |i: usize| table[i].iter().map(|c| f64::from(*c)).sum::<f64>();
    let column = |j: usize| table.iter().map(|r| f64::from(r[j])).sum::<f64>();
    let cell = |i: usize, j: usize| {
        let expected = row(i) * column(j) / total;
        (f64::from(table[i][j]) - expected).powi(2) / expected
    };
    (0..6).flat_map(|i| (0..4).map(move |j| (i, j))).map(|(i, j)| cell(i, j)).sum()
}

/// Any order of arrival gives the same result: an adversary delays every message at will.
#[test]
fn any_schedule_ends_well() {
    let deployment = Deployment::new(5);
    let epoch = epoch_of(batch(1, 6, 24), 1, false);
    let stock = deployment.stock(epoch.batch);
    let slots = deployment.slots(&stock, &epoch, &rows_of([0, 1, 2, 4], 24));
    for seed in 0..60u64 {
        let network = Network::default();
        let mut draw = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        network.schedule(move |_, _| {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            (draw % 4) as u32
        });
        let opened = boards(deployment.epoch(
            &network,
            &stock,
            epoch,
            |_| slots.clone(),
            &Default::default(),
        ));
        assert_eq!(
            recognised(&opened[0].table, &rows_of([0, 1, 2, 4], 24)),
            [0, 1, 2, 4],
            "schedule {seed}"
        );
        assert!(opened.iter().all(|o| o.table == opened[0].table), "schedule {seed}");
    }
}

/// Runs what `start` makes until the party has posted `posts` messages, then forgets it, as a crash
/// would, and runs it from the start.
async fn crash_after<T>(
    network: &Network,
    party: PartyId,
    posts: usize,
    start: impl AsyncFn() -> T,
) -> T {
    {
        let mut first = std::pin::pin!(start());
        let crashed = std::future::poll_fn(|context| {
            let polled = first.as_mut().poll(context);
            if network.posted(party) > posts {
                return std::task::Poll::Ready(None);
            }
            polled.map(Some)
        });
        if let Some(value) = crashed.await {
            return value;
        }
    }
    network.restart(party);
    start().await
}

/// A server that crashes after any of its messages and starts again with its marks finishes the
/// epoch, and spends the batch on one table only.
#[test]
fn a_crash_at_any_message_is_survived() {
    let deployment = Deployment::new(6);
    let epoch = epoch_of(batch(1, 6, 24), 1, false);
    let stock = deployment.stock(epoch.batch);
    let slots = deployment.slots(&stock, &epoch, &rows_of([0, 1, 2, 4], 24));
    let calm = Network::default();
    boards(deployment.epoch(&calm, &stock, epoch, |_| slots.clone(), &Default::default()));
    for victim in (0..3).map(PartyId) {
        for posts in 0..calm.posted(victim) {
            let network = Network::default();
            let marks: [Memory; 3] = Default::default();
            let (network, stock, slots, marks) = (&network, &stock, &slots, &marks);
            let world = &deployment.world;
            let opened = world.run(network, |party| {
                let limit = if party.id == victim { posts } else { usize::MAX };
                async move {
                    let id = party.id;
                    crash_after(network, id, limit, async || {
                        let own = Stock::from_bytes(&stock[id.index()], &world.roster).unwrap();
                        let randomness = world.randomness(id, "trusted");
                        let mixed = epoch::mix(
                            &party,
                            own,
                            epoch,
                            slots.clone(),
                            &marks[id.index()],
                            randomness,
                        )
                        .await;
                        mixed.map(epoch::Mixed::open).unwrap().await
                    })
                    .await
                }
                .boxed_local()
            });
            let opened: Vec<Opened> = opened
                .into_iter()
                .map(|o| {
                    o.unwrap_or_else(|| {
                        panic!("{victim} crashed after {posts} posts: somebody waits")
                    })
                })
                .collect();
            assert!(
                opened.iter().all(|o| o.table == opened[0].table),
                "{victim} crashed after {posts} posts"
            );
            assert!(
                opened.iter().all(|o| o.faults.is_empty()),
                "{victim} crashed after {posts} posts: blamed"
            );
            assert_eq!(recognised(&opened[0].table, &rows_of([0, 1, 2, 4], 24)), [0, 1, 2, 4]);
            let spent: Vec<Vec<u8>> = marks
                .iter()
                .map(|m| m.0.lock().unwrap()[&epoch::spent_mark(&epoch)].clone())
                .collect();
            assert!(spent.iter().all(|digest| *digest == spent[0]), "one batch, one table");
        }
    }
}

/// A batch that is marked as spent on one table is not used on another.
#[test]
fn a_spent_batch_is_refused() {
    let deployment = Deployment::new(7);
    let spec = batch(1, 6, 24);
    let stock = deployment.stock(spec);
    let marks: [Memory; 3] = Default::default();
    let mut first = epoch_of(spec, 1, false);
    let slots = deployment.slots(&stock, &first, &rows_of([0, 1, 2], 24));
    boards(deployment.epoch(&Network::default(), &stock, first, |_| slots.clone(), &marks));
    first.number += 1;
    first.context.0[0] ^= 1;
    let slots = deployment.slots(&stock, &first, &rows_of([0, 1, 4], 24));
    let network = Network::default();
    for result in deployment.epoch(&network, &stock, first, |_| slots.clone(), &marks) {
        assert_eq!(result.unwrap().err(), Some(Unmixed::Spent));
    }
    assert_eq!(
        bytes(&network, &[Kind::Delta02, Kind::Delta01, Kind::Delta12]),
        0,
        "nothing is permuted"
    );
}

/// A file in which statements stand where others belong is refused, though all of them are signed.
#[test]
fn stock_with_statements_in_wrong_places_is_refused() {
    let deployment = Deployment::new(10);
    let spec = batch(1, 6, 24);
    let bytes = deployment.stock(spec)[0].clone();
    // As `stock::Encoded` is laid out, after its length: party, batch, seeds, B1, B5, digest. P0
    // has no table behind it.
    type Layout = (u8, BatchSpec, [[u8; 32]; 2], [[Statement; 3]; 2], Digest);
    let written = |layout: &Layout| {
        let header = wire::encode(layout);
        [&(header.len() as u64).to_le_bytes(), &header[..]].concat()
    };
    let layout: Layout = wire::decode(&bytes[8..]).unwrap();
    assert_eq!(written(&layout), bytes);
    let mut kinds_swapped = layout.clone();
    kinds_swapped.3.swap(0, 1);
    let mut parties_swapped = layout.clone();
    parties_swapped.3[0].swap(1, 2);
    let mut another_batch = layout.clone();
    another_batch.1.number += 1;
    for changed in [kinds_swapped, parties_swapped, another_batch] {
        assert!(Stock::from_bytes(&written(&changed), &deployment.world.roster).is_err());
    }
}

//! Preprocessing of one batch (Ruffle-1; Ruffle Figs. 3, 4 and 9, with the checks of
//! `docs/spec/ruffle.md`).
//!
//! Outputs the pair seeds, from which π and the masks follow, and shares of `α_out = π(α) ⊕ R`. Any
//! number of batches may be prepared at once; they share nothing.

use bytes::Bytes;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_field::Gf64;
use ostrakon_party::{Header, Party, Received, wire};

use crate::accusation::blame::Said;
use crate::accusation::fault::{Evidence, Stop};
use crate::batch::seeds::BatchSeeds;
use crate::batch::set_equality::{self, Stage};
use crate::batch::shares::Stored;
use crate::batch::shuffle_pair::{self, Permuting};
use crate::batch::stages::{input, last_table, next_input};
use crate::batch::statements::{coin_of, pair_statement, stated, sum_of};
use crate::coin;
use crate::messages::{BatchSpec, Kind, PairStatement, STAGES, Subject, TranscriptStatement};
use crate::pair::Pair;
use crate::preparation::failed::open_batch;
use crate::preparation::setup::SharedKeys;
use crate::preparation::stock::Stock;
use crate::run::Run;

pub use crate::batch::statements::{slot_leaves, slots_root};

/// Prepares a batch. `randomness` is 32 fresh random bytes, used for this batch alone.
///
/// # Errors
/// [`Stop::Fault`] names the cheater with evidence; the batch is then worthless and its number
/// spent.
pub async fn prepare(
    party: &Party,
    keys: &SharedKeys,
    spec: BatchSpec,
    randomness: [u8; 32],
) -> Result<Stock, Stop> {
    let run = Run { party: party.clone(), subject: Subject::Batch(spec) };
    let seeds = BatchSeeds::of_party(keys, &spec);
    run.with_accusations(prepare_checked(&run, spec, seeds, Secret::new(randomness))).await
}

async fn prepare_checked(
    run: &Run,
    spec: BatchSpec,
    seeds: BatchSeeds,
    randomness: Secret,
) -> Result<Stock, Stop> {
    let statements = state_seeds(run, &spec, &seeds).await?;
    let (stages, headers, last) = shuffle(run, &spec, &seeds).await?;
    // Everything sent and received is countersigned before the coin is tossed.
    let transcript = TranscriptStatement {
        stages: headers,
        last_table: last.as_ref().map_or(Digest([0; 32]), |table| Header::digest_of(table)),
    };
    let transcripts = run.broadcast(Kind::TranscriptStatement, wire::encode(&transcript)).await?;
    let agreed_last = compare_transcripts(run, &transcripts)?;
    let draw = |purpose: &'static [u8]| {
        *randomness.derive("ostrakon/v1/ruffle/batch randomness", &[purpose]).expose()
    };
    let (coin, coins) = coin::toss(run, draw(b"coin nonce"), draw(b"coin")).await?;
    let sums = set_equality::local_sums(run.me(), &spec, &seeds, &coin, &stages);
    drop(stages);
    let own: Vec<u8> =
        coin.0.into_iter().chain(sums.iter().flat_map(|sum| sum.to_le_bytes())).collect();
    let steps = (Kind::SumCommitment.step(), Kind::SumOpening.step());
    let sums = coin::commit_and_open(run, steps, draw(b"sum nonce"), &own).await?;
    let cancel = (0..3).all(|stage| {
        sums.iter().map(|opening| sum_of(&opening.body, stage)).sum::<Gf64>() == Gf64::ZERO
    });
    let zero = cancel && sums.iter().all(|opening| coin_of(&opening.body) == coin);
    match agreed_last {
        Some(digest) if zero => Ok(Stock::new(
            run.me(),
            spec,
            seeds,
            &statements,
            &transcripts,
            last.map(Bytes::from),
            digest,
        )),
        _ => {
            let said = Said {
                statements: &statements,
                transcripts: &transcripts,
                coins: &coins,
                sums: &sums,
            };
            Err(open_batch(run, &spec, &seeds, said).await.into())
        }
    }
}

/// Both members of every pair state digests of its seeds and the root of its slots.
async fn state_seeds(
    run: &Run,
    spec: &BatchSpec,
    seeds: &BatchSeeds,
) -> Result<[Received; 3], Stop> {
    let session = run.party.roster.session.0;
    let own =
        Pair::of_party(run.me()).map(|pair| pair_statement(spec, &session, pair, seeds.of(pair)));
    let statements = run.broadcast(Kind::SeedStatement, PairStatement::encode(&own)).await?;
    for pair in Pair::ALL {
        let [x, y] = pair
            .members()
            .map(|member| stated(&statements[usize::from(member)].body, member, pair));
        if x != y {
            return Err(Stop::Disagreement(pair));
        }
    }
    Ok(statements)
}

type Shuffled = ([Stage; 3], [[ostrakon_party::SignedHeader; 2]; 2], Option<Vec<u8>>);

/// Three Shuffle-Pairs (Fig. 3). Returns the tables to check, the signed headers of both messages
/// of the own stages, and, at P1 and P2, the share `[α_out]_12`.
async fn shuffle(run: &Run, spec: &BatchSpec, seeds: &BatchSeeds) -> Result<Shuffled, Stop> {
    let mut headers = Vec::new();
    let mut stages = Vec::new();
    let mut last = None;
    let (mut scratch, mut permuted) = (Stored::default(), Stored::default());
    let mut table = input(spec, seeds);
    for (stage, pair) in STAGES.into_iter().enumerate() {
        let before = next_input(seeds, stage, &table);
        let mut combined = None;
        if pair.contains(run.me()) {
            let index = seeds.of(pair).permutation(spec.shape.rows);
            let permuting = Permuting { spec, seeds, stage, index: &index, table: &before };
            let own = Bytes::from(permuting.message(run.me(), &mut scratch));
            let peer = pair.other(run.me());
            let sent = run.send(peer, Kind::shuffle_pair(stage), own.clone());
            // While the messages travel, what does not depend on the peer's.
            permuting.permute(&mut scratch, &mut permuted);
            permuted.add(&own);
            let received = run.receive(peer, Kind::shuffle_pair(stage)).await?;
            let mut stored = Stored::of_message(received.body.into(), spec.shape);
            stored.add(permuted.as_message());
            if stage == 2 {
                last = Some(last_table(spec, seeds, &index, &stored, &mut scratch));
            }
            combined = Some(stored);
            let lower_first = run.me() < peer;
            headers.push(if lower_first {
                [sent, received.signed]
            } else {
                [received.signed, sent]
            });
        }
        table = shuffle_pair::output(seeds, stage, combined);
        stages.push(Stage { before, after: table.clone() });
    }
    let stages = stages.try_into().ok().expect("three stages");
    let headers = headers.try_into().expect("every party is in two stages");
    Ok((stages, headers, last))
}

/// Compares what the two members of every pair say they exchanged. Returns the digest of
/// `[α_out]_12` if P1 and P2 state the same; if not, the opened seeds will tell who is wrong.
fn compare_transcripts(run: &Run, transcripts: &[Received; 3]) -> Result<Option<Digest>, Stop> {
    let decoded: Vec<TranscriptStatement> = transcripts
        .iter()
        .map(|received| wire::decode(&received.body).expect("receiving has checked the content"))
        .collect();
    for (stage, pair) in STAGES.into_iter().enumerate() {
        let [x, y] = pair.members().map(|member| {
            let place = usize::from(crate::messages::stages_of(member)[1] == stage);
            decoded[usize::from(member)].stages[place]
        });
        for (a, b) in x.into_iter().zip(y) {
            if a.contradicts(&b) {
                let evidence = Evidence::Equivocation(Box::new([a, b]));
                return Err(run.fault(a.header.from, evidence).into());
            }
        }
    }
    let [x, y] = [1, 2].map(|party: usize| decoded[party].last_table);
    Ok((x == y).then_some(x))
}

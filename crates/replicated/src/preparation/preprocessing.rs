//! Preprocessing of one batch (Ruffle-1; Ruffle Figs. 3, 4 and 9, with the checks of
//! `docs/spec/ruffle.md`).
//!
//! Outputs the pair seeds, from which π and the masks follow, and shares of `α_out = π(α) ⊕ R`. Any
//! number of batches may be prepared at once; they share nothing.

use std::sync::Arc;

use bytes::Bytes;
use ostrakon_crypto::{Digest, Secret, merkle};
use ostrakon_field::Gf64;
use ostrakon_kernels::{gather, xor_into, zeroed_table};
use ostrakon_party::{Header, Party, Received, wire};

use crate::accusation::blame;
use crate::accusation::fault::{Evidence, Stop};
use crate::coin::{self, seed_digest};
use crate::messages::{
    BatchSpec, Inputs, Kind, PairStatement, STAGES, Subject, TranscriptStatement,
};
use crate::pair::Pair;
use crate::preparation::seeds::{BatchSeeds, PairSeed, Purpose};
use crate::preparation::set_equality::{self, Stage};
use crate::preparation::setup::SharedKeys;
use crate::preparation::shares::{Derived, Share, Shares, Stored};
use crate::preparation::shuffle_pair::{self, Permuting};
use crate::preparation::stock::Stock;
use crate::run::Run;
use crate::slots::{self, SlotSeeds, SlotsContext};

/// What both members of a pair state about its seeds.
pub fn pair_statement(
    spec: &BatchSpec,
    session: &Digest,
    pair: Pair,
    seed: &PairSeed,
) -> PairStatement {
    let of = |purpose| seed_digest(seed.purpose(purpose).expose());
    PairStatement {
        batch: seed_digest(seed.expose()),
        permutation: of(Purpose::Permutation),
        mask: of(Purpose::Mask),
        last: of(Purpose::Reshare(2)),
        slots: match spec.inputs {
            Inputs::Stream => Digest([0; 32]),
            Inputs::Slots => merkle::root(slot_leaves(spec, session, pair, seed)),
        },
    }
}

/// The leaves of a pair's slots, in order.
pub fn slot_leaves(spec: &BatchSpec, session: &Digest, pair: Pair, seed: &PairSeed) -> Vec<Digest> {
    use rayon::prelude::*;
    let context = SlotsContext::new(session, spec.number, pair);
    let prg = slots::slots_prg(&seed.purpose(Purpose::Inputs));
    (0..spec.shape.rows)
        .into_par_iter()
        .with_min_len(1024)
        .map(|slot| SlotSeeds::derive(&prg, slot).leaf(&context, slot))
        .collect()
}

/// The input of the first stage: shares of `ρ_1 = α ⊕ R_02` with weights.
pub fn input(spec: &BatchSpec, seeds: &BatchSeeds) -> Shares {
    Pair::ALL.map(|pair| {
        let seed = seeds.get(pair)?;
        let stream = Arc::new(seed.prg(Purpose::Inputs));
        let (rows, slots) = match spec.inputs {
            Inputs::Stream => (vec![stream], None),
            Inputs::Slots => (Vec::new(), Some(stream)),
        };
        let share = Share::Derived(Arc::new(Derived {
            rows,
            slots,
            weights: Arc::new(seed.prg(Purpose::Weights)),
        }));
        if pair == Pair::P02 {
            share.with_mask(Arc::new(seed.prg(Purpose::Mask)))
        } else {
            Some(share)
        }
    })
}

/// The input of the next stage from the output of the one before: the second stage adds R_01 (Fig.
/// 3, step 2).
pub fn next_input(seeds: &BatchSeeds, stage: usize, output: &Shares) -> Shares {
    let mut input = output.clone();
    if stage == 1
        && let (Some(share), Some(seed)) = (&output[Pair::P01.index()], seeds.get(Pair::P01))
    {
        input[Pair::P01.index()] = share.with_mask(Arc::new(seed.prg(Purpose::Mask)));
    }
    input
}

/// The rows of `[α_out]_12 = [ρ_5]_12 ⊕ π_12(R_12)` (Fig. 3, step 4). `scratch` is overwritten.
pub fn last_table(
    spec: &BatchSpec,
    seeds: &BatchSeeds,
    index: &[u32],
    rho5: &Stored,
    scratch: &mut Stored,
) -> Vec<u8> {
    scratch.make_room(spec.shape);
    let (mask, _) = scratch.parts_mut();
    seeds.of(Pair::P12).prg(Purpose::Mask).fill(mask);
    let mut rows = zeroed_table(spec.shape.bytes());
    gather(&mut rows, mask, spec.shape.width as usize, index);
    xor_into(&mut rows, rho5.rows());
    rows
}

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
            let said = blame::Said {
                statements: &statements,
                transcripts: &transcripts,
                coins: &coins,
                sums: &sums,
            };
            Err(blame::open_batch(run, &spec, &seeds, said).await.into())
        }
    }
}

/// A party's opened local sum of a stage.
pub fn sum_of(opening: &[u8], stage: usize) -> Gf64 {
    let words = &coin::value_of(opening)[32..];
    Gf64::from_le_bytes(words[8 * stage..8 * stage + 8].try_into().expect("three words"))
}

/// The coin with which a party says that it computed its local sums. It binds the sums to the coin
/// before a third person, to whom a cheater could show another coin.
pub fn coin_of(opening: &[u8]) -> Digest {
    Digest(coin::value_of(opening)[..32].try_into().expect("a coin, then three words"))
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

/// What a member's statement says about a pair.
pub fn stated(body: &[u8], member: u8, pair: Pair) -> PairStatement {
    PairStatement::decode(body)[usize::from(Pair::of_party(member)[1] == pair)]
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

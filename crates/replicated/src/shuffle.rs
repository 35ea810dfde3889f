//! The online shuffle (Ruffle Fig. 4): two rounds, every table from one sender and its digest from another.

use futures::future::join;
use ostrakon_party::{Header, Received};

use crate::blame::{Conflict, Delta, permute};
use crate::dispute::Known;
use crate::fault::Statement;
use crate::messages::Shape;
use crate::run::Run;
use crate::seeds::{BatchSeeds, Purpose};

/// How the shuffle ends without an abort.
pub enum Shuffled {
    /// The table β_out = δ_12.
    Done(Vec<u8>),
    /// Two servers' statements about a table differ; see [`crate::dispute`].
    Disputed(Box<Conflict>),
}

/// Runs the shuffle on `beta`. `known` collects what a dispute would need.
///
/// # Errors
/// Evidence against a peer whose message is malformed.
pub async fn shuffle(
    run: &Run,
    shape: Shape,
    seeds: &BatchSeeds,
    beta: Vec<u8>,
    known: &mut Known,
) -> Result<Shuffled, crate::fault::Fault> {
    match run.me() {
        0 => shuffle_p0(run, shape, seeds, beta, known).await,
        1 => shuffle_p1(run, shape, seeds, known).await,
        _ => shuffle_p2(run, shape, seeds, beta, known).await,
    }
}

/// δ from the table before it, with the seeds of δ's pair.
fn apply(shape: Shape, seeds: &BatchSeeds, delta: Delta, table: Vec<u8>) -> Vec<u8> {
    let seed = seeds.of(delta.pair());
    let index = seed.permutation(shape.rows);
    permute(shape, &index, &seed.prg(Purpose::Mask), table)
}

fn send_table(run: &Run, known: &mut Known, delta: Delta, to: u8, table: &[u8]) {
    let signed = run.send(to, delta.kinds().0, table.to_vec());
    known.say(delta, Statement { signed, body: Vec::new() });
}

fn send_digest(run: &Run, known: &mut Known, delta: Delta, to: u8, table: &[u8]) {
    let digest = Header::digest_of(table).0.to_vec();
    let signed = run.send(to, delta.kinds().1, digest.clone());
    known.say(delta, Statement { signed, body: digest });
}

/// Receives a table and its digest from their two senders.
async fn receive(
    run: &Run,
    known: &mut Known,
    delta: Delta,
) -> Result<Result<Received, Conflict>, crate::fault::Fault> {
    let ((table_from, digest_from), (table_kind, digest_kind)) = (delta.senders(), delta.kinds());
    let (table, digest) = join(run.receive(table_from, table_kind), run.receive(digest_from, digest_kind)).await;
    let (table, digest) = (table?, digest?);
    let digest = Statement::from(&digest);
    if digest.body != table.digest().0 {
        return Ok(Err(Conflict { delta, table: table.signed, digest }));
    }
    known.hear(delta, Statement { signed: table.signed, body: Vec::new() }, digest);
    Ok(Ok(table))
}

/// P0: digest of δ_02 to P1 and δ_01 to P2 in round 1; receives δ_12.
async fn shuffle_p0(
    run: &Run,
    shape: Shape,
    seeds: &BatchSeeds,
    beta: Vec<u8>,
    known: &mut Known,
) -> Result<Shuffled, crate::fault::Fault> {
    let d02 = apply(shape, seeds, Delta::D02, beta);
    send_digest(run, known, Delta::D02, 1, &d02);
    known.d02 = Some(d02.clone());
    let d01 = apply(shape, seeds, Delta::D01, d02);
    send_table(run, known, Delta::D01, 2, &d01);
    known.d01 = Some(d01);
    Ok(match receive(run, known, Delta::D12).await? {
        Ok(d12) => Shuffled::Done(d12.body.to_vec()),
        Err(conflict) => Shuffled::Disputed(Box::new(conflict)),
    })
}

/// P1: receives δ_02; digest of δ_01 to P2 and δ_12 to P0 in round 2.
async fn shuffle_p1(
    run: &Run,
    shape: Shape,
    seeds: &BatchSeeds,
    known: &mut Known,
) -> Result<Shuffled, crate::fault::Fault> {
    let d02 = match receive(run, known, Delta::D02).await? {
        Ok(d02) => d02.body.to_vec(),
        Err(conflict) => return Ok(Shuffled::Disputed(Box::new(conflict))),
    };
    known.d02 = Some(d02.clone());
    let d01 = apply(shape, seeds, Delta::D01, d02);
    send_digest(run, known, Delta::D01, 2, &d01);
    known.d01 = Some(d01.clone());
    let d12 = apply(shape, seeds, Delta::D12, d01);
    send_table(run, known, Delta::D12, 0, &d12);
    Ok(Shuffled::Done(d12))
}

/// P2: δ_02 to P1 in round 1; receives δ_01; digest of δ_12 to P0 in round 2.
async fn shuffle_p2(
    run: &Run,
    shape: Shape,
    seeds: &BatchSeeds,
    beta: Vec<u8>,
    known: &mut Known,
) -> Result<Shuffled, crate::fault::Fault> {
    let d02 = apply(shape, seeds, Delta::D02, beta);
    send_table(run, known, Delta::D02, 1, &d02);
    known.d02 = Some(d02);
    let d01 = match receive(run, known, Delta::D01).await? {
        Ok(d01) => d01.body.to_vec(),
        Err(conflict) => return Ok(Shuffled::Disputed(Box::new(conflict))),
    };
    known.d01 = Some(d01.clone());
    let d12 = apply(shape, seeds, Delta::D12, d01);
    send_digest(run, known, Delta::D12, 0, &d12);
    Ok(Shuffled::Done(d12))
}

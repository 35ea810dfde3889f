//! The online shuffle (Ruffle Fig. 4): two rounds, every table from one sender and its digest from
//! another.

use futures::future::join;
use ostrakon_party::{Body, Received, SignedHeader, wire};
use ostrakon_threeparty::Marks;
use ostrakon_threeparty::marks::epoch_mark;

use crate::accusation::blame::{Conflict, Delta};
use crate::accusation::fault::{Evidence, Fault, Statement};
use crate::messages::Kind;
use crate::online::dispute::Known;
use crate::online::unmixed::Unmixed;
use crate::preparation::stock::Stock;
use crate::run::Run;

/// How the shuffle ends without an abort.
pub enum Shuffled {
    /// The table β_out = δ_12.
    Done(Body),
    /// Two servers' statements about a table differ; see [`crate::online::dispute`].
    Disputed(Box<Conflict>),
}

/// Runs the shuffle on β, which is in `known`, as is in the end what a dispute would need.
///
/// # Errors
/// Evidence against a peer whose message is malformed, or a mark that could not be written.
pub async fn shuffle(
    run: &Run,
    stock: &Stock,
    known: &Known,
    marks: &dyn Marks,
) -> Result<Shuffled, Unmixed> {
    Ok(match run.me() {
        0 => shuffle_p0(run, stock, known).await?,
        1 => shuffle_p1(run, stock, known).await?,
        _ => shuffle_p2(run, stock, known, marks).await?,
    })
}

fn send_table(run: &Run, known: &Known, delta: Delta, to: u8, table: &Body) {
    let signed = run.send(to, delta.kinds().0, table.clone());
    known.say(delta, Statement { signed, body: Vec::new() });
}

/// Sends the digest of a table; of δ_12 with the signed header of the δ_01 that it was computed
/// from.
fn send_digest(
    run: &Run,
    known: &Known,
    delta: Delta,
    to: u8,
    table: &Body,
    input: Option<&SignedHeader>,
) {
    let mut digest = table.digest().0.to_vec();
    digest.extend(input.into_iter().flat_map(wire::encode));
    let signed = run.send(to, delta.kinds().1, digest.clone());
    known.say(delta, Statement { signed, body: digest });
}

/// Receives a table and its digest from their two senders.
async fn receive(
    run: &Run,
    known: &Known,
    delta: Delta,
) -> Result<Result<Received, Conflict>, Fault> {
    let ((table_from, digest_from), (table_kind, digest_kind)) = (delta.senders(), delta.kinds());
    let (table, digest) =
        join(run.receive(table_from, table_kind), run.receive(digest_from, digest_kind)).await;
    let (table, digest) = (table?, digest?);
    Ok(compare(known, delta, table.signed, &digest).map_or(Ok(table), Err))
}

/// The conflict between a table and its digest, if there is one; otherwise notes that both senders
/// agree.
fn compare(
    known: &Known,
    delta: Delta,
    table: SignedHeader,
    digest: &Received,
) -> Option<Conflict> {
    let digest = Statement::from(digest);
    if digest.body[..32] != table.header.digest.0 {
        return Some(Conflict { delta, table, digest });
    }
    known.hear(delta, Statement { signed: table, body: Vec::new() }, digest);
    None
}

/// P0: digest of δ_02 to P1 and δ_01 to P2 in round 1; receives δ_12.
async fn shuffle_p0(run: &Run, stock: &Stock, known: &Known) -> Result<Shuffled, Fault> {
    let d02 = known.compute(Delta::D02, stock);
    send_digest(run, known, Delta::D02, 1, &d02, None);
    known.keep(Delta::D01, d02.into_bytes());
    let d01 = known.compute(Delta::D01, stock);
    send_table(run, known, Delta::D01, 2, &d01);
    known.keep(Delta::D12, d01.into_bytes());
    Ok(match receive(run, known, Delta::D12).await? {
        Ok(d12) => Shuffled::Done(d12.into_body()),
        Err(conflict) => Shuffled::Disputed(Box::new(conflict)),
    })
}

/// P1: receives δ_02; digest of δ_01 to P2 and δ_12 to P0 in round 2.
async fn shuffle_p1(run: &Run, stock: &Stock, known: &Known) -> Result<Shuffled, Fault> {
    match receive(run, known, Delta::D02).await? {
        Ok(d02) => known.keep(Delta::D01, d02.body),
        Err(conflict) => return Ok(Shuffled::Disputed(Box::new(conflict))),
    }
    let d01 = known.compute(Delta::D01, stock);
    send_digest(run, known, Delta::D01, 2, &d01, None);
    known.keep(Delta::D12, d01.into_bytes());
    let d12 = known.compute(Delta::D12, stock);
    send_table(run, known, Delta::D12, 0, &d12);
    Ok(Shuffled::Done(d12))
}

/// P2: δ_02 to P1 in round 1; receives δ_01; digest of δ_12 to P0 in round 2.
async fn shuffle_p2(
    run: &Run,
    stock: &Stock,
    known: &Known,
    marks: &dyn Marks,
) -> Result<Shuffled, Unmixed> {
    let d02 = known.compute(Delta::D02, stock);
    send_table(run, known, Delta::D02, 1, &d02);
    known.keep(Delta::D01, d02.into_bytes());
    let (table, digest) = (run.receive(0, Kind::Delta01), run.receive(1, Kind::Delta01Digest));
    // The digest of δ_12 does not wait for P1's digest of δ_01: that would be a third round. P0's
    // signed header goes with it, so that a false δ_01 falls back on P0.
    let Received { signed: d01, body } = table.await?;
    let named = on_record(run, marks, &d01)?;
    known.keep(Delta::D12, body);
    let d12 = known.compute(Delta::D12, stock);
    send_digest(run, known, Delta::D12, 0, &d12, Some(&named));
    Ok(match compare(known, Delta::D01, d01, &digest.await?) {
        None => Shuffled::Done(d12),
        Some(conflict) => Shuffled::Disputed(Box::new(conflict)),
    })
}

/// The header of the δ_01 from which this party makes its digest of δ_12, the same after a crash.
/// P0 gets δ_12 itself from P1: given P2's digests for the true δ_01 and for one that differs in a
/// row, it could try where that row went.
fn on_record(run: &Run, marks: &dyn Marks, heard: &SignedHeader) -> Result<SignedHeader, Unmixed> {
    let name = epoch_mark(&run.subject.instance(), "computed from");
    let standing = marks.record(&name, &wire::encode(heard)).map_err(Unmixed::Marks)?;
    let standing: SignedHeader =
        wire::decode(&standing).map_err(|_| Unmixed::Marks(format!("{name} is damaged")))?;
    if standing.contradicts(heard) {
        let evidence = Evidence::Equivocation(Box::new([standing, *heard]));
        return Err(run.fault(heard.header.from, evidence).into());
    }
    Ok(standing)
}

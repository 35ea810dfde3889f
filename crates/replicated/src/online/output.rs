//! Opening the output (Ruffle §3, "Output reconstruction"), fairly.
//!
//! Nothing is opened until all three servers have signed that they hold the same β_out. Each party
//! then misses one share of α_out. P1 and P2 miss a share that a seed determines: 32 bytes, checked
//! against the digest that both its holders stated in preprocessing. P0 misses `[α_out]_12`, a
//! table, checked against the digest that P1 and P2 stated. Each comes from one of two holders, one
//! of whom is honest: once one honest party can open, all can.

use bytes::Bytes;
use futures::future::{Either, join, select};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::{Prg, xor_into};
use ostrakon_party::{Body, Header, PartyId, Received, SignedHeader, wire};

use crate::accusation::fault::{Evidence, Fault, Statement};
use crate::accusation::material::LastEvidence;
use crate::batch::seeds::Purpose;
use crate::coin::seed_digest;
use crate::messages::Kind;
use crate::online::outcome::{Decision, Outcome};
use crate::online::unmixed::Unmixed;
use crate::pair::Pair;
use crate::preparation::stock::Stock;
use crate::run::{Run, either};

/// Signs that this party holds β_out with the given digest, and waits for proof that both others do
/// too: their own votes, or a peer's collection of all three. The caller has marked that this party
/// is ready.
///
/// A party that has signed may no longer stop on its own, because another one may hold the proof
/// already and open. `evidence` resolves when a peer shows something that convicts somebody. This
/// party then says so ([`Kind::Accusation`]), after which it takes the proof from the other honest
/// party alone, and stops once that party has said the same.
///
/// # Errors
/// The fault on which both honest parties stop, or a mark that could not be written.
pub async fn certify(
    run: &Run,
    outcome: Outcome<'_>,
    digest: &Digest,
    evidence: impl Future<Output = Fault>,
) -> Result<(), Unmixed> {
    let own = run.send_all(Kind::Ready, digest.0.to_vec());
    let [a, b] = run.peers();
    let direct = async {
        let (x, y) = join(ready(run, a, digest), ready(run, b, digest)).await;
        ([own, x, y], None)
    };
    let proof = either(direct, either(certified_by(run, a, digest), certified_by(run, b, digest)));
    let found = async { (evidence.await, None) };
    let heard = either(either(run.accused_by(a), run.accused_by(b)), found);
    let (decision, votes_from, heard_from) = match select(Box::pin(proof), Box::pin(heard)).await {
        Either::Left(((votes, from), _)) => {
            (outcome.certified(&votes)?, from.map(|from| (from, votes)), None)
        }
        Either::Right(((fault, from), _)) => (outcome.accusing(&fault)?, None, from),
    };
    let fault = match decision {
        Decision::Certified(votes) => return relay(run, &votes),
        Decision::Accused(fault) => fault,
    };
    run.send_all(Kind::Accusation, fault.encode());
    let honest = run.honest_beside(fault.culprit);
    if heard_from == Some(honest) {
        return Err(Unmixed::Fault(fault));
    }
    if let Some((_, votes)) = votes_from.filter(|(from, _)| *from == honest) {
        return relay(run, &votes);
    }
    let proof = Box::pin(certificate(run, honest, digest));
    match select(proof, Box::pin(run.accusation(honest))).await {
        Either::Left((votes, _)) => relay(run, &votes),
        Either::Right((fault, _)) => Err(fault.into()),
    }
}

async fn certified_by(run: &Run, from: u8, digest: &Digest) -> ([SignedHeader; 3], Option<u8>) {
    (certificate(run, from, digest).await, Some(from))
}

/// Shows both peers the three votes; with that the output is certified.
pub fn relay(run: &Run, votes: &[SignedHeader; 3]) -> Result<(), Unmixed> {
    run.send_all(Kind::Certificate, wire::encode(votes));
    Ok(())
}

/// A peer's vote for this digest; anything else is as nothing.
async fn ready(run: &Run, from: u8, digest: &Digest) -> SignedHeader {
    if let Ok(received) = run.receive(from, Kind::Ready).await
        && received.body[..] == digest.0
    {
        return received.signed;
    }
    futures::future::pending().await
}

/// A peer's collection of three votes for this digest; anything else is as nothing.
async fn certificate(run: &Run, from: u8, digest: &Digest) -> [SignedHeader; 3] {
    if let Ok(received) = run.receive(from, Kind::Certificate).await
        && let Ok(votes) = wire::decode::<[SignedHeader; 3]>(&received.body)
    {
        let vote = Header::digest_of(&digest.0);
        let of = |party: PartyId| {
            votes.iter().any(|signed| {
                let header = &signed.header;
                header.from == party
                    && header.tag == run.tag(Kind::Ready)
                    && header.digest == vote
                    && run.party.roster.vouches(signed)
            })
        };
        if run.party.roster.parties().all(of) {
            return votes;
        }
    }
    futures::future::pending().await
}

/// Gives the peers the shares that they miss, gets the own missing one, and returns `β_out ⊕ α_out`
/// in `room`, a table of its size, with the faults met on the way, which could not stop it. The
/// certificate must be complete.
pub async fn open(
    run: &Run,
    stock: &Stock,
    beta_out: Bytes,
    room: Vec<u8>,
) -> (Vec<u8>, Vec<Fault>) {
    give(run, stock);
    let missing = Pair::without(run.me());
    let mut faults = Vec::new();
    let mut table = room;
    open_without(run.me(), stock, &beta_out, &mut table);
    drop(beta_out);
    if missing == Pair::P12 {
        let accept = |received: &Received| {
            if received.digest() == stock.last_digest {
                return Ok(received.body.clone());
            }
            let statement = stock.transcripts[received.signed.header.from.index()].clone();
            let message = Statement { signed: received.signed, body: Vec::new() };
            Err(Evidence::Last(Box::new(LastEvidence { message, statement })))
        };
        let (last, found) =
            run.receive_from_either(missing.members(), Kind::LastTable, accept).await;
        xor_into(&mut table, &last);
        faults = found;
    } else {
        let accept = |received: &Received| {
            if seed_digest(&received.body) == stock.stated(missing).last {
                return Ok(Secret::new(received.body[..].try_into().expect("length is checked")));
            }
            let statement = stock.statements[received.signed.header.from.index()].clone();
            Err(Evidence::Last(Box::new(LastEvidence { message: received.into(), statement })))
        };
        let (seed, found) =
            run.receive_from_either(missing.members(), Kind::LastSeed, accept).await;
        fresh(&seed).xor_at(0, &mut table);
        faults.extend(found);
    }
    (table, faults)
}

/// Puts β_out with the party's own two shares of α_out into `table`.
fn open_without(party: u8, stock: &Stock, beta_out: &[u8], table: &mut [u8]) {
    // The source is β_out, and then what has been written so far.
    let mut pairs =
        Pair::of_party(party).into_iter().filter(|pair| stock.last.is_none() || *pair != Pair::P12);
    let stream = |pair| fresh(&stock.seeds.of(pair).purpose(Purpose::Reshare(2)));
    stream(pairs.next().expect("every party is in a pair besides P12"))
        .xor_from(0, beta_out, table);
    pairs.for_each(|pair| stream(pair).xor_at(0, table));
    if let Some(last) = &stock.last {
        xor_into(table, last);
    }
}

/// The rows of the last stage's fresh share.
fn fresh(seed: &Secret) -> Prg {
    Prg::new(seed.derive("ostrakon/v1/ruffle/fresh share", &[b"rows"]).expose())
}

/// Sends each peer the share that it misses, or holds it ready: the lower holder sends, the higher
/// one keeps.
fn give(run: &Run, stock: &Stock) {
    for peer in run.peers() {
        let pair = Pair::without(peer);
        let first = pair.members()[0] == run.me();
        let (kind, body) = match (pair, &stock.last) {
            (Pair::P12, Some(table)) => {
                (Kind::LastTable, Body::known(table.clone(), stock.last_digest))
            }
            _ => (
                Kind::LastSeed,
                stock.seeds.of(pair).purpose(Purpose::Reshare(2)).expose().to_vec().into(),
            ),
        };
        if first {
            run.send(peer, kind, body)
        } else {
            run.offer(peer, kind, body)
        };
    }
}

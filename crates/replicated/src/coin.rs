//! Commit, then open: joint coins (all parties' contributions, none chosen after seeing another) and the opening of sums.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{Header, Received};

use crate::fault::{Evidence, Fault, Statement};
use crate::messages::{Kind, PairStatement};
use crate::run::Run;

/// Bytes of the nonce that hides a commitment's value.
pub const NONCE: usize = 32;

/// The commitment to `nonce ‖ value`, which is the body of the opening to come. It names the run, the step and the party, so nobody can
/// repeat another's commitment as its own.
fn commitment(opening: &Header, body: &[u8]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/ruffle/commitment");
    transcript
        .field(&opening.session.0.0)
        .number(opening.tag.instance.kind as u64)
        .field(&opening.tag.instance.scope)
        .number(opening.tag.instance.number)
        .number(u64::from(opening.tag.step.0))
        .number(u64::from(opening.from.0))
        .field(body);
    transcript.finish()
}

/// Whether an opening contradicts the commitment that it is for. Both must hold.
pub fn opening_fails(commitment_: &Statement, opening: &Statement) -> bool {
    let (c, o) = (&commitment_.signed.header, &opening.signed.header);
    if c.from != o.from || c.tag.instance != o.tag.instance || c.session != o.session {
        return false;
    }
    let steps = (c.tag.step, o.tag.step);
    if steps == (Kind::SeedStatement.step(), Kind::SeedOpening.step()) {
        let stated = PairStatement::decode(&commitment_.body).map(|pair| pair.batch);
        let opened = [&opening.body[..32], &opening.body[32..]].map(seed_digest);
        return stated != opened;
    }
    let pairs =
        [(Kind::CoinCommitment, Kind::CoinOpening), (Kind::SumCommitment, Kind::SumOpening)];
    let matching = pairs.iter().any(|(c, o)| steps == (c.step(), o.step()));
    matching && commitment_.body != commitment(o, &opening.body).0
}

/// The digest by which a seed is stated. A seed has 256 bits of entropy, so the digest hides it.
pub fn seed_digest(seed: &[u8]) -> Digest {
    ostrakon_crypto::hash::digest("ostrakon/v1/ruffle/seed", seed)
}

/// Commits to `value` (with `nonce`), waits for all commitments, opens, and returns all three openings with the nonces still
/// in front ([`value_of`]). Two authenticated broadcasts, four rounds.
///
/// # Errors
/// Evidence against a party that opened something else than it had committed to, or that broke the broadcast.
pub async fn commit_and_open(
    run: &Run,
    kinds: (Kind, Kind),
    nonce: [u8; NONCE],
    value: &[u8],
) -> Result<[Received; 3], Fault> {
    let body = [&nonce[..], value].concat();
    let header = Header {
        session: run.party.roster.session,
        tag: run.tag(kinds.1),
        from: run.party.id,
        to: ostrakon_party::Recipient::All,
        length: body.len() as u64,
        digest: Header::digest_of(&body),
    };
    let commitments = run.broadcast(kinds.0, commitment(&header, &body).0.to_vec()).await?;
    let openings = run.broadcast(kinds.1, body).await?;
    for (commitment, opening) in commitments.iter().zip(&openings) {
        let (commitment, opening) = (Statement::from(commitment), Statement::from(opening));
        if opening_fails(&commitment, &opening) {
            let culprit = opening.signed.header.from;
            return Err(run.fault(
                culprit,
                Evidence::Opening { commitment: Box::new(commitment), opening: Box::new(opening) },
            ));
        }
    }
    Ok(openings)
}

/// The value in an opening.
pub fn value_of(opening: &[u8]) -> &[u8] {
    &opening[NONCE..]
}

/// The joint coin of three openings: a hash of all contributions, uniform if one of them is.
pub fn joint_coin<'a>(openings: impl Iterator<Item = &'a [u8]>) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/ruffle/joint coin");
    for opening in openings {
        transcript.field(value_of(opening));
    }
    transcript.finish()
}

/// Tosses a coin that no party could foresee or choose. `contribution` is 32 fresh random bytes, `nonce` 32 others.
///
/// # Errors
/// As [`commit_and_open`].
pub async fn toss(
    run: &Run,
    nonce: [u8; NONCE],
    contribution: [u8; 32],
) -> Result<(Digest, [Received; 3]), Fault> {
    let openings =
        commit_and_open(run, (Kind::CoinCommitment, Kind::CoinOpening), nonce, &contribution)
            .await?;
    Ok((joint_coin(openings.iter().map(|opening| &opening.body[..])), openings))
}

//! Commit, then open: joint coins, and the opening of sums.

use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_field::WordField;
use ostrakon_kernels::Prg;
use ostrakon_party::PartyId;

use super::fault::Stop;
use super::run::Run;
use super::steps::{DIGEST, Kind, Rule};

/// Bytes of the nonce that hides a commitment's value.
pub const NONCE: usize = 32;

/// The commitment of a server to `nonce ‖ value` in a place of a run. Nobody can repeat another's
/// as its own.
pub fn commitment(run: &Run, place: (Kind, u32), party: u8, opening: &[u8]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/ruffle2/commitment");
    transcript
        .field(&run.party.roster.session.0.0)
        .field(&run.instance.scope)
        .number(run.instance.number)
        .number(u64::from(place.0.step().0))
        .number(u64::from(place.1))
        .number(u64::from(party))
        .field(opening);
    transcript.finish()
}

/// Commits to a value, waits for all commitments, opens, and returns all three values. Two
/// authenticated broadcasts, four rounds.
///
/// # Errors
/// [`Stop::Broken`] against a server that opens something else than it has committed to.
pub async fn commit_and_open(
    run: &Run,
    kinds: (Kind, Kind),
    sequence: u32,
    nonce: [u8; NONCE],
    value: &[u8],
) -> Result<[Vec<u8>; 3], Stop> {
    let body = [&nonce[..], value].concat();
    let own = commitment(run, (kinds.1, sequence), run.me(), &body);
    let rule = Rule::exactly(DIGEST);
    let commitments = run.broadcast(kinds.0, sequence, own.0.to_vec(), rule).await?;
    let rule = Rule::exactly(body.len() as u64);
    let openings = run.broadcast(kinds.1, sequence, body, rule).await?;
    for (party, (stated, opening)) in (0..).zip(commitments.iter().zip(&openings)) {
        if stated.body[..] != commitment(run, (kinds.1, sequence), party, &opening.body).0 {
            return Err(Stop::Broken(PartyId(party), "its commitment"));
        }
    }
    Ok(openings.map(|opening| opening.body[NONCE..].to_vec()))
}

/// Tosses a coin that no server could foresee or choose: a hash of all contributions.
///
/// # Errors
/// As [`commit_and_open`].
pub async fn toss(run: &Run, sequence: u32, randomness: &Secret) -> Result<Digest, Stop> {
    let draw =
        |what: &'static [u8]| *randomness.derive("ostrakon/v1/ruffle2/coin", &[what]).expose();
    let kinds = (Kind::CoinCommitment, Kind::CoinOpening);
    let contributions =
        commit_and_open(run, kinds, sequence, draw(b"nonce"), &draw(b"contribution")).await?;
    Ok(joint(contributions.iter().map(Vec::as_slice)))
}

/// The coin of three contributions.
pub fn joint<'a>(contributions: impl Iterator<Item = &'a [u8]>) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/ruffle2/joint coin");
    for contribution in contributions {
        transcript.field(contribution);
    }
    transcript.finish()
}

/// The stream of a coin for one purpose.
pub fn stream(coin: &Digest, purpose: &'static [u8], numbers: &[u64]) -> Prg {
    let numbers: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let seed =
        Secret::new(coin.0).derive("ostrakon/v1/ruffle2/coin's stream", &[purpose, &numbers]);
    Prg::new(seed.expose())
}

/// So many elements of a coin for one purpose.
pub fn elements<F: WordField>(
    coin: &Digest,
    purpose: &'static [u8],
    numbers: &[u64],
    count: usize,
) -> Vec<F> {
    let mut bytes = vec![0; count * ostrakon_field::ELEMENT_BYTES];
    F::expand(&stream(coin, purpose, numbers), 0, &mut bytes);
    ostrakon_field::elements(&bytes).collect()
}

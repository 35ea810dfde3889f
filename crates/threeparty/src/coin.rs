//! Commit, then open: joint coins (all parties' contributions, none chosen after seeing another)
//! and the opening of sums.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{Header, Received, Recipient, Step};

use crate::commitment::{commitment, opening_fails};
use crate::marks::Marks;
use crate::offence::{Offence, Statement};
use crate::protocol::{Protocol, steps};
use crate::run::Run;
use crate::stop::Unheard;

/// Bytes of the nonce that hides a commitment's value.
pub const NONCE: usize = 32;

/// The digest by which a seed is stated. A seed has 256 bits of entropy, so the digest hides it.
pub fn seed_digest(seed: &[u8]) -> Digest {
    ostrakon_crypto::hash::digest("ostrakon/v1/threeparty/seed", seed)
}

/// A committed value, to be opened once.
pub struct Committed {
    steps: (Step, Step),
    body: Vec<u8>,
    commitments: [Received; 3],
}

/// The body that opens a value, and the body that commits to it.
fn bodies<P: Protocol>(
    run: &Run<P>,
    opening: Step,
    nonce: [u8; NONCE],
    value: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let body = [&nonce[..], value].concat();
    let header = Header {
        session: run.party.roster.session,
        tag: run.tag(opening),
        from: run.party.id,
        to: Recipient::All,
        length: body.len() as u64,
        digest: Header::digest_of(&body),
    };
    let committed = commitment(&header, &body).0.to_vec();
    (body, committed)
}

/// Commits to `value` (with `nonce`) and waits for all commitments: an authenticated broadcast, two
/// rounds. All three are on record before they are echoed. `steps` are those of the commitment and
/// of the opening.
///
/// # Errors
/// As [`Run::broadcast_recorded`].
pub async fn commit<P: Protocol>(
    run: &Run<P>,
    steps: (Step, Step),
    nonce: [u8; NONCE],
    value: &[u8],
    marks: &dyn Marks,
) -> Result<Committed, Unheard<P::Fault>> {
    let (body, committed) = bodies(run, steps.1, nonce, value);
    let commitments = run.broadcast_recorded(steps.0, committed, marks).await?;
    Ok(Committed { steps, body, commitments })
}

impl Committed {
    /// Opens, and returns all three openings with the nonces still in front ([`value_of`]): an
    /// authenticated broadcast, two rounds, on record like the commitments.
    ///
    /// # Errors
    /// As [`Run::broadcast_recorded`], or evidence against a party that opened something else than
    /// it had committed to.
    pub async fn open<P: Protocol>(
        self,
        run: &Run<P>,
        marks: &dyn Marks,
    ) -> Result<[Received; 3], Unheard<P::Fault>> {
        let openings = run.broadcast_recorded(self.steps.1, self.body, marks).await?;
        Ok(opened(run, &self.commitments, openings)?)
    }
}

/// The openings, if each is of its commitment.
fn opened<P: Protocol>(
    run: &Run<P>,
    commitments: &[Received; 3],
    openings: [Received; 3],
) -> Result<[Received; 3], P::Fault> {
    for (commitment, opening) in commitments.iter().zip(&openings) {
        let (commitment, opening) = (Statement::from(commitment), Statement::from(opening));
        if opening_fails::<P>(&commitment, &opening) {
            let culprit = opening.signed.header.from;
            let (commitment, opening) = (Box::new(commitment), Box::new(opening));
            return Err(run.fault(culprit, Offence::Opening { commitment, opening }));
        }
    }
    Ok(openings)
}

/// Commits, then at once opens, in a run that no party goes on with after a crash: four rounds.
///
/// # Errors
/// Evidence against a party that opened something else than it had committed to, or that broke a
/// broadcast.
pub async fn commit_and_open<P: Protocol>(
    run: &Run<P>,
    steps: (Step, Step),
    nonce: [u8; NONCE],
    value: &[u8],
) -> Result<[Received; 3], P::Fault> {
    let (body, committed) = bodies(run, steps.1, nonce, value);
    let commitments = run.broadcast(steps.0, committed).await?;
    let openings = run.broadcast(steps.1, body).await?;
    opened(run, &commitments, openings)
}

/// The value in an opening.
pub fn value_of(opening: &[u8]) -> &[u8] {
    &opening[NONCE..]
}

/// The joint coin of three openings: a hash of all contributions, uniform if one of them is.
pub fn joint_coin<'a>(openings: impl Iterator<Item = &'a [u8]>) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/threeparty/joint coin");
    for opening in openings {
        transcript.field(value_of(opening));
    }
    transcript.finish()
}

/// Tosses a coin that no party could foresee or choose. `contribution` is 32 fresh random bytes,
/// `nonce` 32 others.
///
/// # Errors
/// As [`commit_and_open`].
pub async fn toss<P: Protocol>(
    run: &Run<P>,
    nonce: [u8; NONCE],
    contribution: [u8; 32],
) -> Result<(Digest, [Received; 3]), P::Fault> {
    let both = (steps::COIN_COMMITMENT, steps::COIN_OPENING);
    let openings = commit_and_open(run, both, nonce, &contribution).await?;
    Ok((joint_coin(openings.iter().map(|opening| &opening.body[..])), openings))
}

//! Commit, then open: joint coins (all parties' contributions, none chosen after seeing another)
//! and the opening of sums.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{Header, Received, Recipient, SignedHeader, Step};

use crate::offence::{Offence, Statement};
use crate::protocol::{Protocol, steps};
use crate::run::Run;

/// Bytes of the nonce that hides a commitment's value.
pub const NONCE: usize = 32;

/// The commitment to `nonce ‖ value`, which is the body of the opening to come. It names the run,
/// the step and the party, so nobody can repeat another's commitment as its own.
pub fn commitment(opening: &Header, body: &[u8]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/threeparty/commitment");
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
#[must_use]
pub fn opening_fails<P: Protocol>(committed: &Statement, opening: &Statement) -> bool {
    let (c, o) = (&committed.signed.header, &opening.signed.header);
    let same_run = c.from == o.from && c.tag.instance == o.tag.instance && c.session == o.session;
    same_run && P::opens(c.tag.step, o.tag.step) && committed.body != commitment(o, &opening.body).0
}

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

/// Commits to `value` (with `nonce`) and waits for all commitments: an authenticated broadcast, two
/// rounds. `steps` are those of the commitment and of the opening.
///
/// # Errors
/// Evidence against a party that broke the broadcast.
pub async fn commit<P: Protocol>(
    run: &Run<P>,
    steps: (Step, Step),
    nonce: [u8; NONCE],
    value: &[u8],
) -> Result<Committed, P::Fault> {
    let body = [&nonce[..], value].concat();
    let header = Header {
        session: run.party.roster.session,
        tag: run.tag(steps.1),
        from: run.party.id,
        to: Recipient::All,
        length: body.len() as u64,
        digest: Header::digest_of(&body),
    };
    let commitments = run.broadcast(steps.0, commitment(&header, &body).0.to_vec()).await?;
    Ok(Committed { steps, body, commitments })
}

impl Committed {
    /// The signed headers of all three commitments, by party: what a server that may crash marks
    /// before it opens its own.
    pub fn headers(&self) -> [SignedHeader; 3] {
        self.commitments.each_ref().map(|commitment| commitment.signed)
    }

    /// Opens, and returns all three openings with the nonces still in front ([`value_of`]): an
    /// authenticated broadcast, two rounds.
    ///
    /// # Errors
    /// Evidence against a party that opened something else than it had committed to, or that broke
    /// the broadcast.
    pub async fn open<P: Protocol>(self, run: &Run<P>) -> Result<[Received; 3], P::Fault> {
        let openings = run.broadcast(self.steps.1, self.body).await?;
        for (commitment, opening) in self.commitments.iter().zip(&openings) {
            let (commitment, opening) = (Statement::from(commitment), Statement::from(opening));
            if opening_fails::<P>(&commitment, &opening) {
                let culprit = opening.signed.header.from;
                return Err(run.fault(
                    culprit,
                    Offence::Opening {
                        commitment: Box::new(commitment),
                        opening: Box::new(opening),
                    },
                ));
            }
        }
        Ok(openings)
    }
}

/// [`commit`], then at once [`Committed::open`]: four rounds.
///
/// # Errors
/// As both.
pub async fn commit_and_open<P: Protocol>(
    run: &Run<P>,
    steps: (Step, Step),
    nonce: [u8; NONCE],
    value: &[u8],
) -> Result<[Received; 3], P::Fault> {
    commit(run, steps, nonce, value).await?.open(run).await
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

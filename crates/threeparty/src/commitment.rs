//! Commitments, and whether something opens them.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::Header;

use crate::offence::Statement;
use crate::protocol::Protocol;

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

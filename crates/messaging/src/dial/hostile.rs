//! What somebody may write who has the keys for it: for tests of what reads it. None of it is of
//! use to a client.

use ostrakon_mixing::RoomId;
use rand_core::CryptoRng;

use super::{Place, fresh, plain_length, seal};
use crate::link::Callee;
use crate::parts::Said;

/// Whether a client reads these bytes, which a partner has locked in a row of this width; what it
/// reads is written again as the same bytes, up to what stands behind the text.
///
/// # Panics
/// If it is not.
pub fn said(plain: &[u8], width: usize) -> bool {
    let Some(said) = Said::decode(plain) else { return false };
    let again = said.encode(width.max(plain.len() + 64));
    assert!(Said::decode(&again) == Some(said), "what was read is written and read alike");
    true
}

/// A row of a dial round that holds these bytes, cut or filled to the length that it has, for the
/// owner of a link. `None` if the link's key is none.
pub fn call(
    callee: &Callee,
    (room, round, width): (&RoomId, u64, usize),
    plain: &[u8],
    rng: &mut impl CryptoRng,
) -> Option<Vec<u8>> {
    let place = Place { room, round, width };
    let mut filled = plain.to_vec();
    filled.resize(plain_length(place), 0);
    seal(place, &callee.key, &callee.secret, &filled, &fresh(rng))
}

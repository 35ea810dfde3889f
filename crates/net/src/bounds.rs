//! How much a tunnel may hold, at its ends and at the party that relays it.

use crate::frame::{Part, Relay};

/// Bytes that may be on their way in one direction of a tunnel.
pub const WINDOW: usize = 4 << 20;
/// Bytes that a relaying party holds for one sender and one recipient.
pub const FORWARDED: usize = WINDOW + WINDOW / 4;
/// What a frame costs beside the bytes it carries, so that many tiny ones are bounded too.
pub const FRAME_COST: usize = 64;

/// What a tunnel's frame counts in the relaying party's bound.
pub(crate) fn cost(relay: &Relay) -> usize {
    match &relay.part {
        Part::Data(bytes) => bytes.len() + FRAME_COST,
        Part::Open | Part::Credit(_) | Part::End => FRAME_COST,
    }
}

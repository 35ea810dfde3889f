//! What a participant's row holds, and how it is told from noise (spec V6).

use ostrakon_crypto::{Digest, Transcript};

/// Bytes that tell a row from noise.
const TAG: usize = 16;
/// Bytes of the length.
const LENGTH: usize = 2;
/// The length that stands for a row without a message.
const COVER: u16 = u16::MAX;

/// Bytes of a row for messages of at most `payload` bytes.
#[must_use]
pub fn bytes(payload: usize) -> usize {
    TAG + LENGTH + payload
}

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A message.
    Message(Vec<u8>),
    /// Nothing: its owner took part so that others are not alone.
    Cover,
}

fn tag(room: &Digest, epoch: u64, rest: &[u8]) -> [u8; TAG] {
    let mut transcript = Transcript::new("ostrakon/v1/asynchromix/row");
    transcript.field(&room.0).number(epoch).field(rest);
    let mut tag = [0; TAG];
    tag.copy_from_slice(&transcript.finish().0[..TAG]);
    tag
}

/// The row of a message, or of a cover; `None` if it is longer than `payload`.
#[must_use]
pub fn encode(room: &Digest, epoch: u64, said: &Said, payload: usize) -> Option<Vec<u8>> {
    let (length, message) = match said {
        Said::Message(message) => {
            (u16::try_from(message.len()).ok().filter(|l| *l != COVER)?, &message[..])
        }
        Said::Cover => (COVER, &[][..]),
    };
    if message.len() > payload {
        return None;
    }
    let mut rest = length.to_le_bytes().to_vec();
    rest.extend(message);
    rest.resize(LENGTH + payload, 0);
    Some([&tag(room, epoch, &rest)[..], &rest].concat())
}

/// Reads a row; `None` for noise, which passes for a row with probability 2^-128.
#[must_use]
pub fn decode(room: &Digest, epoch: u64, row: &[u8]) -> Option<Said> {
    let (found, rest) = row.split_at_checked(TAG)?;
    let (length, message) = rest.split_first_chunk::<LENGTH>()?;
    if tag(room, epoch, rest)[..] != *found {
        return None;
    }
    match u16::from_le_bytes(*length) {
        COVER => Some(Said::Cover),
        length => message.get(..length.into()).map(|m| Said::Message(m.to_vec())),
    }
}

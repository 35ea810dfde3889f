//! Rows: a text or a cover, padded to the room's payload, with 128 bits of redundancy.
//!
//! `row = length (2 bytes) ‖ text ‖ padding ‖ redundancy (16 bytes)`, where the redundancy is a
//! hash of the room, the epoch and the padded payload. The padding looks random and is never
//! published: it is what a table of covers has that nobody outside the servers can guess, so that
//! the salts of the board's digests can be made of it. Whatever comes out of the mix without it was
//! no submission (an absent slot is noise and passes with probability 2^-128) or a spoilt one, and
//! is dropped.

use std::fmt;

use ostrakon_crypto::{Digest, Secret, SigningKey, many};

use crate::room::{EpochId, REDUNDANCY, RoomDescriptor};

/// Bytes of the length field.
const LENGTH: usize = 2;

/// What a row says. It is not printed, not even whether it is a message: before it is published,
/// both are secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// A participant took part and said nothing.
    Cover,
    /// A message: any bytes, at least one.
    Message(Vec<u8>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Content")
    }
}

/// Text too long for the room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message has {length} bytes; this room takes at most {limit}: shorten it")]
pub struct TooLong {
    /// Bytes of the message.
    pub length: usize,
    /// Bytes that fit.
    pub limit: usize,
}

/// Rows of a table that are read at a time: their digests stay in the caches.
const DECODED: usize = 1 << 13;

/// How the rows of one epoch are written and read.
#[derive(Clone, Copy, Debug)]
pub struct RowFormat {
    epoch: EpochId,
    payload: usize,
}

impl RowFormat {
    /// The format of a room's epoch.
    pub fn new(room: &RoomDescriptor, number: u64) -> Self {
        Self { epoch: EpochId { room: room.id(), number }, payload: room.payload as usize }
    }

    /// Width of a row in bytes: payload and redundancy.
    pub fn width(&self) -> usize {
        self.payload + REDUNDANCY
    }

    /// Bytes of the longest message.
    pub fn limit(&self) -> usize {
        self.payload - LENGTH
    }

    /// The padding of a participant's row. A function of its key, the room and the epoch, so that a
    /// row written again is the same row.
    pub fn padding(&self, key: &SigningKey) -> Secret {
        let fields: [&[u8]; 2] = [&self.epoch.room.0, &self.epoch.number.to_le_bytes()];
        key.derive("ostrakon/v1/broadcast/row padding", &fields)
    }

    /// Writes a row, with the padding that `padding` seeds.
    ///
    /// # Errors
    /// [`TooLong`] if the message does not fit.
    pub fn encode(&self, content: &Content, padding: &Secret) -> Result<Vec<u8>, TooLong> {
        let text: &[u8] = match content {
            Content::Cover => &[],
            Content::Message(text) => text,
        };
        if text.len() > self.limit() {
            return Err(TooLong { length: text.len(), limit: self.limit() });
        }
        let mut row = vec![0; self.width()];
        let length = u16::try_from(text.len()).expect("payloads have at most 4096 bytes");
        row[..LENGTH].copy_from_slice(&length.to_le_bytes());
        row[LENGTH..LENGTH + text.len()].copy_from_slice(text);
        padding.fill(
            "ostrakon/v1/broadcast/row padding stream",
            &[],
            &mut row[LENGTH + text.len()..self.payload],
        );
        let redundancy = self.redundancies(&row)[0];
        row[self.payload..].copy_from_slice(&redundancy.0[..REDUNDANCY]);
        Ok(row)
    }

    /// Reads a row; `None` if it is noise, spoilt, or of another room or epoch.
    pub fn decode(&self, row: &[u8]) -> Option<Content> {
        (row.len() == self.width()).then(|| self.decode_table(row).pop())?.flatten()
    }

    /// [`RowFormat::decode`] of every row of a table, on all cores where that is enabled.
    pub fn decode_table(&self, table: &[u8]) -> Vec<Option<Content>> {
        let mut contents = Vec::with_capacity(table.len() / self.width());
        for block in table.chunks(DECODED * self.width()) {
            let rows = block.chunks_exact(self.width()).zip(self.redundancies(block));
            contents.extend(rows.map(|(row, redundancy)| self.read(row, &redundancy)));
        }
        contents
    }

    fn read(&self, row: &[u8], redundancy: &Digest) -> Option<Content> {
        if row[self.payload..] != redundancy.0[..REDUNDANCY] {
            return None;
        }
        let length = usize::from(u16::from_le_bytes([row[0], row[1]]));
        let text = row.get(LENGTH..LENGTH + length).filter(|_| length <= self.limit())?;
        Some(if text.is_empty() { Content::Cover } else { Content::Message(text.to_vec()) })
    }

    /// Of each row of a table the digest with whose first half it ends.
    fn redundancies(&self, table: &[u8]) -> Vec<Digest> {
        let count = table.len() / self.width();
        many::digests("ostrakon/v1/broadcast/row redundancy", count, |row, fields| {
            let payload = &table[row * self.width()..][..self.payload];
            fields.field(&self.epoch.room.0).number(self.epoch.number).field(payload);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn format(number: u64) -> RowFormat {
        let room = RoomDescriptor { payload: 64, capacity: 8, ..RoomDescriptor::new("r") };
        RowFormat::new(&room, number)
    }

    #[test]
    fn what_a_row_says_is_not_printed() {
        let printed =
            [Content::Cover, Content::Message(vec![213; 3])].map(|content| format!("{content:?}"));
        assert_eq!(printed, ["Content", "Content"]);
    }

    fn padding(seed: u8) -> Secret {
        format(1).padding(&SigningKey::from_seed(&[seed; 32]))
    }

    #[test]
    fn padding_differs_by_participant_and_is_the_same_when_written_again() {
        let cover = |seed| format(1).encode(&Content::Cover, &padding(seed)).unwrap();
        assert_eq!(cover(1), cover(1));
        assert_ne!(cover(1)[2..64], cover(2)[2..64]);
        let key = SigningKey::from_seed(&[1; 32]);
        assert_ne!(format(1).padding(&key).expose(), format(2).padding(&key).expose());
    }

    proptest! {
        #[test]
        fn rows_read_back_and_no_changed_row_does(
            text in proptest::collection::vec(any::<u8>(), 1..=62),
            at in 0usize..80,
            by in 1u8..,
        ) {
            let format = format(1);
            let mut row = format.encode(&Content::Message(text.clone()), &padding(1)).unwrap();
            prop_assert_eq!(format.decode(&row), Some(Content::Message(text)));
            row[at] ^= by;
            prop_assert_eq!(format.decode(&row), None);
        }
    }

    #[test]
    fn the_rows_of_a_table_are_read_each() {
        let format = format(1);
        let contents: Vec<Content> =
            (0..21).map(|i| Content::Message(vec![i + 1; 1 + usize::from(i)])).collect();
        let encode = |content: &Content| format.encode(content, &padding(1)).unwrap();
        let mut rows: Vec<Vec<u8>> = contents.iter().map(encode).collect();
        rows[3][70] ^= 1;
        let read = format.decode_table(&rows.concat());
        for (i, (read, content)) in read.iter().zip(contents).enumerate() {
            assert_eq!(*read, (i != 3).then_some(content), "row {i}");
        }
        let many = rows.concat().repeat(DECODED / rows.len() + 1);
        let again = format.decode_table(&many);
        assert_eq!(again.len(), many.len() / format.width());
        assert!(
            again.chunks(rows.len()).all(|block| block == read),
            "more than are read at a time"
        );
    }

    #[test]
    fn cover_limits_and_epochs() {
        let cover = format(1).encode(&Content::Cover, &padding(1)).unwrap();
        assert_eq!(format(1).decode(&cover), Some(Content::Cover));
        assert_eq!(format(2).decode(&cover), None, "a row of one epoch is noise in another");
        let error = format(1).encode(&Content::Message(vec![1; 63]), &padding(1)).unwrap_err();
        assert_eq!(error, TooLong { length: 63, limit: 62 });
        assert_eq!(format(1).decode(&cover[1..]), None);
    }
}

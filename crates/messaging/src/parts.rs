//! What a row of a conversation says (specification, 6.1), and texts in parts (6.2).

use crate::params::{ADDRESS, PARTS, VERSION};
use ostrakon_crypto::locked::TAG;

/// Bytes before the text.
const HEAD: usize = 1 + 4 + 8 + 4 + 1 + 1 + 2;
const HAS_PART: u8 = 1;
const IS_END: u8 = 2;

/// A part of a text, or the end of the conversation.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Part {
    /// Whether it is the end: then it has no text.
    pub end: bool,
    /// Which part of its text it is, from 0.
    pub index: u8,
    /// Of how many.
    pub of: u8,
    pub text: Vec<u8>,
}

/// What one side has heard: every part before `next`, and beyond it those whose bits are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub next: u32,
    /// Bit i: part `next` + 1 + i.
    pub beyond: u64,
}

/// What a row says.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub heard: Heard,
    pub part: Option<(u32, Part)>,
}

/// Bytes of text that a part takes, in rows of this width.
pub(crate) fn room_for_text(width: usize) -> usize {
    width - 1 - ADDRESS - TAG - HEAD
}

impl Said {
    /// The bytes that are locked in a row of this width: always as many.
    pub fn encode(&self, width: usize) -> Vec<u8> {
        let mut plain = vec![0; width - 1 - ADDRESS - TAG];
        plain[1..5].copy_from_slice(&self.heard.next.to_le_bytes());
        plain[5..13].copy_from_slice(&self.heard.beyond.to_le_bytes());
        if let Some((number, part)) = &self.part {
            plain[0] = HAS_PART | if part.end { IS_END } else { 0 };
            plain[13..17].copy_from_slice(&number.to_le_bytes());
            (plain[17], plain[18]) = (part.index, part.of);
            let length = u16::try_from(part.text.len()).expect("parts are shorter than rows");
            plain[19..21].copy_from_slice(&length.to_le_bytes());
            plain[HEAD..HEAD + part.text.len()].copy_from_slice(&part.text);
        }
        plain
    }

    /// Reads what [`Said::encode`] writes; `None` for anything else that a hostile partner locks.
    pub fn decode(plain: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(plain.get(at..at + 4)?.try_into().ok()?));
        let beyond = u64::from_le_bytes(plain.get(5..13)?.try_into().ok()?);
        let heard = Heard { next: number(1)?, beyond };
        let (length, text) = plain.get(19..)?.split_first_chunk::<2>()?;
        let text = text.get(..usize::from(u16::from_le_bytes(*length)))?;
        let end = match plain[0] {
            0 => return Some(Self { heard, part: None }),
            HAS_PART => false,
            flags if flags == HAS_PART | IS_END => true,
            _ => return None,
        };
        let (index, of) = (plain[17], plain[18]);
        if index >= of || usize::from(of) > PARTS || (end && !text.is_empty()) {
            return None;
        }
        let part = Part { end, index, of, text: text.to_vec() };
        Some(Self { heard, part: Some((number(13)?, part)) })
    }
}

/// A row: version, address, and what is locked.
pub(crate) fn row(address: &[u8; ADDRESS], locked: &[u8]) -> Vec<u8> {
    [&[VERSION][..], address, locked].concat()
}

/// The address of a row and what is locked in it; `None` if it is no row of this width.
pub(crate) fn split(row: &[u8], width: usize) -> Option<(&[u8; ADDRESS], &[u8])> {
    let inner = row.strip_prefix(&[VERSION]).filter(|_| row.len() == width)?;
    inner.split_first_chunk()
}

/// A text in parts. The caller has checked that it is not too long.
pub(crate) fn parts_of(text: &str, width: usize) -> Vec<Part> {
    let chunks: Vec<_> = text.as_bytes().chunks(room_for_text(width)).collect();
    let of = u8::try_from(chunks.len()).expect("texts that are too long were refused");
    let part = |(index, text): (u8, &&[u8])| Part { end: false, index, of, text: text.to_vec() };
    (0u8..).zip(&chunks).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_said_reads_back(
            next: u32, beyond: u64, number: u32, of in 1u8..=32, text in "[a-zä]{0,90}", end: bool,
        ) {
            let text = if end { String::new() } else { text };
            let part = Part { end, index: of - 1, of, text: text.into_bytes() };
            let said = Said { heard: Heard { next, beyond }, part: Some((number, part)) };
            let plain = said.encode(254);
            prop_assert_eq!(plain.len(), 254 - 33);
            prop_assert!(Said::decode(&plain) == Some(said));
        }

        #[test]
        fn no_bytes_of_a_partner_s_panic(plain in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Said::decode(&plain);
        }
    }

    #[test]
    fn a_silent_row_is_as_long_as_a_full_one() {
        let heard = Heard { next: 1, beyond: 0 };
        let silent = Said { heard, part: None };
        let part = parts_of(&"x".repeat(room_for_text(254)), 254).remove(0);
        let full = Said { heard, part: Some((1, part)) };
        assert_eq!(silent.encode(254).len(), full.encode(254).len());
        assert!(Said::decode(&silent.encode(254)) == Some(silent));
    }

    #[test]
    fn a_text_is_put_together_from_its_parts() {
        let text = "ä".repeat(1000);
        let parts = parts_of(&text, 254);
        assert_eq!(parts.len(), 10);
        assert_eq!(
            parts.iter().flat_map(|part| part.text.clone()).collect::<Vec<_>>(),
            text.as_bytes()
        );
        assert!(parts.iter().all(|part| part.of == 10));
    }

    #[test]
    fn parts_that_cannot_be_are_refused() {
        let part = |index, of, end| Part { end, index, of, text: Vec::new() };
        let said = |part| Said { heard: Heard::default(), part: Some((0, part)) }.encode(254);
        for bad in [part(1, 1, false), part(0, 33, false), part(0, 0, false)] {
            assert!(Said::decode(&said(bad)).is_none());
        }
        let mut long = said(part(0, 1, false));
        long[19] = 255;
        assert!(Said::decode(&long).is_none(), "a length beyond the row");
        let mut ended = said(part(0, 1, true));
        assert!(Said::decode(&ended).is_some());
        ended[19] = 1;
        assert!(Said::decode(&ended).is_none());
        ended[0] = 4;
        assert!(Said::decode(&ended).is_none());
    }
}

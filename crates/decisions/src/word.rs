//! What servers say of a decision, and how that is filed.

use ostrakon_decide::record::SignedRecord;
use ostrakon_decide::{Date, DecisionId, Opening};
use ostrakon_job::{Filed, Invalid, ItemName, SCHEDULER, Write};
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::keep::{DRAFTS, LAYERS, key_name, spent, stock};

/// Bytes of an encoded opening at most. The tables' limit of 900 entries bounds people times
/// ballots, so the elements for all who are absent take 28,800 bytes, and proofs and names of 200
/// people 14,000.
const OPENING_BYTES: usize = 48_000;

/// The kind of words, as they are filed, that are records. They stand at their numbers.
pub const RECORDS: u8 = 0;
const DATES: u8 = 1;
const HELD: u8 = 2;
/// The kind of words that are openings. They stand at the numbers of their servers.
pub const OPENINGS: u8 = 3;

/// What a server says of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// The next record of the chain, signed and encoded. From the scheduler only, which puts all
    /// records into one order.
    Record(Vec<u8>),
    /// By the author's clock a date has passed. The author holds nothing more for it.
    Due(Date),
    /// The author holds what somebody handed in, a signed record, encoded, and asks the scheduler
    /// to take it.
    Held(Vec<u8>),
    /// The author opens the decision, which is closed; the opening, encoded.
    Opened(Vec<u8>),
}

impl Word {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a word.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Invalid> {
        wire::decode(bytes).map_err(|_| Invalid("a word about a decision is well formed"))
    }

    /// What a word holds that was filed as a record, a held one, or an opening.
    pub(crate) fn body(bytes: &[u8]) -> Option<Vec<u8>> {
        match Self::read(bytes).ok()? {
            Self::Record(body) | Self::Held(body) | Self::Opened(body) => Some(body),
            Self::Due(_) => None,
        }
    }

    /// How it is filed, once it is known to be valid. What was held came after another head than a
    /// record leaves. A one-time key that is spent leaves the stock in the same moment, and the
    /// layer of a decision that begins is not forgotten any more.
    pub(crate) fn filed(&self, author: PartyId, id: &DecisionId) -> Filed {
        match self {
            Self::Record(bytes) => {
                let Ok(SignedRecord { record, .. }) = SignedRecord::decode(bytes) else {
                    return Filed::default();
                };
                let begins = record.number == 0;
                let layer = ItemName(DRAFTS, id.0.to_vec());
                let mut writes: Vec<_> =
                    begins.then_some(Write::Move(layer, LAYERS)).into_iter().collect();
                if let Some(name) = record.spends() {
                    let name = key_name(&name);
                    writes.extend([Write::Put(spent(&name)), Write::Delete(stock(&name))]);
                }
                let place = record.number.into();
                Filed { kind: RECORDS, place, begins, drops: vec![HELD], writes }
            }
            Self::Due(_) => Filed { kind: DATES, place: author.0.into(), ..Filed::default() },
            Self::Held(_) => Filed { kind: HELD, place: author.0.into(), ..Filed::default() },
            Self::Opened(_) => Filed { kind: OPENINGS, place: author.0.into(), ..Filed::default() },
        }
    }
}

/// A record of this decision, whatever it says.
pub(crate) fn read_record(id: &DecisionId, bytes: &[u8]) -> Option<SignedRecord> {
    SignedRecord::decode(bytes).ok().filter(|signed| signed.record.decision == *id)
}

/// Whether these bytes are an opening, whatever it says.
pub(crate) fn is_opening(bytes: &[u8]) -> bool {
    bytes.len() <= OPENING_BYTES && Opening::decode(bytes).is_ok()
}

/// Whether no honest server says this, whatever was said before.
pub(crate) fn is_never_valid(author: PartyId, id: &DecisionId, word: &[u8]) -> bool {
    match Word::read(word) {
        Ok(Word::Record(record)) => author != SCHEDULER || read_record(id, &record).is_none(),
        Ok(Word::Held(record)) => read_record(id, &record).is_none(),
        Ok(Word::Opened(opening)) => !is_opening(&opening),
        Ok(Word::Due(_)) => false,
        Err(Invalid(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_decide::record::RECORD_BYTES;

    use super::*;

    #[test]
    fn the_longest_record_and_the_longest_opening_fit_into_a_word() {
        for bytes in [RECORD_BYTES, OPENING_BYTES] {
            let word = Word::Record(vec![255; bytes]).encode();
            assert!(word.len() <= ostrakon_job::LONGEST_WORD, "{}", word.len());
            assert_eq!(Word::body(&word), Some(vec![255; bytes]));
        }
    }

    #[test]
    fn what_is_no_word_is_never_valid() {
        for word in [&[][..], &[9], &[1, 7], &[1, 0, 0]] {
            assert!(is_never_valid(PartyId(1), &DecisionId([1; 16]), word), "{word:?}");
        }
        let due = Word::Due(Date::Answer).encode();
        assert!(!is_never_valid(PartyId(1), &DecisionId([1; 16]), &due));
        let junk = [Word::Record(vec![1]), Word::Held(vec![1]), Word::Opened(vec![1])];
        for word in junk.map(|word| word.encode()) {
            assert!(is_never_valid(SCHEDULER, &DecisionId([1; 16]), &word), "{word:?}");
        }
    }
}

//! What a device remembers of decisions: what it has seen, which one-time key it used where, and
//! what it answered.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::Digest;
use serde::{Deserialize, Serialize};

use crate::draft::DecisionId;
use crate::keys::Serial;
use crate::record::SignedRecord;
use crate::refused::Refused;

/// That a device has answered. The answers are not printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Answered {
    /// The answers, until they are known to be in the chain. A step that is made again has the same
    /// ones.
    answers: Option<Vec<u8>>,
    /// The record with them, as it may have left: it is handed in again, the same bytes, as long as
    /// it can be the next one. Several signed records for one place would let whoever orders them
    /// build several histories that bear the person's signature.
    #[serde(default)]
    sent: Option<String>,
}

impl fmt::Debug for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answered")
    }
}

/// What a device remembers of one decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    /// Records seen, and the digest of the last of them.
    length: u32,
    head: Digest,
    /// The one-time key that is used in it.
    serial: Option<Serial>,
    answered: Option<Answered>,
}

impl Remembered {
    fn merge(&mut self, theirs: Remembered) {
        if theirs.length > self.length {
            (self.length, self.head) = (theirs.length, theirs.head);
        }
        self.serial = self.serial.or(theirs.serial);
        let arrived = |answered: &Option<Answered>| {
            answered.as_ref().is_some_and(|answered| answered.answers.is_none())
        };
        if self.answered.is_none() || arrived(&theirs.answered) {
            self.answered = theirs.answered;
        }
    }
}

/// Everything that a device remembers. It is kept, whole, before anything computed with it leaves
/// the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    decisions: BTreeMap<DecisionId, Remembered>,
}

impl Memory {
    /// Whether the device has answered in the decision, or may have: a step with its answers may
    /// have left.
    pub fn has_answered(&self, decision: &DecisionId) -> bool {
        self.of(decision).is_some_and(|known| known.answered.is_some())
    }

    /// The answers that a step may have left with, as long as it is not known to be in the chain.
    pub fn pending(&self, decision: &DecisionId) -> Option<&[u8]> {
        self.of(decision)?.answered.as_ref()?.answers.as_deref()
    }

    /// The decisions that the device has seen.
    pub fn decisions(&self) -> impl Iterator<Item = &DecisionId> {
        self.decisions.keys()
    }

    /// Forgets a decision. Whoever answers in it again on this device could then answer
    /// differently.
    pub fn forget(&mut self, decision: &DecisionId) {
        self.decisions.remove(decision);
    }

    fn of(&self, decision: &DecisionId) -> Option<&Remembered> {
        self.decisions.get(decision)
    }

    /// Checks that a chain with these digests continues what was seen, and takes note of it.
    pub(crate) fn pin(&mut self, decision: DecisionId, digests: &[Digest]) -> Result<(), Refused> {
        let Some(head) = digests.last() else { return Ok(()) };
        let shown = u32::try_from(digests.len()).expect("a chain's length is limited");
        let known = self.decisions.entry(decision).or_insert_with(|| Remembered {
            length: 0,
            head: *head,
            serial: None,
            answered: None,
        });
        if shown < known.length {
            return Err(Refused::Shorter { shown, seen: known.length });
        }
        if let Some(last) = known.length.checked_sub(1)
            && digests[last as usize] != known.head
        {
            return Err(Refused::Forked { number: last });
        }
        (known.length, known.head) = (shown, *head);
        Ok(())
    }

    /// Takes note that a one-time key is used in a decision, which must have been seen, unless it
    /// is used in another one.
    pub(crate) fn use_key(&mut self, decision: &DecisionId, serial: Serial) -> Result<(), Refused> {
        let elsewhere = |(other, known): (&DecisionId, &Remembered)| {
            other != decision && known.serial == Some(serial)
        };
        if self.decisions.iter().any(elsewhere) {
            return Err(Refused::Device(
                "the one-time key of this decision is used in another one: server 0 has broken the rules. Do not answer".into(),
            ));
        }
        let known = self.decisions.get_mut(decision).expect("it was seen");
        if known.serial.is_some_and(|other| other != serial) {
            return Err(Refused::Device(
                "this device uses another one-time key in this decision".into(),
            ));
        }
        known.serial = Some(serial);
        Ok(())
    }

    /// Takes note of the answers of a decision, which must have been seen. They are fixed by that.
    pub(crate) fn fix(&mut self, decision: &DecisionId, answers: &[u8]) -> Result<(), Refused> {
        let known = self.decisions.get_mut(decision).expect("it was seen");
        match &known.answered {
            Some(Answered { answers: Some(fixed), .. }) if fixed == answers => Ok(()),
            Some(_) => Err(Refused::Device(
                "this device has answered already; what was answered cannot be changed any more"
                    .into(),
            )),
            None => {
                known.answered = Some(Answered { answers: Some(answers.to_vec()), sent: None });
                Ok(())
            }
        }
    }

    /// Drops the answers of a decision: they are in the chain.
    pub(crate) fn settle(&mut self, decision: &DecisionId) {
        if let Some(known) = self.decisions.get_mut(decision) {
            known.answered = Some(Answered { answers: None, sent: None });
        }
    }

    /// The record that may have left with the answers of a decision.
    pub(crate) fn sent(&self, decision: &DecisionId) -> Option<SignedRecord> {
        let text = self.of(decision)?.answered.as_ref()?.sent.as_ref()?;
        SignedRecord::decode(&BASE64URL_NOPAD.decode(text.as_bytes()).ok()?).ok()
    }

    /// Takes note of the record that leaves with the answers, which were fixed.
    pub(crate) fn send(&mut self, decision: &DecisionId, record: &SignedRecord) {
        let known = self.decisions.get_mut(decision);
        if let Some(answered) = known.and_then(|known| known.answered.as_mut()) {
            answered.sent = Some(BASE64URL_NOPAD.encode(&record.encode()));
        }
    }

    /// Takes in what another copy of this memory knows, an older or a newer one: nothing that
    /// either knows is forgotten. What an account brings that was exported before an answer does
    /// not let the device answer again.
    pub fn merge(&mut self, other: Memory) {
        for (decision, theirs) in other.decisions {
            match self.decisions.entry(decision) {
                Entry::Vacant(place) => drop(place.insert(theirs)),
                Entry::Occupied(mut own) => own.get_mut().merge(theirs),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: DecisionId = DecisionId([1; 16]);
    const B: DecisionId = DecisionId([2; 16]);

    fn digests(numbers: &[u8]) -> Vec<Digest> {
        numbers.iter().map(|number| Digest([*number; 32])).collect()
    }

    #[test]
    fn a_chain_that_does_not_continue_what_was_seen_is_refused() {
        let mut memory = Memory::default();
        memory.pin(A, &digests(&[1, 2])).unwrap();
        memory.pin(A, &digests(&[1, 2, 3])).unwrap();
        assert_eq!(memory.pin(A, &digests(&[1, 2])), Err(Refused::Shorter { shown: 2, seen: 3 }));
        assert_eq!(memory.pin(A, &digests(&[1, 2, 4, 5])), Err(Refused::Forked { number: 2 }));
        memory.pin(A, &digests(&[1, 2, 3, 6])).unwrap();
        memory.pin(B, &digests(&[9])).unwrap();
    }

    #[test]
    fn answers_are_fixed_and_keys_are_used_once() {
        let mut memory = Memory::default();
        memory.pin(A, &digests(&[1])).unwrap();
        memory.pin(B, &digests(&[1])).unwrap();
        memory.use_key(&A, Serial([7; 16])).unwrap();
        memory.use_key(&A, Serial([7; 16])).unwrap();
        assert!(memory.use_key(&A, Serial([8; 16])).is_err());
        assert!(memory.use_key(&B, Serial([7; 16])).is_err(), "one key in two decisions");
        memory.fix(&A, &[1]).unwrap();
        memory.fix(&A, &[1]).unwrap();
        assert!(memory.fix(&A, &[0]).is_err(), "other answers");
        let text = serde_json::to_string(&memory).unwrap();
        let mut kept: Memory = serde_json::from_str(&text).unwrap();
        assert_eq!(kept, memory);
        assert_eq!(kept.pending(&A), Some(&[1][..]));
        kept.fix(&B, &[213]).unwrap();
        assert!(!format!("{kept:#?}").contains("213"), "answers are not printed");
        kept.settle(&A);
        assert_eq!(
            (kept.has_answered(&A), kept.pending(&A)),
            (true, None),
            "what was answered is not kept"
        );
        assert!(kept.fix(&A, &[1]).is_err(), "it has come");
    }

    #[test]
    fn an_older_export_does_not_roll_the_memory_back() {
        let mut older = Memory::default();
        older.pin(A, &digests(&[1])).unwrap();
        older.pin(B, &digests(&[7])).unwrap();
        let mut memory = older.clone();
        memory.pin(A, &digests(&[1, 2])).unwrap();
        memory.use_key(&A, Serial([7; 16])).unwrap();
        memory.fix(&A, &[1]).unwrap();
        for (mut one, other) in [(memory.clone(), older.clone()), (older.clone(), memory.clone())] {
            one.merge(other);
            assert_eq!(one, memory, "whichever is taken into the other");
            assert!(one.fix(&A, &[0]).is_err(), "what was answered stays");
            assert!(one.pin(A, &digests(&[1])).is_err(), "what was seen, too");
            assert!(one.use_key(&B, Serial([7; 16])).is_err(), "and which key was used");
        }
        let mut arrived = memory.clone();
        arrived.settle(&A);
        let mut late = memory.clone();
        late.merge(arrived.clone());
        assert_eq!(late, arrived, "an answer that has arrived is not kept again");
        arrived.merge(memory);
        assert_eq!(late, arrived);
    }
}

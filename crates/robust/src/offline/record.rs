//! What members say about a batch in the ledger.

use ostrakon_crypto::{Digest, Secret};

use crate::message::{Header, StepId};

/// What does not fit together, as the complainer received it. Digests suffice, because everybody
/// recomputes the bodies from the seeds; so a record is short, and nothing has to be fetched from
/// anybody who might show it to some only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The step.
    pub step: StepId,
    /// All messages of the step that the complainer has.
    pub messages: Vec<Header>,
}

/// What a member shows of a burnt batch. The batch is never used, so nothing depends on it.
#[derive(Clone)]
pub struct Reveal {
    /// The seed that the member is committed to.
    pub seed: Secret,
    /// The dealings that it received.
    pub deals: Vec<Header>,
}

/// A record in the ledger. The ledger says whose it is, and gives all members all records in one
/// order.
#[derive(Clone)]
pub enum Record {
    /// A commitment to the seed.
    Commit(Digest),
    /// The own part ended well.
    Right,
    /// It did not.
    Complaint(Complaint),
    /// What the member shows because the batch is burnt.
    Reveal(Reveal),
}

impl Record {
    /// The record's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let list = |bytes: &mut Vec<u8>, messages: &[Header]| {
            bytes.extend(messages.iter().flat_map(Header::to_bytes));
        };
        match self {
            Record::Commit(digest) => [&[0][..], &digest.0].concat(),
            Record::Right => vec![1],
            Record::Complaint(complaint) => {
                let mut bytes = vec![2];
                bytes.extend(complaint.step.write());
                list(&mut bytes, &complaint.messages);
                bytes
            }
            Record::Reveal(reveal) => {
                let mut bytes = [&[3][..], reveal.seed.expose()].concat();
                list(&mut bytes, &reveal.deals);
                bytes
            }
        }
    }

    /// Reads a record; `None` for anything that [`Record::to_bytes`] does not write. Takes memory
    /// in proportion to the bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Record> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            0 => Some(Record::Commit(Digest(rest.try_into().ok()?))),
            1 if rest.is_empty() => Some(Record::Right),
            2 => {
                let (step, rest) = rest.split_first_chunk::<3>()?;
                let (step, messages) = (StepId::read(*step)?, read_list(rest)?);
                Some(Record::Complaint(Complaint { step, messages }))
            }
            3 => {
                let (seed, rest) = rest.split_first_chunk::<32>()?;
                let (seed, deals) = (Secret::new(*seed), read_list(rest)?);
                Some(Record::Reveal(Reveal { seed, deals }))
            }
            _ => None,
        }
    }
}

fn read_list(bytes: &[u8]) -> Option<Vec<Header>> {
    let (headers, rest) = bytes.as_chunks::<{ Header::BYTES }>();
    if !rest.is_empty() {
        return None;
    }
    headers.iter().map(Header::from_bytes).collect()
}

//! A participant's part (spec 5): it gets its slot's masks from the servers, share by share, and
//! sends all of them the same masked row.

use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, Secret, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use rand_core::Rng;

use crate::collector::Collector;
use crate::committee::Committee;
use crate::message::bytes_of;
use crate::tape::Tape;

/// Bytes of a row that one element carries.
pub const CARRIED: usize = 7;

/// A row as a client sends it: x − r − PRG(σ) in a shuffle, C and D in PowerMix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked(pub Vec<Fp>);

/// What a submission is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The room.
    pub room: Digest,
    /// The epoch.
    pub epoch: u64,
    /// The slot.
    pub slot: u32,
    /// The batch whose masks are used, [`crate::offline::Checked::batch`]: under another one's
    /// masks the row would be noise.
    pub batch: Digest,
}

/// A submission: the same bytes to all servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The masked row.
    pub masked: Masked,
    /// The client's signature.
    pub signature: Signature,
}

impl Submission {
    /// The submission's bytes: the signature, then the elements.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.signature.0[..], &bytes_of(&self.masked.0)].concat()
    }

    /// The digest of the masked row, by which a sealed table and what a client signs name it.
    #[must_use]
    pub fn row(&self) -> Digest {
        digest("ostrakon/v1/robust/row", &bytes_of(&self.masked.0))
    }

    /// Reads a submission of exactly `elements` elements; programs take no other ones.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], elements: usize) -> Option<Submission> {
        let (signature, row) = bytes.split_first_chunk::<64>()?;
        let masked = Masked(crate::message::elements(row, elements)?);
        Some(Submission { masked, signature: Signature(*signature) })
    }
}

impl Place {
    /// The digest that a client signs for a row of this digest, [`Submission::row`]: whoever has
    /// the row's digest alone can tell whether it was signed for this place.
    #[must_use]
    pub fn digest(&self, client: &VerifyingKey, row: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/robust/submission");
        transcript.field(&self.room.0).number(self.epoch).number(self.slot.into());
        transcript.field(&self.batch.0);
        transcript.field(&client.0).field(&row.0);
        transcript.finish()
    }

    /// Signs a masked row.
    pub fn submit(&self, key: &SigningKey, masked: Masked) -> Submission {
        let mut submission = Submission { masked, signature: Signature([0; 64]) };
        submission.signature = key.sign(&self.digest(&key.verifying_key(), &submission.row()));
        submission
    }

    /// Whether a submission is this client's for this place.
    #[must_use]
    pub fn vouches(&self, client: &VerifyingKey, submission: &Submission) -> bool {
        client.verifies(&self.digest(client, &submission.row()), &submission.signature)
    }
}

/// The masks of one slot, which the owner puts together.
pub struct MaskReader {
    committee: Committee,
    count: usize,
    /// Until the masks are given out.
    collector: Option<Collector>,
}

/// A slot's masks. Good for one row.
pub struct Masks(Vec<Fp>);

impl Drop for Masks {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl MaskReader {
    /// Expects `count` masks.
    #[must_use]
    pub fn new(committee: Committee, count: usize) -> MaskReader {
        let collector = Some(Collector::new(&committee));
        MaskReader { committee, count, collector }
    }

    /// Takes a server's shares; the masks as soon as 2t + 1 servers' shares of all of them lie on
    /// one polynomial each, and never again: two rows under one mask show their difference. Shares
    /// of another number count as none.
    pub fn receive(&mut self, from: PartyId, shares: &[Fp], rng: &mut impl Rng) -> Option<Masks> {
        let position = self.committee.position(from)?;
        let collector = self.collector.as_mut()?;
        if shares.len() == self.count {
            collector.insert(position, shares.to_vec());
        } else {
            collector.exclude(position);
        }
        let found = collector.agreement(&self.committee, rng)?;
        let masks = collector.secrets(&self.committee, &found.agree, self.committee.corrupt());
        self.collector = None;
        Some(Masks(masks))
    }
}

impl Masks {
    /// Masks a row for the shuffle or the butterfly: the masks are r, one for each element, and the
    /// two elements of σ.
    ///
    /// # Panics
    /// If there are not two masks more than elements.
    #[must_use]
    pub fn for_row(self, row: &[Fp]) -> Masked {
        assert_eq!(self.0.len(), row.len() + 2, "a mask for each element, and σ");
        let (mask, pad) = self.0.split_at(row.len());
        let pad = expand([pad[0], pad[1]], row.len());
        let masked = row.iter().zip(mask).zip(pad).map(|((&x, &r), p)| x - r - p);
        Masked(masked.collect())
    }

    /// Masks a carrier and its payload for PowerMix: C = m − b, D = y − a.
    ///
    /// # Panics
    /// If there is not one mask more than payload elements.
    #[must_use]
    pub fn for_carrier(self, key: Fp, payload: &[Fp]) -> Masked {
        assert_eq!(self.0.len(), payload.len() + 1, "a mask for the key and each element");
        let values = std::iter::once(&key).chain(payload);
        Masked(values.zip(&self.0).map(|(&value, &mask)| value - mask).collect())
    }
}

/// What σ expands into.
fn expand(pad: [Fp; 2], count: usize) -> Vec<Fp> {
    let bytes = pad.map(Fp::to_le_bytes).concat();
    let mut transcript = Transcript::new("ostrakon/v1/robust/pad");
    transcript.field(&bytes);
    let mut tape = Tape::new(&Secret::new(transcript.finish().0));
    (0..count).map(|_| Fp::random(&mut tape)).collect()
}

/// A sealed row without its pad, x − r, once σ is open.
pub(crate) fn unpad(masked: &Masked, pad: [Fp; 2]) -> Vec<Fp> {
    let pad = expand(pad, masked.0.len());
    masked.0.iter().zip(pad).map(|(&value, pad)| value + pad).collect()
}

/// Cuts a row of bytes into elements of seven bytes each, the last one filled with zeros.
#[must_use]
pub fn to_elements(row: &[u8]) -> Vec<Fp> {
    let word = |chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        Fp::new(u64::from_le_bytes(bytes))
    };
    row.chunks(CARRIED).map(word).collect()
}

/// Joins elements to a row of `length` bytes; `None` if an element is none of [`to_elements`].
/// Noise passes with probability 2^-8 an element, so rows carry redundancy of their own.
#[must_use]
pub fn from_elements(elements: &[Fp], length: usize) -> Option<Vec<u8>> {
    if elements.len() != length.div_ceil(CARRIED) {
        return None;
    }
    let mut row = Vec::with_capacity(elements.len() * CARRIED);
    for element in elements {
        let bytes = element.to_le_bytes();
        if bytes[CARRIED] != 0 {
            return None;
        }
        row.extend(&bytes[..CARRIED]);
    }
    let filling = row.split_off(length);
    filling.iter().all(|&byte| byte == 0).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three masks of 1, 2 and 3 among four servers: each server's shares.
    fn dealt() -> (Committee, Vec<Vec<Fp>>, Tape) {
        let committee = Committee::new(&[0, 1, 2, 3].map(PartyId), 1).unwrap();
        let mut tape = Tape::new(&Secret::new([1; 32]));
        let masks = [1, 2, 3].map(Fp::new);
        let shares = crate::algebra::vectors::share(&masks, 1, &committee, &mut tape);
        (committee, shares, tape)
    }

    /// A corrupt server takes its first, wrong shares back with a message of another length, so
    /// that there are as many shares as when decoding failed.
    #[test]
    fn shares_that_are_taken_back_stop_no_client() {
        let (committee, shares, mut tape) = dealt();
        let mut reader = MaskReader::new(committee, 3);
        let mut wrong = shares[3].clone();
        wrong[1] += Fp::ONE;
        assert!(reader.receive(PartyId(3), &wrong, &mut tape).is_none());
        assert!(reader.receive(PartyId(0), &shares[0], &mut tape).is_none());
        assert!(reader.receive(PartyId(1), &shares[1], &mut tape).is_none());
        assert!(reader.receive(PartyId(3), &wrong[..2], &mut tape).is_none());
        let masks = reader.receive(PartyId(2), &shares[2], &mut tape).unwrap();
        assert_eq!(masks.0, [1, 2, 3].map(Fp::new));
    }

    /// Two rows under one mask would show their difference.
    #[test]
    fn masks_come_once() {
        let (committee, shares, mut tape) = dealt();
        let mut reader = MaskReader::new(committee, 3);
        let mut come = 0;
        for _ in 0..2 {
            for (i, shares) in shares.iter().enumerate() {
                come += usize::from(reader.receive(PartyId(i as u8), shares, &mut tape).is_some());
            }
        }
        assert_eq!(come, 1);
    }

    #[test]
    fn rows_survive_and_noise_is_noticed() {
        for length in [0, 1, 6, 7, 8, 160] {
            let row: Vec<u8> = (0..length).map(|i| 255 - i as u8).collect();
            let mut elements = to_elements(&row);
            assert_eq!(from_elements(&elements, length), Some(row));
            assert_eq!(from_elements(&elements, length + 7), None);
            if let Some(last) = elements.last_mut() {
                *last += Fp::new(1 << 56);
                assert_eq!(from_elements(&elements, length), None);
            }
        }
        assert_eq!(from_elements(&[Fp::new(256)], 1), None, "filling is zero");
    }
}

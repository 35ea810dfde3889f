//! Members' shares of a report, of which none is sent: each is expanded from a key that its member
//! and the reporter have in common.

use curve25519_dalek::ristretto::RistrettoPoint;
use ostrakon_authbits::Bits;
use ostrakon_crypto::Secret;

use super::Field;
use super::proof::Ephemerals;
use crate::committee::Committee;
use crate::question::Form;

/// A member's share of one field, or all members' sum.
#[derive(Clone)]
pub(crate) enum Share {
    /// A coefficient for each bit.
    Chi(Vec<u64>),
    /// Bits.
    E(Bits),
    /// s_0, and bits.
    S(u64, Bits),
}

fn expand(key: &Secret, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    key.fill("ostrakon/v1/stats/share", &[], &mut bytes);
    bytes
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

impl Share {
    /// What a key expands to.
    pub(crate) fn of(field: Field, key: &Secret, bits: usize) -> Self {
        let some = |bytes: &[u8]| Bits::first_of(bytes, bits).unwrap_or_default();
        match field {
            Field::Chi => Self::Chi(words(&expand(key, 8 * bits))),
            Field::E => Self::E(some(&expand(key, bits.div_ceil(8)))),
            Field::S => {
                let bytes = expand(key, 8 + bits.div_ceil(8));
                let first = words(&bytes[..8]);
                Self::S(first[0], some(&bytes[8..]))
            }
        }
    }

    /// Adds another member's share of the same field.
    pub(crate) fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::Chi(a), Self::Chi(b)) => a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b),
            (Self::E(a), Self::E(b)) => a.xor(b),
            (Self::S(a, bits), Self::S(b, others)) => {
                *a ^= b;
                bits.xor(others);
            }
            _ => {}
        }
    }
}

/// y = s_0 ⊕ Σχ_h·s_h.
pub(crate) fn check(first: u64, bits: &Bits, chi: &[u64]) -> u64 {
    let terms = chi.iter().enumerate().filter(|(h, _)| bits.get(*h));
    terms.fold(first, |sum, (_, chi)| sum ^ chi)
}

/// All members' shares together, as the reporter knows them.
pub(crate) struct Dealt {
    chi: Vec<u64>,
    pub(crate) e: Bits,
    first: u64,
    pub(crate) s: Bits,
}

impl Dealt {
    pub(crate) fn of(form: &Form, ephemerals: &Ephemerals, committee: &Committee) -> Self {
        let bits = form.bits();
        let zeros = Bits::zeros(bits);
        let mut all = Self { chi: Vec::new(), e: zeros.clone(), first: 0, s: zeros };
        for part in ephemerals.parts() {
            let point = part.point.compress().0;
            let of_member = |(i, public): (usize, &RistrettoPoint)| {
                let z = (*part.secret * public).compress().0;
                Share::of(part.field, &part.label.key(i, &point, &z), bits)
            };
            let mut shares = committee.points().iter().enumerate().map(of_member);
            let Some(mut sum) = shares.next() else { continue };
            shares.for_each(|share| sum.add(&share));
            match sum {
                Share::Chi(chi) => all.chi = chi,
                Share::E(e) => all.e = e,
                Share::S(first, s) => (all.first, all.s) = (first, s),
            }
        }
        all
    }

    /// y.
    pub(crate) fn check(&self) -> u64 {
        check(self.first, &self.s, &self.chi)
    }
}

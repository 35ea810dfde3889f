//! The threshold coin (spec K): Diffie–Hellman with a shared exponent on ristretto255.
//!
//! The coin of a label is H(x·B), where x is shared with degree t and B is the label hashed to the
//! group. A server's share is x_j·B with a proof that it has the logarithm of the server's public
//! share. t + 1 shares make the coin, t say nothing about it (decisional Diffie–Hellman), and a
//! share is a function of its label, so a server that restarts repeats its bytes.

use std::fmt;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{IsIdentity, VartimeMultiscalarMul};
use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_party::{ByParty, PartyId};
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// A server's share of one coin, with its proof: a group element and two scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CoinShare {
    /// x_j·B.
    pub point: [u8; 32],
    /// The proof's challenge.
    pub challenge: [u8; 32],
    /// The proof's response.
    pub response: [u8; 32],
}

/// The public side of the shared exponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoinKeys {
    group: RistrettoPoint,
    shares: ByParty<RistrettoPoint>,
    needed: usize,
}

/// A server's share x_j of the exponent. Wiped when dropped, not printed.
pub struct CoinSecret(Scalar);

impl Drop for CoinSecret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for CoinSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CoinSecret")
    }
}

/// The point at which a server's share stands; 0 is the secret itself.
pub(crate) fn point(party: PartyId) -> Scalar {
    Scalar::from(u64::from(party.0) + 1)
}

/// The Lagrange coefficients at 0 for distinct parties, in their order.
fn lagrange(parties: &[PartyId]) -> Vec<Scalar> {
    let coefficient = |own: &PartyId| {
        let others = parties.iter().filter(|other| *other != own);
        let (top, bottom) = others.fold((Scalar::ONE, Scalar::ONE), |(top, bottom), other| {
            (top * point(*other), bottom * (point(*other) - point(*own)))
        });
        top * bottom.invert()
    };
    parties.iter().map(coefficient).collect()
}

/// A transcript's digest as 64 uniform bytes.
pub(crate) fn wide(transcript: &Transcript, context: &'static str) -> [u8; 64] {
    let mut out = [0; 64];
    Secret::new(transcript.finish().0).fill(context, &[], &mut out);
    out
}

/// B: the group element that a label stands for. Nobody knows its logarithm.
fn base(label: &Digest) -> RistrettoPoint {
    let mut transcript = Transcript::new("ostrakon/v1/agreement/coin base");
    transcript.field(&label.0);
    RistrettoPoint::from_uniform_bytes(&wide(&transcript, "ostrakon/v1/agreement/coin base bytes"))
}

fn decode(bytes: &[u8; 32]) -> Option<RistrettoPoint> {
    CompressedRistretto(*bytes).decompress().filter(|point| !point.is_identity())
}

/// The proof's challenge: everything that the claim speaks of, then the commitments.
fn challenge(
    label: &Digest,
    party: PartyId,
    claim: [&RistrettoPoint; 2],
    commitments: [&RistrettoPoint; 2],
) -> Scalar {
    let mut transcript = Transcript::new("ostrakon/v1/agreement/coin share proof");
    transcript.field(&label.0).number(u64::from(party.0));
    for element in claim.into_iter().chain(commitments) {
        transcript.field(&element.compress().0);
    }
    let bytes = wide(&transcript, "ostrakon/v1/agreement/coin share challenge");
    Scalar::from_bytes_mod_order_wide(&bytes)
}

impl CoinSecret {
    pub(crate) fn new(value: Scalar) -> Self {
        Self(value)
    }

    /// x_j·G.
    pub(crate) fn public(&self) -> RistrettoPoint {
        RistrettoPoint::mul_base(&self.0)
    }

    /// This server's share of the coin of `label`: a function of the two.
    #[must_use]
    pub fn share(&self, party: PartyId, label: &Digest) -> CoinShare {
        let base = base(label);
        let share = base * self.0;
        let public = self.public();
        let secret = Secret::new(self.0.to_bytes());
        let mut nonce = [0; 64];
        secret.fill("ostrakon/v1/agreement/coin share nonce", &[&label.0], &mut nonce);
        let mut k = Scalar::from_bytes_mod_order_wide(&nonce);
        nonce.zeroize();
        let commitments = [&RistrettoPoint::mul_base(&k), &(base * k)];
        let challenge = challenge(label, party, [&public, &share], commitments);
        let response = k - challenge * self.0;
        k.zeroize();
        CoinShare {
            point: share.compress().0,
            challenge: challenge.to_bytes(),
            response: response.to_bytes(),
        }
    }
}

impl CoinKeys {
    /// Keys of parties whose shares lie on one polynomial of degree `needed` − 1.
    pub(crate) fn new(
        group: RistrettoPoint,
        shares: ByParty<RistrettoPoint>,
        needed: usize,
    ) -> Self {
        Self { group, shares, needed }
    }

    /// x·G, by which the exponent is known.
    #[must_use]
    pub fn group(&self) -> [u8; 32] {
        self.group.compress().0
    }

    /// Everything public of the key: servers with another digest toss other coins.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/agreement/coin keys");
        transcript.number(self.needed as u64).field(&self.group());
        for (_, share) in self.shares.iter() {
            transcript.field(&share.compress().0);
        }
        transcript.finish()
    }

    /// Whether `share` is what `party` must give for `label`.
    #[must_use]
    pub fn verifies(&self, party: PartyId, label: &Digest, share: &CoinShare) -> bool {
        let (Some(public), Some(element)) = (self.shares.get(party), decode(&share.point)) else {
            return false;
        };
        let scalar = |bytes| Option::<Scalar>::from(Scalar::from_canonical_bytes(bytes));
        let (Some(e), Some(s)) = (scalar(share.challenge), scalar(share.response)) else {
            return false;
        };
        let base = base(label);
        let first = RistrettoPoint::vartime_double_scalar_mul_basepoint(&e, public, &s);
        let second = RistrettoPoint::vartime_multiscalar_mul([e, s], [element, base]);
        challenge(label, party, [public, &element], [&first, &second]) == e
    }

    /// The coin of `label` from shares that verify, of distinct parties; `None` if they are fewer
    /// than t + 1.
    #[must_use]
    pub fn combine(&self, label: &Digest, shares: &[(PartyId, CoinShare)]) -> Option<Digest> {
        let shares = shares.get(..self.needed)?;
        let parties: Vec<_> = shares.iter().map(|(party, _)| *party).collect();
        let points: Option<Vec<_>> = shares.iter().map(|(_, share)| decode(&share.point)).collect();
        let value = RistrettoPoint::vartime_multiscalar_mul(lagrange(&parties), points?);
        let mut transcript = Transcript::new("ostrakon/v1/agreement/coin");
        transcript.field(&label.0).field(&value.compress().0);
        Some(transcript.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of a fixed polynomial.
    fn dealt(parties: usize, needed: usize) -> (CoinKeys, Vec<CoinSecret>) {
        let coefficient = |i: usize| Scalar::from_bytes_mod_order([i as u8 + 3; 32]);
        let secret =
            |x: Scalar| (0..needed).rev().fold(Scalar::ZERO, |v, i| v * x + coefficient(i));
        let secrets: Vec<_> =
            (0..parties).map(|i| CoinSecret(secret(point(PartyId(i as u8))))).collect();
        let shares = ByParty::new(parties, |party| secrets[party.index()].public());
        let group = RistrettoPoint::mul_base(&coefficient(0));
        (CoinKeys::new(group, shares, needed), secrets)
    }

    #[test]
    fn any_t_plus_1_shares_make_one_coin_and_fewer_none() {
        let (keys, secrets) = dealt(7, 3);
        let label = Digest([9; 32]);
        let shares: Vec<_> = (0..7)
            .map(|i| (PartyId(i), secrets[usize::from(i)].share(PartyId(i), &label)))
            .collect();
        assert!(shares.iter().all(|(party, share)| keys.verifies(*party, &label, share)));
        let coin = keys.combine(&label, &shares[..3]).unwrap();
        assert_eq!(keys.combine(&label, &[shares[6], shares[1], shares[4]]), Some(coin));
        assert_eq!(keys.combine(&label, &shares[..2]), None);
        let other = Digest([8; 32]);
        let again: Vec<_> = (0..3)
            .map(|i| (PartyId(i), secrets[usize::from(i)].share(PartyId(i), &other)))
            .collect();
        assert_ne!(keys.combine(&other, &again), Some(coin));
    }

    #[test]
    fn a_share_is_a_function_of_its_label() {
        let (_, secrets) = dealt(4, 2);
        let label = Digest([1; 32]);
        assert_eq!(secrets[2].share(PartyId(2), &label), secrets[2].share(PartyId(2), &label));
        assert_eq!(format!("{:?}", secrets[0]), "CoinSecret");
    }

    #[test]
    fn a_share_that_is_changed_moved_or_not_canonical_is_refused() {
        let (keys, secrets) = dealt(4, 2);
        let (label, party) = (Digest([1; 32]), PartyId(1));
        let share = secrets[1].share(party, &label);
        assert!(keys.verifies(party, &label, &share));
        assert!(!keys.verifies(PartyId(2), &label, &share), "another party's");
        assert!(!keys.verifies(PartyId(4), &label, &share), "nobody's");
        assert!(!keys.verifies(party, &Digest([2; 32]), &share), "another label's");
        let changes: [fn(&mut CoinShare); 6] = [
            |share| share.point[0] ^= 2,
            |share| share.challenge[5] ^= 1,
            |share| share.response[5] ^= 1,
            |share| share.point = [0; 32],
            |share| share.challenge = [0xff; 32],
            |share| share.response[31] |= 0x80,
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut wrong = share;
            change(&mut wrong);
            assert!(!keys.verifies(party, &label, &wrong), "change {i}");
        }
    }
}

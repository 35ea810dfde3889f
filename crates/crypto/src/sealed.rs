//! Bytes that one receiver can read: X25519 with a fresh key of the sender's, then
//! ChaCha20-Poly1305.
//!
//! The cipher's key is used once, so the nonce is fixed. Who sent the bytes is not proved: whoever
//! needs that signs what lies inside.

use std::sync::OnceLock;

use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::backend::Exchange;
use crate::hash::{Secret, Transcript};

/// The receiver's secret half of an exchange.
pub struct ExchangeKey {
    exchange: Exchange,
    /// Made when it is needed first: that takes half as long as an exchange.
    public: OnceLock<[u8; 32]>,
}

impl ExchangeKey {
    /// The key that a secret derivation or a generator gave.
    pub fn new(secret: &Secret) -> Self {
        Self { exchange: Exchange::new(secret.expose()), public: OnceLock::new() }
    }

    /// The public half: 32 bytes.
    pub fn public(&self) -> [u8; 32] {
        *self.public.get_or_init(|| self.exchange.public())
    }

    /// What this key and the owner of the public half `other` have in common. `None` if `other` is
    /// of small order: then everybody knows it.
    pub fn agree(&self, other: &[u8; 32]) -> Option<Secret> {
        let shared = self.shared(other);
        let known = bool::from(shared[..].ct_eq(&[0; 32]));
        (!known).then(|| Secret::new(*shared))
    }

    fn shared(&self, other: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        #[cfg(feature = "own-signatures")]
        let made =
            crate::own::shared(|| self.public(), other, || *self.exchange.with(other)).into();
        #[cfg(not(feature = "own-signatures"))]
        let made = self.exchange.with(other);
        made
    }

    /// Opens what [`seal`] made for this key, under the same purpose and about the same things.
    /// `None` for anything else. What is returned is wiped when dropped.
    pub fn open(
        &self,
        purpose: &'static str,
        about: &mut Transcript,
        sealed: &Sealed,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let shared = self.exchange.with(&sealed.exchange);
        let cipher = cipher(purpose, about, &self.public(), &sealed.exchange, &shared);
        cipher.decrypt(&Nonce::default(), &sealed.closed[..]).ok().map(Zeroizing::new)
    }
}

/// What [`seal`] makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The sender's half of the exchange, fresh.
    pub exchange: [u8; 32],
    /// The bytes, encrypted, and 16 bytes of authentication.
    pub closed: Vec<u8>,
}

/// Seals `plain` for the owner of the public key `to`. `about` is what both sides know of it and is
/// authenticated; `purpose` is the context of the key's derivation; `randomness` is 32 fresh random
/// bytes.
pub fn seal(
    purpose: &'static str,
    about: &mut Transcript,
    to: &[u8; 32],
    plain: &[u8],
    randomness: [u8; 32],
) -> Sealed {
    let own = Exchange::new(&randomness);
    let exchange = own.public();
    let closed = cipher(purpose, about, to, &exchange, &own.with(to))
        .encrypt(&Nonce::default(), plain)
        .expect("what is sealed is far shorter than the cipher's limit");
    Sealed { exchange, closed }
}

/// The cipher between `to`, the receiver's exchange key, and `from`, the sender's.
fn cipher(
    purpose: &'static str,
    about: &mut Transcript,
    to: &[u8; 32],
    from: &[u8; 32],
    shared: &[u8; 32],
) -> ChaCha20Poly1305 {
    let context = about.field(to).field(from).finish();
    let key = Secret::new(*shared).derive(purpose, &[&context.0]);
    ChaCha20Poly1305::new(&Key::from(*key.expose()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(name: &[u8]) -> Transcript {
        let mut transcript = Transcript::new("about");
        transcript.field(name);
        transcript
    }

    #[test]
    fn two_keys_agree_and_a_half_of_small_order_agrees_with_nobody() {
        let [one, other] = [3, 4].map(|seed| ExchangeKey::new(&Secret::new([seed; 32])));
        let shared = one.agree(&other.public()).unwrap();
        assert_eq!(shared.expose(), other.agree(&one.public()).unwrap().expose());
        let mut of_small_order = [0; 32];
        assert!(one.agree(&of_small_order).is_none());
        of_small_order[0] = 1;
        assert!(one.agree(&of_small_order).is_none());
    }

    #[cfg(feature = "own-signatures")]
    #[test]
    fn an_exchange_that_is_known_is_of_both_its_keys() {
        crate::own::remember();
        let keys = [3, 4, 5].map(|seed| ExchangeKey::new(&Secret::new([seed; 32])));
        for _ in 0..2 {
            for (key, other) in keys.iter().flat_map(|key| keys.iter().map(move |o| (key, o))) {
                let made = key.exchange.with(&other.public());
                assert_eq!(key.agree(&other.public()).unwrap().expose(), &*made);
            }
            assert!(keys[0].agree(&[0; 32]).is_none(), "known, too, but to everybody");
        }
    }

    #[test]
    fn the_receiver_opens_it_and_nothing_changed_opens() {
        let key = ExchangeKey::new(&Secret::new([3; 32]));
        let sealed = seal("purpose", &mut about(b"a"), &key.public(), b"a share", [9; 32]);
        let opened = key.open("purpose", &mut about(b"a"), &sealed).unwrap();
        assert_eq!(opened[..], b"a share"[..]);
        assert_eq!(key.open("other", &mut about(b"a"), &sealed), None, "another purpose");
        assert_eq!(key.open("purpose", &mut about(b"b"), &sealed), None, "about something else");
        let stranger = ExchangeKey::new(&Secret::new([4; 32]));
        assert_eq!(stranger.open("purpose", &mut about(b"a"), &sealed), None, "another receiver");
        for at in 0..sealed.closed.len() {
            let mut changed = sealed.clone();
            changed.closed[at] ^= 1;
            assert_eq!(key.open("purpose", &mut about(b"a"), &changed), None, "byte {at}");
        }
        let mut changed = sealed.clone();
        changed.exchange[0] ^= 1;
        assert_eq!(key.open("purpose", &mut about(b"a"), &changed), None);
        let short = Sealed { closed: vec![1; 15], ..sealed };
        assert_eq!(key.open("purpose", &mut about(b"a"), &short), None);
    }
}

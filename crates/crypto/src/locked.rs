//! Bytes under a key that two places share and that is used once: ChaCha20-Poly1305.
//!
//! As the key is used once, the nonce is fixed; the key is taken by value, so that it is plain
//! where it ends.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use zeroize::Zeroizing;

use crate::hash::Secret;

/// Bytes by which what is locked is longer.
pub const TAG: usize = 16;

/// Encrypts `plain` and authenticates it together with `about`, under a key that encrypts nothing
/// else.
#[expect(clippy::needless_pass_by_value, reason = "the key is used up")]
pub fn lock(key: Secret, about: &[u8], plain: &[u8]) -> Vec<u8> {
    cipher(&key)
        .encrypt(&Nonce::default(), Payload { msg: plain, aad: about })
        .expect("what is locked is far shorter than the cipher's limit")
}

/// Opens what [`lock`] made under the same key and about the same. `None` for anything else. What
/// is returned is wiped when dropped.
#[expect(clippy::needless_pass_by_value, reason = "the key is used up")]
pub fn unlock(key: Secret, about: &[u8], locked: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let payload = Payload { msg: locked, aad: about };
    cipher(&key).decrypt(&Nonce::default(), payload).ok().map(Zeroizing::new)
}

fn cipher(key: &Secret) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(&Key::from(*key.expose()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_under_its_key_and_about_the_same_and_nothing_changed_does() {
        let key = || Secret::new([3; 32]);
        let locked = lock(key(), b"about", b"words");
        assert_eq!(locked.len(), 5 + TAG);
        assert_eq!(unlock(key(), b"about", &locked).unwrap()[..], b"words"[..]);
        assert_eq!(unlock(key(), b"other", &locked), None);
        assert_eq!(unlock(Secret::new([4; 32]), b"about", &locked), None);
        for at in 0..locked.len() {
            let mut changed = locked.clone();
            changed[at] ^= 1;
            assert_eq!(unlock(key(), b"about", &changed), None, "byte {at}");
        }
        assert_eq!(unlock(key(), b"about", &locked[..TAG - 1]), None);
    }
}

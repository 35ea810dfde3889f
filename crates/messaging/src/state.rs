//! A client written down: encrypted under a key that is kept elsewhere (specification, section 7).

use ostrakon_crypto::Secret;
use ostrakon_crypto::locked::{lock, unlock};
use ostrakon_party::wire;
use rand_core::CryptoRng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::client::Client;

/// The first byte: how the rest is written. See [`seal`] for others.
const FORM: u8 = 2;
const SALT: usize = 32;

/// What was written down cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no state of a messages client under this key, or it was damaged")]
pub struct Unreadable;

/// Step 7.1: writes something down that holds a client, under a key that is made for this once.
/// `form` says how it is written; a client alone has form 2.
pub fn seal<T: Serialize>(form: u8, value: &T, key: &Secret, rng: &mut impl CryptoRng) -> Vec<u8> {
    let mut sealed = vec![form; 1 + SALT];
    rng.fill_bytes(&mut sealed[1..]);
    let plain = Zeroizing::new(wire::encode(value));
    let locked = lock(key_of(key, &sealed), &[], &plain);
    sealed.extend_from_slice(&locked);
    sealed
}

/// Reads what [`seal`] wrote in the same form and under the same key.
///
/// # Errors
/// [`Unreadable`].
pub fn open<T>(form: u8, key: &Secret, sealed: &[u8]) -> Result<T, Unreadable>
where
    T: Serialize + DeserializeOwned,
{
    let (head, locked) = sealed.split_at_checked(1 + SALT).ok_or(Unreadable)?;
    if head[0] != form {
        return Err(Unreadable);
    }
    let plain = unlock(key_of(key, head), &[], locked).ok_or(Unreadable)?;
    wire::decode(&plain).map_err(|_| Unreadable)
}

impl Client {
    /// Step 7.1: everything that the client knows, under a key that is made for this once.
    pub fn seal(&self, key: &Secret, rng: &mut impl CryptoRng) -> Vec<u8> {
        seal(FORM, self, key, rng)
    }

    /// Reads what [`Client::seal`] wrote under the same key.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn open(key: &Secret, sealed: &[u8]) -> Result<Self, Unreadable> {
        open(FORM, key, sealed)
    }
}

fn key_of(key: &Secret, head: &[u8]) -> Secret {
    key.derive("ostrakon/v1/messaging/state", &[head])
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Stream;
    use ostrakon_mixing::RoomId;

    use super::*;

    #[test]
    fn it_reads_back_under_its_key_and_nothing_else_does() {
        let mut rng = Stream::of(Secret::new([1; 32]), "test");
        let (key, other) = (Secret::new([2; 32]), Secret::new([3; 32]));
        let mut client = Client::new(RoomId([1; 16]), 254, "Ann").unwrap();
        let link = client.add_link("friends", &mut rng).unwrap();
        client.next_row(7, &mut rng).unwrap();
        let sealed = client.seal(&key, &mut rng);
        assert!(!sealed.windows(7).any(|window| window == b"friends"));
        let mut opened = Client::open(&key, &sealed).unwrap();
        assert_eq!(opened.links(), [link]);
        assert!(opened.next_row(7, &mut rng).is_err(), "what was spent stays spent");
        assert!(Client::open(&other, &sealed).is_err());
        for at in [0, 1, 40, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(Client::open(&key, &changed).is_err(), "byte {at}");
        }
        assert!(Client::open(&key, &sealed[..20]).is_err());
        assert_ne!(client.seal(&key, &mut rng), sealed, "another key every time");
    }
}

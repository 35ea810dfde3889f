//! Secret bytes that are written into a client's state.

use std::fmt;

use ostrakon_crypto::Secret;
use ostrakon_crypto::sealed::ExchangeKey;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Secret bytes: wiped when dropped, and not printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Hidden<const N: usize>(#[serde(with = "bytes")] pub [u8; N]);

impl<const N: usize> fmt::Debug for Hidden<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

impl Hidden<32> {
    /// The same bytes as a key that others are derived from.
    pub fn secret(&self) -> Secret {
        Secret::new(self.0)
    }

    /// The same bytes as the secret half of an exchange.
    pub fn exchange(&self) -> ExchangeKey {
        ExchangeKey::new(&self.secret())
    }

    /// Keeps a secret.
    pub fn of(secret: &Secret) -> Self {
        Self(*secret.expose())
    }
}

/// Arrays of any length, byte by byte.
mod bytes {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer, const N: usize>(
        bytes: &[u8; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes[..].serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<[u8; N], D::Error> {
        let bytes = zeroize::Zeroizing::new(Vec::<u8>::deserialize(deserializer)?);
        bytes[..].try_into().map_err(|_| D::Error::custom("another number of bytes"))
    }
}

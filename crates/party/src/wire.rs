//! Encoding of structured messages: postcard, canonical, nothing trailing.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes that are not the canonical encoding of the expected value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a canonical encoding of the expected message")]
pub struct Malformed;

/// Encodes a value.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("writing plain data into memory does not fail")
}

/// Decodes a value; refuses trailing bytes and every encoding other than the one [`encode`] makes.
///
/// # Errors
/// [`Malformed`] if `bytes` is anything but `encode(&value)` for some value. The memory used is
/// bounded by the length of `bytes`, whatever lengths it claims.
pub fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    let (value, rest) = postcard::take_from_bytes::<T>(bytes).map_err(|_| Malformed)?;
    if !rest.is_empty() || encode(&value) != bytes {
        return Err(Malformed);
    }
    Ok(value)
}

/// Decodes a value that later releases may write more after, which is not read; otherwise like
/// [`decode`].
///
/// # Errors
/// [`Malformed`].
pub fn decode_beginning<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    let (_, rest) = postcard::take_from_bytes::<T>(bytes).map_err(|_| Malformed)?;
    decode(&bytes[..bytes.len() - rest.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_encoding_is_read() {
        let value = (300u64, vec![1u8, 2, 3]);
        let bytes = encode(&value);
        assert_eq!(decode::<(u64, Vec<u8>)>(&bytes), Ok(value.clone()));
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(decode::<(u64, Vec<u8>)>(&longer), Err(Malformed));
        assert_eq!(decode_beginning(&longer), Ok(value));
        assert_eq!(decode_beginning::<u64>(&[0x81, 0x00, 7]), Err(Malformed));
        assert_eq!(decode::<(u64, Vec<u8>)>(&bytes[..bytes.len() - 1]), Err(Malformed));
        // 1 as a two-byte varint is not how 1 is written.
        assert_eq!(decode::<u64>(&[0x81, 0x00]), Err(Malformed));
    }

    #[test]
    fn a_claimed_length_allocates_nothing() {
        // A vector that claims 2^60 elements and holds none.
        let claim = encode(&(1u64 << 60));
        assert_eq!(decode::<Vec<[u8; 32]>>(&claim), Err(Malformed));
    }
}

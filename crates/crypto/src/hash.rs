//! Domain-separated hashing and key derivation with BLAKE3.

use std::cell::Cell;
use std::fmt;

use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A 256-bit BLAKE3 digest of public data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

// Hexadecimal where people may read it.
impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&self.to_hex())
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <[u8; 32]>::deserialize(deserializer).map(Self);
        }
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Digest::from_hex(&text)
            .ok_or_else(|| D::Error::custom("not 64 lower-case hexadecimal digits"))
    }
}

impl Digest {
    /// Lower-case hexadecimal, 64 characters.
    pub fn to_hex(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.0)
    }

    /// Reads what [`Digest::to_hex`] writes; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex()[..16])
    }
}

/// A 256-bit secret key or seed. It has no `Debug` or `Display` and is wiped when dropped.
///
/// It is `Clone` because a long-lived key (a pairwise key) has several readers; values that may be
/// used once only are wrapped in types of their own that are not.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Takes over 32 bytes that must come from a cryptographic generator or a key derivation.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for keying a cipher or sending the secret to somebody who may have it.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives an independent key. One-way: the result tells nothing of `self`.
    ///
    /// `context` names the protocol and the purpose; `fields` are hashed with their lengths.
    pub fn derive(&self, context: &'static str, fields: &[&[u8]]) -> Secret {
        let mut transcript = Transcript::new(context);
        transcript.field(&self.0);
        for field in fields {
            transcript.field(field);
        }
        Secret(transcript.finish().0)
    }

    /// Fills `out` with a stream that looks random to whoever does not have `self`. One-way, and
    /// independent of every other context and list of fields, as in [`Secret::derive`].
    pub fn fill(&self, context: &'static str, fields: &[&[u8]], out: &mut [u8]) {
        let mut transcript = Transcript::new(context);
        transcript.field(&self.0);
        for field in fields {
            transcript.field(field);
        }
        transcript.0.finalize_xof().fill(out);
    }
}

/// An injective encoding of named fields, hashed as it is written.
///
/// The context selects a BLAKE3 key-derivation mode of its own; every field is preceded by its
/// length, so two different lists of fields never hash the same bytes.
pub struct Transcript(blake3::Hasher);

impl Transcript {
    /// Starts a hash for one purpose. By convention the context reads
    /// `ostrakon/v1/<protocol>/<purpose>`.
    pub fn new(context: &'static str) -> Self {
        Self(blake3::Hasher::new_from_context_key(&context_key(context)))
    }

    /// The digest of fields that are written already, under the key of their context.
    pub(crate) fn of_fields(key: &ContextKey, fields: &[u8]) -> Digest {
        Digest(*blake3::Hasher::new_from_context_key(key).update(fields).finalize().as_bytes())
    }

    /// Adds one field.
    pub fn field(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds many fields. Short ones are hashed several times as fast as with [`Transcript::field`].
    pub fn fields<'f>(&mut self, fields: impl IntoIterator<Item = &'f [u8]>) -> &mut Self {
        let mut gathered = Vec::with_capacity(GATHERED);
        for field in fields {
            if gathered.len() + field.len() > GATHERED {
                self.0.update(&gathered);
                gathered.clear();
            }
            gathered.extend_from_slice(&(field.len() as u64).to_le_bytes());
            gathered.extend_from_slice(field);
        }
        self.0.update(&gathered);
        self
    }

    /// Adds one field that may be many mebibytes long, hashing on all cores where that is enabled.
    pub fn bulk_field(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        #[cfg(feature = "parallel")]
        if bytes.len() >= PARALLEL_FROM {
            self.0.update_rayon(bytes);
            return self;
        }
        self.0.update(bytes);
        self
    }

    /// Adds an integer as a field of eight bytes.
    pub fn number(&mut self, value: u64) -> &mut Self {
        self.field(&value.to_le_bytes())
    }

    /// The digest of all fields added.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// How many contexts' keys a thread remembers.
const REMEMBERED: usize = 64;

/// A context, and the key that it selects.
type Known = Cell<Option<(&'static str, ContextKey)>>;

thread_local! {
    /// Where a context's text lies tells its place; who comes last has it.
    static KNOWN: [Known; REMEMBERED] = const { [const { Cell::new(None) }; REMEMBERED] };
}

/// The key that a context selects. To hash the context takes as long as to hash a short field, and
/// few contexts are in use at a time.
pub(crate) fn context_key(context: &'static str) -> ContextKey {
    let address = context.as_ptr() as usize;
    KNOWN.with(|known| {
        let place = &known[(address ^ (address >> 6)) % REMEMBERED];
        match place.get() {
            Some((text, key)) if std::ptr::eq(text, context) => key,
            _ => {
                let key = hash_derive_key_context(context);
                place.set(Some((context, key)));
                key
            }
        }
    })
}

/// Bytes of fields that are hashed together: the more at a time, the more of the processor is used.
const GATHERED: usize = 64 << 10;

/// Below this many bytes one core hashes faster than several.
#[cfg(feature = "parallel")]
const PARALLEL_FROM: usize = 256 << 10;

/// Hashes one value for one purpose.
pub fn digest(context: &'static str, value: &[u8]) -> Digest {
    let mut transcript = Transcript::new(context);
    transcript.bulk_field(value);
    transcript.finish()
}

/// Hashes one short value under a key that [`Transcript`] made for the purpose: a single
/// compression for up to 64 bytes. The result is a [`Secret`] because the value may be one.
pub fn keyed(key: &[u8; 32], value: &[u8]) -> Secret {
    Secret(*blake3::keyed_hash(key, value).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of a text begins where the text does, and is another context; places are shared.
    #[test]
    fn a_remembered_context_is_that_context() {
        static TEXT: &str = "a text that is long enough for as many contexts as share the places";
        for length in (1..TEXT.len()).chain((1..TEXT.len()).rev()) {
            for part in [&TEXT[..length], &TEXT[length..]] {
                let plain = blake3::Hasher::new_derive_key(part).finalize();
                assert_eq!(Transcript::new(part).finish().0, *plain.as_bytes(), "{part}");
            }
        }
    }

    #[test]
    fn field_boundaries_and_contexts_separate() {
        let of = |context, fields: &[&[u8]]| {
            let mut t = Transcript::new(context);
            for f in fields {
                t.field(f);
            }
            t.finish()
        };
        assert_ne!(of("a", &[b"xy", b"z"]), of("a", &[b"x", b"yz"]));
        assert_ne!(of("a", &[b"xy"]), of("a", &[b"xy", b""]));
        assert_ne!(of("a", &[b"xy"]), of("b", &[b"xy"]));
    }

    #[test]
    fn bulk_and_plain_fields_agree() {
        let long = vec![7u8; 3 << 20];
        let mut plain = Transcript::new("t");
        plain.field(&long);
        assert_eq!(plain.finish(), digest("t", &long));
    }

    #[test]
    fn many_fields_are_those_fields() {
        let text = vec![9; 3 * GATHERED];
        let lengths = [0, 5, 70, GATHERED - 100, 20, 300, 2 * GATHERED + 1, 1];
        let fields = || lengths.map(|length| &text[..length]);
        let (mut one_by_one, mut together) = (Transcript::new("t"), Transcript::new("t"));
        fields().into_iter().for_each(|field| {
            one_by_one.field(field);
        });
        assert_eq!(together.fields(fields()).finish(), one_by_one.finish());
    }

    #[test]
    fn hex_round_trip_and_refusals() {
        let d = digest("t", b"x");
        assert_eq!(Digest::from_hex(&d.to_hex()), Some(d));
        assert_eq!(Digest::from_hex("zz"), None);
        assert_eq!(Digest::from_hex(&d.to_hex()[1..]), None);
    }
}

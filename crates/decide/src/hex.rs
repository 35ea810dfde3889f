//! Names and public keys of a fixed length: binary in messages, hexadecimal where people may read
//! them.

/// Defines a type of so many bytes with its hexadecimal form.
macro_rules! hexadecimal {
    ($(#[$about:meta])* $name:ident, $bytes:literal) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl $name {
            /// Lower-case hexadecimal.
            pub fn to_hex(&self) -> String {
                data_encoding::HEXLOWER.encode(&self.0)
            }

            /// Reads what [`Self::to_hex`] writes; `None` for anything else.
            pub fn from_hex(text: &str) -> Option<Self> {
                data_encoding::HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok().map(Self)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.to_hex())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.serialize_str(&self.to_hex())
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if !deserializer.is_human_readable() {
                    return <[u8; $bytes]>::deserialize(deserializer).map(Self);
                }
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Self::from_hex(&text).ok_or_else(|| {
                    serde::de::Error::custom(concat!("not ", $bytes, " bytes in lower-case hexadecimal digits"))
                })
            }
        }
    };
}

pub(crate) use hexadecimal;

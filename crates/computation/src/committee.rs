//! Who computes: members, their addresses and keys (C1).

use std::collections::BTreeSet;

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::{NAME_BYTES, is_label};

/// How many members a committee may have.
pub const MEMBERS: std::ops::RangeInclusive<usize> = 2..=32;
/// Longest address in bytes.
const ADDRESS_BYTES: usize = 300;

/// What a member says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Who runs it, for people.
    pub name: String,
    /// Where everybody finds it: `http(s)://HOST[:PORT]`, without a slash at the end.
    pub url: String,
    /// Where the other members find it: `HOST:PORT`.
    pub mesh: String,
    /// Its identity.
    pub key: VerifyingKey,
    /// Its keys for shares of inputs, as the engines that use them write them.
    pub share_key: ShareKey,
    /// Its signature on all of the above.
    pub signature: Signature,
}

/// A member's keys for inputs: one with a proof of possession, then an X25519 key to seal seeds
/// for. Hexadecimal where people may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareKey([u8; Self::BYTES]);

impl ShareKey {
    /// Bytes of the key with a proof of possession.
    const PROVEN: usize = 192;
    /// Bytes of both keys.
    const BYTES: usize = Self::PROVEN + 32;

    /// A key with its proof of possession, then an X25519 key to seal seeds for.
    pub fn new(proven: &[u8; Self::PROVEN], for_seeds: &[u8; 32]) -> Self {
        let mut bytes = [0; Self::BYTES];
        bytes[..Self::PROVEN].copy_from_slice(proven);
        bytes[Self::PROVEN..].copy_from_slice(for_seeds);
        Self(bytes)
    }

    /// The key with a proof of possession.
    pub fn proven(&self) -> &[u8] {
        &self.0[..Self::PROVEN]
    }

    /// The key to seal seeds for.
    pub fn for_seeds(&self) -> [u8; 32] {
        std::array::from_fn(|byte| self.0[Self::PROVEN + byte])
    }
}

impl Serialize for ShareKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&data_encoding::HEXLOWER.encode(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for ShareKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = if deserializer.is_human_readable() {
            let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
            data_encoding::HEXLOWER.decode(text.as_bytes()).map_err(serde::de::Error::custom)?
        } else {
            Vec::deserialize(deserializer)?
        };
        let length = |_| serde::de::Error::invalid_length(bytes.len(), &"a member's two keys");
        bytes.as_slice().try_into().map(Self).map_err(length)
    }
}

impl Card {
    /// A card, signed.
    pub fn sign(name: &str, url: &str, mesh: &str, share_key: ShareKey, key: &SigningKey) -> Self {
        let mut card = Self {
            name: name.to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            mesh: mesh.to_owned(),
            key: key.verifying_key(),
            share_key,
            signature: Signature([0; 64]),
        };
        card.signature = key.sign(&card.digest());
        card
    }

    fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/committee/card");
        transcript
            .field(self.name.as_bytes())
            .field(self.url.as_bytes())
            .field(self.mesh.as_bytes())
            .field(&self.key.0)
            .field(&self.share_key.0);
        transcript.finish()
    }

    fn validate(&self) -> Result<(), NotACommittee> {
        let wrong = |what| Err(NotACommittee::Card { name: self.name.clone(), what });
        let short = |text: &str| (1..=ADDRESS_BYTES).contains(&text.len());
        if !is_label(&self.name, NAME_BYTES) {
            return wrong("its name must be one line of at most 60 bytes");
        }
        let web = self.url.strip_prefix("http://").or(self.url.strip_prefix("https://"));
        let host = |host: &str| !host.is_empty() && !host.contains(['/', '#', '?', ' ']);
        if !short(&self.url) || !web.is_some_and(host) {
            return wrong("its url must read http(s)://HOST[:PORT]");
        }
        if !short(&self.mesh) || !self.mesh.contains(':') || self.mesh.contains(['/', ' ']) {
            return wrong("its address for the other members must read HOST:PORT");
        }
        if !self.key.verifies(&self.digest(), &self.signature) {
            return wrong("it was changed after it was signed");
        }
        Ok(())
    }
}

/// The members, in order. The same words at all members and in every link, by their digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committee {
    /// For people.
    pub name: String,
    /// As many as [`MEMBERS`] says, with different keys, names and addresses.
    pub members: Vec<Card>,
}

/// Why some cards make no committee.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotACommittee {
    /// The name.
    #[error("a committee's name must be one line of at most {NAME_BYTES} bytes")]
    Name,
    /// Too few, or too many.
    #[error("a committee has {} to {} members, and these are {count}", MEMBERS.start(), MEMBERS.end())]
    Members {
        /// How many were given.
        count: usize,
    },
    /// Two cards of one member.
    #[error("two cards have the same {0}; each member hands in one card")]
    Twice(&'static str),
    /// A card is not sound.
    #[error("the card of {name}: {what}; ask its operator for it again")]
    Card {
        /// The name on it.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
}

impl Committee {
    /// A committee of these members.
    ///
    /// # Errors
    /// [`NotACommittee`].
    pub fn found(name: &str, members: Vec<Card>) -> Result<Self, NotACommittee> {
        let committee = Self { name: name.to_owned(), members };
        committee.validate()?;
        Ok(committee)
    }

    /// Whether it may be one.
    ///
    /// # Errors
    /// [`NotACommittee`].
    pub fn validate(&self) -> Result<(), NotACommittee> {
        if !is_label(&self.name, NAME_BYTES) {
            return Err(NotACommittee::Name);
        }
        if !MEMBERS.contains(&self.members.len()) {
            return Err(NotACommittee::Members { count: self.members.len() });
        }
        self.members.iter().try_for_each(Card::validate)?;
        let distinct = |of: fn(&Card) -> &[u8]| {
            self.members.iter().map(of).collect::<BTreeSet<_>>().len() == self.members.len()
        };
        for (what, are_distinct) in [
            ("name", distinct(|card| card.name.as_bytes())),
            ("url", distinct(|card| card.url.as_bytes())),
            ("address for the other members", distinct(|card| card.mesh.as_bytes())),
            ("identity key", distinct(|card| &card.key.0)),
            ("key for shares", distinct(|card| &card.share_key.0)),
        ] {
            if !are_distinct {
                return Err(NotACommittee::Twice(what));
            }
        }
        Ok(())
    }

    /// Names it.
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/committee/members");
        transcript.field(&wire::encode(self));
        transcript.finish()
    }

    /// The members' identity keys, in order.
    pub fn keys(&self) -> Vec<VerifyingKey> {
        self.members.iter().map(|member| member.key).collect()
    }

    /// The number of the member with this identity.
    pub fn number(&self, key: &VerifyingKey) -> Option<usize> {
        self.members.iter().position(|member| member.key == *key)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    pub(crate) fn committee(members: u8) -> Committee {
        let card = |m: u8| {
            let (url, mesh) = (format!("http://m{m}.example"), format!("m{m}.example:9"));
            let keys = ShareKey::new(&[m; 192], &[m; 32]);
            Card::sign(&format!("member {m}"), &url, &mesh, keys, &key(100 + m))
        };
        Committee::found("Wages", (0..members).map(card).collect()).unwrap()
    }

    #[test]
    fn changed_cards_and_doubles_are_refused_by_name() {
        let good = committee(3);
        let digest = good.digest();
        let changes: [fn(&mut Card); 6] = [
            |card| card.name.push('!'),
            |card| card.url = "http://elsewhere".into(),
            |card| card.mesh = "elsewhere:1".into(),
            |card| card.key = key(7).verifying_key(),
            |card| card.share_key.0[0] ^= 1,
            |card| card.url.push('/'),
        ];
        for change in changes {
            let mut bad = good.clone();
            change(&mut bad.members[1]);
            assert_ne!(bad.digest(), digest);
            assert!(matches!(bad.validate(), Err(NotACommittee::Card { .. })), "{bad:?}");
        }
        let mut double = good.clone();
        double.members[2] = double.members[0].clone();
        assert_eq!(double.validate(), Err(NotACommittee::Twice("name")));
        let few = Committee { members: good.members[..1].to_vec(), ..good };
        assert_eq!(few.validate(), Err(NotACommittee::Members { count: 1 }));
    }
}

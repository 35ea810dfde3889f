//! What a room is, for people and for whoever takes part: what a link's digest pins (spec W0).

use std::collections::BTreeSet;

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::room::{Room, Shape, Unfit};

/// Bytes of a name at most.
const NAME_BYTES: usize = 60;
/// Bytes of an address at most.
const ADDRESS_BYTES: usize = 200;
/// Keys on a list at most.
const LISTED: usize = 1 << 16;

/// A server's card, signed with its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Who runs it, for people.
    pub name: String,
    /// Where everybody finds it: `http(s)://HOST[:PORT]`, without a slash at the end.
    pub url: String,
    /// Where the other servers find it: `HOST:PORT`.
    pub mesh: String,
    /// Its identity.
    pub key: VerifyingKey,
    /// Its signature on all of the above.
    pub signature: Signature,
}

/// Why something is no room's description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// The name.
    #[error("a room's name must be one line of at most {NAME_BYTES} bytes")]
    Name,
    /// A card is not sound.
    #[error("the card of {name}: {what}; ask its operator for it again")]
    Card {
        /// The name on it.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
    /// Two cards of one server.
    #[error("two cards have the same {0}; each server hands in one card")]
    Twice(&'static str),
    /// The list of who may take part.
    #[error("a list names from 2 to {LISTED} different keys, or the room is open to everybody")]
    List,
    /// There is no such room.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

fn is_line(text: &str) -> bool {
    let length = (1..=NAME_BYTES).contains(&text.len());
    length && !text.chars().any(char::is_control) && text.trim() == text
}

impl Card {
    /// A card, signed.
    #[must_use]
    pub fn sign(name: &str, url: &str, mesh: &str, key: &SigningKey) -> Self {
        let mut card = Self {
            name: name.to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            mesh: mesh.to_owned(),
            key: key.verifying_key(),
            signature: Signature([0; 64]),
        };
        card.signature = key.sign(&card.digest());
        card
    }

    fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/card");
        transcript.field(self.name.as_bytes()).field(self.url.as_bytes());
        transcript.field(self.mesh.as_bytes()).field(&self.key.0);
        transcript.finish()
    }

    /// Checks that it is whole and signed.
    ///
    /// # Errors
    /// [`Unsound::Card`].
    pub fn validate(&self) -> Result<(), Unsound> {
        let wrong = |what| Err(Unsound::Card { name: self.name.clone(), what });
        let short = |text: &str| (1..=ADDRESS_BYTES).contains(&text.len());
        let odd = |c: char| c.is_control() || c.is_whitespace() || "/#?@\\".contains(c);
        if !is_line(&self.name) {
            return wrong("its name must be one line of at most 60 bytes");
        }
        let host = self.url.strip_prefix("http://").or(self.url.strip_prefix("https://"));
        if !short(&self.url) || !host.is_some_and(|host| !host.is_empty() && !host.contains(odd)) {
            return wrong("its url must read http(s)://HOST[:PORT]");
        }
        if !short(&self.mesh) || !self.mesh.contains(':') || self.mesh.contains(odd) {
            return wrong("its address for the other servers must read HOST:PORT");
        }
        if !self.key.verifies(&self.digest(), &self.signature) {
            return wrong("it was changed after it was signed");
        }
        Ok(())
    }
}

/// A room and its servers, as everybody who has to do with it must have it alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// For people.
    pub name: String,
    /// Drawn by whoever founds it: a room founded anew is another one.
    pub nonce: Digest,
    /// t: how many servers may be corrupt.
    pub corrupt: usize,
    /// The servers, in order.
    pub servers: Vec<Card>,
    /// What an epoch looks like.
    pub shape: Shape,
    /// Who may take part; everybody if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admitted: Option<Vec<VerifyingKey>>,
}

impl Description {
    /// The room, if the description is sound. Its digest covers all of this.
    ///
    /// # Errors
    /// [`Unsound`].
    pub fn room(&self) -> Result<Room, Unsound> {
        if !is_line(&self.name) {
            return Err(Unsound::Name);
        }
        self.servers.iter().try_for_each(Card::validate)?;
        let differ = |of: fn(&Card) -> Vec<u8>| {
            self.servers.iter().map(of).collect::<BTreeSet<_>>().len() == self.servers.len()
        };
        let twice = [
            ("key", differ(|card| card.key.0.to_vec())),
            ("name", differ(|card| card.name.clone().into())),
            ("url", differ(|card| card.url.clone().into())),
            ("address", differ(|card| card.mesh.clone().into())),
        ];
        if let Some((what, _)) = twice.into_iter().find(|(_, differ)| !differ) {
            return Err(Unsound::Twice(what));
        }
        let keys = self.servers.iter().map(|card| card.key).collect();
        let room = Room::new(self.digest(), self.corrupt, keys, self.shape)?;
        match &self.admitted {
            None => Ok(room),
            Some(listed) => {
                let keys: BTreeSet<_> = listed.iter().map(|key| key.0).collect();
                let fits = keys.len() == listed.len() && (2..=LISTED).contains(&keys.len());
                if fits { Ok(room.admitting(keys)) } else { Err(Unsound::List) }
            }
        }
    }

    /// What names it: everything that [`Room::new`] does not hash itself.
    fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/description");
        transcript.field(self.name.as_bytes()).field(&self.nonce.0);
        transcript.number(self.servers.len() as u64);
        for card in &self.servers {
            transcript.field(&card.digest().0);
        }
        transcript.finish()
    }
}

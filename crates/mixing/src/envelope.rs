//! What a server gives for a slot, signed by the server whose key the room's link names, and closed
//! so that the slot's owner alone can open it.
//!
//! A participant learns the addresses of the servers from whichever one served the page. That one
//! could name addresses of its own, stand between the participant and the two others, and read what
//! they give; with all three servers' material it could read the message. So every issue is signed,
//! with its owner and the epoch's whole context, by the server that made it ([`offer`]), and
//! encrypted to an exchange key that the slot's owner has signed ([`close`]). What one server says
//! about an epoch is believed only if two say the same ([`agreed`]).
//!
//! The signature is made once and lies inside: whoever serves the server's participants can close
//! what was signed beforehand, without the server's key. It names the owner, so it is worth nothing
//! to anybody else; and who has not seen what lies inside cannot make it.
//!
//! The encryption is [`ostrakon_crypto::sealed`].

use std::fmt;

use ostrakon_crypto::sealed::{ExchangeKey, Sealed, seal};
use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::engine::EpochContext;
use crate::engines;
use crate::room::{RoomId, Servers};

const ENVELOPE: &str = "ostrakon/v1/broadcast/issue envelope";
const ENVELOPE_KEY: &str = "ostrakon/v1/broadcast/issue key";

/// Which issue of which server: what the owner's request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueName {
    /// The room.
    pub room: RoomId,
    /// The epoch's number.
    pub number: u64,
    /// The server.
    pub party: PartyId,
}

/// The owner's part of an exchange. A function of its key and the issue's name, so that asking
/// again needs no memory.
pub struct Exchange(ExchangeKey);

impl Exchange {
    /// The owner's exchange key for one issue.
    pub fn new(key: &SigningKey, name: &IssueName) -> Self {
        let fields: [&[u8]; 3] = [&name.room.0, &name.number.to_le_bytes(), &[name.party.0]];
        let secret = key.derive("ostrakon/v1/broadcast/issue exchange", &fields);
        Self(ExchangeKey::new(&secret))
    }

    /// What the server needs of it.
    pub fn public(&self) -> [u8; 32] {
        self.0.public()
    }
}

/// What the owner signs to be given an issue.
pub fn request_digest(name: &IssueName, exchange: &[u8; 32]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/broadcast/issue request");
    transcript
        .field(&name.room.0)
        .number(name.number)
        .number(u64::from(name.party.0))
        .field(exchange)
        .finish()
}

/// What a server says to the owner of a slot. It is secret, so it is not printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// The epoch, as the server knows it.
    pub context: EpochContext,
    /// The owner's slot.
    pub slot: u32,
    /// The engine's material.
    pub issue: Vec<u8>,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued")
            .field("context", &self.context)
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

/// What a server has signed for a slot's owner.
#[derive(Serialize, Deserialize)]
struct Offer {
    issued: Issued,
    signature: Signature,
}

/// Why an issue is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "what server {0} sent was not made by it for this device: another server may stand in between"
)]
pub struct NotGenuine(pub PartyId);

fn about(
    label: &'static str,
    servers: &Digest,
    name: &IssueName,
    owner: &VerifyingKey,
) -> Transcript {
    let mut transcript = Transcript::new(label);
    transcript
        .field(&servers.0)
        .field(&name.room.0)
        .number(name.number)
        .number(u64::from(name.party.0))
        .field(&owner.0);
    transcript
}

fn statement(servers: &Digest, name: &IssueName, owner: &VerifyingKey, issued: &Issued) -> Digest {
    about("ostrakon/v1/broadcast/issue offer", servers, name, owner)
        .field(&wire::encode(issued))
        .finish()
}

/// Signs what a slot's owner is to be given. `sign` signs with the server's identity key. The
/// result is as secret as the issue.
pub fn offer(
    servers: &Servers,
    name: &IssueName,
    owner: &VerifyingKey,
    issued: Issued,
    sign: impl FnOnce(&Digest) -> Signature,
) -> Vec<u8> {
    let signature = sign(&statement(&servers.digest(), name, owner, &issued));
    wire::encode(&Offer { issued, signature })
}

/// Closes an offer for the slot's owner, whose signature on [`request_digest`] has been checked.
/// `randomness` is 32 fresh random bytes.
pub fn close(
    servers: &Servers,
    name: &IssueName,
    owner: &VerifyingKey,
    exchange: &[u8; 32],
    offer: &[u8],
    randomness: [u8; 32],
) -> Vec<u8> {
    let mut about = about(ENVELOPE, &servers.digest(), name, owner);
    wire::encode(&seal(ENVELOPE_KEY, &mut about, exchange, offer, randomness))
}

/// Opens what a server sent.
///
/// # Errors
/// [`NotGenuine`] if it was not made by the server whose key is pinned, for this owner and this
/// epoch.
pub fn open(
    servers: &Servers,
    name: &IssueName,
    key: &SigningKey,
    bytes: &[u8],
) -> Result<Issued, NotGenuine> {
    let not_genuine = NotGenuine(name.party);
    let envelope: Sealed = wire::decode(bytes).map_err(|_| not_genuine)?;
    let exchange = Exchange::new(key, name);
    let (owner, digest) = (key.verifying_key(), servers.digest());
    let mut about = about(ENVELOPE, &digest, name, &owner);
    let plain = exchange.0.open(ENVELOPE_KEY, &mut about, &envelope).ok_or(not_genuine)?;
    let Offer { issued, signature }: Offer = wire::decode(&plain).map_err(|_| not_genuine)?;
    let server = servers.keys.get(name.party.index()).ok_or(not_genuine)?;
    if !server.verifies(&statement(&digest, name, &owner, &issued), &signature) {
        return Err(not_genuine);
    }
    let about = (issued.context.epoch.room, issued.context.epoch.number);
    if about != (name.room, name.number) { Err(not_genuine) } else { Ok(issued) }
}

/// A slot of an epoch, as two servers describe it alike. The material is secret, so it is not
/// printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The epoch.
    pub context: EpochContext,
    /// The slot.
    pub slot: u32,
    /// The engine's material from the servers that say so, by party.
    pub material: Vec<Option<Vec<u8>>>,
}

impl fmt::Debug for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agreed")
            .field("context", &self.context)
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

/// What so many servers say alike that one of them is honest, by what the room's engine bears;
/// `None` until so many do. `issued` has a place for each server.
///
/// A server that names another engine, which bears fewer, gains nothing: that is not the room's.
pub fn agreed(issued: &[Option<Issued>]) -> Option<Agreed> {
    let same = |a: &Issued, b: &Issued| a.context == b.context && a.slot == b.slot;
    let believed = |one: &Issued| engines::believed(one.context.engine, issued.len());
    let said_by_enough = |one: &&Issued| {
        issued.iter().flatten().filter(|other| same(one, other)).count() >= believed(one)
    };
    let believed = issued.iter().flatten().find(said_by_enough)?;
    let material = issued
        .iter()
        .map(|one| one.as_ref().filter(|one| same(one, believed)).map(|one| one.issue.clone()))
        .collect();
    Some(Agreed { context: believed.context.clone(), slot: believed.slot, material })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EngineKind;
    use crate::engine::Shape;
    use crate::room::{EpochId, Mode};
    use ostrakon_party::SessionId;

    struct Scene {
        servers: Servers,
        keys: Vec<SigningKey>,
        owner: SigningKey,
        name: IssueName,
        issued: Issued,
    }

    fn scene() -> Scene {
        let keys: Vec<_> = (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
        let servers = Servers {
            session: SessionId(Digest([9; 32])),
            keys: keys.iter().map(SigningKey::verifying_key).collect(),
        };
        let name = IssueName { room: RoomId([4; 16]), number: 7, party: PartyId(1) };
        let context = EpochContext {
            epoch: EpochId { room: name.room, number: name.number },
            batch: 3,
            engine: EngineKind::Ruffle,
            shape: Shape { rows: 6, width: 48 },
            mode: Mode::Fair,
            minimum: 1,
        };
        let issued = Issued { context, slot: 4, issue: vec![1, 2, 3] };
        Scene { servers, keys, owner: SigningKey::from_seed(&[7; 32]), name, issued }
    }

    fn close_with(scene: &Scene, signer: usize, exchange: &[u8; 32]) -> Vec<u8> {
        let owner = scene.owner.verifying_key();
        let sign = |digest: &Digest| scene.keys[signer].sign(digest);
        let offer = offer(&scene.servers, &scene.name, &owner, scene.issued.clone(), sign);
        close(&scene.servers, &scene.name, &owner, exchange, &offer, [5; 32])
    }

    #[test]
    fn what_is_issued_is_not_printed() {
        let issued = Issued { issue: vec![213; 4], ..scene().issued };
        let agreed = agreed(&[Some(issued.clone()), Some(issued.clone())]).unwrap();
        for text in [format!("{issued:?}"), format!("{agreed:#?}")] {
            assert!(text.contains("slot: 4") && !text.contains("213"), "{text}");
        }
    }

    #[test]
    fn the_owner_opens_what_the_server_closed_and_nothing_else_opens() {
        let scene = scene();
        let exchange = Exchange::new(&scene.owner, &scene.name).public();
        let bytes = close_with(&scene, 1, &exchange);
        assert_eq!(
            open(&scene.servers, &scene.name, &scene.owner, &bytes),
            Ok(scene.issued.clone())
        );
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert!(
                open(&scene.servers, &scene.name, &scene.owner, &changed).is_err(),
                "byte {at}"
            );
        }
        let stranger = SigningKey::from_seed(&[8; 32]);
        assert!(open(&scene.servers, &scene.name, &stranger, &bytes).is_err(), "another owner");
        for name in [
            IssueName { number: 8, ..scene.name },
            IssueName { party: PartyId(2), ..scene.name },
            IssueName { room: RoomId([5; 16]), ..scene.name },
        ] {
            assert!(open(&scene.servers, &name, &scene.owner, &bytes).is_err());
        }
    }

    /// A server that stands between the participant and another one can neither read the other's
    /// issue, the request being for an exchange key that the owner signed, nor make one in its
    /// name.
    #[test]
    fn a_server_in_between_cannot_put_itself_in_anothers_place() {
        let scene = scene();
        let own = SigningKey::from_seed(&[66; 32]);
        let exchange = Exchange::new(&scene.owner, &scene.name).public();
        let request = scene.owner.sign(&request_digest(&scene.name, &exchange));
        let others = Exchange::new(&own, &scene.name).public();
        assert!(
            !scene.owner.verifying_key().verifies(&request_digest(&scene.name, &others), &request)
        );
        let forged = close_with(&scene, 0, &exchange);
        assert_eq!(
            open(&scene.servers, &scene.name, &scene.owner, &forged),
            Err(NotGenuine(PartyId(1)))
        );
    }

    /// An owner who passes on what it was offered can make nobody else believe that it is theirs.
    #[test]
    fn an_offer_is_worth_nothing_to_anybody_but_its_owner() {
        let scene = scene();
        let (owner, other) = (scene.owner.verifying_key(), SigningKey::from_seed(&[8; 32]));
        let offer = offer(&scene.servers, &scene.name, &owner, scene.issued.clone(), |digest| {
            scene.keys[1].sign(digest)
        });
        let exchange = Exchange::new(&other, &scene.name).public();
        let bytes =
            close(&scene.servers, &scene.name, &other.verifying_key(), &exchange, &offer, [6; 32]);
        assert_eq!(open(&scene.servers, &scene.name, &other, &bytes), Err(NotGenuine(PartyId(1))));
    }

    /// A server that describes the epoch otherwise than the two others is not believed: with the
    /// true batch and another number it would otherwise get two rows under the same masks.
    #[test]
    fn one_server_alone_is_not_believed() {
        let scene = scene();
        let mut other = scene.issued.clone();
        other.context.batch += 1;
        let some = |issued: &Issued| Some(issued.clone());
        assert_eq!(agreed(&[some(&other), some(&scene.issued), None]), None);
        let agreed = agreed(&[some(&other), some(&scene.issued), some(&scene.issued)]).unwrap();
        assert_eq!((agreed.context, agreed.slot), (scene.issued.context.clone(), 4));
        assert_eq!(agreed.material, [None, Some(vec![1, 2, 3]), Some(vec![1, 2, 3])]);
    }
    /// Where as many as two of more servers may be corrupt, two are not believed.
    #[test]
    fn of_other_numbers_of_servers_all_must_say_it() {
        let scene = scene();
        let mut other = scene.issued.clone();
        other.slot += 1;
        for servers in [2, 4, 7] {
            let mut issued = vec![Some(scene.issued.clone()); servers];
            assert_eq!(agreed(&issued).map(|agreed| agreed.slot), Some(4));
            issued[1] = None;
            assert_eq!(agreed(&issued), None);
            issued[1] = Some(other.clone());
            assert_eq!(agreed(&issued), None, "one of {servers} contradicts");
        }
        let two = [Some(other.clone()), Some(other), None, None, None, None, None];
        assert_eq!(agreed(&two), None);
    }
}

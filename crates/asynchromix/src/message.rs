//! What servers send each other, and participants and servers (spec, wire table).

use bytes::Bytes;
use ostrakon_crypto::sealed::{Sealed, seal};
use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::board::SignedEntry;
use crate::room::Room;
use crate::word::Assignment;

/// Bytes of a message of a participant at most, besides its row.
pub(crate) const MAX_REQUEST: usize = 512;
/// The context under which mask shares are sealed.
const MASKS: &str = "ostrakon/v1/asynchromix/mask shares";

/// A run among the members of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RunId {
    /// A batch's preparation.
    Batch(u64),
    /// An epoch's shuffle.
    Epoch(u64),
}

/// A step of a run: its first three bytes.
pub type StepBytes = [u8; 3];

/// The nonce of a server's disk, signed by it: nobody else can say that it had another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskNonce {
    /// The nonce.
    pub nonce: [u8; 32],
    /// The server's signature on it.
    pub signature: Signature,
}

impl DiskNonce {
    fn statement(room: &Digest, key: &Digest, nonce: &[u8; 32]) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/disk nonce");
        transcript.field(&room.0).field(&key.0).field(nonce);
        transcript.finish()
    }

    /// Signs the nonce of the own disk, under the coin's key.
    #[must_use]
    pub fn sign(room: &Room, key: &Digest, nonce: [u8; 32], signing: &SigningKey) -> Self {
        let statement = Self::statement(&room.digest(), key, &nonce);
        Self { nonce, signature: signing.sign(&statement) }
    }

    /// Whether a server said so of its own disk.
    #[must_use]
    pub fn is_of(&self, room: &Room, key: &Digest, server: PartyId) -> bool {
        let statement = Self::statement(&room.digest(), key, &self.nonce);
        room.identities().get(server).is_some_and(|of| of.verifies(&statement, &self.signature))
    }
}

/// A message between servers. The link says whose it is; whoever carries it may lose it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Of the making of the coin's key.
    Dkg(Bytes),
    /// The key that the sender has, the nonce of its disk, and the one that it heard from the
    /// receiver.
    Coin {
        /// The key's digest.
        key: Digest,
        /// The nonce of the sender's disk.
        disk: DiskNonce,
        /// What the sender heard of the receiver first.
        heard: Option<DiskNonce>,
    },
    /// Of the ledger.
    Ledger(Bytes),
    /// Of a run.
    Run(RunId, Bytes),
    /// The sender asks for what it lacks of a run; the steps of which it has the receiver's
    /// message.
    Again(RunId, Vec<StepBytes>),
    /// The sender asks for a sealed row.
    AskRow(u64, u32),
    /// A row, with its owner's signature.
    Row(u64, u32, Bytes),
    /// The sender asks for the agreed state after so many commits.
    AskState(u64),
    /// The agreed state after so many commits.
    State(u64, Bytes),
    /// A newer checkpoint with its state: the one that was asked for is gone.
    Later(Bytes, Bytes),
    /// The sender asks for a board's entry.
    AskEntry(u64),
    /// A board's entry.
    Entry(SignedEntry),
}

/// A participant asks for a place in an epoch, and for everything that a server has to tell it
/// about its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The epoch.
    pub epoch: u64,
    /// The participant.
    pub client: VerifyingKey,
    /// The public half of the key under which its mask shares are sealed.
    pub exchange: [u8; 32],
    /// The server that is to give it a place.
    pub home: PartyId,
    /// The participant's signature.
    pub signature: Signature,
}

impl Request {
    fn statement(&self, room: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/request");
        transcript.field(&room.0).number(self.epoch).field(&self.client.0).field(&self.exchange);
        transcript.number(self.home.0.into());
        transcript.finish()
    }

    /// Asks.
    #[must_use]
    pub fn sign(
        room: &Room,
        epoch: u64,
        key: &SigningKey,
        exchange: [u8; 32],
        home: PartyId,
    ) -> Self {
        let client = key.verifying_key();
        let mut request = Self { epoch, client, exchange, home, signature: Signature([0; 64]) };
        request.signature = key.sign(&request.statement(&room.digest()));
        request
    }

    /// The request as its home passes it on.
    #[must_use]
    pub fn assignment(&self) -> Assignment {
        Assignment { client: self.client, exchange: self.exchange, signature: self.signature }
    }

    /// Whether the participant asks.
    #[must_use]
    pub fn verifies(&self, room: &Room) -> bool {
        self.client.verifies(&self.statement(&room.digest()), &self.signature)
    }
}

/// A message of a participant, the same to all servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToServer {
    /// Which epoch collects?
    Hello(VerifyingKey),
    /// See [`Request`].
    Request(Request),
    /// A masked row ([`ostrakon_robust::client::Submission`]).
    Submit {
        /// The participant.
        client: VerifyingKey,
        /// The epoch.
        epoch: u64,
        /// The slot.
        slot: u32,
        /// The submission's bytes.
        submission: Vec<u8>,
    },
}

impl ToServer {
    /// Who sends it, as it says itself.
    #[must_use]
    pub fn client(&self) -> VerifyingKey {
        match self {
            ToServer::Hello(client) | ToServer::Submit { client, .. } => *client,
            ToServer::Request(request) => request.client,
        }
    }

    /// The message's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a participant's message; nothing of it has been checked.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything too long or not canonical.
    pub fn decode(bytes: &[u8], room: &Room) -> Result<Self, wire::Malformed> {
        if bytes.len() > MAX_REQUEST + 8 * room.width() {
            return Err(wire::Malformed);
        }
        wire::decode(bytes)
    }
}

/// A server's answer to a participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToClient {
    /// The epoch that collects.
    Now(Option<u64>),
    /// The participant has a slot, and these are the server's shares of its masks.
    Masks {
        /// The epoch.
        epoch: u64,
        /// The slot.
        slot: u32,
        /// The batch.
        batch: u64,
        /// The shares, sealed for the participant.
        sealed: Sealed,
    },
    /// The committed state has t + 1 declarations of the row: it is in.
    In {
        /// The epoch.
        epoch: u64,
        /// The slot.
        slot: u32,
        /// The row's digest.
        row: Digest,
        /// The server's signature.
        signature: Signature,
    },
    /// The board's entry about the epoch.
    Entry(SignedEntry),
}

impl ToClient {
    /// The message's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a server's message; nothing of it has been checked.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything too long or not canonical.
    pub fn decode(bytes: &[u8], room: &Room) -> Result<Self, wire::Malformed> {
        if bytes.len() > room.longest() {
            return Err(wire::Malformed);
        }
        wire::decode(bytes)
    }
}

/// What both sides know of sealed mask shares.
pub(crate) fn about_masks(room: &Digest, server: PartyId, place: (u64, u32, u64)) -> Transcript {
    let mut transcript = Transcript::new("ostrakon/v1/asynchromix/about mask shares");
    let (epoch, slot, batch) = place;
    transcript.field(&room.0).number(server.0.into()).number(epoch);
    transcript.number(slot.into()).number(batch);
    transcript
}

/// Seals mask shares for their owner.
pub(crate) fn seal_masks(
    about: &mut Transcript,
    to: &[u8; 32],
    shares: &[u8],
    randomness: [u8; 32],
) -> Sealed {
    seal(MASKS, about, to, shares, randomness)
}

/// Opens mask shares.
pub(crate) fn open_masks(
    key: &ostrakon_crypto::sealed::ExchangeKey,
    about: &mut Transcript,
    sealed: &Sealed,
) -> Option<zeroize::Zeroizing<Vec<u8>>> {
    key.open(MASKS, about, sealed)
}

impl Message {
    /// Whether bytes begin like [`Message::Dkg`] or [`Message::Coin`]: the first two variants.
    pub(crate) fn is_of_founding(bytes: &[u8]) -> bool {
        matches!(bytes.first(), Some(0 | 1))
    }

    /// The message's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a server's message; nothing of it has been checked.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything too long or not canonical.
    pub fn decode(bytes: &[u8], longest: usize) -> Result<Self, wire::Malformed> {
        if bytes.len() > longest {
            return Err(wire::Malformed);
        }
        wire::decode(bytes)
    }
}

//! Claims: how a device takes an invitation.
//!
//! The key in an invitation's link is known to whoever made the link or has seen it. So it takes no
//! part itself: the device that opens the link makes a key of its own, which never leaves it, and
//! both keys sign that the one takes the other's invitation. The scheduler puts the claim into the
//! host log, between the hosts' actions; the first one stands.
//!
//! What is signed does not name a place in the log, other than what hosts sign. Many people open
//! their links at the same moment, and none of them has to sign anew because somebody else was
//! faster.

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::action::{Deed, SignedAction};
use ostrakon_mixing::room::RoomId;

/// "This key takes this invitation", signed by both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The invitation: the key of the link.
    pub invitation: VerifyingKey,
    /// The key that takes part from then on. Only its device has it.
    pub key: VerifyingKey,
    /// By the invitation, on [`Claim::digest`].
    pub invitation_signature: Signature,
    /// By the key, on the same. Without it somebody could enter another member's key as taken.
    pub key_signature: Signature,
}

impl Claim {
    /// Signs with both keys, for the room of this id at the servers of this digest.
    pub fn sign(
        servers: &Digest,
        room: &RoomId,
        invitation: &SigningKey,
        key: &SigningKey,
    ) -> Self {
        let digest = Self::digest(servers, room, &invitation.verifying_key(), &key.verifying_key());
        Self {
            invitation: invitation.verifying_key(),
            key: key.verifying_key(),
            invitation_signature: invitation.sign(&digest),
            key_signature: key.sign(&digest),
        }
    }

    /// What both keys sign.
    pub fn digest(
        servers: &Digest,
        room: &RoomId,
        invitation: &VerifyingKey,
        key: &VerifyingKey,
    ) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/broadcast/claim of an invitation");
        transcript.field(&servers.0).field(&room.0).field(&invitation.0).field(&key.0);
        transcript.finish()
    }

    /// Reads a claim from its place in the host log; `None` if something else is there.
    pub fn of(signed: &SignedAction) -> Option<Self> {
        let Deed::Claim { key, signature } = signed.action.deed else { return None };
        Some(Self {
            invitation: signed.action.author,
            key,
            invitation_signature: signed.signature,
            key_signature: signature,
        })
    }

    /// Whether both keys signed it for this room and these servers.
    pub fn verifies(&self, servers: &Digest, room: &RoomId) -> bool {
        let digest = Self::digest(servers, room, &self.invitation, &self.key);
        self.invitation.verifies(&digest, &self.invitation_signature)
            && self.key.verifies(&digest, &self.key_signature)
    }
}

//! Devices, and what is known of them.

mod visits;
mod wait;

use ostrakon_asynchromix::Room;
use ostrakon_asynchromix::message::ToServer;
use ostrakon_crypto::{Secret, SigningKey};

/// The key that a participant makes of its secret, so that a corrupt one can sign with it.
pub fn key_behind(secret: &Secret) -> SigningKey {
    let key = secret.derive("ostrakon/v1/asynchromix/participant key", &[]);
    SigningKey::from_seed(key.expose())
}

/// The slot and epoch of a participant's row on its way, if that is what the bytes are.
pub fn submission(bytes: &[u8], room: &Room) -> Option<(u64, u32)> {
    match ToServer::decode(bytes, room).ok()? {
        ToServer::Submit { epoch, slot, .. } => Some((epoch, slot)),
        _ => None,
    }
}

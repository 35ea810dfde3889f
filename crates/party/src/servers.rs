//! The servers of a deployment, as those who use them know them.

use ostrakon_crypto::{Digest, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::SessionId;

/// The servers of a deployment, as a participant pins them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Servers {
    /// The session they share.
    pub session: SessionId,
    /// Their identity keys, by party number.
    pub keys: Vec<VerifyingKey>,
}

impl Servers {
    /// The digest that links carry: whoever has it accepts no other servers.
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/broadcast/servers");
        transcript.field(&self.session.0.0);
        for key in &self.keys {
            transcript.field(&key.0);
        }
        transcript.finish()
    }
}

//! The host log as a port: a host's own, or that of somebody who follows the room.

use ostrakon_broadcast::hosting::{Deed, HostLog, Refused, SignedAction};
use ostrakon_crypto::{Digest, SigningKey};

/// A host log that grows.
pub trait Book {
    /// How many actions were taken in.
    fn length(&self) -> u64;

    /// The digest of the last one; zeros if there is none.
    fn head(&self) -> Digest;

    /// The next action of this author, signed. It is not taken in.
    ///
    /// # Errors
    /// Why it may not follow.
    fn act(&self, key: &SigningKey, time: u64, deed: Deed) -> Result<SignedAction, Refused>;

    /// Takes in what follows.
    ///
    /// # Errors
    /// Why an action may not follow; those before it were taken in.
    fn take(&mut self, actions: Vec<SignedAction>) -> Result<(), String>;
}

impl Book for HostLog {
    fn length(&self) -> u64 {
        self.length()
    }

    fn head(&self) -> Digest {
        self.head()
    }

    fn act(&self, key: &SigningKey, time: u64, deed: Deed) -> Result<SignedAction, Refused> {
        let signed = self.act(key, time, deed);
        self.check(&signed)?;
        Ok(signed)
    }

    fn take(&mut self, actions: Vec<SignedAction>) -> Result<(), String> {
        actions.iter().try_for_each(|signed| self.apply(signed)).map_err(|why| why.to_string())
    }
}

//! Durable marks.

use ostrakon_crypto::Digest;
use ostrakon_party::Instance;

/// Durable marks: each is written before the message that follows from it is sent.
pub trait Marks: Send + Sync {
    /// Records, durably, that `name` has this value, unless it has one already. Returns the value
    /// on record. It stands at least until every server has settled the epoch; if it does not stand
    /// any more, this fails.
    ///
    /// # Errors
    /// Why the record could not be written or read.
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String>;

    /// Records what a batch is spent on: like [`Marks::record`], and stands for ever.
    ///
    /// # Errors
    /// Why the record could not be written or read.
    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String>;
}

/// The name of an epoch's mark.
pub fn epoch_mark(instance: &Instance, what: &str) -> String {
    let mut padded = [0; 32];
    padded[..16].copy_from_slice(&instance.scope);
    format!("epoch {} {} {what}", Digest(padded).to_hex().split_at(32).0, instance.number)
}

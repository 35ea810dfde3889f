//! What must not happen twice, over crashes.

use ostrakon_crypto::Digest;

use super::fault::Stop;

/// Durable marks of one server.
pub trait Journal: Send + Sync {
    /// Records, durably and for ever, that `name` has this value, unless it has one already.
    /// Returns the value on record.
    ///
    /// # Errors
    /// Why the record could not be written or read.
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String>;

    /// The value on record, if there is one.
    ///
    /// # Errors
    /// Why the record could not be read.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String>;
}

/// Marks that `name` is bound to a value, before anything is sent that depends on it.
///
/// # Errors
/// [`Stop::Spent`] if it is bound to another one; [`Stop::Journal`].
pub fn bind(journal: &dyn Journal, name: String, value: &Digest) -> Result<(), Stop> {
    let standing = journal.record(&name, &value.0).map_err(Stop::Journal)?;
    if standing == value.0 { Ok(()) } else { Err(Stop::Spent(name)) }
}

/// Marks that `name` is begun, before anything of it is sent. What was broken off by a crash is not
/// taken up again: its masks would cover two different things, or a coin would be tossed twice.
///
/// # Errors
/// [`Stop::Spent`] if it has been begun before; [`Stop::Journal`].
pub fn begin(journal: &dyn Journal, name: String) -> Result<(), Stop> {
    if journal.read(&name).map_err(Stop::Journal)?.is_some() {
        return Err(Stop::Spent(name));
    }
    journal.record(&name, b"begun").map_err(Stop::Journal)?;
    Ok(())
}

//! Secrets: files of their own, readable by the owner only, written once.

use std::fs;

use zeroize::Zeroizing;

use crate::files::{failure, write_whole};
use crate::{Error, Store};

impl Store {
    /// Reads a secret; `None` if it was never written.
    ///
    /// # Errors
    /// The disk's.
    pub fn secret(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let path = self.directory.join("secrets").join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failure(&path)(error)),
        }
    }

    /// Writes a secret; it is on disk when this returns.
    ///
    /// # Errors
    /// [`Error::State`] if there is one under that name already: secrets are never replaced. The
    /// disk's.
    pub fn keep_secret(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        if self.secret(name)?.is_some() {
            return Err(Error::State("a secret is written once"));
        }
        write_whole(&self.directory.join("secrets").join(name), bytes)
    }
}

//! The directory of one server.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::Kind;
use crate::{secret, system};

/// The seed of the server's identity.
const IDENTITY: &str = "identity.key";
/// The operator's token for the page.
pub const TOKEN: &str = "operator.token";
/// Held while a process serves.
const LOCK: &str = "lock";

/// A server's directory: keys, configuration, the group's description.
pub struct Directory {
    path: PathBuf,
    kind: &'static Kind,
}

impl Directory {
    /// The directory at `path`, which may be made yet.
    pub fn new(path: &Path, kind: &'static Kind) -> Self {
        Self { path: path.to_owned(), kind }
    }

    /// Makes the directory with the seed of an identity and a configuration.
    ///
    /// # Errors
    /// If there are some already, or they cannot be written.
    pub fn create(&self, identity: &[u8; 32], settings: &impl Serialize) -> Result<()> {
        secret::directory(&self.path)?;
        self.write_seed(IDENTITY, identity)?;
        secret::write_new(&self.file(self.kind.config), &toml::to_string_pretty(settings)?)
    }

    /// Writes a new file with a seed.
    ///
    /// # Errors
    /// If there is one already, or it cannot be written.
    pub fn write_seed(&self, name: &str, seed: &[u8; 32]) -> Result<()> {
        let hex = Zeroizing::new(data_encoding::HEXLOWER.encode(seed) + "\n");
        secret::write_new(&self.file(name), &hex)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The configuration.
    ///
    /// # Errors
    /// If there is none, or it is wrong.
    pub fn settings<S: DeserializeOwned>(&self) -> Result<S> {
        let path = self.file(self.kind.config);
        let text = std::fs::read_to_string(&path).with_context(|| {
            let command = self.kind.command;
            format!("{} cannot be read; `ostrakon {command} init` makes it", path.display())
        })?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// The seed of the server's identity.
    ///
    /// # Errors
    /// As [`Directory::seed`].
    pub fn identity(&self) -> Result<Zeroizing<[u8; 32]>> {
        self.seed(IDENTITY)
    }

    /// The seed in a file.
    ///
    /// # Errors
    /// If there is none, or others than its owner may read it.
    pub fn seed(&self, name: &str) -> Result<Zeroizing<[u8; 32]>> {
        let text = Zeroizing::new(secret::read(&self.file(name))?);
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).ok().map(Zeroizing::new);
        let seed = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok());
        Ok(Zeroizing::new(seed.with_context(|| format!("{name} holds no key"))?))
    }

    /// The operator's token, which is made on the first start.
    ///
    /// # Errors
    /// If it can be neither read nor written.
    pub fn token(&self) -> Result<Zeroizing<String>> {
        if !self.file(TOKEN).exists() {
            self.write_seed(TOKEN, &system::random())?;
        }
        Ok(Zeroizing::new(data_encoding::HEXLOWER.encode(&*self.seed(TOKEN)?)))
    }

    /// The group's description, unchecked.
    ///
    /// # Errors
    /// If there is none.
    pub fn founded<D: DeserializeOwned>(&self) -> Result<D> {
        let path = self.file(self.kind.founded);
        let text = std::fs::read_to_string(&path).with_context(|| {
            let command = self.kind.command;
            format!(
                "{} cannot be read: it must be what `ostrakon {command} found` printed",
                path.display()
            )
        })?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Puts the name of the group's description before what is wrong with it.
    pub fn in_founded(&self) -> String {
        self.file(self.kind.founded).display().to_string()
    }

    /// What an operator is told whose server is not in the description.
    pub fn absent(&self) -> String {
        let server = self.kind.server;
        format!("this {server}'s card is not in it; hand in the card that `init` printed")
    }

    /// Keeps other processes from using the directory until the lock is dropped.
    ///
    /// # Errors
    /// If one does.
    pub fn lock(&self) -> Result<File> {
        match secret::lock(&self.file(LOCK))? {
            Some(lock) => Ok(lock),
            None => bail!("another process serves {}", self.path.display()),
        }
    }
}

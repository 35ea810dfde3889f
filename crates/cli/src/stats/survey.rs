//! What a creator keeps of a question: the key that closes it, and the links.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ostrakon_computation::Link;
use ostrakon_crypto::SigningKey;
use ostrakon_party::Invitation;
use serde::{Deserialize, Serialize};

use crate::client::member::state_directory;
use crate::secret;

/// A file that its owner alone may read.
#[derive(Serialize, Deserialize)]
pub struct Survey {
    /// The link without an invitation.
    pub link: String,
    /// The creator's key, as invitations are written.
    creator: String,
}

impl Survey {
    /// Of a question that is about to be asked.
    pub fn new(link: &Link, creator: &Invitation) -> Self {
        Self { link: link.to_string(), creator: creator.to_text() }
    }

    /// Writes it into the state directory, under the computation's name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, link: &Link) -> Result<PathBuf> {
        let directory = directory("asked")?;
        let path = directory.join(format!("{}.json", link.computation.0.to_hex()));
        secret::write_new(&path, &serde_json::to_string(self)?)?;
        Ok(path)
    }

    /// The creator's key of the question that this link leads to.
    ///
    /// # Errors
    /// If it was not asked here.
    pub fn creator_of(link: &Link) -> Result<SigningKey> {
        let path = directory("asked")?.join(format!("{}.json", link.computation.0.to_hex()));
        if !path.exists() {
            bail!("only who asked may close, on the device and in the account where it was asked");
        }
        let survey: Self = serde_json::from_str(&secret::read_all(&path)?)
            .with_context(|| path.display().to_string())?;
        let creator = Invitation::from_text(&survey.creator);
        Ok(creator.with_context(|| format!("{} is damaged", path.display()))?.key())
    }
}

/// A directory of statistics in the state directory, for the owner alone.
///
/// # Errors
/// If it cannot be made.
pub fn directory(name: &str) -> Result<PathBuf> {
    let directory = state_directory()?.join("stats").join(name);
    secret::directory(&directory)?;
    Ok(directory)
}

/// What stands in a file, if there is one.
///
/// # Errors
/// If it cannot be read.
pub fn kept(path: &Path) -> Result<Option<String>> {
    if path.exists() { secret::read_all(path).map(Some) } else { Ok(None) }
}

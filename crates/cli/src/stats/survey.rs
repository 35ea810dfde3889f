//! What is kept of a computation: by its creator the key that closes it, by who hands in an input
//! its bytes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use data_encoding::BASE64URL_NOPAD;
use ostrakon_computation::{ComputationId, Input, Link, Statement};
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
        let creator = Self::secret_of(&link.computation)?.context(
            "only who asked may close, on the device and in the account where it was asked",
        )?;
        Ok(creator.key())
    }

    /// The secret of the creator's key of a question; none if it was not asked here.
    ///
    /// # Errors
    /// If what is kept of it cannot be read.
    pub fn secret_of(computation: &ComputationId) -> Result<Option<Invitation>> {
        let path = directory("asked")?.join(format!("{}.json", computation.0.to_hex()));
        if !path.exists() {
            return Ok(None);
        }
        let survey: Self = serde_json::from_str(&secret::read_all(&path)?)
            .with_context(|| path.display().to_string())?;
        let creator = Invitation::from_text(&survey.creator);
        Ok(Some(creator.with_context(|| format!("{} is damaged", path.display()))?))
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

/// What is kept of an input. What it says is not.
#[derive(Serialize, Deserialize)]
struct Kept {
    input: String,
    receipts: Vec<Statement>,
}

/// One file for each person of each computation.
pub fn file_name(link: &Link) -> String {
    let person = link.invitation.as_ref().map(|invitation| invitation.key().verifying_key());
    let person = person.map_or_else(|| "anyone".to_owned(), |key| key.to_hex()[..16].to_owned());
    format!("{}-{person}.json", link.computation.0.to_hex())
}

/// An input that was kept and that not all members have yet, if there is one.
///
/// # Errors
/// If all have it, or the file cannot be read.
pub fn handed_in(path: &Path, members: usize) -> Result<Option<Input>> {
    if !path.exists() {
        return Ok(None);
    }
    let text = secret::read_all(path)?;
    let kept: Kept = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    ensure!(
        kept.receipts.len() != members,
        "you have reported already ({}); a report cannot be changed",
        path.display()
    );
    let bytes = BASE64URL_NOPAD.decode(kept.input.as_bytes()).ok();
    let input = bytes.and_then(|bytes| Input::decode(&bytes));
    input.with_context(|| format!("{} is damaged", path.display())).map(Some)
}

/// Keeps an input with the receipts that there are.
///
/// # Errors
/// If it cannot be written.
pub fn keep_input(path: &Path, input: &Input, receipts: Vec<Statement>) -> Result<()> {
    let kept = Kept { input: BASE64URL_NOPAD.encode(&input.encode()), receipts };
    secret::replace(path, &serde_json::to_string(&kept)?)
}

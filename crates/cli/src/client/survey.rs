//! What is kept of a computation: by its creator the key that closes it, by who hands in an input
//! its bytes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use data_encoding::BASE64URL_NOPAD;
use ostrakon_computation::{Announced, ComputationId, Input, Link, Statement};
use ostrakon_crypto::SigningKey;
use ostrakon_party::Invitation;
use serde::{Deserialize, Serialize};

use crate::client::member::state_directory;
use crate::{failure, output, secret};

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
            "only who asked may close or cancel, on the device and in the account where it was asked",
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

/// What is handed in: the same bytes to all members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The input.
    pub input: Input,
    /// What is told each member first, of a long one.
    pub announced: Vec<Announced>,
}

/// What is kept of an input. What it says is not.
#[derive(Serialize, Deserialize)]
struct Kept {
    input: String,
    announced: Vec<Announced>,
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
pub fn handed_in(path: &Path, members: usize) -> Result<Option<Made>> {
    if !path.exists() {
        return Ok(None);
    }
    let text = secret::read_all(path)?;
    let kept: Kept = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    ensure!(
        kept.receipts.len() != members,
        "you have handed in already, and it cannot be changed; the proof is in {}",
        path.display()
    );
    let bytes = BASE64URL_NOPAD.decode(kept.input.as_bytes()).ok();
    let input = bytes.and_then(|bytes| Input::decode(&bytes));
    let input = input.with_context(|| format!("{} is damaged", path.display()))?;
    Ok(Some(Made { input, announced: kept.announced }))
}

/// Why an input was not taken; what to do about it, if another try can help.
pub fn untaken(error: anyhow::Error, path: &Path) -> anyhow::Error {
    if !failure::is_unreachable(&error) {
        return error;
    }
    let kept = path.display();
    error.context(format!("it is kept in {kept}; the same command hands it in again"))
}

/// Contributions below which a result can say what somebody has contributed.
const FEW: u32 = 3;

/// What is asked of somebody.
pub struct Proposal<'a> {
    /// The draft's title.
    pub title: &'a str,
    /// What is computed of how many.
    pub what: &'a str,
    /// With fewer nothing is computed.
    pub minimum: u32,
    /// What the result may be of, with few contributors: "your number". None if it cannot be.
    pub own: Option<&'a str>,
}

/// Tells what an input is for before it leaves, and refuses where a result would be somebody's own.
///
/// # Errors
/// If it would, and `yes` was not said.
pub fn consider(of: &Proposal<'_>, yes: bool) -> Result<()> {
    eprintln!("{}\n{}", output::harmless(of.title.as_bytes()), of.what);
    match of.own {
        Some(own) if of.minimum < FEW && !yes => bail!(
            "with a minimum of {} the result may be {own}; --yes contributes all the same",
            of.minimum
        ),
        _ => Ok(()),
    }
}

/// Keeps an input that has just been made, before it is sent. If another process has kept one
/// meanwhile that one is returned: a key that signs two loses both.
///
/// # Errors
/// If it cannot be written or read, or all members have the other one.
pub fn keep_first(path: &Path, made: Made, members: usize) -> Result<Made> {
    match secret::write_new(path, &kept(&made, Vec::new())?) {
        Ok(()) => Ok(made),
        Err(error) => handed_in(path, members)?.ok_or(error),
    }
}

/// Keeps an input with the receipts that there are.
///
/// # Errors
/// If it cannot be written.
pub fn keep_input(path: &Path, made: &Made, receipts: Vec<Statement>) -> Result<()> {
    secret::replace(path, &kept(made, receipts)?)
}

fn kept(made: &Made, receipts: Vec<Statement>) -> Result<String> {
    let announced = made.announced.clone();
    let kept = Kept { input: BASE64URL_NOPAD.encode(&made.input.encode()), announced, receipts };
    Ok(serde_json::to_string(&kept)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(body: u8) -> Made {
        let id = ostrakon_computation::ComputationId(ostrakon_crypto::Digest([1; 32]));
        let (own, member) = (SigningKey::from_seed(&[7; 32]), SigningKey::from_seed(&[8; 32]));
        let input = Input::sign(&id, vec![body], &own);
        let announced = vec![Announced::sign(&id, &input, &member.verifying_key(), &own)];
        Made { input, announced }
    }

    /// Attack on oneself: two processes contribute with one key, and neither counts.
    #[test]
    fn of_two_inputs_that_are_made_at_the_same_time_one_is_handed_in() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept.json");
        assert_eq!(handed_in(&path, 3).unwrap(), None);
        assert_eq!(keep_first(&path, input(1), 3).unwrap(), input(1));
        assert_eq!(keep_first(&path, input(2), 3).unwrap(), input(1));
        assert_eq!(handed_in(&path, 3).unwrap(), Some(input(1)));
    }

    #[test]
    fn few_contributors_are_warned_of_a_result_that_may_be_their_own() {
        let of = |minimum, own| Proposal { title: "Wages", what: "the sum", minimum, own };
        let told = consider(&of(2, Some("your number")), false).unwrap_err().to_string();
        assert!(told.contains("minimum of 2") && told.contains("--yes"), "{told}");
        assert!(consider(&of(2, Some("your number")), true).is_ok());
        assert!(consider(&of(3, Some("your number")), false).is_ok());
        assert!(consider(&of(1, None), false).is_ok());
    }
}

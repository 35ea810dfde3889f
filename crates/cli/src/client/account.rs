//! This device's account for decisions: its key, and what the device must not forget.
//!
//! One file holds all of it. It is replaced, whole, before anything that was computed with it
//! leaves: a device that was killed in the middle answers again as it did before, or not at all.
//! One program at a time uses it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostrakon_crypto::SigningKey;
use ostrakon_decide::{DecisionId, Invitation, Memory};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::decision::Remember;
use crate::{secret, system};

/// What the file holds.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// The key's seed, base64url.
    seed: String,
    #[zeroize(skip)]
    memory: Memory,
    /// The invitations of the decisions that were created here, by person.
    #[zeroize(skip)]
    invitations: BTreeMap<DecisionId, Vec<Option<String>>>,
}

/// The account of this device.
pub struct Account {
    kept: Kept,
    seed: Zeroizing<[u8; 32]>,
    path: PathBuf,
    /// Held as long as the account is in use.
    _lock: File,
}

impl Account {
    /// The account that `directory` keeps, or a new one.
    ///
    /// # Errors
    /// If the directory cannot be used, what it keeps cannot be read, or another program uses the
    /// account now.
    pub fn open(directory: &Path) -> Result<Self> {
        secret::directory(directory)?;
        let lock = secret::lock(&directory.join("account.lock"))?;
        let lock = lock.context(
            "this device's account is in use by another `ostrakon decide`: wait until that is done",
        )?;
        let path = directory.join("account.json");
        let kept = if path.exists() {
            let text = Zeroizing::new(secret::read_all(&path)?);
            serde_json::from_str(&text)
                .with_context(|| format!("{} does not hold an account", path.display()))?
        } else {
            let seed = Invitation(system::random()).to_text();
            Kept { seed, memory: Memory::default(), invitations: BTreeMap::new() }
        };
        let seed = Invitation::from_text(&kept.seed);
        let seed = seed.with_context(|| format!("{} does not hold an account", path.display()))?;
        let account = Self { kept, seed: Zeroizing::new(seed.0), path, _lock: lock };
        account.save()?;
        Ok(account)
    }

    /// The key.
    pub fn key(&self) -> SigningKey {
        SigningKey::from_seed(&self.seed)
    }

    /// What the device remembers of decisions.
    pub fn memory(&self) -> &Memory {
        &self.kept.memory
    }

    /// The invitations of a decision that was created here, by person; nothing for who was named by
    /// an account.
    pub fn invitations(&self, decision: &DecisionId) -> Option<Vec<Option<Invitation>>> {
        let kept = self.kept.invitations.get(decision)?;
        Some(kept.iter().map(|text| text.as_deref().and_then(Invitation::from_text)).collect())
    }

    /// Keeps a decision's invitations. To be called before the decision begins: nobody could be
    /// invited afterwards.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn keep_invitations(
        &mut self,
        decision: DecisionId,
        invitations: &[Option<Invitation>],
    ) -> Result<()> {
        let texts = invitations.iter().map(|one| one.as_ref().map(Invitation::to_text)).collect();
        self.kept.invitations.insert(decision, texts);
        self.save()
    }

    /// Forgets a decision's invitations: there is no such decision.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn forget_invitations(&mut self, decision: &DecisionId) -> Result<()> {
        self.kept.invitations.remove(decision);
        self.save()
    }

    fn save(&self) -> Result<()> {
        secret::replace(&self.path, &Zeroizing::new(serde_json::to_string(&self.kept)?))
    }
}

impl Remember for Account {
    fn remember(&mut self, with: &mut dyn FnMut(&mut Memory)) -> Result<()> {
        with(&mut self.kept.memory);
        self.save()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_account_survives_is_private_and_one_program_at_a_time_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("state");
        let mut account = Account::open(&directory).unwrap();
        let key = account.key().verifying_key();
        assert!(Account::open(&directory).is_err_and(|error| error.to_string().contains("in use")));
        let id = DecisionId([7; 16]);
        account.keep_invitations(id, &[None, Some(Invitation([5; 32]))]).unwrap();
        drop(account);
        let mut account = Account::open(&directory).unwrap();
        assert_eq!(account.key().verifying_key(), key);
        assert_eq!(account.invitations(&id), Some(vec![None, Some(Invitation([5; 32]))]));
        account.forget_invitations(&id).unwrap();
        drop(account);
        assert_eq!(Account::open(&directory).unwrap().invitations(&id), None);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&directory), mode(&directory.join("account.json"))), (0o700, 0o600));
    }

    #[test]
    fn what_was_damaged_is_not_silently_replaced() {
        let directory = tempfile::tempdir().unwrap();
        drop(Account::open(directory.path()).unwrap());
        let path = directory.path().join("account.json");
        for damaged in ["", "{}", r#"{"seed":"short","memory":{"decisions":{}},"invitations":{}}"#]
        {
            std::fs::write(&path, damaged).unwrap();
            assert!(
                Account::open(directory.path())
                    .is_err_and(|error| error.to_string().contains("an account"))
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
        }
    }
}

//! A member of a room: the key of this device there, and what it was used for.
//!
//! Unlike a key that is made for one message, a member's is used again, so two things are kept in a
//! file: the key, and the last epoch for which something was made under it. A mask must not meet
//! two rows, so nothing is ever made for that epoch or an earlier one again, also if the program
//! was killed in the middle; and one program at a time uses the key.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ostrakon_client::host::{ClaimAction, ClaimNews, Claiming, SCHEDULER};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_mixing::RoomId;
use ostrakon_mixing::link::Invitation;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::connection::driver::{Driver, Transport};
use super::room::Room;
use crate::failure::{self, CallError};
use crate::{secret, system};

/// What the file holds.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct Kept {
    /// The key's seed, base64url.
    seed: String,
    /// The last epoch for which something was made.
    spent: Option<u64>,
}

/// The key of this device in one room.
pub struct Member {
    kept: Kept,
    seed: Zeroizing<[u8; 32]>,
    path: PathBuf,
    /// Held as long as the key is in use.
    _lock: File,
}

/// Where keys are kept unless another directory is named.
///
/// # Errors
/// If the environment names no home.
pub fn state_directory() -> Result<PathBuf> {
    if let Some(state) =
        std::env::var_os("XDG_STATE_HOME").filter(|state| Path::new(state).is_absolute())
    {
        return Ok(Path::new(&state).join("ostrakon"));
    }
    let home = std::env::var_os("HOME")
        .context("HOME is not set: say by --state-dir where the key is to be kept")?;
    Ok(Path::new(&home).join(".local/state/ostrakon"))
}

impl Member {
    /// The key that `directory` keeps for the room, or a new one.
    ///
    /// # Errors
    /// If the directory cannot be used, what it keeps cannot be read, or another program uses the
    /// key now.
    pub fn open(directory: &Path, room: &RoomId) -> Result<Self> {
        secret::directory(directory)?;
        let name = room.to_hex();
        let lock = secret::lock(&directory.join(format!("{name}.lock")))?;
        let lock =
            lock.context("this device's key in the room is in use by another `ostrakon say`: wait until that is done")?;
        let path = directory.join(format!("{name}.json"));
        let kept = if path.exists() {
            let text = Zeroizing::new(secret::read_all(&path)?);
            serde_json::from_str(&text)
                .with_context(|| format!("{} does not hold a member's key", path.display()))?
        } else {
            Kept { seed: Invitation(system::random()).to_text(), spent: None }
        };
        let seed = Invitation::from_text(&kept.seed);
        let seed =
            seed.with_context(|| format!("{} does not hold a member's key", path.display()))?;
        let member = Self { kept, seed: Zeroizing::new(seed.0), path, _lock: lock };
        member.save()?;
        Ok(member)
    }

    /// The key.
    pub fn key(&self) -> SigningKey {
        SigningKey::from_seed(&self.seed)
    }

    /// The last epoch for which something was made under the key.
    pub fn spent(&self) -> Option<u64> {
        self.kept.spent
    }

    /// Writes down that something was made for an epoch. To be called before it leaves.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn spend(&mut self, epoch: u64) -> Result<()> {
        if self.kept.spent < Some(epoch) {
            self.kept.spent = Some(epoch);
            self.save()?;
        }
        Ok(())
    }

    fn save(&self) -> Result<()> {
        secret::replace(&self.path, &Zeroizing::new(serde_json::to_string(&self.kept)?))
    }

    /// Sees to it that the key may take part, if need be by taking the link's invitation for it.
    ///
    /// # Errors
    /// If the key is not admitted and there is no invitation, or the invitation was used on another
    /// device.
    pub async fn admit(&self, room: &Arc<Room>) -> Result<()> {
        let own = self.key();
        let key = own.verifying_key();
        if room.host_log().await?.admits(&key) {
            return Ok(());
        }
        let Some(invitation) = &room.link.invitation else {
            bail!(
                "the room is for members, and its host has not admitted this device's key, {}: send it to the host, or \
                 use an invitation link",
                key.to_hex()
            );
        };
        let seed = Secret::new(system::random());
        let claiming = Claiming::new(room.scene.clone(), &invitation.key(), &own, seed);
        claim(Driver::new(claiming, Arc::clone(room)), room.connection(SCHEDULER).origin()).await
    }
}

/// Claims an invitation, once; `origin` is the first server's.
async fn claim<T: Transport>(mut driver: Driver<Claiming, T>, origin: &str) -> Result<()> {
    loop {
        while let Some(action) = driver.next_other() {
            let ClaimAction::Tell(news) = action else { continue };
            let said = match news {
                ClaimNews::Taken => return Ok(()),
                ClaimNews::Refused(refusal) => Some(refusal),
                ClaimNews::Away => None,
            };
            return Err(failure::call(CallError::of(origin, said)));
        }
        driver.turn().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: RoomId = RoomId([7; 16]);

    #[test]
    fn a_key_and_what_it_was_used_for_survive_and_one_program_at_a_time_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("state");
        let mut member = Member::open(&directory, &ROOM).unwrap();
        let key = member.key().verifying_key();
        assert_eq!(member.spent(), None);
        assert!(
            Member::open(&directory, &ROOM)
                .is_err_and(|error| error.to_string().contains("in use"))
        );
        member.spend(4).unwrap();
        member.spend(3).unwrap();
        drop(member);
        let member = Member::open(&directory, &ROOM).unwrap();
        assert_eq!((member.key().verifying_key(), member.spent()), (key, Some(4)));
        let elsewhere = Member::open(&directory, &RoomId([8; 16])).unwrap();
        assert_ne!(elsewhere.key().verifying_key(), key, "rooms do not share keys");
    }

    #[test]
    fn what_was_damaged_is_not_silently_replaced() {
        let directory = tempfile::tempdir().unwrap();
        drop(Member::open(directory.path(), &ROOM).unwrap());
        let path = directory.path().join(format!("{}.json", ROOM.to_hex()));
        for damaged in ["", "{}", r#"{"seed":"short","spent":null}"#] {
            std::fs::write(&path, damaged).unwrap();
            assert!(
                Member::open(directory.path(), &ROOM)
                    .is_err_and(|error| error.to_string().contains("member's key"))
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
        }
    }
}

//! Actions that a host signed and of which it is not known whether they were taken.
//!
//! An action may be taken although its answer is lost. Signed anew, with another time or at another
//! place, it would be another action and be done twice. So it is written down beside the host's key
//! before it first leaves, and the same bytes are sent again until the host log shows which action
//! has its place. The seeds of invitations are written down with it: the log has their keys only.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostrakon_broadcast::hosting::SignedAction;
use ostrakon_crypto::Digest;
use ostrakon_mixing::link::{Invitation, Link};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::secret;

/// An action that may have left.
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The room's id, hexadecimal.
    #[zeroize(skip)]
    room: String,
    /// The digest of the room's servers.
    #[zeroize(skip)]
    servers: Digest,
    /// What was sent, and is sent again.
    #[zeroize(skip)]
    pub signed: SignedAction,
    /// The seeds of the invitations that it makes, base64url.
    seeds: Vec<String>,
}

impl Pending {
    /// An action in the link's room, with the seeds of the invitations that it makes.
    pub fn new(link: &Link, signed: SignedAction, seeds: &[Invitation]) -> Self {
        let seeds = seeds.iter().map(Invitation::to_text).collect();
        Self { room: link.room.to_hex(), servers: link.servers, signed, seeds }
    }

    /// The links of the invitations that it makes, which lead to the room as `link` does.
    pub fn links(&self, link: &Link) -> Vec<String> {
        let seeds = self.seeds.iter().map(|seed| Invitation::from_text(seed));
        seeds.map(|invitation| Link { invitation, ..link.clone() }.to_string()).collect()
    }

    fn is_of(&self, link: &Link) -> bool {
        self.room == link.room.to_hex() && self.servers == link.servers
    }
}

/// The pending actions of one host's key, at most one in a room. One program at a time has them.
pub struct Pendings {
    path: PathBuf,
    kept: Vec<Pending>,
    /// Held as long as the key is in use: two programs would overwrite each other's.
    _lock: File,
}

impl Pendings {
    /// Those of the key in this file. Waits while another program acts with it.
    ///
    /// # Errors
    /// If what is beside the key cannot be read, or does not hold pending actions.
    pub fn beside(key: &Path) -> Result<Self> {
        let lock = secret::lock_patiently(key, || {
            eprintln!("waiting until another `ostrakon host` is done")
        })?;
        let mut path = key.as_os_str().to_owned();
        path.push(".pending");
        let path = PathBuf::from(path);
        let kept = if path.exists() { read(&path)? } else { Vec::new() };
        Ok(Self { path, kept, _lock: lock })
    }

    /// Where they are kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The one in the link's room.
    pub fn in_room(&self, link: &Link) -> Option<&Pending> {
        self.kept.iter().find(|pending| pending.is_of(link))
    }

    /// Keeps an action, in place of the one in its room. To be called before it leaves.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&mut self, link: &Link, pending: Pending) -> Result<()> {
        self.kept.retain(|pending| !pending.is_of(link));
        self.kept.push(pending);
        self.save()
    }

    /// Forgets the one in the link's room. To be called when all that it brought about was told.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn forget(&mut self, link: &Link) -> Result<()> {
        self.kept.retain(|pending| !pending.is_of(link));
        if self.kept.is_empty() { secret::remove(&self.path) } else { self.save() }
    }

    fn save(&self) -> Result<()> {
        secret::replace(&self.path, &Zeroizing::new(serde_json::to_string(&self.kept)?))
    }
}

fn read(path: &Path) -> Result<Vec<Pending>> {
    let text = Zeroizing::new(secret::read_all(path)?);
    let kept: Option<Vec<Pending>> = serde_json::from_str(&text).ok();
    let sound =
        |pending: &Pending| pending.seeds.iter().all(|seed| Invitation::from_text(seed).is_some());
    let kept = kept.filter(|kept| kept.iter().all(sound));
    kept.with_context(|| format!("{} does not hold pending actions of a host", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use ostrakon_broadcast::hosting::{Action, Deed};
    use ostrakon_crypto::SigningKey;
    use ostrakon_mixing::RoomId;

    use super::*;

    fn link(room: u8) -> Link {
        let (room, servers) = (RoomId([room; 16]), Digest([9; 32]));
        Link { origin: "http://127.0.0.1:9".to_owned(), room, servers, invitation: None }
    }

    fn invited(seed: &Invitation) -> SignedAction {
        let (key, deed) = (
            SigningKey::from_seed(&[1; 32]),
            Deed::Invite { keys: vec![seed.key().verifying_key()] },
        );
        let (previous, author) = (Digest([0; 32]), key.verifying_key());
        let action = Action { number: 0, previous, author, time: 5, deed };
        SignedAction { signature: key.sign(&Digest([2; 32])), action }
    }

    #[test]
    fn actions_are_kept_by_room_and_privately_until_they_are_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("host.key");
        std::fs::write(&key, "").unwrap();
        let seed = Invitation([5; 32]);
        let signed = invited(&seed);
        let mut pendings = Pendings::beside(&key).unwrap();
        for room in [1, 2, 1] {
            pendings
                .keep(
                    &link(room),
                    Pending::new(&link(room), signed.clone(), std::slice::from_ref(&seed)),
                )
                .unwrap();
        }
        let path = directory.path().join("host.key.pending");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(pendings);
        let mut pendings = Pendings::beside(&key).unwrap();
        let pending = pendings.in_room(&link(1)).unwrap();
        assert_eq!(pending.signed, signed);
        assert_eq!(
            pending.links(&link(1)),
            [Link { invitation: Some(seed), ..link(1) }.to_string()]
        );
        assert!(pendings.in_room(&link(3)).is_none());
        pendings.forget(&link(1)).unwrap();
        assert!(pendings.in_room(&link(1)).is_none() && path.exists());
        pendings.forget(&link(2)).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_was_damaged_is_not_silently_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("host.key");
        std::fs::write(&key, "").unwrap();
        let path = directory.path().join("host.key.pending");
        for damaged in ["", "{}", "[{}]"] {
            secret::replace(&path, damaged).unwrap();
            assert!(
                Pendings::beside(&key)
                    .is_err_and(|error| error.to_string().contains("pending actions"))
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
        }
    }
}

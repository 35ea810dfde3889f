//! What is kept of a messages client: one file for each room, encrypted, under a key beside them.
//!
//! Both can be read by their owner only. The key is a file of its own, so that it can be kept
//! elsewhere, and so that removing it makes everything else unreadable.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::Secret;
use ostrakon_messaging::{Client, Event, state};
use ostrakon_mixing::RoomId;
use ostrakon_mixing::link::{Invitation, Link};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{secret, system};

/// How what is kept is written ([`state::seal`]): a client, and as JSON what is to be told.
const FORM: u8 = 4;

/// What the file of a room holds.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The link to the room.
    room: String,
    /// The client and what is to be told, sealed.
    state: String,
}

/// Where messages clients are kept.
pub struct Directory {
    path: PathBuf,
    key: Secret,
}

/// The client of one room, in use by this program alone.
pub struct Kept {
    /// The client. Changes count once they are saved.
    pub client: Client,
    /// The link to its room.
    pub room: Link,
    /// What happened and the user has not been told: to be told first if the program was stopped in
    /// between.
    pub untold: Vec<Event>,
    path: PathBuf,
    key: Secret,
    /// Held as long as the client is in use.
    _lock: File,
}

impl Directory {
    /// Opens the directory, with the key in `key_file`, or one that is beside the files. A key that
    /// is not there is made.
    ///
    /// # Errors
    /// If they cannot be used, or others than the owner may read the key.
    pub fn open(path: PathBuf, key_file: Option<PathBuf>) -> Result<Self> {
        secret::directory(&path)?;
        let key_file = key_file.unwrap_or_else(|| path.join("key"));
        if !key_file.exists() {
            let fresh = Zeroizing::new(Invitation(system::random()).to_text());
            secret::write_new(&key_file, &format!("{}\n", *fresh))?;
        }
        let text = Zeroizing::new(secret::read(&key_file)?);
        let key = Invitation::from_text(&text);
        let key = key.with_context(|| format!("{} does not hold a key", key_file.display()))?;
        Ok(Self { path, key: Secret::new(key.0) })
    }

    /// The rooms of which a client is kept.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn rooms(&self) -> Result<Vec<RoomId>> {
        let mut rooms = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let room = name.to_str().and_then(|name| RoomId::from_hex(name.strip_suffix(".json")?));
            rooms.extend(room);
        }
        rooms.sort_unstable();
        Ok(rooms)
    }

    /// Whether a client of this room is kept.
    pub fn has(&self, room: &RoomId) -> bool {
        self.file(room).exists()
    }

    fn file(&self, room: &RoomId) -> PathBuf {
        self.path.join(format!("{}.json", room.to_hex()))
    }

    /// The client of a room.
    ///
    /// # Errors
    /// If there is none, it cannot be read, or another program uses it.
    pub fn client(&self, room: &RoomId) -> Result<Kept> {
        let lock = self.lock(room)?;
        let path = self.file(room);
        let damaged = || {
            format!("{} cannot be read with this key, or is damaged; restore both", path.display())
        };
        let text = secret::read_all(&path)?;
        let written: Written = serde_json::from_str(&text).with_context(damaged)?;
        let sealed = BASE64URL_NOPAD.decode(written.state.as_bytes()).with_context(damaged)?;
        let (client, untold): (Client, String) =
            state::open(FORM, &self.key, &sealed).with_context(damaged)?;
        let untold = serde_json::from_str(&untold).with_context(damaged)?;
        let room = written.room.parse().with_context(damaged)?;
        Ok(Kept { client, room, untold, path, key: self.key.clone(), _lock: lock })
    }

    /// Keeps a new client, of the room with this link.
    ///
    /// # Errors
    /// If there is one already, or it cannot be written.
    pub fn add(&self, room: Link, client: Client) -> Result<Kept> {
        let lock = self.lock(&room.room)?;
        let path = self.file(&room.room);
        if path.exists() {
            bail!("there is a client of this room already");
        }
        let (untold, key) = (Vec::new(), self.key.clone());
        let kept = Kept { client, room, untold, path, key, _lock: lock };
        kept.save()?;
        Ok(kept)
    }

    fn lock(&self, room: &RoomId) -> Result<File> {
        let path = self.path.join(format!("{}.lock", room.to_hex()));
        secret::lock(&path)?.context(
            "another `ostrakon chat` uses this room's contacts now: give it the command on its standard input, or end it first",
        )
    }
}

impl Kept {
    /// Writes everything down. To be called before a row leaves, and before the user is told.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self) -> Result<()> {
        let untold = serde_json::to_string(&self.untold)?;
        let sealed = state::seal(FORM, &(&self.client, untold), &self.key, &mut system::entropy());
        let state = BASE64URL_NOPAD.encode(&sealed);
        let written = Written { room: self.room.to_string(), state };
        secret::replace(&self.path, &serde_json::to_string(&written)?)
    }
}

/// Where clients are kept unless another directory is named.
///
/// # Errors
/// If the environment names no home.
pub fn directory(given: Option<&Path>) -> Result<PathBuf> {
    let state = given.map_or_else(crate::client::member::state_directory, |given| Ok(given.into()));
    Ok(state?.join("messages"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_crypto::Digest;

    fn link() -> Link {
        let (room, servers) = (RoomId([7; 16]), Digest([8; 32]));
        Link { origin: "http://127.0.0.1:7000".into(), room, servers, invitation: None }
    }

    #[test]
    fn a_client_is_kept_encrypted_and_used_by_one_program() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("messages");
        let open = || Directory::open(path.clone(), None).unwrap();
        let client = Client::new(link().room, 254, "Ann").unwrap();
        let mut kept = open().add(link(), client).unwrap();
        let own = kept.client.add_link("secret label", &mut system::entropy()).unwrap();
        kept.save().unwrap();
        assert!(open().client(&link().room).is_err_and(|e| e.to_string().contains("another")));
        drop(kept);
        assert_eq!(open().rooms().unwrap(), [link().room]);
        let mut again = open().client(&link().room).unwrap();
        assert_eq!(again.client.links(), [own]);
        // What happened is kept until it was told.
        let happened = Event::Received { contact: 0, message: 3, text: "Hello".into() };
        again.untold.push(happened.clone());
        again.save().unwrap();
        drop(again);
        assert_eq!(open().client(&link().room).unwrap().untold, [happened]);
        let file = path.join(format!("{}.json", link().room.to_hex()));
        assert!(!std::fs::read_to_string(&file).unwrap().contains("secret"));
        std::fs::remove_file(path.join("key")).unwrap();
        let other = open().client(&link().room);
        assert!(other.is_err_and(|error| error.to_string().contains("key")));
    }
}

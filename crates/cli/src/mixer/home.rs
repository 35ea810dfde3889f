//! A server's directory: key, configuration, the room, the journal.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_asynchromix::{Card, Description, Room};
use ostrakon_crypto::{Secret, SigningKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{edge, secret};

/// The configuration.
const CONFIG: &str = "mixer.toml";
/// The seed of the server's identity.
const IDENTITY: &str = "identity.key";
/// The room, as `found` printed it.
pub const ROOM: &str = "room.json";
/// Where the journal is.
const DATA: &str = "data";
/// Held while a process serves.
const LOCK: &str = "lock";

/// What an operator may change.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the public interface listens.
    pub http: SocketAddr,
    /// Where it listens for the other servers.
    pub mesh: SocketAddr,
}

/// A server's directory, read.
pub struct Home {
    directory: PathBuf,
    /// The configuration.
    pub settings: Settings,
    /// The seed of its identity.
    pub identity: Secret,
}

impl Home {
    /// Makes a server's key and configuration, and returns its card.
    ///
    /// # Errors
    /// If there are some already, they cannot be written, or the card is not sound.
    pub fn create(
        directory: &Path,
        (http, mesh): (SocketAddr, SocketAddr),
        name: &str,
        url: &str,
        address: &str,
    ) -> Result<Card> {
        let identity = Secret::new(edge::random());
        let card = Card::sign(name, url, address, &SigningKey::from_seed(identity.expose()));
        card.validate()?;
        secret::directory(directory)?;
        let hex = Zeroizing::new(data_encoding::HEXLOWER.encode(identity.expose()) + "\n");
        secret::write_new(&directory.join(IDENTITY), &hex)?;
        let settings = toml::to_string_pretty(&Settings { http, mesh })?;
        secret::write_new(&directory.join(CONFIG), &settings)?;
        Ok(card)
    }

    /// Reads what [`Home::create`] made.
    ///
    /// # Errors
    /// If something is missing or wrong.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(CONFIG);
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!("{} cannot be read; `ostrakon mixer init` makes it", path.display())
        })?;
        let settings = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let text = Zeroizing::new(secret::read(&directory.join(IDENTITY))?);
        let seed = data_encoding::HEXLOWER.decode(text.as_bytes()).ok();
        let seed: Option<[u8; 32]> = seed.and_then(|seed| seed.try_into().ok());
        let identity = Secret::new(seed.with_context(|| format!("{IDENTITY} holds no key"))?);
        Ok(Self { directory: directory.to_owned(), settings, identity })
    }

    /// Where the journal is.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn data(&self) -> Result<PathBuf> {
        let data = self.directory.join(DATA);
        secret::directory(&data)?;
        Ok(data)
    }

    /// The room.
    ///
    /// # Errors
    /// If there is none, or this server is not in it.
    pub fn room(&self) -> Result<(Description, Room)> {
        let path = self.directory.join(ROOM);
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!(
                "{} cannot be read: it must be what `ostrakon mixer found` printed",
                path.display()
            )
        })?;
        let description: Description =
            serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let room = description.room().with_context(|| path.display().to_string())?;
        let own = SigningKey::from_seed(self.identity.expose()).verifying_key();
        ensure!(
            description.servers.iter().any(|card| card.key == own),
            "{}: this server's card is not in it; hand in the card that `init` printed",
            path.display()
        );
        Ok((description, room))
    }

    /// Keeps other processes from using the directory until the lock is dropped.
    ///
    /// # Errors
    /// If one does.
    pub fn lock(&self) -> Result<std::fs::File> {
        match secret::lock(&self.directory.join(LOCK))? {
            Some(lock) => Ok(lock),
            None => bail!("another process serves {}", self.directory.display()),
        }
    }
}

//! A server's directory: key, configuration, the room, the journal.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ostrakon_asynchromix::{Card, Description, Room};
use ostrakon_crypto::{Secret, SigningKey};
use serde::{Deserialize, Serialize};

use crate::serving::cards::{Directory, Kind};
use crate::{secret, system};

/// Servers of rooms without a clock.
pub const KIND: Kind = Kind {
    command: "mixer",
    server: "server",
    group: "room",
    config: "mixer.toml",
    founded: "room.json",
};
/// Where the journal is.
const DATA: &str = "data";

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
    /// Where.
    pub directory: Directory,
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
        directory: &Directory,
        settings: &Settings,
        name: &str,
        url: &str,
        address: &str,
    ) -> Result<Card> {
        let identity = Secret::new(system::random());
        let card = Card::sign(name, url, address, &SigningKey::from_seed(identity.expose()));
        card.validate()?;
        directory.create(identity.expose(), settings)?;
        Ok(card)
    }

    /// Reads what [`Home::create`] made.
    ///
    /// # Errors
    /// If something is missing or wrong.
    pub fn open(directory: Directory) -> Result<Self> {
        let (settings, identity) = (directory.settings()?, Secret::new(*directory.identity()?));
        Ok(Self { directory, settings, identity })
    }

    /// Where the journal is.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn data(&self) -> Result<PathBuf> {
        let data = self.directory.file(DATA);
        secret::directory(&data)?;
        Ok(data)
    }

    /// The room.
    ///
    /// # Errors
    /// If there is none, or this server is not in it.
    pub fn room(&self) -> Result<(Description, Room)> {
        let description: Description = self.directory.founded()?;
        let checked = || {
            let room = description.room()?;
            let own = SigningKey::from_seed(self.identity.expose()).verifying_key();
            let is_in = description.servers.iter().any(|card| card.key == own);
            ensure!(is_in, self.directory.absent());
            Ok(room)
        };
        let room = checked().with_context(|| self.directory.in_founded())?;
        Ok((description, room))
    }
}

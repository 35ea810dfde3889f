//! A server's administrator, as commands act for one.

use std::time::Duration;

use anyhow::{Context, Result};
use ostrakon_crypto::Digest;
use ostrakon_mixing::RoomId;
use ostrakon_mixing::link::Link;
use ostrakon_protocol::{NewRoom, RoomInfo, ServersInfo};
use reqwest::Method;

use crate::client::{Connection, Pauses};
use crate::failure;

/// How long another server may take to hear of a new room.
const KNOWN_TIME: Duration = Duration::from_secs(5);

/// Somebody with the administrator token of a server.
pub struct Administrator {
    server: Connection,
    token: String,
}

impl Administrator {
    /// The administrator of a server.
    pub fn new(server: Connection, token: String) -> Self {
        Self { server, token }
    }

    /// Where the server is, as in http://127.0.0.1:7000.
    pub fn origin(&self) -> &str {
        self.server.origin()
    }

    /// Asks for something as the administrator.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub async fn call<T: serde::de::DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&NewRoom>,
    ) -> Result<T> {
        self.server.administer(method, path, &self.token, body).await.map_err(failure::call)
    }

    /// Creates a room, and waits for a moment until every server knows it.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub async fn create(&self, room: NewRoom) -> Result<RoomInfo> {
        let room: RoomInfo = self.call(Method::POST, "rooms", Some(&room)).await?;
        let path = format!("rooms/{}", room.id);
        for link in self.links(&room).await? {
            let server = self.server.sibling(&link.origin);
            let mut pauses = Pauses::new(Duration::from_millis(20), Duration::from_millis(500));
            let known = async {
                while server.get::<RoomInfo>(&path, &()).await.is_err() {
                    pauses.pause().await;
                }
            };
            if tokio::time::timeout(KNOWN_TIME, known).await.is_err() {
                eprintln!(
                    "{} does not know the room yet; its link works as soon as it does",
                    link.origin
                );
            }
        }
        Ok(room)
    }

    /// Deletes a room at this server.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub async fn delete(&self, room: &str) -> Result<()> {
        let path = format!("operator/rooms/{room}");
        self.server
            .administer_silently(Method::DELETE, &path, &self.token)
            .await
            .map_err(failure::call)
    }

    /// Every room.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub async fn rooms(&self) -> Result<Vec<RoomInfo>> {
        self.call(Method::GET, "rooms", None).await
    }

    /// The links to a room, one by each server.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn links(&self, room: &RoomInfo) -> Result<Vec<Link>> {
        let info: ServersInfo = self.server.get("servers", &()).await.map_err(failure::call)?;
        let servers = Digest::from_hex(&info.digest).context("the server's digest is malformed")?;
        let room = RoomId::from_hex(&room.id).context("the room's id is malformed")?;
        Ok(info
            .servers
            .iter()
            .map(|server| Link { origin: server.url.clone(), room, servers, invitation: None })
            .collect())
    }
}

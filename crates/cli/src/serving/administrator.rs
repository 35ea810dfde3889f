//! A server's administrator, as commands act for one.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::future::BoxFuture;
use ostrakon_client::host::{Opening, OpeningFailure, OpeningNews};
use ostrakon_client::{Http, servers_of};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_mixing::link::Link;
use ostrakon_mixing::{RoomDescriptor, RoomId};
use ostrakon_party::PartyId;
use ostrakon_protocol::{NewRoom, RoomInfo, ServersInfo};
use reqwest::Method;
use serde::de::DeserializeOwned;

use crate::client::Connection;
use crate::client::connection::driver::{Driver, Transport};
use crate::failure::{self, CallError};
use crate::system;

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
    pub async fn call<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T> {
        self.server.administer(method, path, &self.token).await.map_err(failure::call)
    }

    /// Creates a room, and waits for a moment until every server knows it
    /// (`docs/spec/hosting.md`, H6).
    ///
    /// # Errors
    /// If the server does not answer, or refuses; if it creates another room, or one of the servers
    /// names other servers.
    pub async fn create(&self, room: NewRoom) -> Result<RoomInfo> {
        let info: ServersInfo = self.server.get("servers", &()).await.map_err(failure::call)?;
        let pinned = servers_of(&info).context("the server's list of servers is malformed")?;
        let you = PartyId(info.you);
        let servers = info.servers.iter().map(|server| {
            self.server.sibling(if server.party == info.you { self.origin() } else { &server.url })
        });
        let (all, token) = (servers.collect(), self.token.clone());
        let servers = Arc::new(Servers { all, you, token });
        let opening = Opening::new(pinned, &[you], room, Secret::new(system::random()));
        let (descriptor, late) = open(Driver::new(opening, Arc::clone(&servers)), &servers).await?;
        for party in late {
            eprintln!(
                "{} does not know the room yet; its link works as soon as it does",
                servers.origin(party)
            );
        }
        Ok(RoomInfo::of(&descriptor, true))
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
        self.call(Method::GET, "rooms").await
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

/// The servers of a deployment, one of which is shown its administrator's token.
struct Servers {
    all: Vec<Connection>,
    you: PartyId,
    token: String,
}

impl Servers {
    fn origin(&self, party: PartyId) -> &str {
        self.all[party.index()].origin()
    }
}

impl Transport for Servers {
    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)> {
        Box::pin(async move {
            let token = Some(self.token.as_str()).filter(|_| party == self.you);
            self.all[party.index()].exchange_as(token, request, patience).await
        })
    }
}

/// Opens a room: what it is, and who does not show it yet.
async fn open(
    mut driver: Driver<Opening, Servers>,
    servers: &Servers,
) -> Result<(RoomDescriptor, Vec<PartyId>)> {
    let mut opened = None;
    driver.happen(Opening::wake);
    loop {
        while let Some(news) = driver.next_other() {
            match news {
                OpeningNews::Opened(descriptor) => opened = Some(descriptor),
                OpeningNews::Shown => {}
                OpeningNews::Over { late } => {
                    let descriptor = opened.context("a room is looked for that was not opened")?;
                    return Ok((*descriptor, late));
                }
                OpeningNews::Failed(why) => return Err(failed(why, servers)),
            }
        }
        driver.turn().await;
    }
}

fn failed(why: OpeningFailure, servers: &Servers) -> anyhow::Error {
    match why {
        OpeningFailure::Refused { party, refusal } => {
            failure::call(CallError::of(servers.origin(party), Some(refusal)))
        }
        OpeningFailure::Away { party } => failure::call(CallError::of(servers.origin(party), None)),
        OpeningFailure::Altered => failure::unproven(
            "the server opened another room than the one that was asked for; do not use it",
        ),
        OpeningFailure::OtherServers { party } => failure::unproven(format!(
            "{} names other servers than {}: one of the two lies, so do not use the room",
            servers.origin(party),
            servers.origin(servers.you)
        )),
    }
}

#[cfg(test)]
mod tests;

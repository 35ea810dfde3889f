//! A join link at its servers: nothing is believed that whoever it names has not signed.

use std::sync::Arc;

use anyhow::Result;
use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Signature, SigningKey};
use ostrakon_decide::draft::gathering::{Request, Word};
use ostrakon_decide::{Gathering, JoinLink};
use ostrakon_protocol::decisions::{GatheringInfo, RequestsInfo};
use serde::Serialize;

use super::connection::Connection;
use super::decision::Deployment;
use crate::failure::{self, CallError};
use crate::system;

#[derive(Serialize)]
struct CreatorQuery {
    time: u64,
    signature: Signature,
}

/// A join link that holds.
pub struct Joining {
    /// The link.
    pub link: JoinLink,
    /// Its servers.
    pub deployment: Arc<Deployment>,
    /// What is believed of what they show.
    shown: ostrakon_client::Joining,
}

/// What those servers said that answered; what the first one said if none has.
async fn at_any<T>(
    deployment: &Deployment,
    act: impl AsyncFn(&Connection) -> Result<T, CallError>,
) -> Result<Vec<T>> {
    let (mut done, mut failed) = (Vec::new(), None);
    for connection in &deployment.connections {
        match act(connection).await {
            Ok(answer) => done.push(answer),
            // A server that refuses says more than one that is away.
            Err(error) if failed.as_ref().is_none_or(CallError::passes) => failed = Some(error),
            Err(_) => {}
        }
    }
    match failed {
        Some(error) if done.is_empty() => Err(failure::call(error)),
        _ => Ok(done),
    }
}

/// Hands a new join link in at all servers.
///
/// # Errors
/// If none of them takes it.
pub async fn hand_in(deployment: &Deployment, bytes: &[u8], token: Option<&str>) -> Result<()> {
    at_any(deployment, async |connection| {
        connection.post_bytes::<serde_json::Value>("gatherings", token, bytes.to_vec()).await
    })
    .await
    .map(drop)
}

impl Joining {
    /// Follows a link.
    ///
    /// # Errors
    /// If no server shows what the link is for, or the link's key is another one.
    pub async fn open(http: &reqwest::Client, link: JoinLink) -> Result<Self> {
        let deployment = Deployment::open(http, &link.origin, Some(&link.servers)).await?;
        let path = format!("gatherings/{}", link.gathering.to_hex());
        let shown = at_any(&deployment, async |connection| {
            connection.get::<GatheringInfo>(&path, &()).await
        });
        let read =
            ostrakon_client::Joining::read(deployment.operators, link.gathering, &shown.await?);
        let other = || failure::unproven("the servers show another join link than this one");
        let shown = read.ok_or_else(other)?;
        if !shown.is_opened_by(&link.secret) {
            return Err(failure::unproven("the join link is incomplete: copy the whole link"));
        }
        Ok(Self { link, deployment, shown })
    }

    /// What it is for.
    pub fn gathering(&self) -> &Gathering {
        self.shown.gathering()
    }

    /// The latest that its creator has said, of all that servers show.
    pub fn word(&self) -> Option<&Word> {
        self.shown.word()
    }

    fn path(&self, below: &str) -> String {
        format!("gatherings/{}/{below}", self.link.gathering.to_hex())
    }

    /// The account under which a device asks.
    pub fn account(&self, device: &SigningKey) -> SigningKey {
        self.shown.account(device)
    }

    /// Asks to take part.
    ///
    /// # Errors
    /// If no server takes the request.
    pub async fn ask(&self, account: &SigningKey, name: &str) -> Result<Request> {
        let request = self.shown.ask(account, &self.link.secret, name, system::unix_time())?;
        let (path, bytes) = (self.path("requests"), ostrakon_party::wire::encode(&request));
        at_any(&self.deployment, async |connection| {
            connection.post_bytes_silently(&path, bytes.clone()).await
        })
        .await?;
        Ok(request)
    }

    /// As the creator: who asks, the earliest first.
    ///
    /// # Errors
    /// If no server shows it.
    pub async fn requests(&self, creator: &SigningKey) -> Result<Vec<Request>> {
        let time = system::unix_time();
        let signature = self.shown.sign_reading(creator, time);
        let (path, query) = (self.path("requests"), CreatorQuery { time, signature });
        let shown = at_any(&self.deployment, async |connection| {
            connection.get::<RequestsInfo>(&path, &query).await
        });
        Ok(self.shown.requests(&shown.await?))
    }

    /// As the creator: the word that follows what was said, with this done to it, is said.
    ///
    /// # Errors
    /// If no server takes it.
    pub async fn say(
        &mut self,
        creator: &SigningKey,
        change: impl FnOnce(&mut Word),
    ) -> Result<()> {
        let signed = self.shown.say(creator, 0, change)?;
        let (path, bytes) = (self.path("word"), ostrakon_party::wire::encode(&signed));
        let word = BASE64URL_NOPAD.encode(&bytes);
        at_any(&self.deployment, async |connection| {
            connection.post_bytes_silently(&path, bytes.clone()).await
        })
        .await?;
        self.shown.hear([word.as_str()]);
        Ok(())
    }
}

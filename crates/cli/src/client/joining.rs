//! A join link at its servers: nothing is believed that whoever it names has not signed.

use std::sync::Arc;

use anyhow::{Context, Result};
use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Signature, SigningKey};
use ostrakon_decide::draft::gathering::{
    Request, SignedGathering, SignedWord, Word, decode, reading_digest,
};
use ostrakon_decide::keys::joining_seed;
use ostrakon_decide::{Gathering, GatheringId, JoinLink};
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
    /// What it is for.
    pub gathering: Gathering,
    /// The latest that its creator has said, of all that servers show.
    pub word: Option<Word>,
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

fn decoded<T: Serialize + for<'a> serde::Deserialize<'a>>(text: &str) -> Option<T> {
    decode(&BASE64URL_NOPAD.decode(text.as_bytes()).ok()?).ok()
}

/// Hands a new join link in at all servers.
///
/// # Errors
/// If none of them takes it.
pub async fn hand_in(
    deployment: &Deployment,
    signed: &SignedGathering,
    token: Option<&str>,
) -> Result<()> {
    let bytes = ostrakon_party::wire::encode(signed);
    at_any(deployment, async |connection| {
        connection.post_bytes::<serde_json::Value>("gatherings", token, bytes.clone()).await
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
        let operators = &deployment.operators;
        let path = format!("gatherings/{}", link.gathering.to_hex());
        let shown = at_any(&deployment, async |connection| {
            connection.get::<GatheringInfo>(&path, &()).await
        });
        let shown = shown.await?;
        let holds = |signed: &SignedGathering| {
            signed.verify(operators).is_ok() && signed.gathering.id(operators) == link.gathering
        };
        let found = shown.iter().filter_map(|info| decoded(&info.gathering)).find(holds);
        let other = || failure::unproven("the servers show another join link than this one");
        let gathering = found.ok_or_else(other)?.gathering;
        if link.secret.key().verifying_key() != gathering.link {
            return Err(failure::unproven("the join link is incomplete: copy the whole link"));
        }
        let words = shown.iter().filter_map(|info| decoded::<SignedWord>(info.word.as_ref()?));
        let words = words.filter(|signed| gathering.check_word(operators, signed).is_ok());
        let word = words.map(|signed| signed.word).max_by_key(|word| word.number);
        Ok(Self { link, deployment, gathering, word })
    }

    fn id(&self) -> GatheringId {
        self.link.gathering
    }

    fn path(&self, below: &str) -> String {
        format!("gatherings/{}/{below}", self.id().to_hex())
    }

    /// The account under which a device asks.
    pub fn account(&self, device: &SigningKey) -> SigningKey {
        let seed = joining_seed(device, &self.deployment.operators, &self.id());
        SigningKey::from_seed(seed.expose())
    }

    /// Asks to take part.
    ///
    /// # Errors
    /// If no server takes the request.
    pub async fn ask(&self, account: &SigningKey, name: &str) -> Result<Request> {
        let operators = &self.deployment.operators;
        let link = (self.id(), &self.link.secret);
        let request = Request::new(operators, link, account, name, system::unix_time());
        self.gathering.check_request(operators, &request)?;
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
        let (time, operators) = (system::unix_time(), &self.deployment.operators);
        let signature = creator.sign(&reading_digest(operators, &self.id(), time));
        let (path, query) = (self.path("requests"), CreatorQuery { time, signature });
        let shown = at_any(&self.deployment, async |connection| {
            connection.get::<RequestsInfo>(&path, &query).await
        });
        let texts = shown.await?.into_iter().flat_map(|info| info.requests);
        let bytes: Vec<_> =
            texts.filter_map(|text| BASE64URL_NOPAD.decode(text.as_bytes()).ok()).collect();
        Ok(self.gathering.requests(operators, bytes.iter().map(Vec::as_slice)))
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
        let fresh = || Word {
            gathering: self.id(),
            number: 0,
            admitted: [].into(),
            refused: [].into(),
            decision: None,
        };
        let mut word = self.word.clone().unwrap_or_else(fresh);
        word.number = word.number.checked_add(1).context("no more can be said")?;
        change(&mut word);
        let signed = word.clone().sign(&self.deployment.operators, creator);
        self.gathering.check_word(&self.deployment.operators, &signed)?;
        let (path, bytes) = (self.path("word"), ostrakon_party::wire::encode(&signed));
        at_any(&self.deployment, async |connection| {
            connection.post_bytes_silently(&path, bytes.clone()).await
        })
        .await?;
        self.word = Some(word);
        Ok(())
    }
}

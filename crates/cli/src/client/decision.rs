//! A decision, read at its servers and checked: nothing is believed that is not signed, verified,
//! or said by two servers.

use std::time::Duration;

use anyhow::{Context, Result};
use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::Digest;
use ostrakon_decide::{
    Acknowledgement, Archive, Chain, Examined, Link, Opening, Operators, Outcome, Receipt, Refused,
    SignedRecord, Visit,
};
use ostrakon_node::interface::ServersInfo;
use ostrakon_node::interface::decisions::{Acknowledged, DecisionInfo, RecordTaken, RecordsPage};
use ostrakon_party::{PartyId, Servers};
use serde::de::DeserializeOwned;

use super::connection::{CallError, Connection, Pauses};
use super::room::{patiently, servers_of};
use crate::edge;
use crate::failure;

/// The server that puts all records into one order.
pub const SEQUENCER: usize = 0;
/// How often the other servers are asked how a decision stands before they count as silent.
const COMPARISONS: u32 = 6;

/// Three servers that keep decisions.
pub struct Deployment {
    /// Who they are.
    pub servers: Servers,
    /// The same, as decisions need it.
    pub operators: Operators,
    /// Their public interfaces, by party number.
    pub connections: Vec<Connection>,
}

impl Deployment {
    /// Finds all servers by one of them. `pinned` is their digest if it is known from a link.
    ///
    /// # Errors
    /// If the server does not answer, or shows other keys than those that are pinned.
    pub async fn open(
        http: &reqwest::Client,
        origin: &str,
        pinned: Option<&Digest>,
    ) -> Result<Self> {
        let first = Connection::new(http.clone(), origin);
        let info: ServersInfo = patiently(&first, "servers").await?;
        let servers = servers_of(&info).context("the server's list of servers is malformed")?;
        if pinned.is_some_and(|pinned| *pinned != servers.digest()) {
            return Err(failure::unproven(format!(
                "{origin} is not kept by the servers that the link names: its keys are others; do not trust it"
            )));
        }
        let operators =
            Operators::new(&servers).context("decisions need a deployment of three servers")?;
        let connections = info.servers.iter().map(|server| first.sibling(&server.url)).collect();
        Ok(Self { servers, operators, connections })
    }

    /// Asks the sequencer to take bytes.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        token: Option<&str>,
        body: Vec<u8>,
    ) -> Result<T, CallError> {
        self.connections[SEQUENCER].post_bytes(path, token, body).await
    }
}

/// What became of a record that was handed in.
pub enum Handed {
    /// It is in the chain.
    Taken,
    /// Another record came first: read on.
    Overtaken,
}

/// A decision at its servers.
pub struct Decision {
    /// Where it is and whose keys it must be kept by.
    pub link: Link,
    /// Its servers.
    pub deployment: Deployment,
}

impl Decision {
    /// Follows a link.
    ///
    /// # Errors
    /// As [`Deployment::open`].
    pub async fn open(http: &reqwest::Client, link: Link) -> Result<Self> {
        let deployment = Deployment::open(http, &link.origin, Some(&link.servers)).await?;
        Ok(Self { link, deployment })
    }

    /// Nothing is read yet.
    pub fn visit(&self) -> Visit {
        Visit::new(self.deployment.operators, self.link.decision)
    }

    fn path(&self, below: &str) -> String {
        format!("decisions/{}{below}", self.link.decision.to_hex())
    }

    /// Reads on at a server, everything that it has; `report` is told the number of records after
    /// each. If there is nothing new and no more openings than `opened`, the server is given `wait`
    /// to have something.
    ///
    /// # Errors
    /// If the server does not answer, or shows what cannot be.
    pub async fn read(
        &self,
        party: usize,
        visit: &mut Visit,
        wait: Duration,
        opened: usize,
        report: impl Fn(u32),
    ) -> Result<Vec<(PartyId, Opening)>> {
        let connection = &self.deployment.connections[party];
        let mut wait = wait;
        loop {
            let from = visit.chain().map_or(0, Chain::length);
            let query = [("from", u64::from(from)), ("opened", opened as u64)];
            let page: RecordsPage = connection
                .get_waiting(&self.path("/records"), &query, wait)
                .await
                .map_err(failure::call)?;
            if page.records.is_empty() {
                return page
                    .openings
                    .iter()
                    .map(|info| Ok((PartyId(info.party), opening(&info.opening)?)))
                    .collect();
            }
            for record in &page.records {
                let bytes = BASE64URL_NOPAD
                    .decode(record.as_bytes())
                    .map_err(|_| refused(Refused::Form))?;
                visit.read(&bytes, &mut edge::entropy()).map_err(refused)?;
                report(visit.chain().map_or(0, Chain::length));
            }
            wait = Duration::ZERO;
        }
    }

    /// Reads everything that the sequencer has, or another server if that does not answer, and
    /// verifies all of it.
    ///
    /// # Errors
    /// If no server answers, or something does not hold.
    pub async fn read_all(
        &self,
        visit: &mut Visit,
        report: impl Fn(u32),
    ) -> Result<Vec<(PartyId, Opening)>> {
        let mut silent = None;
        for party in 0..self.deployment.connections.len() {
            match self.read(party, visit, Duration::ZERO, 0, &report).await {
                Ok(openings) => {
                    verify(visit)?;
                    self.compare(visit, party).await?;
                    return Ok(openings);
                }
                Err(error) if failure::is_unreachable(&error) => silent = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(silent.unwrap_or_else(|| failure::unreachable("no server answers")))
    }

    /// Compares what was read with what the other servers say, one of whom at least must answer.
    /// What one of them has beyond it is read there.
    async fn compare(&self, visit: &mut Visit, party: usize) -> Result<()> {
        let mut pauses = Pauses::new(Duration::from_millis(100), Duration::from_secs(1));
        for _ in 0..COMPARISONS {
            let mut agreed = false;
            for other in (0..self.deployment.connections.len()).filter(|other| *other != party) {
                agreed |= self.agrees(visit, party, other).await?;
            }
            if agreed {
                return Ok(());
            }
            // What has just begun may not have reached the others.
            pauses.pause().await;
        }
        Err(failure::unreachable(
            "no second server has this decision and answers, so nothing can be compared; try again",
        ))
    }

    /// Whether another server answers, and shows the same history.
    async fn agrees(&self, visit: &mut Visit, party: usize, other: usize) -> Result<bool> {
        let connections = &self.deployment.connections;
        let Ok(info) = connections[other].get::<DecisionInfo>(&self.path(""), &()).await else {
            return Ok(false);
        };
        if info.records > visit.chain().map_or(0, Chain::length) {
            self.read(other, visit, Duration::ZERO, 0, |_| {}).await?;
            verify(visit)?;
        }
        let last = info
            .records
            .checked_sub(1)
            .and_then(|last| visit.digest(last))
            .map(|digest| digest.to_hex());
        if last.as_ref() == Some(&info.head) {
            return Ok(true);
        }
        let (one, another) = (connections[other].origin(), connections[party].origin());
        Err(failure::unproven(format!(
            "{one} shows another history than {another}: do not answer, and tell the others"
        )))
    }

    /// Whether another server has the record of this number, too, in the history that was read.
    ///
    /// # Errors
    /// If it does not answer.
    pub async fn holds(&self, party: usize, visit: &Visit, number: u32) -> Result<bool> {
        let info =
            self.deployment.connections[party].get::<DecisionInfo>(&self.path(""), &()).await;
        let info = info.map_err(failure::call)?;
        let last = info
            .records
            .checked_sub(1)
            .and_then(|last| visit.digest(last))
            .map(|digest| digest.to_hex());
        Ok(info.records > number && last == Some(info.head))
    }

    /// Adds to a receipt the signatures of the servers that answer and have its record.
    ///
    /// # Errors
    /// If a server gives a signature that does not hold.
    pub async fn sign_receipt(&self, receipt: &mut Receipt) -> Result<()> {
        let path = self.path(&format!("/receipts/{}", receipt.number));
        for connection in &self.deployment.connections {
            if let Ok(word) = connection.get::<Acknowledged>(&path, &()).await {
                let word =
                    Acknowledgement { party: PartyId(word.party), signature: word.signature };
                receipt.add(&self.deployment.operators, word).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Hands a record in: at the sequencer, and if that does not answer, at the others, which hold
    /// it and ask the sequencer to take it.
    ///
    /// # Errors
    /// If the sequencer does not answer, or refuses it.
    pub async fn hand_in(&self, record: &SignedRecord) -> Result<Handed> {
        match self
            .deployment
            .post::<RecordTaken>(&self.path("/records"), None, record.encode())
            .await
        {
            Ok(_) => Ok(Handed::Taken),
            Err(error) if error.status() == Some(409) => Ok(Handed::Overtaken),
            Err(error) if record.record.speaks_for().is_some() && error.passes() => {
                if self.hold(record).await { Ok(Handed::Taken) } else { Err(failure::call(error)) }
            }
            Err(error) => Err(failure::call(error)),
        }
    }

    /// Hands a record in at the servers that do not put records into order: whether one of them
    /// holds it.
    async fn hold(&self, record: &SignedRecord) -> bool {
        let mut held = false;
        for connection in self.deployment.connections.iter().skip(1) {
            let path = self.path("/records");
            let answer = connection.post_bytes::<RecordTaken>(&path, None, record.encode()).await;
            held |= answer.is_ok();
        }
        held
    }

    /// The result, from the openings of all three servers; `None` if there is none yet, or will be
    /// none.
    ///
    /// # Errors
    /// If an opening does not hold.
    pub fn outcome(
        &self,
        visit: &Visit,
        openings: &[(PartyId, Opening)],
    ) -> Result<Option<Outcome>> {
        if openings.is_empty() {
            return Ok(None);
        }
        Examined::of(visit).and_then(|examined| examined.outcome(openings)).map_err(refused)
    }

    /// The archive of the whole decision.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn archive(&self, openings: &[(PartyId, Opening)]) -> Result<Archive> {
        let mut records = Vec::new();
        loop {
            let page: RecordsPage = self.deployment.connections[SEQUENCER]
                .get(&self.path("/records"), &[("from", records.len())])
                .await
                .map_err(failure::call)?;
            if page.records.is_empty() {
                return Ok(Archive::new(self.deployment.servers.clone(), &records, openings));
            }
            for record in page.records {
                records.push(
                    BASE64URL_NOPAD
                        .decode(record.as_bytes())
                        .map_err(|_| refused(Refused::Form))?,
                );
            }
        }
    }
}

/// Verifies all steps that were read.
///
/// # Errors
/// With exit code 3 if one does not hold.
pub fn verify(visit: &mut Visit) -> Result<()> {
    tokio::task::block_in_place(|| visit.verify(&mut edge::entropy())).map_err(refused)
}

fn opening(text: &str) -> Result<Opening> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| refused(Refused::Form))?;
    Opening::decode(&bytes).map_err(refused)
}

/// What is refused is not authentic, unless it is this device that may not.
pub fn refused(refused: Refused) -> anyhow::Error {
    match refused {
        Refused::Device(_) => anyhow::Error::new(refused),
        other => failure::unproven(other.to_string()),
    }
}

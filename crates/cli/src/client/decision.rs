//! A decision, read at its servers and checked: nothing is believed that is not signed, verified,
//! or said by two servers.

use std::time::Duration;

use anyhow::{Context, Result};
use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::Digest;
use ostrakon_decide::operators::trust;
use ostrakon_decide::{
    Acknowledgement, Archive, Chain, Examined, Link, Opening, Operators, Outcome, Receipt, Refused,
    SignedRecord, Visit,
};
use ostrakon_party::{PartyId, Servers};
use ostrakon_protocol::ServersInfo;
use ostrakon_protocol::decisions::{Acknowledged, DecisionInfo, RecordTaken, RecordsPage};
use serde::de::DeserializeOwned;

use super::agreeing::Tails;
use super::connection::{CallError, Connection, Pauses};
use super::room::{patiently, servers_of};
use crate::failure;
use crate::system;

/// The server that puts all records into one order.
pub const SEQUENCER: usize = 0;
/// How often the servers are asked how a decision stands before what one of them shows alone is
/// left
/// aside.
const COMPARISONS: u32 = 6;
/// Records that a chain may have: what a server says beyond is not believed.
const MOST: usize = 1_000;
/// How often it is looked whether two servers show what the sequencer says to have.
const LOOKS: u32 = 8;

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
    /// Two servers show it in the chain.
    Taken,
    /// Another server holds it: nobody counts as absent whose record one of them holds.
    Held,
    /// Another record came first; it was read.
    Overtaken,
}

/// What the servers have opened, as one of them shows it.
pub type Openings = Vec<(PartyId, Opening)>;

/// What came of reading on.
pub struct Read {
    /// What the servers have opened.
    pub openings: Openings,
    /// Servers that answered.
    answered: usize,
    /// Whether a server shows more than two do.
    more: bool,
    /// Two servers that show different histories, with nothing to tell whom to believe.
    conflict: Option<(usize, usize)>,
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

    /// Waits until a server has more than was read or more openings than `opened`, at most `wait`.
    pub async fn news(&self, party: usize, visit: &Visit, opened: usize, wait: Duration) {
        let query = [("from", u64::from(length(visit))), ("opened", opened as u64)];
        let connection = &self.deployment.connections[party];
        drop(connection.get_waiting::<RecordsPage>(&self.path("/records"), &query, wait).await);
        // One that answers at once and has nothing new is not asked without a pause.
        Pauses::new(Duration::from_millis(200), Duration::from_millis(200)).pause().await;
    }

    /// Reads on what two servers show alike, and verifies it; `report` is told the number of
    /// records after each. Who contradicts two others is named to whoever runs this program.
    ///
    /// # Errors
    /// If no server answers, or something that two of them show does not hold.
    pub async fn read_on(&self, visit: &mut Visit, report: impl Fn(u32)) -> Result<Read> {
        let servers = self.deployment.connections.len();
        let (mut tails, mut answered, mut silent) = (Tails::new(&trust()), 0, None);
        let mut openings = Openings::new();
        for party in 0..servers {
            let (records, opened) = match self.beyond(party, length(visit)).await {
                Ok(shown) => shown,
                Err(error) => {
                    silent = silent.or(Some(error));
                    continue;
                }
            };
            answered += 1;
            if opened.len() > openings.len() {
                openings = opened;
            }
            tails.show(party, records);
            while let Some(believed) = tails.next() {
                visit.read(&believed.record, &mut system::entropy()).map_err(refused)?;
                report(length(visit));
                believed.contradicting.iter().for_each(|party| self.warn(*party));
            }
        }
        if let (0, Some(error)) = (answered, silent) {
            return Err(failure::call(error));
        }
        verify(visit)?;
        Ok(Read { openings, answered, more: tails.is_more(), conflict: tails.conflict() })
    }

    /// What a server shows from this record on. An opening that is malformed is left out.
    async fn beyond(&self, party: usize, from: u32) -> Result<(Vec<Vec<u8>>, Openings), CallError> {
        let mut records: Vec<Vec<u8>> = Vec::new();
        loop {
            let query = [("from", from as usize + records.len())];
            let page: RecordsPage =
                self.deployment.connections[party].get(&self.path("/records"), &query).await?;
            let decode = |text: &String| BASE64URL_NOPAD.decode(text.as_bytes()).ok();
            if page.records.is_empty() || records.len() >= MOST {
                let openings = page
                    .openings
                    .iter()
                    .filter_map(|info| Some((PartyId(info.party), opening(&info.opening).ok()?)));
                return Ok((records, openings.collect()));
            }
            // What is no text of bytes is no record, and nobody else shows it.
            records.extend(page.records.iter().map(|text| decode(text).unwrap_or_default()));
        }
    }

    fn warn(&self, party: usize) {
        tracing::warn!(
            "{} shows another history of this decision than two other servers, which are believed: \
             tell the others, and whoever runs the servers",
            self.deployment.connections[party].origin()
        );
    }

    /// Reads and verifies everything that two servers show, and gives those some time that are
    /// behind.
    ///
    /// # Errors
    /// If fewer than two servers answer, two show different histories and no third one tells whom
    /// to believe, or something does not hold.
    pub async fn read_all(&self, visit: &mut Visit, report: impl Fn(u32)) -> Result<Openings> {
        let mut pauses = Pauses::new(Duration::from_millis(100), Duration::from_secs(1));
        let mut read = self.read_on(visit, &report).await?;
        for _ in 1..COMPARISONS {
            if read.answered > 1 && !read.more {
                break;
            }
            // What has just begun may not have reached the others.
            pauses.pause().await;
            read = self.read_on(visit, &report).await?;
        }
        if let Some((one, another)) = read.conflict {
            let origin = |party: usize| self.deployment.connections[party].origin();
            return Err(failure::unproven(format!(
                "{} shows another history than {}: do not answer, and tell the others",
                origin(one),
                origin(another)
            )));
        }
        if read.answered < 2 || visit.chain().is_none() {
            return Err(failure::unreachable(
                "no second server has this decision and answers, so nothing can be compared; try again",
            ));
        }
        self.compare(visit).await;
        Ok(read.openings)
    }

    /// Names the servers whose history is another one than what two show, and not longer.
    async fn compare(&self, visit: &Visit) {
        for (party, connection) in self.deployment.connections.iter().enumerate() {
            let info = connection.get::<DecisionInfo>(&self.path(""), &()).await;
            let Some((last, head)) =
                info.ok().and_then(|info| Some((info.records.checked_sub(1)?, info.head)))
            else {
                continue;
            };
            if visit.digest(last).is_some_and(|digest| digest.to_hex() != head) {
                self.warn(party);
            }
        }
    }

    /// Adds to a receipt the signatures of the servers that answer and have its record.
    /// A signature that does not hold is none.
    pub async fn sign_receipt(&self, receipt: &mut Receipt) {
        let path = self.path(&format!("/receipts/{}", receipt.number));
        for connection in &self.deployment.connections {
            if let Ok(word) = connection.get::<Acknowledged>(&path, &()).await {
                let word =
                    Acknowledgement { party: PartyId(word.party), signature: word.signature };
                drop(receipt.add(&self.deployment.operators, word));
            }
        }
    }

    /// Hands a record in, after what was read, and reads on. Whatever the sequencer answers, an
    /// acceptance or answers are given to the others as well, unless two servers show that the
    /// chain has gone on: they hold it.
    ///
    /// # Errors
    /// If the sequencer does not take it and nobody holds it: its refusal is believed if a second
    /// server refuses, too, or none of the others answers.
    pub async fn hand_in(&self, record: &SignedRecord, visit: &mut Visit) -> Result<Handed> {
        let path = self.path("/records");
        let answer = self.deployment.post::<RecordTaken>(&path, None, record.encode()).await;
        let answer = answer.map(drop);
        if (answer.is_ok() || answer.as_ref().is_err_and(overtaken)) && self.moves(visit).await? {
            let digest = record.digest(&self.deployment.operators);
            let taken = visit.digest(record.record.number) == Some(digest);
            return Ok(if taken { Handed::Taken } else { Handed::Overtaken });
        }
        if record.record.speaks_for().is_some() {
            return self.hold(record, answer).await;
        }
        match answer {
            Err(error) if overtaken(&error) => Ok(Handed::Overtaken),
            Err(error) => Err(failure::call(error)),
            Ok(()) => Err(failure::unreachable(
                "the first server says that it has the record, and no second one shows it; look again",
            )),
        }
    }

    /// Whether two servers soon show more than was read.
    async fn moves(&self, visit: &mut Visit) -> Result<bool> {
        let before = length(visit);
        let mut pauses = Pauses::new(Duration::from_millis(50), Duration::from_millis(500));
        for _ in 0..LOOKS {
            self.read_on(visit, |_| {}).await?;
            if length(visit) > before {
                return Ok(true);
            }
            pauses.pause().await;
        }
        Ok(false)
    }

    /// Hands a record in at the servers that do not put records into order, after the sequencer's
    /// answer.
    async fn hold(&self, record: &SignedRecord, answer: Result<(), CallError>) -> Result<Handed> {
        let (mut held, mut refused, mut silent) = (false, false, true);
        for connection in self.deployment.connections.iter().skip(1) {
            let path = self.path("/records");
            let answer = connection.post_bytes::<RecordTaken>(&path, None, record.encode()).await;
            held |= answer.is_ok();
            silent &= answer.as_ref().is_err_and(CallError::passes);
            refused |= answer.is_err_and(|error| !error.passes() && !overtaken(&error));
        }
        match answer {
            _ if held => Ok(Handed::Held),
            Err(error) if error.passes() || (!overtaken(&error) && (refused || silent)) => {
                Err(failure::call(error))
            }
            _ => Ok(Handed::Overtaken),
        }
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

    /// The archive of the whole decision, as it was read.
    ///
    /// # Errors
    /// If no server that shows it answers.
    pub async fn archive(&self, visit: &Visit, openings: &[(PartyId, Opening)]) -> Result<Archive> {
        let servers = &self.deployment.servers;
        let last = length(visit).saturating_sub(1);
        for party in 0..self.deployment.connections.len() {
            let Ok((mut records, _)) = self.beyond(party, 0).await else { continue };
            records.truncate(last as usize + 1);
            let head =
                records.get(last as usize).and_then(|bytes| SignedRecord::decode(bytes).ok());
            let digest = head.map(|head| head.digest(&self.deployment.operators));
            if digest.is_some() && digest == visit.digest(last) {
                return Ok(Archive::new(servers.clone(), &records, openings));
            }
        }
        Err(failure::unreachable("no server that shows what was read answers; try again"))
    }
}

/// Records that were read.
fn length(visit: &Visit) -> u32 {
    visit.chain().map_or(0, Chain::length)
}

/// Another record came first.
fn overtaken(error: &CallError) -> bool {
    error.status() == Some(409)
}

/// Verifies all steps that were read.
///
/// # Errors
/// With exit code 3 if one does not hold.
pub fn verify(visit: &mut Visit) -> Result<()> {
    tokio::task::block_in_place(|| visit.verify(&mut system::entropy())).map_err(refused)
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

#[cfg(test)]
mod tests;

//! A room, watched at all of its servers.
//!
//! What one server says alone is believed of nothing that matters: the servers' keys are those of
//! the link, the descriptor is the one that the room's id names, entries of the board are signed
//! and chained, and the epoch to take part in is what so many servers say that one of them is
//! honest. Words without a signature
//! say only what to ask for, and when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::future::BoxFuture;
use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::hosting::HostLog;
use ostrakon_client::host::{self, Host};
use ostrakon_client::{Arrived, ArrivedRoom, Destination, Follower, Http, Millis, Scene, Sight};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_messaging::params::CYCLE;
use ostrakon_mixing::link::Link;
use ostrakon_mixing::{RoomDescriptor, Servers};
use ostrakon_party::PartyId;
use ostrakon_protocol::Status;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::arriving::{arrive, connect};
use super::connection::Connection;
use super::connection::driver::{Driver, Transport};
use crate::{failure, system};

/// How long a server may take to say how many participants or entries it has.
const STATUS_TIME: Duration = Duration::from_secs(2);
/// Entries before the end with which the board of a room for messages is read: two turns of every
/// conversation, which tell whether another copy of the same contacts is used.
const BACK: u64 = 2 * CYCLE;

/// A room that this program follows. Dropping it ends the watching.
pub struct Room {
    /// The link that led here.
    pub link: Link,
    /// Its servers, as the link pins them.
    pub servers: Servers,
    /// What it is, as its id pins it.
    pub descriptor: RoomDescriptor,
    /// Its servers' public interfaces, by party number.
    pub connections: Vec<Connection>,
    /// The same, as participants share it.
    pub scene: Arc<Scene>,
    known: Known,
    /// How many entries are kept at least, if not all.
    keep: Option<usize>,
    claims: Mutex<HashMap<(u64, Digest), usize>>,
}

/// What is known of the room, each part to be waited for.
struct Known {
    statuses: watch::Sender<Vec<Option<Word>>>,
    /// Counts statuses that are news to a participant.
    news: watch::Sender<u64>,
    entries: watch::Sender<Vec<Arc<SignedEntry>>>,
    ended: watch::Sender<Option<u64>>,
    closed: watch::Sender<bool>,
}

/// A server's status, and when it came, in milliseconds since 1970.
type Word = Arc<(Status, Millis)>;

impl Room {
    /// Follows a link: finds the servers, and checks their keys and the room's descriptor.
    ///
    /// # Errors
    /// If the server of the link does not answer, one of the servers names others than the link, or
    /// none shows the link's room.
    pub async fn open(http: &reqwest::Client, link: Link) -> Result<Arc<Self>> {
        let (origin, servers) = (link.origin.clone(), Some(link.servers));
        let destination = Destination { origin, servers, room: Some(link.room) };
        let Arrived { servers, addresses, room, .. } = arrive(http, destination).await?;
        let ArrivedRoom { descriptor, closed } = room.context("no room was looked for")?;
        let connections = connect(http, &addresses);
        Ok(Arc::new(Self::new(link, servers, descriptor, connections, closed)))
    }

    pub(super) fn new(
        link: Link,
        servers: Servers,
        descriptor: RoomDescriptor,
        connections: Vec<Connection>,
        closed: bool,
    ) -> Self {
        let parties = servers.keys.len();
        let scene = Arc::new(Scene::new(servers.clone(), descriptor.clone()));
        let known = Known {
            statuses: watch::Sender::new(vec![None; parties]),
            news: watch::Sender::new(0),
            entries: watch::Sender::new(Vec::new()),
            ended: watch::Sender::new(None),
            closed: watch::Sender::new(closed),
        };
        let (keep, claims) = (None, Mutex::default());
        Self { link, servers, descriptor, connections, scene, known, keep, claims }
    }

    /// Like [`Room::open`], for who needs the last `keep` entries at most: [`Room::entries`] loses
    /// others.
    ///
    /// # Errors
    /// Like [`Room::open`].
    pub async fn open_to_keep(
        http: &reqwest::Client,
        link: Link,
        keep: usize,
    ) -> Result<Arc<Self>> {
        let mut room = Self::open(http, link).await?;
        Arc::get_mut(&mut room).expect("nobody else has it yet").keep = Some(keep);
        Ok(room)
    }

    /// How its servers are called: by the places of their public interfaces, by party number.
    pub fn names(&self) -> Vec<String> {
        self.connections.iter().map(|connection| connection.origin().to_owned()).collect()
    }

    /// Starts to watch the room; it is watched until the returned set is dropped.
    pub fn watch(self: &Arc<Self>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(follow(self.clone()));
        tasks
    }

    /// All servers, in order.
    pub fn parties(&self) -> impl Iterator<Item = PartyId> + use<> {
        (0u8..).take(self.connections.len()).map(PartyId)
    }

    /// A server's public interface.
    pub fn connection(&self, party: PartyId) -> &Connection {
        &self.connections[party.index()]
    }

    /// The servers' last words on how the room stands; `None` of those that do not answer.
    pub fn statuses(&self) -> watch::Receiver<Vec<Option<Word>>> {
        self.known.statuses.subscribe()
    }

    /// What each server has said last of how the room stands, by its number.
    pub fn latest_statuses(&self) -> Vec<Option<Status>> {
        let statuses = self.known.statuses.borrow();
        statuses.iter().map(|word| word.as_ref().map(|word| word.0.clone())).collect()
    }

    /// Changes with a status that is news to a participant, more than how many there are.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.known.news.subscribe()
    }

    /// The board, verified.
    pub fn entries(&self) -> watch::Receiver<Vec<Arc<SignedEntry>>> {
        self.known.entries.subscribe()
    }

    /// The last epoch that two servers say is over. If its entry, or an earlier epoch's, is not
    /// among [`Room::entries`] by then, there is none.
    pub fn ended(&self) -> watch::Receiver<Option<u64>> {
        self.known.ended.subscribe()
    }

    /// Whether two servers say that the room takes no more messages.
    pub fn closed(&self) -> watch::Receiver<bool> {
        self.known.closed.subscribe()
    }

    /// Entries on the board of each server that answers soon, by its own word, as of now.
    pub async fn board_lengths(&self) -> Vec<Option<u64>> {
        let path = format!("rooms/{}/status", self.link.room.to_hex());
        let ask = async |party: PartyId| {
            let status = self.connection(party).get::<Status>(&path, &());
            let status = tokio::time::timeout(STATUS_TIME, status).await.ok()?;
            Some(status.ok()?.board_length)
        };
        futures::future::join_all(self.parties().map(ask)).await
    }

    /// The host log, verified, as a host reads it before acting: from so many servers that one of
    /// them is honest, and from others that are not late.
    ///
    /// # Errors
    /// If no server shows one that holds.
    pub async fn host_log(self: &Arc<Self>) -> Result<HostLog> {
        let log = HostLog::new(&self.servers, &self.descriptor);
        // Nothing is signed, so that any key does.
        let key = SigningKey::from_seed(&system::random());
        let seed = Secret::new(system::random());
        let reader = Host::new(Arc::clone(&self.scene), key, log, false, seed);
        let mut driver = Driver::new(reader, Arc::clone(self));
        driver.happen(|reader, now| reader.act(now));
        let mut forged = None;
        loop {
            while let Some(action) = driver.next_other() {
                match action {
                    host::Action::Decide { .. } => return Ok(driver.machine().book().clone()),
                    host::Action::Tell(host::News::Forged { party, why }) => {
                        forged = Some(format!("P{} shows a forged host log: {why}", party.0));
                    }
                    host::Action::Tell(_) => return Err(unshown(forged)),
                    host::Action::Keep(_) | host::Action::Ask(_) => {
                        unreachable!("nothing is signed, and the driver asks")
                    }
                }
            }
            driver.turn().await;
        }
    }

    /// Takes one copy of a message in an entry for a participant of this program. Two participants
    /// who said the same need two copies.
    pub fn claim(&self, signed: &SignedEntry, message: &[u8]) -> bool {
        let copies = signed.entry.bodies().filter(|text| *text == message).count();
        let digest = ostrakon_crypto::hash::digest("ostrakon/v1/client/claimed message", message);
        let mut claims = self.claims.lock().expect("no panic while counting");
        let claimed = claims.entry((signed.entry.epoch.number, digest)).or_default();
        if *claimed >= copies {
            return false;
        }
        *claimed += 1;
        true
    }
}

/// No server shows what the hosts did, or one shows what does not hold.
pub(crate) fn unshown(forged: Option<String>) -> anyhow::Error {
    match forged {
        Some(forged) => failure::unproven(forged),
        None => failure::unreachable("no server shows what the hosts did"),
    }
}

/// Watches a room, for ever: does what the state machine asks for, and lets others know.
async fn follow(room: Arc<Room>) {
    let machine = Follower::new(room.scene.clone(), Secret::new(system::random()), BACK);
    let mut driver = Driver::new(machine, room.clone());
    loop {
        while let Some(sight) = driver.next_other() {
            room.see(sight, driver.machine());
        }
        let known = &room.known;
        let (closed, over) = (driver.machine().is_closed(), driver.machine().over());
        known.closed.send_if_modified(|current| std::mem::replace(current, closed) != closed);
        known.ended.send_if_modified(|current| advance(current, over));
        driver.turn().await;
    }
}

impl Room {
    fn see(&self, sight: Sight, follower: &Follower) {
        let known = &self.known;
        match sight {
            Sight::Heard { party, news } => {
                let word = follower.status(party);
                let word = word.map(|(status, came)| Arc::new((status.clone(), came)));
                known.statuses.send_modify(|statuses| statuses[party.index()] = word);
                if news {
                    known.news.send_modify(|news| *news += 1);
                }
            }
            Sight::Entries { entries: new, .. } => known.entries.send_modify(|entries| {
                entries.extend(new.into_iter().map(Arc::new));
                if let Some(keep) = self.keep.filter(|keep| entries.len() >= 2 * keep) {
                    entries.drain(..entries.len() - keep);
                }
            }),
            Sight::Forged { party, why } => tracing::warn!("P{}: {why}", party.0),
            Sight::Ask(_) | Sight::Actions { .. } | Sight::Informed | Sight::CaughtUp => {}
        }
    }
}

impl Transport for Room {
    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)> {
        Box::pin(async move { self.connection(party).exchange(request, patience).await })
    }
}

/// Takes a number over if it is newer; whether it was.
fn advance(current: &mut Option<u64>, number: Option<u64>) -> bool {
    let newer = *current < number;
    *current = number.max(*current);
    newer
}

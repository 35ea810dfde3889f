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

use anyhow::{Context, Result, bail};
use ostrakon_broadcast::client::{BoardReader, Link};
use ostrakon_broadcast::hosting::{HostLog, SignedAction};
use ostrakon_broadcast::{RoomDescriptor, Servers, SignedEntry, engines};
use ostrakon_client::{Millis, Reports, Scene};
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_party::{PartyId, SessionId};
use ostrakon_protocol::{
    ActionsPage, BoardPage, Outcome, RoomInfo, RoomState, ServersInfo, Status,
};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connection::{Connection, Pauses};
use crate::{edge, failure};

/// How long a server may hold back an answer while nothing happens.
const WAIT: Duration = Duration::from_secs(20);
/// How long a server may take to say how many participants or entries it has.
const STATUS_TIME: Duration = Duration::from_secs(2);
/// How often the end of a board is asked for, while servers get to know new entries.
const END_TRIES: u32 = 10;
/// The least time between two questions for the status: a busy room changes all the time.
const STATUS_PAUSE: Duration = Duration::from_millis(100);

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
    statuses: watch::Sender<Vec<Option<Status>>>,
    /// Counts statuses that are news to a participant.
    news: watch::Sender<u64>,
    heard: Mutex<Heard>,
    entries: watch::Sender<Vec<Arc<SignedEntry>>>,
    ended: watch::Sender<Option<u64>>,
    closed: watch::Sender<bool>,
    board: Mutex<BoardReader>,
    /// By party number: the last epoch that the server says is over, once its whole board has been
    /// read.
    over: Mutex<Vec<Option<u64>>>,
}

/// What each server said last, as it came.
struct Heard {
    reports: Reports,
    words: Vec<Option<Word>>,
}

/// A server's status, and when it came, in milliseconds since 1970.
type Word = Arc<(Status, Millis)>;

impl Room {
    /// Follows a link: finds the servers, and checks their keys and the room's descriptor.
    ///
    /// # Errors
    /// If the server of the link does not answer, or shows other keys or another room than the link
    /// names.
    pub async fn open(http: &reqwest::Client, link: Link) -> Result<Arc<Self>> {
        let first = Connection::new(http.clone(), &link.origin);
        let info: ServersInfo = patiently(&first, "servers").await?;
        let servers = servers_of(&info).context("the server's list of servers is malformed")?;
        if servers.digest() != link.servers {
            return Err(failure::unproven(format!(
                "{} is not kept by the servers that the link names: its keys are others; do not trust it",
                link.origin
            )));
        }
        let room: RoomInfo = patiently(&first, &format!("rooms/{}", link.room.to_hex())).await?;
        if room.descriptor.id() != link.room {
            return Err(failure::unproven(format!(
                "{} describes another room than the link names",
                link.origin
            )));
        }
        room.descriptor.validate().map_err(|error| failure::unproven(error.to_string()))?;
        let connections =
            info.servers.iter().map(|server| Connection::new(http.clone(), &server.url)).collect();
        let closed = room.state == RoomState::Closed;
        Ok(Arc::new(Self::new(link, servers, room.descriptor, connections, closed)))
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
            heard: Mutex::new(Heard { reports: scene.reports(), words: vec![None; parties] }),
            entries: watch::Sender::new(Vec::new()),
            ended: watch::Sender::new(None),
            closed: watch::Sender::new(closed),
            board: Mutex::new(BoardReader::new(servers.clone(), descriptor.clone())),
            over: Mutex::new(vec![None; parties]),
        };
        let (keep, claims) = (None, Mutex::default());
        Self { link, servers, descriptor, connections, scene, known, keep, claims }
    }

    /// Like [`Room::open`], for who follows the board from `back` entries before its end on, and
    /// needs the last `keep` entries at most: [`Room::entries`] loses others.
    ///
    /// # Errors
    /// Like [`Room::open`], or if too few servers show the same end for a while.
    pub async fn open_at_end(
        http: &reqwest::Client,
        link: Link,
        back: u64,
        keep: usize,
    ) -> Result<Arc<Self>> {
        let mut room = Self::open(http, link).await?;
        let mut pauses = Pauses::new(Duration::from_millis(200), Duration::from_secs(2));
        for _ in 0..END_TRIES {
            if let Some((index, previous)) = room.near_end(back).await {
                let fresh = Arc::get_mut(&mut room).expect("nobody else has it yet");
                fresh.keep = Some(keep);
                let board = BoardReader::new(fresh.servers.clone(), fresh.descriptor.clone());
                fresh.known.board = Mutex::new(board.starting_at(index, previous));
                return Ok(room);
            }
            pauses.pause().await;
        }
        let text = "too few servers show the same end of the room's board; try again";
        Err(failure::unreachable(text))
    }

    /// The index of the entry that is `back` before the board's end, and what it names as the one
    /// before, as enough servers show it for one of them to be honest.
    async fn near_end(&self, back: u64) -> Option<(usize, Digest)> {
        let mut said: Vec<_> = self.board_lengths().await.into_iter().flatten().collect();
        said.sort_unstable();
        // One of those that say most is honest, so there are so many.
        let length = *said.get(said.len().checked_sub(self.believed())?)?;
        let index = length.saturating_sub(back);
        if index == 0 {
            return Some((0, Digest([0; 32])));
        }
        let path = format!("rooms/{}/board", self.link.room.to_hex());
        let ask = async |party: PartyId| {
            let from = [("from", index)];
            let page = self.connection(party).get_page::<BoardPage>(&path, &from);
            let page = tokio::time::timeout(STATUS_TIME, page).await.ok()?.ok()?;
            Some(page.entries.first()?.entry.clone())
        };
        let shown = futures::future::join_all(self.parties().map(ask)).await;
        let digests: Vec<_> = shown.iter().flatten().map(|e| e.digest(&self.servers)).collect();
        let same = |digest: &Digest| digests.iter().filter(|other| *other == digest).count();
        let agreed = digests.iter().find(|digest| same(digest) >= self.believed())?;
        let entry = shown.iter().flatten().find(|entry| entry.digest(&self.servers) == *agreed)?;
        Some((usize::try_from(index).ok()?, entry.previous))
    }

    /// Starts to watch the room; it is watched until the returned set is dropped.
    pub fn watch(self: &Arc<Self>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for party in self.parties() {
            tasks.spawn(follow(self.clone(), party));
        }
        tasks
    }

    /// Servers that must say the same for it to be believed without a signature.
    fn believed(&self) -> usize {
        engines::believed(self.descriptor.engine, self.connections.len())
    }

    /// All servers, in order.
    pub fn parties(&self) -> impl Iterator<Item = PartyId> + use<> {
        (0u8..).take(self.connections.len()).map(PartyId)
    }

    /// A server's public interface.
    pub fn connection(&self, party: PartyId) -> &Connection {
        &self.connections[party.index()]
    }

    /// The servers' last words on how the room stands.
    pub fn statuses(&self) -> watch::Receiver<Vec<Option<Status>>> {
        self.known.statuses.subscribe()
    }

    /// Changes with a status that is news to a participant, more than how many there are.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.known.news.subscribe()
    }

    /// What each server said last, whether or not its board has been read.
    pub fn words(&self) -> Vec<Option<Word>> {
        self.known.heard.lock().expect("no panic while hearing").words.clone()
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
        self.statuses_now().await.into_iter().map(|status| Some(status?.board_length)).collect()
    }

    /// The status by each server that answers soon.
    async fn statuses_now(&self) -> Vec<Option<Status>> {
        let path = format!("rooms/{}/status", self.link.room.to_hex());
        let ask = async |party: PartyId| {
            let status = self.connection(party).get::<Status>(&path, &());
            tokio::time::timeout(STATUS_TIME, status).await.ok()?.ok()
        };
        futures::future::join_all(self.parties().map(ask)).await
    }

    /// The host log, verified, as the server has it that shows most of it.
    ///
    /// # Errors
    /// If no server shows one that holds.
    pub async fn host_log(&self) -> Result<HostLog> {
        Ok(self.host_log_and(u64::MAX).await?.0)
    }

    /// The same, and the action of this number in it.
    ///
    /// # Errors
    /// As of [`Room::host_log`].
    pub async fn host_log_and(&self, number: u64) -> Result<(HostLog, Option<SignedAction>)> {
        let logs =
            futures::future::join_all(self.parties().map(|party| self.host_log_of(party, number)))
                .await;
        let mut failed = None;
        let mut longest: Option<(HostLog, Option<SignedAction>)> = None;
        for log in logs {
            match log {
                Ok(read)
                    if longest
                        .as_ref()
                        .is_none_or(|longest| longest.0.length() < read.0.length()) =>
                {
                    longest = Some(read)
                }
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        longest.ok_or_else(|| {
            failed.unwrap_or_else(|| failure::unreachable("no server shows what the hosts did"))
        })
    }

    async fn host_log_of(
        &self,
        party: PartyId,
        number: u64,
    ) -> Result<(HostLog, Option<SignedAction>)> {
        let path = format!("rooms/{}/actions", self.link.room.to_hex());
        let mut log = HostLog::new(&self.servers, &self.descriptor);
        let mut found = None;
        loop {
            let page =
                self.connection(party).get::<ActionsPage>(&path, &[("from", log.length())]).await;
            let page = page.map_err(failure::call)?;
            if page.actions.is_empty() {
                return Ok((log, found));
            }
            let taken = page.actions.iter().try_for_each(|action| log.apply(action));
            taken.map_err(|error| {
                failure::unproven(format!("P{} shows a forged host log: {error}", party.0))
            })?;
            found = found
                .or_else(|| page.actions.into_iter().find(|signed| signed.action.number == number));
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

/// Asks a few times before giving up.
pub(super) async fn patiently<T: serde::de::DeserializeOwned>(
    connection: &Connection,
    path: &str,
) -> Result<T> {
    let mut pauses = Pauses::new(Duration::from_millis(200), Duration::from_secs(2));
    for _ in 0..4 {
        match connection.get(path, &()).await {
            Err(error) if error.passes() => pauses.pause().await,
            other => return other.map_err(failure::call),
        }
    }
    connection.get(path, &()).await.map_err(failure::call)
}

pub(super) fn servers_of(info: &ServersInfo) -> Result<Servers> {
    let session = Digest::from_hex(&info.session).context("the session is no digest")?;
    let keys: Option<Vec<_>> =
        info.servers.iter().map(|server| VerifyingKey::from_hex(&server.key)).collect();
    let keys = keys.context("a server's key is no key")?;
    if keys.is_empty() || keys.len() > 128 {
        bail!("{} servers", keys.len());
    }
    Ok(Servers { session: SessionId(session), keys })
}

/// Follows one server's word on the room, for ever.
async fn follow(room: Arc<Room>, party: PartyId) {
    let path = format!("rooms/{}/status", room.link.room.to_hex());
    let mut after = 0;
    let fresh = || Pauses::new(Duration::from_millis(200), Duration::from_secs(5));
    let mut pauses = fresh();
    loop {
        let status =
            room.connection(party).get_waiting::<Status>(&path, &[("after", after)], WAIT).await;
        let Ok(status) = status else {
            // A server that restarts counts its versions anew.
            after = 0;
            room.known.statuses.send_modify(|statuses| statuses[party.index()] = None);
            note(&room, party, None);
            pauses.pause().await;
            continue;
        };
        after = status.version;
        // When an epoch closes is counted from now on; boards take their time.
        note(&room, party, Some(&status));
        match read_board(&room, party, &status).await {
            Ok(()) => pauses = fresh(),
            Err(error) => {
                tracing::warn!("P{}: {error:#}", party.0);
                pauses.pause().await;
                after = 0;
            }
        }
        learn(&room, party, status);
        tokio::time::sleep(STATUS_PAUSE).await;
    }
}

/// Reads what a server's board has beyond what was read at any server.
async fn read_board(room: &Room, party: PartyId, status: &Status) -> Result<()> {
    let path = format!("rooms/{}/board", room.link.room.to_hex());
    loop {
        let from = room.known.board.lock().expect("no panic while reading").length();
        if from as u64 >= status.board_length {
            break;
        }
        let page: BoardPage = room.connection(party).get_page(&path, &[("from", from)]).await?;
        if page.entries.is_empty() {
            bail!("the server's board is shorter than it says");
        }
        let mut board = room.known.board.lock().expect("no panic while reading");
        // Another server may have shown the same entries meanwhile.
        if board.length() == from {
            board.read(&page.entries)?;
            room.known.entries.send_modify(|entries| {
                entries.extend(page.entries.into_iter().map(Arc::new));
                if let Some(keep) = room.keep.filter(|keep| entries.len() >= 2 * keep) {
                    entries.drain(..entries.len() - keep);
                }
            });
        }
    }
    // Only now does the absence of an entry say something.
    let last = status.last.as_ref();
    let board = room.known.board.lock().expect("no panic while reading");
    let over = last.and_then(|last| match last.outcome {
        Outcome::Published if board.last_epoch() < Some(last.number) => None,
        _ => Some(last.number),
    });
    room.known.over.lock().expect("no panic while noting")[party.index()] = over;
    Ok(())
}

/// Draws conclusions from a server's status and what the others said.
fn learn(room: &Room, party: PartyId, status: Status) {
    let known = &room.known;
    known.statuses.send_modify(|statuses| statuses[party.index()] = Some(status));
    let statuses = known.statuses.borrow();
    let believed = room.believed();
    let closed = statuses.iter().flatten().filter(|status| status.epoch.is_none());
    let closed = closed.count() >= believed;
    known.closed.send_if_modified(|current| std::mem::replace(current, closed) != closed);
    let ended = said_to_be_over(&known.over.lock().expect("no panic while noting"), believed);
    known.ended.send_if_modified(|current| advance(current, ended));
}

/// Notes what a server says, and lets participants know if it is news to them.
fn note(room: &Room, party: PartyId, status: Option<&Status>) {
    let now = edge::unix_millis();
    let mut heard = room.known.heard.lock().expect("no panic while hearing");
    heard.words[party.index()] = status.map(|status| Arc::new((status.clone(), now)));
    let news = heard.reports.hear(&room.descriptor, now, party, status);
    drop(heard);
    if news {
        room.known.news.send_modify(|news| *news += 1);
    }
}

/// Takes a number over if it is newer; whether it was.
fn advance(current: &mut Option<u64>, number: Option<u64>) -> bool {
    let newer = *current < number;
    *current = number.max(*current);
    newer
}

/// The last epoch that is over by the word of so many servers.
fn said_to_be_over(over: &[Option<u64>], believed: usize) -> Option<u64> {
    let mut over = over.to_vec();
    over.sort_unstable();
    over.len().checked_sub(believed).and_then(|place| over[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_alone_ends_no_epoch() {
        let said_by_two = |over: &[Option<u64>]| said_to_be_over(over, 2);
        assert_eq!(said_by_two(&[None, None, Some(u64::MAX)]), None);
        assert_eq!(said_by_two(&[Some(3), None, Some(u64::MAX)]), Some(3));
        assert_eq!(said_by_two(&[Some(3), Some(5), Some(4)]), Some(4));
        assert_eq!(said_by_two(&[Some(3)]), None);
        assert_eq!(said_to_be_over(&[Some(3), Some(5), Some(4), Some(9)], 3), Some(4));
    }
}

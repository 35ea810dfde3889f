//! The public interface of a server, one method for each request of the HTTP interface.
//!
//! Nothing here trusts the caller: signatures, times, lengths and counts are checked before anything is stored.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_broadcast::room::RoomId;

use crate::interface::{
    Accepted, BoardPage, Issue, IssueRequest, NewRoom, Presence, PresenceAnswer, Readiness, RoomInfo, ServersInfo,
    ServiceError, Status, SubmissionRequest,
};
use crate::server::Server;

/// The longest that [`Service::status`] and [`Service::board`] wait.
pub const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// A handle to a running server. Clones share it.
#[derive(Clone)]
pub struct Service(Arc<Server>);

impl Service {
    /// Whether `token` is the administrator's. Takes the same time for every wrong token.
    pub fn is_administrator(&self, token: &str) -> bool {
        self.0.is_administrator(token)
    }

    /// The servers of the deployment.
    ///
    /// # Errors
    /// [`ServiceError::Unavailable`] until the servers have set up their session.
    pub async fn servers(&self) -> Result<ServersInfo, ServiceError> {
        self.0.servers().await
    }

    /// Creates a room at all servers. Returns when all have agreed. For administrators.
    ///
    /// # Errors
    /// `Refused` names the setting that is out of range; `Busy` if there are too many rooms; `Unavailable`.
    pub async fn create_room(&self, room: NewRoom) -> Result<RoomInfo, ServiceError> {
        self.0.create_room(room).await
    }

    /// Closes a room at all servers, for good. The epochs under way are finished. For administrators.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn close_room(&self, room: RoomId) -> Result<RoomInfo, ServiceError> {
        self.0.close_room(room).await
    }

    /// Every room. For administrators.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn rooms(&self) -> Result<Vec<RoomInfo>, ServiceError> {
        self.0.rooms().await
    }

    /// One room.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn room(&self, room: RoomId) -> Result<RoomInfo, ServiceError> {
        self.0.room(room).await
    }

    /// Notes that a participant is there, and that this server is its home.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the room is closed; `Forbidden` for a wrong signature or time; `Busy` if the room is full.
    pub async fn presence(&self, room: RoomId, presence: Presence) -> Result<PresenceAnswer, ServiceError> {
        self.0.presence(room, presence).await
    }

    /// How the room stands, as soon as its version is above `after`, and after `wait` (at most [`LONGEST_WAIT`]) anyway.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn status(&self, room: RoomId, after: u64, wait: Duration) -> Result<Status, ServiceError> {
        self.0.status(room, after, wait.min(LONGEST_WAIT)).await
    }

    /// What this server gives to the owner of a slot, and to nobody else.
    ///
    /// # Errors
    /// `NotFound` if the key has no slot yet; `Conflict` if the epoch is closed; `Forbidden` for a wrong signature.
    pub async fn issue(&self, room: RoomId, epoch: u64, request: IssueRequest) -> Result<Issue, ServiceError> {
        self.0.issue(room, epoch, request).await
    }

    /// Takes a submission; it is on disk when this returns. The same one again is accepted again.
    ///
    /// # Errors
    /// `NotFound` if the key does not own the slot; `Conflict` if the epoch is closed or holds another submission for the
    /// slot; `Refused` if the engine does; `TooLarge`.
    pub async fn submit(&self, room: RoomId, epoch: u64, request: SubmissionRequest) -> Result<Accepted, ServiceError> {
        self.0.submit(room, epoch, request).await
    }

    /// The board's entries from index `from` on, as soon as there is one, and after `wait` (at most [`LONGEST_WAIT`]) anyway.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn board(&self, room: RoomId, from: u64, wait: Duration) -> Result<BoardPage, ServiceError> {
        self.0.board(room, from, wait.min(LONGEST_WAIT)).await
    }

    /// The whole board as the text of an archive ([`ostrakon_broadcast::Archive`]).
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn archive(&self, room: RoomId) -> Result<String, ServiceError> {
        self.0.archive(room).await
    }

    /// Whether the server can do its work, and whom it misses.
    pub fn readiness(&self) -> Readiness {
        self.0.readiness()
    }

    /// Counters and levels as Prometheus text, coarse on purpose: nothing tells one participant from another.
    pub fn metrics(&self) -> String {
        self.0.metrics()
    }
}

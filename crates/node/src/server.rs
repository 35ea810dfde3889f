//! One server: what its public interface works on.

use std::time::Duration;

use ostrakon_broadcast::room::RoomId;

use crate::interface::*;

/// A server that has not set up its session with the others yet.
pub(crate) struct Server;

fn starting<T>() -> Result<T, ServiceError> {
    Err(ServiceError::Unavailable("the servers have not set up their session yet; try again soon".into()))
}

impl Server {
    pub(crate) fn is_administrator(&self, _token: &str) -> bool {
        false
    }
    pub(crate) async fn servers(&self) -> Result<ServersInfo, ServiceError> {
        starting()
    }
    pub(crate) async fn create_room(&self, _room: NewRoom) -> Result<RoomInfo, ServiceError> {
        starting()
    }
    pub(crate) async fn close_room(&self, _room: RoomId) -> Result<RoomInfo, ServiceError> {
        starting()
    }
    pub(crate) async fn rooms(&self) -> Result<Vec<RoomInfo>, ServiceError> {
        starting()
    }
    pub(crate) async fn room(&self, _room: RoomId) -> Result<RoomInfo, ServiceError> {
        starting()
    }
    pub(crate) async fn presence(&self, _room: RoomId, _p: Presence) -> Result<PresenceAnswer, ServiceError> {
        starting()
    }
    pub(crate) async fn status(&self, _room: RoomId, _after: u64, _wait: Duration) -> Result<Status, ServiceError> {
        starting()
    }
    pub(crate) async fn issue(&self, _room: RoomId, _epoch: u64, _r: IssueRequest) -> Result<Issue, ServiceError> {
        starting()
    }
    pub(crate) async fn submit(
        &self,
        _room: RoomId,
        _epoch: u64,
        _r: SubmissionRequest,
    ) -> Result<Accepted, ServiceError> {
        starting()
    }
    pub(crate) async fn board(&self, _room: RoomId, _from: u64, _wait: Duration) -> Result<BoardPage, ServiceError> {
        starting()
    }
    pub(crate) async fn archive(&self, _room: RoomId) -> Result<String, ServiceError> {
        starting()
    }
    pub(crate) fn readiness(&self) -> Readiness {
        Readiness { ready: false, missing: Vec::new(), detail: "the server is starting".into() }
    }
    pub(crate) fn metrics(&self) -> String {
        String::new()
    }
}

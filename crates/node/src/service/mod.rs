//! The public interface of a server, one method for each request of the HTTP interface.
//!
//! Nothing here trusts the caller: signatures, times, lengths and counts are checked before
//! anything is stored.

mod effects;
mod jobs;
mod process;
mod server;

use std::sync::Arc;
use std::time::Duration;

use ostrakon_broadcast::hosting::{Claim, SignedAction};
use ostrakon_mixing::room::RoomId;
use ostrakon_net::Timing;
use ostrakon_party::PartyId;

use crate::boards::archive::BoardArchive;
use crate::config::Config;
use crate::disk::audit::AuditInfo;
use crate::ledger::evidence::FaultFile;
use crate::memory::quotas::Creator;
use crate::operator::{self, Overview};
use crate::platform::{Platform, StartError, System};
use crate::provider::EngineProvider;
use crate::rooms::taking_part;
use crate::service::process::Process;
use ostrakon_protocol::{
    Accepted, ActionTaken, ActionsPage, BoardPage, CodeInfo, FaultInfo, Issue, IssueRequest,
    NewRoom, Presence, PresenceAnswer, Readiness, RoomInfo, ServersInfo, ServiceError, Status,
    SubmissionRequest,
};

/// The longest that [`Service::status`] and [`Service::board`] wait.
pub const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// A handle to a running server. Clones share it.
#[derive(Clone)]
pub struct Service(Arc<Process>);

impl Service {
    /// Starts a server and returns at once: it answers from now on, with
    /// [`ServiceError::Unavailable`] until it has set up its session with the others. Must be
    /// called inside a tokio runtime of several threads.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(
        config: Config,
        provider: Arc<dyn EngineProvider>,
    ) -> Result<Self, StartError> {
        Self::start_with(config, provider, Timing::default()).await
    }

    /// Like [`Service::start`], with other time-outs of the links.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_with(
        config: Config,
        provider: Arc<dyn EngineProvider>,
        timing: Timing,
    ) -> Result<Self, StartError> {
        Self::start_on(Arc::new(System::new(timing)), config, provider).await
    }

    /// Like [`Service::start`], on another platform than the operating system.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_on(
        platform: Arc<dyn Platform>,
        config: Config,
        provider: Arc<dyn EngineProvider>,
    ) -> Result<Self, StartError> {
        Ok(Self(Arc::new(Process::start(config, provider, platform).await?)))
    }

    /// Resolves when this process can never work again, but one that is started in its place may:
    /// after an error of the database at its beginning, or a commit of which nobody can tell what
    /// became. Says why, and what helps. What somebody has to look at first, such as old data or
    /// another engine with this one's database, does not count.
    pub async fn ended(&self) -> String {
        self.0.ended().await
    }

    /// Stops the server: closes its links and its disk. Requests that are under way fail.
    pub async fn stop(&self) {
        self.0.stop().await;
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        self.0.config()
    }

    /// Fault injection for tests and drills: while blocked, there is no direct connection with the
    /// peer.
    pub fn set_blocked(&self, peer: PartyId, blocked: bool) {
        self.0.set_blocked(peer, blocked);
    }

    /// What to answer to administrators, if this process does not serve them.
    pub fn elsewhere(&self) -> Option<ServiceError> {
        self.0.intake().map(|intake| intake.elsewhere())
    }

    /// Whether `token` is the administrator's. Takes the same time for every wrong token.
    pub fn is_administrator(&self, token: &str) -> bool {
        self.0.is_administrator(token)
    }

    /// Reads the files with tokens again, so that they can be changed while the server runs. Those
    /// that were known remain if that fails.
    ///
    /// # Errors
    /// [`ConfigError`](crate::config::ConfigError) if a file cannot be read or holds no token.
    pub fn reload(&self) -> Result<(), crate::config::ConfigError> {
        self.0.reload()
    }

    /// Notes when the certificate of the public interface expires, in seconds since 1970.
    pub fn set_certificate_expires(&self, time: u64) {
        self.0.set_certificate_expires(time);
    }

    /// When the certificate of the public interface expires, in seconds since 1970, as far as that
    /// is known: a proxy's is known once it has been asked.
    pub fn certificate_expires(&self) -> Option<u64> {
        self.0.certificate_expires()
    }

    /// As whom the bearer of this token, or of none, creates rooms here; `None` if it may not. A
    /// token that is not known is refused whatever the policy.
    pub fn creator(&self, token: Option<&str>, origin: Option<u64>) -> Option<Creator> {
        self.0.server().ok()?.creator(token, origin)
    }

    /// The servers of the deployment.
    ///
    /// # Errors
    /// [`ServiceError::Unavailable`] until the servers have set up their session.
    pub async fn servers(&self) -> Result<ServersInfo, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return intake.servers_info();
        }
        Ok(self.0.core()?.servers_info())
    }

    /// Creates a room at all servers. Returns when all have agreed. For administrators.
    ///
    /// # Errors
    /// `Refused` names the setting that is out of range; `Busy` if there are too many rooms;
    /// `Unavailable`.
    pub async fn create_room(&self, room: NewRoom) -> Result<RoomInfo, ServiceError> {
        self.create_room_as(Creator::Administrator, room).await
    }

    /// Like [`Service::create_room`], for somebody else within the server's quotas.
    ///
    /// # Errors
    /// As [`Service::create_room`]; `Refused` and `Busy` also name a quota.
    pub async fn create_room_as(
        &self,
        creator: Creator,
        room: NewRoom,
    ) -> Result<RoomInfo, ServiceError> {
        self.0.core()?.create_room(room, creator).await
    }

    /// Where a room's short code leads ([`RoomId::code`]).
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn code(&self, code: &str) -> Result<CodeInfo, ServiceError> {
        self.0.core()?.code(code)
    }

    /// Takes what a host does, at the first server. Returns when it is on disk and on its way to
    /// the others. The same action again is accepted again.
    ///
    /// # Errors
    /// `Conflict` if another action came first or the room is closed; `Forbidden` if the signer is
    /// no host; `Refused` if a limit is passed; `Elsewhere` names the first server if this is
    /// another; `Busy`; `NotFound`, `Unavailable`.
    pub async fn act(
        &self,
        room: RoomId,
        action: SignedAction,
    ) -> Result<ActionTaken, ServiceError> {
        self.0.core()?.act(room, action).await
    }

    /// Takes the claim of an invitation for a device's own key, at the first server. Returns when
    /// it is on disk, and the others have it if they answer. The same claim again is accepted
    /// again.
    ///
    /// # Errors
    /// `Conflict` if the invitation was claimed for another key or the room is closed; `Forbidden`
    /// if it was not made or was taken back, or a signature is wrong; `Refused` if the key takes
    /// part already; `Elsewhere` names the first server if this is another; `Busy`; `NotFound`,
    /// `Unavailable`.
    pub async fn claim(&self, room: RoomId, claim: Claim) -> Result<Accepted, ServiceError> {
        self.0.core()?.claim(room, claim).await
    }

    /// Returns as soon as the room's hosts have done action `from`, and after `wait` (at most
    /// [`LONGEST_WAIT`]) anyway.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn actions_reach(
        &self,
        room: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<(), ServiceError> {
        if let Some(intake) = self.0.intake() {
            return intake.actions_reach(room, from, wait.min(LONGEST_WAIT)).await;
        }
        self.0.core()?.actions_reach(room, from, wait.min(LONGEST_WAIT)).await
    }

    /// What the room's hosts did from action `from` on.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn actions(&self, room: RoomId, from: u64) -> Result<ActionsPage, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return intake.actions(room, from).await;
        }
        self.0.core()?.actions(room, from).await
    }

    /// Closes a room at all servers, for good. The epochs under way are finished. For
    /// administrators.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn close_room(&self, room: RoomId) -> Result<RoomInfo, ServiceError> {
        self.0.core()?.close_room(room).await
    }

    /// Deletes a room at this server, for good: it is closed at all servers, and this one shows it
    /// no more and erases its messages. The others keep what they have. For administrators.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable` if the room is open and cannot be closed now.
    pub async fn delete_room(&self, room: RoomId) -> Result<(), ServiceError> {
        self.0.core()?.delete_room(room).await
    }

    /// Every room. For administrators.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn rooms(&self) -> Result<Vec<RoomInfo>, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return Ok(intake.rooms());
        }
        Ok(self.0.core()?.rooms())
    }

    /// One room.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn room(&self, room: RoomId) -> Result<RoomInfo, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return intake.room(&room);
        }
        self.0.core()?.room(room)
    }

    /// Notes that a participant is there, and that this server is its home.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the room is closed; `Forbidden` for a wrong signature or time;
    /// `Busy` if the room is full.
    pub async fn presence(
        &self,
        room: RoomId,
        presence: Presence,
    ) -> Result<PresenceAnswer, ServiceError> {
        self.presence_from(room, presence, None).await
    }

    /// Like [`Service::presence`], for a participant who shares a limited part of the room with all
    /// others of the same `origin`: a number that stands for an address, and tells nothing about
    /// it.
    ///
    /// # Errors
    /// As [`Service::presence`]; `Busy` also if that part of the room is full.
    pub async fn presence_from(
        &self,
        room: RoomId,
        presence: Presence,
        origin: Option<u64>,
    ) -> Result<PresenceAnswer, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return taking_part::presence(intake, room, &presence, origin).await;
        }
        taking_part::presence(&**self.0.core()?, room, &presence, origin).await
    }

    /// How many slots a room has, and how many seconds an epoch; `None` if there is no such room
    /// here.
    pub fn room_size(&self, room: &RoomId) -> Option<(u32, u32)> {
        if let Some(intake) = self.0.intake() {
            return intake
                .room(room)
                .ok()
                .map(|info| (info.descriptor.capacity, info.descriptor.seconds));
        }
        self.0.core().ok()?.room_size(room)
    }

    /// How the room stands, as soon as its version is above `after`, and after `wait` (at most
    /// [`LONGEST_WAIT`]) anyway.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn status(
        &self,
        room: RoomId,
        after: u64,
        wait: Duration,
    ) -> Result<Status, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return intake.status(room, after, wait.min(LONGEST_WAIT)).await;
        }
        self.0.core()?.status(room, after, wait.min(LONGEST_WAIT)).await
    }

    /// What this server gives to the owner of a slot, and to nobody else.
    ///
    /// # Errors
    /// `NotFound` if the key has no slot yet; `Conflict` if the epoch is closed; `Forbidden` for a
    /// wrong signature.
    pub async fn issue(
        &self,
        room: RoomId,
        epoch: u64,
        request: IssueRequest,
    ) -> Result<Issue, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return taking_part::issue(intake, room, epoch, request).await;
        }
        taking_part::issue(&**self.0.core()?, room, epoch, request).await
    }

    /// Takes a submission; it is on disk when this returns. The same one again is accepted again.
    ///
    /// # Errors
    /// `NotFound` if the key does not own the slot; `Conflict` if the epoch is closed or holds
    /// another submission for the slot; `Refused` if the engine does; `TooLarge`.
    pub async fn submit(
        &self,
        room: RoomId,
        epoch: u64,
        request: SubmissionRequest,
    ) -> Result<Accepted, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return taking_part::submit(intake, room, epoch, request).await;
        }
        taking_part::submit(&**self.0.core()?, room, epoch, request).await
    }

    /// Returns as soon as the board has an entry of index `from`, and after `wait` (at most
    /// [`LONGEST_WAIT`]) anyway.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn board_reaches(
        &self,
        room: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<(), ServiceError> {
        if let Some(intake) = self.0.intake() {
            return intake.board_reaches(room, from, wait.min(LONGEST_WAIT)).await;
        }
        self.0.core()?.board_reaches(room, from, wait.min(LONGEST_WAIT)).await
    }

    /// The board's entries from index `from` on, as soon as there is one, and after `wait` (at most
    /// [`LONGEST_WAIT`]) anyway.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn board(
        &self,
        room: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<BoardPage, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return intake.board(room, from, wait.min(LONGEST_WAIT)).await;
        }
        self.0.core()?.board(room, from, wait.min(LONGEST_WAIT)).await
    }

    /// The whole board as an archive ([`ostrakon_broadcast::Archive`]), to be read piece by piece.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn archive(&self, room: RoomId) -> Result<BoardArchive, ServiceError> {
        if let Some(intake) = self.0.intake() {
            return intake.archive(room);
        }
        self.0.core()?.archive(room)
    }

    /// What misbehaving servers left behind, oldest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn faults(&self) -> Result<Vec<FaultInfo>, ServiceError> {
        self.0.core()?.faults().await
    }

    /// The same faults as files that a third person can check. For administrators.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn fault_files(&self) -> Result<Vec<FaultFile>, ServiceError> {
        self.0.core()?.fault_files().await
    }

    /// What operators and hosts did: the newest `count` records whose number is below `before`,
    /// newest first. For administrators.
    ///
    /// # Errors
    /// `Internal` if the disk does not work.
    pub async fn audit(
        &self,
        before: Option<u64>,
        count: u32,
    ) -> Result<Vec<AuditInfo>, ServiceError> {
        self.0.server()?.audit(before, count).await
    }

    /// Puts on record what an operator did. Never what a participant does.
    pub async fn note(&self, action: &str, detail: &str) {
        if let Ok(server) = self.0.server() {
            server.note("operator", action, detail).await;
        }
    }

    /// The server at a glance, also before it has found the others. For administrators.
    ///
    /// # Errors
    /// `Elsewhere` from an intake process.
    pub async fn overview(&self) -> Result<Overview, ServiceError> {
        Ok(operator::overview(self.0.server()?.process()).await)
    }

    /// Whether the server can do its work, and whom it misses.
    pub fn readiness(&self) -> Readiness {
        self.0.readiness()
    }

    /// Counters and levels as Prometheus text, coarse on purpose: nothing tells one participant
    /// from another.
    pub fn metrics(&self) -> String {
        self.0.metrics()
    }
}

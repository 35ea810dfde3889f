//! Rooms: how they are made, what their participants hand in, how their epochs stand.

use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::hosting::SignedAction;
use ostrakon_crypto::{Signature, VerifyingKey};
use ostrakon_mixing::EpochContext;
use ostrakon_mixing::room::{Admission, EngineKind, Mode, RoomDescriptor, RoomId, USUAL_MINIMUM};
use serde::{Deserialize, Serialize};

use crate::encoding::{base64, hex_32, hex_key};

use crate::ServiceError;
use crate::servers::PeerStatus;

/// A part of a room's host log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionsPage {
    /// Signed actions from the asked-for one on. Not necessarily all: ask again from the next one.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub actions: Vec<SignedAction>,
}

/// The answer to an action of a host: it is in the host log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionTaken {
    /// Its number.
    pub number: u64,
}

/// A room to be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewRoom {
    /// Shown to participants.
    pub name: String,
    /// What the room is for; empty unless given.
    #[serde(default)]
    pub purpose: String,
    /// The host's key, hexadecimal; without one only operators act.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub host: Option<VerifyingKey>,
    /// Who may take part: `open`, whoever has the link, unless given; `members`; or `messages`,
    /// whoever has the link, to exchange messages that two people alone can read.
    #[serde(default = "default_admission")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub admission: Admission,
    /// Days after which the bodies of messages are erased; never unless given.
    #[serde(default)]
    pub retention_days: Option<u32>,
    /// Bytes of payload of a row; 256 unless given.
    #[serde(default = "default_payload")]
    pub payload: u32,
    /// Slots of an epoch; 192 unless given.
    #[serde(default = "default_capacity")]
    pub capacity: u32,
    /// Seconds of an epoch; 10 unless given.
    #[serde(default = "default_seconds")]
    pub seconds: u32,
    /// The minimum anonymity set; 3 unless given. 0 is a room for practice, without a crowd.
    #[serde(default = "default_minimum")]
    pub minimum: u32,
    /// How many people the host expects.
    #[serde(default)]
    pub people: Option<u32>,
    /// The engine that mixes; unless given, Clarion in a room for messages whose mode it offers,
    /// and Ruffle in others.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub engine: Option<EngineKind>,
    /// What happens when a server cheats; fair unless given.
    #[serde(default = "default_mode")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub mode: Mode,
}

fn default_payload() -> u32 {
    256
}

fn default_capacity() -> u32 {
    192
}

fn default_seconds() -> u32 {
    10
}

fn default_minimum() -> u32 {
    USUAL_MINIMUM
}

fn default_admission() -> Admission {
    Admission::Open
}

/// Clarion has a round of seconds ready in time, and next to nothing of it is downloaded. Where
/// people speak to all it counts more that Ruffle names who stops a round, and can go on without.
fn usual_engine(admission: Admission, mode: Mode) -> EngineKind {
    match admission {
        Admission::Messages if EngineKind::Clarion.offers(mode) => EngineKind::Clarion,
        _ => EngineKind::Ruffle,
    }
}

fn default_mode() -> Mode {
    Mode::Fair
}

impl NewRoom {
    /// An open room without a host, of the usual sizes.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            purpose: String::new(),
            host: None,
            admission: default_admission(),
            retention_days: None,
            payload: default_payload(),
            capacity: default_capacity(),
            seconds: default_seconds(),
            minimum: default_minimum(),
            people: None,
            engine: None,
            mode: default_mode(),
        }
    }

    /// The descriptor of this room with a random `nonce`.
    pub fn descriptor(self, nonce: [u8; 16]) -> RoomDescriptor {
        RoomDescriptor {
            name: self.name,
            purpose: self.purpose,
            host: self.host,
            admission: self.admission,
            retention_days: self.retention_days,
            engine: self.engine.unwrap_or_else(|| usual_engine(self.admission, self.mode)),
            mode: self.mode,
            payload: self.payload,
            capacity: self.capacity,
            seconds: self.seconds,
            minimum: self.minimum,
            people: self.people,
            nonce,
        }
    }
}

/// Whether a room takes submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum RoomState {
    /// It does.
    Open,
    /// It was closed for good; its board remains.
    Closed,
}

/// A room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoomInfo {
    /// Its id, hexadecimal, 32 characters.
    pub id: String,
    /// What it is; its digest is the id.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub descriptor: RoomDescriptor,
    /// Open or closed.
    pub state: RoomState,
}

impl RoomInfo {
    /// The description of a room.
    pub fn of(descriptor: &RoomDescriptor, open: bool) -> Self {
        let state = if open { RoomState::Open } else { RoomState::Closed };
        Self { id: descriptor.id().to_hex(), descriptor: descriptor.clone(), state }
    }
}

/// A participant's word that it is there, for about half a minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Presence {
    /// The participant's key, hexadecimal.
    #[serde(with = "hex_key")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub key: VerifyingKey,
    /// The participant's clock, in seconds since 1970. May be two minutes off.
    pub time: u64,
    /// Signature by the key on room, time and party, hexadecimal.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub signature: Signature,
}

/// The answer to [`Presence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PresenceAnswer {
    /// The server that answers is now the participant's home.
    pub home: bool,
}

/// A request for what this server gives the owner of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssueRequest {
    /// The participant's key, hexadecimal.
    #[serde(with = "hex_key")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub key: VerifyingKey,
    /// The participant's exchange key for this issue ([`ostrakon_mixing::envelope::Exchange`]),
    /// hexadecimal.
    #[serde(with = "hex_32")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub exchange: [u8; 32],
    /// Signature by the key on room, epoch, party and exchange key, hexadecimal.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub signature: Signature,
}

/// What this server gives the owner of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Issue {
    /// Epoch, slot and the engine's bytes, closed for the owner and signed by the server
    /// ([`ostrakon_mixing::envelope`]), base64url.
    #[serde(with = "base64")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub issue: Vec<u8>,
}

/// One participant's part in an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmissionRequest {
    /// The participant's key, hexadecimal.
    #[serde(with = "hex_key")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub key: VerifyingKey,
    /// The slot that was assigned to the key.
    pub slot: u32,
    /// The engine's bytes, base64url; the same to every server.
    #[serde(with = "base64")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub body: Vec<u8>,
}

/// The answer to [`SubmissionRequest`]: it is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Accepted {
    /// Always true.
    pub accepted: bool,
}

/// How a room stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Status {
    /// Grows with every change that a participant may want to know of; starts anew when the server
    /// does.
    pub version: u64,
    /// The epoch that collects, or will when there is stock; absent if the room is closed.
    pub epoch: Option<EpochStatus>,
    /// Epochs that are being computed, in order.
    pub mixing: Vec<MixingStatus>,
    /// The last epoch that ended.
    pub last: Option<LastEpoch>,
    /// Epochs whose messages somebody may have read and that are not on the board: those that the
    /// server has begun to open, until they are published, and those that ended as
    /// [`Outcome::MayHaveOpened`].
    #[serde(default)]
    pub may_have_opened: Vec<u64>,
    /// The room's minimum anonymity set.
    pub minimum: u32,
    /// Participants present at each server as far as known. The count of the server that answers is
    /// exact.
    pub present: Vec<u32>,
    /// By server, the slots that it gave out in the epoch that collects; at the server that answers
    /// also those who wait for one. Whoever comes goes where there are fewest.
    pub places: Vec<u32>,
    /// Entries on the board.
    pub board_length: u64,
    /// Actions of the room's hosts: the length of the host log.
    pub actions: u64,
    /// Prepared batches that fit the room.
    pub stock: u32,
    /// The other servers.
    pub peers: Vec<PeerStatus>,
    /// Why the epoch is not closed although its time has been over for a while and enough have
    /// handed in; or, while none collects, why none is opened although it could be. Absent
    /// otherwise.
    #[serde(default)]
    pub overdue: Option<Overdue>,
    /// What a submission to the collecting epoch must be made for; absent while none collects.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub context: Option<EpochContext>,
}

/// The epoch that collects, or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EpochStatus {
    /// Its number.
    pub number: u64,
    /// The batch that it uses up; absent while waiting for stock.
    pub batch: Option<u64>,
    /// What it does.
    pub phase: CollectPhase,
    /// Milliseconds until it closes if somebody is there; absent while waiting for stock.
    pub closes_in_ms: Option<u64>,
    /// Slots that have an owner.
    pub assigned: u32,
    /// Submissions that the answering server holds.
    pub submitted: u32,
}

/// An epoch that could have been closed and is not; or opened, if none collects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Overdue {
    /// For how many milliseconds.
    pub for_ms: u64,
    /// The servers whose word is missing, by party number: that the epoch is due, or the
    /// scheduler's that it is closed, or opened; while some do not echo what is said, these.
    /// Whoever it is may wait for another's word in turn. None if earlier epochs are to be finished
    /// first.
    pub by: Vec<u8>,
}

/// What an epoch does before it is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CollectPhase {
    /// It takes submissions.
    Collecting,
    /// It begins as soon as a batch is ready at all servers, and the scheduler has opened it.
    WaitingForStock,
}

/// An epoch that is being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MixingStatus {
    /// Its number.
    pub number: u64,
    /// How far it is.
    pub phase: MixingPhase,
}

/// How far the computation of an epoch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum MixingPhase {
    /// The servers seal, mix and open.
    Mixing,
    /// The servers sign the board's entry.
    Signing,
}

/// How an epoch ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LastEpoch {
    /// Its number.
    pub number: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// In words.
    pub detail: String,
}

/// How an epoch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Outcome {
    /// Its entry is on the board.
    Published,
    /// Fewer submissions than the minimum: nothing was revealed, send again.
    TooFew,
    /// A server cheated: nothing was published, send again.
    Cheated,
    /// It could not be computed for another reason: nothing was published, send again.
    Failed,
    /// It was given up after its opening may have begun: nothing was published, but its messages
    /// may have been read. A device sends none of them again by itself; rows of a room for messages
    /// are random to who has read them.
    MayHaveOpened,
}

/// A part of a room's board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardPage {
    /// Entries from the asked-for one on. Not necessarily all: ask again from the next one.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub entries: Vec<SignedEntry>,
}

/// Reads a room id from a path.
///
/// # Errors
/// [`ServiceError::NotFound`]: what is no id names no room.
pub fn parse_room(text: &str) -> Result<RoomId, ServiceError> {
    RoomId::from_hex(text)
        .ok_or_else(|| ServiceError::NotFound("a room's id has 32 hexadecimal digits".into()))
}

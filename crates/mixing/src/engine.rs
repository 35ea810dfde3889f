//! The interface of a mixing engine, towards a server and towards a participant.
//!
//! An engine owns everything between a row and the mixed rows: what a server gives to a participant
//! for a slot (an *issue*), what the participant makes of it (a *submission*), how the servers
//! agree on the submissions (*seal*), how they mix them, and how they open the result. The server
//! process owns the rest: rooms, who may take part, clocks, sockets, storage. `docs/engines.md`
//! checks this interface on paper against three engines.

use futures::future::BoxFuture;
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_party::{Party, PartyId, SessionId};

use crate::room::{EngineKind, EpochId, Mode, RoomDescriptor, Servers};

/// The shape of a table: what preprocessed material is made for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Shape {
    /// Rows, which is the number of slots.
    pub rows: u32,
    /// Bytes of a row, a multiple of 8.
    pub width: u32,
}

impl Shape {
    /// The shape of a room's tables.
    pub fn of(room: &RoomDescriptor) -> Self {
        Self { rows: room.capacity, width: room.payload + crate::room::REDUNDANCY as u32 }
    }
}

/// What a batch is made for: an engine's tables of a shape.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Form {
    /// The engine.
    pub engine: EngineKind,
    /// The tables' shape.
    pub shape: Shape,
}

impl Form {
    /// The form of a room's batches.
    pub fn of(room: &RoomDescriptor) -> Self {
        Self { engine: room.engine, shape: Shape::of(room) }
    }
}

/// What the servers agree on about an epoch before it takes submissions.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EpochContext {
    /// Room and number.
    pub epoch: EpochId,
    /// The batch of preprocessed material that the epoch uses up.
    pub batch: u64,
    /// The engine.
    pub engine: EngineKind,
    /// The tables' shape.
    pub shape: Shape,
    /// What to do when a server cheats.
    pub mode: Mode,
    /// See [`RoomDescriptor::minimum`]; the one that holds when the epoch opens.
    pub minimum: u32,
}

impl EpochContext {
    /// The form of the batch.
    pub fn form(&self) -> Form {
        Form { engine: self.engine, shape: self.shape }
    }

    /// Whether this is an epoch of a room, as the room's descriptor has it. Its minimum may be
    /// lower than the room's: whether that is enough, each participant says for itself.
    pub fn is_of(&self, room: &RoomDescriptor) -> bool {
        self.epoch.room == room.id()
            && self.engine == room.engine
            && self.shape == Shape::of(room)
            && self.mode == room.mode
            && self.minimum <= room.minimum
    }
}

/// A slot that was given out, as a server knows it when the epoch closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotState {
    /// The slot.
    pub slot: u32,
    /// The slot's owner, as agreed among the servers.
    pub owner: VerifyingKey,
    /// What the owner sent, if it reached this server and [`Batch::check`] accepted it.
    pub submission: Option<Vec<u8>>,
}

/// Why a submission is refused; shown to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Rejected(pub &'static str);

/// What a misbehaving server leaves behind: who is proved to have cheated, and the proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("server {culprit} cheated: {what}")]
pub struct Fault {
    /// The server.
    pub culprit: PartyId,
    /// What it did, in a few words.
    pub what: String,
    /// Evidence that a third person can check ([`Engine::verify_evidence`]), encoded by the engine.
    pub evidence: Vec<u8>,
}

/// How an epoch ended without a board.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// A server cheated; in fair mode nothing was revealed, and every message may enter a later
    /// epoch.
    #[error(transparent)]
    Cheated(#[from] Fault),
    /// Fewer submissions than the room's minimum; nothing was revealed.
    #[error("only {accepted} submissions can be vouched for, the room asks for {minimum}")]
    TooFew {
        /// Accepted submissions, without the largest class of slots that one server gave out.
        accepted: u32,
        /// The room's minimum.
        minimum: u32,
    },
    /// A server stopped, and who is at fault cannot be proved. Nothing was revealed, and every
    /// message may enter a later epoch.
    #[error("{by} stopped the epoch{}", suspects(.pair.as_ref()))]
    Aborted {
        /// Who stopped first, as far as is known here.
        by: PartyId,
        /// The two of whom one is at fault, as far as it can be told.
        pair: Option<[PartyId; 2]>,
    },
    /// The batch is already spent on other inputs: state was lost or restored. Nothing was
    /// revealed.
    #[error("batch {batch} is already spent on another table; its epoch must not be repeated")]
    Spent {
        /// The batch.
        batch: u64,
    },
    /// The journal could not be written; the epoch may be tried again from the start of its
    /// computation.
    #[error("the journal cannot be written: {0}")]
    Journal(String),
}

fn suspects(pair: Option<&[PartyId; 2]>) -> String {
    pair.map_or(String::new(), |[a, b]| format!("; {a} or {b} is at fault"))
}

/// Durable marks, written before what they speak of is done.
pub trait Journal: Send + Sync {
    /// Records, durably, that `name` has this value in the epoch that is mixed. Returns the value
    /// on record: the given one, or an earlier one, which then stands until every server has
    /// settled the epoch. Afterwards nothing is recorded in it any more.
    ///
    /// # Errors
    /// A description of why the record could not be written or read.
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String>;

    /// The value on record in the epoch that is mixed, if there is one. A journal that cannot look
    /// without recording says `None`.
    ///
    /// # Errors
    /// A description of why the record could not be read.
    fn standing(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let _ = name;
        Ok(None)
    }

    /// Records what one-time material is spent on: like [`Journal::record`], and stands for ever.
    ///
    /// # Errors
    /// A description of why the record could not be written or read.
    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String>;
}

/// The rows that a mix brought out, in their new order: `accepted` of them were submissions, the
/// others are noise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// All rows, row after row.
    pub table: Vec<u8>,
    /// How many submissions were mixed.
    pub accepted: u32,
    /// The server that finished alone after another one cheated, if that happened (robust mode
    /// only).
    pub trusted: Option<PartyId>,
    /// Proof of the cheating that made it necessary.
    pub fault: Option<Fault>,
}

/// A mixed table whose rows are not yet opened. What it holds is the engine's.
pub trait Mixed: Send {
    /// Opens all rows.
    fn open(self: Box<Self>) -> BoxFuture<'static, Result<Opened, Stopped>>;
}

/// The material of one epoch on one server. Used once: mixing consumes it.
pub trait Batch: Send + Sync {
    /// What this server gives to the owner of `slot`. Only after all servers have agreed who owns
    /// it.
    fn issue(&self, slot: u32) -> Vec<u8>;

    /// Whether a submission is acceptable as far as one server can tell: length, signature, slot.
    ///
    /// # Errors
    /// [`Rejected`] says what is wrong with it.
    fn check(
        &self,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        submission: &[u8],
    ) -> Result<(), Rejected>;

    /// Seals (agrees with the other servers on the set of submissions) and mixes. `slots` holds
    /// every slot that was given out. An owner may have several, of different servers: it has one
    /// message, that of the lowest for which the servers agree on a submission. A slot without one
    /// takes nothing away. After a crash the same call with the same slots and journal continues.
    fn mix(
        self: Box<Self>,
        context: EpochContext,
        slots: Vec<SlotState>,
        journal: std::sync::Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<Box<dyn Mixed>, Stopped>>;
}

/// An engine on one server.
pub trait Engine: Send + Sync {
    /// Prepares batch `number` together with the other servers. Returns what must be kept on disk
    /// to use it. `seed` is 32 fresh random bytes, used for this batch alone.
    ///
    /// # Errors
    /// [`Fault`] if a server cheated. The batch is then thrown away and its number never used
    /// again. Without anybody to convict it never ends, as with a silent server.
    fn prepare(
        &self,
        number: u64,
        shape: Shape,
        seed: [u8; 32],
    ) -> BoxFuture<'static, Result<Vec<u8>, Fault>>;

    /// Takes a prepared batch into use.
    ///
    /// # Errors
    /// A description if `stored` is not what [`Engine::prepare`] returned for this number and
    /// shape.
    fn load(&self, number: u64, shape: Shape, stored: &[u8]) -> Result<Box<dyn Batch>, String>;

    /// Whether `evidence` proves to a third person, who knows only the servers' keys, that
    /// `fault.culprit` cheated.
    fn verify_evidence(&self, servers: &Servers, fault: &Fault) -> bool;

    /// The party that this engine acts as.
    fn party(&self) -> &Party;

    /// Forgets the messages of a batch's preparation, once every server is known to hold the batch.
    fn retire_batch(&self, number: u64, shape: Shape);

    /// Forgets the messages of an epoch, once every server is known to have its outcome.
    fn retire_epoch(&self, context: &EpochContext);
}

/// Why a participant's submission cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    /// A server's issue is malformed or contradicts what two others say.
    #[error(
        "server {0} sent material that does not fit what the others say; the message was not sent"
    )]
    Bad(PartyId),
    /// Too few issues to be sure of the slot's masks.
    #[error("two servers' material is needed for every mask; wait until more servers answer")]
    Incomplete,
}

/// An engine at a participant.
pub trait ClientEngine {
    /// Makes the submission of one row. `issues` holds what the servers gave for the slot (`None`:
    /// no answer yet); `key` is the slot owner's.
    ///
    /// # Errors
    /// [`IssueError`]; nothing secret has then been used.
    fn submit(
        &self,
        servers: &Servers,
        context: &EpochContext,
        slot: u32,
        issues: &[Option<Vec<u8>>],
        row: &[u8],
        key: &SigningKey,
    ) -> Result<Vec<u8>, IssueError>;
}

/// The class of a slot: the server that gives it out. Every server owns every third slot (of
/// three), so that no single one can keep a participant out, and so that each knows which slots
/// another one filled.
pub fn slot_class(slot: u32, servers: usize) -> PartyId {
    let servers = u32::try_from(servers).expect("few servers");
    PartyId(u8::try_from(slot % servers).expect("fewer than 256 servers"))
}

/// The digest of an epoch's context, bound into every signature made for it. The session is part of
/// it: a room with the same settings at other servers is another room.
pub fn context_digest(session: &SessionId, context: &EpochContext) -> Digest {
    let mut transcript = ostrakon_crypto::Transcript::new("ostrakon/v1/broadcast/epoch context");
    transcript
        .field(&session.0.0)
        .field(&context.epoch.room.0)
        .number(context.epoch.number)
        .number(context.batch)
        .number(u64::from(context.engine.number()))
        .number(u64::from(context.shape.rows))
        .number(u64::from(context.shape.width))
        .number(match context.mode {
            Mode::Fair => 1,
            Mode::Robust => 2,
        })
        .number(u64::from(context.minimum));
    transcript.finish()
}

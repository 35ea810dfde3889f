//! What a job's words leave on a server's disk, and what the server keeps for the job beside them.

use futures::future::BoxFuture;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;

use crate::Subject;

/// How a word is filed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filed {
    /// Of which kind it is, as the job counts them: words are read again by kind
    /// ([`Storage::words`]).
    pub kind: u8,
    /// Its place among those of its kind and subject.
    pub place: u64,
    /// Whether its subject begins with it: that is remembered when the generation is over.
    pub begins: bool,
    /// Kinds of earlier words of the subject that go: the state after this word must be the same
    /// without them.
    pub drops: Vec<u8>,
    /// What changes with it of what this server keeps for itself.
    pub writes: Vec<Write>,
}

/// The name of an item: the drawer that it is in, as the job counts them, and a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemName(pub u8, pub Vec<u8>);

/// Something that this server keeps for a job, for itself alone; also when a generation is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub name: ItemName,
    /// Whose it is, or of what: items of a drawer are listed and counted by this.
    pub family: Vec<u8>,
    /// What it holds; nothing if it was erased ([`Write::Erase`]).
    pub body: Vec<u8>,
    /// What it is used for, once and for ever ([`Write::Bind`]).
    pub bound: Option<Vec<u8>>,
    /// Until when it is kept if it is not used, in seconds since 1970; for ever if not given.
    pub until: Option<u64>,
}

impl Item {
    /// One that is kept for ever and belongs to nobody.
    pub fn new(drawer: u8, key: &[u8], body: Vec<u8>) -> Self {
        let name = ItemName(drawer, key.to_vec());
        Self { name, family: Vec::new(), body, bound: None, until: None }
    }
}

/// What must hold for items to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// There is no such item.
    Absent(ItemName),
    /// There is one, with this body.
    Holds(ItemName, Vec<u8>),
    /// There is one, and it is bound to nothing else than this.
    FreeFor(ItemName, Vec<u8>),
    /// A drawer has fewer items than so many.
    Fewer(u8, u64),
    /// A drawer has fewer items of a family than so many.
    FewerOf(u8, Vec<u8>, u64),
}

/// A change of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Keeps an item, in place of what has its name.
    Put(Item),
    /// Binds an item to what it is used for.
    Bind(ItemName, Vec<u8>),
    /// Erases an item's body and binds it, if it is bound to nothing else than this. Its name
    /// stays.
    Erase(ItemName, Vec<u8>),
    /// Takes an item away.
    Delete(ItemName),
    /// Puts an item into another drawer, where it is kept for ever.
    Move(ItemName, u8),
}

/// The disk did not do what it was asked for, or the server is being stopped; in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

impl From<Failed> for ServiceError {
    fn from(error: Failed) -> Self {
        tracing::error!(%error, "a request failed");
        ServiceError::Internal
    }
}

/// What a call to the disk comes to.
pub type OnDisk<'a, T> = BoxFuture<'a, Result<T, Failed>>;

/// What a job's driver reads and keeps on the disk. What is written is on disk when a call returns.
pub trait Storage: Send + Sync {
    /// The words of a kind about a subject, with who said them, in order: from a place on, and at
    /// most so many.
    fn words<'a>(
        &'a self,
        subject: &'a Subject,
        kind: u8,
        page: (u64, u32),
    ) -> OnDisk<'a, Vec<(PartyId, Vec<u8>)>>;

    /// An item.
    fn item(&self, name: ItemName) -> OnDisk<'_, Option<Item>>;

    /// The items of a family, in the order in which they came.
    fn items<'a>(&'a self, drawer: u8, family: &'a [u8]) -> OnDisk<'a, Vec<Item>>;

    /// How many items a drawer has, or a family of it.
    fn count_items<'a>(&'a self, drawer: u8, family: Option<&'a [u8]>) -> OnDisk<'a, u64>;

    /// Makes all changes, or none. Whether all that must hold does.
    fn change_items(&self, conditions: Vec<Condition>, writes: Vec<Write>) -> OnDisk<'_, bool>;

    /// Deletes the items of a drawer that were to be kept until before this time (seconds since
    /// 1970) and that are not used, or erased by now. How many.
    fn forget_items(&self, drawer: u8, before: u64) -> OnDisk<'_, u64>;
}

//! What a server remembers: a database, and beside it files for secrets and for stock.
//!
//! * The database, SQLite in the file `ostrakon.db` or PostgreSQL: everything that must survive and
//!   be consistent, one file of this crate per table. Every write is a named transaction that is on
//!   disk when it returns (SQLite: write-ahead log, `synchronous = FULL`; PostgreSQL:
//!   `synchronous_commit`, and `fsync` is insisted on).
//! * `secrets/<name>`: keys, readable by the owner only, never in the database.
//! * `stock/<number>.batch`: preprocessed material, up to hundreds of mebibytes each, indexed by
//!   the table `batches` with a digest. A file is written and synced before the index names it, and
//!   deleted after the index forgot it, so a crash leaves at most a file that nobody names;
//!   [`Store::open`] deletes those.
//! * `lock`: held while a process uses the directory, so that two never do. In PostgreSQL an
//!   advisory lock does the same.
//!
//! A database of a newer version of the schema is refused, never guessed at.
//!
//! The store knows nothing of protocols: bodies, outcomes and descriptors are bytes to it.

mod batches;
mod database;
mod error;
mod files;
mod jobs;
mod ledger;
mod rooms;
mod secrets;

pub use batches::{BatchRow, BatchState};
pub use database::Database;
pub use database::scratch::Scratch;
pub use error::Error;
pub use jobs::items::{ItemCondition, ItemName, ItemWrite, JobItem};
pub use jobs::words::{Filed, JobWord, JobWordRow};
pub use ledger::agreement::AnnouncementRow;
pub use ledger::audit::{AuditRow, NewAudit};
pub use ledger::change::Change;
pub use ledger::faults::FaultRow;
pub use ledger::generation::{Generation, Renewed, RenewedRoom};
pub use rooms::RoomRow;
pub use rooms::board::{EntryRow, NewEntry};
pub use rooms::epochs::{AssignmentRow, EpochRow};
pub use rooms::intakes::{Arrivals, Offer, Seen, View};
pub use rooms::state::EpochState;
pub use rooms::submissions::{Intake, SubmissionRow, Taken};

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use database::Pools;

/// A room's id as the store sees it.
pub type RoomKey = [u8; 16];

/// A server's memory. Clones share it.
#[derive(Clone)]
pub struct Store {
    pools: Arc<Pools>,
    directory: Arc<Path>,
    /// Set when nobody can tell any more what was written.
    lost: Arc<AtomicBool>,
    /// Held until the store is closed, or the last clone is gone.
    lock: Arc<Mutex<Option<File>>>,
}

impl Store {
    /// Opens the store in `directory` and `database`, creating what is missing.
    ///
    /// # Errors
    /// [`Error::InUse`] and [`Error::DatabaseInUse`] if another process has it open,
    /// [`Error::NewerSchema`] if a newer version wrote it, [`Error::Unsuitable`], and whatever disk
    /// and database say.
    pub async fn open(directory: &Path, database: &Database) -> Result<Self, Error> {
        files::create_private_directory(directory)?;
        let lock = files::lock(&directory.join("lock"))?;
        files::create_private_directory(&directory.join("stock"))?;
        files::create_private_directory(&directory.join("secrets"))?;
        let pools = Arc::new(database::open(directory, database).await?);
        let lock = Arc::new(Mutex::new(Some(lock)));
        let store = Self { pools, directory: directory.into(), lost: Arc::default(), lock };
        store.delete_unnamed_stock().await?;
        Ok(store)
    }

    /// Joins a PostgreSQL database as an intake process, beside the engine that owns it. Whatever
    /// writes the engine's tables fails; what [`Store::take_in`] writes, and everything that is
    /// read, is the engine's.
    ///
    /// # Errors
    /// [`Error::Unsuitable`] if the database is not PostgreSQL; [`Error::OlderSchema`] if no engine
    /// of this version has opened it yet; [`Error::NewerSchema`]; the database's.
    pub async fn join(database: &Database) -> Result<Self, Error> {
        let pools = Arc::new(database::join(database).await?);
        Ok(Self {
            pools,
            directory: Path::new("").into(),
            lost: Arc::default(),
            lock: Arc::default(),
        })
    }

    /// Looks whether the store in `directory` and `database` can be used, without changing anything
    /// and beside a server that has it open. What does not exist yet can.
    ///
    /// # Errors
    /// [`Error::DamagedDatabase`], [`Error::NewerSchema`], [`Error::Unsuitable`], and whatever disk
    /// and database say.
    pub async fn examine(directory: &Path, database: &Database) -> Result<(), Error> {
        database::examine(directory, database).await
    }

    /// Where the store is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Closes the database, for all clones, and lets go of the directory; what is under way is
    /// finished first.
    pub async fn close(&self) {
        self.pools.readers.close().await;
        self.pools.intake.close().await;
        self.pools.writer.close().await;
        drop(self.lock.lock().expect("no panic while held").take());
    }

    fn stock_path(&self, number: u64) -> PathBuf {
        self.directory.join("stock").join(format!("{number}.batch"))
    }
}

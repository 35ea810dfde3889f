//! What a server remembers: an SQLite database, and beside it files for secrets and for stock.
//!
//! * `ostrakon.db`: everything that must survive and be consistent, one file of this crate per table. Every write is a
//!   named transaction that is on disk when it returns (write-ahead log, `synchronous = FULL`).
//! * `secrets/<name>`: keys, readable by the owner only, never in the database.
//! * `stock/<number>.batch`: preprocessed material, up to hundreds of mebibytes each, indexed by the table `batches`
//!   with a digest. A file is written and synced before the index names it, and deleted after the index forgot it, so a
//!   crash leaves at most a file that nobody names; [`Store::open`] deletes those.
//! * `lock`: held while a process uses the directory, so that two never do.
//!
//! A database of a newer version of the schema is refused, never guessed at.
//!
//! The store knows nothing of protocols: bodies, outcomes and descriptors are bytes to it.

mod agreement;
mod batches;
mod board;
mod change;
mod epochs;
mod error;
mod faults;
mod files;
mod journal;
mod rooms;
mod secrets;
mod submissions;
mod transaction;

pub use agreement::AnnouncementRow;
pub use batches::{BatchRow, BatchState};
pub use board::{EntryRow, NewEntry};
pub use change::Change;
pub use epochs::{AssignmentRow, EpochRow, EpochState};
pub use error::Error;
pub use faults::FaultRow;
pub use rooms::RoomRow;
pub use submissions::{Intake, SubmissionRow, Taken};

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, SqlitePool};

/// A room's id as the store sees it.
pub type RoomKey = [u8; 16];

/// How long a statement waits for another process's lock (a backup tool's, for example).
const BUSY: Duration = Duration::from_secs(10);
/// Connections that read. There is one that writes.
const READERS: u32 = 3;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// A server's disk. Clones share it.
#[derive(Clone)]
pub struct Store {
    writer: SqlitePool,
    readers: SqlitePool,
    directory: Arc<Path>,
    /// Held until the store is closed, or the last clone is gone.
    lock: Arc<Mutex<Option<File>>>,
}

impl Store {
    /// Opens the store in `directory`, creating what is missing.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process has it open, [`Error::NewerSchema`] if a newer version wrote it, and whatever
    /// the disk says.
    pub async fn open(directory: &Path) -> Result<Self, Error> {
        files::create_private_directory(directory)?;
        let lock = files::lock(&directory.join("lock"))?;
        files::create_private_directory(&directory.join("stock"))?;
        files::create_private_directory(&directory.join("secrets"))?;
        let database = directory.join("ostrakon.db");
        files::create_private_file(&database)?;
        let options = SqliteConnectOptions::new()
            .filename(&database)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            // When SQLite rolls back by itself, as it does when the disk is full, the driver believes that the transaction
            // is still open, and would begin no other on the connection. A new one takes its place.
            .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
            .connect_with(options.clone())
            .await?;
        MIGRATIONS.run(&writer).await.map_err(|error| match error {
            MigrateError::VersionMissing(version) => Error::NewerSchema { path: database.clone(), version },
            other => Error::Migration(Box::new(other)),
        })?;
        let readers = SqlitePoolOptions::new().max_connections(READERS).connect_with(options.read_only(true)).await?;
        let store = Self { writer, readers, directory: directory.into(), lock: Arc::new(Mutex::new(Some(lock))) };
        store.delete_unnamed_stock().await?;
        Ok(store)
    }

    /// Where the store is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Closes the database, for all clones, and lets go of the directory; what is under way is finished first.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
        drop(self.lock.lock().expect("no panic while held").take());
    }

    fn stock_path(&self, number: u64) -> PathBuf {
        self.directory.join("stock").join(format!("{number}.batch"))
    }
}

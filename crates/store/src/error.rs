//! What can go wrong with a disk, and what to do about it.

use std::path::PathBuf;

/// Why the store could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("the database's schema cannot be brought up to date: {0}")]
    Migration(#[source] Box<sqlx::migrate::MigrateError>),
    /// Written by a newer version of this program.
    #[error(
        "{path} has schema version {version}, which this program does not know: use the newer program that wrote it"
    )]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// The version that is not known.
        version: i64,
    },
    /// Another process uses the directory.
    #[error("{0} is in use by another process: stop that one first, or choose another data directory")]
    InUse(PathBuf),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A batch's file is not what the index says it is.
    #[error("{path} is damaged or incomplete: it is discarded and another batch prepared instead")]
    DamagedStock {
        /// The file.
        path: PathBuf,
    },
    /// A value in the database that this program would not have written.
    #[error(
        "the database holds an impossible value in {0}: restore it from a backup, or start with an empty directory"
    )]
    Corrupt(&'static str),
    /// The state does not allow this; it was checked before, so this is a bug.
    #[error("the recorded state does not allow this: {0}")]
    State(&'static str),
}

impl Error {
    /// Whether the same transaction may succeed when tried again.
    pub(crate) fn is_transient(&self) -> bool {
        // SQLITE_BUSY and SQLITE_LOCKED, with any extension in the upper bytes.
        let Error::Database(sqlx::Error::Database(error)) = self else { return false };
        let code = error.code().and_then(|code| code.parse::<u32>().ok());
        matches!(code.map(|code| code & 0xff), Some(5 | 6))
    }
}

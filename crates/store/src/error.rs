//! What can go wrong with a disk, and what to do about it.

use std::path::PathBuf;

/// Why the store could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused.
    #[error("the database failed: {cause}{}", remedy(.0), cause = .0)]
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
    #[error("{path}: {source}; check that this user may write there and that the disk has room")]
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
        "the database holds an impossible value in {0}: start with an empty directory; an older copy of it would spend one-time material again"
    )]
    Corrupt(&'static str),
    /// The state does not allow this; it was checked before, so this is a bug.
    #[error("the recorded state does not allow this: {0}")]
    State(&'static str),
}

impl Error {
    /// Whether the same transaction may succeed when tried again.
    pub(crate) fn is_transient(&self) -> bool {
        let Error::Database(error) = self else { return false };
        matches!(primary_code(error), Some(BUSY | LOCKED))
    }
}

// SQLite's primary result codes.
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const READ_ONLY: u32 = 8;
const INPUT_OUTPUT: u32 = 10;
const FULL: u32 = 13;
const CANNOT_OPEN: u32 = 14;

/// SQLite's result code, if it is SQLite that failed. The upper bytes hold an extension of it.
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code = error.as_database_error()?.code()?.parse::<u32>().ok()?;
    Some(code & 0xff)
}

/// What an operator can do about it.
fn remedy(error: &sqlx::Error) -> &'static str {
    match primary_code(error) {
        Some(FULL | INPUT_OUTPUT) => "; the disk does not take or give data: check that it has room and is in order",
        Some(READ_ONLY | CANNOT_OPEN) => "; check that this user may write the data directory and the files in it",
        _ => "",
    }
}

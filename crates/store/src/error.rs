//! What can go wrong with a disk, and what to do about it.

use std::path::PathBuf;

use sqlx::postgres::PgDatabaseError;

/// What to do about a database that is damaged.
const LOST: &str = "keep a copy of it, and go on from the other servers' states, as the guide says for a server that has lost its data";

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
        "{database} has schema version {version}, which this program does not know: use the newer program that wrote it"
    )]
    NewerSchema {
        /// The database.
        database: String,
        /// The version that is not known.
        version: i64,
    },
    /// A PostgreSQL server or database that the store cannot rely on.
    #[error("the PostgreSQL database is unsuitable: {0}")]
    Unsuitable(&'static str),
    /// No engine of this program's version has opened the PostgreSQL database yet.
    #[error(
        "the PostgreSQL database's schema is not that of this version: start the engine of this version first"
    )]
    OlderSchema,
    /// Another engine uses the PostgreSQL database.
    #[error(
        "another engine uses the PostgreSQL database: stop that one first, or give every server a database of its own (if its machine has died, wait until PostgreSQL has noticed, or end its session)"
    )]
    DatabaseInUse,
    /// Another engine has used the PostgreSQL database after this one lost its connection.
    #[error(
        "another engine has used the PostgreSQL database since this one lost its connection: restart this server"
    )]
    Superseded,
    /// The connection was lost during a commit, and the database could not be asked what became of
    /// it.
    #[error(
        "the database went away during a commit and did not come back in time: restart the server when it is there"
    )]
    Unknown,
    /// Another process uses the directory.
    #[error(
        "{0} is in use by another process: stop that one first, or choose another data directory"
    )]
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
    /// A check of the whole file found it damaged.
    #[error(
        "{path} is damaged ({found}): {lost}",
        lost = LOST
    )]
    DamagedDatabase {
        /// The file.
        path: PathBuf,
        /// What SQLite says of it.
        found: String,
    },
    /// A value in the database that this program would not have written.
    #[error(
        "the database is damaged, it holds an impossible value in {0}: {lost}; an older copy of it would spend one-time material again",
        lost = LOST
    )]
    Corrupt(&'static str),
    /// The state does not allow this; it was checked before, so this is a bug.
    #[error("the recorded state does not allow this: {0}")]
    State(&'static str),
}

impl Error {
    /// Whether an engine that met this may do better once it is started again, with the same data.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Database(_) | Self::Unknown | Self::File { .. })
    }

    /// Whether a transaction may begin when it is tried again.
    pub(crate) fn is_transient(&self) -> bool {
        let Error::Database(error) = self else { return false };
        match code(error) {
            Some(Code::Sqlite(code)) => matches!(code, BUSY | LOCKED),
            // It is starting, stopping, or has too many connections.
            Some(Code::Postgres(code)) => code.starts_with("57P") || code == "53300",
            None => matches!(error, sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut),
        }
    }

    /// Whether PostgreSQL gave up a transaction in favour of another one, so that it may be tried
    /// again.
    pub(crate) fn is_conflict(&self) -> bool {
        let Error::Database(error) = self else { return false };
        // A deadlock, or a serialization failure.
        matches!(code(error), Some(Code::Postgres(code)) if code == "40P01" || code == "40001")
    }
}

/// What a database says of its failure.
enum Code {
    /// SQLite's primary result code. The upper bytes hold an extension of it.
    Sqlite(u32),
    /// PostgreSQL's SQLSTATE.
    Postgres(String),
}

// SQLite's primary result codes.
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const READ_ONLY: u32 = 8;
const INPUT_OUTPUT: u32 = 10;
const CORRUPT: u32 = 11;
const FULL: u32 = 13;
const CANNOT_OPEN: u32 = 14;
const NOT_A_DATABASE: u32 = 26;

fn code(error: &sqlx::Error) -> Option<Code> {
    let error = error.as_database_error()?;
    let code = error.code()?;
    if error.try_downcast_ref::<PgDatabaseError>().is_some() {
        return Some(Code::Postgres(code.into_owned()));
    }
    Some(Code::Sqlite(code.parse::<u32>().ok()? & 0xff))
}

/// What an operator can do about it.
fn remedy(error: &sqlx::Error) -> String {
    let what = match code(error) {
        Some(Code::Sqlite(FULL | INPUT_OUTPUT)) => {
            "; the disk does not take or give data: check that it has room and is in order"
        }
        Some(Code::Sqlite(READ_ONLY | CANNOT_OPEN)) => {
            "; check that this user may write the data directory and the files in it"
        }
        Some(Code::Sqlite(CORRUPT | NOT_A_DATABASE)) => {
            return format!(
                "; the database's file, ostrakon.db in the data directory, is damaged: {LOST}"
            );
        }
        Some(Code::Postgres(code)) => match &*code {
            "53100" => "; PostgreSQL's disk is full: make room on it",
            "53300" => "; PostgreSQL has too many connections: raise max_connections",
            "28P01" | "28000" => "; check user and password of the store's URL",
            "3D000" => {
                "; create the database first (`CREATE DATABASE`), and name it in the store's URL"
            }
            "42501" => "; the user of the store's URL must own the database",
            _ => "",
        },
        None if matches!(
            error,
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Tls(_)
        ) =>
        {
            "; check that the database answers: that PostgreSQL runs and the store's URL leads to it, or that the disk of the \
             data directory is in order"
        }
        _ => "",
    };
    what.to_owned()
}

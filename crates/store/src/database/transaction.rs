//! Named, retried transactions, and the conversion of integers.
//!
//! The engine's writes come one after the other: there is one connection that writes, and one
//! engine per database. So no transaction of its own disturbs another. On PostgreSQL, what
//! participants hand in is written beside them, by this process and by others; `submissions` says
//! how the two keep out of each other's way.
//!
//! On PostgreSQL the answer to a commit can be lost with the connection. So every transaction of
//! the engine leaves a token of its own in the table `engine`, and if it is not told what became of
//! it, no other one begins before the token has been looked up: the caller always learns what has
//! happened.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::{Any, AnyConnection, Transaction};
use tokio::sync::MutexGuard;

use crate::database::Kind;
use crate::{Error, Store};

/// How often a transaction is begun while the database is locked or away; each try waits itself.
const TRIES: u32 = 5;
/// How long a commit of the engine may take. A database whose machine has vanished never answers,
/// and nothing tells its clients so.
const ANSWER: Duration = Duration::from_secs(60);
/// How long a transaction waits for its turn. Those before it together take far less, unless one of
/// them waits for an answer that never comes.
const TURN: Duration = Duration::from_secs(300);
/// How long whoever hands something in waits, who can do it again.
pub(crate) const INTAKE_ANSWER: Duration = Duration::from_secs(10);
/// How long the database is asked what became of a commit, and how long after each try.
const ASK: Duration = Duration::from_secs(30);
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The advisory lock between taking in and sealing. Locks are per database.
const INTAKE_LOCK: i64 = 0x6f73_7472_696e_7461;

/// Who writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The one engine process.
    Engine,
    /// Whoever takes in.
    Intake,
}

/// A transaction under way. Without [`Write::commit`] nothing has happened.
pub(crate) struct Write<'store> {
    store: &'store Store,
    transaction: Transaction<'static, Any>,
    name: &'static str,
    /// One of the engine's has the turn until it is known what became of it.
    turn: Option<MutexGuard<'store, ()>>,
}

impl Deref for Write<'_> {
    type Target = AnyConnection;
    fn deref(&self) -> &AnyConnection {
        &self.transaction
    }
}

impl DerefMut for Write<'_> {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        &mut self.transaction
    }
}

impl Store {
    /// Why whatever the engine wants to write is refused until it is started again, if so:
    /// [`Error::Unknown`] or [`Error::Superseded`].
    pub fn end_of_writing(&self) -> Option<Error> {
        if self.lost.load(Ordering::Relaxed) {
            return Some(Error::Unknown);
        }
        self.pools.superseded.load(Ordering::Relaxed).then_some(Error::Superseded)
    }

    /// Begins one of the engine's transactions. Only the beginning is retried: on SQLite it takes
    /// the write lock at once (a transaction that first reads could find it taken when it comes to
    /// write), and on PostgreSQL it is where a lost connection is replaced.
    pub(crate) async fn begin(&self, name: &'static str) -> Result<Write<'_>, Error> {
        self.begin_on(Side::Engine, name).await
    }

    /// Begins a transaction of what participants hand in.
    pub(crate) async fn begin_intake(&self, name: &'static str) -> Result<Write<'_>, Error> {
        self.begin_on(Side::Intake, name).await
    }

    async fn begin_on(&self, side: Side, name: &'static str) -> Result<Write<'_>, Error> {
        let statement = match self.pools.kind {
            Kind::Sqlite => "BEGIN IMMEDIATE",
            Kind::Postgres => "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
        };
        let pool = match side {
            Side::Engine => &self.pools.writer,
            Side::Intake => &self.pools.intake,
        };
        let turn = match (side, self.pools.kind) {
            (Side::Engine, Kind::Sqlite) => Some(self.pools.turn.lock().await),
            (Side::Engine, Kind::Postgres) => {
                let turn = tokio::time::timeout(TURN, self.pools.turn.lock()).await;
                Some(turn.map_err(|_| self.stuck())?)
            }
            (Side::Intake, _) => None,
        };
        let mut tries = 1;
        loop {
            if side == Side::Engine
                && let Some(end) = self.end_of_writing()
            {
                return Err(end);
            }
            match pool.begin_with(statement).await.map_err(Error::from) {
                Ok(transaction) => return Ok(Write { store: self, transaction, name, turn }),
                Err(error) if error.is_transient() && tries < TRIES => {
                    // If none of the tries succeeds, whoever calls logs that.
                    tracing::debug!(transaction = name, tries, %error, "the database cannot be written, trying again");
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Write<'_> {
    /// Lets an epoch that collects be left alone by whoever takes in submissions, until the
    /// transaction ends. On SQLite nobody else writes anyway.
    pub(crate) async fn hold_back_intake(&mut self) -> Result<(), Error> {
        self.lock("SELECT pg_advisory_xact_lock($1)", INTAKE_LOCK).await
    }

    /// Keeps epochs that collect from being sealed until the transaction ends. PostgreSQL serves
    /// locks in the order in which they are asked for, so an engine that wants to seal does not
    /// wait longer than the batches under way.
    pub(crate) async fn join_intake(&mut self) -> Result<(), Error> {
        self.lock("SELECT pg_advisory_xact_lock_shared($1)", INTAKE_LOCK).await
    }

    async fn lock(&mut self, query: &'static str, lock: i64) -> Result<(), Error> {
        if self.store.pools.kind == Kind::Postgres {
            sqlx::query(query).bind(lock).execute(&mut *self.transaction).await?;
        }
        Ok(())
    }

    /// Commits what may be done again: who is not told that it was done does it again.
    pub(crate) async fn commit_repeatable(self) -> Result<(), Error> {
        let Self { store, transaction, name: _, turn } = self;
        match store.answer(transaction).await {
            Some(done) => Ok(done?),
            // The one connection that writes is still waiting.
            None if turn.is_some() => Err(store.stuck()),
            None => Err(no_answer().into()),
        }
    }

    /// Commits. When this returns `Ok`, the effect is on disk; otherwise nothing has happened.
    ///
    /// # Errors
    /// The database's; [`Error::Unknown`] if it went away for so long that nobody can tell, or
    /// [`Error::Superseded`] if another engine came meanwhile, and ever after.
    pub(crate) async fn commit(self) -> Result<(), Error> {
        let Self { store, mut transaction, name, turn: _until_known } = self;
        if store.pools.kind == Kind::Sqlite {
            return Ok(transaction.commit().await?);
        }
        let update = "UPDATE engine SET token = CAST(gen_random_uuid() AS TEXT) RETURNING token";
        let token: String = sqlx::query_scalar(update).fetch_one(&mut *transaction).await?;
        match store.answer(transaction).await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => store.outcome(name, &token, error).await,
            None => store.outcome(name, &token, no_answer()).await,
        }
    }
}

impl Store {
    /// What the database answers to a commit; `None` if it does not in time.
    async fn answer(
        &self,
        transaction: Transaction<'static, Any>,
    ) -> Option<Result<(), sqlx::Error>> {
        match self.pools.kind {
            Kind::Sqlite => Some(transaction.commit().await),
            Kind::Postgres => tokio::time::timeout(ANSWER, transaction.commit()).await.ok(),
        }
    }

    /// Lets the engine write nothing more: its one connection waits for a database that does not
    /// answer. After a restart the disk counts.
    fn stuck(&self) -> Error {
        self.lost.store(true, Ordering::Relaxed);
        Error::Unknown
    }

    /// Finds out what became of a transaction whose commit was answered with an error, or not at
    /// all. It still has the turn, so if it was committed, its token is the newest.
    async fn outcome(
        &self,
        name: &'static str,
        token: &str,
        error: sqlx::Error,
    ) -> Result<(), Error> {
        tracing::warn!(transaction = name, %error, "a commit failed, asking what became of it");
        let ask = async {
            loop {
                match self.newest_token().await {
                    Ok(newest) => return Ok(newest.as_deref() == Some(token)),
                    // The token may be the other engine's; this one writes no more, whatever became
                    // of the transaction.
                    Err(_) if self.pools.superseded.load(Ordering::Relaxed) => {
                        return Err(Error::Superseded);
                    }
                    Err(_) => tokio::time::sleep(ASK_AGAIN).await,
                }
            }
        };
        match tokio::time::timeout(ASK, ask).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(error.into()),
            Ok(Err(end)) => Err(end),
            // What is in memory may contradict what is on disk from here on.
            Err(_) => Err(self.stuck()),
        }
    }

    /// The token of the engine's newest transaction that was committed. The connection that writes
    /// has the engine's lock, which a session keeps to its end: so the one before has ended, and
    /// commits nothing any more.
    async fn newest_token(&self) -> Result<Option<String>, sqlx::Error> {
        sqlx::query_scalar("SELECT token FROM engine").fetch_one(&self.pools.writer).await
    }
}

/// That the database was waited for in vain.
pub(crate) fn no_answer() -> sqlx::Error {
    sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())
}

/// A number as the database stores it.
pub(crate) fn to_sql(number: u64) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| Error::State("a number above 2^63"))
}

/// A number as it was stored.
pub(crate) fn from_sql<T: TryFrom<i64>>(number: i64, column: &'static str) -> Result<T, Error> {
    T::try_from(number).map_err(|_| Error::Corrupt(column))
}

/// Bytes of fixed length as they were stored.
pub(crate) fn array<const N: usize>(bytes: &[u8], column: &'static str) -> Result<[u8; N], Error> {
    bytes.try_into().map_err(|_| Error::Corrupt(column))
}

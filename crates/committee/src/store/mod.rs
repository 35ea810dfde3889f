//! What a member remembers: one SQLite file, every write on disk when it returns.

mod again;
mod attempts;
mod past;
mod spent;
mod uploads;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ostrakon_computation::{
    ComputationId, Conclusion, Entry, Equivocation, Input, Order, Said, Seal, SignedDraft,
    Statement, Told,
};
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_party::wire;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Row, SqlSafeStr, SqlitePool};

pub(crate) use uploads::Begun;

/// How long a write may wait for others.
const BUSY: Duration = Duration::from_secs(60);

/// Why something could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database.
    #[error("the database: {0}; look at the disk's space and rights")]
    Database(#[from] sqlx::Error),
    /// Its schema.
    #[error("the database is of another version of this program: {0}")]
    Schema(#[from] sqlx::migrate::MigrateError),
    /// Bytes in it.
    #[error("the database is damaged: something in it is not what this program wrote")]
    Damaged(#[from] wire::Malformed),
}

/// A member's memory. Clones share it.
#[derive(Clone)]
pub struct Store(SqlitePool);

/// What is read of a computation at the start.
pub(crate) struct Remembered {
    pub draft: SignedDraft,
    pub order: Option<Order>,
    pub seal: Option<Seal>,
    pub conclusion: Option<Conclusion>,
    pub entries: Vec<Entry>,
    pub told: Vec<Told>,
    pub equivocations: Vec<Equivocation>,
    pub over: Option<u64>,
}

type Done<T> = Result<T, StoreError>;

/// The tables. Without sqlx's macros, for which the compiler would need its drivers too.
fn migrations() -> Migrator {
    let sql = include_str!("../../migrations/0001_initial.sql").into_sql_str();
    let first = Migration::new(1, "initial".into(), MigrationType::Simple, sql, false);
    Migrator::with_migrations(vec![first])
}

pub(crate) use again::Again;
pub(crate) use spent::Charged;

impl Store {
    /// Opens the database in this file, and makes it if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn open(path: &Path) -> Done<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .pragma("secure_delete", "ON")
            .busy_timeout(BUSY);
        // Writes come one after the other anyway; but journals are not to wait behind a flood of
        // inputs.
        let pool = SqlitePoolOptions::new()
            .max_connections(4)
            .acquire_timeout(BUSY)
            .connect_with(options)
            .await?;
        migrations().run(&pool).await?;
        Ok(Self(pool))
    }

    /// Closes it; what was written is on disk already.
    pub async fn close(&self) {
        self.0.close().await;
    }

    pub(crate) async fn computations(&self, members: usize) -> Done<Vec<Remembered>> {
        let rows =
            sqlx::query("SELECT id, draft, close_order, seal, conclusion, over FROM computations")
                .fetch_all(&self.0)
                .await?;
        let mut all = Vec::new();
        for row in rows {
            let id: Vec<u8> = row.get(0);
            let order = optional(row.get(2))?;
            let seal = optional(row.get(3))?;
            let conclusion = optional(row.get(4))?;
            let draft = wire::decode(row.get::<&[u8], _>(1))?;
            let over: Option<i64> = row.get(5);
            let over = over.map(u64::try_from).transpose().map_err(|_| wire::Malformed)?;
            let entries = self.entries(&id).await?;
            let told = self.told(&id, members).await?;
            let equivocations = self.equivocations(&id).await?;
            let own =
                Remembered { draft, order, seal, conclusion, entries, told, equivocations, over };
            all.push(own);
        }
        Ok(all)
    }

    async fn entries(&self, id: &[u8]) -> Done<Vec<Entry>> {
        let rows = sqlx::query(
            "SELECT contributor, body_digest, signature FROM inputs \
             WHERE computation = ? AND held = 1 ORDER BY contributor, body_digest",
        )
        .bind(id)
        .fetch_all(&self.0)
        .await?;
        let entry = |row: &sqlx::sqlite::SqliteRow| {
            let bytes = [row.get::<&[u8], _>(0), row.get(1), row.get(2)].concat();
            wire::decode(&bytes)
        };
        Ok(rows.iter().map(entry).collect::<Result<_, _>>()?)
    }

    async fn told(&self, id: &[u8], members: usize) -> Done<Vec<Told>> {
        let rows = sqlx::query("SELECT member, statement FROM statements WHERE computation = ?")
            .bind(id)
            .fetch_all(&self.0)
            .await?;
        let mut told = vec![Told::default(); members];
        for row in rows {
            let member = usize::try_from(row.get::<i64, _>(0)).map_err(|_| wire::Malformed)?;
            let statement: Statement = wire::decode(row.get::<&[u8], _>(1))?;
            let told = told.get_mut(member).ok_or(wire::Malformed)?;
            told.take(statement).map_err(|_| wire::Malformed)?;
        }
        Ok(told)
    }

    async fn equivocations(&self, id: &[u8]) -> Done<Vec<Equivocation>> {
        let rows = sqlx::query("SELECT evidence FROM equivocations WHERE computation = ?")
            .bind(id)
            .fetch_all(&self.0)
            .await?;
        let read = |row: &sqlx::sqlite::SqliteRow| wire::decode(row.get::<&[u8], _>(0));
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    pub(crate) async fn add(&self, draft: &SignedDraft) -> Done<()> {
        sqlx::query("INSERT INTO computations (id, draft) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(&draft.draft.id().0.0[..])
            .bind(wire::encode(draft))
            .execute(&self.0)
            .await?;
        Ok(())
    }

    /// Keeps an input; `held` if a contributor has brought it here.
    pub(crate) async fn keep(&self, id: &ComputationId, input: &Input, held: bool) -> Done<()> {
        let Entry { contributor, body, signature } = &input.entry;
        sqlx::query(
            "INSERT INTO inputs (computation, contributor, body_digest, signature, body, held) \
             VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        )
        .bind(&id.0.0[..])
        .bind(&contributor.0[..])
        .bind(&body.0[..])
        .bind(&signature.0.0[..])
        .bind(&input.body)
        .bind(held)
        .execute(&self.0)
        .await?;
        Ok(())
    }

    pub(crate) async fn input(
        &self,
        id: &ComputationId,
        contributor: &VerifyingKey,
        body: &Digest,
    ) -> Done<Option<Input>> {
        let row = sqlx::query(
            "SELECT contributor, signature, body FROM inputs \
             WHERE computation = ? AND contributor = ? AND body_digest = ?",
        )
        .bind(&id.0.0[..])
        .bind(&contributor.0[..])
        .bind(&body.0[..])
        .fetch_optional(&self.0)
        .await?;
        row.as_ref().map(input_of).transpose()
    }

    /// All inputs that are at hand, those included that nobody brought here.
    pub(crate) async fn inputs(
        &self,
        id: &ComputationId,
    ) -> Done<BTreeMap<(VerifyingKey, Digest), Input>> {
        let rows =
            sqlx::query("SELECT contributor, signature, body FROM inputs WHERE computation = ?")
                .bind(&id.0.0[..])
                .fetch_all(&self.0)
                .await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let input = input_of(row)?;
            Ok((input.entry.input(), input))
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn order(&self, order: &Order) -> Done<()> {
        sqlx::query("UPDATE computations SET close_order = ? WHERE id = ?")
            .bind(wire::encode(order))
            .bind(&order.computation.0.0[..])
            .execute(&self.0)
            .await?;
        Ok(())
    }

    pub(crate) async fn seal(&self, id: &ComputationId, seal: &Seal) -> Done<()> {
        sqlx::query("UPDATE computations SET seal = ? WHERE id = ?")
            .bind(wire::encode(seal))
            .bind(&id.0.0[..])
            .execute(&self.0)
            .await?;
        Ok(())
    }

    /// Keeps a member's statement, in place of the one of its kind.
    pub(crate) async fn state(&self, member: usize, statement: &Statement) -> Done<()> {
        sqlx::query(
            "INSERT INTO statements (computation, member, kind, statement) VALUES (?, ?, ?, ?) \
             ON CONFLICT (computation, member, kind) DO UPDATE SET statement = excluded.statement",
        )
        .bind(&statement.computation.0.0[..])
        .bind(number(member))
        .bind(kind(&statement.said))
        .bind(wire::encode(statement))
        .execute(&self.0)
        .await?;
        Ok(())
    }

    pub(crate) async fn convict(&self, evidence: &Equivocation) -> Done<()> {
        sqlx::query(
            "INSERT INTO equivocations (computation, member, evidence) VALUES (?, ?, ?) \
             ON CONFLICT DO NOTHING",
        )
        .bind(&evidence.one.computation.0.0[..])
        .bind(number(evidence.member))
        .bind(wire::encode(evidence))
        .execute(&self.0)
        .await?;
        Ok(())
    }

    /// Raises the generation and returns it.
    pub(crate) async fn begin(&self, id: &ComputationId) -> Done<u32> {
        let row = sqlx::query(
            "UPDATE computations SET generation = generation + 1 WHERE id = ? RETURNING generation",
        )
        .bind(&id.0.0[..])
        .fetch_one(&self.0)
        .await?;
        Ok(u32::try_from(row.get::<i64, _>(0)).map_err(|_| wire::Malformed)?)
    }

    pub(crate) async fn conclude(
        &self,
        id: &ComputationId,
        conclusion: &Conclusion,
        now: u64,
    ) -> Done<()> {
        sqlx::query("UPDATE computations SET conclusion = ?, over = ? WHERE id = ?")
            .bind(wire::encode(conclusion))
            .bind(i64::try_from(now).unwrap_or(i64::MAX))
            .bind(&id.0.0[..])
            .execute(&self.0)
            .await?;
        Ok(())
    }

    /// Writes marks unless something stands there, all or none; returns what stood there before.
    pub(crate) async fn mark(
        &self,
        id: &ComputationId,
        entries: &[(Vec<u8>, Vec<u8>)],
    ) -> Done<Vec<Option<Vec<u8>>>> {
        let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
        let mut before = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            let written = sqlx::query(
                "INSERT INTO marks (computation, name, value) VALUES (?, ?, ?) \
                 ON CONFLICT DO NOTHING",
            )
            .bind(&id.0.0[..])
            .bind(name)
            .bind(value)
            .execute(&mut *transaction)
            .await?;
            if written.rows_affected() > 0 {
                before.push(None);
                continue;
            }
            let row = sqlx::query("SELECT value FROM marks WHERE computation = ? AND name = ?")
                .bind(&id.0.0[..])
                .bind(name)
                .fetch_one(&mut *transaction)
                .await?;
            before.push(Some(row.get(0)));
        }
        transaction.commit().await?;
        Ok(before)
    }

    pub(crate) async fn marked(&self, id: &ComputationId, name: &[u8]) -> Done<Option<Vec<u8>>> {
        let row = sqlx::query("SELECT value FROM marks WHERE computation = ? AND name = ?")
            .bind(&id.0.0[..])
            .bind(name)
            .fetch_optional(&self.0)
            .await?;
        Ok(row.map(|row| row.get(0)))
    }
}

/// An input of its contributor, signature and body.
fn input_of(row: &sqlx::sqlite::SqliteRow) -> Done<Input> {
    let bytes = [row.get::<&[u8], _>(0), row.get(1), row.get(2)].concat();
    Ok(Input::decode(&bytes).ok_or(wire::Malformed)?)
}

fn optional<T: DeserializeOwned + Serialize>(bytes: Option<Vec<u8>>) -> Done<Option<T>> {
    Ok(bytes.map(|bytes| wire::decode(&bytes)).transpose()?)
}

fn number(member: usize) -> i64 {
    i64::try_from(member).expect("a committee has few members")
}

fn kind(said: &Said) -> &'static str {
    match said {
        Said::Receipt { .. } => "receipt",
        Said::Holdings(_) => "holdings",
        Said::Sealed { .. } => "sealed",
        Said::Ready { .. } => "ready",
        Said::Outcome { .. } | Said::Cancelled { .. } => "outcome",
        Said::Stopped(_) => "stopped",
    }
}

//! The two databases that a store can be in, and what differs between them.
//!
//! Every query is written once, in the SQL that both understand, and runs through sqlx's driver for
//! "any" database. Here is the rest: how each is reached, what makes a commit durable, and how it
//! is locked for one engine.

pub(crate) mod erasable;
pub(crate) mod rows;
pub(crate) mod scratch;
pub(crate) mod transaction;

use std::fmt::{self, Write as _};
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection, SqlSafeStr};
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use crate::Error;
use crate::files::create_private_file;

/// Which database a store is in.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// A file in the store's directory.
    Sqlite,
    /// A PostgreSQL database of this server's own, by URL. The URL may hold a password, so it is
    /// not printed.
    Postgres(Zeroizing<String>),
}

impl FromStr for Database {
    type Err = String;

    /// `sqlite`, or a URL with the scheme `postgres` or `postgresql`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "sqlite" {
            return Ok(Self::Sqlite);
        }
        let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
        if !matches!(scheme, "postgres" | "postgresql") {
            return Err("the store's URL must be `sqlite` or begin with `postgres://`".into());
        }
        // What the parser says does not repeat the URL.
        AnyConnectOptions::from_str(text).map_err(|error| format!("the store's URL: {error}"))?;
        Ok(Self::Postgres(Zeroizing::new(text.into())))
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres(_) => "postgres://…",
        })
    }
}

/// Which of the two, without the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// Connections to a database.
pub(crate) struct Pools {
    pub kind: Kind,
    /// One connection: the engine's writes come one after the other, on both databases.
    pub writer: AnyPool,
    /// Held by the engine's transaction until it is known what became of it.
    pub turn: Mutex<()>,
    /// For what participants hand in. On SQLite this is the writer.
    pub intake: AnyPool,
    pub readers: AnyPool,
    /// Whether an engine is elsewhere, which is to hear of what is taken in here.
    pub beside: bool,
    /// Set when another engine has come in between, so that this one must not write any more.
    pub superseded: Arc<AtomicBool>,
}

/// How long a statement waits for another process's lock (a backup tool's, for example), and
/// everybody for a connection.
const BUSY: Duration = Duration::from_secs(10);
/// Connections that read.
const READERS: u32 = 3;
/// Connections over which batches of submissions are written to PostgreSQL.
const INTAKES: u32 = 2;
/// How long an engine that starts waits for one that is just ending.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(100);
/// The advisory lock of the one engine that may write. The number means nothing; locks are per
/// database.
const ENGINE_LOCK: i64 = 0x6f73_7472_616b_6f6e;
/// PostgreSQL 13 is the oldest that draws tokens by itself (`gen_random_uuid`).
const OLDEST_POSTGRES: i64 = 130_000;

/// Without sqlx's macros, for which the compiler would need both databases' drivers too.
static SQLITE: LazyLock<Migrator> =
    LazyLock::new(|| initial(include_str!("../../migrations/sqlite/0001_initial.sql")));
static POSTGRES: LazyLock<Migrator> =
    LazyLock::new(|| initial(include_str!("../../migrations/postgres/0001_initial.sql")));

fn initial(sql: &'static str) -> Migrator {
    let simple = MigrationType::Simple;
    let first = Migration::new(1, "initial".into(), simple, sql.into_sql_str(), false);
    Migrator::with_migrations(vec![first])
}

/// Connects to the database for the one engine process that may write to it.
pub(crate) async fn open(directory: &Path, database: &Database) -> Result<Pools, Error> {
    sqlx::any::install_default_drivers();
    match database {
        Database::Sqlite => open_sqlite(directory).await,
        Database::Postgres(url) => open_postgres(url).await,
    }
}

async fn open_sqlite(directory: &Path) -> Result<Pools, Error> {
    let path = directory.join("ostrakon.db");
    create_private_file(&path)?;
    let path = path.canonicalize().map_err(crate::files::failure(&path))?;
    // A pool would try again and again, and then not say why.
    let mut first = sqlite_options(&path, "rw")?.connect().await?;
    execute(&mut first, "PRAGMA schema_version".to_owned()).await?;
    sqlx::query("SELECT count(*) FROM sqlite_master").fetch_one(&mut first).await?;
    first.close().await?;
    let writer = one_writer()
        .after_connect(|connection, _| {
            Box::pin(async move {
                // A commit has reached the disk when it returns, and what is deleted or replaced is
                // overwritten.
                for pragma in [
                    "journal_mode = WAL",
                    "synchronous = FULL",
                    "foreign_keys = ON",
                    "secure_delete = ON",
                ] {
                    execute(connection, format!("PRAGMA {pragma}")).await?;
                }
                wait_for_locks(connection).await
            })
        })
        .connect_with(sqlite_options(&path, "rw")?)
        .await?;
    migrate(&SQLITE, &mut *writer.acquire().await?, &path.display().to_string()).await?;
    let readers = AnyPoolOptions::new()
        .max_connections(READERS)
        .after_connect(|connection, _| Box::pin(wait_for_locks(connection)))
        .connect_with(sqlite_options(&path, "ro")?)
        .await?;
    let (intake, turn, superseded) = (writer.clone(), Mutex::default(), Arc::default());
    Ok(Pools { kind: Kind::Sqlite, intake, writer, turn, readers, beside: false, superseded })
}

/// Looks whether the database can be used, and changes nothing: SQLite's file is read as a whole,
/// if there is one, and PostgreSQL is asked for its settings.
///
/// # Errors
/// What is wrong with it.
pub(crate) async fn examine(directory: &Path, database: &Database) -> Result<(), Error> {
    sqlx::any::install_default_drivers();
    let Database::Postgres(url) = database else {
        return examine_sqlite(&directory.join("ostrakon.db")).await;
    };
    let mut connection = AnyConnectOptions::from_str(url)?.connect().await?;
    check_postgres(&mut connection).await?;
    // Before the first start there is no schema, and an older one is brought up to date.
    match check_version(&mut connection).await {
        Ok(()) | Err(Error::OlderSchema) => Ok(connection.close().await?),
        Err(other) => Err(other),
    }
}

async fn examine_sqlite(path: &Path) -> Result<(), Error> {
    if !path.exists() {
        return Ok(());
    }
    let path = path.canonicalize().map_err(crate::files::failure(path))?;
    let mut connection = sqlite_options(&path, "ro")?.connect().await?;
    let found: String =
        sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await?;
    if found != "ok" {
        return Err(Error::DamagedDatabase { path, found });
    }
    let query = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations");
    let newest = SQLITE.iter().map(|migration| migration.version).max().unwrap_or(0);
    let version: Option<i64> = query.fetch_one(&mut connection).await.unwrap_or(None);
    connection.close().await?;
    match version {
        Some(version) if version > newest => {
            Err(Error::NewerSchema { database: path.display().to_string(), version })
        }
        _ => Ok(()),
    }
}

async fn wait_for_locks(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    execute(connection, format!("PRAGMA busy_timeout = {}", BUSY.as_millis())).await
}

async fn execute(connection: &mut AnyConnection, statement: String) -> Result<(), sqlx::Error> {
    sqlx::query(sqlx::AssertSqlSafe(statement)).persistent(false).execute(connection).await?;
    Ok(())
}

/// Options by URL, in which every byte of the path that could mean something else is escaped.
fn sqlite_options(path: &Path, mode: &str) -> Result<AnyConnectOptions, Error> {
    let mut url = String::from("sqlite://");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                url.push(char::from(byte))
            }
            _ => write!(url, "%{byte:02X}").expect("a string takes everything"),
        }
    }
    write!(url, "?mode={mode}").expect("a string takes everything");
    Ok(AnyConnectOptions::from_str(&url)?)
}

/// A pool of the one connection that writes.
fn one_writer() -> AnyPoolOptions {
    AnyPoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(BUSY)
        // When SQLite rolls back by itself, as it does when the disk is full, the driver believes
        // that the transaction is still open, and would begin no other on the connection. A new one
        // takes its place.
        .before_acquire(|connection, _| {
            Box::pin(async move { Ok(!connection.is_in_transaction()) })
        })
}

async fn open_postgres(url: &str) -> Result<Pools, Error> {
    let options = AnyConnectOptions::from_str(url)?;
    let generation = begin_generation(&options).await?;
    let superseded = Arc::<AtomicBool>::default();
    let flag = Arc::clone(&superseded);
    let writer = one_writer()
        .after_connect(move |connection, _| {
            let flag = Arc::clone(&flag);
            Box::pin(async move {
                configure(connection).await?;
                take_over(connection, generation, &flag).await
            })
        })
        .connect_with(options.clone())
        .await?;
    let (intake, readers) = shared_pools(options).await?;
    let turn = Mutex::default();
    Ok(Pools { kind: Kind::Postgres, writer, turn, intake, readers, beside: false, superseded })
}

/// Checks the database, brings its schema up to date, and counts this opening: all under the
/// engine's lock.
async fn begin_generation(options: &AnyConnectOptions) -> Result<i64, Error> {
    let mut connection = options.connect().await?;
    check_postgres(&mut connection).await?;
    let mut waited = Duration::ZERO;
    while !try_lock(&mut connection).await? {
        // A process that was killed may have left a statement behind that is still running.
        if waited >= PATIENCE {
            return Err(Error::DatabaseInUse);
        }
        tokio::time::sleep(LOOK).await;
        waited += LOOK;
    }
    migrate(&POSTGRES, &mut connection, "the PostgreSQL database").await?;
    let update = "UPDATE engine SET generation = generation + 1 RETURNING generation";
    let generation = sqlx::query_scalar(update).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(generation)
}

/// Connects to the database beside the engine: nothing is migrated, and nothing of the engine's can
/// be written.
pub(crate) async fn join(database: &Database) -> Result<Pools, Error> {
    sqlx::any::install_default_drivers();
    let Database::Postgres(url) = database else {
        return Err(Error::Unsuitable(
            "only PostgreSQL serves several processes: give the store a `postgres://` URL",
        ));
    };
    let options = AnyConnectOptions::from_str(url)?;
    let mut connection = options.connect().await?;
    check_postgres(&mut connection).await?;
    check_version(&mut connection).await?;
    connection.close().await?;
    let (intake, readers) = shared_pools(options).await?;
    let writer = AnyPoolOptions::new().connect_lazy_with(AnyConnectOptions::from_str(url)?);
    // What the engine alone may do is refused from the start.
    let superseded = Arc::new(AtomicBool::new(true));
    let turn = Mutex::default();
    Ok(Pools { kind: Kind::Postgres, writer, turn, intake, readers, beside: true, superseded })
}

/// Whether the schema is that of this program.
async fn check_version(connection: &mut AnyConnection) -> Result<(), Error> {
    let newest = POSTGRES.iter().map(|migration| migration.version).max().unwrap_or(0);
    let query = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations");
    match query.fetch_one(connection).await {
        Ok(Some(version)) if version == newest => Ok(()),
        Ok(Some(version)) if version > newest => {
            Err(Error::NewerSchema { database: "the PostgreSQL database".into(), version })
        }
        // No engine has ever been here, and the table does not exist.
        Ok(_) | Err(sqlx::Error::Database(_)) => Err(Error::OlderSchema),
        Err(other) => Err(other.into()),
    }
}

/// Connections for submissions, and for reading.
async fn shared_pools(options: AnyConnectOptions) -> Result<(AnyPool, AnyPool), Error> {
    let many = |count| {
        let pool = AnyPoolOptions::new().max_connections(count).acquire_timeout(BUSY);
        pool.after_connect(|connection, _| Box::pin(configure(connection)))
    };
    Ok((
        many(INTAKES).connect_with(options.clone()).await?,
        many(READERS).connect_with(options).await?,
    ))
}

async fn check_postgres(connection: &mut AnyConnection) -> Result<(), Error> {
    let version: i64 = setting(connection, "server_version_num").await?.parse().unwrap_or(0);
    if version < OLDEST_POSTGRES {
        return Err(Error::Unsuitable("PostgreSQL is older than version 13: upgrade it"));
    }
    if setting(connection, "fsync").await? != "on" {
        return Err(Error::Unsuitable(
            "`fsync` is off, so a crash of its machine would undo what was written: turn it on in postgresql.conf",
        ));
    }
    if setting(connection, "server_encoding").await? != "UTF8" {
        return Err(Error::Unsuitable(
            "the database's encoding is not UTF8: create it with `ENCODING 'UTF8'`",
        ));
    }
    Ok(())
}

async fn setting(connection: &mut AnyConnection, name: &str) -> Result<String, Error> {
    Ok(sqlx::query_scalar("SELECT current_setting($1)").bind(name).fetch_one(connection).await?)
}

/// Sets what a connection needs, whatever the database's defaults.
async fn configure(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    for query in [
        // A commit has reached the disk when it returns. Stronger settings stay.
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        // A prepared statement keeps no plan: one made while a table was empty would read all of it
        // when it is large.
        "SELECT set_config('plan_cache_mode', 'force_custom_plan', false)",
        // Rows are found by their keys. For a few of them together the planner would rather read
        // all of a table.
        "SELECT set_config('enable_seqscan', 'off', false)",
        // What has no index counts as very dear then, and would be compiled each time: for a tenth
        // of a second and more, to read one row.
        "SELECT set_config('jit', 'off', false)",
        // A process whose machine has vanished keeps its locks no longer than this: sealing waits
        // for whoever takes in.
        "SELECT set_config('idle_in_transaction_session_timeout', '10s', false)",
        // And its session ends soon after, so that another engine can have the lock. Sockets of the
        // same machine ignore it.
        "SELECT set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '5', false), \
         set_config('tcp_keepalives_count', '2', false), set_config('tcp_user_timeout', '15s', false)",
    ] {
        sqlx::query(query).persistent(false).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn try_lock(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
        .bind(ENGINE_LOCK)
        .fetch_one(connection)
        .await
}

/// Takes the engine's lock for the connection that writes. The lock lasts as long as the
/// connection. When that was lost, another engine may have been here, and what this one has in
/// memory would be out of date: then it writes no more.
async fn take_over(
    connection: &mut AnyConnection,
    mine: i64,
    superseded: &AtomicBool,
) -> Result<(), sqlx::Error> {
    // The lock first: whoever has it knows that the number stays.
    let locked = try_lock(connection).await?;
    let generation: i64 =
        sqlx::query_scalar("SELECT generation FROM engine").fetch_one(&mut *connection).await?;
    if generation != mine {
        superseded.store(true, Ordering::Relaxed);
    }
    if generation != mine || !locked {
        return Err(sqlx::Error::Configuration("another engine uses this database".into()));
    }
    Ok(())
}

async fn migrate(
    migrations: &Migrator,
    connection: &mut AnyConnection,
    name: &str,
) -> Result<(), Error> {
    // `run` asks for more than a future that is `Send` can give ("implementation of `Acquire` is
    // not general enough").
    migrations.run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => {
            Error::NewerSchema { database: name.into(), version }
        }
        // A full disk or a damaged file, say.
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        other => Error::Migration(Box::new(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pragma(pool: &AnyPool, name: &str) -> i64 {
        let query = format!("PRAGMA {name}");
        sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(pool).await.unwrap()
    }

    #[tokio::test]
    async fn sqlite_is_set_to_be_durable_on_every_connection() {
        let directory = tempfile::tempdir().unwrap();
        let pools = open(directory.path(), &Database::Sqlite).await.unwrap();
        for _ in 0..2 {
            assert_eq!(pragma(&pools.writer, "synchronous").await, 2, "FULL");
            assert_eq!(pragma(&pools.writer, "foreign_keys").await, 1);
            assert_eq!(pragma(&pools.writer, "secure_delete").await, 1);
            assert_eq!(pragma(&pools.writer, "busy_timeout").await, 10_000);
            let query = sqlx::query_scalar("PRAGMA journal_mode");
            let mode: String = query.fetch_one(&pools.writer).await.unwrap();
            assert_eq!(mode, "wal");
            // Again with a new connection.
            let connection = pools.writer.acquire().await.unwrap().detach();
            connection.close().await.unwrap();
        }
        let refused = sqlx::raw_sql("CREATE TABLE t (x INTEGER)").execute(&pools.readers).await;
        assert!(refused.is_err(), "readers only read");
    }

    #[tokio::test]
    async fn postgres_compiles_no_statement() {
        let server = std::env::var("OSTRAKON_TEST_POSTGRES")
            .expect("run `cargo xtask postgres cargo test …`");
        let made =
            crate::Scratch::create(&server, vec![format!("settings_{}", std::process::id())])
                .await
                .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let pools = open(directory.path(), &made.urls()[0].parse().unwrap()).await.unwrap();
        for pool in [&pools.writer, &pools.intake, &pools.readers] {
            let plan =
                sqlx::query_scalar("EXPLAIN (ANALYZE) SELECT token FROM engine").fetch_all(pool);
            let plan: Vec<String> = plan.await.unwrap();
            assert!(plan.iter().any(|line| line.contains("Seq Scan")), "{plan:?}");
            assert!(!plan.iter().any(|line| line.contains("JIT")), "{plan:?}");
        }
    }
}

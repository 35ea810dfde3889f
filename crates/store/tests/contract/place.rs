//! Where a store of a test is.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use ostrakon_store::{Database, Error, Scratch, Store};
use sqlx::{AnyConnection, Connection};
use tempfile::TempDir;

/// Set by `cargo xtask test` and `cargo xtask postgres`: a database in which others may be made.
const VARIABLE: &str = "OSTRAKON_TEST_POSTGRES";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A directory and a database, both empty at first.
pub struct Place {
    directory: TempDir,
    pub database: Database,
    /// For statements beside the store.
    pub url: String,
}

impl Place {
    pub fn sqlite() -> Self {
        // A name that means something in a URL.
        let directory = tempfile::Builder::new().prefix("a store? 100% #").tempdir().unwrap();
        let name: String = directory
            .path()
            .display()
            .to_string()
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect();
        let url = format!("sqlite://{name}%2Fostrakon.db");
        Self { directory, database: Database::Sqlite, url }
    }

    pub async fn postgres() -> Self {
        let admin = server();
        let name =
            format!("contract_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let made =
            Scratch::create(&admin, vec![name]).await.expect("the tests' PostgreSQL answers");
        let url = made.urls().remove(0);
        Self { directory: TempDir::new().unwrap(), database: url.parse().unwrap(), url }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub async fn try_open(&self) -> Result<Store, Error> {
        Store::open(self.path(), &self.database).await
    }

    pub async fn open(&self) -> Store {
        self.try_open().await.expect("the store opens")
    }

    /// Executes a statement beside the store.
    pub async fn execute(&self, statement: &'static str) {
        let mut connection = self.connect().await;
        sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    pub async fn connect(&self) -> AnyConnection {
        sqlx::any::install_default_drivers();
        AnyConnection::connect(&self.url).await.unwrap()
    }
}

/// The URL of a PostgreSQL for tests, with a query part.
pub fn server() -> String {
    let url = std::env::var(VARIABLE).unwrap_or_else(|_| {
        panic!("{VARIABLE} is not set: run `cargo xtask test --only test`, or `cargo xtask postgres cargo test …`")
    });
    if url.contains('?') { url } else { format!("{url}?") }
}

//! Empty databases for measurements and tests, beside one that is there.

use std::str::FromStr;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions, Connection};

use crate::{Database, Error};

/// PostgreSQL databases that exist until [`Scratch::remove`].
pub struct Scratch {
    beside: String,
    names: Vec<String>,
}

impl Scratch {
    /// Makes empty databases of these names (lower-case letters, digits and `_`) on the server of
    /// the database that the URL leads to, whose user may make databases.
    ///
    /// # Errors
    /// [`Error::Unsuitable`] if it is no PostgreSQL URL, or a name has other characters; the
    /// database's, if there is one of a name already, for example.
    pub async fn create(beside: &str, names: Vec<String>) -> Result<Self, Error> {
        let plain = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        if !names.iter().all(|name| name.bytes().all(plain)) {
            return Err(Error::Unsuitable(
                "a database's name has a character that would have to be quoted",
            ));
        }
        match beside.parse() {
            Ok(Database::Postgres(_)) => {}
            _ => {
                return Err(Error::Unsuitable(
                    "give the URL of one: `postgres://USER@HOST/DATABASE`",
                ));
            }
        }
        let scratch = Self { beside: beside.to_owned(), names };
        let mut connection = scratch.connect().await?;
        for name in &scratch.names {
            let create = format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0");
            sqlx::query(sqlx::AssertSqlSafe(create))
                .persistent(false)
                .execute(&mut connection)
                .await?;
        }
        connection.close().await?;
        Ok(scratch)
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Their URLs.
    pub fn urls(&self) -> Vec<String> {
        let separator = if self.beside.contains('?') { '&' } else { '?' };
        self.names.iter().map(|name| format!("{}{separator}dbname={name}", self.beside)).collect()
    }

    /// Removes them, with whatever is connected to them.
    ///
    /// # Errors
    /// The database's; then those that come later remain.
    pub async fn remove(self) -> Result<(), Error> {
        let mut connection = self.connect().await?;
        for name in &self.names {
            let drop = format!("DROP DATABASE {name} WITH (FORCE)");
            sqlx::query(sqlx::AssertSqlSafe(drop))
                .persistent(false)
                .execute(&mut connection)
                .await?;
        }
        Ok(connection.close().await?)
    }

    async fn connect(&self) -> Result<AnyConnection, Error> {
        sqlx::any::install_default_drivers();
        Ok(AnyConnectOptions::from_str(&self.beside)?.connect().await?)
    }
}

//! Named, retried transactions, and the conversion of integers.

use sqlx::{Sqlite, Transaction};

use crate::{Error, Store};

/// How often a transaction is begun while another process (a backup, say) holds the database; each try waits itself.
const TRIES: u32 = 5;

impl Store {
    /// Begins a write transaction. Only the beginning can find the database locked, for it takes the write lock at once
    /// (a transaction that first reads could find it taken when it comes to write), so only the beginning is retried.
    /// When `commit` returns `Ok`, the effect is on disk; without it nothing has happened.
    pub(crate) async fn begin(&self, name: &'static str) -> Result<Transaction<'static, Sqlite>, Error> {
        let mut tries = 1;
        loop {
            match self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(Error::from) {
                Err(error) if error.is_transient() && tries < TRIES => {
                    tracing::warn!(transaction = name, tries, %error, "the database is locked, trying again");
                    tries += 1;
                }
                begun => return begun,
            }
        }
    }
}

/// A number as SQLite stores it.
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

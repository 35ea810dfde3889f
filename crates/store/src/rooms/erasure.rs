//! Erasing what was published, and what this server found before it was.
//!
//! The digests and signatures of an entry are in columns of their own and stay. What is replaced is
//! overwritten in the database (SQLite: `secure_delete`, and [`crate::database::erasable`]), and
//! [`Store::scrub`] empties what the database keeps of earlier versions.

use std::time::Duration;

use sqlx::{ConnectOptions, Connection, Row};

use crate::database::Kind;
use crate::database::erasable::{body_of, erasable};
use crate::database::transaction::{from_sql, no_answer, to_sql};
use crate::{Error, RoomKey, Store};

/// How long PostgreSQL may take to empty what it keeps.
const VACUUM: Duration = Duration::from_secs(3600);

impl Store {
    /// The entry that an epoch put on the board, encoded; `None` if there is none.
    ///
    /// # Errors
    /// The disk's.
    pub async fn entry_of(&self, room: &RoomKey, epoch: u64) -> Result<Option<Vec<u8>>, Error> {
        let query = sqlx::query_scalar("SELECT body FROM entries WHERE room = $1 AND epoch = $2");
        let query = query.bind(room.as_slice()).bind(to_sql(epoch)?);
        let stored: Option<Vec<u8>> = query.fetch_optional(&self.pools.readers).await?;
        stored.map(|stored| body_of(stored, "entries.body")).transpose()
    }

    /// What this server found in those epochs of a room that began before a time, in milliseconds
    /// since 1970: numbers and encodings, as far as they are still kept.
    ///
    /// # Errors
    /// The disk's.
    pub async fn conclusions_before(
        &self,
        room: &RoomKey,
        time: u64,
    ) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let query = "SELECT number, body FROM conclusions AS c \
                     JOIN epochs AS e ON e.room = c.room AND e.number = c.epoch \
                     WHERE c.room = $1 AND coalesce(begun_at, opened_at) < $2 ORDER BY number";
        let time = i64::try_from(time).unwrap_or(i64::MAX);
        let query = sqlx::query_as(query).bind(room.as_slice()).bind(time);
        let rows: Vec<(i64, Vec<u8>)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(number, stored): (i64, Vec<u8>)| {
            Ok((from_sql(number, "epochs.number")?, body_of(stored, "conclusions.body")?))
        };
        rows.into_iter().map(read).collect()
    }

    /// What this server found in an epoch, encoded; `None` if it is not kept.
    ///
    /// # Errors
    /// The disk's.
    pub async fn conclusion_of(
        &self,
        room: &RoomKey,
        epoch: u64,
    ) -> Result<Option<Vec<u8>>, Error> {
        let query = "SELECT body FROM conclusions WHERE room = $1 AND epoch = $2";
        let query = sqlx::query_scalar(query).bind(room.as_slice()).bind(to_sql(epoch)?);
        let stored: Option<Vec<u8>> = query.fetch_optional(&self.pools.readers).await?;
        stored.map(|stored| body_of(stored, "conclusions.body")).transpose()
    }

    /// Puts another encoding in place of what this server found in an epoch, one in which messages
    /// are erased; nothing if it is not kept any more.
    ///
    /// # Errors
    /// The disk's.
    pub async fn rewrite_conclusion(
        &self,
        room: &RoomKey,
        epoch: u64,
        conclusion: &[u8],
    ) -> Result<(), Error> {
        let mut transaction = self.begin("rewrite a conclusion").await?;
        let update = "UPDATE conclusions SET body = $1 WHERE room = $2 AND epoch = $3";
        let query = sqlx::query(update)
            .bind(erasable(conclusion))
            .bind(room.as_slice())
            .bind(to_sql(epoch)?);
        query.execute(&mut *transaction).await?;
        transaction.commit().await
    }

    /// Empties what the database keeps of what was replaced. Whether it could: a reader may be in
    /// the way.
    ///
    /// # Errors
    /// The disk's.
    pub async fn scrub(&self) -> Result<bool, Error> {
        match self.pools.kind {
            Kind::Sqlite => {
                let row = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
                    .fetch_one(&self.pools.writer)
                    .await?;
                Ok(row.try_get::<i64, _>(0)? == 0)
            }
            Kind::Postgres => {
                // It may take long, and keeps nobody from writing: so it has a connection of its
                // own.
                let work = async {
                    let mut own = self.pools.readers.connect_options().connect().await?;
                    sqlx::query("VACUUM entries, epochs, conclusions")
                        .persistent(false)
                        .execute(&mut own)
                        .await?;
                    own.close().await
                };
                tokio::time::timeout(VACUUM, work).await.unwrap_or_else(|_| Err(no_answer()))?;
                Ok(true)
            }
        }
    }
}

//! The mixing engine's marks: those that stand for ever, and those of an epoch, which stand until
//! every server has settled it.
//!
//! An epoch's marks can be large: a corrupt server leaves evidence of the size of a table in each
//! epoch. They are forgotten in the transaction that finishes the epoch, and none is written
//! afterwards: so whoever still works on the epoch learns that it is over, and decides nothing a
//! second time. What a batch was spent on is not among them.

use sqlx::AnyConnection;

use crate::database::transaction::to_sql;
use crate::{EpochState, Error, RoomKey, Store};

impl Store {
    /// Records that `name` has this value unless it has one, and returns the value that stands. On
    /// disk on return.
    ///
    /// # Errors
    /// The disk's.
    pub async fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        let mut transaction = self.begin("record a mark").await?;
        // The first value stands.
        sqlx::query(
            "INSERT INTO journal (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        )
        .bind(name)
        .bind(value)
        .execute(&mut *transaction)
        .await?;
        let query = sqlx::query_scalar("SELECT value FROM journal WHERE name = $1");
        let standing = query.bind(name).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(standing)
    }

    /// Like [`Store::record`], for as long as the epoch is being computed: from its sealing until
    /// it is finished.
    ///
    /// # Errors
    /// [`Error::State`] if it is not; the disk's.
    pub async fn record_in_epoch(
        &self,
        room: &RoomKey,
        epoch: u64,
        name: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let mut transaction = self.begin("record a mark of an epoch").await?;
        // Earlier versions kept these marks with the others.
        let query = sqlx::query_scalar("SELECT value FROM journal WHERE name = $1").bind(name);
        if let Some(standing) = query.fetch_optional(&mut *transaction).await? {
            return Ok(standing);
        }
        let insert = "INSERT INTO epoch_marks (room, epoch, name, value) SELECT $1, $2, $3, $4 WHERE EXISTS \
                      (SELECT 1 FROM epochs WHERE room = $1 AND number = $2 AND state IN ($5, $6)) \
                      ON CONFLICT (room, epoch, name) DO NOTHING";
        sqlx::query(insert)
            .bind(room.as_slice())
            .bind(to_sql(epoch)?)
            .bind(name)
            .bind(value)
            .bind(EpochState::Sealed as i64)
            .bind(EpochState::Settled as i64)
            .execute(&mut *transaction)
            .await?;
        let query = sqlx::query_scalar(
            "SELECT value FROM epoch_marks WHERE room = $1 AND epoch = $2 AND name = $3",
        );
        let query = query.bind(room.as_slice()).bind(to_sql(epoch)?).bind(name);
        let standing = query.fetch_optional(&mut *transaction).await?;
        let standing = standing
            .ok_or(Error::State("nothing is decided in an epoch that is not being computed"))?;
        transaction.commit().await?;
        Ok(standing)
    }

    /// The value of an epoch's mark, if it has one.
    ///
    /// # Errors
    /// The disk's.
    pub async fn mark_in_epoch(
        &self,
        room: &RoomKey,
        epoch: u64,
        name: &str,
    ) -> Result<Option<Vec<u8>>, Error> {
        // Earlier versions kept these marks with the others.
        if let Some(standing) = self.mark(name).await? {
            return Ok(Some(standing));
        }
        let query = sqlx::query_scalar(
            "SELECT value FROM epoch_marks WHERE room = $1 AND epoch = $2 AND name = $3",
        );
        let query = query.bind(room.as_slice()).bind(to_sql(epoch)?).bind(name);
        Ok(query.fetch_optional(&self.pools.readers).await?)
    }

    /// The value of a mark that stands for ever, if it has one.
    ///
    /// # Errors
    /// The disk's.
    pub async fn mark(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let query = sqlx::query_scalar("SELECT value FROM journal WHERE name = $1").bind(name);
        Ok(query.fetch_optional(&self.pools.readers).await?)
    }

    /// Every mark that stands for ever, by name. There are as many as batches were spent.
    ///
    /// # Errors
    /// The disk's.
    pub async fn marks(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        Ok(sqlx::query_as("SELECT name, value FROM journal ORDER BY name")
            .fetch_all(&self.pools.readers)
            .await?)
    }

    /// An epoch's marks, by name; none if it is finished.
    ///
    /// # Errors
    /// The disk's.
    pub async fn marks_of(
        &self,
        room: &RoomKey,
        epoch: u64,
    ) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let query =
            "SELECT name, value FROM epoch_marks WHERE room = $1 AND epoch = $2 ORDER BY name";
        let query = sqlx::query_as(query).bind(room.as_slice()).bind(to_sql(epoch)?);
        Ok(query.fetch_all(&self.pools.readers).await?)
    }
}

/// Forgets the marks of an epoch that is being finished.
pub(crate) async fn forget(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
) -> Result<(), Error> {
    let delete = sqlx::query("DELETE FROM epoch_marks WHERE room = $1 AND epoch = $2");
    delete.bind(room.as_slice()).bind(to_sql(epoch)?).execute(connection).await?;
    Ok(())
}

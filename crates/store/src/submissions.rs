//! What participants hand in, and marks of what was given to them, many at a time.
//!
//! A commit costs a write to the disk whatever it holds, so the server collects what arrives within a few milliseconds
//! and records it at once.

use ostrakon_crypto::VerifyingKey;
use sqlx::SqliteConnection;

use crate::transaction::{array, from_sql, to_sql};
use crate::{EpochState, Error, RoomKey, Store};

/// Something to be on disk before a participant is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intake {
    /// The issue for a slot is about to be given out.
    Issue {
        /// The room.
        room: RoomKey,
        /// The epoch.
        epoch: u64,
        /// The slot.
        slot: u32,
        /// Its owner, to whom alone it is given.
        key: VerifyingKey,
    },
    /// A submission.
    Submission {
        /// The room.
        room: RoomKey,
        /// The epoch.
        epoch: u64,
        /// What and whose.
        row: SubmissionRow,
    },
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is on disk, now or since earlier.
    Recorded,
    /// The slot or the key has another submission already.
    Different,
    /// The epoch does not collect any more, or the slot is not the key's.
    TooLate,
}

/// A submission on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionRow {
    /// The slot.
    pub slot: u32,
    /// Its owner.
    pub key: VerifyingKey,
    /// What the owner sent.
    pub body: Vec<u8>,
}

impl Store {
    /// Records many in one transaction; the results are in the order given.
    ///
    /// # Errors
    /// The disk's; then none is recorded.
    pub async fn take_in(&self, many: &[Intake]) -> Result<Vec<Taken>, Error> {
        let mut transaction = self.begin("take in").await?;
        let mut results = Vec::with_capacity(many.len());
        for one in many {
            results.push(match one {
                Intake::Issue { room, epoch, slot, key } => {
                    mark_issued(&mut transaction, room, *epoch, *slot, key).await?
                }
                Intake::Submission { room, epoch, row } => submit(&mut transaction, room, *epoch, row).await?,
            });
        }
        transaction.commit().await?;
        Ok(results)
    }

    /// The submissions of an epoch, by slot.
    ///
    /// # Errors
    /// The disk's.
    pub async fn submissions(&self, room: &RoomKey, epoch: u64) -> Result<Vec<SubmissionRow>, Error> {
        let query = "SELECT slot, key, body FROM submissions WHERE room = ? AND epoch = ? ORDER BY slot";
        let query = sqlx::query_as(query).bind(room.as_slice()).bind(to_sql(epoch)?);
        let rows: Vec<(i64, Vec<u8>, Vec<u8>)> = query.fetch_all(&self.readers).await?;
        let read = |(slot, key, body): (i64, Vec<u8>, _)| {
            let key = VerifyingKey(array(&key, "submissions.key")?);
            Ok(SubmissionRow { slot: from_sql(slot, "submissions.slot")?, key, body })
        };
        rows.into_iter().map(read).collect()
    }
}

/// Whether the slot is the key's, in an epoch that collects.
async fn owns(
    connection: &mut SqliteConnection,
    room: &RoomKey,
    epoch: u64,
    slot: u32,
    key: &VerifyingKey,
) -> Result<bool, Error> {
    let query = "SELECT count(*) FROM assignments JOIN epochs ON epochs.room = assignments.room \
                 AND epochs.number = assignments.epoch \
                 WHERE assignments.room = ? AND epoch = ? AND slot = ? AND key = ? AND state = ?";
    let count: i64 = sqlx::query_scalar(query)
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(slot)
        .bind(key.0.as_slice())
        .bind(EpochState::Collecting as i64)
        .fetch_one(connection)
        .await?;
    Ok(count == 1)
}

async fn mark_issued(
    connection: &mut SqliteConnection,
    room: &RoomKey,
    epoch: u64,
    slot: u32,
    key: &VerifyingKey,
) -> Result<Taken, Error> {
    if !owns(&mut *connection, room, epoch, slot, key).await? {
        return Ok(Taken::TooLate);
    }
    sqlx::query("UPDATE assignments SET issued = 1 WHERE room = ? AND epoch = ? AND slot = ?")
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(slot)
        .execute(connection)
        .await?;
    Ok(Taken::Recorded)
}

async fn submit(
    connection: &mut SqliteConnection,
    room: &RoomKey,
    epoch: u64,
    row: &SubmissionRow,
) -> Result<Taken, Error> {
    if !owns(&mut *connection, room, epoch, row.slot, &row.key).await? {
        return Ok(Taken::TooLate);
    }
    // One per slot and one per key: whichever of the two is taken, the first submission stands.
    sqlx::query("INSERT INTO submissions (room, epoch, slot, key, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(row.slot)
        .bind(row.key.0.as_slice())
        .bind(&row.body)
        .execute(&mut *connection)
        .await?;
    let query = "SELECT count(*) FROM submissions WHERE room = ? AND epoch = ? AND slot = ? AND key = ? AND body = ?";
    let same: i64 = sqlx::query_scalar(query)
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(row.slot)
        .bind(row.key.0.as_slice())
        .bind(&row.body)
        .fetch_one(connection)
        .await?;
    Ok(if same == 1 { Taken::Recorded } else { Taken::Different })
}

/// Forgets what was handed in for an epoch, and by whom.
pub(crate) async fn forget(connection: &mut SqliteConnection, room: &RoomKey, epoch: u64) -> Result<(), Error> {
    for delete in
        ["DELETE FROM submissions WHERE room = ? AND epoch = ?", "DELETE FROM assignments WHERE room = ? AND epoch = ?"]
    {
        sqlx::query(delete).bind(room.as_slice()).bind(to_sql(epoch)?).execute(&mut *connection).await?;
    }
    Ok(())
}

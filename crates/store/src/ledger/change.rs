//! What a delivered announcement does to the recorded state: written in the same transaction that
//! marks it delivered.

use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;
use sqlx::AnyConnection;

use crate::database::rows::{pieces, values};
use crate::database::transaction::{Write, to_sql};
use crate::jobs::words;
use crate::{BatchState, EpochState, Error, JobWord, RoomKey};

/// One change. Whoever makes it has checked that the state allows it; the schema's constraints
/// check again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A room comes into being.
    CreateRoom {
        /// Its id.
        room: RoomKey,
        /// Its encoded descriptor.
        descriptor: Vec<u8>,
        /// The server whose operator made it.
        author: PartyId,
    },
    /// A room is closed.
    CloseRoom {
        /// Its id.
        room: RoomKey,
    },
    /// A batch is to be prepared.
    PlanBatch {
        /// Its number.
        number: u64,
        /// The number of its engine.
        engine: u8,
        /// Rows of its tables.
        rows: u32,
        /// Bytes of a row.
        width: u32,
    },
    /// A server holds a batch.
    BatchReady {
        /// The batch.
        number: u64,
        /// The server.
        party: PartyId,
    },
    /// A server does not hold a batch and never will.
    BatchDropped {
        /// The batch.
        number: u64,
        /// The server.
        party: PartyId,
    },
    /// An epoch begins to collect, and reserves its batch.
    OpenEpoch {
        /// The room.
        room: RoomKey,
        /// The epoch's number.
        epoch: u64,
        /// The batch.
        batch: u64,
        /// The minimum that holds for it.
        minimum: u32,
        /// When, in milliseconds since 1970 by this server's clock.
        at: u64,
    },
    /// By a server's clock an epoch has had its time.
    EpochDue {
        /// The room.
        room: RoomKey,
        /// The epoch.
        epoch: u64,
        /// The server.
        party: PartyId,
    },
    /// Slots get owners.
    Assign {
        /// The room.
        room: RoomKey,
        /// The epoch.
        epoch: u64,
        /// The server that gives these slots out.
        author: PartyId,
        /// The number of its announcement.
        announcement: u64,
        /// Slots and their owners.
        slots: Vec<(u32, VerifyingKey)>,
        /// When, in milliseconds since 1970 by this server's clock.
        at: u64,
    },
    /// An epoch stops collecting and is to be computed; its batch is spent on it.
    SealEpoch {
        /// The room.
        room: RoomKey,
        /// The epoch.
        epoch: u64,
        /// For each server, how many of its announcements count: later ones that assign slots of
        /// this epoch do not.
        cut: Vec<u64>,
    },
    /// A host of a room did something.
    HostAction {
        /// The room.
        room: RoomKey,
        /// The number of the action, from 0.
        number: u64,
        /// The signed action, encoded.
        body: Vec<u8>,
    },
    /// A server said something of a job.
    Job(JobWord),
    /// An epoch ends before it was sealed; its batch is thrown away.
    VoidEpoch {
        /// The room.
        room: RoomKey,
        /// The epoch.
        epoch: u64,
        /// How it ended, encoded.
        outcome: Vec<u8>,
    },
}

impl Change {
    /// Applies the change that this announcement of its author makes. Every statement names the
    /// state it expects; if that is not so, nothing is changed.
    pub(crate) async fn apply(
        &self,
        write: &mut Write<'_>,
        announcement: u64,
    ) -> Result<(), Error> {
        if let Change::SealEpoch { .. } | Change::VoidEpoch { .. } = self {
            write.hold_back_intake().await?;
        }
        let connection: &mut AnyConnection = write;
        match self {
            Change::CreateRoom { room, descriptor, author } => {
                sqlx::query("INSERT INTO rooms (id, descriptor, author, announcement) VALUES ($1, $2, $3, $4)")
                    .bind(room.as_slice())
                    .bind(descriptor)
                    .bind(i64::from(author.0))
                    .bind(to_sql(announcement)?)
                    .execute(connection)
                    .await?;
            }
            Change::CloseRoom { room } => {
                sqlx::query("UPDATE rooms SET open = 0 WHERE id = $1")
                    .bind(room.as_slice())
                    .execute(connection)
                    .await?;
            }
            Change::PlanBatch { number, engine, rows, width } => {
                let of = [i64::from(*engine), i64::from(*rows), i64::from(*width)];
                plan_batch(connection, *number, of, announcement).await?
            }
            Change::BatchReady { number, party } => {
                batch_ready(connection, *number, *party, announcement).await?
            }
            Change::BatchDropped { number, party } => {
                drop_batch(connection, *number, *party).await?
            }
            Change::EpochDue { room, epoch, party } => {
                epoch_due(connection, room, *epoch, *party, announcement).await?
            }
            Change::OpenEpoch { room, epoch, batch, minimum, at } => {
                reserve(connection, *batch).await?;
                let insert = "INSERT INTO epochs (room, number, batch, opened_at, announcement, minimum, actions) \
                              VALUES ($1, $2, $3, $4, $5, $6, \
                              (SELECT coalesce(max(number) + 1, 0) FROM host_actions WHERE room = $1))";
                sqlx::query(insert)
                    .bind(room.as_slice())
                    .bind(to_sql(*epoch)?)
                    .bind(to_sql(*batch)?)
                    .bind(to_sql(*at)?)
                    .bind(to_sql(announcement)?)
                    .bind(i64::from(*minimum))
                    .execute(connection)
                    .await?;
            }
            Change::Assign { room, epoch, author, announcement, slots, at } => {
                assign(connection, room, *epoch, (*author, *announcement), slots, *at).await?;
            }
            Change::SealEpoch { room, epoch, cut } => seal(connection, room, *epoch, cut).await?,
            Change::HostAction { room, number, body } => {
                crate::rooms::hosting::add(connection, room, *number, body).await?;
            }
            Change::Job(said) => words::add(connection, said, announcement).await?,
            Change::VoidEpoch { room, epoch, outcome } => {
                void(connection, room, *epoch, outcome).await?
            }
        }
        Ok(())
    }
}

async fn epoch_due(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
    party: PartyId,
    announcement: u64,
) -> Result<(), Error> {
    let insert = "INSERT INTO epoch_due (room, epoch, party, announcement) \
                  SELECT room, number, CAST($3 AS BIGINT), CAST($4 AS BIGINT) FROM epochs \
                  WHERE room = $1 AND number = $2 AND state = $5 ON CONFLICT DO NOTHING";
    sqlx::query(insert)
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(i64::from(party.0))
        .bind(to_sql(announcement)?)
        .bind(EpochState::Collecting as i64)
        .execute(connection)
        .await?;
    Ok(())
}

/// Puts a planned batch on record: engine, rows, width.
async fn plan_batch(
    connection: &mut AnyConnection,
    number: u64,
    [engine, rows, width]: [i64; 3],
    announcement: u64,
) -> Result<(), Error> {
    let insert =
        "INSERT INTO batches (number, engine, rows, width, planned) VALUES ($1, $2, $3, $4, $5)";
    sqlx::query(insert)
        .bind(to_sql(number)?)
        .bind(engine)
        .bind(rows)
        .bind(width)
        .bind(to_sql(announcement)?)
        .execute(connection)
        .await?;
    Ok(())
}

async fn batch_ready(
    connection: &mut AnyConnection,
    number: u64,
    party: PartyId,
    announcement: u64,
) -> Result<(), Error> {
    // The first time counts: by then everybody who heard of it knew.
    let insert = "INSERT INTO batch_holders (batch, party, announcement) \
                  SELECT number, CAST($2 AS BIGINT), CAST($3 AS BIGINT) FROM batches \
                  WHERE number = $1 ON CONFLICT DO NOTHING";
    sqlx::query(insert)
        .bind(to_sql(number)?)
        .bind(i64::from(party.0))
        .bind(to_sql(announcement)?)
        .execute(connection)
        .await?;
    Ok(())
}

async fn drop_batch(
    connection: &mut AnyConnection,
    number: u64,
    party: PartyId,
) -> Result<(), Error> {
    let insert = "INSERT INTO batch_losers (batch, party) SELECT number, CAST($2 AS BIGINT) FROM batches \
                  WHERE number = $1 ON CONFLICT DO NOTHING";
    sqlx::query(insert)
        .bind(to_sql(number)?)
        .bind(i64::from(party.0))
        .execute(&mut *connection)
        .await?;
    // A batch that is on disk but in no epoch is of no use any more. One that an epoch has reserved
    // stays: whether the epoch is computed is not decided here.
    sqlx::query("UPDATE batches SET state = $1 WHERE number = $2 AND state IN ($3, $4)")
        .bind(BatchState::Discarded as i64)
        .bind(to_sql(number)?)
        .bind(BatchState::Planned as i64)
        .bind(BatchState::Stored as i64)
        .execute(connection)
        .await?;
    Ok(())
}

async fn reserve(connection: &mut AnyConnection, batch: u64) -> Result<(), Error> {
    // A batch that this server lost cannot be reserved by it; the epoch opens all the same and will
    // be voided.
    sqlx::query("UPDATE batches SET state = $1 WHERE number = $2 AND state = $3")
        .bind(BatchState::Reserved as i64)
        .bind(to_sql(batch)?)
        .bind(BatchState::Stored as i64)
        .execute(connection)
        .await?;
    Ok(())
}

async fn assign(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
    (author, announcement): (PartyId, u64),
    slots: &[(u32, VerifyingKey)],
    at: u64,
) -> Result<(), Error> {
    for some in pieces(slots) {
        let insert = format!(
            "INSERT INTO assignments (room, epoch, slot, key, author, announcement) VALUES {}",
            values(some.len(), 6, false)
        );
        let mut insert = sqlx::query(sqlx::AssertSqlSafe(insert));
        for (slot, key) in some {
            insert = insert.bind(room.as_slice()).bind(to_sql(epoch)?).bind(i64::from(*slot));
            insert =
                insert.bind(key.0.as_slice()).bind(i64::from(author.0)).bind(to_sql(announcement)?);
        }
        insert.execute(&mut *connection).await?;
    }
    sqlx::query(
        "UPDATE epochs SET begun_at = $1 WHERE room = $2 AND number = $3 AND begun_at IS NULL",
    )
    .bind(to_sql(at)?)
    .bind(room.as_slice())
    .bind(to_sql(epoch)?)
    .execute(connection)
    .await?;
    Ok(())
}

async fn seal(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
    cut: &[u64],
) -> Result<(), Error> {
    leave_collecting(&mut *connection, room, epoch, EpochState::Sealed, None).await?;
    for (author, end) in cut.iter().enumerate() {
        let delete = "DELETE FROM assignments WHERE room = $1 AND epoch = $2 AND author = $3 AND announcement >= $4 \
                      RETURNING slot";
        let delete = sqlx::query_scalar(delete).bind(room.as_slice()).bind(to_sql(epoch)?);
        let delete = delete.bind(to_sql(author as u64)?).bind(to_sql(*end)?);
        let slots: Vec<i64> = delete.fetch_all(&mut *connection).await?;
        // Submissions for slots that the cut leaves out fall with their assignment. One by one:
        // PostgreSQL would go through the whole epoch for a list of them.
        for slot in slots {
            let delete =
                sqlx::query("DELETE FROM submissions WHERE room = $1 AND epoch = $2 AND slot = $3");
            delete
                .bind(room.as_slice())
                .bind(to_sql(epoch)?)
                .bind(slot)
                .execute(&mut *connection)
                .await?;
        }
    }
    set_batch_of(connection, room, epoch, BatchState::Spent).await
}

async fn void(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
    outcome: &[u8],
) -> Result<(), Error> {
    leave_collecting(connection, room, epoch, EpochState::Finished, Some(outcome)).await?;
    set_batch_of(connection, room, epoch, BatchState::Discarded).await?;
    crate::rooms::submissions::forget(connection, room, epoch).await
}

async fn leave_collecting(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
    state: EpochState,
    outcome: Option<&[u8]>,
) -> Result<(), Error> {
    let update =
        "UPDATE epochs SET state = $1, outcome = $2 WHERE room = $3 AND number = $4 AND state = $5";
    let done = sqlx::query(update)
        .bind(state as i64)
        .bind(outcome)
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(EpochState::Collecting as i64)
        .execute(connection)
        .await?;
    if done.rows_affected() != 1 {
        return Err(Error::State("only an epoch that collects can be sealed or voided"));
    }
    Ok(())
}

async fn set_batch_of(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
    state: BatchState,
) -> Result<(), Error> {
    sqlx::query(
        "UPDATE batches SET state = $1 WHERE number = (SELECT batch FROM epochs WHERE room = $2 AND number = $3)",
    )
    .bind(state as i64)
    .bind(room.as_slice())
    .bind(to_sql(epoch)?)
    .execute(connection)
    .await?;
    Ok(())
}

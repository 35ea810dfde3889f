//! Generations: what a renewal writes (`docs/spec/restore.md`).

use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;
use sqlx::AnyConnection;

use crate::database::transaction::{Write, array, from_sql, to_sql};
use crate::rooms::board::put;
use crate::{BatchState, EpochState, Error, NewEntry, RoomKey, Store};

/// The generation that a server is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its number, from 0.
    pub number: u32,
    /// The digest of the state with which it began; none for the first.
    pub digest: Option<Digest>,
    /// Whether this server has written its state for the next one, and so says nothing more in this
    /// one.
    pub closed: bool,
}

/// A room as a generation begins with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewedRoom {
    /// Its id.
    pub room: RoomKey,
    /// Its encoded descriptor.
    pub descriptor: Vec<u8>,
    /// The server whose operator made it.
    pub author: PartyId,
    /// Whether it is open.
    pub open: bool,
    /// The number of its first epoch in this generation.
    pub first_epoch: u64,
    /// Host actions that this server lacks, with their numbers.
    pub actions: Vec<(u64, Vec<u8>)>,
    /// Entries that this server lacks, with their epochs.
    pub entries: Vec<(u64, NewEntry)>,
}

/// A generation to be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// Its number.
    pub number: u32,
    /// The digest of its state.
    pub digest: Digest,
    /// Every room.
    pub rooms: Vec<RenewedRoom>,
    /// Epochs that end without an outcome: room, number, and how they end, encoded.
    pub given_up: Vec<(RoomKey, u64, Vec<u8>)>,
}

impl Store {
    /// The generation.
    ///
    /// # Errors
    /// The disk's.
    pub async fn generation(&self) -> Result<Generation, Error> {
        let query = sqlx::query_as("SELECT number, digest, closed FROM generation");
        let (number, digest, closed): (i64, Option<Vec<u8>>, i64) =
            query.fetch_one(&self.pools.readers).await?;
        let digest =
            digest.map(|digest| array(&digest, "generation.digest").map(Digest)).transpose()?;
        Ok(Generation {
            number: from_sql(number, "generation.number")?,
            digest,
            closed: closed != 0,
        })
    }

    /// Marks that this server says nothing more in its generation. On disk on return.
    ///
    /// # Errors
    /// The disk's.
    pub async fn close_generation(&self) -> Result<(), Error> {
        let mut transaction = self.begin("close a generation").await?;
        sqlx::query("UPDATE generation SET closed = 1").execute(&mut *transaction).await?;
        transaction.commit().await
    }

    /// Begins a generation: adds what is new, and gives up everything that was under way or is used
    /// once. All or nothing. The files of the stock are deleted when the store is opened next.
    ///
    /// # Errors
    /// [`Error::State`] if a later generation has begun, or what is to be added does not continue
    /// what is here; the disk's.
    pub async fn renew(&self, renewed: &Renewed) -> Result<(), Error> {
        let mut transaction = self.begin("begin a generation").await?;
        transaction.hold_back_intake().await?;
        let update = "UPDATE generation SET number = $1, digest = $2, closed = 0 WHERE number < $1";
        let done = sqlx::query(update)
            .bind(i64::from(renewed.number))
            .bind(renewed.digest.0.as_slice())
            .execute(&mut *transaction)
            .await?;
        if done.rows_affected() != 1 {
            return Err(Error::State("a generation begins once, and after those before it"));
        }
        give_up(&mut transaction, renewed).await?;
        for room in &renewed.rooms {
            add(&mut transaction, room).await?;
        }
        transaction.commit().await
    }
}

async fn give_up(transaction: &mut Write<'_>, renewed: &Renewed) -> Result<(), Error> {
    let connection: &mut AnyConnection = transaction;
    for (room, epoch, outcome) in &renewed.given_up {
        sqlx::query(
            "UPDATE epochs SET outcome = $1 WHERE room = $2 AND number = $3 AND outcome IS NULL",
        )
        .bind(outcome.as_slice())
        .bind(room.as_slice())
        .bind(to_sql(*epoch)?)
        .execute(&mut *connection)
        .await?;
    }
    // What would be said again at a start, or could be used, goes. Rows of batches stay: their
    // numbers are never used again.
    let tables = ["announcements", "submissions", "assignments", "conclusions", "epoch_marks"];
    for table in
        tables.into_iter().chain(["epoch_due", "batch_holders", "batch_losers", "job_words"])
    {
        sqlx::query(sqlx::AssertSqlSafe(format!("DELETE FROM {table}")))
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query("UPDATE epochs SET state = $1")
        .bind(EpochState::Finished as i64)
        .execute(&mut *connection)
        .await?;
    sqlx::query("UPDATE batches SET state = $1, digest = NULL")
        .bind(BatchState::Discarded as i64)
        .execute(connection)
        .await?;
    Ok(())
}

async fn add(connection: &mut AnyConnection, room: &RenewedRoom) -> Result<(), Error> {
    let insert = "INSERT INTO rooms (id, descriptor, author, open, first_epoch) VALUES ($1, $2, $3, $4, $5) \
                  ON CONFLICT (id) DO UPDATE SET author = $3, open = $4, first_epoch = $5";
    sqlx::query(insert)
        .bind(room.room.as_slice())
        .bind(room.descriptor.as_slice())
        .bind(i64::from(room.author.0))
        .bind(i64::from(room.open))
        .bind(to_sql(room.first_epoch)?)
        .execute(&mut *connection)
        .await?;
    for (number, body) in &room.actions {
        crate::rooms::hosting::add(connection, &room.room, *number, body).await?;
    }
    for (epoch, entry) in &room.entries {
        put(connection, &room.room, *epoch, entry).await?;
    }
    Ok(())
}

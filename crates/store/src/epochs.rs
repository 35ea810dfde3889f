//! Epochs and who owns their slots.

use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;

use crate::apart::{apart, body_of};
use crate::transaction::{array, from_sql, to_sql};
use crate::{Error, RoomKey, Store};

/// How far an epoch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochState {
    /// It takes submissions.
    Collecting = 0,
    /// It is to be computed.
    Sealed = 1,
    /// Its outcome stands; other servers may still need this one's part in it.
    Settled = 2,
    /// Every server has settled it.
    Finished = 3,
}

impl EpochState {
    fn read(number: i64) -> Result<Self, Error> {
        let all = [Self::Collecting, Self::Sealed, Self::Settled, Self::Finished];
        all.into_iter().find(|state| *state as i64 == number).ok_or(Error::Corrupt("epochs.state"))
    }
}

/// An epoch on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochRow {
    /// The room.
    pub room: RoomKey,
    /// Its number.
    pub number: u64,
    /// Its batch.
    pub batch: u64,
    /// How far it is.
    pub state: EpochState,
    /// The number of the announcement that opened it.
    pub announcement: u64,
    /// When it was opened, in milliseconds since 1970 by this server's clock.
    pub opened_at: u64,
    /// When its first slot was assigned, likewise.
    pub begun_at: Option<u64>,
    /// With which minimum it was opened; `None` stands for the room's.
    pub minimum: Option<u32>,
    /// For each server, by which announcement it said that the epoch is due.
    pub due: [Option<u64>; 3],
    /// How many actions the room's hosts had done when it was opened.
    pub actions: u64,
    /// What this server found when it computed the epoch, encoded.
    pub conclusion: Option<Vec<u8>>,
    /// How it ended, encoded; there from [`EpochState::Settled`] on.
    pub outcome: Option<Vec<u8>>,
}

type Columns = (
    Vec<u8>,
    i64,
    i64,
    i64,
    i64,
    i64,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    i64,
    Option<Vec<u8>>,
    Option<Vec<u8>>,
);

/// An assigned slot on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentRow {
    /// The slot.
    pub slot: u32,
    /// Its owner.
    pub key: VerifyingKey,
    /// The server that gave it out.
    pub author: PartyId,
    /// The number of its announcement.
    pub announcement: u64,
    /// Whether this server's issue for it may have left this server.
    pub issued: bool,
}

impl Store {
    /// The epochs that are not finished, and the newest `count` of each room, by room and number.
    ///
    /// # Errors
    /// The disk's.
    pub async fn epochs(&self, count: u32) -> Result<Vec<EpochRow>, Error> {
        let query = sqlx::query_as(
            "SELECT e.room, number, batch, state, announcement, opened_at, begun_at, minimum, due_0, due_1, due_2, \
             actions, body, outcome \
             FROM epochs AS e LEFT JOIN conclusions AS c ON c.room = e.room AND c.epoch = e.number \
             WHERE state < 3 OR number > (SELECT max(number) FROM epochs WHERE room = e.room) - $1 ORDER BY e.room, number",
        );
        let query = query.bind(i64::from(count));
        let rows: Vec<Columns> = query.fetch_all(&self.pools.readers).await?;
        let read = |row: Columns| {
            let (
                room,
                number,
                batch,
                state,
                announcement,
                opened_at,
                begun_at,
                minimum,
                due_0,
                due_1,
                due_2,
                actions,
                conclusion,
                outcome,
            ) = row;
            let due = |said: Option<i64>| -> Result<Option<u64>, Error> {
                said.map(|number| from_sql(number, "epochs.due")).transpose()
            };
            Ok(EpochRow {
                room: array(&room, "epochs.room")?,
                number: from_sql(number, "epochs.number")?,
                batch: from_sql(batch, "epochs.batch")?,
                state: EpochState::read(state)?,
                announcement: from_sql(announcement, "epochs.announcement")?,
                opened_at: from_sql(opened_at, "epochs.opened_at")?,
                begun_at: begun_at.map(|at| from_sql(at, "epochs.begun_at")).transpose()?,
                minimum: minimum.map(|least| from_sql(least, "epochs.minimum")).transpose()?,
                due: [due(due_0)?, due(due_1)?, due(due_2)?],
                actions: from_sql(actions, "epochs.actions")?,
                conclusion: conclusion
                    .map(|stored| body_of(stored, "conclusions.body"))
                    .transpose()?,
                outcome,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// The assigned slots of an epoch, by slot.
    ///
    /// # Errors
    /// The disk's.
    pub async fn assignments(
        &self,
        room: &RoomKey,
        epoch: u64,
    ) -> Result<Vec<AssignmentRow>, Error> {
        let query = sqlx::query_as(
            "SELECT slot, key, author, announcement, issued FROM assignments WHERE room = $1 AND epoch = $2 \
             ORDER BY slot",
        );
        let query = query.bind(room.as_slice()).bind(to_sql(epoch)?);
        let rows: Vec<(i64, Vec<u8>, i64, i64, i64)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(slot, key, author, announcement, issued): (i64, Vec<u8>, i64, i64, i64)| {
            Ok(AssignmentRow {
                slot: from_sql(slot, "assignments.slot")?,
                key: VerifyingKey(array(&key, "assignments.key")?),
                author: PartyId(from_sql(author, "assignments.author")?),
                announcement: from_sql(announcement, "assignments.announcement")?,
                issued: issued != 0,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// Keeps what this server found when it computed a sealed epoch, before the others are told.
    ///
    /// # Errors
    /// [`Error::State`] if it is not sealed or has a conclusion already; the disk's.
    pub async fn conclude_epoch(
        &self,
        room: &RoomKey,
        epoch: u64,
        conclusion: &[u8],
    ) -> Result<(), Error> {
        let mut transaction = self.begin("conclude an epoch").await?;
        let insert = "INSERT INTO conclusions (room, epoch, body) SELECT room, number, $1 FROM epochs \
                      WHERE room = $2 AND number = $3 AND state = $4 ON CONFLICT DO NOTHING";
        let done = sqlx::query(insert)
            .bind(apart(conclusion))
            .bind(room.as_slice())
            .bind(to_sql(epoch)?)
            .bind(EpochState::Sealed as i64)
            .execute(&mut *transaction)
            .await?;
        if done.rows_affected() != 1 {
            return Err(Error::State("a sealed epoch is concluded once"));
        }
        transaction.commit().await
    }

    /// Notes that all servers have settled an epoch, and forgets what was handed in for it, the
    /// engine's marks of it, and what was found in the epochs `kept` or more before it. The board
    /// remains.
    ///
    /// # Errors
    /// [`Error::State`] if it is not settled; the disk's.
    pub async fn finish_epoch(&self, room: &RoomKey, epoch: u64, kept: u64) -> Result<(), Error> {
        let mut transaction = self.begin("finish an epoch").await?;
        let done = sqlx::query(
            "UPDATE epochs SET state = $1 WHERE room = $2 AND number = $3 AND state = $4",
        )
        .bind(EpochState::Finished as i64)
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(EpochState::Settled as i64)
        .execute(&mut *transaction)
        .await?;
        if done.rows_affected() != 1 {
            return Err(Error::State("only a settled epoch can be finished"));
        }
        crate::submissions::forget(&mut transaction, room, epoch).await?;
        crate::journal::forget(&mut transaction, room, epoch).await?;
        let delete = "DELETE FROM conclusions WHERE room = $1 AND epoch <= $2 AND epoch IN \
                      (SELECT number FROM epochs WHERE room = $1 AND number <= $2 AND state = $3)";
        sqlx::query(delete)
            .bind(room.as_slice())
            .bind(to_sql(epoch)? - to_sql(kept)?)
            .bind(EpochState::Finished as i64)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }
}

//! Epochs and who owns their slots.

use std::collections::BTreeMap;

use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;

use crate::database::erasable::{body_of, erasable};
use crate::database::transaction::{array, from_sql, to_sql};
use crate::rooms::state::EpochState;
use crate::{Error, RoomKey, Store};

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
    /// With which minimum it was opened.
    pub minimum: u32,
    /// Who said that it is due, ascending, and by which announcement.
    pub due: Vec<(PartyId, u64)>,
    /// How many actions the room's hosts had done when it was opened.
    pub actions: u64,
    /// What this server found when it computed the epoch, encoded.
    pub conclusion: Option<Vec<u8>>,
    /// How it ended, encoded; there from [`EpochState::Settled`] on.
    pub outcome: Option<Vec<u8>>,
}

type Columns =
    (Vec<u8>, i64, i64, i64, i64, i64, Option<i64>, i64, i64, Option<Vec<u8>>, Option<Vec<u8>>);

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
    /// Who said of each epoch that collects that it is due.
    async fn due(&self) -> Result<BTreeMap<(RoomKey, u64), Vec<(PartyId, u64)>>, Error> {
        let query = sqlx::query_as(
            "SELECT d.room, d.epoch, d.party, d.announcement FROM epoch_due AS d \
             JOIN epochs AS e ON e.room = d.room AND e.number = d.epoch WHERE e.state = $1 \
             ORDER BY d.room, d.epoch, d.party",
        );
        let query = query.bind(EpochState::Collecting as i64);
        let rows: Vec<(Vec<u8>, i64, i64, i64)> = query.fetch_all(&self.pools.readers).await?;
        let mut due: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (room, epoch, party, announcement) in rows {
            let key = (array(&room, "epoch_due.room")?, from_sql(epoch, "epoch_due.epoch")?);
            let party = PartyId(from_sql(party, "epoch_due.party")?);
            let said = (party, from_sql(announcement, "epoch_due.announcement")?);
            due.entry(key).or_default().push(said);
        }
        Ok(due)
    }

    /// The epochs that are not finished, and the newest `count` of each room, by room and number.
    ///
    /// # Errors
    /// The disk's.
    pub async fn epochs(&self, count: u32) -> Result<Vec<EpochRow>, Error> {
        let query = sqlx::query_as(
            "SELECT e.room, number, batch, state, announcement, opened_at, begun_at, minimum, \
             actions, body, outcome \
             FROM epochs AS e LEFT JOIN conclusions AS c ON c.room = e.room AND c.epoch = e.number \
             WHERE state < 3 OR number > (SELECT max(number) FROM epochs WHERE room = e.room) - $1 ORDER BY e.room, number",
        );
        let query = query.bind(i64::from(count));
        let rows: Vec<Columns> = query.fetch_all(&self.pools.readers).await?;
        let mut due = self.due().await?;
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
                actions,
                conclusion,
                outcome,
            ) = row;
            let (room, number) = (array(&room, "epochs.room")?, from_sql(number, "epochs.number")?);
            Ok(EpochRow {
                due: due.remove(&(room, number)).unwrap_or_default(),
                room,
                number,
                batch: from_sql(batch, "epochs.batch")?,
                state: EpochState::read(state)?,
                announcement: from_sql(announcement, "epochs.announcement")?,
                opened_at: from_sql(opened_at, "epochs.opened_at")?,
                begun_at: begun_at.map(|at| from_sql(at, "epochs.begun_at")).transpose()?,
                minimum: from_sql(minimum, "epochs.minimum")?,
                actions: from_sql(actions, "epochs.actions")?,
                conclusion: conclusion
                    .map(|stored| body_of(stored, "conclusions.body"))
                    .transpose()?,
                outcome,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// How each epoch ended that has no entry on its board, by room and number; an epoch may be of
    /// any age.
    ///
    /// # Errors
    /// The disk's.
    pub async fn unpublished(&self) -> Result<Vec<(RoomKey, Vec<u8>)>, Error> {
        let query = "SELECT room, outcome FROM epochs AS e WHERE outcome IS NOT NULL \
                     AND NOT EXISTS (SELECT 1 FROM entries WHERE room = e.room AND epoch = e.number) \
                     ORDER BY room, number";
        let rows: Vec<(Vec<u8>, Vec<u8>)> =
            sqlx::query_as(query).fetch_all(&self.pools.readers).await?;
        let read =
            |(room, outcome): (Vec<u8>, Vec<u8>)| Ok((array(&room, "epochs.room")?, outcome));
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
            .bind(erasable(conclusion))
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
        crate::rooms::submissions::forget(&mut transaction, room, epoch).await?;
        crate::rooms::journal::forget(&mut transaction, room, epoch).await?;
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

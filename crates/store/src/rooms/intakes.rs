//! What an engine process and the intake processes beside it tell each other by way of the
//! database.
//!
//! Little of it must survive a crash of the database: the engine shows everything again when it
//! starts, and participants say every few seconds that they are there. On PostgreSQL the tables are
//! not logged, but for that of arrivals, without which the engine would not hear of submissions
//! that are on record.

use std::collections::BTreeMap;

use ostrakon_crypto::VerifyingKey;
use sqlx::AnyConnection;

use crate::database::rows::{pieces, values};
use crate::database::transaction::{from_sql, to_sql};
use crate::{Error, RoomKey, Store};

/// Something that the engine shows to intake processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// What it is about.
    pub name: String,
    /// Higher than that of every older one.
    pub number: u64,
    /// What is shown.
    pub value: Vec<u8>,
}

/// What a server gives to the owner of a slot, signed, not yet closed for the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The slot.
    pub slot: u32,
    /// Its owner.
    pub key: VerifyingKey,
    /// What was signed.
    pub offer: Vec<u8>,
}

/// Somebody who is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// In which room.
    pub room: RoomKey,
    /// The participant.
    pub key: VerifyingKey,
    /// When it last said so, in milliseconds since 1970.
    pub at: u64,
}

/// Slots of an epoch for which an intake process has recorded submissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// The room.
    pub room: RoomKey,
    /// The epoch.
    pub epoch: u64,
    /// The slots.
    pub slots: Vec<u32>,
}

impl Store {
    /// Shows something in place of what was shown under its name. Numbers are times where they can
    /// be, in milliseconds since 1970, so that they go on if the database has lost what was shown.
    /// Returns whether something was shown under the name.
    ///
    /// # Errors
    /// The database's; then it may have been done.
    pub async fn show(&self, name: &str, value: &[u8], now: u64) -> Result<bool, Error> {
        let mut transaction = self.begin("show").await?;
        let before = sqlx::query_scalar("SELECT number FROM views WHERE name = $1").bind(name);
        let before: Option<i64> = before.fetch_optional(&mut *transaction).await?;
        // The engine alone writes here, one transaction after the other, so numbers appear in their
        // order.
        let insert = "INSERT INTO views (name, number, value) \
                      SELECT $1, (SELECT max(next) FROM (SELECT max(number) + 1 AS next FROM views \
                      UNION ALL SELECT CAST($3 AS BIGINT)) AS candidates), $2 WHERE 1 = 1 \
                      ON CONFLICT (name) DO UPDATE SET number = excluded.number, value = excluded.value";
        sqlx::query(insert)
            .bind(name)
            .bind(value)
            .bind(to_sql(now)?)
            .execute(&mut *transaction)
            .await?;
        transaction.commit_repeatable().await?;
        Ok(before.is_some())
    }

    /// What is shown under numbers above `after`, in their order.
    ///
    /// # Errors
    /// The database's.
    pub async fn views(&self, after: u64) -> Result<Vec<View>, Error> {
        let query = "SELECT name, number, value FROM views WHERE number > $1 ORDER BY number";
        let query = sqlx::query_as(query).bind(to_sql(after)?);
        let rows: Vec<(String, i64, Vec<u8>)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(name, number, value)| {
            Ok(View { name, number: from_sql(number, "views.number")?, value })
        };
        rows.into_iter().map(read).collect()
    }

    /// Lays out offers for the owners of slots. One that lies there already stays.
    ///
    /// # Errors
    /// The database's; then it may have been done.
    pub async fn lay_out(&self, room: &RoomKey, epoch: u64, offers: &[Offer]) -> Result<(), Error> {
        let mut transaction = self.begin("lay out offers").await?;
        for some in pieces(offers) {
            let insert = format!(
                "INSERT INTO offers (room, epoch, slot, key, offer) VALUES {} ON CONFLICT DO NOTHING",
                values(some.len(), 5, false)
            );
            let mut insert = sqlx::query(sqlx::AssertSqlSafe(insert));
            for Offer { slot, key, offer } in some {
                insert = insert.bind(room.as_slice()).bind(to_sql(epoch)?).bind(i64::from(*slot));
                insert = insert.bind(key.0.as_slice()).bind(offer.as_slice());
            }
            insert.execute(&mut *transaction).await?;
        }
        transaction.commit_repeatable().await
    }

    /// The offer that lies there for an owner: of its first slot, should a corrupt server have
    /// given it several.
    ///
    /// # Errors
    /// The database's.
    pub async fn offer(
        &self,
        room: &RoomKey,
        epoch: u64,
        key: &VerifyingKey,
    ) -> Result<Option<Offer>, Error> {
        let query = "SELECT slot, offer FROM offers WHERE room = $1 AND epoch = $2 AND key = $3 ORDER BY slot LIMIT 1";
        let query =
            sqlx::query_as(query).bind(room.as_slice()).bind(to_sql(epoch)?).bind(key.0.as_slice());
        let row: Option<(i64, Vec<u8>)> = query.fetch_optional(&self.pools.readers).await?;
        let Some((slot, offer)) = row else { return Ok(None) };
        Ok(Some(Offer { slot: from_sql(slot, "offers.slot")?, key: *key, offer }))
    }

    /// Removes the offers of a room's epochs below `below`, which collect no more.
    ///
    /// # Errors
    /// The database's; then it may have been done.
    pub async fn clear_offers(&self, room: &RoomKey, below: u64) -> Result<(), Error> {
        let mut transaction = self.begin("clear offers").await?;
        let delete = sqlx::query("DELETE FROM offers WHERE room = $1 AND epoch < $2");
        delete.bind(room.as_slice()).bind(to_sql(below)?).execute(&mut *transaction).await?;
        transaction.commit_repeatable().await
    }

    /// Who has been there since `since`, oldest first.
    ///
    /// # Errors
    /// The database's.
    pub async fn seen_since(&self, since: u64) -> Result<Vec<Seen>, Error> {
        let query = "SELECT room, key, seen_at FROM presence WHERE seen_at >= $1 ORDER BY seen_at";
        let query = sqlx::query_as(query).bind(to_sql(since)?);
        let rows: Vec<(Vec<u8>, Vec<u8>, i64)> = query.fetch_all(&self.pools.readers).await?;
        // As with arrivals: what cannot be read keeps nobody else from being seen.
        let read = |(room, key, at): (Vec<u8>, Vec<u8>, i64)| {
            let key = VerifyingKey(key.try_into().ok()?);
            Some(Seen { room: room.try_into().ok()?, key, at: at.try_into().ok()? })
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// Forgets who has not been there since `before`.
    ///
    /// # Errors
    /// The database's; then it may have been done.
    pub async fn forget_presence(&self, before: u64) -> Result<(), Error> {
        let mut transaction = self.begin("forget presence").await?;
        let delete = sqlx::query("DELETE FROM presence WHERE seen_at < $1").bind(to_sql(before)?);
        delete.execute(&mut *transaction).await?;
        transaction.commit_repeatable().await
    }

    /// Takes what intake processes have recorded since this was last asked, of all rooms. What they
    /// are recording meanwhile comes with the next.
    ///
    /// # Errors
    /// The database's; then what was there may be taken or not, and [`Store::submitted`] knows it.
    pub async fn take_arrivals(&self) -> Result<Vec<Arrivals>, Error> {
        let mut transaction = self.begin("take arrivals").await?;
        let delete = sqlx::query_as("DELETE FROM arrivals RETURNING room, epoch, slots");
        let rows: Vec<(Vec<u8>, i64, Vec<u8>)> = delete.fetch_all(&mut *transaction).await?;
        // Mostly there are none, and then there is nothing to be written to the disk.
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        transaction.commit_repeatable().await?;
        // An intake process may be wrong, or worse: what cannot be read keeps nothing else from
        // being heard.
        let read = |(room, epoch, slots): (Vec<u8>, i64, Vec<u8>)| {
            let slots = slots.as_chunks().0.iter().map(|slot| u32::from_le_bytes(*slot)).collect();
            Some(Arrivals { room: room.try_into().ok()?, epoch: epoch.try_into().ok()?, slots })
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// The slots of an epoch for which something was handed in.
    ///
    /// # Errors
    /// The database's.
    pub async fn submitted(&self, room: &RoomKey, epoch: u64) -> Result<Vec<u32>, Error> {
        let query = "SELECT slot FROM submissions WHERE room = $1 AND epoch = $2 ORDER BY slot";
        let query = sqlx::query_scalar(query).bind(room.as_slice()).bind(to_sql(epoch)?);
        let slots: Vec<i64> = query.fetch_all(&self.pools.readers).await?;
        slots.into_iter().map(|slot| from_sql(slot, "submissions.slot")).collect()
    }
}

/// Leaves word for the engine: room, epoch, and the slots as they are stored.
pub(crate) async fn leave_arrivals(
    connection: &mut AnyConnection,
    arrivals: &[((&RoomKey, u64), Vec<u8>)],
) -> Result<(), Error> {
    for some in pieces(arrivals) {
        let insert = format!(
            "INSERT INTO arrivals (room, epoch, slots) VALUES {}",
            values(some.len(), 3, false)
        );
        let mut insert = sqlx::query(sqlx::AssertSqlSafe(insert));
        for ((room, epoch), slots) in some {
            insert = insert.bind(room.as_slice()).bind(to_sql(*epoch)?).bind(slots.as_slice());
        }
        insert.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Notes that these are there.
pub(crate) async fn note_presence(
    connection: &mut AnyConnection,
    seen: &[&Seen],
) -> Result<(), Error> {
    // One row for each: a statement may change no row twice. In one order for all processes, so
    // that none waits for another that waits for it.
    let latest: BTreeMap<_, _> = seen.iter().map(|seen| ((seen.room, seen.key), seen.at)).collect();
    let latest: Vec<_> = latest.into_iter().collect();
    for some in pieces(&latest) {
        let insert = format!(
            "INSERT INTO presence (room, key, seen_at) VALUES {} \
             ON CONFLICT (room, key) DO UPDATE SET seen_at = excluded.seen_at",
            values(some.len(), 3, false)
        );
        let mut insert = sqlx::query(sqlx::AssertSqlSafe(insert));
        for ((room, key), at) in some {
            insert = insert.bind(room.as_slice()).bind(key.0.as_slice()).bind(to_sql(*at)?);
        }
        insert.execute(&mut *connection).await?;
    }
    Ok(())
}

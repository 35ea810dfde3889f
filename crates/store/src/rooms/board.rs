//! Boards: what was published, with the servers' signatures.

use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::PartyId;
use sqlx::AnyConnection;

use crate::database::erasable::{body_of, erasable};
use crate::database::transaction::{array, from_sql, to_sql};
use crate::{EpochState, Error, RoomKey, Store};

/// An entry to be put on a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// Its digest.
    pub digest: Digest,
    /// The entry, encoded.
    pub body: Vec<u8>,
    /// The day, counted from 1970, on which it is published.
    pub published_on: u32,
    /// The signatures that are there.
    pub signatures: Vec<(PartyId, Signature)>,
}

/// An entry on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRow {
    /// Its place on the board, from 0.
    pub position: u64,
    /// Its epoch.
    pub epoch: u64,
    /// The entry, encoded.
    pub body: Vec<u8>,
    /// The day, counted from 1970, on which this server published it; 0 if it did before it kept
    /// the day.
    pub published_on: u32,
    /// Signatures by party, ascending.
    pub signatures: Vec<(PartyId, Signature)>,
}

impl Store {
    /// Settles an epoch: records its outcome and, if it published something, puts the entry on the
    /// board.
    ///
    /// # Errors
    /// [`Error::State`] if the epoch is not sealed or was settled before; the disk's.
    pub async fn settle_epoch(
        &self,
        room: &RoomKey,
        epoch: u64,
        outcome: &[u8],
        entry: Option<&NewEntry>,
    ) -> Result<(), Error> {
        let mut transaction = self.begin("settle an epoch").await?;
        let update = "UPDATE epochs SET state = $1, outcome = $2 WHERE room = $3 AND number = $4 AND state = $5";
        let done = sqlx::query(update)
            .bind(EpochState::Settled as i64)
            .bind(outcome)
            .bind(room.as_slice())
            .bind(to_sql(epoch)?)
            .bind(EpochState::Sealed as i64)
            .execute(&mut *transaction)
            .await?;
        if done.rows_affected() != 1 {
            return Err(Error::State("an epoch is settled once, after it was sealed"));
        }
        if let Some(entry) = entry {
            put(&mut transaction, room, epoch, entry).await?;
        }
        transaction.commit().await
    }

    /// Adds a signature to an entry that is on the board. The first one of each server stands.
    ///
    /// # Errors
    /// The disk's; also if there is no such entry.
    pub async fn add_signature(
        &self,
        room: &RoomKey,
        epoch: u64,
        party: PartyId,
        signature: &Signature,
    ) -> Result<(), Error> {
        let mut transaction = self.begin("add a signature").await?;
        sign(&mut transaction, room, epoch, party, signature).await?;
        transaction.commit().await
    }

    /// How many entries a board has, and the digest of the last.
    ///
    /// # Errors
    /// The disk's.
    pub async fn board_head(&self, room: &RoomKey) -> Result<(u64, Option<Digest>), Error> {
        let query =
            "SELECT position, digest FROM entries WHERE room = $1 ORDER BY position DESC LIMIT 1";
        let query = sqlx::query_as(query).bind(room.as_slice());
        let last: Option<(i64, Vec<u8>)> = query.fetch_optional(&self.pools.readers).await?;
        let Some((position, digest)) = last else { return Ok((0, None)) };
        let length = from_sql::<u64>(position, "entries.position")? + 1;
        Ok((length, Some(Digest(array(&digest, "entries.digest")?))))
    }

    /// At most `count` entries of a board from `position` on, in order.
    ///
    /// # Errors
    /// The disk's.
    pub async fn entries(
        &self,
        room: &RoomKey,
        position: u64,
        count: u32,
    ) -> Result<Vec<EntryRow>, Error> {
        self.entries_before(room, u32::MAX, position, count).await
    }

    /// At most `count` entries of a board from `position` on that were published before a day, in
    /// order.
    ///
    /// # Errors
    /// The disk's.
    pub async fn entries_before(
        &self,
        room: &RoomKey,
        day: u32,
        position: u64,
        count: u32,
    ) -> Result<Vec<EntryRow>, Error> {
        let query = sqlx::query_as(
            "SELECT position, epoch, body, published_on FROM entries \
             WHERE room = $1 AND published_on < $2 AND position >= $3 ORDER BY position LIMIT $4",
        );
        let query = query
            .bind(room.as_slice())
            .bind(i64::from(day))
            .bind(to_sql(position)?)
            .bind(i64::from(count));
        let rows: Vec<(i64, i64, Vec<u8>, i64)> = query.fetch_all(&self.pools.readers).await?;
        let mut entries = Vec::with_capacity(rows.len());
        for (position, epoch, body, published_on) in rows {
            let signatures = self.signatures(room, epoch).await?;
            let body = body_of(body, "entries.body")?;
            let position = from_sql(position, "entries.position")?;
            let published_on = from_sql(published_on, "entries.published_on")?;
            let epoch = from_sql(epoch, "entries.epoch")?;
            entries.push(EntryRow { position, epoch, body, published_on, signatures });
        }
        Ok(entries)
    }

    /// Puts another encoding in place of an entry's, one in which messages are erased. Its digest
    /// and signatures stay: whoever calls this has checked that they still belong to it.
    ///
    /// # Errors
    /// [`Error::State`] if the board has no entry of this epoch; the disk's.
    pub async fn rewrite_entry(
        &self,
        room: &RoomKey,
        epoch: u64,
        body: &[u8],
    ) -> Result<(), Error> {
        let mut transaction = self.begin("rewrite an entry").await?;
        let update = "UPDATE entries SET body = $1 WHERE room = $2 AND epoch = $3";
        let query =
            sqlx::query(update).bind(erasable(body)).bind(room.as_slice()).bind(to_sql(epoch)?);
        let done = query.execute(&mut *transaction).await?;
        if done.rows_affected() != 1 {
            return Err(Error::State("only an entry that is on the board can be rewritten"));
        }
        transaction.commit().await
    }

    /// Puts an entry at its place again, with its signatures, whatever is there now. The day on
    /// which it was published stays, if it is known. Whoever calls this has verified the entry.
    ///
    /// # Errors
    /// The disk's; also if the epoch's entry is at another place.
    pub async fn mend_entry(
        &self,
        room: &RoomKey,
        position: u64,
        epoch: u64,
        entry: &NewEntry,
    ) -> Result<(), Error> {
        let mut transaction = self.begin("mend an entry").await?;
        let insert = "INSERT INTO entries (room, position, epoch, digest, body, published_on) VALUES ($1, $2, $3, $4, $5, $6) \
                      ON CONFLICT (room, position) DO UPDATE SET epoch = $3, digest = $4, body = $5";
        sqlx::query(insert)
            .bind(room.as_slice())
            .bind(to_sql(position)?)
            .bind(to_sql(epoch)?)
            .bind(entry.digest.0.as_slice())
            .bind(erasable(&entry.body))
            .bind(i64::from(entry.published_on))
            .execute(&mut *transaction)
            .await?;
        sqlx::query("DELETE FROM signatures WHERE room = $1 AND epoch = $2")
            .bind(room.as_slice())
            .bind(to_sql(epoch)?)
            .execute(&mut *transaction)
            .await?;
        for (party, signature) in &entry.signatures {
            sign(&mut transaction, room, epoch, *party, signature).await?;
        }
        sqlx::query("DELETE FROM damaged_entries WHERE room = $1 AND position = $2")
            .bind(room.as_slice())
            .bind(to_sql(position)?)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    /// Notes that an entry is not as it was published, until it is mended ([`Store::mend_entry`]).
    ///
    /// # Errors
    /// The disk's.
    pub async fn note_damaged(&self, room: &RoomKey, position: u64) -> Result<(), Error> {
        let mut transaction = self.begin("note a damaged entry").await?;
        let insert =
            "INSERT INTO damaged_entries (room, position) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let query = sqlx::query(insert).bind(room.as_slice()).bind(to_sql(position)?);
        query.execute(&mut *transaction).await?;
        transaction.commit().await
    }

    /// Forgets which entries were damaged: they are looked at anew.
    ///
    /// # Errors
    /// The disk's.
    pub async fn forget_damaged(&self) -> Result<(), Error> {
        let mut transaction = self.begin("forget damaged entries").await?;
        sqlx::query("DELETE FROM damaged_entries").execute(&mut *transaction).await?;
        transaction.commit().await
    }

    /// The first entry of a room from a position on that is not as it was published.
    ///
    /// # Errors
    /// The disk's.
    pub async fn damaged(&self, room: &RoomKey, from: u64) -> Result<Option<u64>, Error> {
        let select = "SELECT position FROM damaged_entries WHERE room = $1 AND position >= $2 \
                      ORDER BY position LIMIT 1";
        let query = sqlx::query_scalar(select).bind(room.as_slice()).bind(to_sql(from)?);
        let found: Option<i64> = query.fetch_optional(&self.pools.readers).await?;
        found.map(|position| from_sql(position, "damaged_entries.position")).transpose()
    }

    async fn signatures(
        &self,
        room: &RoomKey,
        epoch: i64,
    ) -> Result<Vec<(PartyId, Signature)>, Error> {
        let query =
            "SELECT party, signature FROM signatures WHERE room = $1 AND epoch = $2 ORDER BY party";
        let query = sqlx::query_as(query).bind(room.as_slice()).bind(epoch);
        let rows: Vec<(i64, Vec<u8>)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(party, signature): (i64, Vec<u8>)| {
            let signature = Signature(array(&signature, "signatures.signature")?);
            Ok((PartyId(from_sql(party, "signatures.party")?), signature))
        };
        rows.into_iter().map(read).collect()
    }
}

/// Puts an entry at the end of a board.
pub(crate) async fn put(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
    entry: &NewEntry,
) -> Result<(), Error> {
    // The next place on the board: there are no gaps, and the highest is found without counting all
    // of them. The primary key refuses a second entry there, UNIQUE a second one of the epoch.
    let insert = "INSERT INTO entries (room, position, epoch, digest, body, published_on) \
                  SELECT $1, (SELECT coalesce(max(position) + 1, 0) FROM entries WHERE room = $1), $2, $3, $4, $5";
    sqlx::query(insert)
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(entry.digest.0.as_slice())
        .bind(erasable(&entry.body))
        .bind(i64::from(entry.published_on))
        .execute(&mut *connection)
        .await?;
    for (party, signature) in &entry.signatures {
        sign(connection, room, epoch, *party, signature).await?;
    }
    Ok(())
}

async fn sign(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
    party: PartyId,
    signature: &Signature,
) -> Result<(), Error> {
    // The primary key makes it one per server.
    let insert = "INSERT INTO signatures (room, epoch, party, signature) VALUES ($1, $2, $3, $4) \
                  ON CONFLICT (room, epoch, party) DO NOTHING";
    sqlx::query(insert)
        .bind(room.as_slice())
        .bind(to_sql(epoch)?)
        .bind(i64::from(party.0))
        .bind(signature.0.as_slice())
        .execute(connection)
        .await?;
    Ok(())
}

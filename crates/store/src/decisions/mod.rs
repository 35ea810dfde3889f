//! Private decisions: chains of records, what was opened, one-time keys in stock, and shares that
//! this server holds as a helper.

pub(crate) mod gatherings;
pub(crate) mod turnout;

use ostrakon_party::PartyId;
use sqlx::AnyConnection;

use crate::database::transaction::{array, from_sql, to_sql};
use crate::{Error, Store};

/// A decision's id as the store sees it.
pub type DecisionKey = [u8; 16];

/// A one-time key's name: its owner's account key, and its serial.
pub type OneTimeName = ([u8; 32], [u8; 16]);

/// A decision on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRow {
    /// Its id.
    pub id: DecisionKey,
    /// The number of the first server's announcement that created it.
    pub created: u64,
    /// The number of the first server's announcement that closed it.
    pub closed: Option<u64>,
}

/// A record of a decision, to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// The decision; the record with number 0 brings it into being.
    pub decision: DecisionKey,
    /// The record's number, from 0.
    pub number: u32,
    /// The number of the first server's announcement that brings it.
    pub announcement: u64,
    /// Whether it closes the decision.
    pub closes: bool,
    /// The one-time key that is spent by it.
    pub spends: Option<OneTimeName>,
    /// The signed record, encoded.
    pub body: Vec<u8>,
}

type Columns = (Vec<u8>, i64, Option<i64>);

impl Store {
    /// Every decision.
    ///
    /// # Errors
    /// The disk's.
    pub async fn decisions(&self) -> Result<Vec<DecisionRow>, Error> {
        let query = sqlx::query_as("SELECT id, created, closed FROM decisions ORDER BY created");
        let rows: Vec<Columns> = query.fetch_all(&self.pools.readers).await?;
        let read = |(id, created, closed): Columns| {
            Ok(DecisionRow {
                id: array(&id, "decisions.id")?,
                created: from_sql(created, "decisions.created")?,
                closed: closed.map(|number| from_sql(number, "decisions.closed")).transpose()?,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// At most `count` records of a decision, encoded, from number `from` on, in order.
    ///
    /// # Errors
    /// The disk's.
    pub async fn decision_records(
        &self,
        id: &DecisionKey,
        from: u32,
        count: u32,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let query = "SELECT body FROM decision_records WHERE decision = $1 AND number >= $2 ORDER BY number LIMIT $3";
        let query = sqlx::query_scalar(query)
            .bind(id.as_slice())
            .bind(i64::from(from))
            .bind(i64::from(count));
        Ok(query.fetch_all(&self.pools.readers).await?)
    }

    /// What the servers opened of a decision, encoded, by party number.
    ///
    /// # Errors
    /// The disk's.
    pub async fn decision_openings(
        &self,
        id: &DecisionKey,
    ) -> Result<Vec<(PartyId, Vec<u8>)>, Error> {
        let query = "SELECT party, body FROM decision_openings WHERE decision = $1 ORDER BY party";
        let query = sqlx::query_as(query).bind(id.as_slice());
        let rows: Vec<(i64, Vec<u8>)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(party, body)| Ok((PartyId(from_sql(party, "decision_openings.party")?), body));
        rows.into_iter().map(read).collect()
    }

    /// Binds this server to open one close of a decision, for good, and its shares of these
    /// one-time keys to be used for it and for no other decision. Returns those of the keys whose
    /// shares it holds and may use for it now; `None`, and nothing has changed, if there is no such
    /// decision or the server is bound to another close of it.
    ///
    /// # Errors
    /// The disk's.
    pub async fn bind_opening(
        &self,
        id: &DecisionKey,
        close: &[u8],
        shares: &[OneTimeName],
    ) -> Result<Option<Vec<OneTimeName>>, Error> {
        let mut transaction = self.begin("bind an opening").await?;
        let update =
            "UPDATE decisions SET opens = $1 WHERE id = $2 AND (opens IS NULL OR opens = $1)";
        let done =
            sqlx::query(update).bind(close).bind(id.as_slice()).execute(&mut *transaction).await?;
        if done.rows_affected() != 1 {
            return Ok(None);
        }
        let mut bound = Vec::new();
        for name in shares {
            let update = "UPDATE held_shares SET used_for = $3 WHERE owner = $1 AND serial = $2 \
                          AND (used_for IS NULL OR used_for = $3)";
            let query = sqlx::query(update)
                .bind(name.0.as_slice())
                .bind(name.1.as_slice())
                .bind(id.as_slice());
            if query.execute(&mut *transaction).await?.rows_affected() == 1 {
                bound.push(*name);
            }
        }
        transaction.commit().await?;
        Ok(Some(bound))
    }

    /// Counts one more e-mail to a person of a decision, unless as many were sent to it, or for the
    /// whole decision, as may be: whether one more may be sent.
    ///
    /// # Errors
    /// The disk's.
    pub async fn count_mail(
        &self,
        id: &DecisionKey,
        person: u16,
        (most, most_of_decision): (u32, u32),
    ) -> Result<bool, Error> {
        let mut transaction = self.begin("count an e-mail").await?;
        let insert = "INSERT INTO decision_mails (decision, person, sent) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING";
        let query = sqlx::query(insert).bind(id.as_slice()).bind(i64::from(person));
        query.execute(&mut *transaction).await?;
        let update = "UPDATE decision_mails SET sent = sent + 1 WHERE decision = $1 AND person = $2 AND sent < $3 \
                      AND (SELECT CAST(sum(sent) AS BIGINT) FROM decision_mails WHERE decision = $1) < $4";
        let query = sqlx::query(update).bind(id.as_slice()).bind(i64::from(person));
        let query = query.bind(i64::from(most)).bind(i64::from(most_of_decision));
        let done = query.execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(done.rows_affected() == 1)
    }

    /// Keeps a share of a one-time key until a time (seconds since 1970), unless there is one of
    /// this name. Returns the one that is kept; no bytes if it was erased.
    ///
    /// # Errors
    /// The disk's.
    pub async fn keep_share(
        &self,
        name: &OneTimeName,
        expires: u64,
        body: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let mut transaction = self.begin("keep a share").await?;
        let insert = "INSERT INTO held_shares (owner, serial, body, expires) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        let (owner, serial) = name;
        let query = sqlx::query(insert).bind(owner.as_slice()).bind(serial.as_slice()).bind(body);
        let query = query.bind(to_sql(expires)?);
        query.execute(&mut *transaction).await?;
        let kept = "SELECT body FROM held_shares WHERE owner = $1 AND serial = $2";
        let query = sqlx::query_scalar(kept).bind(owner.as_slice()).bind(serial.as_slice());
        let kept = query.fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(kept)
    }

    /// The share of a one-time key that this server holds.
    ///
    /// # Errors
    /// The disk's.
    pub async fn held_share(&self, name: &OneTimeName) -> Result<Option<Vec<u8>>, Error> {
        let query =
            sqlx::query_scalar("SELECT body FROM held_shares WHERE owner = $1 AND serial = $2");
        Ok(query
            .bind(name.0.as_slice())
            .bind(name.1.as_slice())
            .fetch_optional(&self.pools.readers)
            .await?)
    }

    /// How many shares this server holds.
    ///
    /// # Errors
    /// The disk's.
    pub async fn held_shares(&self) -> Result<u64, Error> {
        let query = sqlx::query_scalar("SELECT count(*) FROM held_shares");
        from_sql(query.fetch_one(&self.pools.readers).await?, "held_shares")
    }

    /// How many shares this server holds of an account's keys.
    ///
    /// # Errors
    /// The disk's.
    pub async fn held_shares_of(&self, owner: &[u8; 32]) -> Result<u64, Error> {
        let query = sqlx::query_scalar("SELECT count(*) FROM held_shares WHERE owner = $1")
            .bind(owner.as_slice());
        from_sql(query.fetch_one(&self.pools.readers).await?, "held_shares")
    }

    /// Adds certified one-time keys to an account's stock, those of unused names, until it has
    /// `most`. Returns how many it has.
    ///
    /// # Errors
    /// The disk's.
    pub async fn add_stock_keys(
        &self,
        owner: &[u8; 32],
        keys: &[([u8; 16], Vec<u8>)],
        most: usize,
    ) -> Result<u64, Error> {
        let mut transaction = self.begin("add keys to a stock").await?;
        for (serial, body) in keys {
            let insert = "INSERT INTO stock_keys (owner, serial, body) SELECT $1, $2, $3 \
                          WHERE NOT EXISTS (SELECT 1 FROM spent_keys WHERE owner = $1 AND serial = $2) \
                          AND (SELECT count(*) FROM stock_keys WHERE owner = $1) < $4 ON CONFLICT DO NOTHING";
            let query = sqlx::query(insert)
                .bind(owner.as_slice())
                .bind(serial.as_slice())
                .bind(body.as_slice());
            query.bind(to_sql(most as u64)?).execute(&mut *transaction).await?;
        }
        let count = sqlx::query_scalar("SELECT count(*) FROM stock_keys WHERE owner = $1")
            .bind(owner.as_slice());
        let count: i64 = count.fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        from_sql(count, "stock_keys")
    }

    /// The certified one-time keys of an account's stock, the oldest first.
    ///
    /// # Errors
    /// The disk's.
    pub async fn stock_keys(&self, owner: &[u8; 32]) -> Result<Vec<Vec<u8>>, Error> {
        let query = sqlx::query_scalar("SELECT body FROM stock_keys WHERE owner = $1 ORDER BY id");
        Ok(query.bind(owner.as_slice()).fetch_all(&self.pools.readers).await?)
    }
}

/// Adds the next record of a decision.
pub(crate) async fn add_record(
    connection: &mut AnyConnection,
    record: &NewRecord,
) -> Result<(), Error> {
    let id = record.decision.as_slice();
    if record.number == 0 {
        let insert = sqlx::query("INSERT INTO decisions (id, created) VALUES ($1, $2)");
        insert.bind(id).bind(to_sql(record.announcement)?).execute(&mut *connection).await?;
    }
    // The chain has no gaps.
    let insert = "INSERT INTO decision_records (decision, number, body) SELECT $1, $2, $3 \
                  WHERE (SELECT coalesce(max(number) + 1, 0) FROM decision_records WHERE decision = $1) = $2";
    let query =
        sqlx::query(insert).bind(id).bind(i64::from(record.number)).bind(record.body.as_slice());
    if query.execute(&mut *connection).await?.rows_affected() != 1 {
        return Err(Error::State("a decision's record is added at the end of its chain"));
    }
    if record.closes {
        let update = sqlx::query("UPDATE decisions SET closed = $1 WHERE id = $2");
        update.bind(to_sql(record.announcement)?).bind(id).execute(&mut *connection).await?;
    }
    // What was held came after another head.
    let delete = sqlx::query("DELETE FROM decision_held WHERE decision = $1");
    delete.bind(id).execute(&mut *connection).await?;
    let Some((owner, serial)) = &record.spends else { return Ok(()) };
    for statement in [
        "INSERT INTO spent_keys (owner, serial) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        "DELETE FROM stock_keys WHERE owner = $1 AND serial = $2",
    ] {
        sqlx::query(statement)
            .bind(owner.as_slice())
            .bind(serial.as_slice())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Adds what a server opened. Its first opening counts.
pub(crate) async fn add_opening(
    connection: &mut AnyConnection,
    decision: &DecisionKey,
    party: PartyId,
    body: &[u8],
) -> Result<(), Error> {
    let insert = "INSERT INTO decision_openings (decision, party, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let query = sqlx::query(insert).bind(decision.as_slice()).bind(i64::from(party.0)).bind(body);
    query.execute(connection).await?;
    Ok(())
}

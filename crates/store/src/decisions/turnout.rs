//! Private decisions: what servers say of who is left out, and what is erased at the end.

use ostrakon_party::PartyId;
use sqlx::AnyConnection;

use super::{DecisionKey, OneTimeName};
use crate::database::transaction::{array, from_sql, to_sql};
use crate::{Error, Store};

/// What a server holds for somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRecord {
    /// The decision.
    pub decision: DecisionKey,
    /// The server.
    pub party: PartyId,
    /// The number of its announcement.
    pub announcement: u64,
    /// The person's place in the draft.
    pub person: u16,
    /// The head after which the record comes.
    pub previous: [u8; 32],
    /// The signed record, encoded.
    pub body: Vec<u8>,
}

/// A server's word that a date has passed: the date, the server, the number of its announcement.
pub type DueRow = (u8, PartyId, u64);

type HeldColumns = (i64, i64, i64, Vec<u8>, Vec<u8>);

impl Store {
    /// The servers' words that dates of a decision have passed.
    ///
    /// # Errors
    /// The disk's.
    pub async fn decision_due(&self, id: &DecisionKey) -> Result<Vec<DueRow>, Error> {
        let query = "SELECT date, party, announcement FROM decision_due WHERE decision = $1 ORDER BY date, party";
        let rows: Vec<(i64, i64, i64)> =
            sqlx::query_as(query).bind(id.as_slice()).fetch_all(&self.pools.readers).await?;
        let read = |(date, party, announcement)| {
            Ok((
                from_sql(date, "decision_due.date")?,
                PartyId(from_sql(party, "decision_due.party")?),
                from_sql(announcement, "decision_due.announcement")?,
            ))
        };
        rows.into_iter().map(read).collect()
    }

    /// What servers hold after the head of a decision's chain.
    ///
    /// # Errors
    /// The disk's.
    pub async fn decision_held(&self, id: &DecisionKey) -> Result<Vec<HeldRecord>, Error> {
        let query = "SELECT party, announcement, person, previous, body FROM decision_held \
                     WHERE decision = $1 ORDER BY party, announcement";
        let rows: Vec<HeldColumns> =
            sqlx::query_as(query).bind(id.as_slice()).fetch_all(&self.pools.readers).await?;
        let read = |(party, announcement, person, previous, body): HeldColumns| {
            Ok(HeldRecord {
                decision: *id,
                party: PartyId(from_sql(party, "decision_held.party")?),
                announcement: from_sql(announcement, "decision_held.announcement")?,
                person: from_sql(person, "decision_held.person")?,
                previous: array(&previous, "decision_held.previous")?,
                body,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// Erases shares of one-time keys, for good: their names stay, so that nothing else is taken
    /// under them.
    ///
    /// # Errors
    /// The disk's.
    pub async fn erase_shares(&self, id: &DecisionKey, names: &[OneTimeName]) -> Result<(), Error> {
        let mut transaction = self.begin("erase shares").await?;
        for (owner, serial) in names {
            let update = "UPDATE held_shares SET body = $1, used_for = $2 WHERE owner = $3 AND serial = $4 \
                          AND (used_for IS NULL OR used_for = $2)";
            let query = sqlx::query(update).bind(&[][..]).bind(id.as_slice());
            let query = query.bind(owner.as_slice()).bind(serial.as_slice());
            query.execute(&mut *transaction).await?;
        }
        transaction.commit().await
    }

    /// Deletes shares that were to be kept until before this time and that no decision uses, and
    /// the names of erased ones. Returns how many.
    ///
    /// # Errors
    /// The disk's.
    pub async fn forget_shares(&self, before: u64) -> Result<u64, Error> {
        let mut transaction = self.begin("forget shares").await?;
        let delete =
            "DELETE FROM held_shares WHERE expires < $1 AND (used_for IS NULL OR length(body) = 0)";
        let done = sqlx::query(delete).bind(to_sql(before)?).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(done.rows_affected())
    }

    /// Keeps what this server drew for its layer of a decision, at this time, unless it has drawn
    /// before, or keeps `most` for decisions that have not begun. Returns what it drew first;
    /// `None` if there are too many.
    ///
    /// # Errors
    /// The disk's.
    pub async fn keep_layer(
        &self,
        id: &DecisionKey,
        seed: &[u8],
        now: u64,
        most: u32,
    ) -> Result<Option<Drawn>, Error> {
        let mut transaction = self.begin("keep what was drawn for a layer").await?;
        let insert = "INSERT INTO decision_layers (decision, seed, drawn) SELECT $1, $2, $3 \
                      WHERE (SELECT count(*) FROM decision_layers l WHERE NOT EXISTS \
                      (SELECT 1 FROM decisions d WHERE d.id = l.decision)) < $4 \
                      ON CONFLICT DO NOTHING";
        let query = sqlx::query(insert).bind(id.as_slice()).bind(seed).bind(to_sql(now)?);
        query.bind(i64::from(most)).execute(&mut *transaction).await?;
        let query = sqlx::query_as(DRAWN).bind(id.as_slice());
        let kept = query.fetch_optional(&mut *transaction).await?.map(drawn).transpose()?;
        transaction.commit().await?;
        Ok(kept)
    }

    /// What this server drew for its layer of a decision; `None` if it has not, or has erased it.
    ///
    /// # Errors
    /// The disk's.
    pub async fn layer(&self, id: &DecisionKey) -> Result<Option<Drawn>, Error> {
        let query = sqlx::query_as(DRAWN).bind(id.as_slice());
        query.fetch_optional(&self.pools.readers).await?.map(drawn).transpose()
    }

    /// Erases what was drawn for the layer of a decision, and notes that nothing is left of it to
    /// be erased ([`Store::is_erased`]): its shares go before ([`Store::erase_shares`]).
    ///
    /// # Errors
    /// The disk's.
    pub async fn erase_layer(&self, id: &DecisionKey) -> Result<(), Error> {
        let mut transaction = self.begin("erase what was drawn for a layer").await?;
        let delete = sqlx::query("DELETE FROM decision_layers WHERE decision = $1");
        delete.bind(id.as_slice()).execute(&mut *transaction).await?;
        let note = sqlx::query("UPDATE decisions SET erased = 1 WHERE id = $1");
        note.bind(id.as_slice()).execute(&mut *transaction).await?;
        transaction.commit().await
    }

    /// Whether what was kept for a decision was erased when it was over.
    ///
    /// # Errors
    /// The disk's.
    pub async fn is_erased(&self, id: &DecisionKey) -> Result<bool, Error> {
        let query = sqlx::query_scalar("SELECT erased FROM decisions WHERE id = $1");
        let erased: Option<i64> =
            query.bind(id.as_slice()).fetch_optional(&self.pools.readers).await?;
        Ok(erased == Some(1))
    }

    /// Erases what was drawn before this time for decisions that have not begun.
    ///
    /// # Errors
    /// The disk's.
    pub async fn forget_layers(&self, before: u64) -> Result<(), Error> {
        let mut transaction = self.begin("forget what was drawn for layers").await?;
        let delete = "DELETE FROM decision_layers WHERE drawn < $1 AND NOT EXISTS \
                      (SELECT 1 FROM decisions WHERE id = decision_layers.decision)";
        sqlx::query(delete).bind(to_sql(before)?).execute(&mut *transaction).await?;
        transaction.commit().await
    }
}

/// What a server drew for its layer of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The random bytes.
    pub seed: Vec<u8>,
    /// When, in seconds since 1970.
    pub at: u64,
}

const DRAWN: &str = "SELECT seed, drawn FROM decision_layers WHERE decision = $1";

fn drawn((seed, at): (Vec<u8>, i64)) -> Result<Drawn, Error> {
    Ok(Drawn { seed, at: from_sql(at, "decision_layers.drawn")? })
}

/// Adds a server's word that a date has passed. Its first one counts.
pub(crate) async fn add_due(
    connection: &mut AnyConnection,
    id: &DecisionKey,
    (date, party): (u8, PartyId),
    announcement: u64,
) -> Result<(), Error> {
    let insert = "INSERT INTO decision_due (decision, date, party, announcement) VALUES ($1, $2, $3, $4) \
                  ON CONFLICT DO NOTHING";
    let query = sqlx::query(insert).bind(id.as_slice()).bind(i64::from(date));
    let query = query.bind(i64::from(party.0)).bind(to_sql(announcement)?);
    query.execute(connection).await?;
    Ok(())
}

/// Adds what a server holds.
pub(crate) async fn add_held(
    connection: &mut AnyConnection,
    held: &HeldRecord,
) -> Result<(), Error> {
    let insert = "INSERT INTO decision_held (decision, party, person, announcement, previous, body) \
                  VALUES ($1, $2, $3, $4, $5, $6)";
    let query = sqlx::query(insert).bind(held.decision.as_slice()).bind(i64::from(held.party.0));
    let query = query.bind(i64::from(held.person)).bind(to_sql(held.announcement)?);
    query.bind(held.previous.as_slice()).bind(held.body.as_slice()).execute(connection).await?;
    Ok(())
}

//! The logs of announcements.

use ostrakon_party::PartyId;

use crate::database::transaction::{from_sql, to_sql};
use crate::{Change, Error, Store};

/// An announcement on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncementRow {
    /// Who announced it.
    pub author: PartyId,
    /// Its number in the author's log.
    pub number: u64,
    /// The author's signed header, encoded; `None` for this server's own.
    pub signed: Option<Vec<u8>>,
    /// What was announced.
    pub body: Vec<u8>,
    /// Whether it was delivered and its change recorded.
    pub delivered: bool,
}

type Columns = (i64, i64, Option<Vec<u8>>, Vec<u8>, i64);

impl Store {
    /// Keeps an announcement before this server sends it or vouches for it.
    ///
    /// # Errors
    /// [`Error::Database`] if another one is kept under its number; the disk's.
    pub async fn keep_announcement(
        &self,
        author: PartyId,
        number: u64,
        signed: Option<&[u8]>,
        body: &[u8],
    ) -> Result<(), Error> {
        let mut transaction = self.begin("keep an announcement").await?;
        sqlx::query(
            "INSERT INTO announcements (author, number, signed, body) VALUES ($1, $2, $3, $4)",
        )
        .bind(i64::from(author.0))
        .bind(to_sql(number)?)
        .bind(signed)
        .bind(body)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await
    }

    /// Marks an announcement as delivered and records what it changes, both or neither. `None`: it
    /// changes nothing (it was not valid).
    ///
    /// # Errors
    /// [`Error::State`] if it is not on record or was delivered before; the disk's.
    pub async fn deliver(
        &self,
        author: PartyId,
        number: u64,
        change: Option<&Change>,
    ) -> Result<(), Error> {
        let mut transaction = self.begin("deliver an announcement").await?;
        let mark = "UPDATE announcements SET delivered = 1 WHERE author = $1 AND number = $2 AND delivered = 0";
        let marked = sqlx::query(mark)
            .bind(i64::from(author.0))
            .bind(to_sql(number)?)
            .execute(&mut *transaction)
            .await?;
        if marked.rows_affected() != 1 {
            return Err(Error::State("an announcement is delivered once"));
        }
        if let Some(change) = change {
            change.apply(&mut transaction, number).await?;
        }
        transaction.commit().await
    }

    /// Keeps one of this server's own announcements together with what it changes, before it is
    /// sent.
    ///
    /// # Errors
    /// [`Error::Database`] if another one is kept under its number, or the change is not possible;
    /// the disk's.
    pub async fn announce(
        &self,
        author: PartyId,
        number: u64,
        body: &[u8],
        change: Option<&Change>,
    ) -> Result<(), Error> {
        let mut transaction = self.begin("announce").await?;
        sqlx::query(
            "INSERT INTO announcements (author, number, body, delivered) VALUES ($1, $2, $3, 1)",
        )
        .bind(i64::from(author.0))
        .bind(to_sql(number)?)
        .bind(body)
        .execute(&mut *transaction)
        .await?;
        if let Some(change) = change {
            change.apply(&mut transaction, number).await?;
        }
        transaction.commit().await
    }

    /// How many announcements of `author` were delivered: the number of the next one.
    ///
    /// # Errors
    /// The disk's.
    pub async fn delivered(&self, author: PartyId) -> Result<u64, Error> {
        let query = "SELECT coalesce(max(number) + 1, 0) FROM announcements WHERE author = $1 AND delivered = 1";
        let next: i64 = sqlx::query_scalar(query)
            .bind(i64::from(author.0))
            .fetch_one(&self.pools.readers)
            .await?;
        from_sql(next, "announcements.number")
    }

    /// The announcements of `author` from `number` on, in order.
    ///
    /// # Errors
    /// The disk's.
    pub async fn announcements(
        &self,
        author: PartyId,
        from: u64,
    ) -> Result<Vec<AnnouncementRow>, Error> {
        let query = sqlx::query_as(
            "SELECT author, number, signed, body, delivered FROM announcements WHERE author = $1 AND number >= $2 \
             ORDER BY number",
        );
        let rows: Vec<Columns> = query
            .bind(i64::from(author.0))
            .bind(to_sql(from)?)
            .fetch_all(&self.pools.readers)
            .await?;
        let read = |(author, number, signed, body, delivered): Columns| {
            let author = PartyId(from_sql(author, "announcements.author")?);
            let number = from_sql(number, "announcements.number")?;
            Ok(AnnouncementRow { author, number, signed, body, delivered: delivered != 0 })
        };
        rows.into_iter().map(read).collect()
    }

    /// Forgets the announcements of `author` below `number`, which every server has delivered.
    ///
    /// # Errors
    /// The disk's.
    pub async fn forget_announcements(&self, author: PartyId, below: u64) -> Result<(), Error> {
        let mut transaction = self.begin("forget announcements").await?;
        // The last delivered one stays: its number is where the log continues.
        sqlx::query(
            "DELETE FROM announcements WHERE author = $1 AND number < $2 AND number < \
             (SELECT max(number) FROM announcements WHERE author = $1 AND delivered = 1)",
        )
        .bind(i64::from(author.0))
        .bind(to_sql(below)?)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await
    }
}

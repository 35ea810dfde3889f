//! Join links of decisions to come: who asks to take part, and what the creator says. Each server
//! keeps them for itself.

use crate::database::transaction::to_sql;
use crate::{Error, Store};

/// A join link's id as the store sees it.
pub type GatheringKey = [u8; 16];

impl Store {
    /// Keeps a join link until a time (seconds since 1970), unless it is kept already or there are
    /// `most`. Whether it is kept.
    ///
    /// # Errors
    /// The disk's.
    pub async fn keep_gathering(
        &self,
        id: &GatheringKey,
        body: &[u8],
        until: u64,
        most: u32,
    ) -> Result<bool, Error> {
        let mut transaction = self.begin("keep a join link").await?;
        let insert = "INSERT INTO gatherings (id, body, until) SELECT $1, $2, $3 \
                      WHERE (SELECT count(*) FROM gatherings) < $4 ON CONFLICT DO NOTHING";
        let query = sqlx::query(insert).bind(id.as_slice()).bind(body).bind(to_sql(until)?);
        query.bind(i64::from(most)).execute(&mut *transaction).await?;
        let kept = sqlx::query_scalar("SELECT count(*) FROM gatherings WHERE id = $1");
        let kept: i64 = kept.bind(id.as_slice()).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(kept == 1)
    }

    /// A join link and what its creator said last, encoded; `None` if there is no such link.
    ///
    /// # Errors
    /// The disk's.
    pub async fn gathering(
        &self,
        id: &GatheringKey,
    ) -> Result<Option<(Vec<u8>, Option<Vec<u8>>)>, Error> {
        let query = sqlx::query_as("SELECT body, word FROM gatherings WHERE id = $1");
        Ok(query.bind(id.as_slice()).fetch_optional(&self.pools.readers).await?)
    }

    /// Keeps the request of an account, its first one, unless `most` others are kept. Whether one
    /// of the account is kept.
    ///
    /// # Errors
    /// The disk's.
    pub async fn keep_request(
        &self,
        id: &GatheringKey,
        account: &[u8; 32],
        body: &[u8],
        most: u32,
    ) -> Result<bool, Error> {
        let mut transaction = self.begin("keep a request to take part").await?;
        let insert = "INSERT INTO gathering_requests (gathering, account, body) SELECT $1, $2, $3 \
                      WHERE (SELECT count(*) FROM gathering_requests WHERE gathering = $1) < $4 \
                      ON CONFLICT DO NOTHING";
        let query = sqlx::query(insert).bind(id.as_slice()).bind(account.as_slice()).bind(body);
        query.bind(i64::from(most)).execute(&mut *transaction).await?;
        let kept = "SELECT count(*) FROM gathering_requests WHERE gathering = $1 AND account = $2";
        let kept = sqlx::query_scalar(kept).bind(id.as_slice()).bind(account.as_slice());
        let kept: i64 = kept.fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(kept == 1)
    }

    /// The requests that are kept of a join link, encoded.
    ///
    /// # Errors
    /// The disk's.
    pub async fn gathering_requests(&self, id: &GatheringKey) -> Result<Vec<Vec<u8>>, Error> {
        let query = "SELECT body FROM gathering_requests WHERE gathering = $1 ORDER BY account";
        let query = sqlx::query_scalar(query).bind(id.as_slice());
        Ok(query.fetch_all(&self.pools.readers).await?)
    }

    /// Keeps what a creator says, in place of what it said before, and drops the requests of these
    /// accounts. Whether it has a higher number than that.
    ///
    /// # Errors
    /// The disk's.
    pub async fn keep_word(
        &self,
        id: &GatheringKey,
        (number, word): (u32, &[u8]),
        refused: &[[u8; 32]],
    ) -> Result<bool, Error> {
        let mut transaction = self.begin("keep a creator's word").await?;
        let update = "UPDATE gatherings SET word = $1, number = $2 WHERE id = $3 AND number < $2";
        let query = sqlx::query(update).bind(word).bind(i64::from(number)).bind(id.as_slice());
        if query.execute(&mut *transaction).await?.rows_affected() != 1 {
            return Ok(false);
        }
        for account in refused {
            let delete = "DELETE FROM gathering_requests WHERE gathering = $1 AND account = $2";
            let query = sqlx::query(delete).bind(id.as_slice()).bind(account.as_slice());
            query.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Deletes the join links that were to be kept until before this time, with their requests.
    ///
    /// # Errors
    /// The disk's.
    pub async fn forget_gatherings(&self, before: u64) -> Result<(), Error> {
        let mut transaction = self.begin("forget join links").await?;
        for delete in [
            "DELETE FROM gathering_requests WHERE gathering IN \
             (SELECT id FROM gatherings WHERE until < $1)",
            "DELETE FROM gatherings WHERE until < $1",
        ] {
            sqlx::query(delete).bind(to_sql(before)?).execute(&mut *transaction).await?;
        }
        transaction.commit().await
    }
}

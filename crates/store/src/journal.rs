//! The mixing engine's marks.

use crate::{Error, Store};

impl Store {
    /// Records that `name` has this value unless it has one, and returns the value that stands. On disk on return.
    ///
    /// # Errors
    /// The disk's.
    pub async fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        let mut transaction = self.begin("record a mark").await?;
        // The first value stands.
        sqlx::query("INSERT INTO journal (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
            .bind(name)
            .bind(value)
            .execute(&mut *transaction)
            .await?;
        let query = sqlx::query_scalar("SELECT value FROM journal WHERE name = $1");
        let standing = query.bind(name).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(standing)
    }

    /// Every mark, by name.
    ///
    /// # Errors
    /// The disk's.
    pub async fn marks(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        Ok(sqlx::query_as("SELECT name, value FROM journal ORDER BY name").fetch_all(&self.pools.readers).await?)
    }
}

//! What is left of computations that are over.

use ostrakon_computation::{Archive, ComputationId};
use ostrakon_party::wire;
use sqlx::Row;

use super::{Done, Store};

/// What has rows of a computation, those that others refer to last.
const TABLES: [&str; 7] = [
    "DELETE FROM uploads WHERE computation = ?",
    "DELETE FROM inputs WHERE computation = ?",
    "DELETE FROM statements WHERE computation = ?",
    "DELETE FROM equivocations WHERE computation = ?",
    "DELETE FROM marks WHERE computation = ?",
    "DELETE FROM attempts WHERE computation = ?",
    "DELETE FROM computations WHERE id = ?",
];

impl Store {
    /// Notes from when on it counts how long a computation is kept, unless that is known.
    pub(crate) async fn over(&self, id: &ComputationId, now: u64) -> Done<()> {
        sqlx::query("UPDATE computations SET over = ? WHERE id = ? AND over IS NULL")
            .bind(i64::try_from(now).unwrap_or(i64::MAX))
            .bind(&id.0.0[..])
            .execute(&self.0)
            .await?;
        Ok(())
    }

    /// Erases what was handed in to a computation with a result.
    pub(crate) async fn erase_inputs(&self, id: &ComputationId) -> Done<()> {
        sqlx::query("DELETE FROM inputs WHERE computation = ?")
            .bind(&id.0.0[..])
            .execute(&self.0)
            .await?;
        Ok(())
    }

    /// Erases what came out of a computation that was cancelled.
    pub(crate) async fn erase_conclusion(&self, id: &ComputationId) -> Done<()> {
        sqlx::query("UPDATE computations SET conclusion = NULL WHERE id = ?")
            .bind(&id.0.0[..])
            .execute(&self.0)
            .await?;
        Ok(())
    }

    /// Deletes a computation but for its archive, and for its name: whatever was used up in it
    /// stays so, since it is never begun again.
    pub(crate) async fn bury(&self, id: &ComputationId, archive: Option<&Archive>) -> Done<()> {
        let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query("INSERT INTO past (computation, archive) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(&id.0.0[..])
            .bind(archive.map(wire::encode))
            .execute(&mut *transaction)
            .await?;
        for table in TABLES {
            sqlx::query(table).bind(&id.0.0[..]).execute(&mut *transaction).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Whether a computation has been deleted, and its archive if it had one.
    pub(crate) async fn buried(&self, id: &ComputationId) -> Done<Option<Option<Archive>>> {
        let row = sqlx::query("SELECT archive FROM past WHERE computation = ?")
            .bind(&id.0.0[..])
            .fetch_optional(&self.0)
            .await?;
        let archive = |row: sqlx::sqlite::SqliteRow| super::optional(row.get(0));
        row.map(archive).transpose()
    }
}

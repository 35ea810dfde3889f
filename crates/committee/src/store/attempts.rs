//! What is on disk of attempts (`docs/spec/committee.md`, C8).

use ostrakon_computation::ComputationId;
use ostrakon_crypto::Digest;
use sqlx::Row;

use super::{Done, Store};

impl Store {
    /// What is on disk of an attempt: its randomness, and the pieces of its tape in their order.
    pub(crate) async fn attempt(
        &self,
        id: &ComputationId,
        attempt: &Digest,
    ) -> Done<Option<(Vec<u8>, Vec<Vec<u8>>)>> {
        let rows = sqlx::query(
            "SELECT piece FROM attempts WHERE computation = ? AND attempt = ? ORDER BY place",
        )
        .bind(&id.0.0[..])
        .bind(&attempt.0[..])
        .fetch_all(&self.0)
        .await?;
        let mut pieces = rows.iter().map(|row| row.get::<Vec<u8>, _>(0));
        Ok(pieces.next().map(|seed| (seed, pieces.collect())))
    }

    /// Appends to what is on disk of an attempt, beginning with its randomness.
    pub(crate) async fn append(
        &self,
        id: &ComputationId,
        attempt: &Digest,
        piece: &[u8],
    ) -> Done<()> {
        sqlx::query(
            "INSERT INTO attempts (computation, attempt, place, piece) VALUES (?1, ?2, \
             (SELECT COUNT(*) FROM attempts WHERE computation = ?1 AND attempt = ?2), ?3)",
        )
        .bind(&id.0.0[..])
        .bind(&attempt.0[..])
        .bind(piece)
        .execute(&self.0)
        .await?;
        Ok(())
    }

    /// How many pieces there are on the tapes of a computation's attempts.
    pub(crate) async fn exchanges(&self, id: &ComputationId) -> Done<u64> {
        let row = sqlx::query("SELECT COUNT(*) FROM attempts WHERE computation = ? AND place > 0")
            .bind(&id.0.0[..])
            .fetch_one(&self.0)
            .await?;
        Ok(u64::try_from(row.get::<i64, _>(0)).unwrap_or(0))
    }

    /// Erases what is on disk of all attempts at a computation that is over.
    pub(crate) async fn erase_attempts(&self, id: &ComputationId) -> Done<()> {
        sqlx::query("DELETE FROM attempts WHERE computation = ?")
            .bind(&id.0.0[..])
            .execute(&self.0)
            .await?;
        Ok(())
    }
}

//! Inputs that are computed on again (`docs/spec/committee.md`, C14).

use ostrakon_computation::{ComputationId, Seal, SignedDraft};
use ostrakon_party::wire;
use sqlx::Row;

use super::{Done, Store};

/// What came of beginning a computation on an earlier one's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Begun,
    /// As many have been begun as may be.
    UsedUp,
    /// They are erased.
    Erased,
}

impl Store {
    /// Adds a computation that uses the inputs of an earlier one, which are copied; all or nothing.
    /// At most `most` are ever begun.
    pub(crate) async fn add_again(
        &self,
        draft: &SignedDraft,
        (earlier, seal): (&ComputationId, &Seal),
        most: u32,
    ) -> Done<Again> {
        let id = draft.draft.id();
        let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
        // The same draft may be handed in twice at the same time.
        let known = sqlx::query("SELECT 1 FROM computations WHERE id = ?")
            .bind(&id.0.0[..])
            .fetch_optional(&mut *transaction)
            .await?;
        if known.is_some() {
            return Ok(Again::Begun);
        }
        let begun: i64 = sqlx::query("SELECT COUNT(*) FROM computations WHERE earlier = ?")
            .bind(&earlier.0.0[..])
            .fetch_one(&mut *transaction)
            .await?
            .get(0);
        if begun >= i64::from(most) {
            return Ok(Again::UsedUp);
        }
        sqlx::query("INSERT INTO computations (id, draft, earlier) VALUES (?, ?, ?)")
            .bind(&id.0.0[..])
            .bind(wire::encode(draft))
            .bind(&earlier.0.0[..])
            .execute(&mut *transaction)
            .await?;
        for entry in &seal.inputs {
            let copied = sqlx::query(
                "INSERT INTO inputs (computation, contributor, body_digest, signature, body, held) \
                 SELECT ?, contributor, body_digest, ?, body, 1 FROM inputs \
                 WHERE computation = ? AND contributor = ? AND body_digest = ?",
            )
            .bind(&id.0.0[..])
            .bind(&entry.signature.0.0[..])
            .bind(&earlier.0.0[..])
            .bind(&entry.contributor.0[..])
            .bind(&entry.body.0[..])
            .execute(&mut *transaction)
            .await?;
            if copied.rows_affected() != 1 {
                return Ok(Again::Erased);
            }
        }
        transaction.commit().await?;
        Ok(Again::Begun)
    }

    /// How many computations use the inputs of this one, or have.
    pub(crate) async fn used(&self, id: &ComputationId) -> Done<u64> {
        let row = sqlx::query("SELECT COUNT(*) FROM computations WHERE earlier = ?")
            .bind(&id.0.0[..])
            .fetch_one(&self.0)
            .await?;
        Ok(u64::try_from(row.get::<i64, _>(0)).unwrap_or(0))
    }
}

//! What answers have cost contributors (`docs/spec/statistics.md`, section 8).

use ostrakon_computation::ComputationId;
use ostrakon_crypto::VerifyingKey;
use sqlx::Row;

use super::{Done, Store};

impl Store {
    /// Charges contributors for a computation, each once, as far as `budget` goes, all or none.
    /// Returns who cannot pay.
    pub(crate) async fn charge(
        &self,
        id: &ComputationId,
        contributors: &[VerifyingKey],
        (epsilon, budget): (u64, u64),
    ) -> Done<Vec<VerifyingKey>> {
        let [epsilon, budget] = [epsilon, budget].map(|e| i64::try_from(e).unwrap_or(i64::MAX));
        let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
        let mut short = Vec::new();
        for contributor in contributors {
            let spent: i64 = sqlx::query(
                "SELECT COALESCE(SUM(epsilon), 0) FROM spent \
                 WHERE contributor = ? AND computation <> ?",
            )
            .bind(&contributor.0[..])
            .bind(&id.0.0[..])
            .fetch_one(&mut *transaction)
            .await?
            .get(0);
            if spent.saturating_add(epsilon) > budget {
                short.push(*contributor);
                continue;
            }
            sqlx::query(
                "INSERT INTO spent (contributor, computation, epsilon) VALUES (?, ?, ?) \
                 ON CONFLICT DO NOTHING",
            )
            .bind(&contributor.0[..])
            .bind(&id.0.0[..])
            .bind(epsilon)
            .execute(&mut *transaction)
            .await?;
        }
        if short.is_empty() {
            transaction.commit().await?;
        }
        Ok(short)
    }
}

//! What answers have cost contributors (`docs/spec/statistics.md`, section 8).

use ostrakon_computation::{ComputationId, Spent};
use ostrakon_crypto::VerifyingKey;
use sqlx::Row;

use super::{Done, Store};

/// What came of charging contributors.
pub(crate) struct Charged {
    /// How many cannot pay; then nobody was charged.
    pub short: usize,
    /// What answers have told of them, this one included.
    pub spent: Spent,
}

impl Store {
    /// Charges contributors for a computation, each once, as far as `budget` goes if there is one,
    /// all or none. An exact answer has no measure: `epsilon` is none, no budget goes that far, and
    /// whatever is told afterwards of whom it was about has none either.
    pub(crate) async fn charge(
        &self,
        id: &ComputationId,
        contributors: &[VerifyingKey],
        epsilon: Option<u64>,
        budget: Option<u64>,
    ) -> Done<Charged> {
        let most_of = |e: u64| i64::try_from(e).unwrap_or(i64::MAX);
        let (epsilon, limit) = (epsilon.map(most_of), budget.map(most_of));
        let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
        let (mut short, mut most) = (0, Some(0));
        for contributor in contributors {
            let row = sqlx::query(
                "SELECT COALESCE(SUM(epsilon), 0), COUNT(*) - COUNT(epsilon) FROM spent \
                 WHERE contributor = ? AND computation <> ?",
            )
            .bind(&contributor.0[..])
            .bind(&id.0.0[..])
            .fetch_one(&mut *transaction)
            .await?;
            let (spent, exact): (i64, i64) = (row.get(0), row.get(1));
            let after = epsilon.filter(|_| exact == 0).map(|of| spent.saturating_add(of));
            if limit.is_some_and(|limit| after.is_none_or(|after| after > limit)) {
                short += 1;
                continue;
            }
            most = most.zip(after).map(|(most, after): (i64, i64)| most.max(after));
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
        if short == 0 {
            transaction.commit().await?;
        }
        let most = most.map(|most| u64::try_from(most).unwrap_or(0));
        Ok(Charged { short, spent: Spent { most, budget } })
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::{Digest, SigningKey};

    use super::*;

    #[tokio::test]
    async fn what_is_spent_is_the_most_of_anybody_over_all_questions() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("member.db")).await.unwrap();
        let keys = [1, 2, 3].map(|seed| SigningKey::from_seed(&[seed; 32]).verifying_key());
        let charge = async |question, who: &[VerifyingKey], epsilon, budget| {
            let id = ComputationId(Digest([question; 32]));
            let charged = store.charge(&id, who, Some(epsilon), budget).await.unwrap();
            assert_eq!(charged.spent.budget, budget);
            (charged.short, charged.spent.most.expect("all answers had noise"))
        };
        assert_eq!(charge(1, &keys[..2], 1000, None).await, (0, 1000));
        assert_eq!(charge(1, &keys[..2], 1000, None).await, (0, 1000), "once for a question");
        assert_eq!(charge(2, &keys[1..], 500, Some(1500)).await, (0, 1500));
        assert_eq!(charge(3, &keys[2..], 500, Some(1500)).await, (0, 1000));
        let (short, _) = charge(4, &keys, 100, Some(1500)).await;
        assert_eq!(short, 1, "the second has spent all");
        assert_eq!(charge(5, &keys[..1], 1, None).await, (0, 1001), "and nobody was charged then");
    }

    /// Attack: an exact answer about the same people is as if it had told nothing.
    #[tokio::test]
    async fn after_an_exact_answer_there_is_no_measure_and_no_budget_goes_so_far() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("member.db")).await.unwrap();
        let keys = [1, 2].map(|seed| SigningKey::from_seed(&[seed; 32]).verifying_key());
        let charge = async |question, who: &[VerifyingKey], epsilon, budget| {
            let id = ComputationId(Digest([question; 32]));
            let Charged { short, spent } = store.charge(&id, who, epsilon, budget).await.unwrap();
            (short, spent.most)
        };
        assert_eq!(charge(1, &keys[..1], None, None).await, (0, None));
        assert_eq!(charge(2, &keys[1..], Some(500), None).await, (0, Some(500)));
        assert_eq!(charge(3, &keys, Some(500), None).await, (0, None), "of one of them");
        assert_eq!(charge(4, &keys, Some(1), Some(9000)).await.0, 1, "a budget that came later");
        assert_eq!(charge(5, &keys[1..], None, Some(9000)).await.0, 1, "an exact answer");
        assert_eq!(charge(6, &keys[1..], Some(1), Some(9000)).await, (0, Some(1001)));
    }
}

//! What misbehaving servers left behind.

use ostrakon_party::PartyId;

use crate::database::transaction::{from_sql, to_sql};
use crate::{Error, Store};

/// A fault on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRow {
    /// When it was seen, in milliseconds since 1970.
    pub seen_at: u64,
    /// Whose it is.
    pub culprit: PartyId,
    /// What was done.
    pub what: String,
    /// The evidence, encoded by whoever saw it.
    pub evidence: Vec<u8>,
}

/// Faults that are kept, and bytes of evidence. A corrupt server could otherwise fill the disk with
/// new ones.
const MOST_FAULTS: i64 = 1000;
const MOST_EVIDENCE: i64 = 256 << 20;

impl Store {
    /// Keeps a fault. The same one again is kept once; when there are a thousand, or 256 MiB of
    /// evidence, no more are kept, but for the first of each server.
    ///
    /// # Errors
    /// The disk's.
    pub async fn keep_fault(&self, fault: &FaultRow) -> Result<(), Error> {
        self.keep_fault_within(fault, MOST_EVIDENCE).await
    }

    async fn keep_fault_within(&self, fault: &FaultRow, most: i64) -> Result<(), Error> {
        let mut transaction = self.begin("keep a fault").await?;
        sqlx::query(
            "INSERT INTO faults (seen_at, culprit, what, evidence) \
             SELECT $1, $2, $3, $4 WHERE (SELECT count(*) FROM faults) < $5 \
             AND (SELECT CAST(coalesce(sum(length(evidence)), 0) AS BIGINT) FROM faults) <= $6 - $7 \
             OR NOT EXISTS (SELECT 1 FROM faults WHERE culprit = $2) ON CONFLICT DO NOTHING",
        )
        .bind(to_sql(fault.seen_at)?)
        .bind(i64::from(fault.culprit.0))
        .bind(&fault.what)
        .bind(&fault.evidence)
        .bind(MOST_FAULTS)
        .bind(most)
        .bind(fault.evidence.len() as i64)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await
    }

    /// Every fault, oldest first.
    ///
    /// # Errors
    /// The disk's.
    pub async fn faults(&self) -> Result<Vec<FaultRow>, Error> {
        let query =
            sqlx::query_as("SELECT seen_at, culprit, what, evidence FROM faults ORDER BY id");
        let rows: Vec<(i64, i64, String, Vec<u8>)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(seen_at, culprit, what, evidence)| {
            let culprit = PartyId(from_sql(culprit, "faults.culprit")?);
            Ok(FaultRow { seen_at: from_sql(seen_at, "faults.seen_at")?, culprit, what, evidence })
        };
        rows.into_iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    #[tokio::test]
    async fn evidence_does_not_fill_the_disk_and_nobody_hides_behind_others() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), &Database::Sqlite).await.unwrap();
        let fault = |culprit, evidence: &[u8]| {
            let (culprit, what) = (PartyId(culprit), "lied".to_owned());
            FaultRow { seen_at: 1, culprit, what, evidence: evidence.into() }
        };
        let all = [
            fault(0, &[0; 60]),
            fault(0, &[1; 40]),
            fault(0, &[2; 1]),
            fault(1, &[3; 500]),
            fault(1, &[4; 1]),
        ];
        for fault in &all {
            store.keep_fault_within(fault, 100).await.unwrap();
        }
        assert_eq!(store.faults().await.unwrap(), [&all[0], &all[1], &all[3]].map(Clone::clone));
    }
}

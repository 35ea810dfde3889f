//! What misbehaving servers left behind.

use ostrakon_party::PartyId;

use crate::transaction::{from_sql, to_sql};
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

/// Faults that are kept. A corrupt server could otherwise fill the disk with new ones.
const MOST_FAULTS: i64 = 1000;

impl Store {
    /// Keeps a fault. The same one again is kept once; when there are a thousand, no more are kept.
    ///
    /// # Errors
    /// The disk's.
    pub async fn keep_fault(&self, fault: &FaultRow) -> Result<(), Error> {
        let mut transaction = self.begin("keep a fault").await?;
        sqlx::query(
            "INSERT INTO faults (seen_at, culprit, what, evidence) \
             SELECT $1, $2, $3, $4 WHERE (SELECT count(*) FROM faults) < $5 ON CONFLICT DO NOTHING",
        )
        .bind(to_sql(fault.seen_at)?)
        .bind(i64::from(fault.culprit.0))
        .bind(&fault.what)
        .bind(&fault.evidence)
        .bind(MOST_FAULTS)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await
    }

    /// Every fault, oldest first.
    ///
    /// # Errors
    /// The disk's.
    pub async fn faults(&self) -> Result<Vec<FaultRow>, Error> {
        let query = sqlx::query_as("SELECT seen_at, culprit, what, evidence FROM faults ORDER BY id");
        let rows: Vec<(i64, i64, String, Vec<u8>)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(seen_at, culprit, what, evidence)| {
            let culprit = PartyId(from_sql(culprit, "faults.culprit")?);
            Ok(FaultRow { seen_at: from_sql(seen_at, "faults.seen_at")?, culprit, what, evidence })
        };
        rows.into_iter().map(read).collect()
    }
}

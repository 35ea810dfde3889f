//! What operators and hosts did at this server. What participants do is never written here.

use crate::database::transaction::{from_sql, to_sql};
use crate::{Error, Store};

/// Something to be put on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAudit {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Who: an operator, or a host by its key.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// To what, and how.
    pub detail: String,
}

/// Something on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number; later ones have higher ones.
    pub id: u64,
    /// What is on record.
    pub record: NewAudit,
}

/// Records that are kept. Hosts could otherwise fill the disk.
const MOST_RECORDS: i64 = 100_000;

impl Store {
    /// Puts something on record. The oldest records go when there are a hundred thousand.
    ///
    /// # Errors
    /// The disk's.
    pub async fn record_audit(&self, record: &NewAudit) -> Result<(), Error> {
        // PostgreSQL's texts hold no NUL.
        let text = |text: &str| text.replace('\0', "\u{fffd}");
        let mut transaction = self.begin("record an action").await?;
        let insert = "INSERT INTO audit (at, actor, action, detail) VALUES ($1, $2, $3, $4)";
        sqlx::query(insert)
            .bind(to_sql(record.at)?)
            .bind(text(&record.actor))
            .bind(text(&record.action))
            .bind(text(&record.detail))
            .execute(&mut *transaction)
            .await?;
        sqlx::query("DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - $1")
            .bind(MOST_RECORDS)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    /// The newest `count` records whose number is below `before` (all, if `None`), newest first.
    ///
    /// # Errors
    /// The disk's.
    pub async fn audit(&self, before: Option<u64>, count: u32) -> Result<Vec<AuditRow>, Error> {
        let before = before.map_or(Ok(i64::MAX), to_sql)?;
        let query = "SELECT id, at, actor, action, detail FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2";
        let query = sqlx::query_as(query).bind(before).bind(i64::from(count));
        let rows: Vec<(i64, i64, String, String, String)> =
            query.fetch_all(&self.pools.readers).await?;
        let read = |(id, at, actor, action, detail)| {
            let record = NewAudit { at: from_sql(at, "audit.at")?, actor, action, detail };
            Ok(AuditRow { id: from_sql(id, "audit.id")?, record })
        };
        rows.into_iter().map(read).collect()
    }
}

//! What operators and hosts did, on record at this server. What participants do is never written
//! down: nothing that handles a participant's request calls this.

use ostrakon_store::{AuditRow, Error, NewAudit};
use serde::{Deserialize, Serialize};

use crate::disk::Disk;

/// Records in one answer at most.
pub const MOST_AT_ONCE: u32 = 500;
/// Bytes of a detail that are kept.
const LONGEST_DETAIL: usize = 1000;

/// Something on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditInfo {
    /// Its number; later ones have higher ones.
    pub id: u64,
    /// When, in seconds since 1970.
    pub at: u64,
    /// Who: `server`, `operator`, or a host by its key.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// To what, and how.
    pub detail: String,
}

impl From<AuditRow> for AuditInfo {
    fn from(AuditRow { id, record }: AuditRow) -> Self {
        let NewAudit { at, actor, action, detail } = record;
        Self { id, at: at / 1000, actor, action, detail }
    }
}

/// Puts something on record. What cannot be recorded is logged: an operator whose disk is full must
/// still be able to act.
pub(crate) async fn note(disk: &Disk, now: u64, actor: &str, action: &str, detail: &str) {
    let mut detail = detail.to_owned();
    detail.truncate(detail.floor_char_boundary(LONGEST_DETAIL));
    let record = NewAudit { at: now, actor: actor.to_owned(), action: action.to_owned(), detail };
    if let Err(error) = disk.record_audit(&record).await {
        tracing::error!(%error, actor, action, "an action cannot be put on record");
    }
}

/// The newest `count` records whose number is below `before`, newest first.
pub(crate) async fn read(
    disk: &Disk,
    before: Option<u64>,
    count: u32,
) -> Result<Vec<AuditInfo>, Error> {
    let rows = disk.audit(before, count.min(MOST_AT_ONCE)).await?;
    Ok(rows.into_iter().map(AuditInfo::from).collect())
}

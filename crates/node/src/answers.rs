//! Answers that several parts of a server give, in the same words.

use ostrakon_protocol::ServiceError;

/// Bytes that a submission may have beyond the row.
pub(crate) const SUBMISSION_OVERHEAD: usize = 1024;

/// The answer about a room that is not there.
pub(crate) fn no_room() -> ServiceError {
    ServiceError::NotFound(
        "there is no such room here; if it was just created, try again in a moment".into(),
    )
}

/// The answer about an epoch that takes nothing in any more.
pub(crate) fn epoch_over(epoch: u64) -> ServiceError {
    ServiceError::Conflict(format!("epoch {epoch} is closed; take part in the next one"))
}

/// The answer when the disk fails; why is for the operator's log. What may pass is logged by
/// [`Disk`](crate::disk::Disk), however many ask.
pub(crate) fn internal(error: ostrakon_store::Error) -> ServiceError {
    if !error.may_pass() {
        tracing::error!(%error, "a request failed");
    }
    ServiceError::Internal
}

//! What any job's requests and answers look like: what they hold is the job's.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::ServiceError;

/// What a server shows of a job's subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobView {
    /// Grows when the subject changes; smaller again after a restart.
    pub version: u64,
    /// What is shown, as the job says it.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub view: serde_json::Value,
}

/// Reads a subject's id.
///
/// # Errors
/// [`ServiceError::NotFound`] if it is none.
pub fn parse_subject(text: &str) -> Result<[u8; 16], ServiceError> {
    let malformed = || ServiceError::NotFound("a subject's id has 32 hexadecimal digits".into());
    let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| malformed())?;
    bytes.try_into().map_err(|_| malformed())
}

//! A server's no.

use serde::Deserialize;

/// A server's no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The server's explanation, in English; empty if there is none.
    pub detail: String,
}

/// Whether what was refused with this HTTP status may succeed later.
pub fn passes(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

impl Refusal {
    /// Of an answer with this status.
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        /// The explanation in a problem document.
        #[derive(Deserialize)]
        struct Problem {
            detail: String,
        }
        let problem = serde_json::from_slice::<Problem>(body);
        let detail = problem.map(|problem| problem.detail).unwrap_or_default();
        Self { status, detail }
    }

    /// Whether the same request may succeed later.
    pub fn passes(&self) -> bool {
        passes(self.status)
    }

    /// Something else came first, or the date has passed.
    pub fn is_overtaken(&self) -> bool {
        self.status == 409
    }
}

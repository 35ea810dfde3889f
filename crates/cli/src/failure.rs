//! How the program fails: exit codes, and errors that carry them.

use std::process::ExitCode;

use ostrakon_client::host::Refusal;
use reqwest::StatusCode;

/// What the exit codes mean, for `--help`.
pub const EXIT_CODES: &str = "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 what was to be checked is not authentic; \
                              4 a server does not answer or is not ready.";

/// An error with an exit code of its own.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Coded {
    code: u8,
    message: String,
}

/// Something is not what its signatures or digests say.
pub fn unproven(message: impl Into<String>) -> anyhow::Error {
    Coded { code: 3, message: message.into() }.into()
}

/// A server does not answer, or cannot work yet.
pub fn unreachable(message: impl Into<String>) -> anyhow::Error {
    Coded { code: 4, message: message.into() }.into()
}

/// Why a request brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No connection, or it broke, or it took too long.
    #[error(
        "{origin} does not answer ({cause}); check that the server runs and that its address is right"
    )]
    Unreachable {
        /// The server.
        origin: String,
        /// What happened.
        cause: String,
    },
    /// The server said no.
    #[error("{origin} says: {detail} (HTTP {status})")]
    Refused {
        /// The server.
        origin: String,
        /// The HTTP status.
        status: u16,
        /// The server's explanation.
        detail: String,
    },
    /// The answer is not what the interface promises.
    #[error(
        "{origin} answered in a form that this program does not know ({cause}); is it an Ostrakon server of this version?"
    )]
    Unknown {
        /// The server.
        origin: String,
        /// What is wrong with it.
        cause: String,
    },
}

impl CallError {
    /// What the server at `origin` said to a state machine's request, or that it said nothing.
    pub fn of(origin: &str, said: Option<Refusal>) -> Self {
        let origin = origin.to_owned();
        match said {
            Some(Refusal { status, detail }) if detail.is_empty() => {
                let detail = reason(StatusCode::from_u16(status).ok());
                Self::Refused { origin, status, detail }
            }
            Some(Refusal { status, detail }) => Self::Refused { origin, status, detail },
            None => Self::Unreachable { origin, cause: "no answer came in time".into() },
        }
    }

    /// Whether the same request may succeed later.
    pub fn passes(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => ostrakon_client::passes(*status),
            Self::Unknown { .. } => false,
        }
    }
}

/// A status in words.
pub fn reason(status: Option<StatusCode>) -> String {
    status.and_then(|status| status.canonical_reason()).unwrap_or("no reason given").to_owned()
}

/// A request that failed.
pub fn call(error: CallError) -> anyhow::Error {
    if error.passes() { unreachable(error.to_string()) } else { error.into() }
}

/// Whether an error says that a server does not answer or cannot work yet.
pub fn is_unreachable(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Coded>().is_some_and(|coded| coded.code == 4)
}

/// The exit code for an error.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    error.downcast_ref::<Coded>().map_or(ExitCode::FAILURE, |coded| ExitCode::from(coded.code))
}

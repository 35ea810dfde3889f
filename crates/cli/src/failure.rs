//! How the program fails: exit codes, and errors that carry them.

use std::process::ExitCode;

use crate::client::CallError;

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

//! Shared-key set-up (F_setup, Ruffle appendix A, Fig. 7) without a dealer: that of
//! [`ostrakon_threeparty::setup`].

use ostrakon_party::Party;
use ostrakon_threeparty::Marks;

use crate::accusation::fault::Stop;
use crate::messages::Subject;
use crate::run::Run;

pub use ostrakon_threeparty::setup::{SharedKeys, setup_session};

/// Runs the set-up. `party` must be of the session [`setup_session`]; `randomness` is 32 fresh
/// random bytes, which are kept with the marks until the set-up has ended at every server, for the
/// same call after a crash.
///
/// # Errors
/// As [`ostrakon_threeparty::setup::run`].
pub async fn run(
    party: &Party,
    randomness: [u8; 32],
    marks: &dyn Marks,
) -> Result<SharedKeys, Stop> {
    let run = Run { party: party.clone(), subject: Subject::Setup };
    ostrakon_threeparty::setup::run(&run, randomness, marks).await
}

/// The same for servers that do not repeat it after a crash, but set up anew, under other identity
/// keys.
///
/// # Errors
/// As [`ostrakon_threeparty::setup::run_once`].
pub async fn run_once(party: &Party, randomness: [u8; 32]) -> Result<SharedKeys, Stop> {
    let run = Run { party: party.clone(), subject: Subject::Setup };
    ostrakon_threeparty::setup::run_once(&run, randomness).await
}

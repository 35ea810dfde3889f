//! Shared-key set-up (F_setup, Ruffle appendix A, Fig. 7) without a dealer: that of
//! [`ostrakon_threeparty::setup`].

use ostrakon_party::Party;

use crate::accusation::fault::Stop;
use crate::messages::Subject;
use crate::run::Run;

pub use ostrakon_threeparty::setup::{SharedKeys, setup_session};

/// Runs the set-up. `party` must be of the session [`setup_session`]; `randomness` is 32 fresh
/// random bytes.
///
/// # Errors
/// [`Stop::Fault`] with evidence, or [`Stop::Disagreement`] if two parties state different common
/// keys.
pub async fn run(party: &Party, randomness: [u8; 32]) -> Result<SharedKeys, Stop> {
    let run = Run { party: party.clone(), subject: Subject::Setup };
    ostrakon_threeparty::setup::run(&run, randomness).await
}

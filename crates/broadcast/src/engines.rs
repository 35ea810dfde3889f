//! The registry of engines: one line each.

use ostrakon_party::{Delivery, Trust, Unbearable};

use crate::clarion::client::ClarionClient;
use crate::engine::ClientEngine;
use crate::room::EngineKind;
use crate::ruffle::client::RuffleClient;

/// What an engine bears among so many servers.
///
/// # Errors
/// [`Unbearable`] if it is not one for so many.
pub fn trust(kind: EngineKind, parties: usize) -> Result<Trust, Unbearable> {
    let trust = match kind {
        EngineKind::Ruffle | EngineKind::Clarion => Trust::one_of_three(),
    };
    let other = Unbearable { parties, corrupt: trust.corrupt(), delivery: Delivery::Stoppable };
    if trust.parties() == parties { Ok(trust) } else { Err(other) }
}

/// How many of a room's servers must say the same for an honest one to be among them, by what its
/// engine bears. Of an engine that is not one for so many servers, all must.
#[must_use]
pub fn believed(kind: EngineKind, parties: usize) -> usize {
    trust(kind, parties).map_or(parties, |trust| trust.believed())
}

/// A participant's side of an engine.
pub fn client(kind: EngineKind) -> &'static (dyn ClientEngine + Send + Sync) {
    match kind {
        EngineKind::Ruffle => &RuffleClient,
        EngineKind::Clarion => &ClarionClient,
    }
}

#[cfg(feature = "server")]
pub use server::{check_submission, may_have_opened, verify_evidence};

#[cfg(feature = "server")]
mod server {
    use ostrakon_crypto::VerifyingKey;
    use ostrakon_party::SessionId;

    use crate::engine::{EpochContext, Fault, Rejected};
    use crate::room::{EngineKind, Servers};
    use crate::{clarion, ruffle};

    /// What [`crate::Batch::check`] says of a submission: it takes no secret, and no batch.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check_submission(
        session: &SessionId,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        body: &[u8],
    ) -> Result<(), Rejected> {
        let check = match context.engine {
            EngineKind::Ruffle => ruffle::server::check_submission,
            EngineKind::Clarion => clarion::server::check_submission,
        };
        check(session, context, slot, owner, body)
    }

    /// Whether, by the marks that the engine has made, somebody may be able to read messages of a
    /// sealed epoch.
    pub fn may_have_opened(
        session: &SessionId,
        context: &EpochContext,
        marks: &[(String, Vec<u8>)],
    ) -> bool {
        let may = match context.engine {
            EngineKind::Ruffle => ruffle::server::may_have_opened,
            EngineKind::Clarion => clarion::server::may_have_opened,
        };
        may(session, context, marks)
    }

    /// Whether a fault's evidence convicts its culprit before somebody who knows the servers' keys
    /// only, by the rules of any engine.
    #[must_use]
    pub fn verify_evidence(servers: &Servers, fault: &Fault) -> bool {
        EngineKind::ALL.into_iter().any(|kind| match kind {
            EngineKind::Ruffle => ruffle::server::verify_evidence(servers, fault),
            EngineKind::Clarion => clarion::server::verify_evidence(servers, fault),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_for_three_servers_are_for_no_other_number() {
        for kind in EngineKind::ALL {
            assert_eq!(trust(kind, 3), Ok(Trust::one_of_three()));
            for parties in (0..=256).filter(|parties| *parties != 3) {
                assert!(trust(kind, parties).is_err(), "{kind:?} among {parties}");
            }
        }
    }
}

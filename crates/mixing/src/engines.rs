//! The registry of engines: all that the rest of the workspace asks of one that is named is in its
//! line.

use ostrakon_party::{Delivery, Trust, Unbearable};

use crate::clarion::client::ClarionClient;
use crate::engine::ClientEngine;
use crate::room::EngineKind;
use crate::ruffle::client::RuffleClient;

/// An engine.
struct Line {
    kind: EngineKind,
    /// What commands and documents call it.
    name: &'static str,
    /// What tells it from the others, for people.
    about: &'static str,
    trust: fn() -> Trust,
    client: &'static (dyn ClientEngine + Send + Sync),
    #[cfg(feature = "server")]
    server: server::Side,
}

static LINES: [Line; EngineKind::ALL.len()] = [
    Line {
        kind: EngineKind::Ruffle,
        name: "ruffle",
        about: "Servers prepare epochs in advance; the mix itself is short",
        trust: Trust::one_of_three,
        client: &RuffleClient,
        #[cfg(feature = "server")]
        server: server::RUFFLE,
    },
    Line {
        kind: EngineKind::Clarion,
        name: "clarion",
        about: "Servers prepare next to nothing and participants download less; each row takes the \
                servers some public key operations",
        trust: Trust::one_of_three,
        client: &ClarionClient,
        #[cfg(feature = "server")]
        server: server::CLARION,
    },
];

fn line(kind: EngineKind) -> &'static Line {
    LINES.iter().find(|line| line.kind == kind).expect("every kind has a line")
}

/// What commands and documents call an engine.
#[must_use]
pub fn name(kind: EngineKind) -> &'static str {
    line(kind).name
}

/// The engine of a name.
#[must_use]
pub fn named(name: &str) -> Option<EngineKind> {
    LINES.iter().find(|line| line.name == name).map(|line| line.kind)
}

/// What tells an engine from the others, for people.
#[must_use]
pub fn about(kind: EngineKind) -> &'static str {
    line(kind).about
}

/// What an engine bears among so many servers.
///
/// # Errors
/// [`Unbearable`] if it is not one for so many.
pub fn trust(kind: EngineKind, parties: usize) -> Result<Trust, Unbearable> {
    let trust = usual_trust(kind);
    let other = Unbearable { parties, corrupt: trust.corrupt(), delivery: Delivery::Stoppable };
    if trust.parties() == parties { Ok(trust) } else { Err(other) }
}

/// What an engine bears among as many servers as it is for.
pub fn usual_trust(kind: EngineKind) -> Trust {
    (line(kind).trust)()
}

/// How many of a room's servers must say the same for an honest one to be among them, by what its
/// engine bears. Of an engine that is not one for so many servers, all must.
#[must_use]
pub fn believed(kind: EngineKind, parties: usize) -> usize {
    trust(kind, parties).map_or(parties, |trust| trust.believed())
}

/// A participant's side of an engine.
pub fn client(kind: EngineKind) -> &'static (dyn ClientEngine + Send + Sync) {
    line(kind).client
}

#[cfg(feature = "server")]
pub use server::{check_submission, may_have_opened, server, verify_evidence};

#[cfg(feature = "server")]
mod server {
    use std::sync::Arc;

    use ostrakon_crypto::VerifyingKey;
    use ostrakon_party::{Party, SessionId};

    use super::{LINES, line};
    use crate::engine::{Engine, EpochContext, Fault, Rejected};
    use crate::room::{EngineKind, Servers};
    use crate::{clarion, ruffle};

    type Start = fn(Party, &[u8]) -> Result<Arc<dyn Engine>, String>;
    type Check = fn(&SessionId, &EpochContext, u32, &VerifyingKey, &[u8]) -> Result<(), Rejected>;
    type Doubt = fn(&SessionId, &EpochContext, &[(String, Vec<u8>)]) -> bool;

    /// A server's side of an engine.
    pub(super) struct Side {
        engine: Start,
        check_submission: Check,
        may_have_opened: Doubt,
        verify_evidence: fn(&Servers, &Fault) -> bool,
    }

    pub(super) const RUFFLE: Side = Side {
        engine: |party, secret| Ok(Arc::new(ruffle::server::RuffleEngine::of(party, secret)?)),
        check_submission: ruffle::server::check_submission,
        may_have_opened: ruffle::server::may_have_opened,
        verify_evidence: ruffle::server::verify_evidence,
    };

    pub(super) const CLARION: Side = Side {
        engine: |party, _| Ok(Arc::new(clarion::server::ClarionEngine::new(party))),
        check_submission: clarion::server::check_submission,
        may_have_opened: clarion::server::may_have_opened,
        verify_evidence: clarion::server::verify_evidence,
    };

    /// A server's engine, acting as `party`, with what the deployment's set-up has left there.
    ///
    /// # Errors
    /// A description if the secret is damaged.
    pub fn server(
        kind: EngineKind,
        party: Party,
        secret: &[u8],
    ) -> Result<Arc<dyn Engine>, String> {
        (line(kind).server.engine)(party, secret)
    }

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
        (line(context.engine).server.check_submission)(session, context, slot, owner, body)
    }

    /// Whether, by the marks that the engine has made, somebody may be able to read messages of a
    /// sealed epoch.
    pub fn may_have_opened(
        session: &SessionId,
        context: &EpochContext,
        marks: &[(String, Vec<u8>)],
    ) -> bool {
        (line(context.engine).server.may_have_opened)(session, context, marks)
    }

    /// Whether a fault's evidence convicts its culprit before somebody who knows the servers' keys
    /// only, by the rules of any engine.
    #[must_use]
    pub fn verify_evidence(servers: &Servers, fault: &Fault) -> bool {
        LINES.iter().any(|line| (line.server.verify_evidence)(servers, fault))
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

    #[test]
    fn every_engine_has_one_line_and_is_named_as_in_documents() {
        for kind in EngineKind::ALL {
            assert_eq!(LINES.iter().filter(|line| line.kind == kind).count(), 1);
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", name(kind)));
            assert_eq!(named(name(kind)), Some(kind));
        }
    }
}

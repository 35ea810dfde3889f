//! One server's part in decisions.

use std::sync::Arc;

use ostrakon_crypto::Generator;
use ostrakon_decide::{Chain, DecisionId, Operators};
use ostrakon_job::{Port, SCHEDULER};
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;

use crate::keep::Keep;
use crate::limits::Limits;
use crate::state::Decisions;

/// Private decisions at a running server.
pub struct DecisionServer {
    pub(crate) port: Arc<dyn Port>,
    pub(crate) limits: Limits,
}

pub(crate) fn no_decision() -> ServiceError {
    ServiceError::NotFound(
        "there is no such decision here; if it was just created, try again in a moment".into(),
    )
}

impl DecisionServer {
    /// At the server of this port.
    pub(crate) fn new(port: Arc<dyn Port>) -> Self {
        Self { port, limits: Limits::default() }
    }

    pub(crate) fn me(&self) -> PartyId {
        self.port.me()
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.port.now_ms() / 1000
    }

    /// What this server keeps for itself.
    pub(crate) fn keep(&self) -> Keep<'_> {
        Keep(&*self.port)
    }

    /// What there is to see of what the servers agree on.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Decisions) -> T) -> T {
        self.port.read(look)
    }

    /// Fresh randomness, as a generator.
    pub(crate) fn randomness(&self) -> Generator<impl FnMut(&mut [u8]) + use<>> {
        let port = Arc::clone(&self.port);
        Generator(move |out: &mut [u8]| port.fill(out))
    }

    /// The servers as decisions know them.
    pub(crate) fn operators(&self) -> Result<Operators, ServiceError> {
        let few = || ServiceError::Refused("decisions are made with three servers".into());
        self.read(|decisions| decisions.operators).ok_or_else(few)
    }

    /// The chain of a decision, unless it is over.
    pub(crate) fn chain(&self, id: &DecisionId) -> Result<Option<Chain>, ServiceError> {
        self.read(|decisions| Some(decisions.get(id)?.chain().cloned())).ok_or_else(no_decision)
    }

    pub(crate) async fn note(&self, actor: &str, action: &str, detail: &str) {
        self.port.note(actor, action, detail).await;
    }

    pub(crate) fn sequencer_only(&self) -> Result<(), ServiceError> {
        if self.me() == SCHEDULER { Ok(()) } else { Err(self.elsewhere()) }
    }

    pub(crate) fn elsewhere(&self) -> ServiceError {
        let url = &self.port.urls()[SCHEDULER.index()];
        ServiceError::Elsewhere(format!(
            "decisions are put into order by the first server: send this to {url}"
        ))
    }
}

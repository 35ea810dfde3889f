//! Where the server's mixing engines come from.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use ostrakon_crypto::VerifyingKey;
use ostrakon_job::Job;
use ostrakon_mixing::engine::{Journal, Rejected};
use ostrakon_mixing::{Engine, EngineKind, EpochContext};
use ostrakon_party::{Party, SessionId};

mod three;
pub(crate) mod trusts;

pub use three::ThreeServers;

use trusts::Trusts;

/// What the set-up of a deployment yields on one server.
pub struct SetUp {
    /// The session, the same on all servers.
    pub session: SessionId,
    /// What this server must keep, and keep secret, to make its engines
    /// ([`EngineProvider::engines`]).
    pub secret: Vec<u8>,
}

/// The engines that a deployment offers, by kind.
pub type Engines = BTreeMap<EngineKind, Arc<dyn Engine>>;

/// Makes engines. One implementation per number of servers and of corrupt ones among them.
pub trait EngineProvider: Send + Sync + 'static {
    /// What its engines bear among so many servers.
    ///
    /// # Errors
    /// Why so many cannot be a deployment, in words.
    fn trusts(&self, parties: usize) -> Result<Trusts, String>;

    /// The session in which the set-up itself runs: a function of the servers' keys.
    fn setup_session(&self, keys: &[VerifyingKey]) -> SessionId;

    /// Runs the set-up with the other servers. It is repeated with the same seed, and the same
    /// journal, if a server crashed before it could keep the result. What depends on the seed alone
    /// is the same then; what depends on the others' words must be in the journal before it is
    /// said. What is recorded there stands for ever.
    ///
    /// # Errors
    /// Why there can be no deployment, in words.
    fn set_up(
        &self,
        party: Party,
        seed: [u8; 32],
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<SetUp, String>>;

    /// The engines, acting as `party` in the deployment's session.
    ///
    /// # Errors
    /// A description if `secret` is not what a set-up yielded.
    fn engines(&self, party: &Party, secret: &[u8]) -> Result<Engines, String>;

    /// The jobs that the deployment does besides rooms: one line for each.
    fn jobs(&self) -> Vec<Arc<dyn Job>> {
        Vec::new()
    }

    /// Whether, by what the engine has marked ([`ostrakon_mixing::engine::Journal`]; names and
    /// values of all marks), somebody may be able to read messages of a sealed epoch. Always,
    /// unless the engine can tell.
    fn may_have_opened(
        &self,
        session: &SessionId,
        context: &EpochContext,
        marks: &[(String, Vec<u8>)],
    ) -> bool {
        let _ = (session, context, marks);
        true
    }

    /// What [`ostrakon_mixing::Batch::check`] says of a submission, without a batch: for intake
    /// processes, which hold none, and for what is not handed in for the key's own slot. It must
    /// say the same: otherwise it would tell who has a slot.
    ///
    /// # Errors
    /// Why it is refused; always, unless the engine can tell without a batch.
    fn check(
        &self,
        session: &SessionId,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        submission: &[u8],
    ) -> Result<(), Rejected> {
        let _ = (session, context, slot, owner, submission);
        Err(Rejected("submissions of this engine are taken in by the engine process only"))
    }
}

//! The engines of a deployment with three servers.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::VerifyingKey;
use ostrakon_decisions::PrivateDecisions;
use ostrakon_job::Job;
use ostrakon_mixing::engine::{Journal, Rejected};
use ostrakon_mixing::engines;
use ostrakon_mixing::engines::{check_submission, may_have_opened};
use ostrakon_mixing::{EngineKind, EpochContext, Marks};
use ostrakon_party::{Party, SessionId, Unbearable};
use ostrakon_replicated::setup::{self, SharedKeys};

use crate::provider::trusts::Trusts;
use crate::provider::{EngineProvider, Engines, SetUp};

/// Makes the engines that need three servers, of which at most one is malicious. Their session is
/// that of Ruffle's set-up; Clarion makes its keys batch by batch.
pub struct ThreeServers;

impl EngineProvider for ThreeServers {
    fn trusts(&self, parties: usize) -> Result<Trusts, String> {
        let trust = |kind| Ok((kind, engines::trust(kind, parties)?));
        let trusts: Result<Vec<_>, Unbearable> = EngineKind::ALL.into_iter().map(trust).collect();
        let trusts = trusts.map_err(|_| format!("`servers` must list 3 servers, not {parties}"))?;
        Trusts::new(parties, trusts)
    }

    fn setup_session(&self, keys: &[VerifyingKey]) -> SessionId {
        setup::setup_session(keys)
    }

    fn set_up(
        &self,
        party: Party,
        seed: [u8; 32],
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<SetUp, String>> {
        async move {
            let keys = setup::run(&party, seed, &Marks(journal)).await;
            let keys = keys.map_err(|stop| stop.to_string())?;
            Ok(SetUp { session: keys.session(), secret: keys.to_bytes() })
        }
        .boxed()
    }

    fn engines(&self, party: &Party, secret: &[u8]) -> Result<Engines, String> {
        let keys = SharedKeys::from_bytes(secret)
            .map_err(|_| "the servers' shared keys are damaged".to_owned())?;
        if keys.session() != party.roster.session {
            return Err("the servers' shared keys are of another session".into());
        }
        let engine = |kind| Ok((kind, engines::server(kind, party.clone(), secret)?));
        EngineKind::ALL.into_iter().map(engine).collect()
    }

    fn jobs(&self) -> Vec<Arc<dyn Job>> {
        vec![Arc::new(PrivateDecisions)]
    }

    fn may_have_opened(
        &self,
        session: &SessionId,
        context: &EpochContext,
        marks: &[(String, Vec<u8>)],
    ) -> bool {
        may_have_opened(session, context, marks)
    }

    fn check(
        &self,
        session: &SessionId,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        submission: &[u8],
    ) -> Result<(), Rejected> {
        check_submission(session, context, slot, owner, submission)
    }
}

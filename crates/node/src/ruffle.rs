//! The Ruffle engine (crate `ostrakon-replicated`) for a server.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_broadcast::engine::Rejected;
use ostrakon_broadcast::ruffle::server::{RuffleEngine, check_submission, may_have_opened};
use ostrakon_broadcast::{Engine, EpochContext};
use ostrakon_crypto::VerifyingKey;
use ostrakon_party::{Party, SessionId};
use ostrakon_replicated::setup::{self, SharedKeys};

use crate::provider::{EngineProvider, SetUp};

/// Makes [`RuffleEngine`]s.
pub struct RuffleProvider;

impl EngineProvider for RuffleProvider {
    fn setup_session(&self, keys: &[VerifyingKey]) -> SessionId {
        setup::setup_session(keys)
    }

    fn set_up(&self, party: Party, seed: [u8; 32]) -> BoxFuture<'static, Result<SetUp, String>> {
        async move {
            let keys = setup::run(&party, seed).await.map_err(|stop| stop.to_string())?;
            Ok(SetUp { session: keys.session(), secret: keys.to_bytes() })
        }
        .boxed()
    }

    fn engine(&self, party: Party, secret: &[u8]) -> Result<Arc<dyn Engine>, String> {
        let keys = SharedKeys::from_bytes(secret)
            .map_err(|_| "the servers' shared keys are damaged".to_owned())?;
        if keys.session() != party.roster.session {
            return Err("the servers' shared keys are of another session".into());
        }
        Ok(Arc::new(RuffleEngine::new(party, keys)))
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

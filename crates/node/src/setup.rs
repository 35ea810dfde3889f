//! The set-up of the deployment at the first start.
//!
//! The seed of a server's part is on disk before the first message, and what it has heard before
//! what depends on that, so the set-up can be repeated with the same messages and the same result.
//! A server that has the result keeps repeating its part until it has heard that both others have
//! it, too: one of them may have crashed between the last message and its disk. That it has the
//! result it says at every start ([`DONE`]).

use std::sync::{Arc, Mutex};

use ostrakon_mixing::engine::Journal;
use ostrakon_party::{Instance, InstanceKind, Length, Party, SessionId, Step, Tag, wire};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::disk::Disk;
use crate::platform::Platform;
use crate::provider::{EngineProvider, SetUp};

const SEED: &str = "set-up.seed";
const RESULT: &str = "set-up.result";
const CONFIRMED: &str = "set-up confirmed by all servers";

/// The message that says that its sender has the result: its body is the session.
const DONE: Tag = Tag {
    instance: Instance { kind: InstanceKind::Control, scope: *b"set-up is done\0\0", number: 0 },
    step: Step(1),
    sequence: 0,
};

/// Why a server that has started does not begin its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    /// The disk's or the database's failure.
    #[error(transparent)]
    Store(#[from] ostrakon_store::Error),
    /// What somebody has to look at, in words.
    #[error("{0}")]
    Other(String),
}

impl From<String> for BeginError {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

impl BeginError {
    /// Whether the next start may do better, though nobody has looked at it.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Store(error) if error.may_pass())
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    session: SessionId,
    secret: Vec<u8>,
}

/// What was heard in the set-up: files beside its seed, and like it never replaced.
struct Heard {
    store: Disk,
    /// Why one could not be read or written.
    failure: Mutex<Option<ostrakon_store::Error>>,
}

impl Heard {
    fn on(store: &Disk) -> Arc<Self> {
        Arc::new(Self { store: store.clone(), failure: Mutex::default() })
    }

    fn keep(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, ostrakon_store::Error> {
        let file = format!("set-up.{}", name.replace(' ', "-"));
        if let Some(standing) = self.store.secret(&file)? {
            return Ok(standing.to_vec());
        }
        self.store.keep_secret(&file, value)?;
        Ok(value.to_vec())
    }

    /// Why the set-up has failed: the disk's reason, if it was that.
    fn failure(&self, why: String) -> BeginError {
        let failure = self.failure.lock().expect("no panic while held").take();
        failure.map_or(BeginError::Other(why), BeginError::Store)
    }
}

impl Journal for Heard {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.keep(name, value).map_err(|error| {
            let why = error.to_string();
            *self.failure.lock().expect("no panic while held") = Some(error);
            why
        })
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.record(name, value)
    }
}

/// What the set-up has yielded, now or at an earlier start. `party` is of the set-up's session.
///
/// # Errors
/// The disk's; or why there can be no deployment, in words.
pub(crate) async fn set_up(
    party: Party,
    store: &Disk,
    platform: &dyn Platform,
    provider: &Arc<dyn EngineProvider>,
) -> Result<SetUp, BeginError> {
    if let Some(stored) = store.secret(RESULT)? {
        let stored: Stored =
            wire::decode(&stored).map_err(|_| "the result of the set-up is damaged".to_owned())?;
        return Ok(SetUp { session: stored.session, secret: stored.secret });
    }
    let heard = Heard::on(store);
    let result = provider.set_up(party, seed(store, platform)?, heard.clone()).await;
    let result = result.map_err(|why| heard.failure(why))?;
    let stored = Stored { session: result.session, secret: result.secret.clone() };
    store.keep_secret(RESULT, &Zeroizing::new(wire::encode(&stored)))?;
    Ok(result)
}

fn seed(store: &Disk, platform: &dyn Platform) -> Result<[u8; 32], BeginError> {
    if let Some(seed) = store.secret(SEED)? {
        let seed: Result<[u8; 32], _> = seed.as_slice().try_into();
        return Ok(seed.map_err(|_| "the seed of the set-up is damaged".to_owned())?);
    }
    let seed = platform.random();
    store.keep_secret(SEED, &seed)?;
    Ok(seed)
}

/// Says that this server has the result, and helps the others until they have it. `repeat`: the
/// result is of an earlier start, so this one has not sent the messages yet. Returns when nobody
/// needs anything any more.
pub(crate) async fn help(
    party: Party,
    store: Disk,
    platform: Arc<dyn Platform>,
    provider: Arc<dyn EngineProvider>,
    session: SessionId,
    repeat: bool,
) {
    party.send_all(DONE, wire::encode(&session));
    match store.mark(CONFIRMED).await {
        Ok(Some(_)) => return,
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "it cannot be read whether the set-up had ended"),
    }
    let heard = async {
        for peer in party.peers() {
            let done = party.receive(peer, DONE, Length::AtMost(64)).await;
            let theirs = done.ok().and_then(|done| wire::decode::<SessionId>(&done.body).ok());
            if theirs != Some(session) {
                tracing::error!(%peer, "this server came to another session: stop all servers and set them up anew, with new identity keys");
                std::future::pending::<()>().await;
            }
        }
    };
    let again = async {
        if repeat && let Ok(seed) = seed(&store, &*platform) {
            drop(provider.set_up(party.clone(), seed, Heard::on(&store)).await);
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = heard => {}
        () = again => {}
    }
    if let Err(error) = confirm(&store, session).await {
        tracing::warn!(%error, "the end of the set-up cannot be recorded");
        return;
    }
    party.retire(Instance { kind: InstanceKind::Setup, scope: [0; 16], number: 0 });
}

/// The session that the set-up has yielded, if it has.
///
/// # Errors
/// If the result cannot be read, in words.
pub(crate) fn session(store: &Disk) -> Result<Option<SessionId>, String> {
    let Some(stored) = store.secret(RESULT).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let stored: Stored =
        wire::decode(&stored).map_err(|_| "the result of the set-up is damaged".to_owned())?;
    Ok(Some(stored.session))
}

/// Records that all servers have the result.
pub(crate) async fn confirm(store: &Disk, session: SessionId) -> Result<(), ostrakon_store::Error> {
    store.record(CONFIRMED, &session.0.0).await.map(drop)
}

/// Whether the set-up had yielded its result before this start.
pub(crate) fn was_done(store: &Disk) -> bool {
    matches!(store.secret(RESULT), Ok(Some(_)))
}

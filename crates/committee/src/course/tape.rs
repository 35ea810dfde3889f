//! What is on disk of an attempt, so that a member that was killed goes on with it (C8).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::{BoxFuture, FutureExt, pending};
use ostrakon_computation::ComputationId;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::{Recorder, Reel, SessionId, Tape};
use tokio::runtime::Handle;

use super::Course;
use crate::job::Ended;
use crate::member::Member;
use crate::store::Store;

/// How often a piece is tried to be written, and the pause between.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// What an attempt is made from.
pub(super) struct Begun {
    pub randomness: Secret,
    /// None where the job does not repeat.
    pub tape: Option<Arc<dyn Recorder>>,
    /// Resolves when the tape cannot be written: the attempt says nothing more.
    pub stuck: BoxFuture<'static, ()>,
}

/// The attempt waits for room on the disk.
pub(super) fn unwritten() -> Ended {
    Ended::Later("what was received cannot be written down".into())
}

/// One attempt's rows. Writes from threads that may block.
struct Rows {
    computation: ComputationId,
    attempt: Digest,
    store: Store,
    runtime: Handle,
    stuck: Mutex<Option<oneshot::Sender<()>>>,
}

impl Reel for Rows {
    fn append(&self, piece: &[u8]) -> Result<(), String> {
        for attempt in 1.. {
            let writing = self.store.append(&self.computation, &self.attempt, piece);
            match self.runtime.block_on(writing) {
                Ok(()) => return Ok(()),
                Err(error) if attempt >= ATTEMPTS => {
                    tracing::error!(%error, "a tape cannot be written; the attempt waits");
                    self.stuck.lock().expect("no panic while held").take();
                    return Err(error.to_string());
                }
                Err(error) => tracing::error!(%error, "a tape cannot be written; trying again"),
            }
            std::thread::sleep(PAUSE);
        }
        unreachable!("attempts are counted")
    }
}

impl Course {
    /// The randomness and the tape of an attempt: those on disk, or new ones that are on disk when
    /// this returns.
    pub(super) async fn begun(&self, here: &Member, session: &SessionId) -> Result<Begun, Ended> {
        if !self.job.repeats() {
            let randomness = Secret::new(here.random());
            return Ok(Begun { randomness, tape: None, stuck: pending().boxed() });
        }
        let (store, attempt) = (&here.config.store, session.0);
        let later = |error: crate::StoreError| Ended::Later(error.to_string());
        let (seed, pieces) = match store.attempt(&self.id, &attempt).await.map_err(later)? {
            Some(known) => known,
            None => {
                let seed = here.random().to_vec();
                store.append(&self.id, &attempt, &seed).await.map_err(later)?;
                (seed, Vec::new())
            }
        };
        let damaged =
            || Ended::Final("what this server wrote down of the computation is damaged".into());
        let seed: [u8; 32] = seed.try_into().map_err(|_| damaged())?;
        let (stuck, told) = oneshot::channel();
        let rows = Rows {
            computation: self.id,
            attempt,
            store: store.clone(),
            runtime: here.runtime.clone(),
            stuck: Mutex::new(Some(stuck)),
        };
        let tape = Tape::open(Box::new(rows), &pieces).map_err(|_| damaged())?;
        let randomness = Secret::new(seed);
        // The sender goes when nothing can be written, and also with the tape, when nobody waits.
        let stuck = told.map(drop).boxed();
        Ok(Begun { randomness, tape: Some(Arc::new(tape)), stuck })
    }
}

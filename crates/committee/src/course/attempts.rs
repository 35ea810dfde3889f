//! Attempts at the computation, and what came out (C8 to C10).

use std::sync::Arc;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{AbortHandle, Abortable, Either, Pending, abortable, pending, select};
use ostrakon_computation::{Conclusion, GENERATIONS, Input, Parameters, Said, Told};
use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{Instance, SessionId};
use tokio::sync::OwnedSemaphorePermit;

use super::tape::{Begun, unwritten};
use super::{Course, Trouble};
use crate::job::{AttemptId, Ended, Run};
use crate::marks::Marks;
use crate::member::Member;
use crate::store::StoreError;
use crate::turn::Wanted;
use crate::view::Progress;

/// How many of the shortest pauses pass between an attempt that failed and the next one.
const BEFORE_ANOTHER: u32 = 10;
/// In which the room of attempts is counted.
const MEGABYTE: u64 = 1 << 20;
/// How often it is tried to write what came out, that pause between.
const INSISTING: u32 = 10_000;

/// An attempt under way, or one that has ended here while others are not known to have.
pub(super) struct Attempt {
    /// All generations.
    vector: Vec<u32>,
    /// How it is given up.
    handle: AbortHandle,
    /// What is sent and kept under it. To find it out may take as long as to make a circuit.
    instances: Arc<[Instance]>,
    /// The room that what was sent takes, once it has ended.
    sent: Option<OwnedSemaphorePermit>,
}

/// What an attempt goes by.
#[derive(Clone)]
struct Named {
    session: SessionId,
    which: AttemptId,
    instances: Arc<[Instance]>,
}

impl Course {
    /// C8: says for the how manieth time this member is ready, and begins when all are.
    pub(super) async fn attempt(
        self: &Arc<Self>,
        here: &Arc<Member>,
        seal: Digest,
    ) -> Result<(), Trouble> {
        let everybody_has_signed = self.state().told.iter().all(|told| told.outcome.is_some());
        if everybody_has_signed {
            return Ok(());
        }
        if self.state().generation.is_none() {
            let generation = match self.standing(here, &seal) {
                Some(generation) => generation,
                None => self.begin(here, seal).await?,
            };
            self.state().generation = Some(generation);
        }
        let vector = {
            let state = self.state();
            let ready = |told: &Told| Some(told.generation().filter(|(of, _)| *of == seal)?.1);
            let Some(vector) = state.told.iter().map(ready).collect::<Option<Vec<u32>>>() else {
                return Ok(());
            };
            if state.attempt.as_ref().is_some_and(|under_way| under_way.vector == vector) {
                return Ok(());
            }
            vector
        };
        self.retire(here);
        let (session, which) = self.session_of(&seal, &vector);
        let instances = self.instances(here, which).await;
        let named = Named { session, which, instances: Arc::clone(&instances) };
        let (waiting, handle) = abortable(pending::<()>());
        {
            let mut state = self.state();
            let vector = vector.clone();
            state.attempt = Some(Attempt { vector, handle, instances, sent: None });
            state.progress = None;
        }
        let (course, running) = (Arc::clone(self), Arc::clone(here));
        here.runtime.spawn(async move {
            let _computing = course.computing.read().await;
            let ended = Arc::clone(&course).compute(&running, &named, waiting).await;
            course.ended(&running, (seal, &vector), &named, ended).await;
        });
        Ok(())
    }

    /// The generation that was said before a restart, if the attempt goes on.
    fn standing(&self, here: &Member, seal: &Digest) -> Option<u32> {
        let state = self.state();
        let (of, generation) = state.told[here.number].generation()?;
        (self.job.repeats() && !state.another && of == *seal).then_some(generation)
    }

    /// Raises the generation, and says so. Who has a result takes part again only if another member
    /// has not.
    async fn begin(&self, here: &Member, seal: Digest) -> Result<u32, Trouble> {
        let generation = here.config.store.begin(&self.id).await?;
        if generation > GENERATIONS {
            return Err(Trouble::Stop(format!(
                "it was begun {GENERATIONS} times and came to no end"
            )));
        }
        self.say(here, Said::Ready { seal, generation }).await?;
        self.state().another = false;
        Ok(generation)
    }

    /// The session of an attempt, and which it is.
    fn session_of(&self, seal: &Digest, vector: &[u32]) -> (SessionId, AttemptId) {
        let mut transcript = Transcript::new("ostrakon/v1/committee/attempt");
        transcript.field(&self.id.0.0).field(&seal.0).number(vector.len() as u64);
        for generation in vector {
            transcript.number(u64::from(*generation));
        }
        let digest = transcript.finish();
        let (number, _) = digest.0.split_first_chunk().expect("a digest has 32 bytes");
        let first = vector.iter().all(|generation| *generation == 1);
        (SessionId(digest), AttemptId { number: u64::from_le_bytes(*number), first })
    }

    /// C9, on a thread of its own. `None` if it was given up.
    async fn compute(
        self: Arc<Self>,
        here: &Arc<Member>,
        named: &Named,
        until: Abortable<Pending<()>>,
    ) -> Option<Result<Vec<u8>, Ended>> {
        let begun = match self.begun(here, &named.session).await {
            Ok(begun) => begun,
            Err(ended) => return Some(Err(ended)),
        };
        let (done, told) = oneshot::channel();
        let (course, running, named) = (Arc::clone(&self), Arc::clone(here), named.clone());
        let thread = std::thread::Builder::new().name("attempt".into()).spawn(move || {
            let ended = course.on_a_thread(&running, &named, begun, until);
            let _ = done.send(ended);
        });
        if let Err(error) = thread {
            return Some(Err(Ended::Later(error.to_string())));
        }
        told.await.unwrap_or_else(|_| {
            tracing::error!("an attempt has panicked: a defect of this program");
            Some(Err(Ended::Final("a defect of this program; its log says more".into())))
        })
    }

    /// The sealed inputs, in the seal's order.
    async fn inputs(self: Arc<Self>, here: Arc<Member>) -> Result<Vec<Input>, Ended> {
        let sealed = self.state().seal.as_ref().map(|seal| seal.inputs.clone());
        let kept = here.config.store.inputs(&self.id).await;
        let mut kept = kept.map_err(|error| Ended::Later(error.to_string()))?;
        let sealed = sealed.unwrap_or_default().into_iter().map(|entry| {
            let input = kept.remove(&entry.input())?;
            Some(Input { entry, ..input })
        });
        sealed.collect::<Option<Vec<_>>>().ok_or(Ended::Final("an input has gone".into()))
    }

    fn on_a_thread(
        self: &Arc<Self>,
        here: &Arc<Member>,
        named: &Named,
        begun: Begun,
        until: Abortable<Pending<()>>,
    ) -> Option<Result<Vec<u8>, Ended>> {
        let Begun { randomness, tape, stuck } = begun;
        let marks = Marks {
            computation: self.id,
            store: here.config.store.clone(),
            runtime: here.runtime.clone(),
        };
        let attempt = named.which;
        let mut party = here.config.party.in_session(named.session);
        if let Some(tape) = tape {
            party = party.recorded(tape);
        }
        let main = async {
            let loading = here.runtime.spawn(Arc::clone(self).inputs(Arc::clone(here))).await;
            let inputs =
                loading.unwrap_or_else(|stopped| Err(Ended::Later(stopped.to_string())))?;
            let (about, course) = (self.about(here), Arc::clone(self));
            let progress = Arc::new(move |stage: &str, done, of| {
                let progress = Progress { stage: stage.to_owned(), done, of, sent: 0 };
                course.state().progress = Some(progress);
            });
            let run = Run { about, party, attempt, inputs, marks, randomness, progress };
            self.job.compute(run).await
        };
        let (inputs, behind) = {
            let state = self.state();
            let inputs = state.seal.as_ref().map_or(0, |seal| seal.inputs.len());
            (inputs, state.told[here.number].result().is_some())
        };
        let megabytes = self.job.memory(&self.draft.draft, inputs).div_ceil(MEGABYTE);
        let wanted = Wanted { megabytes, behind };
        let computed = here.turns.take(&here.runtime, wanted, main).boxed_local();
        match futures::executor::block_on(select(computed, select(until, stuck))) {
            Either::Left((Some((ended, room)), _)) => {
                if ended.is_ok() {
                    self.keep_room(here, named, room);
                }
                Some(ended)
            }
            Either::Left((None, _)) => Some(Err(Ended::Later(
                "another member is silent, and others queue for the memory".into(),
            ))),
            Either::Right((Either::Left(_), _)) => {
                // Nobody goes on with a session that was given up.
                self.forget(here, &named.instances);
                None
            }
            Either::Right((Either::Right(_), _)) => Some(Err(unwritten())),
        }
    }

    async fn ended(
        &self,
        here: &Arc<Member>,
        (seal, vector): (Digest, &[u32]),
        named: &Named,
        ended: Option<Result<Vec<u8>, Ended>>,
    ) {
        // What has been cancelled has come to its end.
        let ended = ended.filter(|_| self.cancellation().is_none());
        let written = match ended {
            None => Ok(()),
            Some(Ok(result)) => {
                let conclusion = Conclusion::Reached(Parameters(result));
                self.insist(here, seal, Ok(conclusion)).await
            }
            Some(Err(ended @ (Ended::Again(_) | Ended::Later(_)))) => {
                tracing::warn!(?ended, computation = ?self.id, "an attempt failed");
                let another = matches!(ended, Ended::Again(_)) || !self.job.repeats();
                if another {
                    // Nobody asks for its messages any more.
                    self.forget(here, &named.instances);
                }
                // There are few attempts: what hindered this one may take a while to pass.
                tokio::time::sleep(here.config.pause * BEFORE_ANOTHER).await;
                let mut state = self.state();
                if state.attempt.as_ref().is_some_and(|under_way| under_way.vector == vector) {
                    state.attempt = None;
                    state.generation = None;
                    state.another |= another;
                }
                Ok(())
            }
            Some(Err(Ended::Final(why))) => self.insist(here, seal, Err(why)).await,
        };
        if let Err(error) = written {
            tracing::error!(%error, computation = ?self.id, "the end of an attempt cannot be written");
        }
        self.news.notify_one();
    }

    /// Writes what an attempt came to, or why to nothing: it may not be had again.
    async fn insist(
        &self,
        here: &Member,
        seal: Digest,
        end: Result<Conclusion, String>,
    ) -> Result<(), StoreError> {
        let mut left = INSISTING;
        loop {
            let written = match &end {
                Ok(conclusion) => self.conclude(here, seal, conclusion.clone()).await,
                Err(why) => self.say(here, Said::stopped(why)).await,
            };
            match written {
                Err(error) if left > 0 && !self.state().buried && self.cancellation().is_none() => {
                    tracing::error!(%error, "trying to write it again")
                }
                written => return written,
            }
            left -= 1;
            tokio::time::sleep(here.config.pause * BEFORE_ANOTHER).await;
        }
    }

    /// C10.
    pub(super) async fn conclude(
        &self,
        here: &Member,
        seal: Digest,
        conclusion: Conclusion,
    ) -> Result<(), StoreError> {
        let result = conclusion.digest(&self.id);
        let before = self.state().told[here.number].result();
        match before {
            None => {
                let now = (here.config.clock)();
                here.config.store.conclude(&self.id, &conclusion, now).await?;
                {
                    let mut state = self.state();
                    (state.conclusion, state.over) = (Some(conclusion), Some(now));
                }
                self.say(here, Said::Outcome { seal, result }).await
            }
            Some(before) if before == (seal, result) => Ok(()),
            Some(_) => self.say(here, Said::stopped("two attempts have different results")).await,
        }
    }

    /// Gives up what is being computed.
    pub fn give_up(&self) {
        if let Some(Attempt { handle, .. }) = self.state().attempt.take() {
            handle.abort();
        }
    }

    /// Gives up the attempt that is under way, and forgets its messages.
    pub(super) fn retire(&self, here: &Member) {
        let attempt = self.state().attempt.take();
        if let Some(Attempt { handle, instances, .. }) = attempt {
            handle.abort();
            self.forget(here, &instances);
        }
    }

    /// What is sent and kept under an attempt, once found out for each.
    async fn instances(self: &Arc<Self>, here: &Arc<Member>, which: AttemptId) -> Arc<[Instance]> {
        let inputs = self.state().seal.as_ref().map_or(0, |seal| seal.inputs.len());
        let (course, running) = (Arc::clone(self), Arc::clone(here));
        let finding = here
            .runtime
            .spawn_blocking(move || course.job.instances(course.about(&running), inputs, which));
        finding.await.unwrap_or_default().into()
    }

    /// Bytes that this member has sent in the attempt that is under way.
    pub(super) fn sent(&self, here: &Member) -> u64 {
        let under_way = self.state().attempt.as_ref().map(|of| Arc::clone(&of.instances));
        under_way.map_or(0, |instances| bytes_sent(here, &instances))
    }

    /// What was sent takes its room until it is forgotten, of the room that the attempt has had.
    fn keep_room(&self, here: &Member, named: &Named, mut room: OwnedSemaphorePermit) {
        let megabytes = bytes_sent(here, &named.instances).div_ceil(MEGABYTE);
        let kept = usize::try_from(megabytes).unwrap_or(usize::MAX).min(room.num_permits());
        let mut state = self.state();
        if let Some(attempt) = &mut state.attempt
            && Arc::ptr_eq(&attempt.instances, &named.instances)
        {
            attempt.sent = room.split(kept);
        }
    }

    fn forget(&self, here: &Member, instances: &[Instance]) {
        for instance in instances {
            here.config.party.retire(*instance);
            here.config.party.meter.forget(*instance);
        }
    }
}

fn bytes_sent(here: &Member, instances: &[Instance]) -> u64 {
    instances.iter().map(|instance| here.config.party.meter.bytes_sent(*instance)).sum()
}

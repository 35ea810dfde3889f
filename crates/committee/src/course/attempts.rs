//! Attempts at the computation, and what came out (C8 to C10).

use std::sync::Arc;

use futures::future::{Abortable, Either, Pending, abortable, pending, select};
use ostrakon_computation::{Conclusion, GENERATIONS, Input, Parameters, Said, Told};
use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_party::SessionId;

use super::{Course, Trouble};
use crate::job::{Ended, Run};
use crate::marks::Marks;
use crate::service::Inner;
use crate::store::StoreError;

/// How many of the shortest pauses pass between an attempt that failed and the next one.
const BEFORE_ANOTHER: u32 = 10;

impl Course {
    /// C8: says for the how manieth time this member is ready, and begins when all are.
    pub(super) async fn attempt(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        seal: Digest,
    ) -> Result<(), Trouble> {
        let everybody_has_signed = self.state().told.iter().all(|told| told.outcome.is_some());
        if everybody_has_signed {
            return Ok(());
        }
        let generation = self.state().generation;
        if generation.is_none() {
            // Who has a result takes part again only if another member has not.
            let begun = inner.config.store.begin(&self.id).await?;
            if begun > GENERATIONS {
                return Err(Trouble::Stop(format!(
                    "it was begun {GENERATIONS} times and came to no end"
                )));
            }
            self.say(inner, Said::Ready { seal, generation: begun }).await?;
            self.state().generation = Some(begun);
        }
        let mut state = self.state();
        let ready = |told: &Told| Some(told.generation().filter(|(of, _)| *of == seal)?.1);
        let Some(vector) = state.told.iter().map(ready).collect::<Option<Vec<u32>>>() else {
            return Ok(());
        };
        if state.attempt.as_ref().is_some_and(|(under_way, _)| *under_way == vector) {
            return Ok(());
        }
        if let Some((_, handle)) = state.attempt.take() {
            handle.abort();
        }
        let (course, running) = (Arc::clone(self), Arc::clone(inner));
        let (session, number) = self.session_of(&seal, &vector);
        let (waiting, handle) = abortable(pending::<()>());
        state.attempt = Some((vector.clone(), handle));
        drop(state);
        inner.runtime.spawn(async move {
            let ended = Arc::clone(&course).compute(&running, session, number, waiting).await;
            course.ended(&running, seal, &vector, ended).await;
        });
        Ok(())
    }

    /// The session of an attempt, and its number among all of the committee.
    fn session_of(&self, seal: &Digest, vector: &[u32]) -> (SessionId, u64) {
        let mut transcript = Transcript::new("ostrakon/v1/committee/attempt");
        transcript.field(&self.id.0.0).field(&seal.0).number(vector.len() as u64);
        for generation in vector {
            transcript.number(u64::from(*generation));
        }
        let digest = transcript.finish();
        let (number, _) = digest.0.split_first_chunk().expect("a digest has 32 bytes");
        (SessionId(digest), u64::from_le_bytes(*number))
    }

    /// C9, on a thread of its own. `None` if it was given up.
    async fn compute(
        self: Arc<Self>,
        inner: &Arc<Inner>,
        session: SessionId,
        number: u64,
        until: Abortable<Pending<()>>,
    ) -> Option<Result<Vec<u8>, Ended>> {
        let mut until = until;
        let _turn = match select(Box::pin(inner.computing.acquire()), &mut until).await {
            Either::Left((turn, _)) => turn.ok()?,
            Either::Right(_) => return None,
        };
        let mut inputs = Vec::new();
        let sealed = self.state().seal.as_ref().map(|seal| seal.inputs.clone())?;
        for entry in sealed {
            match inner.config.store.input(&self.id, &entry.contributor, &entry.body).await {
                Ok(Some(input)) => inputs.push(Input { entry, ..input }),
                Ok(None) => return Some(Err(Ended::Final("an input has gone".into()))),
                Err(error) => return Some(Err(Ended::Again(error.to_string()))),
            }
        }
        let (course, running) = (Arc::clone(&self), Arc::clone(inner));
        let computing = inner.runtime.spawn_blocking(move || {
            let marks = Marks {
                computation: course.id,
                store: running.config.store.clone(),
                runtime: running.runtime.clone(),
            };
            let run = Run {
                about: course.about(&running),
                party: running.config.party.in_session(session),
                number,
                inputs,
                marks,
                randomness: Secret::new(running.random()),
            };
            let computed = course.job.compute(run);
            let first = select(computed, until);
            let ended = match futures::executor::block_on(first) {
                Either::Left((ended, _)) => Some(ended),
                Either::Right(_) => None,
            };
            if ended.is_none() {
                // Nobody goes on with a session that was given up.
                course.forget(&running, number);
            }
            ended
        });
        computing.await.unwrap_or_else(|panic| {
            tracing::error!(%panic, "a defect of this program");
            Some(Err(Ended::Final("a defect of this program; its log says more".into())))
        })
    }

    async fn ended(
        &self,
        inner: &Arc<Inner>,
        seal: Digest,
        vector: &[u32],
        ended: Option<Result<Vec<u8>, Ended>>,
    ) {
        let written = match ended {
            None => Ok(()),
            Some(Ok(result)) => {
                let conclusion = Conclusion::Reached(Parameters(result));
                self.conclude(inner, seal, conclusion).await
            }
            Some(Err(Ended::Again(why))) => {
                tracing::warn!(why, computation = ?self.id, "an attempt failed");
                // There are few attempts: what hindered this one may take a while to pass.
                tokio::time::sleep(inner.config.pause * BEFORE_ANOTHER).await;
                let mut state = self.state();
                if state.attempt.as_ref().is_some_and(|(under_way, _)| under_way == vector) {
                    state.attempt = None;
                    state.generation = None;
                }
                Ok(())
            }
            Some(Err(Ended::Final(why))) => self.say(inner, Said::stopped(&why)).await,
        };
        if let Err(error) = written {
            tracing::error!(%error, computation = ?self.id, "the end of an attempt cannot be written");
        }
        self.news.notify_one();
    }

    /// C10.
    pub(super) async fn conclude(
        &self,
        inner: &Inner,
        seal: Digest,
        conclusion: Conclusion,
    ) -> Result<(), StoreError> {
        let result = conclusion.digest(&self.id);
        let before = self.state().told[inner.number].result();
        match before {
            None => {
                inner.config.store.conclude(&self.id, &conclusion).await?;
                self.state().conclusion = Some(conclusion);
                self.say(inner, Said::Outcome { seal, result }).await
            }
            Some(before) if before == (seal, result) => Ok(()),
            Some(_) => self.say(inner, Said::stopped("two attempts have different results")).await,
        }
    }

    /// Gives up what is being computed.
    pub fn give_up(&self) {
        if let Some((_, handle)) = self.state().attempt.take() {
            handle.abort();
        }
    }

    /// Forgets the messages of an attempt that all have brought to its end.
    pub(super) fn retire(&self, inner: &Inner) {
        let attempt = self.state().attempt.take();
        if let Some((_, handle)) = &attempt {
            handle.abort();
        }
        let seal = self.state().told[inner.number].seal();
        let (Some((vector, _)), Some(seal)) = (attempt, seal) else { return };
        let (_, number) = self.session_of(&seal, &vector);
        self.forget(inner, number);
    }

    fn forget(&self, inner: &Inner, number: u64) {
        let inputs = self.state().seal.as_ref().map_or(0, |seal| seal.inputs.len());
        for instance in self.job.instances(self.about(inner), inputs, number) {
            inner.config.party.retire(instance);
            inner.config.party.meter.forget(instance);
        }
    }
}

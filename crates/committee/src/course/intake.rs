//! Inputs and the order to close (C4, C5).

use std::sync::Arc;

use ostrakon_computation::{Contributors, Entry, Input, Order, Said, Spent, Statement};
use ostrakon_crypto::VerifyingKey;

use super::cancelling::CANCELLED;
use super::sealing::contributors;
use super::{Course, Trouble};
use crate::job::Price;
use crate::member::{Member, Refused};
use crate::store::{Charged, StoreError};

const TWICE: &str = "this key has handed in another input before; with two, neither counts";

pub(super) const CLOSED: &str = "it is closed: no more inputs are taken";

impl Course {
    /// C4.
    pub async fn submit(self: Arc<Self>, input: Input) -> Result<Statement, Refused> {
        let here = self.member()?;
        let entry = input.entry;
        if input.body.len() > self.body_bytes {
            return Err(Refused::Unsound("this is longer than what is asked for".into()));
        }
        self.admits(&entry)?;
        if self.holds(&entry)? {
            return Ok(self.receipt(&here, &entry));
        }
        let checking = {
            let (course, here, input) = (Arc::clone(&self), Arc::clone(&here), input.clone());
            here.clone()
                .runtime
                .spawn_blocking(move || course.job.check(course.about(&here), &input))
        };
        let checked = checking.await.map_err(|_| Refused::Unavailable("try again".into()))?;
        checked.map_err(Refused::Unsound)?;
        // Apart from who asks, who may hang up between the disk and the memory: what is on disk
        // would then be in no list, and have its receipt after a restart.
        let (course, running) = (Arc::clone(&self), Arc::clone(&here));
        let admitting = here.runtime.spawn(async move { course.admit(&running, input).await });
        admitting.await.map_err(|_| Refused::Unavailable("this server stops".into()))??;
        Ok(self.receipt(&here, &entry))
    }

    /// Whether who signs this input is asked for one, and has signed it.
    pub(super) fn admits(&self, entry: &Entry) -> Result<(), Refused> {
        self.is_open_to(&entry.contributor)?;
        if !entry.verifies(&self.id, &self.draft.draft) {
            return Err(Refused::Unsound("the input is not signed by its key".into()));
        }
        Ok(())
    }

    pub(super) fn receipt(&self, here: &Member, entry: &Entry) -> Statement {
        let said = Said::Receipt { contributor: entry.contributor, body: entry.body };
        Statement::sign(self.id, said, &here.config.signing)
    }

    /// Whether inputs of this key are taken: once it is closed only those that are held, whose
    /// receipt may have got lost.
    pub fn is_open_to(&self, contributor: &VerifyingKey) -> Result<(), Refused> {
        if !self.draft.draft.admits(contributor) {
            return Err(Refused::Forbidden(
                "this question is for invited people only; use the link that was sent to you"
                    .into(),
            ));
        }
        let here = self.member()?;
        if self.cancellation().is_some() {
            return Err(Refused::Conflict(CANCELLED.into()));
        }
        let state = self.state();
        let held = state.entries.iter().any(|entry| entry.contributor == *contributor);
        if state.told[here.number].holdings.is_some() && !held {
            return Err(Refused::Conflict(CLOSED.into()));
        }
        Ok(())
    }

    /// Takes in an input that has been checked.
    async fn admit(&self, here: &Member, input: Input) -> Result<(), Refused> {
        let entry = input.entry;
        let turn = self.intake.lock().await;
        if self.cancellation().is_some() {
            return Err(Refused::Conflict(CANCELLED.into()));
        }
        if self.holds(&entry)? {
            return Ok(());
        }
        let known = {
            let state = self.state();
            if state.told[here.number].holdings.is_some() {
                return Err(Refused::Conflict(CLOSED.into()));
            }
            let of_key = |e: &&Entry| e.contributor == entry.contributor;
            let known = state.entries.iter().filter(of_key).count();
            // A second input of a key is evidence, which takes nobody's place.
            if known == 0 && contributors(&state.entries) >= self.most_inputs {
                return Err(Refused::Unavailable(
                    "as many have answered as can be computed on".into(),
                ));
            }
            known
        };
        let charged = match known {
            0 => self.charge(here, &[entry.contributor]).await?,
            _ => None,
        };
        if charged.is_some_and(|charged| charged.short > 0) {
            return Err(Refused::Forbidden(
                "answers have told as much about you as this server lets them: it takes no more \
                 of you"
                    .into(),
            ));
        }
        if known < 2 {
            here.config.store.keep(&self.id, &input, true).await?;
            let mut state = self.state();
            state.entries.insert(entry);
            state.sound.insert(entry.input(), true);
        }
        drop(turn);
        if known > 0 {
            return Err(Refused::Conflict(TWICE.into()));
        }
        Ok(())
    }

    /// Charges contributors, if the answer tells anything of them. They are remembered by name
    /// where they are named, and where this member keeps a budget for each.
    pub(super) async fn charge(
        &self,
        here: &Member,
        contributors: &[VerifyingKey],
    ) -> Result<Option<Charged>, StoreError> {
        let epsilon = match self.job.price(&self.draft.draft) {
            Price::None => return Ok(None),
            Price::Exact => None,
            Price::Epsilon(epsilon) => Some(epsilon),
        };
        let budget = here.config.budget;
        if budget.is_none() && self.draft.draft.contributors == Contributors::Anyone {
            // Their keys are new each time.
            let spent = Spent { most: epsilon, budget };
            return Ok(Some(Charged { short: 0, spent }));
        }
        let store = &here.config.store;
        store.charge(&self.id, contributors, epsilon, budget).await.map(Some)
    }

    /// Bytes of the longest input.
    pub fn input_bytes(&self) -> usize {
        Input::HEAD + self.body_bytes
    }

    /// Whether a contributor has brought this input here, whatever its signature's bytes. Who has
    /// brought another one besides gets no receipt for either.
    pub(super) fn holds(&self, entry: &Entry) -> Result<bool, Refused> {
        let state = self.state();
        let mut of_key = state.entries.iter().filter(|e| e.contributor == entry.contributor);
        let held = of_key.clone().any(|e| e.body == entry.body);
        if held && of_key.any(|e| e.body != entry.body) {
            return Err(Refused::Conflict(TWICE.into()));
        }
        Ok(held)
    }

    /// C5: takes the creator's order.
    pub async fn order(&self, order: &Order) -> Result<(), Refused> {
        let here = self.member()?;
        if !order.verifies(&self.draft.draft) {
            return Err(Refused::Forbidden("only who made the question may close it".into()));
        }
        if self.cancellation().is_some() {
            return Err(Refused::Conflict(CANCELLED.into()));
        }
        let known = {
            let state = self.state();
            state.order.is_some() || state.told[here.number].holdings.is_some()
        };
        if known {
            return Ok(());
        }
        here.config.store.order(order).await?;
        self.state().order = Some(*order);
        self.news.notify_one();
        Ok(())
    }

    pub(super) async fn close_if_due(&self, here: &Member) -> Result<(), Trouble> {
        let due = {
            let state = self.state();
            let date = self.draft.draft.closes;
            let past = date.is_some_and(|closes| closes <= (here.config.clock)());
            // On what was sealed before nothing is waited for.
            let past = past || self.draft.draft.earlier().is_some();
            state.told[here.number].holdings.is_none() && (state.order.is_some() || past)
        };
        if !due {
            return Ok(());
        }
        // Who has begun to take a piece, or an announcement, comes before the close or after it.
        let _uploading = self.uploading.lock().await;
        let _turn = self.intake.lock().await;
        let entries: Vec<Entry> = self.state().entries.iter().copied().collect();
        // A member that never agrees does not have it kept for ever. Noted first: whoever is killed
        // between the two closes once more, and whoever sees it closed may count from then on.
        self.note_over(here).await?;
        self.say(here, Said::Holdings(entries)).await?;
        Ok(here.config.store.drop_uploads(&self.id).await?)
    }
}

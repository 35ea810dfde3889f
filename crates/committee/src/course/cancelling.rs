//! The creator's word that nothing is to come out (C13).
//!
//! A mark in the journal, written once, decides between an attempt that is about to open and a
//! cancellation: whichever is there first stands, also after a restart.

use std::sync::Arc;

use ostrakon_computation::{Cancellation, Said};

use super::looking::Looking;
use super::{Course, Next, Trouble};
use crate::member::{Member, Refused};
use crate::store::StoreError;

/// What stands in the place of the mark that an attempt makes before it opens.
const WITHHELD: &[u8] = b"cancelled";

pub(super) const CANCELLED: &str =
    "it was cancelled by who asked: nothing comes out, and what was handed in is erased";

const OVER: &str = "it is too late to cancel: what came out is signed";

impl Course {
    /// Takes the creator's cancellation; whether it is news.
    pub async fn cancel(&self, order: &Cancellation) -> Result<bool, Refused> {
        let here = self.member()?;
        if !order.verifies(&self.draft.draft) {
            return Err(Refused::Forbidden("only who made the question may cancel it".into()));
        }
        if self.cancellation().is_some() {
            return Ok(false);
        }
        let (ended, stopped) = {
            let state = self.state();
            let own = &state.told[here.number];
            (own.outcome.is_some(), own.stopped.is_some())
        };
        match (ended, stopped) {
            (true, false) => return Err(Refused::Conflict(OVER.into())),
            // It cannot say so any more, but looks whether another member has.
            (true, true) => return Ok(true),
            (false, _) => {}
        }
        let opened = !self.withhold(&here).await?;
        // Of what has stopped there will be no result, whatever was opened.
        if opened && !stopped {
            return Err(Refused::Conflict(
                "it is too late to cancel: what was asked for is being opened".into(),
            ));
        }
        self.say(&here, Said::Cancelled { order: *order, opened }).await?;
        self.news.notify_one();
        // That too few had handed in may have been signed meanwhile.
        let cancelled = self.state().told[here.number].cancelled().is_some();
        if cancelled { Ok(true) } else { Err(Refused::Conflict(OVER.into())) }
    }

    /// The creator's word, if any member has ended the computation by it.
    pub(super) fn cancellation(&self) -> Option<Cancellation> {
        self.state().told.iter().find_map(|told| Some(told.cancelled()?.0))
    }

    /// Keeps every attempt from opening; false if one has begun to.
    async fn withhold(&self, here: &Member) -> Result<bool, StoreError> {
        let mark = (self.job.opening(), WITHHELD.to_vec());
        let before = here.config.store.mark(&self.id, &[mark]).await?;
        Ok(before.iter().flatten().all(|standing| standing == WITHHELD))
    }

    /// Ends what this member or another one was told to cancel: erases it, and passes the word on
    /// until every member has ended it, or has signed a result.
    pub(super) async fn end_cancelled(
        &self,
        here: &Member,
        looking: &mut Looking,
        order: Cancellation,
    ) -> Result<Next, Trouble> {
        let opened = !self.withhold(here).await?;
        // Not said by a member that has signed a result: that says what there is to say.
        self.say(here, Said::Cancelled { order, opened }).await?;
        let first = !self.state().erased;
        if first {
            looking.pass_no_more();
            self.erase(here).await?;
        }
        match self.hear(here, looking).await {
            // Who contradicts itself has been noted; it is ended and passed on all the same.
            Err(Trouble::Stop(_)) => {}
            heard => heard?,
        }
        let told = self.state().told.clone();
        let silent = |m: &usize| told[*m].outcome.is_none();
        // Who has stopped after it had signed a result hears nothing by itself.
        let deaf = |m: &usize| first && *m != here.number && told[*m].cancelled().is_none();
        let waiting = (0..told.len()).filter(|member| silent(member) || deaf(member));
        for member in waiting {
            let peers = Arc::clone(&here.config.peers);
            looking.pass(member, async move { drop(peers.cancel(member, order).await) });
        }
        Ok(if (0..told.len()).any(|member| silent(&member)) { Next::Wait } else { Next::Over })
    }

    /// Erases everything that was handed in, and what was made of it.
    async fn erase(&self, here: &Member) -> Result<(), StoreError> {
        self.retire(here);
        // Nothing is written any more by who computes, hands in, or sends a piece.
        let _computing = self.computing.write().await;
        let _uploading = self.uploading.lock().await;
        let _intake = self.intake.lock().await;
        let store = &here.config.store;
        store.erase_attempts(&self.id).await?;
        store.erase_inputs(&self.id).await?;
        store.drop_uploads(&self.id).await?;
        store.erase_conclusion(&self.id).await?;
        self.note_over(here).await?;
        let mut state = self.state();
        (state.conclusion, state.erased) = (None, true);
        state.entries.clear();
        Ok(())
    }
}

//! Further questions about inputs that were sealed (C14).

use ostrakon_computation::{Conclusion, Draft, Entry, Seal};

use super::Course;
use crate::job::Keeping;
use crate::member::{Member, Refused};
use crate::store::StoreError;

impl Course {
    /// The list that a draft can be computed on again, and how many may in all.
    pub(crate) async fn again(&self, here: &Member, draft: &Draft) -> Result<(Seal, u32), Refused> {
        let conflict = |why: &str| Err(Refused::Conflict(why.to_owned()));
        let earlier = &self.draft.draft;
        if earlier.creator != draft.creator {
            return Err(Refused::Forbidden(
                "only who asked the first question may ask another one about what was handed in"
                    .into(),
            ));
        }
        if earlier.job != draft.job || earlier.minimum > draft.minimum {
            return Err(Refused::Unsound(
                "a further question is of the same job, and its minimum is no lower".into(),
            ));
        }
        let seal = {
            let state = self.state();
            let reached = matches!(state.conclusion, Some(Conclusion::Reached(_)));
            state.seal.clone().filter(|_| reached && state.is_signed_by_all())
        };
        // A member that has not heard of the last signature does so soon.
        let Some(seal) = seal else {
            return Err(Refused::Unavailable(
                "there is no result yet: ask again when there is one".into(),
            ));
        };
        self.job.again(earlier, draft, seal.inputs.len()).map_err(Refused::Unsound)?;
        match self.keeps(here).await? {
            Some(Keeping { questions, .. }) => Ok((seal, questions)),
            None => conflict(
                "what was handed in is erased: it was kept for so many questions, and so long, as \
                 was said to those who contributed",
            ),
        }
    }

    /// For how much its inputs are kept; none if for nothing, or nothing more.
    pub(super) async fn keeps(&self, here: &Member) -> Result<Option<Keeping>, StoreError> {
        let (over, gone) = {
            let state = self.state();
            (state.over, state.used_up || state.erased)
        };
        let Some(keeping) = self.job.keeps(&self.draft.draft).filter(|_| !gone) else {
            return Ok(None);
        };
        let now = (here.config.clock)();
        let lasts = over.is_none_or(|over| now < over.saturating_add(keeping.seconds));
        let used = here.config.store.used(&self.id).await?;
        Ok((lasts && used < u64::from(keeping.questions)).then_some(keeping))
    }

    /// Erases what was handed in, now that it is of no use.
    pub(super) async fn erase_inputs(&self, here: &Member) -> Result<(), StoreError> {
        here.config.store.erase_inputs(&self.id).await?;
        self.state().used_up = true;
        Ok(())
    }

    /// Erases what was kept for further questions when there can be none any more.
    pub(crate) async fn erase_if_due(&self, here: &Member) -> Result<(), StoreError> {
        let kept = self.is_over() && !self.state().used_up;
        if kept && self.keeps(here).await?.is_none() {
            self.erase_inputs(here).await?;
        }
        Ok(())
    }

    /// Whether a member lists just what was sealed before; others' lists change nothing there.
    pub(super) fn lists_the_same(&self, held: &[Entry]) -> bool {
        let state = self.state();
        self.draft.draft.earlier().is_none() || state.entries.iter().eq(held)
    }
}

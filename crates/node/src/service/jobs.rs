//! The requests about jobs, and the deeds that words of a job ask of this server.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_party::PartyId;

use super::{LONGEST_WAIT, Service};
use crate::core::Core;
use crate::jobs::{Deed, Port, Subject};
use crate::state::announcement::Body;
use ostrakon_protocol::{Accepted, JobView, ServiceError};

fn no_job() -> ServiceError {
    ServiceError::NotFound("this deployment has no such job".into())
}

impl Service {
    /// What this server shows of a job's subject, as soon as its version is above `after`, and
    /// after `wait` (at most [`LONGEST_WAIT`]) anyway. Nobody waits for a subject of which there is
    /// nothing to show.
    ///
    /// # Errors
    /// `NotFound`; `Elsewhere` from an intake process; `Unavailable`.
    pub async fn job_view(
        &self,
        job: &str,
        subject: Subject,
        after: u64,
        wait: Duration,
    ) -> Result<JobView, ServiceError> {
        let core = self.0.core()?;
        let job = core.world().jobs.number(job).ok_or_else(no_job)?;
        let shown = || {
            let nothing = || ServiceError::NotFound("the job has nothing to show there".into());
            core.world().jobs.view(job, &subject).ok_or_else(nothing)
        };
        shown()?;
        let newer = || core.world().jobs.version(job, &subject) > after;
        let of = (job, subject);
        core.platform.timeout(wait.min(LONGEST_WAIT), core.subjects.wait(&of, newer)).await;
        let (version, view) = shown()?;
        Ok(JobView { version, view })
    }

    /// Has this server say what a job makes of a request. It is on disk when this returns, and the
    /// others have it if they answer.
    ///
    /// # Errors
    /// What the job answers; `NotFound`, `Busy`, `Elsewhere`, `Unavailable`.
    pub async fn job_say(
        &self,
        job: &str,
        subject: Subject,
        body: &[u8],
    ) -> Result<Accepted, ServiceError> {
        let core = self.0.core()?;
        let busy = |_| ServiceError::Busy("too much is being said; try again in a moment".into());
        let _turn = core.desk.saying.try_acquire().map_err(busy)?;
        let job = core.world().jobs.number(job).ok_or_else(no_job)?;
        let state = core.world().jobs.state(job).ok_or_else(no_job)?;
        // Signatures are checked while nobody waits for the world.
        let word = state.request(&subject, body)?;
        drop(state);
        core.announce_and_wait(Body::Job { job, subject, word }).await?;
        Ok(Accepted { accepted: true })
    }
}

/// This server as one job's deeds see it.
struct OfJob {
    core: Arc<Core>,
    job: u8,
}

impl Port for OfJob {
    fn me(&self) -> PartyId {
        self.core.me()
    }

    fn say(&self, subject: Subject, word: Vec<u8>) -> BoxFuture<'_, Result<(), ServiceError>> {
        async move {
            self.core.announce(Body::Job { job: self.job, subject, word }).await?;
            Ok(())
        }
        .boxed()
    }
}

/// Does what a word asks of this server.
pub(super) fn follow(core: &Arc<Core>, job: u8, deed: Deed) {
    let port = Arc::new(OfJob { core: Arc::clone(core), job });
    let work = core.world().jobs.follow(job, port, deed);
    core.spawn(work);
}

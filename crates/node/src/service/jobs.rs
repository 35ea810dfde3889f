//! The requests about jobs.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_job::{Driver, Subject};

use super::{LONGEST_WAIT, Service};
use crate::state::announcement::Body;
use ostrakon_protocol::{Accepted, JobView, ServiceError};

fn no_job() -> ServiceError {
    ServiceError::NotFound("this deployment has no such job".into())
}

impl Service {
    /// The driver of this type, for whoever serves the paths of its job.
    ///
    /// # Errors
    /// `NotFound` if this server does no such job; `Elsewhere` from an intake process, as for
    /// everything about jobs; `Unavailable`.
    pub fn driver<D: Driver>(&self) -> Result<Arc<D>, ServiceError> {
        self.0.drivers()?.get().ok_or_else(no_job)
    }

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
        let _turn = core.under_way.saying.try_acquire().map_err(busy)?;
        let job = core.world().jobs.number(job).ok_or_else(no_job)?;
        let state = core.world().jobs.state(job).ok_or_else(no_job)?;
        // Signatures are checked while nobody waits for the world.
        let word = state.request(&subject, body)?;
        drop(state);
        core.announce_and_wait(Body::Job { job, subject, word }).await?;
        Ok(Accepted { accepted: true })
    }
}

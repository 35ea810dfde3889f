//! The line between somebody outside and the servers: it takes time, is observed, and now and then
//! loses an answer.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_node::Service;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;
use tokio::sync::oneshot;

use crate::deployment::Deployment;
use crate::executor::Executor;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(4);

/// Somebody's line.
#[derive(Clone)]
pub struct Line {
    /// Whose, as an observer of all lines tells them apart.
    pub number: u64,
    pub deployment: Arc<Deployment>,
}

impl Line {
    pub fn executor(&self) -> &Executor {
        &self.deployment.executor
    }

    pub async fn pause(&self, low: u64, high: u64) {
        let millis = self.executor().draw(|random| random.within(low, high));
        self.executor().sleep(Duration::from_millis(millis)).await;
    }

    /// Asks a server; `None` if there is no answer.
    pub async fn ask<T: Send + 'static>(
        &self,
        party: PartyId,
        what: &str,
        length: u64,
        call: impl FnOnce(Service) -> BoxFuture<'static, Result<T, ServiceError>>,
    ) -> Option<Result<T, ServiceError>> {
        self.pause(1, 30).await;
        self.executor().observe(what, &[self.number, party.0.into(), length]);
        let server = self.deployment.service(party)?;
        let (reply, answer) = oneshot::channel();
        let work = call(server.service);
        self.executor().spawn(server.owner, async move { drop(reply.send(work.await)) }.boxed());
        let executor = self.executor();
        let answer = tokio::select! {
            biased;
            answer = answer => answer.ok(),
            () = executor.sleep(ANSWER) => None,
        };
        self.pause(1, 30).await;
        // Now and then an answer is lost on its way.
        answer.filter(|_| !executor.draw(|random| random.chance(2)))
    }
}

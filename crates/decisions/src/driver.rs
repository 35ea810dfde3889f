//! What a server does about decisions unasked: what records ask of it, and what time does.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_decide::DecisionId;
use ostrakon_job::{Deed, Driver, Gauge};
use ostrakon_party::wire;

use crate::server::DecisionServer;
use crate::state::Task;
use crate::{course, holding};

impl Driver for DecisionServer {
    fn follow(self: Arc<Self>, deed: Deed) -> BoxFuture<'static, ()> {
        let id = DecisionId(deed.subject);
        async move {
            match wire::decode(&deed.what).expect("what the state asks for") {
                Task::Open => course::open(&self, id).await,
                Task::TakeHeld => holding::take_what_is_held(&self, id).await,
                Task::Lacking(party) => course::note_lacking(&self, id, party).await,
                Task::Erase => course::erase(&self, id).await,
            }
        }
        .boxed()
    }

    fn run(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move { course::run(&self).await }.boxed()
    }

    /// How many are under way is not told: that changes with the last person who answers.
    fn gauges(&self) -> Vec<Gauge> {
        let kept = self.read(|decisions| decisions.kept.len()) as u64;
        let refused = self.limits.refusals.lock().expect("no panic while held").len() as u64;
        vec![
            Gauge { name: "decisions", help: "Decisions that are kept.", value: kept },
            Gauge {
                name: "decisions_refused",
                help: "Closed decisions whose history does not hold, so that they are not opened.",
                value: refused,
            },
        ]
    }
}

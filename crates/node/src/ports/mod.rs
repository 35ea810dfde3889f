//! The drivers of this server's jobs, and the server as they see it.

mod port;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_job::{Deed, Driver, Gauge};

use crate::core::Core;
use port::OfJob;

/// What works for each job, by its number. Clones share it.
#[derive(Clone)]
pub(crate) struct Drivers(BTreeMap<u8, Arc<dyn Driver>>);

impl Drivers {
    /// Of all jobs that this server does.
    pub fn new(core: &Arc<Core>) -> Self {
        let jobs = core.world().jobs.all();
        let driver = |job: &Arc<dyn ostrakon_job::Job>| {
            let port = OfJob { core: Arc::clone(core), job: job.number() };
            (job.number(), job.driver(Arc::new(port)))
        };
        Self(jobs.iter().map(driver).collect())
    }

    /// Does what a word asks of this server.
    pub fn follow(&self, job: u8, deed: Deed) -> BoxFuture<'static, ()> {
        match self.0.get(&job) {
            Some(driver) => Arc::clone(driver).follow(deed),
            None => async {}.boxed(),
        }
    }

    /// Begins what they do by themselves.
    pub fn run(&self, core: &Arc<Core>) {
        for driver in self.0.values() {
            core.spawn(Arc::clone(driver).run());
        }
    }

    /// The one of this type.
    pub fn get<D: Driver>(&self) -> Option<Arc<D>> {
        let of_type = |driver: &Arc<dyn Driver>| {
            let any: Arc<dyn Any + Send + Sync> = Arc::clone(driver) as _;
            any.downcast().ok()
        };
        self.0.values().find_map(of_type)
    }

    /// What the metrics show of jobs.
    pub fn gauges(&self) -> Vec<Gauge> {
        self.0.values().flat_map(|driver| driver.gauges()).collect()
    }
}

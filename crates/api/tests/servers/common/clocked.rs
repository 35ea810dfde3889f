//! The operating system with a clock that a test can put forward, and an end of the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use ostrakon_node::platform::{Links, System};
use ostrakon_node::{Config, Platform, StartError};
use ostrakon_party::Roster;

/// By how many milliseconds a server's clock is ahead.
pub type Ahead = Arc<AtomicU64>;

pub struct Clocked {
    pub system: System,
    pub ahead: Ahead,
    /// What sleeps as long as this or longer is woken at once.
    pub at_once: Duration,
    /// The process has ended: what is begun from now on is never done.
    pub ended: AtomicBool,
}

impl Clocked {
    pub fn new(system: System, ahead: Ahead) -> Self {
        Self { system, ahead, at_once: Duration::MAX, ended: AtomicBool::new(false) }
    }
}

impl Platform for Clocked {
    fn now_ms(&self) -> u64 {
        self.system.now_ms() + self.ahead.load(Ordering::Relaxed)
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.system.fill(bytes);
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.system.sleep(if time < self.at_once { time } else { Duration::from_millis(200) })
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        if !self.ended.load(Ordering::SeqCst) {
            self.system.spawn(task);
        }
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.system.spawn_blocking(work);
    }

    fn spawn_engine(&self, work: BoxFuture<'static, ()>) -> io::Result<()> {
        self.system.spawn_engine(work)
    }

    fn disk<'a>(&'a self, call: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        self.system.disk(call)
    }

    fn disk_blocking(&self, call: BoxFuture<'_, ()>) {
        self.system.disk_blocking(call);
    }

    fn connect<'a>(
        &'a self,
        config: &'a Config,
        roster: Arc<Roster>,
        seed: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Arc<dyn Links>, StartError>> {
        self.system.connect(config, roster, seed)
    }
}

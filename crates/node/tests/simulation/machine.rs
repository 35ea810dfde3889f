//! What a simulated server runs on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_node::StartError;
use ostrakon_node::config::Config;
use ostrakon_node::platform::{Links, Platform};
use ostrakon_party::Roster;

use crate::executor::{Executor, Owner};
use crate::network::Network;

/// One server's machine, from one start to the next.
pub struct Machine {
    pub executor: Executor,
    pub network: Network,
    pub owner: Owner,
    /// By how much its clock is ahead.
    pub ahead_ms: u64,
    /// After so many more calls to its disk it dies; 0 for never.
    pub dies_after: AtomicU64,
    /// Whether its disk stands still: whatever waits for it waits for ever.
    pub stalled: AtomicBool,
    /// Whether it is dead and its files are being closed.
    pub closing: AtomicBool,
}

impl Machine {
    /// Carries out a call at once. In a simulation nothing else happens meanwhile, so calls have an
    /// order that the seed decides. If the machine is to die now, it does so just before the call
    /// or just after it.
    fn carry_out(&self, call: BoxFuture<'_, ()>) {
        self.executor.count_disk_call();
        let dies = self.dies_after.load(Ordering::SeqCst) > 0
            && self.dies_after.fetch_sub(1, Ordering::SeqCst) == 1;
        if !dies || self.executor.draw(|random| random.chance(50)) {
            futures::executor::block_on(call);
        }
        if dies {
            self.executor.kill(self.owner);
        }
    }

    fn pause(&self, longest_micros: u64) -> BoxFuture<'static, ()> {
        let micros = self.executor.draw(|random| random.below(longest_micros));
        self.executor.sleep(Duration::from_micros(micros)).boxed()
    }
}

impl Platform for Machine {
    fn now_ms(&self) -> u64 {
        self.executor.now_ms() + self.ahead_ms
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.executor.draw(|random| random.fill(bytes));
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.executor.sleep(time).boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.executor.spawn(self.owner, task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        let pause = self.pause(2_000);
        self.spawn(
            async move {
                pause.await;
                work();
            }
            .boxed(),
        );
    }

    fn spawn_engine(&self, work: BoxFuture<'static, ()>) -> io::Result<()> {
        self.spawn(work);
        Ok(())
    }

    fn disk<'a>(&'a self, call: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        async move {
            if self.closing.load(Ordering::SeqCst) {
                futures::executor::block_on(call);
                return;
            }
            self.pause(3_000).await;
            if self.executor.is_dead(self.owner) || self.stalled.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            self.carry_out(call);
            if self.executor.is_dead(self.owner) {
                std::future::pending::<()>().await;
            }
            self.pause(500).await;
        }
        .boxed()
    }

    fn disk_blocking(&self, call: BoxFuture<'_, ()>) {
        if !self.executor.is_dead(self.owner) {
            self.carry_out(call);
        }
    }

    fn connect<'a>(
        &'a self,
        config: &'a Config,
        _: Arc<Roster>,
        _: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Arc<dyn Links>, StartError>> {
        async { Ok(self.network.join(config.id(), self.owner)) }.boxed()
    }
}

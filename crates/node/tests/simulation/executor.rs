//! One thread, virtual time: tasks run in an order that the seed decides, and the clock moves only
//! when nothing else does.
//!
//! What is woken between two polls is a set: in which order it was woken makes no difference, only
//! the seed does.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use ostrakon_crypto::{Digest, Transcript};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::random::Random;

/// What a task belongs to. Those of a server that is killed vanish with it.
pub type Owner = u64;
/// The owner of what is never killed: participants and the scenario.
pub const OUTSIDE: Owner = 0;
/// Virtual time begins here, in milliseconds since 1970.
const BEGINNING_MS: u64 = 1_800_000_000_000;

/// The processors that this program may use.
pub fn processors() -> Vec<usize> {
    let set = sched_getaffinity(None).expect("of this thread");
    (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect()
}

/// Keeps this thread on a processor, and with it those of the databases that it starts. One of them
/// waits while another one works: on two processors they would do so for a third of the time.
pub fn stay_on(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).expect("it is one of those that may be used");
}

type Ready = Arc<Mutex<BTreeSet<u64>>>;

struct Alarm {
    task: u64,
    ready: Ready,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.ready.lock().unwrap().insert(self.task);
    }
}

struct State {
    /// Microseconds since the beginning.
    now: u64,
    tasks: BTreeMap<u64, (Owner, Option<BoxFuture<'static, ()>>)>,
    timers: BTreeMap<(u64, u64), Waker>,
    dead: BTreeSet<Owner>,
    next: u64,
    random: Random,
    trace: Transcript,
    shape: Transcript,
    polls: u64,
    disk: u64,
}

/// Clones share it.
#[derive(Clone)]
pub struct Executor {
    state: Arc<Mutex<State>>,
    ready: Ready,
}

impl Executor {
    pub fn new(seed: u64) -> Self {
        stay_on(sched_getcpu());
        let state = State {
            now: 0,
            tasks: BTreeMap::new(),
            timers: BTreeMap::new(),
            dead: BTreeSet::new(),
            next: 1,
            random: Random::new(seed),
            trace: Transcript::new("test/trace"),
            shape: Transcript::new("test/shape"),
            polls: 0,
            disk: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), ready: Ready::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Draws from the run's chance.
    pub fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.state().random)
    }

    /// Microseconds since the beginning.
    pub fn now(&self) -> u64 {
        self.state().now
    }

    pub fn now_ms(&self) -> u64 {
        BEGINNING_MS + self.now() / 1000
    }

    pub fn polls(&self) -> u64 {
        self.state().polls
    }

    /// Calls to the servers' disks so far.
    pub fn disk_calls(&self) -> u64 {
        self.state().disk
    }

    /// Counts a call to a disk.
    pub fn count_disk_call(&self) {
        self.state().disk += 1;
    }

    /// Adds something to the trace that two runs of a seed are compared by.
    pub fn trace(&self, what: &str, bytes: &[u8]) {
        let mut state = self.state();
        let now = state.now;
        state.trace.number(now).field(what.as_bytes()).field(bytes);
    }

    /// Adds something to what an observer of all lines sees: who, when, how much, but no content.
    pub fn observe(&self, what: &str, numbers: &[u64]) {
        let mut state = self.state();
        let now = state.now;
        state.shape.number(now).field(what.as_bytes());
        for number in numbers {
            state.shape.number(*number);
        }
    }

    /// Digests of the trace and of what an observer saw.
    pub fn digests(&self) -> (Digest, Digest) {
        let state = self.state();
        (state.trace.finish(), state.shape.finish())
    }

    pub fn spawn(&self, owner: Owner, task: BoxFuture<'static, ()>) {
        let mut state = self.state();
        if state.dead.contains(&owner) {
            return;
        }
        let id = state.next;
        state.next += 1;
        state.tasks.insert(id, (owner, Some(task)));
        self.ready.lock().unwrap().insert(id);
    }

    /// Nothing of this owner runs any more, from the end of the poll on that is under way.
    pub fn kill(&self, owner: Owner) {
        self.state().dead.insert(owner);
        self.bury();
    }

    pub fn is_dead(&self, owner: Owner) -> bool {
        self.state().dead.contains(&owner)
    }

    /// Drops the tasks of dead owners, those apart that are being polled.
    fn bury(&self) {
        let buried: Vec<_> = {
            let mut state = self.state();
            let State { tasks, dead, .. } = &mut *state;
            let over =
                |(owner, future): &(Owner, Option<_>)| dead.contains(owner) && future.is_some();
            let ids: Vec<_> =
                tasks.iter().filter(|(_, task)| over(task)).map(|(id, _)| *id).collect();
            ids.into_iter().filter_map(|id| tasks.remove(&id)).collect()
        };
        drop(buried);
    }

    /// Resolves after `time`.
    pub fn sleep(&self, time: Duration) -> Sleep {
        let at = self.now() + u64::try_from(time.as_micros()).unwrap();
        Sleep { executor: self.clone(), at, entry: None }
    }

    /// Runs what is to be run until `time` has passed.
    pub fn run_for(&self, time: Duration) {
        let end = self.now() + u64::try_from(time.as_micros()).unwrap();
        loop {
            if let Some(task) = self.choose() {
                self.poll(task);
                continue;
            }
            let mut state = self.state();
            let next =
                state.timers.first_key_value().map(|((at, _), _)| *at).filter(|at| *at <= end);
            let Some(at) = next else {
                state.now = end;
                return;
            };
            state.now = state.now.max(at);
            let later = state.timers.split_off(&(at + 1, 0));
            let due = std::mem::replace(&mut state.timers, later);
            drop(state);
            due.into_values().for_each(Waker::wake);
        }
    }

    /// Runs until `condition` holds, looked at every `beat`; whether it came to hold within
    /// `limit`.
    pub fn run_until(
        &self,
        limit: Duration,
        beat: Duration,
        mut condition: impl FnMut() -> bool,
    ) -> bool {
        let end = self.now() + u64::try_from(limit.as_micros()).unwrap();
        while !condition() {
            if self.now() >= end {
                return false;
            }
            self.run_for(beat);
        }
        true
    }

    fn choose(&self) -> Option<u64> {
        let mut ready = self.ready.lock().unwrap();
        let count = ready.len() as u64;
        if count == 0 {
            return None;
        }
        let at = self.state().random.below(count);
        let task = *ready.iter().nth(at as usize).unwrap();
        ready.remove(&task);
        Some(task)
    }

    fn poll(&self, task: u64) {
        let taken = {
            let mut state = self.state();
            state.polls += 1;
            let now = state.now;
            state.trace.number(now).number(task);
            state.tasks.get_mut(&task).and_then(|(owner, future)| Some((*owner, future.take()?)))
        };
        let Some((owner, mut future)) = taken else { return };
        let waker = Waker::from(Arc::new(Alarm { task, ready: Arc::clone(&self.ready) }));
        let done = future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        let mut state = self.state();
        if done || state.dead.contains(&owner) {
            state.tasks.remove(&task);
        } else if let Some(place) = state.tasks.get_mut(&task) {
            place.1 = Some(future);
            return;
        }
        drop(state);
        drop(future);
        if self.is_dead(owner) {
            self.bury();
        }
    }

    /// Drops all tasks.
    pub fn end(&self) {
        while let Some((_, task)) = { self.state().tasks.pop_first() } {
            drop(task);
        }
    }
}

/// See [`Executor::sleep`].
pub struct Sleep {
    executor: Executor,
    at: u64,
    entry: Option<(u64, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let executor = self.executor.clone();
        let mut state = executor.state();
        if state.now >= self.at {
            return Poll::Ready(());
        }
        let entry = self.entry.unwrap_or_else(|| {
            state.next += 1;
            (self.at, state.next)
        });
        state.timers.insert(entry, context.waker().clone());
        self.entry = Some(entry);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(entry) = self.entry {
            let waker = self.executor.state().timers.remove(&entry);
            drop(waker);
        }
    }
}

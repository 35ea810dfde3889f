//! How many attempts compute at a time (C9).
//!
//! Members take computations up in orders of their own. If each kept its places for attempts that
//! wait for other members, more attempts than there are places could wait for each other for ever.
//! So whoever has waited for a while gives its place to the next, and takes one again when it can
//! go on.
//!
//! What it keeps meanwhile is memory, of which there is room for some attempts only. An attempt
//! that nothing reaches for minutes while others queue for room is dropped, and begun again later.
//! Members have different patience, so that two that hold what the other one queues for do not
//! both drop it. What an attempt has sent takes its room until it is forgotten. One whose result
//! this member has already is made for others, after a restart: it takes room that nobody queues
//! for.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

/// How long an attempt keeps its place while it waits.
const WAIT: Duration = Duration::from_secs(5);

/// How long an attempt keeps its memory while nothing reaches it and others queue for room; a
/// quarter more for each member before this one.
const IDLE: Duration = Duration::from_secs(600);
/// Megabytes of all attempts under way together. A larger one runs alone.
const ROOM: u32 = 2000;

/// The places of a member, and its memory.
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    /// How long an attempt keeps its place while it waits.
    wait: Duration,
    /// Megabytes.
    room: Arc<Semaphore>,
    /// How many queue for room.
    queue: AtomicUsize,
    /// How long an attempt keeps its memory while nothing reaches it and others queue for room.
    idle: Duration,
}

/// The memory that an attempt takes.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub megabytes: u64,
    /// Whether others that queue come before it, whenever they came.
    pub behind: bool,
}

/// One in the queue.
struct Queuing<'a>(&'a AtomicUsize);

impl Drop for Queuing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Turns {
    /// Those of the member with this number.
    pub fn new(places: usize, member: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places.max(1))),
            wait: WAIT,
            room: Arc::new(Semaphore::new(ROOM as usize)),
            queue: AtomicUsize::new(0),
            idle: IDLE + IDLE / 4 * u32::try_from(member).unwrap_or(0),
        }
    }

    async fn room(&self, runtime: &Handle, wanted: Wanted) -> OwnedSemaphorePermit {
        let megabytes = u32::try_from(wanted.megabytes).unwrap_or(ROOM).min(ROOM);
        if wanted.behind {
            return self.left_over(runtime, megabytes).await;
        }
        self.queue.fetch_add(1, Ordering::SeqCst);
        let _queuing = Queuing(&self.queue);
        let room = Arc::clone(&self.room).acquire_many_owned(megabytes).await;
        room.expect("it is never closed")
    }

    /// Room that nobody queues for.
    async fn left_over(&self, runtime: &Handle, megabytes: u32) -> OwnedSemaphorePermit {
        loop {
            let free = self.queue.load(Ordering::SeqCst) == 0;
            let room = free.then(|| Arc::clone(&self.room).try_acquire_many_owned(megabytes));
            if let Some(Ok(room)) = room {
                return room;
            }
            let pause = {
                let _entered = runtime.enter();
                sleep(self.wait)
            };
            pause.await;
        }
    }

    fn place(&self) -> BoxFuture<'static, OwnedSemaphorePermit> {
        let places = Arc::clone(&self.places);
        async move { places.acquire_owned().await.expect("it is never closed") }.boxed()
    }

    /// Sees `main` through, which moves only while it has a place, and is dropped if nothing
    /// reaches it for long while others queue for room: `None`. The timers are `runtime`'s. What
    /// comes out has the room that was taken with it.
    pub async fn take<T>(
        &self,
        runtime: &Handle,
        wanted: Wanted,
        main: impl Future<Output = T>,
    ) -> Option<(T, OwnedSemaphorePermit)> {
        let room = self.room(runtime, wanted).await;
        let value = self.move_on(runtime, main).await?;
        Some((value, room))
    }

    async fn move_on<T>(&self, runtime: &Handle, main: impl Future<Output = T>) -> Option<T> {
        let (mut timer, mut idle) = {
            let _entered = runtime.enter();
            (Box::pin(sleep(self.wait)), Box::pin(sleep(self.idle)))
        };
        let (mut main, mut place, mut coming) = (pin!(main), None, self.place());
        poll_fn(|context| {
            if idle.as_mut().poll(context).is_ready() {
                if self.queue.load(Ordering::SeqCst) > 0 {
                    return Poll::Ready(None);
                }
                idle.as_mut().reset(Instant::now() + self.idle);
                let _ = idle.as_mut().poll(context);
            }
            if place.is_none() {
                let Poll::Ready(taken) = coming.poll_unpin(context) else { return Poll::Pending };
                place = Some(taken);
                timer.as_mut().reset(Instant::now() + self.wait);
            }
            let waited = timer.as_mut().poll(context).is_ready();
            if let Poll::Ready(value) = main.as_mut().poll(context) {
                return Poll::Ready(Some(value));
            }
            if waited {
                // Whatever wakes this task from now on is what `main` waits for.
                (place, coming) = (None, self.place());
            } else {
                timer.as_mut().reset(Instant::now() + self.wait);
                let _ = timer.as_mut().poll(context);
                idle.as_mut().reset(Instant::now() + self.idle);
                let _ = idle.as_mut().poll(context);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::{Barrier, watch};

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    /// Room for so much, in the order of the queue.
    fn of(megabytes: u64) -> Wanted {
        Wanted { megabytes, behind: false }
    }

    /// What came out, if something did; its room is free again.
    fn value<T>((value, _room): (T, OwnedSemaphorePermit)) -> T {
        value
    }

    fn two_places() -> Turns {
        Turns { wait: SHORT, ..Turns::new(2, 0) }
    }

    /// Attack: somebody closes many questions at once, in another order at each member.
    #[tokio::test]
    async fn computations_that_wait_for_each_other_at_different_members_all_end() {
        let members = [two_places(), two_places()];
        let runtime = Handle::current();
        let met: Vec<Barrier> = (0..6).map(|_| Barrier::new(2)).collect();
        let at = |member: usize, number: usize| {
            let (turns, met, runtime) = (&members[member], &met[number], &runtime);
            async move {
                // The second member begins with the last ones.
                let order = if member == 0 { number } else { 5 - number };
                sleep(Duration::from_millis(order as u64)).await;
                turns.take(runtime, of(1), met.wait()).await;
            }
        };
        let all = (0..2).flat_map(|member| (0..6).map(move |number| (member, number)));
        let all = futures::future::join_all(all.map(|(member, number)| at(member, number)));
        tokio::time::timeout(60 * Duration::from_secs(1), all).await.expect("none waits for ever");
        assert_eq!(members.map(|turns| turns.places.available_permits()), [2, 2]);
    }

    #[tokio::test]
    async fn no_more_compute_than_there_are_places() {
        let (turns, runtime) = (two_places(), Handle::current());
        let running = std::cell::Cell::new((0, 0));
        let one = || async {
            let (now, most) = running.get();
            running.set((now + 1, most.max(now + 1)));
            sleep(SHORT / 10).await;
            let (now, most) = running.get();
            running.set((now - 1, most));
        };
        futures::future::join_all((0..9).map(|_| turns.take(&runtime, of(1), one()))).await;
        assert_eq!(running.get(), (0, 2));
    }

    /// Attack: a silent member makes the others keep attempts, each with its memory.
    #[tokio::test(start_paused = true)]
    async fn attempts_that_nothing_reaches_make_room_for_those_that_queue() {
        let (turns, runtime) = (Turns::new(2, 0), Handle::current());
        let begun = Instant::now();
        let silent = || {
            turns.take(&runtime, of(1500), std::future::pending::<()>()).map(|out| out.map(value))
        };
        let honest = turns.take(&runtime, of(1500), async { begun.elapsed() });
        let alone = tokio::time::timeout(10 * IDLE, silent()).await;
        assert!(alone.is_err(), "nobody queues, and the member may come back");
        let (one, other, ended) = futures::join!(silent(), silent(), async {
            let waited = value(honest.await.expect("not idle"));
            (waited, turns.queue.load(Ordering::SeqCst))
        });
        assert_eq!((one, ended.1), (None, 0));
        assert!(ended.0 >= 10 * IDLE + IDLE, "of 2000 megabytes two took 1500 each");
        assert_eq!(other, None);
        assert_eq!(turns.room.available_permits(), ROOM as usize);
    }

    /// Attack: a member never signs what came out, so that the others keep what they have sent.
    #[tokio::test(start_paused = true)]
    async fn what_was_sent_takes_room_until_it_is_forgotten() {
        let (turns, runtime) = (Turns::new(2, 0), Handle::current());
        let mut kept = Vec::new();
        for _ in 0..20 {
            let (_, mut room) =
                turns.take(&runtime, of(1000), async {}).await.expect("there is room");
            kept.push(room.split(100).expect("no more than it has had"));
            drop(room);
            if turns.room.available_permits() < 1000 {
                break;
            }
        }
        assert_eq!(kept.len(), 11, "1100 of 2000 megabytes");
        let next = turns.take(&runtime, of(1000), async {});
        let waits = tokio::time::timeout(10 * IDLE, next).await;
        assert!(waits.is_err(), "no more is taken than there is");
        kept.pop();
        assert!(turns.take(&runtime, of(1000), async {}).await.is_some());
    }

    /// After a restart: what is computed again for others' sake does not keep anybody waiting.
    #[tokio::test(start_paused = true)]
    async fn who_has_a_result_takes_the_room_that_nobody_queues_for() {
        let (turns, runtime) = (Turns::new(2, 0), Handle::current());
        let order = std::cell::RefCell::new(Vec::new());
        let one = |name, wanted| {
            let (turns, runtime, order) = (&turns, &runtime, &order);
            async move {
                let computing = async {
                    sleep(WAIT / 2).await;
                    order.borrow_mut().push(name);
                };
                value(turns.take(runtime, wanted, computing).await.expect("it moves"));
            }
        };
        let again = Wanted { megabytes: 2000, behind: true };
        futures::join!(
            one("first", of(2000)),
            one("again", again),
            one("second", of(2000)),
            one("third", of(2000))
        );
        assert_eq!(*order.borrow(), ["first", "second", "third", "again"]);
    }

    /// Waits until both are there at the same time.
    async fn meet(there: &watch::Sender<usize>) {
        /// Who is dropped is there no more.
        struct Here<'a>(&'a watch::Sender<usize>);
        impl Drop for Here<'_> {
            fn drop(&mut self) {
                self.0.send_modify(|there| *there -= 1);
            }
        }
        const MET: usize = 100;
        there.send_modify(|there| *there += if *there == 1 { MET } else { 1 });
        let _here = Here(there);
        there.subscribe().wait_for(|there| *there > MET - 2).await.expect("it is not closed");
    }

    /// Attack: members that have taken up two computations in different orders wait for each other.
    #[tokio::test(start_paused = true)]
    async fn members_that_hold_what_the_other_queues_for_come_to_an_end() {
        let members = [Turns::new(2, 0), Turns::new(2, 1)];
        let (runtime, met) = (Handle::current(), [0, 0].map(watch::Sender::new));
        let at = |member: usize, number: usize| {
            let (turns, there, runtime) = (&members[member], &met[number], &runtime);
            async move {
                if member != number {
                    sleep(Duration::from_millis(1)).await;
                }
                let mut drops = 0;
                while turns.take(runtime, of(1500), meet(there)).await.is_none() {
                    drops += 1;
                }
                drops
            }
        };
        let all = futures::future::join_all([at(0, 0), at(1, 0), at(0, 1), at(1, 1)]);
        let drops: u32 = tokio::time::timeout(100 * IDLE, all).await.unwrap().iter().sum();
        assert_eq!(drops, 1, "one member drops one of them");
    }
}

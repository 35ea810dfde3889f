//! How many attempts compute at a time (C9).
//!
//! Members take computations up in orders of their own. If each kept its places for attempts that
//! wait for other members, more attempts than there are places could wait for each other for ever.
//! So whoever has waited for a while gives its place to the next, and takes one again when it can
//! go on.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

/// How long an attempt keeps its place while it waits.
const WAIT: Duration = Duration::from_secs(5);

/// The places of a member.
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    /// How long an attempt keeps its place while it waits.
    wait: Duration,
}

impl Turns {
    pub fn new(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places.max(1))), wait: WAIT }
    }

    fn place(&self) -> BoxFuture<'static, OwnedSemaphorePermit> {
        let places = Arc::clone(&self.places);
        async move { places.acquire_owned().await.expect("it is never closed") }.boxed()
    }

    /// Sees `main` through, which moves only while it has a place. The timer is `runtime`'s.
    pub async fn take<T>(&self, runtime: &Handle, main: impl Future<Output = T>) -> T {
        let mut timer = {
            let _entered = runtime.enter();
            Box::pin(sleep(self.wait))
        };
        let (mut main, mut place, mut coming) = (pin!(main), None, self.place());
        poll_fn(|context| {
            if place.is_none() {
                let Poll::Ready(taken) = coming.poll_unpin(context) else { return Poll::Pending };
                place = Some(taken);
                timer.as_mut().reset(Instant::now() + self.wait);
            }
            let waited = timer.as_mut().poll(context).is_ready();
            if let Poll::Ready(value) = main.as_mut().poll(context) {
                return Poll::Ready(value);
            }
            if waited {
                // Whatever wakes this task from now on is what `main` waits for.
                (place, coming) = (None, self.place());
            } else {
                timer.as_mut().reset(Instant::now() + self.wait);
                let _ = timer.as_mut().poll(context);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Barrier;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    fn two_places() -> Turns {
        Turns { wait: SHORT, ..Turns::new(2) }
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
                turns.take(runtime, met.wait()).await;
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
        futures::future::join_all((0..9).map(|_| turns.take(&runtime, one()))).await;
        assert_eq!(running.get(), (0, 2));
    }
}

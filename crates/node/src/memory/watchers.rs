//! Who waits for news of a room. Many thousands may, so that a room's news wakes only those who
//! wait for that room.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use ostrakon_broadcast::room::RoomId;
use tokio::sync::watch;

/// Those who wait, by room.
#[derive(Default)]
pub(crate) struct Watchers(Mutex<BTreeMap<RoomId, watch::Sender<()>>>);

impl Watchers {
    fn rooms(&self) -> MutexGuard<'_, BTreeMap<RoomId, watch::Sender<()>>> {
        self.0.lock().expect("no panic while held")
    }

    /// Waits until `holds`, which is asked at first and whenever the room has news.
    pub async fn wait(&self, room: &RoomId, mut holds: impl FnMut() -> bool) {
        // Before it is asked for the first time: what comes in between is not missed.
        let mut news =
            self.rooms().entry(*room).or_insert_with(|| watch::Sender::new(())).subscribe();
        while !holds() {
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// Wakes those who wait for rooms that have news, and forgets rooms for which nobody waits any
    /// more.
    pub fn wake(&self, has_news: impl Fn(&RoomId) -> bool) {
        self.rooms().retain(|room, waiting| {
            if has_news(room) {
                waiting.send_replace(());
            }
            waiting.receiver_count() > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_rooms_news_wakes_those_who_wait_for_it_and_nobody_else() {
        let watchers = Watchers::default();
        let (asked, done) = ([const { AtomicU32::new(0) }; 2], AtomicU32::new(0));
        let wait = |n: u8| {
            let asked = &asked[usize::from(n)];
            let room = RoomId([n; 16]);
            let watchers = &watchers;
            let done = &done;
            async move {
                let holds = || {
                    asked.fetch_add(1, Ordering::Relaxed);
                    done.load(Ordering::Relaxed) > 0
                };
                watchers.wait(&room, holds).await;
            }
        };
        let mut waiting = [Box::pin(wait(0)), Box::pin(wait(1))];
        let mut poll = || waiting.each_mut().map(|one| one.now_or_never().is_some());
        let counts = || asked.each_ref().map(|count| count.load(Ordering::Relaxed));
        assert_eq!((poll(), counts()), ([false, false], [1, 1]));
        watchers.wake(|room| room.0[0] == 0);
        assert_eq!((poll(), counts()), ([false, false], [2, 1]));
        done.store(1, Ordering::Relaxed);
        assert_eq!((poll(), counts()), ([false, false], [2, 1]), "there was no news");
        watchers.wake(|room| room.0[0] == 1);
        assert_eq!((poll(), counts()), ([false, true], [2, 2]));
        drop(waiting);
        watchers.wake(|_| false);
        assert!(watchers.rooms().is_empty(), "nobody waits");
    }
}

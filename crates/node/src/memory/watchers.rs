//! Who waits for news of something, such as a room. Many thousands may, so its news wakes only
//! those who wait for it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

/// Those who wait, by what for.
pub(crate) struct Watchers<K>(Mutex<BTreeMap<K, watch::Sender<()>>>);

impl<K> Default for Watchers<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Copy> Watchers<K> {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<K, watch::Sender<()>>> {
        self.0.lock().expect("no panic while held")
    }

    /// Waits until `holds`, which is asked at first and whenever there is news of this.
    pub async fn wait(&self, of: &K, mut holds: impl FnMut() -> bool) {
        // Before it is asked for the first time: what comes in between is not missed.
        let mut news =
            self.waiting().entry(*of).or_insert_with(|| watch::Sender::new(())).subscribe();
        while !holds() {
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// Wakes those who wait for what there is news of, and forgets what nobody waits for any more.
    pub fn wake(&self, has_news: impl Fn(&K) -> bool) {
        self.waiting().retain(|of, waiting| {
            if has_news(of) {
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
    use ostrakon_mixing::room::RoomId;

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
        assert!(watchers.waiting().is_empty(), "nobody waits");
    }
}

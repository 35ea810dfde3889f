//! How far this server is with the servers' logs of announcements.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_party::{ByParty, PartyId};
use tokio::sync::{Mutex, Semaphore, watch};

/// Announcements of one author to which an echo may be missing.
pub(crate) const WINDOW: usize = 16;
/// Who has not echoed what it could for so long, in milliseconds, counts as silent.
const SILENT_MS: u64 = 10_000;

/// How far the logs are.
pub(crate) struct Logs {
    /// Held while an announcement is judged and recorded: one at a time.
    pub turn: Mutex<()>,
    /// Announcements delivered, by author.
    pub delivered: watch::Sender<ByParty<u64>>,
    /// One for each further announcement that this server may send.
    pub window: Arc<Semaphore>,
    unechoed: std::sync::Mutex<Unechoed>,
}

/// The own announcements that others have not echoed.
struct Unechoed {
    /// By who has not.
    by: ByParty<BTreeSet<u64>>,
    /// The first of them all, and since when it has been.
    first: Option<(u64, u64)>,
}

impl Unechoed {
    /// Notes which is the first now.
    fn note(&mut self, now: u64) {
        let first = self.by.iter().filter_map(|(_, waiting)| waiting.first()).min().copied();
        if first != self.first.map(|(number, _)| number) {
            self.first = first.map(|number| (number, now));
        }
    }
}

impl Logs {
    pub(crate) fn new(delivered: ByParty<u64>) -> Self {
        let by = ByParty::new(delivered.iter().count(), |_| BTreeSet::new());
        Self {
            turn: Mutex::default(),
            delivered: watch::Sender::new(delivered),
            window: Arc::new(Semaphore::new(WINDOW)),
            unechoed: std::sync::Mutex::new(Unechoed { by, first: None }),
        }
    }

    fn unechoed(&self) -> std::sync::MutexGuard<'_, Unechoed> {
        self.unechoed.lock().expect("no panic while held")
    }

    /// Notes that an own announcement is to be echoed by a server from `now` on.
    pub(crate) fn sent(&self, to: PartyId, number: u64, now: u64) {
        let mut unechoed = self.unechoed();
        let waiting = &mut unechoed.by[to];
        if waiting.len() < WINDOW {
            waiting.insert(number);
            unechoed.note(now);
        }
    }

    /// Notes that a server has echoed one.
    pub(crate) fn echoed(&self, by: PartyId, number: u64, now: u64) {
        let mut unechoed = self.unechoed();
        unechoed.by[by].remove(&number);
        unechoed.note(now);
    }

    /// The servers that have not echoed for a while the first of what this one said that anybody
    /// has not echoed. A later one nobody can echo before that one is delivered there, which takes
    /// all echoes of it; and of others' words this server does not know who had them to echo.
    pub(crate) fn silent(&self, now: u64) -> Vec<PartyId> {
        let unechoed = self.unechoed();
        let late = unechoed.first.filter(|(_, since)| since + SILENT_MS <= now);
        let Some((first, _)) = late else { return Vec::new() };
        let lacks =
            |(party, waiting): (PartyId, &BTreeSet<u64>)| waiting.contains(&first).then_some(party);
        unechoed.by.iter().filter_map(lacks).collect()
    }

    /// Own announcements to which an echo is missing.
    pub(crate) fn on_their_way(&self) -> usize {
        WINDOW.saturating_sub(self.window.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: PartyId = PartyId(1);
    const TWO: PartyId = PartyId(2);

    /// Logs in which both others are to echo these, each from its time on.
    fn said(words: &[(u64, u64)]) -> Logs {
        let logs = Logs::new(ByParty::new(3, |_| 0));
        for (number, at) in words {
            logs.sent(ONE, *number, *at);
            logs.sent(TWO, *number, *at);
        }
        logs
    }

    #[test]
    fn who_does_not_echo_is_silent_after_a_while() {
        let logs = said(&[(7, 1_000), (8, 2_000)]);
        logs.echoed(ONE, 7, 2_500);
        assert_eq!(logs.silent(1_000 + SILENT_MS - 1), [], "that may come yet");
        assert_eq!(logs.silent(1_000 + SILENT_MS), [TWO]);
        // Neither could echo the next one before.
        let late = 1_000 + SILENT_MS;
        logs.echoed(TWO, 7, late);
        assert_eq!(logs.silent(late + SILENT_MS - 1), []);
        logs.echoed(ONE, 8, late);
        assert_eq!(logs.silent(late + SILENT_MS), [TWO]);
        logs.echoed(TWO, 8, late + SILENT_MS);
        assert_eq!(logs.silent(1_000_000), [], "nothing is missing");
        // Who never echoes takes no more memory than that.
        (9..9_000).for_each(|number| logs.sent(TWO, number, 3_000));
        assert_eq!(logs.unechoed().by[TWO].len(), WINDOW);
    }

    /// It echoes the next word only when it has delivered this one, for which it needs the other's
    /// echo as well.
    #[test]
    fn who_is_kept_from_echoing_by_another_is_not_silent() {
        let logs = said(&[(7, 1_000), (8, 1_000), (9, 1_000)]);
        logs.echoed(ONE, 7, 1_100);
        assert_eq!(logs.silent(1_000_000), [TWO]);
        // The echoes of each word are awaited by a task of its own: words are noted in any order.
        let logs = said(&[(8, 1_000), (7, 1_001)]);
        logs.echoed(ONE, 7, 1_100);
        assert_eq!(logs.silent(1_000_000), [TWO]);
    }
}

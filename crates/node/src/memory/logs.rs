//! How far this server is with the servers' logs of announcements.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_party::{ByParty, PartyId};
use tokio::sync::{Mutex, Semaphore, watch};

/// Announcements of one author to which an echo may be missing.
pub(crate) const WINDOW: usize = 16;
/// Who has not echoed something for so long, in milliseconds, counts as silent.
const SILENT_MS: u64 = 10_000;

/// How far the logs are.
pub(crate) struct Logs {
    /// Held while an announcement is judged and recorded: one at a time.
    pub turn: Mutex<()>,
    /// Announcements delivered, by author.
    pub delivered: watch::Sender<ByParty<u64>>,
    /// One for each further announcement that this server may send.
    pub window: Arc<Semaphore>,
    /// By server, own announcements that it has not echoed, and since when.
    unechoed: std::sync::Mutex<ByParty<BTreeMap<u64, u64>>>,
}

impl Logs {
    pub(crate) fn new(delivered: ByParty<u64>) -> Self {
        let unechoed = ByParty::new(delivered.iter().count(), |_| BTreeMap::new());
        Self {
            turn: Mutex::default(),
            delivered: watch::Sender::new(delivered),
            window: Arc::new(Semaphore::new(WINDOW)),
            unechoed: std::sync::Mutex::new(unechoed),
        }
    }

    fn unechoed(&self) -> std::sync::MutexGuard<'_, ByParty<BTreeMap<u64, u64>>> {
        self.unechoed.lock().expect("no panic while held")
    }

    /// Notes that an own announcement is to be echoed by a server from `now` on.
    pub(crate) fn sent(&self, to: PartyId, number: u64, now: u64) {
        let waiting = &mut self.unechoed()[to];
        if waiting.len() < WINDOW {
            waiting.insert(number, now);
        }
    }

    /// Notes that a server has echoed one.
    pub(crate) fn echoed(&self, by: PartyId, number: u64) {
        self.unechoed()[by].remove(&number);
    }

    /// The servers that have not echoed for a while what this one said. Of others' words it does
    /// not know whether they had them to echo; of its own it does.
    pub(crate) fn silent(&self, now: u64) -> Vec<PartyId> {
        let is_late = |since: &u64| since + SILENT_MS <= now;
        let unechoed = self.unechoed();
        let silent = unechoed.iter().filter(|(_, waiting)| waiting.values().any(is_late));
        silent.map(|(party, _)| party).collect()
    }

    /// Own announcements to which an echo is missing.
    pub(crate) fn on_their_way(&self) -> usize {
        WINDOW.saturating_sub(self.window.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_echo_is_silent_after_a_while() {
        let logs = Logs::new(ByParty::new(3, |_| 0));
        let [one, two] = [PartyId(1), PartyId(2)];
        for (number, at) in [(7, 1_000), (8, 2_000)] {
            logs.sent(one, number, at);
            logs.sent(two, number, at);
            logs.echoed(one, number);
        }
        assert_eq!(logs.silent(1_000 + SILENT_MS - 1), [], "that may come yet");
        assert_eq!(logs.silent(1_000 + SILENT_MS), [two]);
        logs.echoed(two, 7);
        assert_eq!(logs.silent(1_000 + SILENT_MS), []);
        assert_eq!(logs.silent(2_000 + SILENT_MS), [two]);
        // Who never echoes takes no more memory than that.
        (9..9_000).for_each(|number| logs.sent(two, number, 3_000));
        assert_eq!(logs.unechoed()[two].len(), WINDOW);
    }
}

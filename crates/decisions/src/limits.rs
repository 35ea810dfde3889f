//! What a server keeps of decisions in memory: how much is done at a time, and what it has found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use ostrakon_decide::DecisionId;
use ostrakon_party::PartyId;
use tokio::sync::Semaphore;

/// Steps that are verified at a time; each takes a core for up to a second.
const VERIFYING: usize = 2;
/// Records that may wait for that, or be on their way.
const AT_ONCE: usize = 64;
/// Records that are being announced at a time. Fewer than an author's window of announcements, so
/// that decisions do not keep the scheduler from opening and closing epochs.
const ANNOUNCING: usize = 4;
/// Closed decisions that are examined at a time; each takes a core for some seconds and up to some
/// ten megabytes.
const EXAMINING: usize = 1;
/// Within this time it is counted what addresses do, in milliseconds.
const HOUR_MS: u64 = 3600 * 1000;

/// When this server last held something for whom, in seconds since 1970. It is lost with the
/// process: then it waits for nobody.
pub(crate) type Latest = BTreeMap<DecisionId, BTreeMap<u16, u64>>;

/// What a server keeps in memory.
pub(crate) struct Limits {
    /// One for each step that may be verified now.
    pub verifying: Semaphore,
    /// One for each record that may wait for that.
    pub appending: Semaphore,
    /// One for each record that may be announced now.
    pub announcing: Semaphore,
    /// Shares that this server holds.
    pub shares: AtomicU64,
    /// One for each closed decision that may be examined now.
    pub examining: Semaphore,
    /// For whom this server held something of late.
    pub latest: Mutex<Latest>,
    /// What other servers hold, by decision and announcement, and this one has found wrong.
    pub wrong: Mutex<BTreeSet<(DecisionId, PartyId, u64)>>,
    /// Layers that were drawn and shares that were deposited of late, by address.
    pub layers_by_address: Mutex<Hourly>,
    pub shares_by_address: Mutex<Hourly>,
    /// Decisions that are over, for which this process has erased everything.
    pub erased: Mutex<BTreeSet<DecisionId>>,
    /// Why this server does not open a decision that is closed.
    pub refusals: Mutex<BTreeMap<DecisionId, String>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            verifying: Semaphore::new(VERIFYING),
            appending: Semaphore::new(AT_ONCE),
            announcing: Semaphore::new(ANNOUNCING),
            shares: AtomicU64::default(),
            examining: Semaphore::new(EXAMINING),
            latest: Mutex::default(),
            wrong: Mutex::default(),
            layers_by_address: Mutex::default(),
            shares_by_address: Mutex::default(),
            erased: Mutex::default(),
            refusals: Mutex::default(),
        }
    }
}

/// How often each address has done something within the hour.
#[derive(Default)]
pub(crate) struct Hourly {
    hour: u64,
    counts: BTreeMap<u64, u32>,
}

impl Hourly {
    /// Counts once more, unless the address has done it `most` times in this hour. `origin` is
    /// `None` where limits by address do not hold; `now` in milliseconds since 1970.
    pub fn note(&mut self, origin: Option<u64>, now: u64, most: u32) -> bool {
        let Some(origin) = origin else { return true };
        if self.hour != now / HOUR_MS {
            *self = Self { hour: now / HOUR_MS, counts: BTreeMap::new() };
        }
        let count = self.counts.entry(origin).or_default();
        let may = *count < most;
        *count += u32::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_count_by_the_hour() {
        let mut hourly = Hourly::default();
        let mut note = |origin, now| hourly.note(origin, now, 2);
        assert_eq!([note(Some(1), 0), note(Some(1), 1), note(Some(1), 2)], [true, true, false]);
        assert!(note(Some(2), 3), "another address");
        assert!((4..9).all(|now| note(None, now)), "no address, no limit by address");
        assert!(note(Some(1), HOUR_MS), "another hour");
    }
}

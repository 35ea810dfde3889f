//! Counters by client and by room: how many at a time, and how many a second. Every table is
//! bounded.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::client::Client;

/// So many of anything a client may have at a time for as long as there is room at all.
const FEW: u32 = 16;
/// What was not used can be made up for so long.
const BURST: Duration = Duration::from_secs(10);
/// Entries of a table of rates; what finds no place shares one.
const ENTRIES: usize = 1 << 16;
/// How often a full table is searched for entries that have no meaning any more.
const SEARCH: Duration = Duration::from_secs(1);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts are right after every single step, so a panic elsewhere leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many there are at a time, in all and by client.
pub(crate) struct Tally {
    most: u32,
    most_each: u32,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    all: u32,
    each: HashMap<Client, u32>,
}

/// One of those who are counted, until it is dropped.
pub(crate) struct Counted {
    tally: Arc<Tally>,
    client: Client,
}

impl Tally {
    /// Admits `most` at a time, and of one client `most_each`.
    pub fn new(most: u32, most_each: u32) -> Arc<Self> {
        Arc::new(Self { most, most_each, counts: Mutex::default() })
    }

    /// Counts one more, unless there are too many. The fewer places are left, the fewer one client
    /// may have, so that a few clients cannot take all.
    pub fn enter(self: &Arc<Self>, client: Client) -> Option<Counted> {
        let mut counts = lock(&self.counts);
        let free = self.most.saturating_sub(counts.all);
        let each = match client {
            Client::Local => 0,
            Client::Network(_) => counts.each.get(&client).copied().unwrap_or(0),
        };
        if free == 0 || each >= self.most_each.min(free.max(FEW)) {
            return None;
        }
        counts.all += 1;
        if client != Client::Local {
            *counts.each.entry(client).or_default() += 1;
        }
        Some(Counted { tally: self.clone(), client })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = lock(&self.tally.counts);
        counts.all -= 1;
        if let Entry::Occupied(mut each) = counts.each.entry(self.client) {
            *each.get_mut() -= 1;
            if *each.get() == 0 {
                each.remove();
            }
        }
    }
}

/// How many there are a second, by key. Of each only one moment is kept: when what was taken so far
/// will have been earned.
pub(crate) struct Rates<K>(Mutex<Moments<K>>);

struct Moments<K> {
    earned: HashMap<K, Instant>,
    /// Of all who find no place in the table.
    others: Option<Instant>,
    searched: Option<Instant>,
}

impl<K: Hash + Eq> Rates<K> {
    pub fn new() -> Self {
        Self(Mutex::new(Moments { earned: HashMap::new(), others: None, searched: None }))
    }

    /// Whether none may be had by `key` just now.
    pub fn exhausted(&self, key: &K, now: Instant) -> bool {
        let moments = lock(&self.0);
        let earned = moments.earned.get(key).copied();
        let full = moments.earned.len() >= ENTRIES;
        let earned = earned.or(moments.others.filter(|_| full));
        earned.is_some_and(|earned| earned.max(now) - now > BURST)
    }

    /// Whether one more may be had by `key`, at so many a second.
    pub fn take(&self, key: K, per_second: f64, now: Instant) -> bool {
        let mut moments = lock(&self.0);
        let moments = &mut *moments;
        let due_for_search = moments.searched.is_none_or(|searched| searched + SEARCH <= now);
        if moments.earned.len() >= ENTRIES && due_for_search {
            moments.searched = Some(now);
            moments.earned.retain(|_, earned| *earned > now);
        }
        let full = moments.earned.len() >= ENTRIES;
        let earned = match moments.earned.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if full => moments.others.get_or_insert(now),
            Entry::Vacant(entry) => entry.insert(now),
        };
        let begins = (*earned).max(now);
        let admitted = begins - now <= BURST;
        if admitted {
            *earned = begins + Duration::from_secs_f64(per_second.recip());
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_cannot_take_all_places() {
        let tally = Tally::new(100, 60);
        let enter = |client: u64| tally.enter(Client::Network(client));
        let mut held: Vec<_> = std::iter::from_fn(|| enter(1)).collect();
        assert_eq!(held.len(), 50, "as many as it leaves");
        held.extend(std::iter::from_fn(|| enter(2)));
        assert_eq!(held.len(), 75);
        held.extend(
            (3..28).map(|client| {
                enter(client).expect("others have some for as long as there are any")
            }),
        );
        assert!(enter(99).is_none() && tally.enter(Client::Local).is_none());
        held.clear();
        let counts = lock(&tally.counts);
        assert!(counts.all == 0 && counts.each.is_empty(), "nothing of those who left is kept");
    }

    #[test]
    fn a_rate_admits_bursts_and_recovers() {
        let rates = Rates::new();
        let begin = Instant::now();
        let count = |key: u8, at: Instant| (0..1000).filter(|_| rates.take(key, 5.0, at)).count();
        assert!(!rates.exhausted(&1, begin));
        assert_eq!(count(1, begin), 51, "ten seconds' worth at once");
        assert!(rates.exhausted(&1, begin) && !rates.exhausted(&2, begin));
        assert!(!rates.exhausted(&1, begin + Duration::from_secs(1)));
        assert_eq!(count(2, begin), 51, "another has its own");
        assert_eq!(count(1, begin + Duration::from_secs(2)), 10);
        assert_eq!(
            count(1, begin + Duration::from_secs(3600)),
            51,
            "no more than that is saved up"
        );
    }

    #[test]
    fn the_table_of_rates_is_bounded() {
        let rates = Rates::new();
        let begin = Instant::now();
        let admitted = (0..2 * ENTRIES).filter(|key| rates.take(*key, 5.0, begin)).count();
        assert_eq!(admitted, ENTRIES + 51, "strangers share one place");
        assert!(lock(&rates.0).earned.len() <= ENTRIES);
        assert!(
            rates.take(usize::MAX, 5.0, begin + 2 * SEARCH),
            "places of those who are long gone are given away"
        );
        assert_eq!(lock(&rates.0).earned.len(), 1);
    }
}

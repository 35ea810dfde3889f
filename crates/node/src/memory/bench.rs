//! What the requests about decisions share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use ostrakon_decide::DecisionId;
use ostrakon_party::PartyId;
use tokio::sync::Semaphore;

use super::creations::Hourly;

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

/// When this server last held something for whom, in seconds since 1970. It is lost with the
/// process: then it waits for nobody.
pub(crate) type Latest = BTreeMap<DecisionId, BTreeMap<u16, u64>>;

/// What the requests about decisions share at a running server.
pub(crate) struct Bench {
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

impl Default for Bench {
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

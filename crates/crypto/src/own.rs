//! The signatures and exchanges that this process has made, for tests in which one process plays
//! everybody.
//!
//! Such a test verifies what it has signed itself a moment before, once for every recipient, and
//! mostly does nothing else. Where this is switched on, a signature that was made here is known to
//! be valid, and everything else is verified as always; what two keys have in common is computed
//! once, not by each of a thousand clients that try the same made-up call on a row. The feature
//! `own-signatures` is for tests only: no program that is released contains this.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

/// So many are known at once; then all are forgotten, and verified again.
const MOST: usize = 1 << 16;

/// A public key, what was signed, and the signature.
pub(crate) type Made = ([u8; 32], [u8; 32], [u8; 64]);

static ON: AtomicBool = AtomicBool::new(false);
static MADE: LazyLock<Mutex<HashSet<Made>>> = LazyLock::new(Mutex::default);

/// The public halves of an exchange, the own one first.
type Halves = ([u8; 32], [u8; 32]);

static SHARED: LazyLock<Mutex<HashMap<Halves, [u8; 32]>>> = LazyLock::new(Mutex::default);

/// From now on this process knows its own signatures and exchanges.
pub fn remember() {
    ON.store(true, Ordering::Relaxed);
}

/// Notes a signature that was made here.
pub(crate) fn note(signature: Made) {
    if ON.load(Ordering::Relaxed) {
        let mut made = MADE.lock().expect("no panic while held");
        if made.len() == MOST {
            made.clear();
        }
        made.insert(signature);
    }
}

/// Whether a signature was made here, as far as is known.
pub(crate) fn is_known(signature: &Made) -> bool {
    ON.load(Ordering::Relaxed) && MADE.lock().expect("no panic while held").contains(signature)
}

/// What two halves have in common, of which `own` gives the own public one: `exchange` makes it,
/// unless it is known.
pub(crate) fn shared(
    own: impl FnOnce() -> [u8; 32],
    other: &[u8; 32],
    exchange: impl FnOnce() -> [u8; 32],
) -> [u8; 32] {
    if !ON.load(Ordering::Relaxed) {
        return exchange();
    }
    let halves = (own(), *other);
    if let Some(known) = SHARED.lock().expect("no panic while held").get(&halves) {
        return *known;
    }
    let made = exchange();
    let mut shared = SHARED.lock().expect("no panic while held");
    if shared.len() == MOST {
        shared.clear();
    }
    shared.insert(halves, made);
    made
}

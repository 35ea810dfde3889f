//! The signatures that this process has made, for tests in which one process plays everybody.
//!
//! Such a test verifies what it has signed itself a moment before, once for every recipient, and
//! mostly does nothing else. Where this is switched on, a signature that was made here is known to
//! be valid, and everything else is verified as always. The feature `own-signatures` is for tests
//! only: no program that is released contains this.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

/// So many are known at once; then all are forgotten, and verified again.
const MOST: usize = 1 << 16;

/// A public key, what was signed, and the signature.
pub(crate) type Made = ([u8; 32], [u8; 32], [u8; 64]);

static ON: AtomicBool = AtomicBool::new(false);
static MADE: LazyLock<Mutex<HashSet<Made>>> = LazyLock::new(Mutex::default);

/// From now on this process knows its own signatures.
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

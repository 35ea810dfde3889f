//! The operating system's randomness and clock.

use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_crypto::{Entropy, Generator};

/// The operating system's randomness, as a generator.
pub fn entropy() -> Entropy {
    Generator(fill)
}

/// Random bytes, fit for keys.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

/// Fills bytes, fit for keys.
pub fn fill(out: &mut [u8]) {
    #[expect(
        clippy::disallowed_methods,
        reason = "keys of participants and servers are drawn here"
    )]
    getrandom::fill(out).expect("the operating system gives random bytes");
}

/// Seconds since 1970.
pub fn unix_time() -> u64 {
    unix_millis() / 1_000
}

/// Milliseconds since 1970.
pub fn unix_millis() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a presence bears the participant's time")]
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

//! The edge to the operating system: randomness and the clock.

use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use rand_core::{TryCryptoRng, TryRng};

/// The operating system's randomness, as a generator.
pub struct Entropy;

impl TryRng for Entropy {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(random()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(random()))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        fill(out);
        Ok(())
    }
}

impl TryCryptoRng for Entropy {}

/// Random bytes, fit for keys.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

fn fill(out: &mut [u8]) {
    #[expect(clippy::disallowed_methods, reason = "keys of participants and servers are drawn here")]
    getrandom::fill(out).expect("the operating system gives random bytes");
}

/// Seconds since 1970.
pub fn unix_time() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a presence bears the participant's time")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

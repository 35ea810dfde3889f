//! What a step takes a server's processor.

use std::fs::File;
use std::io::{Read, Seek};
use std::time::{Duration, Instant};

/// Measures how long this thread computes.
pub struct Meter {
    /// For how long the thread has waited for others on its core, where the system tells.
    waits: Option<File>,
}

impl Meter {
    pub fn new() -> Meter {
        Meter { waits: File::open("/proc/thread-self/schedstat").ok() }
    }

    /// Nanoseconds for which the thread was ready and did not run, so far.
    fn waited(&mut self) -> Option<u64> {
        let mut bytes = [0; 96];
        let file = self.waits.as_mut()?;
        file.rewind().ok()?;
        let count = file.read(&mut bytes).ok()?;
        std::str::from_utf8(&bytes[..count]).ok()?.split(' ').nth(1)?.parse().ok()
    }

    /// Does something; how many nanoseconds of a core it takes.
    pub fn measure<T>(&mut self, work: impl FnOnce() -> T) -> (T, u64) {
        let waited = self.waited();
        let begun = now();
        let done = work();
        let took = nanoseconds(now() - begun);
        let others = self.waited().zip(waited).map_or(0, |(after, before)| after - before);
        (done, took.saturating_sub(others))
    }
}

#[expect(clippy::disallowed_methods, reason = "what a step takes is measured")]
fn now() -> Instant {
    Instant::now()
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait for other threads is none of the work.
    #[test]
    fn work_is_measured() {
        let (sum, took) = Meter::new().measure(|| (0..3_000_000u64).fold(0, |a, b| a ^ (b * b)));
        assert!(took > 1_000, "{sum} took {took} ns");
    }
}

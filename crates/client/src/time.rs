//! Time, as it is passed in.

/// Milliseconds since 1970.
pub type Millis = u64;

/// The device's clock, which may be set: time that only ever goes on, and how to name it outside.
#[derive(Debug, Default)]
pub struct Clock {
    last: Millis,
    /// What the device's clock was set back by.
    behind: Millis,
}

impl Clock {
    /// What time it is, when the device's clock says `now`.
    pub fn read(&mut self, now: Millis) -> Millis {
        self.behind = self.behind.max(self.last.saturating_sub(now));
        self.last = self.last.max(now.saturating_add(self.behind));
        self.last
    }

    /// What the device's clock says at that time.
    pub fn outside(&self, time: Millis) -> Millis {
        time.saturating_sub(self.behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_delays_nothing() {
        let mut clock = Clock::default();
        assert_eq!(clock.read(1_000_000), 1_000_000);
        assert_eq!(clock.read(1_000_500), 1_000_500);
        assert_eq!(clock.read(400_500), 1_000_500, "set back by ten minutes");
        assert_eq!(clock.read(401_000), 1_001_000, "a second is a second");
        assert_eq!(clock.outside(1_002_000), 402_000);
        assert_eq!(clock.read(2_000_000), 2_600_000, "set forward");
    }
}

//! How long a step may take, and whether the machine was quiet enough to hold it to that.

use std::fs;
use std::time::Duration;

use crate::shell;

/// Of the processor time that was used meanwhile, so many hundredths may be somebody else's on a
/// machine that counts as quiet.
const OTHERS_AT_MOST: u64 = 10;
/// The budgets are those of a machine with so many cores.
const CORES: usize = 2;

/// What a step may take.
#[derive(Clone, Copy)]
pub struct Budget {
    warm: u32,
    cold: u32,
}

impl Budget {
    /// Seconds, whether or not anything is compiled before.
    pub const fn of(seconds: u32) -> Self {
        Self { warm: seconds, cold: seconds }
    }

    /// Seconds on a tree in which dependencies are compiled, and from nothing.
    pub const fn cold(warm: u32, cold: u32) -> Self {
        Self { warm, cold }
    }

    /// What counts, in seconds.
    pub fn seconds(self, cold: bool) -> u32 {
        if cold { self.cold } else { self.warm }
    }

    /// Whether `taken` is more than twice the budget.
    pub fn is_far_exceeded(self, taken: Duration, cold: bool) -> bool {
        taken > 2 * Duration::from_secs(self.seconds(cold).into())
    }
}

/// What was seen of the machine at the beginning.
pub struct Machine {
    /// Whether nothing is compiled yet.
    pub cold: bool,
    start: Option<Usage>,
}

impl Machine {
    /// Looks at the machine and the tree.
    pub fn look() -> Self {
        // This program itself has been compiled. The first thing that is not for it is the service.
        let cold = !shell::root().join("target/debug/ostrakon").is_file();
        Self { cold, start: Usage::now() }
    }

    /// Whether hardly anybody else has used the processors since, as far as can be told.
    pub fn was_quiet(&self) -> bool {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (Some(start), Some(end)) = (self.start, Usage::now()) else { return false };
        CORES <= cores && quiet(start, end)
    }
}

/// Clock ticks since the machine and this process were started.
#[derive(Clone, Copy)]
struct Usage {
    /// In which any processor was at work, or was kept from it by another machine.
    busy: u64,
    /// Of this process and of all that it has waited for.
    own: u64,
}

impl Usage {
    fn now() -> Option<Self> {
        let machine = fs::read_to_string("/proc/stat").ok()?;
        let process = fs::read_to_string("/proc/self/stat").ok()?;
        Some(Self { busy: busy(&machine)?, own: own(&process)? })
    }
}

fn quiet(start: Usage, end: Usage) -> bool {
    let busy = end.busy.saturating_sub(start.busy);
    let others = busy.saturating_sub(end.own.saturating_sub(start.own));
    others * 100 <= busy * OTHERS_AT_MOST
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
fn busy(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> =
        line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let idle = times.get(3)? + times.get(4)?;
    Some(times.get(..8)?.iter().sum::<u64>() - idle)
}

/// utime, stime, cutime and cstime, the 14th to the 17th field (proc(5)). The second one, the name,
/// may contain spaces.
fn own(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let times: Option<Vec<u64>> =
        fields.split_whitespace().skip(11).take(4).map(|word| word.parse().ok()).collect();
    times.filter(|times| times.len() == 4).map(|times| times.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::{Budget, Duration, Usage, busy, own, quiet};

    #[test]
    fn processor_times_are_read_from_the_kernels_lines() {
        assert_eq!(busy("cpu  10 20 30 1000 500 1 2 3 0 0\ncpu0 1 1"), Some(66));
        assert_eq!(busy("cpu0 1 2 3"), None);
        assert_eq!(own("7 (a b) c) S 1 1 1 0 -1 4194304 9 9 9 9 100 20 3 4 20 0"), Some(127));
        assert_eq!(own("7 (x) S 1"), None);
    }

    #[test]
    fn a_machine_is_quiet_until_others_take_more_than_a_tenth() {
        let start = Usage { busy: 1_000, own: 10 };
        assert!(quiet(start, Usage { busy: 2_000, own: 910 }));
        assert!(!quiet(start, Usage { busy: 2_000, own: 900 }));
    }

    #[test]
    fn a_budget_is_far_exceeded_past_twice_its_seconds() {
        let budget = Budget::cold(10, 60);
        assert!(!budget.is_far_exceeded(Duration::from_secs(20), false));
        assert!(budget.is_far_exceeded(Duration::from_millis(20_001), false));
        assert!(!budget.is_far_exceeded(Duration::from_secs(100), true));
    }
}

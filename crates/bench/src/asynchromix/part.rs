//! A part of the protocol and of what it needs, measured.

use serde::Serialize;

use crate::measurement::median;

/// A part, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Which.
    pub part: &'static str,
    /// Servers.
    pub servers: usize,
    /// Pieces: values, triples, bits, powers or rows.
    pub count: usize,
    /// On the clock, with all cores; median over the runs.
    pub seconds: f64,
    /// Of all cores together, without the time in which other programs had them; the same run's.
    pub cpu_seconds: f64,
    /// Pieces in a second on the clock.
    pub per_second: f64,
    /// Pieces in a second of as many cores as this machine has, if it did nothing else; 0 where
    /// the system does not tell what threads compute.
    pub per_second_of_cores: f64,
    /// Unavoidable work on all cores.
    pub limit_seconds: f64,
    /// `seconds / limit_seconds`.
    pub ratio: f64,
}

impl Part {
    pub(super) fn new(
        part: &'static str,
        servers: usize,
        count: usize,
        mut timed: Vec<(f64, f64)>,
        limit_seconds: f64,
    ) -> Part {
        let seconds = median(timed.iter().map(|(seconds, _)| *seconds).collect());
        timed.retain(|(of, _)| *of == seconds);
        let cpu_seconds = timed.first().map_or(0.0, |(_, cpu)| *cpu);
        let cores = rayon::current_num_threads() as f64;
        let of_cores = if cpu_seconds > 0.0 { count as f64 * cores / cpu_seconds } else { 0.0 };
        Part {
            part,
            servers,
            count,
            seconds,
            cpu_seconds,
            per_second: count as f64 / seconds,
            per_second_of_cores: of_cores,
            limit_seconds,
            ratio: seconds / limit_seconds,
        }
    }
}

//! What a benchmark reports.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

/// One phase, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Which phase.
    pub phase: &'static str,
    /// Rows of the table.
    pub rows: u32,
    /// Bytes of a row.
    pub width: u32,
    /// From the moment at which all three servers may begin until the slowest has finished: median
    /// over the runs.
    pub seconds: f64,
    /// The sum of `limit_parts`.
    pub limit_seconds: f64,
    /// `seconds / limit_seconds`.
    pub ratio: f64,
    /// Processor time of all servers together, which depends less on what else the machine does: to
    /// a hundredth of a second for each, median over the runs.
    pub cpu_seconds: f64,
    /// Of `seconds`, those after all servers had sealed the list of an epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_seal_seconds: Option<f64>,
    /// The longest chain of messages each of which caused the next.
    pub rounds: u32,
    /// Bytes of message bodies that each party sent.
    pub bytes_sent: Vec<u64>,
    /// What the formulas allow all parties together ([`ostrakon_replicated::cost`]), constants
    /// included.
    pub formula_bytes: u64,
    /// The most memory that each party had resident in this phase, in any run; 0 where the system
    /// does not tell.
    pub peak_rss: Vec<u64>,
    /// Seconds that the unavoidable work takes on all cores, by kind ([`crate::limit`]).
    pub limit_parts: BTreeMap<&'static str, f64>,
    /// What others report of the same work, where there is such a figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// A figure of another implementation, for the same number of rows with the same payload. It is of
/// another machine and another run: it shows the order of magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Published {
    /// What was measured.
    pub what: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// How much memory a server needed, if that is known: bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rss: Option<u64>,
}

/// The middle of some values; of two middle ones the lower.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

/// The measurements as a table for people.
pub fn table(measurements: &[Measurement]) -> String {
    let mut text = format!(
        "{:<17} {:>9} {:>6} {:>9} {:>9} {:>6} {:>7} {:>12} {:>10}\n",
        "phase", "rows", "width", "seconds", "limit", "ratio", "rounds", "bytes sent", "peak MiB"
    );
    for m in measurements {
        let sent: u64 = m.bytes_sent.iter().sum();
        let peak = m.peak_rss.iter().max().copied().unwrap_or(0) >> 20;
        let row = format!(
            "{:<17} {:>9} {:>6} {:>9.4} {:>9.4} {:>6.2} {:>7} {:>12} {:>10}",
            m.phase, m.rows, m.width, m.seconds, m.limit_seconds, m.ratio, m.rounds, sent, peak
        );
        let processor = format!("  processor time of all servers: {:.2} s", m.cpu_seconds);
        let after = m
            .after_seal_seconds
            .map_or(String::new(), |seconds| format!("; from the sealed list on: {seconds:.4} s"));
        writeln!(text, "{row}\n{processor}{after}\n{}", parts_in_words(&m.limit_parts))
            .expect("text can be written to");
        if let Some(Published { what, seconds, peak_rss }) = m.published {
            let memory = peak_rss.map_or(String::new(), |peak| format!(", {} MiB", peak >> 20));
            let times = seconds / m.seconds;
            writeln!(text, "  {what}: {seconds} s{memory}; {times:.1} times as long")
                .expect("text can be written to");
        }
    }
    text
}

/// What a limit is made of, as a line for people.
pub(crate) fn parts_in_words(parts: &BTreeMap<&'static str, f64>) -> String {
    let parts = parts.iter().map(|(name, seconds)| format!("{name} {:.1}", seconds * 1e3));
    format!("  limit in ms: {}", parts.collect::<Vec<_>>().join(", "))
}

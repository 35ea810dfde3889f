//! What the benchmark of the intake reports.

use std::fmt::Write;

use serde::Serialize;

use super::machine::Most;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Participants, each with a key of its own.
    pub clients: u32,
    /// Connections to each server.
    pub connections: u32,
    /// In which database the servers keep their data.
    pub database: &'static str,
    /// Intake processes of each server, beside its engine; 0 for servers of one process.
    pub intakes: usize,
    /// Epochs in which all of them took part.
    pub epochs: usize,
    /// Seconds in which they were served: from the first request of an epoch until the last
    /// submission is accepted.
    pub seconds: f64,
    /// Participants served in a second: presence, three issues, three submissions each.
    pub clients_per_second: f64,
    /// Requests that all servers together answered in a second.
    pub requests_per_second: f64,
    /// Submissions that each server accepted in a second.
    pub submissions_per_second_and_server: f64,
    /// Requests that were answered "not yet".
    pub requests_repeated: usize,
    /// Messages that all three servers accepted.
    pub accepted: usize,
    /// Messages on the boards. The same, or the benchmark fails.
    pub published: usize,
    /// Latency of presence.
    pub presence: Percentiles,
    /// Latency of fetching an issue.
    pub issue: Percentiles,
    /// Latency of handing in a submission, which is on disk when it is answered.
    pub submission: Percentiles,
    /// Processor time of all three servers for one participant in microseconds, mixing of earlier
    /// epochs included.
    pub servers_cpu_us_per_client: f64,
    /// Processor time of PostgreSQL's sessions with the servers for one participant, in
    /// microseconds.
    pub database_cpu_us_per_client: f64,
    /// Processor time of the load generator for one participant, in microseconds.
    pub generator_cpu_us_per_client: f64,
    /// Memory of the servers.
    pub memory: Memory,
    /// Participants a second if there were nothing to do but their requests, each with its
    /// signature.
    pub limit_clients_per_second: f64,
    /// The limit over what was reached.
    pub ratio: f64,
    /// What the machine does a second when it does nothing else.
    pub limit_parts: Most,
}

/// Milliseconds within which so many of a hundred were answered.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    /// Half of them.
    pub p50_ms: f64,
    /// All but one of a hundred.
    pub p99_ms: f64,
    /// All.
    pub max_ms: f64,
}

impl Percentiles {
    /// Of latencies in microseconds.
    pub fn of(mut micros: Vec<u32>) -> Self {
        micros.sort_unstable();
        let at = |part: f64| {
            let index =
                ((micros.len() as f64 * part).ceil() as usize).clamp(1, micros.len().max(1)) - 1;
            micros.get(index).map_or(0.0, |micros| f64::from(*micros) / 1e3)
        };
        Self { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1.0) }
    }
}

/// Bytes that servers have resident, by party.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    /// When the first epoch had been collected.
    pub after_first_epoch: [u64; 3],
    /// At most.
    pub peak: [u64; 3],
    /// When all boards had been read.
    pub end: [u64; 3],
}

/// The measurement for people.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        writeln!(text, "{name:<34} {value}").expect("text can be written to");
    };
    let latency = |of: &Percentiles| {
        format!("p50 {:.1} ms, p99 {:.1} ms, longest {:.0} ms", of.p50_ms, of.p99_ms, of.max_ms)
    };
    let mebibytes = |of: &[u64; 3]| of.map(|bytes| (bytes >> 20).to_string()).join(", ") + " MiB";
    line(
        "participants",
        format!("{} over {} connections to each server", report.clients, report.connections),
    );
    let processes = match report.intakes {
        0 => "one process each".to_owned(),
        intakes => format!("an engine and {intakes} intake processes each"),
    };
    line("servers", format!("{}, {processes}", report.database));
    line("epochs", format!("{} in {:.1} s", report.epochs, report.seconds));
    line("participants a second", format!("{:.0}", report.clients_per_second));
    line(
        "requests a second",
        format!("{:.0} ({} repeated)", report.requests_per_second, report.requests_repeated),
    );
    line(
        "submissions a second, each server",
        format!("{:.0}", report.submissions_per_second_and_server),
    );
    line("presence", latency(&report.presence));
    line("issue", latency(&report.issue));
    line("submission", latency(&report.submission));
    let (servers, generator) =
        (report.servers_cpu_us_per_client, report.generator_cpu_us_per_client);
    let database = match report.database_cpu_us_per_client {
        0.0 => String::new(),
        database => format!("PostgreSQL {database:.0} µs, "),
    };
    line(
        "processor time for one participant",
        format!("servers {servers:.0} µs, {database}load generator {generator:.0} µs"),
    );
    line("memory after the first epoch", mebibytes(&report.memory.after_first_epoch));
    line("memory at most", mebibytes(&report.memory.peak));
    line("memory at the end", mebibytes(&report.memory.end));
    line("messages accepted, published", format!("{}, {}", report.accepted, report.published));
    let Most { verifications, commits, requests } = report.limit_parts;
    line(
        "limit: participants a second",
        format!("{:.0} (ratio {:.1})", report.limit_clients_per_second, report.ratio),
    );
    line(
        "this machine, a second",
        format!(
            "{verifications:.0} signatures checked, {requests:.0} empty requests, {commits:.0} commits"
        ),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_values() {
        let of = Percentiles::of((1..=200).rev().map(|n| n * 1000).collect());
        assert_eq!((of.p50_ms, of.p99_ms, of.max_ms), (100.0, 198.0, 200.0));
        let none = Percentiles::of(Vec::new());
        assert_eq!((none.p50_ms, none.max_ms), (0.0, 0.0));
    }
}

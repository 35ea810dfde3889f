//! Metrics as Prometheus text.
//!
//! Coarse on purpose, for anybody may read them as often as they like: levels, and counts per epoch
//! and batch. No counter moves with a single participant or submission; bytes are counted in whole
//! mebibytes, queues in tenths.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_net::Reach;

use crate::core::Core;
use crate::memory::history::{BUCKETS, Histogram};
use crate::operator::{self, Process};
use crate::ports::Drivers;
use crate::state::{BatchInfo, overdue};

/// What bytes are counted in.
const GRAIN: u64 = 1 << 20;

/// Writes metrics one after another.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing into a string does not fail.
        let _ = writeln!(self.0, "# HELP ostrakon_{name} {help}\n# TYPE ostrakon_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.0, "ostrakon_{name}{labels} {value}");
    }

    /// A family of one sample.
    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }
}

/// The metrics of any process.
fn common(ready: bool, certificate_expires: Option<u64>) -> Text {
    let mut text = Text::default();
    text.family("build_info", "gauge", "1; the label says which release runs.");
    text.sample("build_info", &format!("{{version=\"{}\"}}", operator::VERSION), 1);
    text.gauge("ready", "1 if the server can do its work.", u8::from(ready));
    if let Some(at) = certificate_expires {
        text.gauge(
            "certificate_expires",
            "When the HTTPS certificate expires, in seconds since 1970.",
            at,
        );
    }
    text
}

/// The metrics of an intake process.
pub(crate) fn render_intake(ready: bool, certificate_expires: Option<u64>) -> String {
    common(ready, certificate_expires).0
}

/// The metrics of a server, as far as it has come.
pub(crate) fn render(process: &Process<'_>) -> String {
    let mut text = common(process.ready, process.certificate_expires);
    if let Some((free, total)) = operator::disk_space(&process.config.data) {
        text.gauge(
            "disk_free_bytes",
            "Bytes left on the disk, in whole mebibytes.",
            free / GRAIN * GRAIN,
        );
        text.gauge("disk_bytes", "Bytes of the disk.", total);
    }
    peers(process, &mut text);
    if let Some(core) = process.core {
        rooms(core, &mut text);
        epochs(core, &mut text);
        queues(core, &mut text);
    }
    for gauge in process.drivers.map(Drivers::gauges).unwrap_or_default() {
        text.gauge(gauge.name, gauge.help, gauge.value);
    }
    text.0
}

fn rooms(core: &Core, text: &mut Text) {
    let now = core.platform.now_ms();
    let (open, overdue, boards, usable, preparing) = {
        let world = core.world();
        let count = |wanted: fn(&BatchInfo) -> bool| {
            world.batches.values().filter(|batch| wanted(batch)).count()
        };
        let boards: u64 = world.rooms.values().map(|room| room.board_length).sum();
        let (usable, supply) = (count(BatchInfo::is_usable), count(BatchInfo::is_supply));
        let rooms = || world.rooms.values();
        let overdue =
            rooms().filter(|room| overdue::overdue(room, core.me(), &[], now).is_some()).count();
        (rooms().filter(|room| room.open).count(), overdue, boards, usable, supply - usable)
    };
    text.gauge("rooms_open", "Rooms that take submissions.", open);
    text.gauge(
        "rooms_overdue",
        "Rooms whose epoch could have been closed or opened for a while and waits for a server's word, or for earlier epochs.",
        overdue,
    );
    text.gauge("board_entries", "Entries on all boards.", boards);
    text.family("stock_batches", "gauge", "Batches by state.");
    text.sample("stock_batches", "{state=\"ready\"}", usable);
    text.sample("stock_batches", "{state=\"preparing\"}", preparing);
}

fn epochs(core: &Core, text: &mut Text) {
    let counters = &core.counters;
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    text.family("epochs_total", "counter", "Epochs since the start, by outcome.");
    text.sample("epochs_total", "{outcome=\"published\"}", read(&counters.published));
    text.sample("epochs_total", "{outcome=\"too-few\"}", read(&counters.too_few));
    text.sample("epochs_total", "{outcome=\"stopped\"}", read(&counters.stopped));
    text.family("batches_prepared_total", "counter", "Batches prepared since the start.");
    text.sample("batches_prepared_total", "", read(&counters.prepared));
    text.family(
        "batches_withdrawn_total",
        "counter",
        "Batches that a server dropped since the start after it had said that it holds them.",
    );
    for (party, withdrawn) in counters.withdrawn.iter() {
        text.sample("batches_withdrawn_total", &format!("{{party=\"{party}\"}}"), read(withdrawn));
    }
    let phases = core.history().phases;
    text.family("epoch_phase_seconds", "histogram", "How long the phases of epochs took.");
    for (phase, histogram) in ["collect", "mix", "sign"].into_iter().zip(&phases) {
        buckets(text, phase, histogram);
    }
}

fn buckets(text: &mut Text, phase: &str, histogram: &Histogram) {
    for (bound, below) in BUCKETS.iter().zip(histogram.below) {
        text.sample(
            "epoch_phase_seconds_bucket",
            &format!("{{phase=\"{phase}\",le=\"{bound}\"}}"),
            below,
        );
    }
    text.sample(
        "epoch_phase_seconds_bucket",
        &format!("{{phase=\"{phase}\",le=\"+Inf\"}}"),
        histogram.count,
    );
    let labels = format!("{{phase=\"{phase}\"}}");
    // Whole seconds: a sum to the tenth would tell each epoch's time.
    text.sample("epoch_phase_seconds_sum", &labels, histogram.tenths / 10);
    text.sample("epoch_phase_seconds_count", &labels, histogram.count);
}

fn queues(core: &Core, text: &mut Text) {
    // As of the last sample: who asks again and again could otherwise watch a single announcement
    // on its way.
    let queues = core.history().queues;
    let ratio = |tenths: u8| f64::from(tenths) / 10.0;
    text.family(
        "queue_fill_ratio",
        "gauge",
        "How full a queue was within the last 10 seconds, in tenths, rounded down.",
    );
    text.sample("queue_fill_ratio", "{queue=\"intake\"}", ratio(queues.intake_tenths));
    text.sample(
        "queue_fill_ratio",
        "{queue=\"announcements\"}",
        ratio(queues.announcements_tenths),
    );
}

fn peers(process: &Process<'_>, text: &mut Text) {
    let states = process.mesh.peer_states();
    let label = |party: u8| format!("{{party=\"{party}\"}}");
    let reachable = states.values().filter(|state| state.reach != Reach::No).count();
    text.gauge("peers_reachable", "Servers that can be reached.", reachable);
    text.family(
        "peer_reachable",
        "gauge",
        "1 if the server can be reached, directly or by way of the third.",
    );
    for (peer, state) in &states {
        text.sample("peer_reachable", &label(peer.0), u8::from(state.reach != Reach::No));
    }
    text.family(
        "peer_clock_ahead_seconds",
        "gauge",
        "How far the server's clock is ahead of this one's.",
    );
    for (peer, known) in &process.mesh.acquaintances() {
        if let Some(ahead) = known.clock_ahead {
            text.sample(
                "peer_clock_ahead_seconds",
                &label(peer.0),
                (ahead as f64 / 100.0).round() / 10.0,
            );
        }
    }
    text.family(
        "peer_bytes_total",
        "counter",
        "Bytes exchanged with a server since the start, in whole mebibytes.",
    );
    for (peer, state) in &states {
        for (direction, bytes) in [("sent", state.bytes_sent), ("received", state.bytes_received)] {
            let labels = format!("{{party=\"{}\",direction=\"{direction}\"}}", peer.0);
            text.sample("peer_bytes_total", &labels, bytes / GRAIN * GRAIN);
        }
    }
}

//! Metrics as Prometheus text.
//!
//! Coarse on purpose: levels and counts of epochs, nothing about single participants, submissions or their times.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_net::Reach;

use crate::core::Core;

/// Writes metrics one after another.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing into a string does not fail.
        let _ = writeln!(self.0, "# HELP ostrakon_{name} {help}\n# TYPE ostrakon_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "ostrakon_{name}{labels} {value}");
    }
}

/// The metrics of a server that has set up its session.
pub(crate) fn render(core: &Core) -> String {
    let mut text = Text::default();
    let (open, boards, usable, preparing) = {
        let world = core.world();
        let open = world.rooms.values().filter(|room| room.open).count();
        let boards: u64 = world.rooms.values().map(|room| room.board_length).sum();
        let usable = world.batches.values().filter(|batch| batch.is_usable()).count();
        let preparing = world.batches.values().filter(|batch| batch.is_supply()).count() - usable;
        (open, boards, usable, preparing)
    };
    text.family("rooms_open", "gauge", "Rooms that take submissions.");
    text.sample("rooms_open", "", open);
    text.family("board_entries", "gauge", "Entries on all boards.");
    text.sample("board_entries", "", boards);
    text.family("stock_batches", "gauge", "Batches by state.");
    text.sample("stock_batches", "{state=\"ready\"}", usable);
    text.sample("stock_batches", "{state=\"preparing\"}", preparing);
    let counters = &core.counters;
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    text.family("epochs_total", "counter", "Epochs since the start, by outcome.");
    text.sample("epochs_total", "{outcome=\"published\"}", read(&counters.published));
    text.sample("epochs_total", "{outcome=\"too-few\"}", read(&counters.too_few));
    text.sample("epochs_total", "{outcome=\"stopped\"}", read(&counters.stopped));
    text.family("batches_prepared_total", "counter", "Batches prepared since the start.");
    text.sample("batches_prepared_total", "", read(&counters.prepared));
    peers(core, &mut text);
    text.0
}

/// The metric of the public interface's certificate, if anything is known of it.
pub(crate) fn certificate(expires: Option<u64>) -> String {
    let mut text = Text::default();
    if let Some(time) = expires {
        text.family("certificate_expires", "gauge", "When the HTTPS certificate expires, in seconds since 1970.");
        text.sample("certificate_expires", "", time);
    }
    text.0
}

fn peers(core: &Core, text: &mut Text) {
    let states = core.mesh.peer_states();
    text.family("peer_reachable", "gauge", "1 if the server can be reached, directly or by way of the third.");
    for (peer, state) in &states {
        let reachable = u8::from(state.reach != Reach::No);
        text.sample("peer_reachable", &format!("{{party=\"{}\"}}", peer.0), reachable);
    }
    text.family("peer_bytes_total", "counter", "Bytes exchanged with a server since the start.");
    for (peer, state) in &states {
        text.sample("peer_bytes_total", &format!("{{party=\"{}\",direction=\"sent\"}}", peer.0), state.bytes_sent);
        text.sample(
            "peer_bytes_total",
            &format!("{{party=\"{}\",direction=\"received\"}}", peer.0),
            state.bytes_received,
        );
    }
}

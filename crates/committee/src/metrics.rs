//! Figures for whoever watches a member: no computation is named in them.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::service::Service;
use crate::view::Phase;

fn name(phase: &Phase) -> &'static str {
    match phase {
        Phase::Collecting => "collecting",
        Phase::Sealing => "sealing",
        Phase::Computing => "computing",
        Phase::Done => "done",
        Phase::TooFew { .. } => "too_few",
        Phase::Cancelled { .. } => "cancelled",
        Phase::Stopped { .. } => "stopped",
    }
}

impl Service {
    /// In the text format of Prometheus.
    pub fn metrics(&self) -> String {
        let names =
            ["collecting", "sealing", "computing", "done", "too_few", "cancelled", "stopped"];
        let mut phases: BTreeMap<&str, u64> = names.into_iter().map(|name| (name, 0)).collect();
        let (mut inputs, mut begun, mut contradictions, mut verified) = (0, 0, 0, 0);
        for of in self.figures() {
            *phases.entry(name(&of.phase)).or_default() += 1;
            inputs += of.inputs;
            begun += of.begun;
            contradictions += of.contradictions;
            verified += of.verified;
        }
        let mut text = String::new();
        let mut gauge = |name: &str, label: &str, value: u64| {
            if !text.contains(&format!("TYPE {name} ")) {
                writeln!(text, "# TYPE {name} gauge").expect("text can be written to");
            }
            writeln!(text, "{name}{label} {value}").expect("text can be written to");
        };
        for (phase, count) in phases {
            let label = format!("{{phase=\"{phase}\"}}");
            gauge("ostrakon_committee_computations", &label, count);
        }
        gauge("ostrakon_committee_inputs", "", inputs);
        gauge("ostrakon_committee_attempts", "", begun);
        gauge("ostrakon_committee_contradictions", "", contradictions);
        gauge("ostrakon_committee_verified", "", verified);
        text
    }
}

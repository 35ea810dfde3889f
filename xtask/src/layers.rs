//! The direction of dependencies between the crates, and between the modules of each.
//!
//! A crate may use the crates of lower layers only, and the modules of a crate use each other in
//! one direction. The cryptographic layers know neither sockets nor an executor, and only `kernels`
//! may contain unsafe code.

pub mod graph;
mod manifests;
mod modules;
mod shells;

use std::fmt;

use anyhow::{Result, bail};

use self::graph::{Crate, Graph, Kind};
use self::modules::Modules;
use crate::shell;

/// The crates from the bottom up; crates of one layer do not know each other.
pub const LAYERS: &[&[&str]] = &[
    &["ostrakon-kernels"],
    &["ostrakon-field"],
    &["ostrakon-crypto"],
    &["ostrakon-party"],
    &["ostrakon-threeparty"],
    &[
        "ostrakon-net",
        "ostrakon-store",
        "ostrakon-replicated",
        "ostrakon-additive",
        "ostrakon-authbits",
        "ostrakon-robust",
        "ostrakon-onepass",
        "ostrakon-agreement",
        "ostrakon-computation",
    ],
    &["ostrakon-mixing"],
    &[
        "ostrakon-asynchromix",
        "ostrakon-broadcast",
        "ostrakon-decide",
        "ostrakon-graph",
        "ostrakon-messaging",
        "ostrakon-stats",
    ],
    &["ostrakon-protocol"],
    &["ostrakon-client", "ostrakon-job"],
    &["ostrakon-decisions"],
    &["ostrakon-committee", "ostrakon-mixer", "ostrakon-node"],
    &["ostrakon-api"],
    &["ostrakon-testkit"],
    &["ostrakon-bench", "ostrakon-wasm"],
    &["ostrakon", "xtask"],
];

/// The harness for tests: a dev-dependency of any crate, and nothing else, so that no program
/// contains it.
pub const TESTKIT: &str = "ostrakon-testkit";

/// What the browser's crate may name directly.
const WASM: &str = "ostrakon-wasm";
const WASM_MAY_USE: [&str; 14] = [
    "ostrakon-kernels",
    "ostrakon-field",
    "ostrakon-crypto",
    "ostrakon-party",
    "ostrakon-asynchromix",
    "ostrakon-broadcast",
    "ostrakon-client",
    "ostrakon-computation",
    "ostrakon-decide",
    "ostrakon-graph",
    "ostrakon-messaging",
    "ostrakon-mixing",
    "ostrakon-protocol",
    "ostrakon-stats",
];

/// A participant's side, and the servers' crates, which use it in tests only.
const CLIENT: &str = "ostrakon-client";
const SERVERS: [&str; 4] =
    ["ostrakon-api", "ostrakon-committee", "ostrakon-mixer", "ostrakon-node"];

/// Crates that compute and nothing else, and what they must not reach, directly or through others.
const PURE: &[&str] = &[
    "ostrakon-kernels",
    "ostrakon-field",
    "ostrakon-crypto",
    "ostrakon-party",
    "ostrakon-threeparty",
    "ostrakon-replicated",
    "ostrakon-additive",
    "ostrakon-authbits",
    "ostrakon-robust",
    "ostrakon-onepass",
    "ostrakon-agreement",
    "ostrakon-mixing",
    "ostrakon-asynchromix",
    "ostrakon-broadcast",
    "ostrakon-decide",
    "ostrakon-graph",
    "ostrakon-stats",
    "ostrakon-computation",
    "ostrakon-messaging",
    "ostrakon-protocol",
    "ostrakon-client",
    "ostrakon-wasm",
];
const IMPURE: [&str; 3] = ["ostrakon-net", "ostrakon-store", "tokio"];

/// The interface of jobs. Whoever uses it is a job, which knows its server by its port alone,
/// unless it is above the jobs; and what jobs must not reach.
const JOB: &str = "ostrakon-job";
const ABOVE_JOBS: &str = "ostrakon-node";
const BESIDE_PORTS: [&str; 2] = ["ostrakon-net", "ostrakon-store"];

/// The only crate that may contain unsafe code, and so has lints of its own.
const MAY_BE_UNSAFE: &str = "ostrakon-kernels";

/// A dependency that the layers forbid, with the rule that it breaks.
#[derive(Debug, PartialEq)]
struct Violation {
    of: String,
    edge: String,
    rule: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.of, self.edge, self.rule)
    }
}

/// Checks the workspace as cargo sees it.
///
/// # Errors
/// If a rule is broken; every broken rule is printed.
pub fn check() -> Result<()> {
    let mut violations = violations(&Graph::of_workspace()?);
    violations.extend(cycles()?);
    violations.extend(named_jobs()?);
    violations.extend(manifests()?);
    if violations.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = violations.iter().map(Violation::to_string).collect();
    bail!("the layers are broken:\n{}", lines.join("\n"))
}

/// Crates whose modules use each other in a circle.
fn cycles() -> Result<Vec<Violation>> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(shell::root().join("crates"))? {
        let folder = folder?;
        let cycles = Modules::read(&folder.path().join("src"))?.cycles();
        found.extend(cycles.iter().map(|cycle| Violation {
            of: folder.file_name().to_string_lossy().into_owned(),
            edge: cycle.join(" ↔ "),
            rule: "modules use each other in one direction",
        }));
    }
    Ok(found)
}

/// Where what serves any job names one.
fn named_jobs() -> Result<Vec<Violation>> {
    let named = shells::named_jobs(&shell::root().join("crates"))?;
    let violation = |(of, edge): (&str, String)| Violation {
        of: of.to_owned(),
        edge,
        rule: "node, store, net and the shell of api name jobs in their registries only (CONTRIBUTING.md, Adding a job)",
    };
    Ok(named.into_iter().map(violation).collect())
}

/// What manifests say that they may not.
fn manifests() -> Result<Vec<Violation>> {
    let found = manifests::complaints(&shell::root().join("crates"))?;
    Ok(found.into_iter().map(|(of, edge, rule)| Violation { of, edge, rule }).collect())
}

fn violations(graph: &Graph) -> Vec<Violation> {
    graph.crates.iter().flat_map(|of| violations_of(of, graph)).collect()
}

fn violations_of(of: &Crate, graph: &Graph) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut report = |edge: String, rule| found.push(Violation { of: of.name.clone(), edge, rule });
    if layer(&of.name).is_none() {
        report("no layer".to_owned(), "every crate has its place in LAYERS (xtask/src/layers.rs)");
    }
    if of.name != MAY_BE_UNSAFE && !of.inherits_lints {
        report(
            "own lints".to_owned(),
            "every crate but kernels inherits the workspace's lints, which forbid unsafe",
        );
    }
    for (to, kind) in &of.edges {
        if graph.has_crate(to)
            && let Some(rule) = broken_rule(&of.name, to, *kind)
        {
            report(format!("{kind} on {to}"), rule);
        }
    }
    let mut reach = |impure: &[&str], rule| {
        for impure in impure {
            if let Some(path) = graph.path(&of.name, impure) {
                report(path.join(" → "), rule);
            }
        }
    };
    if PURE.contains(&of.name.as_str()) {
        reach(
            &IMPURE,
            "kernels to broadcast and decide, protocol, client and wasm know no sockets, no storage and no executor",
        );
    }
    if is_ported(of) {
        reach(&BESIDE_PORTS, "a job knows its server by its port: no sockets and no database");
    }
    found
}

/// The rule that a dependency between two crates of the workspace breaks, if any.
fn broken_rule(of: &str, to: &str, kind: Kind) -> Option<&'static str> {
    if to == TESTKIT {
        return (kind != Kind::Dev).then_some("testkit is a dev-dependency only");
    }
    if kind != Kind::Dev && of == WASM && !WASM_MAY_USE.contains(&to) {
        return Some(
            "wasm uses jobs, what they have in common, and the participant (WASM_MAY_USE); no engine",
        );
    }
    if kind != Kind::Dev && SERVERS.contains(&of) && to == CLIENT {
        return Some("servers know a participant's device in tests only");
    }
    // A crate without a layer has been reported already.
    (layer(of)? <= layer(to)?).then_some("dependencies point to lower layers only")
}

/// Whether a crate is a server's part of a job, or what these have in common.
fn is_ported(of: &Crate) -> bool {
    let uses = of.edges.iter().any(|(to, kind)| to == JOB && *kind == Kind::Normal);
    of.name == JOB || uses && layer(&of.name) < layer(ABOVE_JOBS)
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::graph::{Crate, Graph, Kind};
    use super::violations;

    fn graph(edges: &[(&str, &str, Kind)]) -> Graph {
        let mut graph = Graph::default();
        for &(of, to, kind) in edges {
            for name in [of, to] {
                if !graph.has_crate(name) && (name.starts_with("ostrakon") || name == "xtask") {
                    graph.crates.push(Crate {
                        name: name.to_owned(),
                        inherits_lints: true,
                        edges: Vec::new(),
                    });
                }
            }
            if let Some(from) = graph.crates.iter_mut().find(|candidate| candidate.name == of) {
                from.edges.push((to.to_owned(), kind));
            }
            if kind != Kind::Dev {
                graph.reach.entry(of.to_owned()).or_default().push(to.to_owned());
            }
        }
        graph
    }

    fn complaints(edges: &[(&str, &str, Kind)]) -> Vec<String> {
        violations(&graph(edges)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn dependencies_on_lower_layers_are_allowed() {
        assert_eq!(
            complaints(&[
                ("ostrakon-field", "ostrakon-kernels", Kind::Normal),
                ("ostrakon-replicated", "ostrakon-party", Kind::Normal),
                ("ostrakon-replicated", "ostrakon-testkit", Kind::Dev),
                ("ostrakon-api", "ostrakon-node", Kind::Normal),
                ("ostrakon-net", "tokio", Kind::Normal),
                ("ostrakon-broadcast", "tokio", Kind::Dev),
            ]),
            [""; 0]
        );
    }

    #[test]
    fn a_dependency_on_a_higher_layer_is_found() {
        assert_eq!(
            complaints(&[("ostrakon-field", "ostrakon-party", Kind::Normal)]),
            [
                "ostrakon-field: dependency on ostrakon-party: dependencies point to lower layers only"
            ]
        );
    }

    #[test]
    fn a_dependency_within_a_layer_is_found_in_tests_too() {
        assert_eq!(
            complaints(&[("ostrakon-store", "ostrakon-net", Kind::Dev)]),
            [
                "ostrakon-store: dev-dependency on ostrakon-net: dependencies point to lower layers only"
            ]
        );
    }

    #[test]
    fn testkit_in_a_program_is_found() {
        for program in ["ostrakon", "ostrakon-bench"] {
            assert_eq!(
                complaints(&[(program, "ostrakon-testkit", Kind::Normal)]),
                [format!(
                    "{program}: dependency on ostrakon-testkit: testkit is a dev-dependency only"
                )]
            );
        }
    }

    #[test]
    fn an_executor_reached_through_another_crate_is_found_with_the_path() {
        let found = complaints(&[
            ("ostrakon-broadcast", "helper", Kind::Normal),
            ("helper", "tokio", Kind::Normal),
        ]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("ostrakon-broadcast: ostrakon-broadcast → helper → tokio: "),
            "{}",
            found[0]
        );
    }

    #[test]
    fn a_browser_that_names_an_engine_is_found() {
        assert_eq!(
            complaints(&[("ostrakon-wasm", "ostrakon-replicated", Kind::Normal)]),
            ["ostrakon-wasm: dependency on ostrakon-replicated: \
              wasm uses jobs, what they have in common, and the participant (WASM_MAY_USE); no engine"]
        );
    }

    #[test]
    fn a_server_that_contains_a_participant_is_found() {
        for server in ["ostrakon-node", "ostrakon-api"] {
            assert_eq!(complaints(&[(server, "ostrakon-client", Kind::Dev)]), [""; 0]);
            assert_eq!(
                complaints(&[(server, "ostrakon-client", Kind::Normal)]),
                [format!(
                    "{server}: dependency on ostrakon-client: servers know a participant's device in tests only"
                )]
            );
        }
    }

    #[test]
    fn a_participant_with_a_server_or_a_socket_in_it_is_found() {
        for of in ["ostrakon-client", "ostrakon-protocol"] {
            for to in ["ostrakon-node", "ostrakon-api"] {
                let found = complaints(&[(of, to, Kind::Normal)]);
                assert_eq!(
                    found,
                    [format!("{of}: dependency on {to}: dependencies point to lower layers only")]
                );
            }
            for impure in ["ostrakon-store", "ostrakon-net", "tokio"] {
                let found =
                    complaints(&[(of, "helper", Kind::Normal), ("helper", impure, Kind::Normal)]);
                assert_eq!(found.len(), 1, "{of} {impure}: {found:?}");
                assert!(found[0].contains(&format!("{of} → helper → {impure}")), "{found:?}");
            }
        }
    }

    #[test]
    fn a_job_that_reaches_past_its_port_is_found() {
        let uses = [("ostrakon-job", "ostrakon-protocol"), ("ostrakon-decisions", "ostrakon-job")];
        for (of, below) in uses {
            assert_eq!(complaints(&[(of, "tokio", Kind::Normal)]), [""; 0]);
            let found = complaints(&[
                (of, below, Kind::Normal),
                (below, "sqlx", Kind::Normal),
                (of, "ostrakon-store", Kind::Normal),
            ]);
            assert_eq!(
                found,
                [format!(
                    "{of}: {of} → ostrakon-store: a job knows its server by its port: no sockets and no database"
                )]
            );
        }
        let above =
            ["ostrakon-job", "ostrakon-store"].map(|to| ("ostrakon-node", to, Kind::Normal));
        assert_eq!(complaints(&above), [""; 0]);
    }

    #[test]
    fn own_lints_and_a_missing_layer_are_found() {
        let mut graph = graph(&[("ostrakon-field", "ostrakon-kernels", Kind::Normal)]);
        for of in &mut graph.crates {
            of.inherits_lints = false;
        }
        graph.crates.push(Crate {
            name: "ostrakon-elsewhere".to_owned(),
            inherits_lints: true,
            edges: Vec::new(),
        });
        let found: Vec<_> = violations(&graph)
            .into_iter()
            .map(|violation| (violation.of, violation.edge))
            .collect();
        assert_eq!(
            found,
            [
                ("ostrakon-field".to_owned(), "own lints".to_owned()),
                ("ostrakon-elsewhere".to_owned(), "no layer".to_owned())
            ]
        );
    }
}

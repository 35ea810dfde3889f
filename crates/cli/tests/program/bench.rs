//! The benchmarks measure what they say: the phases, with the bytes and rounds of the formulas.

use std::process::Command;

use serde_json::Value;

fn measure(arguments: &[&str]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
    let output =
        command.arg("bench").args(arguments).args(["--runs", "1", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn bytes(phase: &Value) -> Vec<u64> {
    phase["bytes_sent"].as_array().unwrap().iter().map(|bytes| bytes.as_u64().unwrap()).collect()
}

fn assert_is_a_measurement(phase: &Value) {
    let number = |name: &str| phase[name].as_f64().unwrap();
    assert!(number("seconds") > 0.0 && number("limit_seconds") > 0.0);
    assert!((number("ratio") - number("seconds") / number("limit_seconds")).abs() < 1e-9);
    let parts: f64 =
        phase["limit_parts"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
    assert!((parts - number("limit_seconds")).abs() < 1e-9);
    assert!(bytes(phase).iter().sum::<u64>() <= phase["formula_bytes"].as_u64().unwrap());
    let peaks = phase["peak_rss"].as_array().unwrap();
    assert!(peaks.len() == 3 && peaks.iter().all(|peak| peak.as_u64().unwrap() > 0));
}

#[test]
fn a_shuffle_is_measured_phase_by_phase() {
    let phases = measure(&["shuffle", "--rows", "1000", "--width", "24"]);
    let names: Vec<&str> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["preprocessing", "online", "opening", "slot-commitments"]);
    phases.iter().for_each(assert_is_a_measurement);
    let (message, table) = (1000 * (24 + 8), 1000 * 24);
    for (party, sent) in bytes(&phases[0]).into_iter().enumerate() {
        assert!((2 * message..2 * message + 20_000).contains(&sent), "P{party} sent {sent} bytes");
    }
    for (party, sent) in bytes(&phases[1]).into_iter().enumerate() {
        assert!((table..table + 4_000).contains(&sent), "P{party} sent {sent} bytes");
    }
    assert_eq!(
        bytes(&phases[2]),
        [64, table, 0],
        "the lower holder of each missing share sends it"
    );
}

#[test]
fn an_epoch_is_measured_with_everybody_taking_part() {
    let phases = measure(&["epoch", "--clients", "50", "--payload", "64"]);
    assert_eq!(phases.len(), 1);
    assert_eq!(
        (phases[0]["phase"].as_str(), phases[0]["width"].as_u64()),
        (Some("epoch"), Some(80))
    );
    assert_is_a_measurement(&phases[0]);
}

#[test]
fn a_broadcast_is_measured_phase_by_phase_with_either_engine() {
    let (rows, width) = (60, 64 + 16);
    for (engine, rounds) in [("clarion", 14), ("ruffle", 8)] {
        let phases = measure(&["broadcast", "--engine", engine, "--rows", "60", "--width", "64"]);
        let names: Vec<&str> =
            phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
        assert_eq!(names, ["take-in", "seal-and-mix", "open", "epoch"]);
        phases.iter().for_each(assert_is_a_measurement);
        let sent = |phase: usize| bytes(&phases[phase]).iter().sum::<u64>();
        assert_eq!((sent(0), sent(1) + sent(2)), (0, sent(3)));
        let seconds = |name: &str| phases[1][name].as_f64().unwrap();
        assert!((0.0..seconds("seconds")).contains(&seconds("after_seal_seconds")));
        assert!(phases[3]["rounds"].as_u64().unwrap() >= rounds - 1, "{:?}", phases[3]["rounds"]);
        let table = if engine == "clarion" { 5 * width + 120 + 216 } else { 4 * width };
        assert!(sent(3) >= rows * table, "{engine}: {}", sent(3));
    }
}

#[test]
fn a_round_of_messages_is_measured_with_what_a_client_reads() {
    let phases = measure(&["messaging", "--rows", "30", "--width", "256"]);
    let names: Vec<&str> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    let read = ["read-conversation", "read-calls"];
    assert_eq!(names, [&["take-in", "seal-and-mix", "open", "epoch"][..], &read[..]].concat());
    phases[..4].iter().for_each(assert_is_a_measurement);
    assert!(phases[4..].iter().all(|phase| phase["seconds"].as_f64().unwrap() > 0.0));
}

#[test]
fn a_visit_to_a_decision_is_measured_beside_its_limit_and_its_sizes() {
    let visits = measure(&["decide"]);
    assert_eq!(visits.len(), 5);
    for visit in &visits {
        let number = |name: &str| visit[name].as_f64().unwrap();
        let parts: f64 = visit["limit_parts"]
            .as_object()
            .unwrap()
            .values()
            .map(|part| part.as_f64().unwrap())
            .sum();
        assert!(parts > 0.0 && (parts - number("limit_ms")).abs() < 1e-9);
        assert!((number("ratio") - number("total_ms") / number("limit_ms")).abs() < 1e-9);
        assert_eq!(number("step_bytes"), number("table_bytes") + number("proof_bytes"));
    }
    let sizes =
        |name: &str| visits.iter().map(|visit| visit[name].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(sizes("step_bytes"), [64 + 352, 6_400 + 352, 64 + 352, 64 + 544, 640 + 3_520]);
    assert_eq!(sizes("history_bytes")[1], 0);
    assert_eq!(sizes("history_bytes")[2], (2..=100).sum::<u64>() * 64 + 99 * 352);
}

#[test]
fn distances_in_a_graph_are_measured_phase_by_phase_in_both_ways() {
    let size = ["--vertices", "40", "--edges", "60", "--hops", "2", "--processors", "25"];
    let phases = measure(&[&["graph"], &size[..]].concat());
    let names: Vec<&str> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    let four = ["before input", "owners", "after structure", "query"];
    assert_eq!(names, [four, four].concat());
    for (place, phase) in phases.iter().enumerate() {
        let of_servers = phase["phase"] != "owners";
        assert!(phase["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(phase["rows"], 100);
        assert_eq!(phase["rounds"], phase["formula_rounds"], "{phase}");
        assert_eq!(phase["processors"].as_u64(), (place >= 4).then_some(25));
        assert_eq!(bytes(phase).len(), if of_servers { 3 } else { 0 });
        let sent = bytes(phase).iter().sum::<u64>();
        let (tables, rest) =
            (phase["table_bytes"].as_u64().unwrap(), phase["formula_rest"].as_u64().unwrap());
        assert!((tables..=tables + rest).contains(&sent), "{phase}");
        // Scatter and gather have no limit beside them.
        let limited = phase["limit_seconds"].as_f64().unwrap() > 0.0;
        assert_eq!(limited, of_servers && !(place >= 4 && phase["phase"] == "query"), "{phase}");
    }
}

fn intake(more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
    command
        .args([
            "bench",
            "intake",
            "--clients",
            "60",
            "--connections",
            "8",
            "--seconds",
            "1",
            "--json",
        ])
        .args(more);
    command
}

fn assert_is_an_intake(mut command: Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let measured: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |name: &str| measured[name].as_f64().unwrap();
    assert_eq!(number("accepted"), 60.0 * number("epochs"));
    assert_eq!(number("accepted"), number("published"));
    assert!((number("clients_per_second") - number("accepted") / number("seconds")).abs() < 1e-6);
    assert!(number("requests_per_second") >= 7.0 * number("clients_per_second") - 1e-6);
    for kind in ["presence", "issue", "submission"] {
        let latency = |name: &str| measured[kind][name].as_f64().unwrap();
        assert!(0.0 < latency("p50_ms") && latency("p50_ms") <= latency("p99_ms"), "{kind}");
    }
    for server in 0..3 {
        let memory = |name: &str| measured["memory"][name][server].as_u64().unwrap();
        assert!(memory("after_first_epoch") > 0 && memory("peak") >= memory("end"));
    }
    measured
}

#[test]
fn an_intake_is_measured_and_nothing_is_lost() {
    let measured = assert_is_an_intake(intake(&[]));
    assert_eq!(
        (measured["database"].as_str(), measured["intakes"].as_u64()),
        (Some("sqlite"), Some(0))
    );
}

#[test]
fn an_intake_by_several_processes_for_each_server_is_measured() {
    assert!(
        std::env::var_os("OSTRAKON_TEST_POSTGRES").is_some(),
        "run `cargo xtask postgres cargo test …`"
    );
    let measured = assert_is_an_intake(intake(&["--database", "postgres", "--intakes", "2"]));
    assert_eq!(
        (measured["database"].as_str(), measured["intakes"].as_u64()),
        (Some("postgres"), Some(2))
    );
}

#[test]
fn processes_that_cannot_share_a_database_are_refused_with_the_remedy() {
    let refused = |mut command: Command| {
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(intake(&["--intakes", "1"])).contains("--database postgres"));
    let mut nowhere = intake(&["--database", "postgres"]);
    nowhere.env_remove("OSTRAKON_TEST_POSTGRES");
    assert!(refused(nowhere).contains("--postgres-url"));
    let elsewhere = refused(intake(&[
        "--database",
        "postgres",
        "--postgres-url",
        "mysql://me:hunter2@localhost/x",
    ]));
    assert!(
        elsewhere.contains("postgres://USER@HOST/DATABASE") && !elsewhere.contains("hunter2"),
        "{elsewhere}"
    );
}

#[test]
fn a_table_that_cannot_be_is_refused_with_the_limits() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
    let output = command.args(["bench", "shuffle", "--width", "12"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("a multiple of 8"));
}

#[test]
fn servers_without_a_clock_are_measured_by_phases() {
    let shape = ["--rows", "16", "--payload", "16", "--participants", "6"];
    let phases = measure(&[&["asynchromix"], &shape[..]].concat());
    let names: Vec<&str> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["founding", "stock for an epoch", "sealing", "shuffle", "board"]);
    for phase in &phases {
        assert!(phase["seconds"].as_f64().unwrap() > 0.0, "{phase}");
    }
    // Two dealers of one stage each, and the pads of six rows: openings of 12, 80 and 80 values,
    // half as many elements to three others, in two hops, by four servers.
    let elements = (6 + 40 + 40) * 3 * 2 * 4;
    assert_eq!(phases[3]["bytes_sent"], 8 * elements);
    assert_eq!(phases[3]["rounds"], 6);
}

#[test]
fn triples_are_measured_from_nothing_beside_their_limit() {
    let shape = ["--servers", "2", "--triples", "3102", "--security", "40"];
    let measured = measure(&[&["triples"], &shape[..]].concat());
    assert_eq!(measured.len(), 1);
    let of = &measured[0];
    assert_eq!(
        (&of["bucket"], &of["triples"], &of["rounds"]),
        (&4.into(), &3102.into(), &20.into())
    );
    let number = |name: &str| of[name].as_f64().unwrap();
    // 16⅛ bytes for each leaky triple, three bits for each bucket, and a constant.
    let rows = 4.0 * 3102.0 * 16.125 + 3.0 * 3102.0 / 8.0;
    assert!((rows..rows + 40_000.0).contains(&number("bytes_sent")), "{}", number("bytes_sent"));
    assert!((number("bytes_per_triple") - number("bytes_sent") / 3102.0).abs() < 1e-9);
    assert!((number("triples_per_second") - 3102.0 / number("seconds")).abs() < 1e-6);
    assert!(number("limit_seconds") > 0.0);
}

#[test]
fn statistics_are_measured_with_their_preparation() {
    let shape = ["--servers", "2", "--reports", "5", "--width", "4", "--median"];
    let measured = measure(&[&["stats"], &shape[..]].concat());
    assert_eq!(measured.len(), 1);
    let of = &measured[0];
    assert_eq!((&of["statistic"], &of["reports"]), (&"median".into(), &5.into()));
    let phases = of["phases"].as_object().unwrap();
    let sum: f64 = phases.values().map(|seconds| seconds.as_f64().unwrap()).sum();
    let number = |name: &str| of[name].as_f64().unwrap();
    assert!(phases.len() == 5 && (sum - number("seconds")).abs() < 1e-9, "{of}");
    assert!(phases.values().all(|seconds| seconds.as_f64().unwrap() > 0.0), "{of}");
    assert!(number("offline_bytes") > number("online_bytes") && number("online_bytes") > 0.0);
    assert!(number("triples") >= number("ands") && number("limit_seconds") > 0.0);
}

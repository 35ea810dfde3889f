//! What an operator sees of three servers at work.

use std::collections::BTreeMap;

use ostrakon_node::operator::{PeerReach, VERSION, WarningKind};
use ostrakon_protocol::{NewRoom, Outcome};
use sqlx::{AnyConnection, Connection};

use crate::common::{Deployment, LONG};

/// Reads the exposition format strictly: every sample of a family that was announced, every name
/// and value well formed.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let name = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let mut families: BTreeMap<&str, &str> = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let (family, kind) = family.split_once(' ').expect("a name and a kind");
            assert!(name(family) && ["gauge", "counter", "histogram"].contains(&kind), "{line}");
            assert!(families.insert(family, kind).is_none(), "{family} is announced once");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
        let value: f64 = value.parse().expect("a number");
        let (sampled, labels) = series.split_once('{').unwrap_or((series, "}"));
        assert!(name(sampled) && labels.ends_with('}'), "{line}");
        for label in labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty()) {
            let (key, value) = label.split_once('=').expect("a label has a value");
            assert!(name(key) && value.starts_with('"') && value.ends_with('"'), "{line}");
        }
        let parts = ["_bucket", "_sum", "_count"];
        let of_histogram = parts.iter().filter_map(|part| sampled.strip_suffix(part));
        let mut of_histogram =
            of_histogram.filter(|family| families.get(family) == Some(&"histogram"));
        assert!(
            of_histogram.next().is_some() || families.contains_key(sampled),
            "{sampled} was not announced"
        );
        assert!(samples.insert(series.to_owned(), value).is_none(), "{series} is there once");
    }
    samples
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_operator_sees_peers_epochs_and_stock_and_the_metrics_parse() {
    let deployment = Deployment::start().await;
    deployment.servers[1].set_certificate_expires(86_400);
    let room = deployment.room(1, 2).await;
    for epoch in 0..2 {
        deployment.speak(room, epoch).await;
    }
    deployment.everywhere(room, 2).await;
    let service = &deployment.servers[0];
    let measured = async {
        loop {
            let overview = service.overview().await.expect("it is no intake process");
            let known = |peer: &ostrakon_node::operator::PeerView| peer.clock_ahead_ms.is_some();
            let told = overview.peers[0].certificate_expires.is_some();
            if overview.peers.iter().all(known) && told && overview.epochs.len() == 2 {
                return overview;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let overview = tokio::time::timeout(LONG, measured).await.expect("in time");
    for peer in &overview.peers {
        assert_eq!((peer.reach, peer.version.as_deref()), (PeerReach::Direct, Some(VERSION)));
        assert!(peer.clock_ahead_ms.unwrap().abs() < 1_000, "one machine has one clock: {peer:?}");
    }
    assert_eq!(overview.peers[0].certificate_expires, Some(86_400));
    let expired = |warning: &&ostrakon_node::operator::Warning| {
        warning.kind == WarningKind::CertificateExpiring
    };
    assert_eq!(overview.warnings.iter().filter(expired).count(), 1, "{:?}", overview.warnings);
    for (epoch, number) in overview.epochs.iter().zip(0..) {
        assert_eq!(
            (epoch.number, epoch.outcome, epoch.accepted),
            (number, Outcome::Published, Some(3))
        );
        assert!(epoch.seconds.collect.unwrap() >= 0.9 && epoch.seconds.mix.is_some(), "{epoch:?}");
    }
    assert_eq!((overview.rooms[0].board_length, overview.rooms[0].name.as_str()), (2, "a room"));
    assert!(
        overview.stock[0].needed
            && !overview.stock_history.is_empty()
            && overview.disk.unwrap().free > 0
    );

    service.note("close room", "a test").await;
    let audit = service.audit(None, 1000).await.unwrap();
    assert_eq!((audit[0].actor.as_str(), audit[0].action.as_str()), ("operator", "close room"));
    assert_eq!(audit.last().map(|first| (first.action.as_str(), first.id)), Some(("start", 1)));
    for participant in 10..13 {
        let key = crate::common::key(participant).verifying_key().to_hex();
        let named = |text: &str| text.contains(&key[..12]);
        assert!(!audit.iter().any(|record| {
            [&record.actor, &record.action, &record.detail].iter().any(|text| named(text))
        }));
    }
    assert_eq!(audit.len(), 2, "three participants in two epochs left nothing: {audit:?}");

    let samples = samples(&service.metrics());
    let sample = |name: &str| samples.get(&format!("ostrakon_{name}")).copied();
    assert_eq!(sample("epochs_total{outcome=\"published\"}"), Some(2.0));
    assert_eq!(sample("epoch_phase_seconds_count{phase=\"mix\"}"), Some(2.0));
    assert_eq!(sample("epoch_phase_seconds_bucket{phase=\"mix\",le=\"+Inf\"}"), Some(2.0));
    assert_eq!(sample("peers_reachable"), Some(2.0));
    for (series, value) in &samples {
        let grain = if series.contains("peer_bytes") || series.contains("disk_free") {
            1_048_576.0
        } else {
            0.1
        };
        let coarse = (value / grain - (value / grain).round()).abs() < 1e-6;
        assert!(coarse, "{series} {value} is too fine");
        assert!(!series.contains(&room.to_hex()), "rooms are not told apart: {series}");
    }
}

/// As with a full disk: every write fails, for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_cannot_write_is_not_ready_until_it_can() {
    let deployment = Deployment::start().await;
    let path = deployment.data(1).join("ostrakon.db");
    let mut database =
        AnyConnection::connect(&format!("sqlite://{}", path.display())).await.unwrap();
    for table in ["announcements", "audit"] {
        let trigger = format!(
            "CREATE TRIGGER full_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(FAIL, 'full'); END"
        );
        sqlx::query(sqlx::AssertSqlSafe(trigger)).execute(&mut database).await.unwrap();
    }
    assert!(deployment.servers[1].readiness().ready, "nothing was to be written yet");
    // Something else may be written in between, to another table: then it is ready for a moment.
    let refused = async {
        loop {
            deployment.servers[1].create_room(NewRoom::named("a room")).await.unwrap_err();
            let readiness = deployment.servers[1].readiness();
            if !readiness.ready {
                return readiness;
            }
        }
    };
    let readiness = tokio::time::timeout(LONG, refused).await.expect("in time");
    assert!(readiness.detail.contains("nothing can be written"), "{}", readiness.detail);
    for table in ["announcements", "audit"] {
        let drop = format!("DROP TRIGGER full_{table}");
        sqlx::query(sqlx::AssertSqlSafe(drop)).execute(&mut database).await.unwrap();
    }
    deployment.until(1, |service| service.readiness().ready).await;
    deployment.servers[1].create_room(NewRoom::named("a room")).await.expect("as before");
}

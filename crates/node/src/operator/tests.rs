//! What is worth a warning, and what a peer can make an operator see.

use super::*;

fn calm() -> Overview {
    let peer = PeerView {
        party: 1,
        name: "bravo".into(),
        url: "https://b.example".into(),
        key: "00".repeat(32),
        reach: PeerReach::Direct,
        silent_for: Some(0),
        version: Some(VERSION.into()),
        certificate_expires: Some(1_000_000 + CERTIFICATE_NOTICE),
        clock_ahead_ms: Some(-(CLOCK_BOUND_MS as i64)),
        trouble: None,
    };
    Overview {
        version: VERSION.into(),
        protocol: 2,
        party: 0,
        since: 0,
        now: 1_000_000,
        ready: true,
        certificate_expires: None,
        warnings: Vec::new(),
        peers: vec![peer],
        clock_bound_ms: CLOCK_BOUND_MS,
        stock: vec![StockView {
            engine: EngineKind::Ruffle,
            rows: 9,
            width: 48,
            usable: 0,
            preparing: 1,
            needed: false,
        }],
        stock_history: Vec::new(),
        rooms: Vec::new(),
        epochs: Vec::new(),
        suspects: vec![Suspects { pair: [0, 1], aborts: ABORTS_NOTED - 1 }],
        disk: Some(Disk { free: DISK_LOW, total: 2 * DISK_LOW, stock: 0, stock_limit: 0 }),
        queues: Queues { intake_tenths: 0, announcements_tenths: 0 },
    }
}

#[test]
fn a_calm_server_warns_of_nothing_and_each_trouble_of_itself() {
    assert_eq!(warnings(&calm()), []);
    let after = |change: fn(&mut Overview)| {
        let mut overview = calm();
        change(&mut overview);
        let warnings = warnings(&overview);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        (warnings[0].kind, warnings[0].party, warnings[0].text.clone())
    };
    let (kind, party, text) = after(|overview| {
        overview.peers[0].reach = PeerReach::None;
        overview.peers[0].trouble = Some("the peer speaks version 9".into());
    });
    assert_eq!((kind, party), (WarningKind::Unreachable, 1));
    assert!(text.contains("bravo") && text.contains("version 9"), "{text}");
    assert_eq!(
        after(|overview| overview.peers[0].version = Some("0.0.9".into())).0,
        WarningKind::OtherVersion
    );
    let (kind, _, text) = after(|overview| overview.peers[0].clock_ahead_ms = Some(90_400));
    assert!(kind == WarningKind::ClockOff && text.contains("90 s ahead of"), "{text}");
    let (_, _, text) = after(|overview| overview.peers[0].clock_ahead_ms = Some(i64::MIN));
    assert!(text.contains("behind"), "{text}");
    let (kind, party, text) =
        after(|overview| overview.certificate_expires = Some(1_000_000 + 3 * 86_400));
    assert_eq!((kind, party), (WarningKind::CertificateExpiring, 0));
    assert!(text.contains("in 3 days"), "{text}");
    assert!(
        after(|overview| overview.peers[0].certificate_expires = Some(5)).2.contains("has expired")
    );
    assert_eq!(after(|overview| overview.disk.as_mut().unwrap().free -= 1).0, WarningKind::DiskLow);
    assert_eq!(after(|overview| overview.stock[0].needed = true).0, WarningKind::StockEmpty);
}

#[test]
fn whose_word_an_epoch_waits_for_is_told_with_what_can_be_done() {
    let room = |name: &str, for_ms, by: &[u8]| RoomView {
        id: "00".repeat(16),
        name: name.into(),
        state: RoomState::Open,
        payload: 256,
        capacity: 24,
        seconds: 6,
        minimum: 2,
        mode: Mode::Fair,
        present: 3,
        board_length: 0,
        epochs: 1,
        computing: 0,
        overdue: Some(Overdue { for_ms, by: by.to_vec() }),
    };
    let warned = |rooms| {
        let found = warnings(&Overview { rooms, ..calm() });
        assert!(found.iter().all(|warning| warning.kind == WarningKind::EpochOverdue));
        found.into_iter().map(|warning| (warning.party, warning.text)).collect::<Vec<_>>()
    };
    let of_a_peer = warned(vec![room("Agora", 25_000, &[1]), room("Pnyx", 90_000, &[1])]);
    assert!(of_a_peer.len() == 1 && of_a_peer[0].0 == 1, "{of_a_peer:?}");
    let text = &of_a_peer[0].1;
    assert!(text.contains("“Pnyx”") && text.contains("90 s ago"), "the longest: {text}");
    assert!(text.contains("bravo's word") && text.contains("ask its operator"), "{text}");
    assert!(text.contains("waited for there in turn"), "it convicts nobody: {text}");
    let own = warned(vec![room("Agora", 25_000, &[0])]);
    assert!(own[0].0 == 0 && own[0].1.contains("waits for this server"), "{own:?}");
    let nobodys = warned(vec![room("Agora", 25_000, &[])]);
    assert!(nobodys[0].0 == 0 && nobodys[0].1.contains("still computed"), "{nobodys:?}");
}

#[test]
fn who_stops_epochs_again_and_again_is_told_and_never_this_server() {
    let warned = |suspects: Suspects| {
        let found = warnings(&Overview { suspects: vec![suspects], ..calm() });
        assert!(found.iter().all(|warning| warning.kind == WarningKind::RepeatedAborts));
        found.into_iter().map(|warning| (warning.party, warning.text)).collect::<Vec<_>>()
    };
    let own = warned(Suspects { pair: [0, 1], aborts: ABORTS_NOTED });
    assert!(own.len() == 1 && own[0].0 == 1, "{own:?}");
    assert!(own[0].1.starts_with("3 epochs") && own[0].1.contains("this server or bravo"));
    let others = warned(Suspects { pair: [1, 2], aborts: ABORTS_NOTED + 4 });
    assert_eq!(others.iter().map(|(party, _)| *party).collect::<Vec<_>>(), [1, 2]);
    assert!(others[0].1.starts_with("7 epochs"), "{others:?}");
}

#[test]
fn the_disk_of_a_directory_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let (free, total) = disk_space(directory.path()).unwrap();
    assert!(free <= total && total > 0);
    assert_eq!(disk_space(Path::new("/no such directory")), None);
}

//! An epoch with fewer submissions than its minimum, and a server that does not want it to end so.

use super::*;

/// Two servers besides the liar.
fn honest(liar: u8) -> [u8; 2] {
    [(liar + 1) % 3, (liar + 2) % 3]
}

/// Of [`TAKEN`] only two can be vouched for.
fn scene(seed: u64, robust: bool) -> Scene {
    let mut scene = Scene::new(seed, robust);
    scene.spec.minimum = 3;
    scene.slots = scene.deployment.slots(&scene.stock, &scene.spec, &rows_of(TAKEN, WIDTH));
    scene
}

/// Garbles the liar's echo of the lists, towards one server or all.
fn garbling(scene: &Scene, liar: u8, victim: Option<u8>) -> Network {
    let echo = Kind::SubmissionList.echo();
    scene.corrupt(liar, move |to, message| {
        let meant = victim.is_none_or(|victim| to == PartyId(victim));
        (meant && message.signed.header.tag.step == echo).then(|| vec![0xff; 7])
    })
}

/// Whether an honest server has given away anything by which rows can be read.
pub(super) fn shows(network: &Network, liar: u8) -> bool {
    let telling = [
        Kind::Pads,
        Kind::TrustedMasks,
        Kind::TrustedTable,
        Kind::LastSeed,
        Kind::LastTable,
        Kind::DisputeMaterial,
    ];
    let from_honest = |m: &Message| m.signed.header.from != PartyId(liar);
    network.sent().iter().any(|(_, m)| from_honest(m) && telling.iter().any(|kind| is(m, *kind)))
}

/// One honest server sees how few there are; the other sees only that the liar's echo is garbled.
/// Nobody waits for the other, and nobody finishes what was not sealed.
#[test]
fn too_few_is_agreed_whichever_echo_is_garbled() {
    for liar in 0..3 {
        for victim in honest(liar) {
            let scene = scene(51, true);
            let network = garbling(&scene, liar, Some(victim));
            let results = scene.run(&network);
            for server in honest(liar).map(usize::from) {
                let ended = matches!(results[server], Some(Err(Unmixed::TooFew(2))));
                assert!(ended, "P{liar} garbles towards P{victim}: P{server} does not end so");
            }
            assert!(!shows(&network, liar));
        }
        // Both see the fault alone: the two of them count what they hold together.
        let scene = scene(52, true);
        let network = garbling(&scene, liar, None);
        let results = scene.run(&network);
        for server in honest(liar).map(usize::from) {
            assert!(matches!(results[server], Some(Err(Unmixed::TooFew(2)))), "P{liar}, P{server}");
        }
        assert!(!shows(&network, liar));
    }
}

/// The same in fair mode: one says that there were too few, the other who cheated, and nothing is
/// shown by either.
#[test]
fn too_few_in_a_fair_epoch_ends_for_everybody() {
    for liar in 0..3 {
        for victim in honest(liar) {
            let scene = scene(53, false);
            let network = garbling(&scene, liar, Some(victim));
            let results = scene.run(&network);
            for server in honest(liar).map(usize::from) {
                match &results[server] {
                    Some(Err(Unmixed::TooFew(2))) => {}
                    Some(Err(Unmixed::Fault(fault))) => assert_eq!(fault.culprit, PartyId(liar)),
                    _ => panic!("P{liar} garbles towards P{victim}: P{server} ends otherwise"),
                }
            }
            assert!(!shows(&network, liar));
        }
    }
}

/// Both honest servers have ended with too few, and are restarted. Whatever fault the third one
/// shows them now, the epoch is over: its submissions are given to nobody.
#[test]
fn what_ended_with_too_few_is_not_opened_by_a_late_fault() {
    for liar in 0..3 {
        let scene = scene(54, true);
        let ended = scene.run(&Network::default());
        assert!(ended.iter().all(|end| matches!(end, Some(Err(Unmixed::TooFew(2))))));
        for late in [Some(honest(liar)[0]), Some(honest(liar)[1]), None] {
            let network = garbling(&scene, liar, late);
            let results = scene.run(&network);
            for server in honest(liar).map(usize::from) {
                assert!(matches!(results[server], Some(Err(Unmixed::TooFew(2)))), "P{server}");
            }
            assert!(!shows(&network, liar));
            let given = |m: &Message| is(m, Kind::TrustedSubmissions);
            assert!(!network.sent().iter().any(|(_, m)| given(m)), "submissions are handed over");
        }
        for (party, marks) in (0..).zip(&scene.marks) {
            let marks: Vec<_> = marks.0.lock().unwrap().clone().into_iter().collect();
            assert!(!epoch::may_have_opened(&scene.spec, &marks), "P{party}");
        }
    }
}

/// Who stopped for a fault before it had sealed anything does not vote after a restart, as if
/// nothing had been: the other one has its word.
#[test]
fn who_stopped_before_the_seal_seals_nothing_later() {
    let scene = Scene::new(55, true);
    let network = garbling(&scene, 0, None);
    scene.run_until(&network, PartyId(2), Kind::SealStanding);
    let restarted = Network::default();
    let results = scene.run(&restarted);
    assert!(posted(&restarted, PartyId(2), Kind::SealVote).is_none(), "P2 votes after all");
    for server in [1, 2] {
        let opened = results[server].as_ref().expect("somebody waits").as_ref().unwrap();
        assert_eq!((opened.trusted, opened.faults[0].culprit), (Some(1), PartyId(0)));
        assert_eq!(recognised(&opened.table, &rows_of(TAKEN, WIDTH)), TAKEN);
    }
}

//! Disputes and restarts: seeds that are shown in a dispute link rows if the output is opened, too.

use super::*;

/// Each lie about a table of the shuffle: the liar, and which of its messages is false.
const LIES: [(u8, Kind); 6] = [
    (0, Kind::Delta02Digest),
    (2, Kind::Delta02),
    (0, Kind::Delta01),
    (1, Kind::Delta01Digest),
    (1, Kind::Delta12),
    (2, Kind::Delta12Digest),
];

/// A permutation's and a mask's seed are longer than what else there is in a contribution without
/// one.
fn shows_seeds(network: &Network, liar: u8) -> bool {
    let from_honest = |m: &Message| m.signed.header.from != PartyId(liar);
    let with_seeds = |m: &Message| {
        // As the contribution is laid out: a statement, and the seeds.
        wire::decode::<(Option<Statement>, Option<Vec<u8>>)>(&m.body)
            .is_ok_and(|(_, seeds)| seeds.is_some())
    };
    let sent = network.sent();
    sent.iter().any(|(_, m)| from_honest(m) && is(m, Kind::DisputeMaterial) && with_seeds(m))
}

fn opens(network: &Network, liar: u8) -> bool {
    let opening = |m: &Message| is(m, Kind::LastTable) || is(m, Kind::LastSeed);
    let from_honest = |m: &Message| m.signed.header.from != PartyId(liar);
    network.sent().iter().any(|(_, m)| from_honest(m) && opening(m))
}

/// The epoch was opened, and all servers were restarted. Now one of them tells a false table or
/// digest. Its receiver would learn the pair's permutation from a dispute, and with its own two the
/// order of what is on the board.
#[test]
fn no_dispute_shows_seeds_behind_an_opened_epoch() {
    for robust in [false, true] {
        for (liar, lie) in LIES {
            let scene = Scene::new(61, robust);
            let opened = scene.run(&Network::default());
            assert!(opened.iter().all(|end| matches!(end, Some(Ok(_)))));
            let network = scene.corrupt(liar, move |_, m| is(m, lie).then(|| flipped(m)));
            let results = scene.run(&network);
            assert!(!shows_seeds(&network, liar), "P{liar} lies with {lie:?}: seeds are shown");
            let raised = network
                .sent()
                .into_iter()
                .any(|(_, m)| is(&m, Kind::Dispute) && m.signed.header.from != PartyId(liar));
            assert!(!raised, "P{liar} lies with {lie:?}: a dispute is raised");
            for (party, result) in results.iter().enumerate() {
                assert!(
                    party == usize::from(liar) || !matches!(result, Some(Err(_))),
                    "P{liar} lies with {lie:?}: P{party} takes it back"
                );
            }
        }
    }
}

/// A receiver raises a dispute and is restarted; the liar tells it the truth now. It has been shown
/// a permutation, so it never signs that it is ready.
#[test]
fn a_dispute_is_not_forgotten_in_a_restart() {
    let receiver = |lie: Kind| match lie {
        Kind::Delta02 | Kind::Delta02Digest => PartyId(1),
        Kind::Delta01 | Kind::Delta01Digest => PartyId(2),
        _ => PartyId(0),
    };
    for robust in [false, true] {
        for (liar, lie) in LIES {
            let scene = Scene::new(62, robust);
            let network = scene.corrupt(liar, move |_, m| is(m, lie).then(|| flipped(m)));
            scene.run_until(&network, receiver(lie), Kind::Dispute);
            let restarted = Network::default();
            let results = scene.run(&restarted);
            let case = format!("P{liar} lies with {lie:?}");
            assert!(!opens(&restarted, liar), "{case}: opened although seeds were shown");
            check(&scene, liar, &results, &case);
        }
    }
}

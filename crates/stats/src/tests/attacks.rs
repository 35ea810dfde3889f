//! Attacks on the intake by who changes messages, restarts, or reports wrongly.

use ostrakon_authbits::{Abort, Journal, Kind, Refused};
use ostrakon_crypto::Digest;
use ostrakon_party::{Message, PartyId};
use ostrakon_testkit::Network;

use super::{
    Disk, Outcome, Scene, count_in, different_things, opening_of, statements, sum_in,
    sum_of_four_bits,
};
use crate::compute::marks;
use crate::report::Field;
use crate::{Evidence, Failed, Lie, Report, Scope};

const NUMBERS: [u64; 4] = [3, 9, 14, 1];

fn scene(parties: usize) -> Scene {
    Scene::new(21, parties, sum_of_four_bits())
}

fn failed(outcome: &Outcome) -> &Failed {
    outcome.as_ref().expect("it ends").as_ref().expect_err("there is no answer")
}

#[test]
fn honest_reports_are_all_accepted_and_members_agree() {
    for parties in [2, 3] {
        let scene = scene(parties);
        let reports = scene.reports(&NUMBERS);
        let network = Network::default();
        let outcomes = scene.run(&network, 1, &reports, &scene.disks());
        assert!(outcomes.iter().all(|outcome| sum_in(outcome) == Some(27)));
        let answered = outcomes[0].as_ref().unwrap().as_ref().unwrap();
        assert!(answered.excluded.is_empty() && answered.accepted == 4);
        for (member, signature) in scene.committee.members().iter().zip(&answered.signatures) {
            assert!(member.key.verifies(&answered.list, signature));
        }
        // Z_χ, the signature and Z_e, and nothing else.
        let lengths: Vec<usize> = statements(&network, PartyId(0)).iter().map(Vec::len).collect();
        assert_eq!(lengths, [opening_of(4), 64, opening_of(4)]);
    }
}

/// Attack (N1, steps 9 and 10): a reporter states a wrong y. It is left out, the key stays secret
/// since nothing is multiplied with the difference, and anybody can check why.
#[test]
fn a_wrong_check_value_excludes_its_reporter_on_public_evidence() {
    for parties in [2, 3] {
        let scene = scene(parties);
        let mut reports = scene.reports(&NUMBERS);
        let wrong = scene.with_wrong_check(2, 14);
        let place = reports.iter().position(|r| r.reporter() == wrong.reporter()).unwrap();
        reports[place] = wrong;
        let disks = scene.disks();
        let outcomes = scene.run(&Network::default(), 1, &reports, &disks);
        for outcome in &outcomes {
            assert_eq!(sum_in(outcome), Some(27 - 14));
            let answered = outcome.as_ref().unwrap().as_ref().unwrap();
            assert_eq!(answered.accepted, 3);
            let [excluded] = &answered.excluded[..] else { panic!("one is excluded") };
            assert_eq!(excluded.report, place);
            assert!(excluded.evidence.holds(&scene.scope()));
        }
        let answered = outcomes[0].as_ref().unwrap().as_ref().unwrap();
        nobody_else_is_convicted(&scene, &reports, &answered.excluded[0].evidence, place);
        for disk in &disks {
            shows_only(disk, &reports, |i| if i == place { Field::S } else { Field::E });
        }
    }
}

/// The evidence does not convict an honest reporter, nor without all openings.
fn nobody_else_is_convicted(scene: &Scene, reports: &[Report], evidence: &Evidence, place: usize) {
    let other = usize::from(place == 0);
    let moved = Evidence { report: reports[other].bytes().to_vec(), ..evidence.clone() };
    assert!(!moved.holds(&scene.scope()));
    let mut fewer = evidence.clone();
    fewer.openings.pop();
    assert!(!fewer.holds(&scene.scope()));
    let mut changed = evidence.clone();
    changed.openings.swap(0, 1);
    assert!(!changed.holds(&scene.scope()));
    let scope = Scope { number: 1, ..scene.scope() };
    assert!(!evidence.holds(&scope));
    // All members together, about a report that is right.
    let right = &reports[other];
    let openings = (0..scene.parties())
        .map(|i| {
            let purpose = crate::opening::of_complaint(right, i);
            let complained = crate::opening::complained(right);
            let points = crate::opening::show(&scene.exchanges[i], &purpose, &complained);
            crate::Opening { points }
        })
        .collect();
    let framed = Evidence { report: right.bytes().to_vec(), openings };
    assert!(!framed.holds(&scene.scope()), "an honest reporter cannot be framed");
}

/// On this disk these are the only fields that may be shown, and the others are refused.
fn shows_only(disk: &Disk, reports: &[Report], shown: impl Fn(usize) -> Field) {
    for (i, report) in reports.iter().enumerate() {
        for field in [Field::E, Field::S] {
            let mut restarted = disk.clone();
            let asked = marks::show(&mut restarted, field, std::iter::once((i, report)));
            assert_eq!(asked.is_ok(), field == shown(i), "report {i}, {field:?}");
        }
    }
}

/// Attack: the excluded leave fewer than the minimum. Nothing of the others is shown.
#[test]
fn too_few_after_exclusions_shows_nothing() {
    let mut scene = scene(3);
    scene.question.minimum = 4;
    let mut reports = scene.reports(&NUMBERS);
    let wrong = scene.with_wrong_check(2, 14);
    let place = reports.iter().position(|r| r.reporter() == wrong.reporter()).unwrap();
    reports[place] = wrong;
    let network = Network::default();
    for outcome in scene.run(&network, 1, &reports, &scene.disks()) {
        assert_eq!(failed(&outcome), &Failed::TooFew { missing: 1 });
    }
    for member in 0..3 {
        let lengths: Vec<usize> =
            statements(&network, PartyId(member)).iter().map(Vec::len).collect();
        assert_eq!(lengths, [opening_of(4), 128, 64], "Z_χ, Z_s of the one, the signature");
    }
}

/// Changes the statement number `n` of a member, alike to all.
fn changed_statement(
    scene: &Scene,
    n: u32,
    change: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static,
) -> Network {
    let first = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    scene.corrupt(PartyId(1), move |_, message: &Message| {
        let tag = message.signed.header.tag;
        if tag.step != Kind::Statement.step() {
            return None;
        }
        let mut seen = first.lock().unwrap();
        seen.insert(tag.sequence);
        let place = seen.iter().position(|sequence| *sequence == tag.sequence)?;
        (place as u32 == n).then(|| change(&message.body))
    })
}

/// Every honest member names P1 for its lie, or is told that another one has stopped.
fn assert_named(outcomes: &[Outcome], lie: Lie) {
    let mut named = 0;
    for (i, outcome) in outcomes.iter().enumerate().filter(|(i, _)| *i != 1) {
        match failed(outcome) {
            Failed::Member { member, lie: found } => {
                assert_eq!((*member, *found), (PartyId(1), lie), "P{i}");
                named += 1;
            }
            Failed::Computation(Refused::Aborted(Abort::Stopped(_))) => {}
            other => panic!("P{i}: {other}"),
        }
    }
    assert!(named > 0, "nobody is named");
}

/// Attack: a member shows another point, so that χ, s or e would be another.
#[test]
fn a_member_that_shows_a_wrong_point_is_named() {
    for parties in [2, 3] {
        let scene = scene(parties);
        let honest = scene.reports(&NUMBERS);
        let mut with_complaint = honest.clone();
        let wrong = scene.with_wrong_check(2, 14);
        let place = honest.iter().position(|r| r.reporter() == wrong.reporter()).unwrap();
        with_complaint[place] = wrong;
        // χ; s; e with its list before it.
        for (reports, statement) in [(&honest, 0), (&with_complaint, 1), (&honest, 2)] {
            // The points of the first two reports change places: both are points, and the wrong
            // ones.
            let network = changed_statement(&scene, statement, |body| {
                let mut body = body.to_vec();
                let (first, rest) = body.split_at_mut(32);
                first.swap_with_slice(&mut rest[..32]);
                body
            });
            let outcomes = scene.run(&network, 1, reports, &scene.disks());
            assert_named(&outcomes, Lie::Opening);
        }
        let network = changed_statement(&scene, 1, |body| vec![body[0] ^ 1; body.len()]);
        assert_named(&scene.run(&network, 1, &honest, &scene.disks()), Lie::List);
    }
}

/// Attack: a report's cover is asked for before the list of accepted reports stands.
#[test]
fn nothing_of_a_report_is_shown_before_all_have_signed_the_list() {
    let scene = scene(3);
    let reports = scene.reports(&NUMBERS);
    let network = changed_statement(&scene, 1, |body| vec![0; body.len()]);
    let disks = scene.disks();
    scene.run(&network, 1, &reports, &disks);
    for member in [0, 2] {
        let lengths: Vec<usize> =
            statements(&network, PartyId(member)).iter().map(Vec::len).collect();
        assert_eq!(lengths, [opening_of(4), 64], "no Z_e");
        // Nothing is marked: both fields are still possible, and none was shown.
        let mut disk = disks[usize::from(member)].clone();
        assert!(marks::show(&mut disk, Field::S, reports.iter().enumerate()).is_ok());
    }
}

/// A disk that fails when the `n`-th batch of entries is written: the process is killed there.
struct Dying {
    disk: Disk,
    left: usize,
}

impl Journal for Dying {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let before = self.disk.keep(entries)?;
        self.left = self.left.checked_sub(1).ok_or("killed")?;
        Ok(before)
    }
}

/// Attack (N3): a run is broken off after χ is known, and the reports are adjusted again with other
/// differences, which a member that knows χ can choose so that a change passes.
#[test]
fn a_report_is_adjusted_once_also_after_a_restart() {
    let scene = scene(3);
    let reports = scene.reports(&NUMBERS);
    // P0 is killed after the second entry, the differences: before they are sent, at the latest.
    for left in [1, 2] {
        let disks = scene.disks();
        let network = Network::default();
        scene.world.run(&network, |party| {
            use futures::FutureExt;
            let (disks, scene, reports) = (&disks, &scene, &reports);
            async move {
                let me = party.id.index();
                let left = if me == 0 { left } else { usize::MAX };
                let mut dying = Dying { disk: disks[me].clone(), left };
                let sealed = scene.sealed(1, reports);
                let plan = crate::compute::plan::Plan::new(&party, &scene.exchanges[me], &sealed);
                let _ = scene.carry_out(&plan.unwrap(), &mut dying).await;
            }
            .boxed_local()
        });
        // Everybody has written it down: whoever is asked again refuses, for any run.
        let network = Network::default();
        let outcomes = scene.run(&network, 2, &reports, &disks);
        let spent = Failed::Spent { reports: (0..4).collect() };
        assert_eq!(failed(&outcomes[0]), &spent);
        for member in 0..3 {
            // The differences are as long as no other opening: 4 reports of 64 + 4 bits.
            let sent = network.sent();
            let differences = sent.iter().filter(|(_, message)| {
                let header = &message.signed.header;
                header.from == PartyId(member)
                    && header.tag.step == Kind::Opening.step()
                    && message.body.len() == 4 * 68 / 8
            });
            assert_eq!(differences.count(), 0, "member {member} has sent other bytes");
        }
        assert!(outcomes.iter().all(|outcome| sum_in(outcome).is_none()));
        // The same run cannot be had again either, by who has no tape of it.
        let again = scene.run(&Network::default(), 1, &reports, &disks);
        assert!(matches!(failed(&again[0]), Failed::Ticket(_)));
    }
}

/// The same of lists, whose sum has one difference: it stands beside the first report, and every
/// report of the run is used.
#[test]
fn lists_are_adjusted_once_also_after_a_restart() {
    let scene = Scene::new(23, 2, different_things());
    let reports = scene.lists();
    let disks = scene.disks();
    let count = scene.run(&Network::default(), 1, &reports, &disks);
    assert!(count_in(&count[0]).is_some_and(|count| (15..80).contains(&count)), "{count:?}");
    for (again, places) in [(&reports[..], vec![0, 1, 2]), (&reports[1..], vec![0, 1])] {
        let network = Network::default();
        let outcomes = scene.run(&network, 2, again, &disks);
        for outcome in &outcomes {
            // Who hears the other one stop before it looks at its disk says that.
            match failed(outcome) {
                Failed::Spent { reports } => assert_eq!(reports, &places),
                Failed::Computation(Refused::Aborted(Abort::Stopped(_))) => {}
                other => panic!("{other}"),
            }
        }
        let bits = scene.question.form.bits();
        let sent = network.sent();
        let openings = sent.iter().filter(|(_, message)| {
            message.signed.header.tag.step == Kind::Opening.step()
                && message.body.len() == bits.div_ceil(8)
        });
        assert_eq!(openings.count(), 0, "a second difference");
    }
}

/// Why N3: who knows χ before it puts in its share changes a number unseen.
#[test]
fn n3_a_change_passes_if_chi_is_known_before() {
    use crate::report::shares::check;
    let chi: Vec<u64> = (1..5).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let s = [true, false, true, true].into_iter().collect();
    let changed = [true, false, true, false].into_iter().collect();
    let first = 0x1234;
    assert_eq!(check(first, &s, &chi), check(first ^ chi[3], &changed, &chi));
    assert_ne!(check(first, &s, &chi), check(first ^ 1, &changed, &chi), "a guess does not");
}

/// A member that was told to cancel, and has put that in the place of the mark, opens nothing: the
/// others come to no answer without it.
#[test]
fn what_was_cancelled_is_not_opened() {
    let scene = scene(3);
    let reports = scene.reports(&NUMBERS);
    let disks = scene.disks();
    disks[1].clone().keep(&[(marks::opening_mark(), b"cancelled".to_vec())]).unwrap();
    let outcomes = scene.run(&Network::default(), 1, &reports, &disks);
    assert_eq!(failed(&outcomes[1]), &Failed::Withheld);
    assert!(outcomes.iter().all(|outcome| sum_in(outcome).is_none()));
}

/// Attack: after a restart, or in another run, a member is asked for the other one of s and e.
#[test]
fn no_report_ever_shows_both_fields() {
    let scene = scene(2);
    let reports = scene.reports(&NUMBERS);
    for (first, second) in [(Field::E, Field::S), (Field::S, Field::E)] {
        let disk = Disk::default();
        marks::show(&mut disk.clone(), first, reports[..2].iter().enumerate()).unwrap();
        let refused = marks::show(&mut disk.clone(), second, reports.iter().enumerate());
        assert_eq!(refused, Err(Failed::Spent { reports: vec![0, 1] }));
        // The first one may be shown again, in the same bytes.
        assert!(marks::show(&mut disk.clone(), first, reports[..2].iter().enumerate()).is_ok());
    }
    // A disk that cannot be written shows nothing.
    let mut full = Dying { disk: Disk::default(), left: 0 };
    let refused = marks::show(&mut full, Field::E, reports.iter().enumerate());
    assert_eq!(refused, Err(Failed::Journal("killed".into())));
}

/// Members with other reports, or another order of them, do not compute together.
#[test]
fn reports_that_are_not_the_seals_are_refused() {
    let scene = scene(2);
    let reports = scene.reports(&NUMBERS);
    let other = Scene::new(22, 2, sum_of_four_bits());
    let mut disorder = reports.clone();
    disorder.swap(0, 1);
    let twice = vec![reports[0].clone(), reports[0].clone(), reports[1].clone()];
    for wrong in [disorder, twice, other.reports(&NUMBERS)] {
        for outcome in scene.run(&Network::default(), 1, &wrong, &scene.disks()) {
            assert_eq!(failed(&outcome), &Failed::Reports);
        }
    }
    let outcomes = other.run(&Network::default(), 1, &other.reports(&[1]), &other.disks());
    assert_eq!(failed(&outcomes[0]), &Failed::TooFew { missing: 1 });
}

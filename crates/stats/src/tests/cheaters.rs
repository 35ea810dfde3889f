//! Members that keep to their lie: their own code goes on from the wrong value, so that no
//! comparison of what was said can catch it, only the check that is for it.

use std::sync::Arc;

use futures::FutureExt;
use ostrakon_authbits::{Abort, Kind, Refused};
use ostrakon_party::{Message, Party, PartyId};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target};

use super::{Disk, Outcome, Scene, nightly, sum_in, sum_of_four_bits};
use crate::compute::marks;
use crate::compute::plan::{Cheat, Plan};
use crate::report::Field;
use crate::{Failed, Lie, Report};

/// P1's course with a lie.
async fn lying(scene: &Scene, party: Party, reports: &[Report], cheat: Cheat) -> Failed {
    let sealed = scene.sealed(1, reports);
    let mut plan = Plan::new(&party, &scene.exchanges[party.id.index()], &sealed).unwrap();
    plan.cheat = cheat;
    scene.carry_out(&plan, &mut Disk::default()).await.expect_err("it does not get through")
}

fn run(
    scene: &Scene,
    (network, reports): (&Network, &[Report]),
    cheat: Cheat,
    disks: &[Disk],
) -> Vec<Outcome> {
    scene.world.run(network, |party| {
        let disk = disks[party.id.index()].clone();
        async move {
            if party.id == PartyId(1) {
                return Err(lying(scene, party, reports, cheat).await);
            }
            scene.compute(&party, scene.sealed(1, reports), disk).await
        }
        .boxed_local()
    })
}

/// A member has shown χ of all reports, and e of none.
fn assert_no_cover(
    scene: &Scene,
    network: &Network,
    member: usize,
    reports: &[Report],
    case: &str,
) {
    let member = PartyId(u8::try_from(member).unwrap());
    for report in reports {
        let shown = scene.shown(network, member, report);
        assert!(shown.contains(&Field::Chi), "{case}: {member} has not shown χ");
        assert!(!shown.contains(&Field::E), "{case}: {member} has shown covers");
    }
}

/// All honest members name P1 or are told that somebody has stopped; nobody has shown a cover, and
/// no report of the run is ever opened.
fn assert_named(parties: usize, cheat: Cheat, lie: Lie) {
    let scene = Scene::new(31, parties, sum_of_four_bits());
    let reports = scene.reports(&[3, 9, 14, 1]);
    let (network, disks) = (Network::default(), scene.disks());
    let outcomes = run(&scene, (&network, &reports), cheat, &disks);
    let mut named = 0;
    for (i, outcome) in outcomes.iter().enumerate().filter(|(i, _)| *i != 1) {
        match outcome.as_ref().expect("it ends") {
            Err(Failed::Member { member, lie: found }) => {
                assert_eq!((*member, *found), (PartyId(1), lie), "{cheat:?}: P{i}");
                named += 1;
            }
            Err(Failed::Computation(Refused::Aborted(Abort::Stopped(_)))) => {}
            other => panic!("{cheat:?}: P{i}: {other:?}"),
        }
        assert_no_cover(&scene, &network, i, &reports, &format!("{cheat:?}"));
        let mut disk = disks[i].clone();
        let refused = marks::show(&mut disk, Field::E, reports.iter().enumerate());
        assert_eq!(refused, Err(Failed::Spent { reports: vec![0, 1, 2, 3] }), "{cheat:?}: P{i}");
    }
    assert!(named > 0, "{cheat:?}: nobody is named");
}

#[test]
fn the_course_itself_is_sound() {
    let scene = Scene::new(31, 2, sum_of_four_bits());
    let reports = scene.reports(&[3, 9, 14, 1]);
    let outcomes = scene.run(&Network::default(), 1, &reports, &scene.disks());
    assert!(outcomes.iter().all(|outcome| sum_in(outcome) == Some(27)));
}

/// Attack (item 16): a member puts in its share with one bit turned round, and so would change the
/// number. χ finds it; the complaint shows that y is right; the masks show who.
#[test]
fn a_member_that_puts_in_another_share_is_named() {
    assert_named(2, Cheat::Difference, Lie::Difference);
    assert_named(3, Cheat::Difference, Lie::Difference);
}

/// Attack (N1, item 16): a member opens a wrong share of ŷ, to have a reporter excluded. The MAC
/// check fails, the key burns, and the masks show who.
#[test]
fn a_member_that_opens_a_wrong_share_of_the_check_is_named() {
    assert_named(2, Cheat::Element, Lie::Check);
    assert_named(3, Cheat::Element, Lie::Check);
}

/// P1 lies, and it or another corrupt member lies again in what follows: in the complaint, in the
/// accounts of masks, in what settles the sum. No answer comes out, no cover is shown, and whom an
/// honest member names is corrupt. Returns how often one is named.
fn sweep_accounts(parties: usize, cheat: Cheat, corrupt: &[u8], every: usize) -> usize {
    let scene = Scene::new(31, parties, sum_of_four_bits());
    let reports = scene.reports(&[3, 9, 14, 1]);
    let course = Network::default();
    run(&scene, (&course, &reports), cheat, &scene.disks());
    let mut named = 0;
    for liar in corrupt.iter().copied().map(PartyId) {
        let sent = course.sent();
        let own: Vec<_> = sent.iter().filter(|(_, m)| m.signed.header.from == liar).collect();
        let is_sums = |m: &Message| m.signed.header.tag.step == Kind::Elements.step();
        let sums = own.iter().rposition(|(_, message)| is_sums(message));
        let bodies: Arc<Vec<_>> = Arc::new(own.iter().map(|(_, m)| m.body.clone()).collect());
        for n in sums.expect("sums are opened") + 1..own.len() {
            let chosen = |(i, _): &(usize, Mutation)| (i + n).is_multiple_of(every);
            for (_, mutation) in Mutation::ALL.into_iter().enumerate().filter(chosen) {
                let (network, key) = (Network::default(), scene.world.key(liar));
                let (target, bodies) = (Target::Nth(n), Arc::clone(&bodies));
                network.corrupt(Saboteur::new(liar, key, 31, target, mutation, bodies));
                let outcomes = run(&scene, (&network, &reports), cheat, &scene.disks());
                let honest = |i: &usize| !corrupt.iter().any(|party| usize::from(*party) == *i);
                for i in (0..parties).filter(honest) {
                    let case = format!("{cheat:?}, {liar} in message {n}, {mutation:?}: P{i}");
                    assert_no_cover(&scene, &network, i, &reports, &case);
                    named += usize::from(names_a_corrupt_one(&outcomes[i], corrupt, &case));
                }
            }
        }
    }
    named
}

/// Whether an honest member names somebody, who is corrupt.
fn names_a_corrupt_one(outcome: &Outcome, corrupt: &[u8], case: &str) -> bool {
    let is_corrupt = |party: &PartyId| corrupt.contains(&party.0);
    match outcome {
        None => false,
        Some(Ok(answered)) => panic!("{case}: {answered:?}"),
        Some(Err(Failed::Member { member, .. })) => {
            assert!(is_corrupt(member), "{case}: {member} is named");
            true
        }
        Some(Err(Failed::Dispute(one, other))) => {
            assert!(is_corrupt(one) || is_corrupt(other), "{case}: {one} or {other}");
            true
        }
        Some(Err(Failed::Computation(Refused::Aborted(abort)))) => match abort {
            Abort::Stopped(_) | Abort::View(_) | Abort::MacCheck => false,
            abort => {
                let said = abort.to_string();
                let named = corrupt.iter().any(|party| said.starts_with(&format!("P{party} ")));
                assert!(named, "{case}: {said}");
                true
            }
        },
        Some(Err(other)) => panic!("{case}: {other}"),
    }
}

/// Attack: a second lie hides the first one, or puts it on somebody else.
#[test]
fn whoever_lies_again_when_it_is_to_account_is_named_or_stops_the_run() {
    for cheat in [Cheat::Difference, Cheat::Element] {
        let named = sweep_accounts(2, cheat, &[1], if nightly() { 1 } else { 5 });
        assert!(named > 5, "{cheat:?}: {named}");
        let named = sweep_accounts(3, cheat, &[1, 2], if nightly() { 1 } else { 19 });
        assert!(named > 2, "{cheat:?}: {named}");
    }
}

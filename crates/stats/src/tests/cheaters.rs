//! Members that keep to their lie: their own code goes on from the wrong value, so that no
//! comparison of what was said can catch it, only the check that is for it.

use futures::FutureExt;
use ostrakon_authbits::{Abort, Refused};
use ostrakon_party::{Party, PartyId};
use ostrakon_testkit::Network;

use super::{Disk, Outcome, Scene, opening_of, statements, sum_in, sum_of_four_bits};
use crate::compute::Plan;
use crate::intake::Cheat;
use crate::report::Field;
use crate::{Failed, Lie, Report, marks};

/// P1's course with a lie.
async fn lying(scene: &Scene, party: Party, reports: &[Report], cheat: Cheat) -> Failed {
    let sealed = scene.sealed(1, reports);
    let mut plan = Plan::new(&party, &scene.exchanges[party.id.index()], &sealed).unwrap();
    plan.cheat = cheat;
    scene.carry_out(&plan, &mut Disk::default()).await.expect_err("it does not get through")
}

fn run(scene: &Scene, reports: &[Report], cheat: Cheat, disks: &[Disk]) -> (Network, Vec<Outcome>) {
    let network = Network::default();
    let outcomes = scene.world.run(&network, |party| {
        let disk = disks[party.id.index()].clone();
        async move {
            if party.id == PartyId(1) {
                return Err(lying(scene, party, reports, cheat).await);
            }
            scene.compute(&party, scene.sealed(1, reports), disk).await
        }
        .boxed_local()
    });
    (network, outcomes)
}

/// All honest members name P1 or are told that somebody has stopped; nobody has shown a cover, and
/// no report of the run is ever opened.
fn assert_named(parties: usize, cheat: Cheat, lie: Lie) {
    let scene = Scene::new(31, parties, sum_of_four_bits());
    let reports = scene.reports(&[3, 9, 14, 1]);
    let disks = scene.disks();
    let (network, outcomes) = run(&scene, &reports, cheat, &disks);
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
        let id = PartyId(u8::try_from(i).unwrap());
        // Z_χ comes first; an opening of all reports comes no second time.
        let openings = statements(&network, id);
        let openings = openings.iter().filter(|body| body.len() == opening_of(reports.len()));
        assert_eq!(openings.count(), 1, "{cheat:?}: P{i} has shown covers");
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

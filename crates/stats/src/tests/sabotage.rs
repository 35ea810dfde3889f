//! The sabotage sweep over the intake: every message of a corrupt member, from the masks on, is
//! changed in every way.
//!
//! Whatever is done: an honest member has the right answer, or stops, or waits; whom it names is
//! the corrupt one; and no honest member ever shows both s and e of a report. (What is sent before
//! the masks, and in the computation, is swept in `authbits`.) `OSTRAKON_NIGHTLY` runs every
//! mutation of every message; otherwise each message has some.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use ostrakon_authbits::{Abort, Kind, Refused, Unprepared};
use ostrakon_party::{Message, PartyId, Step};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target};

use super::{
    Outcome, Scene, count_in, different_things, nightly, statements, sum_in, sum_of_four_bits,
};
use crate::report::Field;
use crate::{Failed, Report};

struct Course {
    scene: Scene,
    reports: Vec<Report>,
    /// What comes out of the reports that are right.
    right: Right,
}

enum Right {
    /// The sum of numbers, of which one report is left out.
    Sum(i64),
    /// The count of different things. Members may raise it, as reporters may.
    AtLeast(u64),
}

impl Right {
    fn is(&self, outcome: &Outcome) -> bool {
        let left_out =
            outcome.as_ref().and_then(|outcome| Some(outcome.as_ref().ok()?.excluded.len()));
        match self {
            Right::Sum(sum) => sum_in(outcome) == Some(*sum) && left_out == Some(1),
            Right::AtLeast(least) => {
                count_in(outcome).is_some_and(|count| count >= *least) && left_out == Some(0)
            }
        }
    }
}

impl Course {
    fn new(seed: u64, parties: usize) -> Self {
        let scene = Scene::new(seed, parties, sum_of_four_bits());
        let mut reports = scene.reports(&[3, 9, 14]);
        let wrong = scene.with_wrong_check(2, 14);
        let place = reports.iter().position(|r| r.reporter() == wrong.reporter()).unwrap();
        reports[place] = wrong;
        Self { scene, reports, right: Right::Sum(12) }
    }

    /// Three lists, whose count an honest run tells.
    fn of_lists(seed: u64, parties: usize) -> Self {
        let scene = Scene::new(seed, parties, different_things());
        let reports = scene.lists();
        let outcomes = scene.run(&Network::default(), 1, &reports, &scene.disks());
        let right = Right::AtLeast(count_in(&outcomes[0]).expect("all are honest"));
        Self { scene, reports, right }
    }

    fn check(&self, outcome: &Outcome, corrupt: &[PartyId], harmless: bool, case: &str) -> bool {
        let failed = match outcome {
            None => {
                assert!(!harmless, "{case}: waiting after a delay or a repetition");
                return false;
            }
            Some(Ok(answered)) => {
                assert!(self.right.is(outcome), "{case}: a wrong answer: {answered:?}");
                return false;
            }
            Some(Err(failed)) => failed,
        };
        assert!(!harmless, "{case}: stopped after a delay or a repetition: {failed}");
        match failed {
            Failed::Member { member, .. } => {
                assert!(corrupt.contains(member), "{case}: {failed}");
            }
            Failed::Dispute(a, b) => {
                assert!(corrupt.contains(a) || corrupt.contains(b), "{case}: {failed}");
            }
            Failed::Preparation(Unprepared::Aborted(abort))
            | Failed::Computation(Refused::Aborted(abort)) => match abort {
                Abort::Length(party)
                | Abort::Malformed(party)
                | Abort::Trees(party)
                | Abort::Correlation(party)
                | Abort::Commitment(party) => {
                    assert!(corrupt.contains(party), "{case}: {abort}");
                }
                Abort::View(_) | Abort::MacCheck => {}
                Abort::Stopped(_) => return false,
            },
            other => panic!("{case}: {other}"),
        }
        true
    }

    /// Of no report has a member shown both s and e, nor e of any beside an account of masks, which
    /// tells s. Whoever has opened the accepted reports has complained about the wrong one alone;
    /// of lists nothing is shown.
    fn check_shown(&self, network: &Network, member: PartyId, case: &str) {
        let shown: Vec<Vec<Field>> =
            self.reports.iter().map(|report| self.scene.shown(network, member, report)).collect();
        let both = |shown: &&Vec<Field>| shown.contains(&Field::S) && shown.contains(&Field::E);
        assert_eq!(shown.iter().find(both), None, "{case}: {member} has shown both fields");
        let count = |field: Field| shown.iter().filter(|shown| shown.contains(&field)).count();
        let counts = [Field::S, Field::E].map(count);
        let right = match self.right {
            Right::Sum(_) => counts == [1, 2] || counts[1] == 0,
            Right::AtLeast(_) => counts == [0, 0],
        };
        assert!(right, "{case}: {member} has shown s and e of {counts:?}");
        // Points and signatures are of 32 bytes each, accounts of masks are not.
        let said = statements(network, member);
        let accounts = said.iter().filter(|body| !body.len().is_multiple_of(32)).count();
        assert!(counts[1] == 0 || accounts == 0, "{case}: {member} has shown e, and masks");
    }

    /// Has the corrupt members change what `target` names. Returns how many honest ones have found
    /// something; `replay` is what each member says elsewhere.
    fn sabotage(
        &self,
        corrupt: &[PartyId],
        target: &Target,
        mutation: Mutation,
        replay: &[Arc<Vec<Bytes>>],
    ) -> usize {
        let (network, seed) = (Network::default(), self.scene.world.seed);
        for &member in corrupt {
            let (key, other) = (self.scene.world.key(member), replay[member.index()].clone());
            let target = target.clone();
            network.corrupt(Saboteur::new(member, key, seed, target, mutation, other));
        }
        let case = format!("seed {seed}, corrupt {corrupt:?}, {target:?}, {mutation:?}");
        let disks = self.scene.disks();
        let outcomes = self.scene.run(&network, 1, &self.reports, &disks);
        let harmless = matches!(mutation, Mutation::Duplicate | Mutation::Delay);
        let members = self.scene.world.roster.parties().zip(&outcomes);
        let honest = members.filter(|(member, _)| !corrupt.contains(member));
        honest
            .filter(|(member, outcome)| {
                self.check_shown(&network, *member, &case);
                self.check(outcome, corrupt, harmless, &case)
            })
            .count()
    }
}

/// The bodies that a member has posted, and which of them belong to the intake.
fn script(network: &Network, party: PartyId) -> (Arc<Vec<Bytes>>, Vec<usize>) {
    let sent = network.sent();
    let own: Vec<_> = sent.iter().filter(|(_, m)| m.signed.header.from == party).collect();
    let sequence = |n: &usize| own[*n].1.signed.header.tag.sequence;
    let of = |kind: Kind| {
        let places = (0..own.len()).filter(|n| own_step(&own[*n].1) == kind.step());
        places.map(|n| sequence(&n)).collect::<BTreeSet<_>>()
    };
    let (masks, statements) = (of(Kind::Corrections), of(Kind::Statement));
    let (masks, last) = (*masks.last().unwrap(), *statements.last().unwrap());
    // From the masks' corrections to the last statement, Z_e. Of lists the signature comes before
    // the masks, and the comparison after their difference is the last.
    let compared = of(Kind::Opening).range(masks..).next().unwrap() + 2;
    let range = if last < masks { last..=compared } else { masks..=last };
    let places = (0..own.len()).filter(|n| range.contains(&sequence(n))).collect();
    (Arc::new(own.iter().map(|(_, m)| m.body.clone()).collect()), places)
}

fn own_step(message: &Message) -> Step {
    message.signed.header.tag.step
}

/// Returns how often an honest member has found something.
fn sweep(
    of: fn(u64, usize) -> Course,
    (seed, parties): (u64, usize),
    corrupt: &[u8],
    every: usize,
) -> usize {
    let course = of(seed, parties);
    let (network, other) = (Network::default(), Network::default());
    let outcomes = course.scene.run(&network, 1, &course.reports, &course.scene.disks());
    assert!(outcomes.iter().all(|outcome| course.right.is(outcome)), "{outcomes:?}");
    for (member, report) in [0, 1].into_iter().zip(&course.reports) {
        let shown = course.scene.shown(&network, PartyId(member), report);
        let chi = matches!(course.right, Right::Sum(_));
        assert_eq!(shown.contains(&Field::Chi), chi, "what is shown is seen");
    }
    let elsewhere = of(seed + 1000, parties);
    elsewhere.scene.run(&other, 1, &elsewhere.reports, &elsewhere.scene.disks());
    let members: Vec<PartyId> = course.scene.world.roster.parties().collect();
    let replay: Vec<_> = members.iter().map(|member| script(&other, *member).0).collect();
    let mut found = 0;
    let mut all_ways = |corrupt: &[PartyId], target: &Target, n: usize| {
        for (i, mutation) in Mutation::ALL.into_iter().enumerate() {
            if (i + n).is_multiple_of(every) {
                found += course.sabotage(corrupt, target, mutation, &replay);
            }
        }
    };
    for &corrupt in corrupt {
        let corrupt = PartyId(corrupt);
        let (_, places) = script(&network, corrupt);
        assert!(places.len() >= 8 * (parties - 1), "{} messages", places.len());
        for n in places {
            all_ways(&[corrupt], &Target::Nth(n), n);
        }
        // All others together, at each step of the intake.
        let others: Vec<PartyId> = members.iter().copied().filter(|m| *m != corrupt).collect();
        let steps = [Kind::Corrections, Kind::Opening, Kind::Elements, Kind::Statement];
        for (n, kind) in steps.into_iter().enumerate().filter(|_| parties > 2) {
            all_ways(&others, &Target::Step(kind.step()), n);
        }
    }
    found
}

#[test]
fn every_message_of_one_of_two() {
    let found = sweep(Course::new, (41, 2), &[0, 1], if nightly() { 1 } else { 4 });
    assert!(found > 10, "the sweep reached the checks only {found} times");
}

/// And every step of the two others together.
#[test]
fn every_message_of_one_and_of_two_of_three() {
    let corrupt: &[u8] = if nightly() { &[0, 1, 2] } else { &[1] };
    let found = sweep(Course::new, (42, 3), corrupt, if nightly() { 1 } else { 9 });
    assert!(found > 10, "the sweep reached the checks only {found} times");
}

/// The same where lists are added up and no report is opened.
#[test]
fn every_message_about_lists() {
    let every = if nightly() { 1 } else { 9 };
    let found = sweep(Course::of_lists, (43, 2), &[0, 1], every);
    assert!(found > 5, "the sweep reached the checks only {found} times");
    let every = if nightly() { 1 } else { 31 };
    sweep(Course::of_lists, (44, 3), &[1], every);
}

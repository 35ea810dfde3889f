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
use ostrakon_party::{PartyId, Step};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target};

use super::{Outcome, Scene, nightly, opening_of, statements, sum_in, sum_of_four_bits};
use crate::{Failed, Report};

struct Course {
    scene: Scene,
    reports: Vec<Report>,
    /// The sum of the reports that are right.
    sum: i64,
}

impl Course {
    fn new(seed: u64, parties: usize) -> Self {
        let scene = Scene::new(seed, parties, sum_of_four_bits());
        let mut reports = scene.reports(&[3, 9, 14]);
        let wrong = scene.with_wrong_check(2, 14);
        let place = reports.iter().position(|r| r.reporter() == wrong.reporter()).unwrap();
        reports[place] = wrong;
        Self { scene, reports, sum: 12 }
    }

    fn check(&self, outcome: &Outcome, corrupt: &[PartyId], harmless: bool, case: &str) -> bool {
        let failed = match outcome {
            None => {
                assert!(!harmless, "{case}: waiting after a delay or a repetition");
                return false;
            }
            Some(Ok(answered)) => {
                assert_eq!(sum_in(outcome), Some(self.sum), "{case}: a wrong answer");
                assert_eq!(answered.excluded.len(), 1, "{case}");
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

    /// A member has shown χ of all three reports, at most, and never e of all: s of one of them is
    /// what the complaint shows.
    fn check_shown(network: &Network, member: PartyId, case: &str) {
        let shown = statements(network, member);
        let of_all = shown.iter().filter(|body| body.len() == opening_of(3)).count();
        assert!(of_all <= 1, "{case}: {member} has shown both fields of a report");
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
                Self::check_shown(&network, *member, &case);
                self.check(outcome, corrupt, harmless, &case)
            })
            .count()
    }
}

/// The bodies that a member has posted, and which of them belong to the intake.
fn script(network: &Network, party: PartyId) -> (Arc<Vec<Bytes>>, Vec<usize>) {
    let sent = network.sent();
    let own: Vec<_> = sent.iter().filter(|(_, m)| m.signed.header.from == party).collect();
    let steps: Vec<Step> = own.iter().map(|(_, m)| m.signed.header.tag.step).collect();
    let sequence = |n: &usize| own[*n].1.signed.header.tag.sequence;
    let of = |kind: Kind| (0..own.len()).filter(|n| steps[*n] == kind.step()).collect::<Vec<_>>();
    // From the masks' corrections to the last statement, Z_e.
    let first = of(Kind::Corrections).iter().map(sequence).collect::<BTreeSet<_>>();
    let first = *first.last().unwrap();
    let last = of(Kind::Statement).iter().map(sequence).max().unwrap();
    let places = (0..own.len()).filter(|n| (first..=last).contains(&sequence(n))).collect();
    (Arc::new(own.iter().map(|(_, m)| m.body.clone()).collect()), places)
}

fn sweep(seed: u64, parties: usize, corrupt: &[u8], every: usize) {
    let course = Course::new(seed, parties);
    let (network, other) = (Network::default(), Network::default());
    let outcomes = course.scene.run(&network, 1, &course.reports, &course.scene.disks());
    assert!(outcomes.iter().all(|outcome| sum_in(outcome) == Some(course.sum)), "{outcomes:?}");
    let elsewhere = Course::new(seed + 1000, parties);
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
        assert!(places.len() >= 15 * (parties - 1), "{} messages", places.len());
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
    assert!(found > 10, "the sweep reached the checks only {found} times");
}

#[test]
fn every_message_of_one_of_two() {
    sweep(41, 2, &[0, 1], if nightly() { 1 } else { 4 });
}

/// And every step of the two others together.
#[test]
fn every_message_of_one_and_of_two_of_three() {
    let corrupt: &[u8] = if nightly() { &[0, 1, 2] } else { &[1] };
    sweep(42, 3, corrupt, if nightly() { 1 } else { 9 });
}

//! Members that are killed at any step, and go on with what is on disk.
//!
//! A member dies at one of its messages or entries: before it is written, or after that and before
//! it is sent. What it has received since it last wrote is gone with it. `OSTRAKON_NIGHTLY` runs
//! every step; otherwise some.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures::FutureExt;
use ostrakon_authbits::Journal;
use ostrakon_crypto::Digest;
use ostrakon_party::{Header, Party, PartyId, Recorder, Reel, Tape};
use ostrakon_testkit::Network;

use super::{
    Disk, Outcome, Scene, count_in, different_things, nightly, opening_of, sum_in, sum_of_four_bits,
};
use crate::compute::marks;
use crate::compute::plan::{Cheat, Plan};
use crate::report::Field;
use crate::report::shares::Share;
use crate::{Answered, Failed, Report};

/// What outlives a member's process.
#[derive(Clone, Default)]
struct Home {
    disk: Disk,
    tape: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Reel for Home {
    fn append(&self, piece: &[u8]) -> Result<(), String> {
        self.tape.lock().unwrap().push(piece.to_vec());
        Ok(())
    }
}

/// When a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    /// Before the message or entry of this number is written.
    Before(usize),
    /// After it is written; a message is not sent any more.
    After(usize),
    Never,
}

/// One process of a member.
struct Life {
    death: Death,
    steps: AtomicUsize,
    dead: AtomicBool,
}

impl Life {
    fn new(death: Death) -> Arc<Self> {
        Arc::new(Self { death, steps: AtomicUsize::new(0), dead: AtomicBool::new(false) })
    }

    fn is_over(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Writes something, unless the process dies before; `None` if it is dead then.
    fn step<T>(&self, write: impl FnOnce() -> T) -> Option<T> {
        let number = self.steps.fetch_add(1, Ordering::SeqCst);
        if self.death == Death::Before(number) {
            self.dead.store(true, Ordering::SeqCst);
        }
        if self.is_over() {
            return None;
        }
        let written = write();
        self.dead.store(self.death == Death::After(number), Ordering::SeqCst);
        (!self.is_over()).then_some(written)
    }
}

/// The tape of a process.
struct Mortal {
    tape: Tape,
    life: Arc<Life>,
    /// Forgets what was received: a tape as it must not be.
    forgetful: bool,
}

impl Recorder for Mortal {
    fn posts(&self, to: PartyId, header: &Header) -> bool {
        self.life.step(|| self.forgetful || self.tape.posts(to, header)).unwrap_or(false)
    }

    fn takes(&self, header: &Header) -> bool {
        self.forgetful || self.tape.takes(header)
    }
}

/// The journal of a process.
struct Entries(Disk, Arc<Life>);

impl Journal for Entries {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let Self(disk, life) = self;
        life.step(|| disk.keep(entries)).unwrap_or_else(|| Err("killed".into()))
    }
}

struct Course {
    scene: Scene,
    reports: Vec<Report>,
    /// The report that is left out, of numbers; lists are all accepted.
    wrong: Option<usize>,
}

impl Course {
    /// Three lists.
    fn of_lists(parties: usize) -> Self {
        let scene = Scene::new(52, parties, different_things());
        let reports = scene.lists();
        Self { scene, reports, wrong: None }
    }

    /// Three reports, one of which is wrong.
    fn new(parties: usize) -> Self {
        let scene = Scene::new(51, parties, sum_of_four_bits());
        let mut reports = scene.reports(&[3, 9, 14]);
        let report = scene.with_wrong_check(2, 14);
        let wrong = reports.iter().position(|r| r.reporter() == report.reporter()).unwrap();
        reports[wrong] = report;
        Self { scene, reports, wrong: Some(wrong) }
    }

    /// One process; `None` if it dies.
    async fn process(
        &self,
        party: &Party,
        home: &Home,
        life: &Arc<Life>,
        (cheat, forgetful): (Cheat, bool),
    ) -> Outcome {
        let pieces = home.tape.lock().unwrap().clone();
        let tape = Tape::open(Box::new(home.clone()), &pieces).unwrap();
        let party = party.recorded(Arc::new(Mortal { tape, life: life.clone(), forgetful }));
        let sealed = self.scene.sealed(1, &self.reports);
        let mut plan = Plan::new(&party, &self.scene.exchanges[party.id.index()], &sealed).unwrap();
        plan.cheat = cheat;
        let mut journal = Entries(home.disk.clone(), life.clone());
        let mut computing = pin!(self.scene.carry_out(&plan, &mut journal));
        poll_fn(|context| {
            let polled = computing.as_mut().poll(context);
            if life.is_over() { Poll::Ready(None) } else { polled.map(Some) }
        })
        .await
    }

    /// A member that dies once, and comes back.
    async fn member(
        &self,
        network: &Network,
        party: &Party,
        home: &Home,
        death: Death,
    ) -> Result<Answered, Failed> {
        let mut life = Life::new(death);
        loop {
            let outcome = self.process(party, home, &life, (Cheat::Nothing, false)).await;
            if let Some(outcome) = outcome {
                return outcome;
            }
            network.restart(party.id);
            life = Life::new(Death::Never);
        }
    }

    fn run(&self, deaths: &[Death]) -> (Network, Vec<Outcome>, Vec<Home>) {
        let network = Network::default();
        let homes: Vec<Home> = deaths.iter().map(|_| Home::default()).collect();
        let outcomes = self.scene.world.run(&network, |party| {
            let (network, homes) = (&network, &homes);
            async move {
                let i = party.id.index();
                self.member(network, &party, &homes[i], deaths[i]).await
            }
            .boxed_local()
        });
        (network, outcomes, homes)
    }

    /// Everybody has the answer; nothing was ever said in two ways; of each report one field was
    /// shown, and of a list none.
    fn check(&self, deaths: &[Death]) {
        let (network, outcomes, homes) = self.run(deaths);
        let count = count_in(&outcomes[0]);
        for outcome in &outcomes {
            match self.wrong {
                Some(_) => assert_eq!(sum_in(outcome), Some(12), "{deaths:?}: {outcome:?}"),
                None => assert!(count.is_some() && count_in(outcome) == count, "{deaths:?}"),
            }
            let answered = outcome.as_ref().unwrap().as_ref().unwrap();
            assert_eq!(answered.excluded.len(), usize::from(self.wrong.is_some()), "{deaths:?}");
        }
        let mut said = BTreeMap::new();
        for (to, message) in network.sent() {
            let header = message.signed.header;
            let before = said.insert((header.from, to, header.tag), header.digest);
            assert!(before.is_none_or(|before| before == header.digest), "{deaths:?}: {header:?}");
        }
        for home in homes.iter().filter(|_| self.wrong.is_some()) {
            for (i, report) in self.reports.iter().enumerate() {
                let other = if Some(i) == self.wrong { Field::E } else { Field::S };
                let asked =
                    marks::show(&mut home.disk.clone(), other, std::iter::once((i, report)));
                assert!(asked.is_err(), "{deaths:?}: both fields of report {i}");
            }
        }
    }

    /// How many messages and entries a member makes.
    fn steps(&self, member: usize) -> usize {
        let lives: Vec<Arc<Life>> =
            (0..self.scene.parties()).map(|_| Life::new(Death::Never)).collect();
        let network = Network::default();
        self.scene.world.run(&network, |party| {
            let (life, home) = (lives[party.id.index()].clone(), Home::default());
            async move { self.process(&party, &home, &life, (Cheat::Nothing, false)).await }
                .boxed_local()
        });
        lives[member].steps.load(Ordering::SeqCst)
    }
}

fn sweep(course: &Course, every: usize) -> usize {
    let (parties, mut deaths) = (course.scene.parties(), 0);
    for member in 0..parties {
        let steps = course.steps(member);
        assert!(steps > 40, "P{member} makes {steps} steps");
        for number in (0..steps).filter(|number| (number + member) % every == 0) {
            for death in [Death::Before(number), Death::After(number)] {
                let mut all = vec![Death::Never; parties];
                all[member] = death;
                course.check(&all);
                deaths += 1;
            }
        }
    }
    deaths
}

#[test]
fn a_member_of_two_that_is_killed_at_any_step_goes_on() {
    let deaths = sweep(&Course::new(2), if nightly() { 1 } else { 5 });
    assert!(deaths > 15, "{deaths} deaths");
}

#[test]
fn a_member_of_three_that_is_killed_at_any_step_goes_on() {
    let deaths = sweep(&Course::new(3), if nightly() { 1 } else { 19 });
    assert!(deaths > 15, "{deaths} deaths");
}

#[test]
fn a_member_of_five_that_is_killed_at_any_step_goes_on() {
    let deaths = sweep(&Course::new(5), if nightly() { 1 } else { 67 });
    assert!(deaths > 15, "{deaths} deaths");
}

#[test]
fn a_member_that_is_killed_at_any_step_of_lists_goes_on() {
    let deaths = sweep(&Course::of_lists(2), if nightly() { 1 } else { 29 });
    assert!(deaths > 5, "{deaths} deaths");
}

#[test]
fn members_that_are_killed_together_at_any_step_go_on() {
    let course = Course::new(3);
    for number in (0..course.steps(0)).step_by(if nightly() { 1 } else { 17 }) {
        course.check(&[Death::Before(number); 3]);
        course.check(&[Death::After(number), Death::Before(number), Death::After(number)]);
    }
}

/// Attack N3 on a restart: P0 has shown Z_χ and is killed. P1, which knows χ now, begins again with
/// a share that differs where χ does not see it, and tells P0 nothing of what it had said before.
/// Returns what P0 comes to.
fn adjusted_again(forgetful: bool) -> (Outcome, Network) {
    let course = Course::new(2);
    let (network, homes) = (Network::default(), [Home::default(), Home::default()]);
    // P0's entries and messages up to Z_χ: found by its length.
    let shown = {
        let network = Network::default();
        course.scene.run(&network, 1, &course.reports, &course.scene.disks());
        let sent = network.sent();
        let own = sent.iter().filter(|(_, message)| message.signed.header.from == PartyId(0));
        let place = own.clone().position(|(_, message)| message.body.len() == opening_of(3));
        // Two entries are made before: the number and the differences.
        place.unwrap() + 2
    };
    let chi = chi_of_first(&course);
    let (p0_is_dead, back) = (Life::new(Death::Before(shown + 1)), AtomicBool::new(false));
    let mut outcomes = course.scene.world.run(&network, |party| {
        let (course, network, homes, p0) = (&course, &network, &homes, p0_is_dead.clone());
        let back = &back;
        async move {
            if party.id == PartyId(0) {
                let first = course.process(&party, &homes[0], &p0, (Cheat::Nothing, forgetful));
                assert!(first.await.is_none(), "it dies");
                network.forget(party.id);
                // It comes back after P1 has forgotten what P0 had said to the first difference.
                poll_fn(|context| {
                    context.waker().wake_by_ref();
                    if back.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
                let life = Life::new(Death::Never);
                return course.process(&party, &homes[0], &life, (Cheat::Nothing, forgetful)).await;
            }
            let (honest, life) = ((Cheat::Nothing, true), Life::new(Death::Never));
            {
                let mut first = pin!(course.process(&party, &homes[1], &life, honest));
                poll_fn(|context| {
                    if p0.is_over() {
                        return Poll::Ready(());
                    }
                    let _ = first.as_mut().poll(context);
                    Poll::Pending
                })
                .await;
            }
            network.forget(party.id);
            back.store(true, Ordering::SeqCst);
            let lie = (Cheat::Unseen(chi), true);
            course.process(&party, &Home::default(), &life, lie).await
        }
        .boxed_local()
    });
    (outcomes.swap_remove(0).flatten(), network)
}

/// χ of the first report's lowest bit, as everybody knows once all members have shown Z_χ.
fn chi_of_first(course: &Course) -> u64 {
    let report = &course.reports[0];
    let sent = report.ephemeral(Field::Chi);
    (0..2).fold(0, |sum, i| {
        let z = (course.scene.exchanges[i].secret() * sent.point).compress().0;
        let key = report.label(Field::Chi).key(i, &sent.encoded, &z);
        let Share::Chi(chi) = Share::of(Field::Chi, &key, 4) else { panic!("of χ") };
        sum ^ chi[0]
    })
}

#[test]
fn n3_who_is_killed_after_chi_takes_no_other_difference() {
    let (outcome, network) = adjusted_again(false);
    assert_eq!(outcome, None, "it waits for what it had acted upon");
    let course = Course::new(2);
    for report in &course.reports {
        assert_eq!(course.scene.shown(&network, PartyId(0), report), [Field::Chi]);
    }
}

/// The attack is one: who forgets what it had received takes the other difference, and the sum is
/// another, unseen.
#[test]
fn n3_who_forgets_what_it_received_is_deceived() {
    let (outcome, _) = adjusted_again(true);
    let sum = sum_in(&outcome);
    assert!(sum.is_some_and(|sum| sum != 12), "{outcome:?}");
}

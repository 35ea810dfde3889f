//! A member of a whole committee is killed at every moment that its disk can tell apart.
//!
//! From the moment on nothing more can be written: a trigger in the member's database sees to it,
//! so that nothing is said either that has to be on disk before. Then the member is killed and
//! started again. By default some moments are tried; `OSTRAKON_NIGHTLY` tries them all at
//! every member (of five members every fifth exchange).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostrakon_computation::ComputationId;
use ostrakon_crypto::Digest;
use ostrakon_party::{Channel, Message, PartyId, SessionId, Tag, Wrapping};
use ostrakon_stats::Answer;
use ostrakon_stats::asked::result;
use sqlx::Connection;

use crate::moments::Moment;
use crate::statistics::{ask, report};
use crate::world::{World, says};

/// Where a message of an engine goes, and what it is.
type Place = (SessionId, PartyId, PartyId, Tag);

/// What the engines of all members have said, over all their lives.
#[derive(Default)]
pub struct Witness(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    said: BTreeMap<Place, Digest>,
    /// Places at which two different things were said.
    twice: Vec<Place>,
}

impl Witness {
    fn hear(&self, to: PartyId, message: &Message) {
        let header = &message.signed.header;
        let place = (header.session, header.from, to, header.tag);
        let mut heard = self.0.lock().unwrap();
        let before = heard.said.insert(place, header.digest);
        if before.is_some_and(|before| before != header.digest) {
            heard.twice.push(place);
        }
    }

    /// Nobody has said two things at one place, and all that was said is of one attempt: one
    /// segment, used once.
    fn of_one_attempt(&self) {
        let heard = self.0.lock().unwrap();
        assert_eq!(heard.twice, [], "two different things at one place");
        let attempts: std::collections::BTreeSet<_> =
            heard.said.keys().map(|(session, .., tag)| (*session, tag.instance)).collect();
        assert_eq!(attempts.len(), 1, "{attempts:?}");
    }
}

/// A member's channel, in the hearing of the witness.
pub struct Witnessed {
    pub channel: Arc<dyn Channel>,
    pub witness: Arc<Witness>,
}

impl Wrapping for Witnessed {
    fn inner(&self) -> &dyn Channel {
        &*self.channel
    }

    fn post(&self, to: PartyId, message: Message) {
        self.witness.hear(to, &message);
        self.channel.post(to, message);
    }

    fn offer(&self, to: PartyId, message: Message) {
        self.witness.hear(to, &message);
        self.channel.offer(to, message);
    }
}

/// How many people report.
const REPORTS: usize = 3;
/// Between two looks at a disk, on which nothing changes any more once the moment has come.
const LOOK: Duration = Duration::from_millis(10);

/// Waits for a member to come to a moment; false if it comes to its end without.
async fn comes_to(world: &World, id: &ComputationId, member: usize, moment: Moment) -> bool {
    let condition = format!("SELECT {}", moment.condition(member, REPORTS));
    let mut disk = world.disk(member).await;
    let comes = loop {
        if says(&mut disk, &condition).await {
            break true;
        }
        if world.members[member].archive(id).is_ok() {
            break false;
        }
        tokio::time::sleep(LOOK).await;
    };
    disk.close().await.unwrap();
    comes
}

/// A computation in which one member dies at this moment; whether there is such a moment.
async fn dies(count: usize, member: usize, moment: Moment) -> bool {
    let mut world = World::start_statistics(count).await;
    let draft = ask(&world);
    let id = draft.draft.id();
    world.create(&draft).await;
    for (seed, number) in [(1, 10), (2, 200)] {
        world.submit(&report(&world, &draft.draft, seed, number)).await;
    }
    world.on_disk(member, &moment.freeze(member, REPORTS)).await;
    // The third report reaches this member alone, and its reporter is gone.
    world.members[member].submit(&id, report(&world, &draft.draft, 3, 30)).await.unwrap();
    let early = moment == Moment::Input;
    if early {
        assert!(comes_to(&world, &id, member, moment).await);
        world.restart_after(member, Moment::THAW).await;
    }
    world.close_beside(&draft, (!early).then_some(member)).await;
    let died = early || comes_to(&world, &id, member, moment).await;
    if died && !early {
        world.restart_after(member, Moment::THAW).await;
    }
    let archive = world.result(&id).await;
    assert_eq!(archive.verify(), Ok(()));
    let result = result(&archive).unwrap().unwrap();
    let median = Answer::Quantile { thousandths: 500, value: 30 };
    assert_eq!(result.answers, [median, Answer::Sum(240)], "{moment:?} at {member}");
    assert_eq!((result.accepted, result.excluded), (3, vec![]), "{moment:?} at {member}");
    world.witness.of_one_attempt();
    // Who has counted an attempt and not said so counts another one.
    let most = if moment == Moment::Counted { 2 } else { 1 };
    let generation = world.members[member].view(&id).unwrap().members[member].generation;
    assert_eq!(generation, most, "{moment:?} at {member}");
    world.stop().await;
    died
}

/// By day these moments and the marks and exchanges at every so many places, of one member after
/// the other; at night every moment and every place of every member, but for exchanges, of which it
/// is every `nightly_step`-th.
async fn sweep(count: usize, by_day: &[Moment], step: usize, nightly_step: usize) -> usize {
    let mut deaths = 0;
    let nightly = ostrakon_testkit::nightly();
    let members = |turn: usize| if nightly { 0..count } else { turn % count..turn % count + 1 };
    let once = if nightly { &Moment::ONCE } else { by_day };
    for (turn, moment) in once.iter().enumerate() {
        for member in members(turn) {
            assert!(dies(count, member, *moment).await, "{moment:?} at {member}");
            deaths += 1;
        }
    }
    for of in [Moment::Marks, Moment::Pieces] {
        let first = of(1);
        let step = match (nightly, first) {
            (true, Moment::Marks(_)) => 1,
            (true, _) => nightly_step,
            (false, Moment::Marks(_)) => step,
            (false, _) => 23 * step,
        };
        for (turn, number) in (1..).step_by(step).enumerate() {
            let mut died = false;
            for member in members(turn) {
                died |= dies(count, member, of(number)).await;
            }
            if !died {
                break;
            }
            deaths += 1;
        }
    }
    deaths
}

/// All moments by day that are not those of five members.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_of_three_is_killed_at_every_moment_that_its_disk_tells_apart() {
    let others = |moment: &Moment| !OF_FIVE.contains(moment);
    let by_day: Vec<Moment> = Moment::ONCE.into_iter().filter(others).collect();
    let deaths = sweep(3, &by_day, 2, 1).await;
    assert!(deaths > by_day.len() + 3, "{deaths} deaths");
}

/// What a member of five dies at by day: attempts of five members take longer.
const OF_FIVE: [Moment; 3] = [Moment::Order, Moment::Counted, Moment::Outcome];

#[tokio::test(flavor = "multi_thread")]
async fn a_member_of_five_is_killed_at_every_moment_that_its_disk_tells_apart() {
    let deaths = sweep(5, &OF_FIVE, 6, 5).await;
    assert!(deaths > OF_FIVE.len() + 1, "{deaths} deaths");
}

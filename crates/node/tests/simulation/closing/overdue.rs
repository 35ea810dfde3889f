//! A scheduler that does not go on: it closes no epoch, or opens none.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use ostrakon_party::{Header, PartyId, Step};
use ostrakon_protocol::{CollectPhase, Status};

use super::{Scene, inside};

const SCHEDULER: PartyId = PartyId(0);

impl Scene {
    /// Another room of the same servers, of which no batch fits.
    fn another(&self) -> Self {
        let settings = serde_json::json!({
            "name": "another", "payload": 128, "capacity": 24, "seconds": 6, "minimum": 2,
        });
        let settings = serde_json::from_value(settings).expect("a room's settings");
        let created = self
            .deployment
            .call(PartyId(1), |server| async move { server.create_room(settings).await }.boxed());
        let room = created.expect("P1 answers").expect("a room is created").descriptor;
        let (deployment, servers) = (Arc::clone(&self.deployment), Arc::clone(&self.servers));
        Self { deployment, room: Arc::new(room), servers, engine: self.engine }
    }

    /// What both others than the scheduler say, in order.
    fn others_say(&self) -> [Status; 2] {
        let room = self.room.id();
        [PartyId(1), PartyId(2)].map(|party| {
            let says = self.deployment.call(party, |server| {
                async move { server.status(room, 0, Duration::ZERO).await }.boxed()
            });
            says.expect("it answers").expect("there is a room")
        })
    }

    /// Lets time pass until both others say so.
    fn run_until(&self, step: Duration, says: impl Fn(&Status) -> bool) {
        for _ in 0..2000 {
            if self.others_say().iter().all(&says) {
                return;
            }
            self.deployment.executor.run_for(step);
        }
        panic!("it does not come to that: {:?}", self.others_say());
    }

    /// Whose word so many say to be missing as are believed: two.
    fn named(&self) -> Vec<u8> {
        let statuses = self.statuses();
        let says = |party: u8| {
            statuses
                .iter()
                .filter_map(|status| status.overdue.as_ref())
                .filter(move |overdue| overdue.by.contains(&party))
        };
        (0..3).filter(|party| says(*party).count() >= 2).collect()
    }
}

/// Whether the epoch's time is over there.
fn is_over(status: &Status) -> bool {
    status.epoch.is_some_and(|epoch| epoch.closes_in_ms == Some(0))
}

/// Its disk stands still, so that it answers and says nothing more. Whoever takes part, and each
/// operator, learns whose word is missing, and not those whom it keeps from echoing each other's
/// words, whatever it says of them. Nothing is lost by it.
#[test]
fn a_scheduler_that_closes_nothing_is_told_of_by_the_others() {
    inside(|| {
        let scene = Scene::new(1, 60, 2);
        (0..6).for_each(|number| scene.join(number));
        let all_in = |status: &Status| status.epoch.is_some_and(|epoch| epoch.submitted == 6);
        scene.run_until(Duration::from_millis(100), all_in);
        scene.deployment.stall(SCHEDULER);
        // Both others say something of them, and cannot echo what they say next.
        (6..12).for_each(|number| scene.join(number));
        scene.run_until(Duration::from_millis(100), is_over);
        scene.deployment.executor.run_for(Duration::from_secs(18));
        assert!(scene.named().is_empty(), "it may be starting again");
        scene.deployment.executor.run_for(Duration::from_secs(4));
        assert_eq!(scene.named(), [SCHEDULER.0]);
        scene.deployment.start(SCHEDULER);
        assert!(scene.published_after(Duration::from_secs(60)).is_some());
        assert!(scene.statuses().iter().all(|status| status.overdue.is_none()));
        scene.deployment.end();
    });
}

/// The batch is there and the scheduler opens no epoch with it: that is told like a close that does
/// not come.
#[test]
fn a_scheduler_that_opens_nothing_is_told_of_by_the_others() {
    inside(|| {
        let scene = Scene::new(1, 60, 2).another();
        scene.run_until(Duration::from_millis(1), |status| status.stock > 0);
        scene.deployment.stall(SCHEDULER);
        let waits = |status: &Status| {
            status.epoch.is_some_and(|epoch| epoch.phase == CollectPhase::WaitingForStock)
        };
        scene.deployment.executor.run_for(Duration::from_secs(18));
        assert!(scene.others_say().iter().all(waits), "the scheduler had opened it");
        assert!(scene.named().is_empty());
        scene.deployment.executor.run_for(Duration::from_secs(4));
        assert_eq!(scene.named(), [SCHEDULER.0]);
        scene.deployment.start(SCHEDULER);
        scene.run_until(Duration::from_millis(100), |status| !waits(status));
        assert!(scene.statuses().iter().all(|status| status.overdue.is_none()));
        (0..6).for_each(|number| scene.join(number));
        assert!(scene.published_after(Duration::from_secs(60)).is_some());
        scene.deployment.end();
    });
}

/// The scheduler's echoes of what P1 says, to P2.
fn is_echo_to_two(header: &Header, to: PartyId) -> bool {
    let tag = &header.tag;
    let of_one = tag.instance.scope == *b"announcements  \x01";
    (header.from, to) == (SCHEDULER, PartyId(2)) && of_one && tag.step == Step(2)
}

/// It keeps from one other that it has heard the third. Nobody can see that: of P1 no further word
/// holds at P2, which does not echo the next one, either. So each names the other, whose word is
/// missing there and who waits for a server in turn: being named convicts nobody.
#[test]
fn who_is_kept_from_an_echo_is_named_as_one_whose_word_is_missing() {
    inside(|| {
        let scene = Scene::new(1, 60, 2);
        (0..6).for_each(|number| scene.join(number));
        let all_in = |status: &Status| status.epoch.is_some_and(|epoch| epoch.submitted == 6);
        scene.run_until(Duration::from_millis(100), all_in);
        scene.deployment.network.set_kept(Some(is_echo_to_two));
        (6..12).for_each(|number| scene.join(number));
        scene.run_until(Duration::from_millis(100), is_over);
        scene.deployment.executor.run_for(Duration::from_secs(22));
        let named = scene.others_say().map(|status| status.overdue.map(|overdue| overdue.by));
        // What the scheduler has said since hangs on words of P1 that it had heard.
        assert_eq!(named, [Some(vec![2]), Some(vec![0, 1])]);
        scene.deployment.network.set_kept(None);
        assert!(scene.published_after(Duration::from_secs(60)).is_some());
        assert!(scene.statuses().iter().all(|status| status.overdue.is_none()));
        scene.deployment.end();
    });
}

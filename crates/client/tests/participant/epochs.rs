//! What a participant hands in, and when (P2, P4, P5).

use ostrakon_client::{Call, News};
use ostrakon_party::PartyId;

use crate::time::{InTime, START};
use crate::world::World;

fn all(slot: u32, text: &str) -> Vec<(u8, u32, String)> {
    (0..3).map(|party| (party, slot, text.to_owned())).collect()
}

#[test]
fn the_same_bytes_go_to_all_servers_once_an_epoch_with_something_to_say_or_not() {
    let mut world = World::new();
    world.collect(1, 10_000);
    world.advance(10_000);
    world.say("hello");
    world.collect(2, 10_000);
    world.advance(10_000);
    assert_eq!(world.handed_in(1), all(3, "cover"));
    assert_eq!(world.handed_in(2), all(3, "hello"));
    let told: Vec<_> = world.news.iter().map(|(_, news)| news.clone()).collect();
    assert!(matches!(
        told[..],
        [
            News::Looking,
            News::Waiting { .. },
            News::Placed { epoch: 1 },
            News::HandedIn { epoch: 1, message: false },
            News::Waiting { .. },
            News::Placed { epoch: 2 },
            News::HandedIn { epoch: 2, message: true },
        ]
    ));
}

#[test]
fn the_moment_does_not_depend_on_what_is_said_and_leaves_time_before_the_sealing() {
    let moment = |seed, text: Option<&str>, ms| {
        let mut world = World::with(seed, None);
        text.into_iter().for_each(|text| world.say(text));
        world.collect(1, ms);
        world.advance(ms);
        world.submitted_at(1).unwrap()
    };
    for seed in 0..20 {
        let (silent, speaking) = (moment(seed, None, 10_000), moment(seed, Some("a"), 10_000));
        assert_eq!(silent, speaking);
        assert!((5_500..=8_500).contains(&silent), "{silent}");
        let long = moment(seed, None, 3_600_000);
        assert!((3_540_000..3_540_100).contains(&long), "{long}: a minute before the end");
        let short = moment(seed, None, 2_200);
        assert!(short <= 1_000, "{short}: at once, as soon as it has its place");
    }
}

#[test]
fn a_word_that_came_some_time_ago_is_counted_from_then_on() {
    let mut world = World::with(1, Some(0));
    world.collect(1, 20_000);
    let stale = world.status_of(0);
    world.advance(100);
    let mut world = World::with(1, Some(0));
    world.servers.iter_mut().for_each(|server| server.epoch = Some((1, START + 20_000)));
    world.time.now = START + 15_000;
    for party in 0..3 {
        let status = Some((&stale, START));
        world.participant.heard(world.time.now, PartyId(party), status);
    }
    world.advance(4_500);
    assert_eq!(world.handed_in(1).len(), 3, "and not in fifteen seconds");
}

#[test]
fn what_is_written_while_the_epoch_collects_still_comes_along() {
    let mut world = World::new();
    world.collect(1, 10_000);
    world.advance(4_000);
    world.say("late thought");
    world.advance(6_000);
    assert_eq!(world.handed_in(1), all(3, "late thought"));
}

#[test]
fn one_server_alone_names_neither_epoch_nor_time() {
    let mut world = World::new();
    world.collect(1, 10_000);
    world.advance(1_000);
    world.servers[0].epoch = Some((1_000, world.time.now + 10));
    world.push(0);
    world.servers[1].epoch = Some((1, world.time.now + 600_000));
    world.push(1);
    world.advance(9_000);
    assert!(world.sent.iter().all(|sent| !matches!(sent.call, Call::Issue { epoch: 1_000, .. })));
    world.servers[0].epoch = Some((1, START + 10_000));
    world.push(0);
    world.advance(1_000);
    assert_eq!(world.handed_in(1).len(), 3, "the other two know when it is sealed");
}

#[test]
fn a_server_that_is_away_is_done_without_and_gets_the_submission_when_it_is_back() {
    let mut world = World::new();
    world.servers[2].away = true;
    world.collect(1, 30_000);
    world.advance(25_000);
    assert_eq!(world.handed_in(1).len(), 2);
    assert!(world.told_handed_in(1).is_some());
    world.servers[2].away = false;
    world.advance(17_000);
    assert_eq!(world.handed_in(1), all(3, "cover"));
}

#[test]
fn with_only_one_servers_material_nothing_is_handed_in() {
    let mut world = World::with(1, Some(0));
    world.servers[1].refuses = Some(503);
    world.servers[2].refuses = Some(503);
    world.collect(1, 10_000);
    world.advance(12_000);
    assert_eq!(world.submitted_at(1), None);
}

#[test]
fn a_server_that_names_another_slot_confuses_nobody() {
    let mut world = World::new();
    world.servers[2].slot = Some(7);
    world.collect(1, 10_000);
    world.advance(10_000);
    assert_eq!(world.handed_in(1), all(3, "cover"));
}

#[test]
fn servers_that_name_different_slots_are_asked_until_they_agree() {
    let mut world = World::new();
    for (server, slot) in world.servers.iter_mut().zip([6, 4, 5]) {
        server.slot = Some(slot);
    }
    world.collect(1, 10_000);
    world.advance(8_700);
    assert_eq!(world.submitted_at(1), None);
    assert!(world.news.iter().any(|(_, news)| matches!(news, News::NotMade { epoch: 1, .. })));
    world.servers.iter_mut().for_each(|server| server.slot = Some(4));
    world.advance(1_500);
    assert_eq!(world.handed_in(1), all(4, "cover"));
}

#[test]
fn what_is_spoilt_or_forged_counts_for_nothing() {
    let mut world = World::new();
    world.servers[0].spoils = true;
    world.servers[1].forges = true;
    world.collect(1, 10_000);
    world.advance(9_900);
    assert_eq!(world.submitted_at(1), None);
    world.servers[1].forges = false;
    world.advance(1_500);
    assert_eq!(world.handed_in(1), all(3, "cover"));
}

/// With the true batch under another number, or the other way round, a server would otherwise get
/// two different rows under the same masks.
#[test]
fn one_server_alone_names_neither_batch_nor_epoch_of_a_row() {
    let mut world = World::new();
    world.servers[0].batch = Some(7);
    world.servers[2].names = Some(4);
    world.say("hello");
    world.collect(1, 10_000);
    world.advance(9_900);
    assert_eq!(world.submitted_at(1), None);
    assert_eq!(world.device.outbox.undecided(), None, "nothing was decided");
    world.servers[2].names = None;
    world.advance(1_500);
    assert_eq!(world.handed_in(1), all(3, "hello"));
}

#[test]
fn it_is_handed_in_when_two_servers_have_it_and_not_before() {
    let mut world = World::new();
    world.collect(1, 10_000);
    world.advance(2_000);
    world.servers[1].takes = Some(503);
    world.servers[2].takes = Some(422);
    world.advance(10_000);
    assert_eq!((world.handed_in(1).len(), world.told_handed_in(1)), (1, None));
    let refused = |party| {
        let to = |sent: &&crate::world::Sent| {
            sent.party == party && matches!(sent.call, Call::Submit { .. })
        };
        world.sent.iter().filter(to).count()
    };
    assert!((5..30).contains(&refused(1)), "{}: it is tried again", refused(1));
    assert_eq!(refused(2), 1, "a refusal stands");
    world.servers[1].takes = None;
    world.advance(2_000);
    assert!(world.told_handed_in(1).is_some());
}

#[test]
fn a_lost_answer_is_made_good_by_asking_again() {
    let mut world = World::new();
    world.collect(1, 10_000);
    world.servers.iter_mut().for_each(|server| server.loses_answers = true);
    world.advance(12_000);
    assert_eq!((world.handed_in(1).len(), world.told_handed_in(1)), (3, None));
    world.servers.iter_mut().for_each(|server| server.loses_answers = false);
    world.advance(2_000);
    assert!(world.told_handed_in(1).is_some());
}

#[test]
fn who_was_offline_at_the_moment_goes_on_trying_until_the_epoch_is_over() {
    let mut world = World::new();
    world.collect(1, 10_000);
    world.advance(4_000);
    world.servers.iter_mut().for_each(|server| server.takes = Some(502));
    world.advance(30_000);
    assert_eq!(world.told_handed_in(1), None);
    world.servers.iter_mut().for_each(|server| server.takes = None);
    world.advance(1_500);
    assert!(world.told_handed_in(1).is_some());
    world.servers.iter_mut().for_each(|server| server.takes = Some(502));
    world.collect(2, 60_000);
    world.advance(5_000);
    let late = |sent: &&crate::world::Sent| {
        sent.at > START + 36_000 && matches!(sent.call, Call::Submit { epoch: 1, .. })
    };
    assert_eq!(world.sent.iter().filter(late).count(), 0);
}

#[test]
fn while_nothing_can_be_written_down_nothing_leaves_and_no_server_is_blamed() {
    let mut world = World::new();
    world.places([0, 5, 5]);
    world.device.full = true;
    world.collect(1, 10_000);
    world.advance(30_000);
    world.say("hello");
    world.collect(2, 10_000);
    world.advance(9_000);
    assert_eq!((world.submitted_at(1), world.submitted_at(2)), (None, None));
    world.device.full = false;
    world.advance(1_500);
    assert_eq!(world.handed_in(2), all(3, "hello"));
    assert_eq!(world.homes(), [0]);
}

#[test]
fn what_is_written_down_slowly_leaves_afterwards_and_in_its_epoch_only() {
    let mut world = World::new();
    world.device.writes_for = 700;
    world.collect(1, 5_000);
    world.advance(4_900);
    assert!(world.submitted_at(1).unwrap() > 700 + 2_500);
    world.device.writes_for = 9_000;
    world.collect(2, 5_000);
    world.advance(5_000);
    world.device.writes_for = 0;
    world.collect(3, 30_000);
    world.advance(30_000);
    assert_eq!((world.submitted_at(2), world.handed_in(3).len()), (None, 3));
}

#[test]
fn an_epoch_that_is_over_for_the_device_is_passed_over() {
    let mut world = World::new();
    world.places([0, 5, 5]);
    world.device.spent = Some(2);
    for epoch in 1..=3 {
        world.collect(epoch, 5_000);
        world.advance(5_000);
    }
    assert_eq!((world.handed_in(2).len(), world.handed_in(3).len()), (0, 3));
    assert_eq!(world.homes(), [0], "no server is to blame");
}

#[test]
fn what_went_into_an_epoch_goes_into_it_again_after_a_restart() {
    let mut world = World::new();
    world.say("hello");
    world.collect(1, 10_000);
    world.servers.iter_mut().for_each(|server| server.takes = Some(503));
    world.servers[0].takes = None;
    world.advance(9_500);
    assert_eq!(world.handed_in(1).len(), 1);
    world.restart(Some(0));
    world.servers.iter_mut().for_each(|server| server.takes = None);
    (0..3).for_each(|party| world.push(party));
    // A server that holds something takes nothing else.
    world.advance(2_000);
    assert_eq!(world.handed_in(1), all(3, "hello"));
}

#[test]
fn with_a_lower_minimum_than_was_agreed_to_a_cover_is_handed_in() {
    let mut world = World::new();
    world.collect(1, 5_000);
    world.advance(5_000);
    world.say("hello");
    world.servers.iter_mut().for_each(|server| server.minimum = 2);
    world.collect(2, 5_000);
    world.advance(5_000);
    assert_eq!(world.handed_in(2), all(3, "cover"));
    world.device.outbox.agree(2);
    world.collect(3, 5_000);
    world.advance(5_000);
    assert_eq!(world.handed_in(3), all(3, "hello"));
}

#[test]
fn an_epoch_that_waits_for_people_keeps_those_who_are_there() {
    let mut world = World::new();
    world.collect(1, 10_000);
    for _ in 0..12 {
        world.advance(10_000);
        (0..3).for_each(|party| world.push(party));
    }
    assert_eq!(world.homes().len(), 1);
    assert_eq!(world.handed_in(1).len(), 3);
    assert!(world.submitted_at(1).unwrap() <= 8_500);
}

#[test]
fn only_the_home_is_asked_for_a_slot_and_then_each_server_once() {
    let mut world = World::new();
    world.places([0, 5, 5]);
    world.servers[0].slot = None;
    world.collect(1, 20_000);
    world.advance(2_500);
    let issues = |world: &World| -> Vec<u8> {
        let asks = |sent: &&crate::world::Sent| matches!(sent.call, Call::Issue { .. });
        world.sent.iter().filter(asks).map(|sent| sent.party).collect()
    };
    let asked = issues(&world);
    assert!(asked.iter().all(|party| *party == 0) && (3..8).contains(&asked.len()), "{asked:?}");
    world.servers[0].slot = Some(3);
    world.advance(17_500);
    assert_eq!(issues(&world)[asked.len()..], [0, 1, 2]);
}

#[test]
fn hostile_numbers_break_nothing() {
    let mut world = World::new();
    world.collect(1, 10_000);
    for party in 0..3 {
        world.servers[party].epoch = Some((1, u64::MAX));
        world.servers[party].places = vec![u32::MAX; 1];
        world.push(party);
    }
    world.advance(5_000);
    for party in 0..3 {
        world.servers[party].epoch = Some((u64::MAX, 0));
        world.push(party);
    }
    world.advance(5_000);
    assert_eq!(world.handed_in(u64::MAX).len(), 3);
}

//! Where a participant is present, and why it goes elsewhere (P3).

use ostrakon_client::{Call, News};
use ostrakon_protocol::Outcome;

use crate::time::{InTime, START};
use crate::world::World;

#[test]
fn who_comes_goes_where_there_are_fewest_and_keeps_saying_so() {
    let mut world = World::new();
    world.places([4, 2, 9]);
    world.collect(1, 60_000);
    world.advance(25_000);
    assert_eq!(world.homes(), [1]);
    assert_eq!(world.greetings(), 3, "every ten seconds");
}

#[test]
fn those_who_come_together_do_not_choose_together() {
    let first = |seed| {
        let mut world = World::with(seed, None);
        world.advance(1_000);
        world.sent.first().map(|sent| sent.at - START).expect("it asks who is where")
    };
    let moments: Vec<_> = (0..20).map(first).collect();
    assert!(moments.iter().all(|moment| *moment < 800), "{moments:?}");
    assert!(moments.iter().max() > moments.iter().min().map(|least| least + 400).as_ref());
}

#[test]
fn a_server_that_is_silent_is_not_waited_for() {
    let mut world = World::new();
    world.places([0, 5, 4]);
    world.servers[0].away = true;
    world.advance(2_500);
    assert_eq!(world.homes(), [2]);
}

#[test]
fn while_no_server_answers_it_is_tried_again() {
    let mut world = World::new();
    world.servers.iter_mut().for_each(|server| server.away = true);
    world.advance(20_000);
    assert!(world.homes().is_empty());
    let asked = world.sent.len();
    assert!((15..40).contains(&asked), "{asked} requests in twenty seconds");
    world.servers.iter_mut().for_each(|server| server.away = false);
    world.advance(5_000);
    assert_eq!(world.homes().len(), 1);
}

#[test]
fn who_comes_back_goes_where_it_was_if_that_server_answers() {
    let mut world = World::with(1, Some(2));
    world.places([0, 1, 5]);
    world.collect(1, 60_000);
    world.advance(500);
    assert_eq!(world.homes(), [2], "at once");
    let mut world = World::with(1, Some(2));
    world.servers[2].refuses = Some(503);
    world.places([0, 1, 5]);
    world.collect(1, 60_000);
    world.advance(3_000);
    assert_eq!(world.homes(), [2, 0]);
}

#[test]
fn a_home_that_does_not_answer_twice_is_left_in_time() {
    let mut world = World::new();
    world.places([0, 5, 5]);
    world.collect(1, 120_000);
    world.advance(5_000);
    world.servers[0].away = true;
    world.push(0);
    world.advance(15_000);
    assert_eq!(world.homes(), [0], "one sign may get lost");
    world.advance(10_000);
    assert_ne!(world.homes().last(), Some(&0), "before the server has forgotten it");
}

#[test]
fn who_gets_no_slot_goes_elsewhere_whatever_numbers_the_servers_tell() {
    let mut world = World::new();
    world.servers[0].slot = None;
    world.places([0, 5, 5]);
    world.collect(1, 60_000);
    world.advance(10_000);
    assert_eq!(world.homes()[0], 0);
    assert_eq!(world.homes().len(), 2);
    world.advance(50_000);
    assert_eq!(world.handed_in(1).len(), 3);
}

#[test]
fn who_is_kept_waiting_at_one_server_after_another_comes_back_to_none_of_them() {
    let mut world = World::new();
    world.servers[0].slot = None;
    world.servers[1].slot = None;
    world.places([0, 1, 5]);
    world.collect(1, 60_000);
    world.advance(18_000);
    assert_eq!(world.homes(), [0, 1, 2]);
}

#[test]
fn who_waits_where_many_are_goes_where_there_are_fewer() {
    let mut world = World::new();
    world.servers[0].slot = None;
    world.places([0, 5, 5]);
    world.collect(1, 60_000);
    world.advance(1_000);
    world.places([5, 2, 1]);
    world.advance(3_000);
    assert_eq!(world.homes(), [0, 2]);
}

#[test]
fn no_slot_in_a_whole_epoch_is_the_homes_fault() {
    let mut world = World::new();
    world.places([0, 5, 5]);
    world.collect(1, 4_000);
    world.advance(4_000);
    world.servers.iter_mut().for_each(|server| server.slot = None);
    world.collect(2, 3_000);
    world.advance(3_000);
    world.collect(3, 4_000);
    assert!(world.news.iter().any(|(_, news)| *news == News::NoSlot { epoch: 2 }));
    world.advance(2_000);
    assert_eq!(world.homes().len(), 2);
}

#[test]
fn who_came_in_the_middle_of_an_epoch_blames_nobody_for_it() {
    let mut world = World::new();
    world.servers.iter_mut().for_each(|server| server.slot = None);
    world.places([0, 5, 5]);
    world.collect(1, 3_000);
    world.advance(3_000);
    world.servers.iter_mut().for_each(|server| server.slot = Some(4));
    world.collect(2, 8_000);
    world.advance(8_000);
    assert_eq!(world.homes(), [0]);
    assert_eq!(world.handed_in(2).len(), 3);
}

#[test]
fn after_an_epoch_with_too_few_every_second_one_makes_room() {
    let moves = |seed, places, outcome| {
        let mut world = World::with(seed, None);
        world.places([0, 5, 5]);
        world.collect(1, 8_000);
        world.advance(8_000);
        world.ended(1, outcome);
        world.places(places);
        world.collect(2, 8_000);
        world.advance(4_000);
        world.homes().len() > 1
    };
    let gone = (0..40).filter(|seed| moves(*seed, [2, 0, 0], Outcome::TooFew)).count();
    assert!((10..30).contains(&gone), "{gone} of 40");
    assert!((0..20).all(|seed| !moves(seed, [2, 1, 1], Outcome::TooFew)), "nowhere to go");
    assert!((0..20).all(|seed| !moves(seed, [2, 0, 0], Outcome::Published)));
}

#[test]
fn who_stood_still_for_long_stays_at_its_home_as_a_newcomer() {
    let mut world = World::new();
    world.places([0, 5, 5]);
    world.collect(1, 10_000);
    world.advance(5_000);
    world.stand_still(60_000);
    world.servers.iter_mut().for_each(|server| server.slot = None);
    world.collect(5, 2_000);
    world.advance(2_000);
    world.collect(6, 10_000);
    world.advance(1_000);
    world.servers.iter_mut().for_each(|server| server.slot = Some(2));
    world.advance(9_000);
    assert_eq!(world.homes(), [0]);
    let again = world.sent.iter().filter(|sent| sent.at >= START + 65_000);
    let mut calls = again.map(|sent| &sent.call);
    assert!(matches!(calls.next(), Some(Call::Presence(_))), "it says anew that it is there");
    assert_eq!(world.handed_in(6).len(), 3);
    assert!(!world.news.iter().any(|(_, news)| matches!(news, News::NoSlot { .. })));
}

#[test]
fn who_stood_still_while_it_waited_has_not_waited_in_vain() {
    let mut world = World::new();
    world.servers[0].slot = None;
    world.places([0, 5, 5]);
    world.collect(1, 120_000);
    world.advance(2_000);
    world.stand_still(40_000);
    world.servers[0].slot = Some(3);
    world.advance(2_000);
    assert_eq!(world.homes(), [0]);
    assert!(world.news.iter().any(|(_, news)| matches!(news, News::Placed { .. })));
}

#[test]
fn a_home_whose_slot_nobody_confirms_is_left() {
    let mut world = World::new();
    world.servers[0].slot = Some(6);
    world.servers[1].slot = None;
    world.servers[2].slot = None;
    world.places([0, 5, 5]);
    // Held open for people, as it may be for long.
    world.collect(1, 5_000);
    world.advance(16_000);
    assert_eq!(world.homes(), [0]);
    world.advance(6_000);
    assert_eq!(world.homes().len(), 2);
    world.servers[1].slot = Some(4);
    world.servers[2].slot = Some(4);
    world.advance(3_000);
    assert_eq!(world.handed_in(1)[0].1, 4);
}

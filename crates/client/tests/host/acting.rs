//! What becomes of a host's deeds: everything is done once, or it is said why it is not.

use std::collections::BTreeSet;

use ostrakon_broadcast::hosting::{Deed, Refused};
use ostrakon_client::host::{Failure, News};
use ostrakon_party::PartyId;

use crate::time::InTime;
use crate::world::{World, host, key, pin};

#[test]
fn deeds_are_done_in_their_order_at_the_end_of_the_log_and_only_the_first_server_is_given_them() {
    let mut world = World::new();
    world.other(pin(9));
    let deeds = [pin(1), pin(2)].map(|deed| world.act(deed));
    world.advance(1_000);
    assert_eq!(deeds.map(|deed| world.taken(deed)), [Some(1), Some(2)]);
    assert_eq!((world.places(&pin(1)), world.places(&pin(2))), (vec![1], vec![2]));
    assert_eq!(world.host.book().head(), world.truth().head());
    assert!(world.servers[1..].iter().all(|server| server.given.is_empty()));
}

#[test]
fn when_another_host_was_first_the_action_is_made_anew_behind_it() {
    let mut world = World::new();
    world.servers[0].rivals = 3;
    let (first, second) = (world.act(pin(1)), world.act(pin(2)));
    world.advance(5_000);
    assert_eq!((world.taken(first), world.taken(second)), (Some(3), Some(4)));
    assert_eq!(world.host.book().head(), world.truth().head());
    assert_eq!(world.kept.len(), 5, "what is signed anew is written down anew");
}

#[test]
fn who_is_always_overtaken_is_told_so_in_the_end() {
    let mut world = World::new();
    world.servers[0].rivals = 1_000;
    let deed = world.act(pin(1));
    world.advance(60_000);
    assert_eq!(world.failure(deed), Some(&Failure::Busy));
    assert_eq!((world.kept.len(), world.places(&pin(1))), (20, vec![]));
}

#[test]
fn an_action_whose_answer_was_lost_is_the_same_bytes_and_not_done_twice() {
    // Whether the log could be read then, or not for a while.
    for mute in [false, true] {
        let mut world = World::new();
        world.advance(100);
        let deed = world.act(pin(1));
        world.advance(200);
        assert_eq!(world.taken(deed), Some(0));
        world.servers[0].loses = 2;
        let deed = world.act(pin(2));
        world.servers.iter_mut().for_each(|server| server.is_mute = mute);
        world.advance(60_000);
        world.servers.iter_mut().for_each(|server| server.is_mute = false);
        world.advance(60_000);
        assert_eq!((world.taken(deed), world.places(&pin(2))), (Some(1), vec![1]), "{mute}");
        let given: BTreeSet<_> = world.servers[0].given.iter().collect();
        assert_eq!(given.len(), 2, "one for each deed");
        let silent = |news: &&News| matches!(news, News::Unanswered { said: None, .. });
        assert_eq!(world.news.iter().filter(silent).count(), if mute { 2 } else { 1 });
    }
}

#[test]
fn an_action_that_did_not_arrive_is_sent_again_or_made_anew_if_its_place_is_taken() {
    let mut world = World::new();
    world.servers[0].misses = 1;
    let deed = world.act(pin(1));
    world.advance(20_000);
    assert_eq!((world.taken(deed), world.kept.len()), (Some(0), 1));
    world.servers[0].misses = 1;
    let deed = world.act(pin(2));
    world.advance(10);
    world.other(pin(9));
    world.advance(20_000);
    assert_eq!((world.taken(deed), world.places(&pin(2))), (Some(2), vec![2]));
}

#[test]
fn a_server_that_is_away_or_late_holds_nothing_up_for_long() {
    let mut world = World::new();
    world.servers[2].away = true;
    let deed = world.act(pin(1));
    world.advance(2_000);
    assert_eq!(world.taken(deed), Some(0));
}

#[test]
fn what_the_first_server_says_for_ever_is_told_in_the_end_and_may_be_done_all_the_same() {
    for status in [409, 503] {
        let mut world = World::new();
        world.servers[0].says = Some(status);
        let deed = world.act(pin(1));
        world.advance(60_000);
        let failure = world.failure(deed).unwrap();
        assert!(
            matches!(failure, Failure::Unknown(Some(said)) if said.status == status),
            "{failure:?}"
        );
        let given: BTreeSet<_> = world.servers[0].given.iter().collect();
        assert_eq!((world.servers[0].given.len(), given.len()), (7, 1));
    }
}

#[test]
fn a_refusal_is_told_and_holds_up_nothing_that_comes_after_it() {
    let mut world = World::new();
    let declined = world.act(Deed::Withdraw { poll: 5 });
    world.advance(500);
    let failure = world.failure(declined);
    assert!(matches!(failure, Some(Failure::Declined(Refused::Deed(_)))), "{failure:?}");
    assert!(world.servers[0].given.is_empty(), "what the log does not take does not leave");

    world.servers[0].says = Some(422);
    let refused = world.act(pin(1));
    world.advance(500);
    assert!(matches!(world.failure(refused), Some(Failure::Server(said)) if said.status == 422));
    world.servers[0].says = None;
    let deed = world.act(pin(2));
    world.advance(500);
    assert_eq!((world.taken(deed), world.places(&pin(1))), (Some(0), vec![]));
}

#[test]
fn nothing_leaves_before_it_is_written_down() {
    let mut world = World::new();
    world.full = true;
    let deed = world.act(pin(1));
    world.advance(500);
    assert_eq!(world.failure(deed), Some(&Failure::NotKept));
    assert!(world.servers[0].given.is_empty());
}

/// At the beginning of a log, and behind what the new run has not read yet.
#[test]
fn what_an_earlier_run_left_was_done_or_is_done_now_or_was_overtaken() {
    for before in [0, 2] {
        for (loses, misses, others) in [(1, 0, false), (0, 1, false), (0, 1, true)] {
            left_by_an_earlier_run(before, loses, misses, others);
        }
    }
}

fn left_by_an_earlier_run(before: u64, loses: u32, misses: u32, others: bool) {
    let mut world = World::new();
    (0..before).for_each(|_| world.other(pin(8)));
    (world.servers[0].loses, world.servers[0].misses) = (loses, misses);
    world.act(pin(1));
    world.advance(1_000);
    assert_eq!(world.kept.len(), 1);
    world.restart();
    if others {
        world.other(pin(9));
    }
    world.resume();
    world.advance(1_000);
    let overtaken = others.then_some(&Failure::Overtaken);
    assert_eq!((world.taken(0), world.failure(0)), ((!others).then_some(before), overtaken));
    assert_eq!(world.places(&pin(1)), if others { vec![] } else { vec![before as usize] });
    assert_eq!(world.servers[0].given.len(), 1 + usize::from(misses == 1 && !others));
    let deed = world.act(pin(2));
    world.advance(1_000);
    assert_eq!(world.taken(deed), Some(before + 1), "and the next deed comes after it");
}

#[test]
fn nothing_is_signed_before_a_server_has_shown_the_log() {
    let mut world = World::new();
    world.other(pin(9));
    world.servers.iter_mut().for_each(|server| server.is_mute = true);
    let deed = world.act(pin(1));
    world.advance(16_000);
    assert!(world.news.contains(&News::Unshown) && world.kept.is_empty());
    world.servers[1].is_mute = false;
    world.advance(40_000);
    assert_eq!(world.taken(deed), Some(1));

    let mut world = World::new();
    world.servers.iter_mut().for_each(|server| server.is_mute = true);
    let deed = world.act(pin(1));
    world.advance(150_000);
    assert_eq!(world.failure(deed), Some(&Failure::Unshown));
}

/// A server shows another action in the place of one whose answer was lost, so that it would be
/// signed anew, and done twice. It is faster than the others.
#[test]
fn a_server_that_shows_another_log_has_nothing_done_twice() {
    // What is signed by nobody who may; and by a host who signs two actions for one place.
    for author in [key(8), host()] {
        let mut world = World::new();
        world.act(pin(0));
        world.advance(500);
        world.latency[2] = 1;
        let other = world.truth().act(&author, 1, pin(5));
        let mut shown = world.servers[0].actions.clone();
        shown.push(other);
        world.servers[0].loses = 1;
        let deed = world.act(pin(1));
        world.advance(10);
        world.servers[2].shows = Some(shown);
        world.advance(20_000);
        assert_eq!((world.taken(deed), world.places(&pin(1))), (Some(1), vec![1]));
        let named = |news: &News| matches!(news, News::Forged { party: PartyId(2), .. });
        assert_eq!(world.news.iter().any(named), author.verifying_key() != host().verifying_key());
    }
}

//! What is handed in, and when it is done (`docs/spec/visitor.md`, V4 and V5).

use ostrakon_client::visitor::{Deed, Failure, News};
use ostrakon_decide::{Content, Invitation, SignedRecord};

use crate::time::InTime;
use crate::world::World;

fn done(deed: Deed) -> impl Fn(&News) -> bool {
    move |news| *news == News::Done(deed)
}

fn failed(news: &News) -> bool {
    matches!(news, News::Failed(..))
}

/// A group of two that takes answers.
fn answering() -> World {
    let mut world = World::new(2, 0);
    world.advance(500);
    world.accept();
    world.other(1, None);
    world.advance(3_000);
    assert_eq!(world.told(done(Deed::Accept)), 1, "{:?}", world.news);
    world
}

#[test]
fn a_person_accepts_answers_and_has_a_receipt_of_all_servers() {
    let mut world = World::new(2, 2);
    world.advance(500);
    world.accept();
    world.advance(1_500);
    assert_eq!(world.told(done(Deed::Accept)), 1, "{:?}", world.news);
    world.other(1, None);
    world.advance(6_000);
    world.answer(1);
    world.advance(3_000);
    assert_eq!(world.told(done(Deed::Answer)), 1, "{:?}", world.news);
    assert_eq!(world.visitor.receipt().unwrap().signatures.len(), 3);
    let id = world.visitor.chain().unwrap().id();
    assert!(world.memory.has_answered(&id) && world.memory.pending(&id).is_none());
    assert!(world.given(1).is_empty() && world.given(2).is_empty(), "nobody holds what P0 took");
}

#[test]
fn answers_leave_once_they_are_written_down_and_not_before() {
    let mut world = answering();
    let before = world.given(0).len();
    world.full = true;
    world.answer(1);
    world.advance(2_000);
    assert!(world.told(|news| *news == News::Failed(Deed::Answer, Failure::NotKept)) == 1);
    assert!(!world.memory.has_answered(&world.visitor.chain().unwrap().id()));
    assert_eq!(world.given(0).len(), before, "nothing left");
    world.full = false;
    world.advance(2_000);
    world.answer(0);
    world.advance(2_000);
    assert_eq!(world.told(done(Deed::Answer)), 1, "it can be answered, also otherwise");
}

#[test]
fn the_same_bytes_are_handed_in_as_long_as_the_head_stands() {
    let mut world = answering();
    let before = world.given(0).len();
    for server in &mut world.servers {
        server.says = Some(0);
    }
    world.answer(1);
    world.advance(200_000);
    world.restart(9);
    world.advance(1_000);
    assert!(world.visitor.resume(world.time.now));
    world.advance(200_000);
    let given: Vec<_> = world.servers.iter().flat_map(|server| &server.given).collect();
    let steps = given.iter().filter(|bytes| {
        matches!(SignedRecord::decode(bytes).unwrap().record.content, Content::Step { .. })
    });
    let steps: Vec<_> = steps.collect();
    assert!(steps.len() > 9 && steps.iter().all(|step| *step == steps[0]), "{}", steps.len());
    assert!(world.told(|news| *news == News::NotTaken(Deed::Answer)) > 1);
    assert!(world.given(0).len() > before);

    for server in &mut world.servers {
        server.says = None;
    }
    // Another answer is refused by the device itself.
    world.advance(200_000);
    assert_eq!(world.told(done(Deed::Answer)), 1, "{:?}", world.news);
    world.answer(0);
    world.advance(2_000);
    assert_eq!(world.told(done(Deed::Answer)), 2, "it is there already");
}

#[test]
fn an_acceptance_is_one_record_for_one_place_too() {
    let mut world = World::new(2, 0);
    world.servers.iter_mut().for_each(|server| server.loses = true);
    world.servers[0].says = Some(503);
    world.advance(500);
    world.accept();
    world.advance(200_000);
    let given: Vec<_> = world.servers.iter().flat_map(|server| &server.given).collect();
    assert!(given.len() > 6 && given.iter().all(|record| *record == given[0]));
}

#[test]
fn whoever_is_overtaken_answers_after_the_other_record_with_the_same_answers() {
    let mut world = answering();
    let before = world.given(0).len();
    world.servers[0].says = Some(409);
    world.answer(1);
    world.advance(100);
    world.other(1, Some(0));
    world.servers[0].says = None;
    world.advance(5_000);
    assert_eq!(world.told(done(Deed::Answer)), 1, "{:?}", world.news);
    assert_eq!(world.servers[0].chain().answered(), 2);
    let numbers = world.given(0)[before..]
        .iter()
        .map(|bytes| SignedRecord::decode(bytes).unwrap().record.number);
    assert_eq!(numbers.collect::<Vec<_>>(), [3, 4], "one for each place");
    assert!(world.given(1).is_empty() && world.given(2).is_empty(), "the chain has gone on");
}

#[test]
fn an_answer_that_was_lost_on_its_way_keeps_nobody_waiting() {
    let mut world = answering();
    world.servers[0].loses = true;
    world.answer(1);
    world.advance(100);
    world.spread();
    world.advance(5_000);
    assert_eq!(world.told(done(Deed::Answer)), 1, "two servers show it: {:?}", world.news);
}

/// What P0 says, and the others, to an acceptance; what comes of it, and how many have it.
fn handed(says: [Option<u16>; 3]) -> (World, [usize; 3]) {
    let mut world = World::new(2, 0);
    world.advance(500);
    world.servers.iter_mut().zip(says).for_each(|(server, says)| server.says = says);
    world.accept();
    world.advance(150_000);
    let given = [0, 1, 2].map(|party| world.given(party).len());
    (world, given)
}

#[test]
fn whatever_the_first_server_answers_another_one_holds_it() {
    for first in [Some(422), Some(409), Some(503), Some(0), Some(403)] {
        let (world, given) = handed([first, Some(503), None]);
        let held = world.told(|news| *news == News::Held(Deed::Accept));
        assert!(held > 0 && !world.news.iter().any(failed), "{first:?}: {:?}", world.news);
        assert!(given.iter().all(|count| *count > 0), "{first:?}: {given:?}");
    }
}

#[test]
fn a_refusal_is_believed_if_a_second_server_refuses_or_nobody_else_answers() {
    for (says, is_believed) in [
        ([422, 422, 503], true),
        ([422, 503, 0], true),
        ([422, 409, 0], false),
        ([503, 422, 422], false),
        ([409, 422, 422], false),
    ] {
        let (world, _) = handed(says.map(Some));
        let is_failed = world.news.iter().any(|news| match news {
            News::Failed(Deed::Accept, Failure::Server { refusal, .. }) => {
                refusal.status == 422 && refusal.detail == "status 422"
            }
            _ => false,
        });
        assert_eq!(is_failed, is_believed, "{says:?}: {:?}", world.news);
    }
}

#[test]
fn the_others_are_not_given_what_only_the_first_server_takes() {
    let mut world = World::new(2, 0);
    world.servers[0].says = Some(503);
    world.advance(500);
    world.visitor.carry_out(world.time.now, Deed::Cancel);
    world.advance(3_000);
    assert!(world.told(|news| *news == News::NotTaken(Deed::Cancel)) > 1, "{:?}", world.news);
    assert!(world.given(1).is_empty() && world.given(2).is_empty());
    world.servers[0].says = None;
    world.advance(3_000);
    assert_eq!(world.told(done(Deed::Cancel)), 1);

    // The rules do not allow everybody everything.
    let mut world = World::of(1, 2, 0);
    world.advance(500);
    world.visitor.carry_out(world.time.now, Deed::Cancel);
    world.advance(3_000);
    assert!(world.news.iter().any(failed) && world.given(0).is_empty());
}

#[test]
fn no_key_is_made_for_whoever_has_no_place() {
    let mut world = World::of(7, 2, 2);
    world.advance(500);
    world.accept();
    world.advance(2_000);
    assert!(world.news.iter().any(failed), "{:?}", world.news);
    assert!(world.exchanges.iter().all(|one| one.path != "helper"), "and none is asked for it");
}

#[test]
fn an_invitation_that_is_for_nobody_does_not_take_the_accounts_own_place_away() {
    let mut world = World::new(2, 0);
    world.invite(Invitation([9; 32]));
    world.advance(500);
    world.accept();
    world.advance(2_000);
    assert_eq!(world.told(done(Deed::Accept)), 1, "{:?}", world.news);
}

#[test]
fn one_thing_is_done_after_the_other_and_once() {
    let mut world = World::new(2, 0);
    world.other(1, None);
    world.advance(500);
    // Answers that are given while the acceptance is not over yet are given after it.
    assert!(world.visitor.accept(world.time.now) && world.visitor.answer(world.time.now, &[1]));
    assert!(!world.visitor.accept(world.time.now) && !world.visitor.answer(world.time.now, &[0]));
    assert_eq!(world.visitor.doing(), Some(Deed::Accept));
    assert_eq!(world.visitor.wanted().collect::<Vec<_>>(), [Deed::Accept, Deed::Answer]);
    world.advance(4_000);
    let ends = world.news.iter().filter(|news| matches!(news, News::Done(_)));
    let expected = [News::Done(Deed::Accept), News::Done(Deed::Answer)];
    assert!(ends.eq(&expected), "{:?}", world.news);
    assert_eq!(world.visitor.doing(), None);
    assert!(world.visitor.answer(world.time.now, &[1]), "it may be asked for again");

    // What goes wrong holds nothing up.
    let mut world = World::of(7, 2, 0);
    world.advance(500);
    assert!(world.visitor.accept(world.time.now));
    assert!(world.visitor.carry_out(world.time.now, Deed::Cancel));
    world.advance(2_000);
    let failures = world.news.iter().filter_map(|news| match news {
        News::Failed(deed, _) => Some(*deed),
        _ => None,
    });
    assert_eq!(failures.collect::<Vec<_>>(), [Deed::Accept, Deed::Cancel]);
}

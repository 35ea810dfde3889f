//! What is believed of what servers show (`docs/spec/visitor.md`, V2 and V3).

use ostrakon_client::visitor::{Doubt, News};
use ostrakon_decide::{Content, Examined, Refused};
use ostrakon_party::PartyId;

use crate::time::InTime;
use crate::world::{World, account, creator};

fn read(news: &News) -> bool {
    *news == News::Read
}

#[test]
fn what_two_servers_show_is_believed_and_one_that_is_away_keeps_nobody() {
    let mut world = World::new(2, 0);
    world.servers[0].away = true;
    world.other(1, None);
    world.advance(2_000);
    assert_eq!(world.visitor.chain().unwrap().length(), 2);
    assert!(world.told(read) > 0 && world.visitor.is_whole());
    assert!(world.visitor.distrusted().is_empty());
}

#[test]
fn what_one_server_shows_alone_is_put_aside_until_two_show_something_else() {
    let mut world = World::new(2, 0);
    let private = world.servers[0].chain().next(&creator(), 7, Content::Cancel);
    world.servers[0].records.push(private.clone());
    world.advance(3_000);
    assert_eq!(world.visitor.chain().unwrap().length(), 1);
    assert!(!world.visitor.is_whole() && world.visitor.distrusted().is_empty());

    let shown = world.servers[0].records.clone();
    world.servers[0].records.pop();
    world.other(1, None);
    world.servers[0].records = shown;
    world.advance(3_000);
    assert_eq!(world.visitor.chain().unwrap().length(), 2);
    let alone = Doubt::Alone { number: 1, record: private.encode() };
    assert_eq!(world.visitor.distrusted().get(&PartyId(0)), Some(&alone));
    assert!(world.visitor.is_whole(), "and the others are enough");
}

#[test]
fn two_histories_with_nothing_to_tell_whom_to_believe_are_no_more_than_that() {
    let mut world = World::new(2, 0);
    world.servers[2].away = true;
    let cancel = world.servers[0].chain().next(&creator(), 7, Content::Cancel);
    let other = world.servers[0].chain().next(&creator(), 8, Content::Cancel);
    world.servers[0].records.push(cancel);
    world.servers[1].records.push(other);
    world.advance(3_000);
    assert_eq!(world.visitor.conflict(), Some((PartyId(0), PartyId(1))));
    assert_eq!(world.visitor.chain().unwrap().length(), 1);
}

#[test]
fn less_than_was_seen_is_refused_unless_a_server_shows_that_there_is_more() {
    let mut world = World::new(2, 0);
    world.other(1, None);
    world.advance(2_000);
    for server in &mut world.servers[1..] {
        server.records.pop();
    }
    world.restart(7);
    world.news.clear();
    world.advance(3_000);
    assert!(world.told(|news| *news == News::Alone) > 0, "{:?}", world.news);
    assert_eq!(world.told(read), 0);
    world.servers[0].records.pop();
    world.restart(8);
    world.advance(2_000);
    let refused = Doubt::Refused(Refused::Shorter { shown: 1, seen: 2 });
    assert_eq!(world.told(|news| *news == News::Refused(refused.clone())), 1, "{:?}", world.news);
}

#[test]
fn while_nobody_answers_that_is_told_and_nothing_is_read() {
    let mut world = World::new(2, 0);
    world.servers.iter_mut().for_each(|server| server.away = true);
    world.advance(20_000);
    assert_eq!((world.told(|news| *news == News::Away), world.told(read)), (1, 0));
    assert_eq!(world.visitor.silence().len(), 3);
    world.servers.iter_mut().for_each(|server| server.away = false);
    world.advance(20_000);
    assert!(world.told(read) > 0);
}

/// A decision that two have answered, which is closed and opened.
fn closed() -> World {
    let mut world = World::new(2, 0);
    for answer in [None, Some(1)] {
        world.other(0, answer);
        world.other(1, answer);
    }
    world.close();
    world
}

#[test]
fn a_wrong_opening_is_its_authors_or_whoever_alone_shows_it() {
    let mut world = closed();
    world.advance(2_000);
    assert_eq!(world.visitor.outcome().unwrap().outputs.len(), 1);

    for (showing, blamed) in [([true, true, true], 1), ([true, false, false], 0)] {
        let mut world = closed();
        let wrong = world.opening(0).opening;
        for (server, wrongs) in world.servers.iter_mut().zip(showing) {
            if wrongs {
                server.openings[1].opening = wrong.clone();
            }
        }
        world.advance(4_000);
        let named: Vec<_> = world.visitor.distrusted().keys().copied().collect();
        assert_eq!(named, [PartyId(blamed)], "shown by {showing:?}");
        let there = !showing.iter().all(|wrong| *wrong);
        assert_eq!(world.visitor.outcome().is_some(), there);
        assert_eq!(world.visitor.unresolved().is_some(), !there);
    }
}

/// What a server shows in place of an opening.
#[derive(Clone, Copy)]
enum Shown {
    Right,
    /// It does not verify.
    Wrong,
    /// It is no opening.
    Malformed,
}

/// What each server shows; whether there is a result, whether two show that there is none, and who
/// is to blame.
type Case<'a> = ([&'a [Shown]; 3], (bool, bool), &'a [u8]);

#[test]
fn whose_fault_wrong_openings_are_is_said_once_it_is_certain() {
    use Shown::{Malformed, Right, Wrong};
    let all: &[Shown] = &[Right; 3];
    let (wrong, malformed) = ([Right, Wrong, Right], [Right, Malformed, Right]);
    let cases: [Case; 5] = [
        ([&[Wrong, Right, Right], all, &[Right]], (true, false), &[0]),
        ([&[Right, Right, Wrong], &[Right, Right, Wrong], &[Right; 2]], (false, true), &[2]),
        ([&wrong, all, all], (true, false), &[0]),
        ([&wrong, &[Right], &[Right]], (false, false), &[]),
        ([&malformed, all, &[Right]], (true, false), &[0]),
    ];
    for (number, (shown, (outcome, unresolved), blamed)) in (1..).zip(cases) {
        let mut world = closed();
        let right: Vec<_> = (0..3).map(|party| world.opening(party)).collect();
        let other = |party: usize| right[(party + 1) % 3].opening.clone();
        for (server, shown) in world.servers.iter_mut().zip(shown) {
            server.openings = right.iter().take(shown.len()).cloned().collect();
            for (party, shown) in shown.iter().enumerate() {
                match shown {
                    Right => {}
                    Wrong => server.openings[party].opening = other(party),
                    Malformed => server.openings[party].opening = "AAAA".into(),
                }
            }
        }
        world.advance(4_000);
        let named: Vec<_> = world.visitor.distrusted().keys().map(|party| party.0).collect();
        assert_eq!(named, blamed, "case {number}");
        let found = (world.visitor.outcome().is_some(), world.visitor.unresolved().is_some());
        assert_eq!(found, (outcome, unresolved), "case {number}");
        if outcome {
            let proven = Examined::of(world.visitor.visit()).unwrap();
            assert!(proven.result(&world.visitor.openings()).is_ok(), "case {number}");
        }
    }
}

#[test]
fn if_too_few_stand_in_for_somebody_there_is_no_result_and_that_is_no_servers_fault() {
    let mut world = World::new(4, 2);
    (0..4).for_each(|person| world.other(person, None));
    (0..3).for_each(|person| world.other(person, Some(1)));
    world.close();
    // One server alone does not make believe so.
    let openings = world.servers[0].openings.clone();
    world.servers[1].openings.clear();
    world.servers[2].openings.clear();
    world.advance(4_000);
    assert!(world.visitor.unresolved().is_none() && world.visitor.outcome().is_none());

    world.servers[1].openings = openings;
    world.advance(60_000);
    assert!(matches!(world.visitor.unresolved(), Some(Refused::NoResult(_))));
    assert!(world.visitor.distrusted().is_empty() && world.visitor.outcome().is_none());
    assert!(world.visitor.is_whole(), "and it is gone on with");
}

#[test]
fn what_all_servers_show_and_does_not_hold_is_gone_on_with_by_nobody() {
    let refused = |world: &World| {
        world.news.iter().find_map(|news| match news {
            News::Refused(Doubt::Refused(refused)) => Some(refused.clone()),
            _ => None,
        })
    };
    // Whoever shows it has changed it.
    let mut world = World::new(2, 0);
    world.other(1, None);
    world.servers.iter_mut().for_each(|server| server.changes = Some(1));
    world.advance(3_000);
    assert_eq!(refused(&world), Some(Refused::Signature { number: 1 }));
    assert_eq!(world.visitor.distrusted().len(), 3);

    // A person has signed it.
    let mut world = World::new(2, 0);
    (0..2).for_each(|person| world.other(person, None));
    world.other(1, Some(1));
    let replayed = world.servers[0].records[3].record.content.clone();
    world.servers.iter_mut().for_each(|server| drop(server.records.pop()));
    world.other(0, Some(1));
    let step = world.servers[0].chain().next(&account(1), 1_000, replayed);
    world.servers.iter_mut().for_each(|server| server.records.push(step.clone()));
    world.advance(3_000);
    let found = refused(&world);
    assert!(
        matches!(&found, Some(Refused::Step { number: 4, name, .. }) if name == "person 1"),
        "{found:?}"
    );
    assert_eq!(world.told(read), 0, "nothing of it is told");
}

#[test]
fn another_history_than_the_device_has_seen_is_refused() {
    let mut world = World::new(2, 0);
    world.other(1, None);
    world.advance(2_000);
    for server in &mut world.servers {
        server.records.pop();
    }
    world.other(0, None);
    world.restart(7);
    world.news.clear();
    world.advance(2_000);
    let forked = News::Refused(Doubt::Refused(Refused::Forked { number: 1 }));
    assert!(world.news.contains(&forked) && world.told(read) == 0, "{:?}", world.news);
}

#[test]
fn a_storage_that_is_full_is_said_to_be_that_and_accuses_nobody() {
    let mut world = World::new(2, 0);
    world.full = true;
    world.advance(4_000);
    assert!(world.told(|news| *news == News::NotKept) > 1 && world.told(read) == 0);
    assert!(world.told(|news| matches!(news, News::Refused(_))) == 0);
    world.full = false;
    world.advance(2_000);
    assert!(world.told(read) > 0, "{:?}", world.news);
}

#[test]
fn servers_that_break_off_before_the_first_record_have_shown_nothing_wrong() {
    let mut world = World::new(2, 0);
    world.servers.iter_mut().for_each(|server| server.breaks_off = true);
    world.advance(70_000);
    assert!(world.told(|news| *news == News::Away) > 0, "{:?}", world.news);
    assert!(world.visitor.distrusted().is_empty() && world.visitor.chain().is_none());
    assert!(world.visitor.silence().is_empty(), "they say to have it");
}

#[test]
fn what_a_server_says_that_does_not_open_is_kept_and_forgotten_when_it_does() {
    let mut world = closed();
    world.servers.iter_mut().for_each(|server| server.openings.clear());
    world.servers[1].refusal = Some("a share is missing".into());
    world.advance(2_000);
    let said: Vec<_> = world.visitor.refusals().iter().collect();
    assert_eq!(said, [(&PartyId(1), &"a share is missing".to_owned())]);
    world.servers[1].refusal = None;
    world.advance(60_000);
    assert!(world.visitor.refusals().is_empty());
}

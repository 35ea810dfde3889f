//! What is believed of what servers show (`docs/spec/visitor.md`, V2 and V3).

use ostrakon_client::visitor::{Doubt, News};
use ostrakon_decide::{Content, Refused};
use ostrakon_party::PartyId;

use crate::time::InTime;
use crate::world::{World, creator};

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

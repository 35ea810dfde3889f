//! Two copies of one client's state, and how much of it is kept.

use std::collections::BTreeSet;

use ostrakon_crypto::Secret;

use super::{World, generator};
use crate::params::{ALL_HISTORIES, CYCLE, HISTORY_BYTES, OUTGOING_BYTES};
use crate::{Client, Event, MessageState, Refused};

/// A client as it was written down.
fn copy(client: &Client) -> Client {
    let key = Secret::new([8; 32]);
    Client::open(&key, &client.seal(&key, &mut generator(1))).unwrap()
}

fn is_copied(event: &Event) -> bool {
    matches!(event, Event::Copied { .. })
}

/// A copy of a running client is started. It writes nothing into the conversation before it has
/// read a board; on the first one of the conversation's turns it finds rows that it has not
/// written, and ends the conversation at itself. The one that ran before never notices.
#[test]
fn a_second_copy_finds_the_first_one_s_rows_and_writes_none() {
    let mut world = World::new(3, 61);
    let (ann, ben) = world.connect(0, 1);
    let mut second = copy(&world.clients[0]);
    assert_eq!(second.say(ann, "from the copy"), Ok(0));
    world.clients[0].say(ann, "from the first").unwrap();
    let mut told = Vec::new();
    for round in 0..4 * CYCLE {
        let here = world.round;
        let row = second.next_row(here, &mut world.rng).unwrap();
        assert_eq!(row.len(), world.clients[0].width(), "it is present like everybody else");
        world.round();
        let mut rows: Vec<&[u8]> = world.board.iter().map(Vec::as_slice).collect();
        rows.push(&row);
        let addresses: BTreeSet<_> = rows.iter().map(|row| &row[1..17]).collect();
        assert_eq!(addresses.len(), rows.len(), "no address twice, in round {round}");
        told.extend(second.on_round(here, &rows));
    }
    assert_eq!(told.iter().filter(|event| is_copied(event)).count(), 1);
    assert!(!world.events[0].iter().any(is_copied), "the first one goes on");
    assert_eq!(world.heard(1), ["from the first"]);
    world.clients[1].say(ben, "and back").unwrap();
    (0..3).for_each(|_| world.dial());
    assert_eq!(world.heard(0), ["and back"]);
}

/// Two copies that are started at the same time both write in one turn. Both find two rows where
/// one was written, and end the conversation; both stay present.
#[test]
fn copies_that_start_together_both_stop_and_stay_present() {
    let mut world = World::new(3, 62);
    let (ann, _) = world.connect(0, 1);
    let mut second = copy(&world.clients[0]);
    second.looked = true;
    let (mut of_first, mut of_second) = (Vec::new(), Vec::new());
    for _ in 0..2 * CYCLE {
        let round = world.round;
        world.board.clear();
        for client in world.clients.iter_mut().chain([&mut second]) {
            world.board.push(client.next_row(round, &mut world.rng).unwrap());
        }
        let rows: Vec<&[u8]> = world.board.iter().map(Vec::as_slice).collect();
        of_first.extend(world.clients[0].on_round(round, &rows));
        of_second.extend(second.on_round(round, &rows));
        world.clients[1].on_round(round, &rows);
        world.round += 1;
    }
    for told in [of_first, of_second] {
        assert_eq!(told.iter().filter(|event| is_copied(event)).count(), 1);
    }
    assert!(world.clients[0].contacts()[0].code.is_none(), "the conversation is over");
    // Another one can be begun.
    assert_eq!(world.clients[0].engage(ann, &mut world.rng), Ok(()));
}

/// Whoever comes back, after its row was written down and before it left, or lost, is no copy.
#[test]
fn who_comes_back_is_no_copy() {
    let mut world = World::new(2, 63);
    let (ann, _) = world.connect(0, 1);
    world.clients[0].say(ann, "once").unwrap();
    for round in 0..6 * CYCLE {
        if round % 3 == 1 {
            let here = world.round;
            let lost = world.clients[0].next_row(here, &mut world.rng).unwrap();
            world.clients[0] = copy(&world.clients[0]);
            world.board = vec![world.clients[1].next_row(here, &mut world.rng).unwrap()];
            // The row was lost, or came out after all.
            world.board.extend((round % 2 == 0).then_some(lost));
            world.show(&[true; 2]);
        } else {
            world.clients[0] = copy(&world.clients[0]);
            world.round();
        }
    }
    assert!(world.events.iter().flatten().all(|event| !is_copied(event)));
    assert_eq!(world.heard(1), ["once"]);
}

/// What is kept of conversations is bounded in bytes, of each contact and of all together: the
/// oldest goes, and nothing that waits.
#[test]
fn histories_are_bounded_in_bytes() {
    let mut client = Client::new(super::ROOM, 4094, "Ann").unwrap();
    let long = "x".repeat(100_000);
    let contacts = 2 * ALL_HISTORIES / HISTORY_BYTES;
    for contact in 0..contacts {
        let number = client.new_contact(format!("contact {contact}"), None).unwrap();
        let contact = client.contact_mut(number).unwrap();
        contact.note(true, "waits".into(), None);
        for _ in 0..5 {
            contact.note(false, long.clone(), Some(1));
        }
        let texts: Vec<_> = contact.history.iter().map(|message| message.text.len()).collect();
        assert_eq!(texts, [5, 100_000, 100_000], "the newest two, and what waits");
    }
    client.on_stopped(7);
    let all: usize = client.contacts().iter().flat_map(|c| &c.messages).map(|m| m.text.len()).sum();
    assert!(all <= ALL_HISTORIES && all > ALL_HISTORIES / 2, "{all} bytes");
    let waiting = |message: &&crate::Message| message.state == MessageState::Waiting;
    let contacts_view = client.contacts();
    let waits = contacts_view.iter().flat_map(|c| &c.messages).filter(waiting).count();
    assert_eq!(waits, contacts, "what waits stays");
    // Nor does the user write without end.
    let mut said = 0;
    while client.say(0, &long).is_ok() {
        said += long.len();
    }
    assert!(said <= OUTGOING_BYTES && said > OUTGOING_BYTES / 2);
    assert_eq!(client.say(1, &long), Err(Refused::TooMuch), "of all contacts together");
}

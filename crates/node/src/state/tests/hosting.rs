//! What hosts do, as the servers judge it. Each test is an attack that gains nothing
//! (`docs/spec/hosting.md`).

use ostrakon_broadcast::hosting::HostLog;
use ostrakon_broadcast::hosting::{Claim, Deed, MessageId, SignedAction};
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::room::Admission;

use super::*;

const TARGET: MessageId = MessageId { epoch: 0, index: 0 };

fn host() -> SigningKey {
    SigningKey::from_seed(&[77; 32])
}

fn members_room() -> RoomDescriptor {
    RoomDescriptor {
        host: Some(host().verifying_key()),
        admission: Admission::Members,
        ..descriptor("members")
    }
}

fn id() -> RoomId {
    members_room().id()
}

fn log(server: &Server) -> &HostLog {
    &server.world.rooms[&id()].log
}

/// The next action of the room's host, as this server sees it.
fn next(server: &Server, deed: Deed) -> SignedAction {
    log(server).act(&host(), 5, deed)
}

fn hosted(action: SignedAction) -> Body {
    Body::Hosted { room: id(), action }
}

fn admit(keys: &[u8]) -> Deed {
    Deed::Admit { keys: keys.iter().map(|n| key(*n)).collect() }
}

fn assigned(epoch: u64, slots: &[(u32, u8)]) -> Body {
    Body::Assigned {
        room: id(),
        epoch,
        slots: slots.iter().map(|(slot, n)| (*slot, key(*n))).collect(),
    }
}

/// A room of the members 1, 2 and 3 in which an epoch collects; batch 1 is ready for another one.
fn collecting() -> Server {
    let mut server = stocked();
    server.deliver_all(P1, [Body::RoomCreated(members_room())]);
    let action = next(&server, admit(&[1, 2, 3]));
    assert_eq!(server.deliver_all(P0, [hosted(action)]), [Effect::Hosted(id(), 0)]);
    server.deliver_all(P0, [Body::EpochOpened { room: id(), number: 0, batch: 0 }]);
    server
}

/// Neither the scheduler nor another server invents, reorders or repeats what a host does, or takes
/// it to another room.
#[test]
fn no_server_forges_an_action() {
    let server = collecting();
    let honest = next(&server, Deed::Close);
    for other in [P1, P2] {
        assert!(refused(&server, other, hosted(honest.clone())).contains("only the scheduler"));
    }
    let not_next = "the next action of the room's host log";
    let own = log(&server).act(&SigningKey::from_seed(&[1; 32]), 5, Deed::Close);
    assert!(refused(&server, P0, hosted(own)).contains(not_next), "a server is no host");
    let mut changed = honest.clone();
    changed.action.deed = Deed::EraseAll;
    assert!(refused(&server, P0, hosted(changed)).contains(not_next), "signed was another deed");
    let mut early = honest.clone();
    early.action.number += 1;
    assert!(refused(&server, P0, hosted(early)).contains(not_next), "one is left out");
    let mut after = server.clone();
    after.deliver_all(P0, [hosted(honest.clone())]);
    assert!(refused(&after, P0, hosted(honest.clone())).contains(not_next), "a replay");

    let mut rooms = server.clone();
    let twin = RoomDescriptor { nonce: [4; 16], ..members_room() };
    rooms.deliver_all(P1, [Body::RoomCreated(twin.clone())]);
    let first = HostLog::new(&servers(), &members_room()).act(&host(), 5, Deed::Close);
    let elsewhere = Body::Hosted { room: twin.id(), action: first };
    assert!(
        refused(&rooms, P0, elsewhere).contains(not_next),
        "the same host's room, and the same place in its log"
    );
    let nowhere = Body::Hosted { room: RoomId([0; 16]), action: honest };
    assert!(refused(&rooms, P0, nowhere).contains("no such room"));
}

#[test]
fn of_two_hosts_who_act_at_once_one_comes_first_and_the_other_looks_again() {
    let mut server = collecting();
    let second = SigningKey::from_seed(&[78; 32]);
    let name = Deed::Host { key: second.verifying_key(), name: "the second".into(), active: true };
    let action = next(&server, name);
    server.deliver_all(P0, [hosted(action)]);
    let pin = Deed::Pin { target: TARGET, pinned: true };
    let (one, other) = (next(&server, pin.clone()), log(&server).act(&second, 5, pin.clone()));
    server.deliver_all(P0, [hosted(one)]);
    assert!(refused(&server, P0, hosted(other)).contains("next action"));
    let again = log(&server).act(&second, 6, pin);
    server.deliver_all(P0, [hosted(again)]);
    assert_eq!(log(&server).length(), 4);
}

/// A corrupt home server gives its slots to whom it likes; none of them counts, and there is
/// evidence of it.
#[test]
fn a_server_admits_nobody_by_itself() {
    let mut server = collecting();
    assert!(refused(&server, P1, assigned(0, &[(1, 9)])).contains("members"));
    assert!(
        refused(&server, P1, assigned(0, &[(1, 1), (4, 9)])).contains("members"),
        "not even among members"
    );
    let unheard = server.say(P1, assigned(0, &[(4, 9)]));
    // Who is dismissed while an epoch collects may have a slot in it; who is admitted, from those
    // who have heard of it.
    for deed in [admit(&[9]), Deed::Dismiss { keys: vec![key(1)] }] {
        let action = next(&server, deed);
        server.deliver_all(P0, [hosted(action)]);
    }
    assert!(server.judge(&unheard).unwrap_err().0.contains("members"), "it had not heard of it");
    server.deliver_all(P1, [assigned(0, &[(1, 1)])]);
    server.deliver_all(P2, [assigned(0, &[(2, 9)])]);
    close(&mut server, id(), 0);
    server.deliver_all(P0, [Body::EpochOpened { room: id(), number: 1, batch: 1 }]);
    server.deliver_all(P1, [assigned(1, &[(1, 9)])]);
    assert!(refused(&server, P1, assigned(1, &[(4, 1)])).contains("members"));
}

/// A member with two slots, by two corrupt homes, has one of them; two keys of a person are two
/// members only if the host admitted both.
#[test]
fn a_member_has_one_slot_in_an_epoch_and_so_one_vote() {
    let mut server = collecting();
    server.deliver_all(P1, [assigned(0, &[(1, 2)])]);
    server.deliver_all(P2, [assigned(0, &[(2, 2)])]);
    let epoch = server.world.rooms[&id()].collecting(0).unwrap();
    assert_eq!(epoch.slot_of(&key(2)), Some(1));
    assert!(refused(&server, P1, assigned(0, &[(4, 2)])).contains("one slot"));
    assert!(
        refused(&server, P1, assigned(0, &[(4, 22)])).contains("members"),
        "the same person's other key"
    );
}

fn device(n: u8) -> SigningKey {
    SigningKey::from_seed(&[n; 32])
}

/// A claim of the invitation `link` for the key `taker`, as this server would place it.
fn claimed(server: &Server, link: u8, taker: u8) -> Body {
    let claim = Claim::sign(&servers().digest(), &id(), &device(link), &device(taker));
    hosted(log(server).place(&claim))
}

/// Whoever knows an invitation's key gets nothing by it from an honest server: a corrupt home
/// assigns slots to it in vain, before it is claimed and after. So no honest server closes a mask
/// for it, and two servers' masks are missing.
#[test]
fn no_server_gives_a_slot_to_an_invitation_or_to_its_second_taker() {
    let mut server = collecting();
    let link = device(31).verifying_key();
    let slot_for = |key| Body::Assigned { room: id(), epoch: 0, slots: vec![(4, key)] };
    let invite = next(&server, Deed::Invite { keys: vec![link] });
    server.deliver_all(P0, [hosted(invite)]);
    assert!(refused(&server, P1, slot_for(link)).contains("members"), "before it is claimed");
    let unheard = server.say(P1, slot_for(device(32).verifying_key()));
    let claim = claimed(&server, 31, 32);
    for other in [P1, P2] {
        assert!(refused(&server, other, claim.clone()).contains("only the scheduler"));
    }
    server.deliver_all(P0, [claim.clone()]);
    let not_next = "the next action of the room's host log";
    assert!(refused(&server, P0, claim).contains(not_next), "a replay");
    assert!(
        refused(&server, P0, claimed(&server, 31, 33)).contains(not_next),
        "somebody else who has the link"
    );
    assert!(refused(&server, P1, slot_for(link)).contains("members"), "after it was claimed");
    assert!(refused(&server, P1, slot_for(device(33).verifying_key())).contains("members"));
    assert!(
        server.judge(&unheard).unwrap_err().0.contains("members"),
        "it had not heard of the claim"
    );
    server.deliver_all(P1, [slot_for(device(32).verifying_key())]);
}

#[test]
fn a_host_closes_the_room_for_good() {
    let mut server = collecting();
    let action = next(&server, Deed::Close);
    server.deliver_all(P0, [hosted(action)]);
    assert!(!server.world.rooms[&id()].open);
    assert!(refused(&server, P0, hosted(next(&server, admit(&[8])))).contains("next action"));
    let mark = next(&server, Deed::Hide { target: TARGET, hidden: true });
    server.deliver_all(P0, [hosted(mark)]);
}

/// The minimum that holds when an epoch opens is the epoch's.
#[test]
fn a_lower_minimum_holds_from_the_next_epoch_on() {
    let mut server = collecting();
    let before = server.world.rooms[&id()].collecting(0).unwrap().minimum;
    let action = next(&server, Deed::Minimum { minimum: before - 1 });
    server.deliver_all(P0, [hosted(action)]);
    assert_eq!(server.world.rooms[&id()].collecting(0).unwrap().minimum, before);
    let voided = Body::EpochVoided { room: id(), number: 0 };
    assert_eq!(crate::state::scheduling::decide(&server.world, 10, 1), Some(voided.clone()));
    server.deliver_all(P0, [voided, Body::EpochOpened { room: id(), number: 1, batch: 1 }]);
    let room = &server.world.rooms[&id()];
    assert_eq!(room.collecting(1).unwrap().minimum, before - 1);
    assert!(room.context(1, 1, before - 1).is_of(&room.descriptor));
}

/// Hosts act and an epoch ends while other servers give out slots and close the room: every order
/// comes to the same.
#[test]
fn the_order_of_hosts_actions_and_concurrent_announcements_does_not_matter() {
    let mut start = collecting();
    start.deliver_all(P1, [assigned(0, &[(1, 1)])]);
    for party in [P1, P2] {
        start.deliver_all(party, [Body::EpochDue { room: id(), number: 0 }]);
    }
    let mut ahead = start.clone();
    let mut actions = Vec::new();
    for deed in [admit(&[9]), Deed::Dismiss { keys: vec![key(3)] }, Deed::Erase { target: TARGET }]
    {
        let action = next(&ahead, deed);
        ahead.deliver_all(P0, [hosted(action.clone())]);
        actions.push(hosted(action));
    }
    let [admitting, dismissing, erasing] = actions.try_into().unwrap();
    let said = [
        (P0, admitting),
        (P0, Body::EpochClosed { room: id(), number: 0 }),
        (P0, dismissing),
        (P0, Body::EpochOpened { room: id(), number: 1, batch: 1 }),
        (P0, erasing),
        (P1, assigned(0, &[(1, 1)])),
        (P1, assigned(0, &[(4, 9)])),
        (P2, assigned(0, &[(2, 3)])),
        (P2, Body::RoomClosed(id())),
    ];
    let ends = all_orders(&start, &unheard(&start, said));
    assert_eq!(ends.len(), 756, "9! / (5! 2! 2!)");
    let members = ends[0].world.rooms[&id()].collecting(1).unwrap().members.clone().unwrap();
    assert_eq!(*members, [1, 2, 9].map(key).into());
}

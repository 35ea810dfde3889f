//! Named attacks on the epoch.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use ostrakon_asynchromix::board::Outcome;
use ostrakon_asynchromix::evidence::Shown;
use ostrakon_asynchromix::message::{Message, Request, ToClient, ToServer};
use ostrakon_asynchromix::participant::News;
use ostrakon_asynchromix::service::{Event, Told};
use ostrakon_asynchromix::state::{self, Change, State};
use ostrakon_asynchromix::word::{Declaration, Word};
use ostrakon_asynchromix::{Participant, Room, Shape};
use ostrakon_crypto::{Digest, Signature, SigningKey};
use ostrakon_party::PartyId;
use ostrakon_robust::client::{Masked, Submission};

use crate::devices::{key_behind, submission};
use crate::world::{End, Role, SHAPE, World, id, room, signing, spoil_stock};

fn stocked(n: usize, seed: u64) -> World {
    let mut world = World::new(n, seed);
    world.stock(2);
    world
}

fn lines(world: &mut World, count: usize) -> Vec<String> {
    let lines: Vec<String> = (0..count).map(|i| format!("line {i}")).collect();
    for line in &lines {
        world.join(Some(line));
    }
    lines
}

/// A row that comes after the seal is not on the board, its owner is told, and the noise in its
/// place is no row: with one mask alone, what was sent and what came out would give it.
#[test]
fn late_row_on_board() {
    let mut world = stocked(4, 1);
    lines(&mut world, 8);
    let late = world.join(Some("late"));
    let room = Arc::clone(&world.room);
    world.meddle = Box::new(move |from, _, bytes| {
        let held = from == End::Client(late) && submission(bytes, &room).is_some_and(|s| s.0 == 0);
        (!held).then(|| bytes.to_vec())
    });
    world.run(600, |world| world.have(1));
    let board = world.board();
    let Outcome::Messages(messages) = &board[0].entry.outcome else { panic!("enough rows") };
    assert_eq!(messages.len(), 8);
    assert!(!messages.contains(&b"late".to_vec()));
    world.run(200, |world| world.news[late].contains(&News::Again(0)));
}

/// A corrupt server alone holds a row at first, declares it, and falls silent as soon as its owner
/// is told that it is in. That takes t + 1 declarations, so there is an honest holder, from whom
/// the row comes.
#[test]
fn liars_fall_silent_after_in() {
    for seed in 0..4 {
        let mut world = stocked(4, seed);
        lines(&mut world, 8);
        let few = world.join(Some("few"));
        let room = Arc::clone(&world.room);
        let told = Rc::new(Cell::new(false));
        let is_in = Rc::clone(&told);
        let mut tries = 0;
        // Its row comes to server 0, and to server 1 later, unless it was in by then.
        world.meddle = Box::new(move |from, to, bytes| {
            let row = from == End::Client(few) && submission(bytes, &room).is_some();
            tries += usize::from(row && to == End::Server(1));
            let late = to == End::Server(1) && tries > 3 && !is_in.get();
            (!row || to == End::Server(0) || late).then(|| bytes.to_vec())
        });
        world.watch(400, |world| {
            told.set(world.participants[few].is_in());
            told.get()
        });
        world.roles[0] = Role::Dead;
        world.all_said();
        assert!(world.messages().contains(&"few".to_owned()), "seed {seed}");
    }
}

/// A corrupt server alone has a row, declares it in time, and falls silent with the seal. Nobody
/// could give that row: were it sealed, the epoch would never end.
#[test]
fn liar_that_alone_has_a_row_falls_silent() {
    for seed in 0..2 {
        let mut world = stocked(4, seed);
        lines(&mut world, 8);
        let few = world.join(Some("few"));
        let room = Arc::clone(&world.room);
        world.meddle = Box::new(move |from, to, bytes| {
            let row =
                from == End::Client(few) && submission(bytes, &room).is_some_and(|s| s.0 == 0);
            (!row || to == End::Server(0)).then(|| bytes.to_vec())
        });
        let key = world.participants[few].key();
        let sealed = |world: &World, i: usize| {
            let epoch = world.services[i].as_ref()?.state().epochs.get(&0)?;
            let place = epoch.place(epoch.slot_of(&key)?)?;
            epoch.is_sealed().then(|| place.is_declared_by(id(0)))
        };
        // What the order has at one of them, it has at all.
        world.watch(600, |world| (1..4).any(|i| sealed(world, i).is_some()));
        let its_word = (1..4).find_map(|i| sealed(&world, i));
        assert_eq!(its_word, Some(true), "seed {seed}: it was too late");
        world.roles[0] = Role::Dead;
        world.lose_sent_by(0);
        world.run(600, |world| world.have(1));
        let board = world.board();
        let Outcome::Messages(messages) = &board[0].entry.outcome else { panic!("enough rows") };
        assert!(messages.len() == 8 && !messages.contains(&b"few".to_vec()), "seed {seed}");
    }
}

/// What one server alone holds and declares is not in.
#[test]
fn receipts_of_one() {
    row_that_is_not_in(&[0], None);
}

/// A row is in for its owner when t + 1 servers sign it, each with its own key.
#[test]
fn in_by_t_servers() {
    let mut world = stocked(4, 3);
    lines(&mut world, 8);
    let held = Rc::new(RefCell::new(BTreeMap::new()));
    let (keep, room) = (Rc::clone(&held), Arc::clone(&world.room));
    world.meddle = Box::new(move |from, to, bytes| {
        if let (End::Server(server), End::Client(0)) = (from, to)
            && let Ok(ToClient::In { .. }) = ToClient::decode(bytes, &room)
        {
            keep.borrow_mut().insert(server, bytes.to_vec());
        }
        Some(bytes.to_vec())
    });
    world.run(900, |world| world.participants[0].is_in());
    let kept = world.participants[0].kept();
    let room = Arc::clone(&world.room);
    let mut owner = Participant::restore(room, &kept, world.draw.secret()).unwrap();
    let held = held.borrow();
    let mut shown = held.iter();
    let (first, second) = (shown.next().unwrap(), shown.next().unwrap());
    // One server, as often as it likes, and in another's name.
    for from in [first.0, first.0, second.0] {
        assert_eq!(owner.receive(id(*from), first.1).1, None);
    }
    assert!(!owner.is_in());
    assert_eq!(owner.receive(id(*second.0), second.1).1, Some(News::In(0)));
    assert!(owner.is_in());
}

/// q servers hold a row, and would write receipts for it: one of them is corrupt and never declares
/// it, what an honest one says to the others comes after the first q final lists. So the row is not
/// in, and its owner, who was never told otherwise, says the message in another epoch.
#[test]
fn receipts_of_q() {
    // Server 0 is the corrupt one: to the others it is as one that has no row.
    let (mut world, few) = row_that_is_not_in(&[1, 2], Some(2));
    world.meddle = Box::new(|_, _, bytes| Some(bytes.to_vec()));
    world.run(200, |world| world.news[few].contains(&News::Again(0)));
    // Its owner takes part in the next epoch by itself; the others stay as covers.
    for _ in 0..8 {
        world.join(None);
    }
    world.run(900, |world| world.news[few].iter().any(|n| matches!(n, News::Published(_))));
    assert_eq!(world.messages().iter().filter(|message| *message == "few").count(), 1);
}

/// A row of epoch 0 that comes to the servers `at` only, among eight others' that come to all;
/// what `late` says to the others comes after the seal. The row is not in: nobody said so, and the
/// board is without it.
fn row_that_is_not_in(at: &'static [usize], late: Option<usize>) -> (World, usize) {
    let mut world = stocked(4, 2);
    lines(&mut world, 8);
    let few = world.join(Some("few"));
    let room = Arc::clone(&world.room);
    world.meddle = Box::new(move |from, to, bytes| {
        let row = from == End::Client(few) && submission(bytes, &room).is_some_and(|s| s.0 == 0);
        let held = matches!(to, End::Server(i) if at.contains(&i));
        let passes = late.map(End::Server) != Some(from) || matches!(to, End::Client(_));
        (passes && (!row || held)).then(|| bytes.to_vec())
    });
    world.run(600, |world| world.entries() > 0);
    assert!(!world.news[few].contains(&News::In(0)));
    let board = world.board();
    let Outcome::Messages(messages) = &board[0].entry.outcome else { panic!("enough rows") };
    assert!(messages.len() == 8 && !messages.contains(&b"few".to_vec()));
    (world, few)
}

/// Whoever is asked for a row gives another one.
#[test]
fn bad_fetched_row() {
    let mut world = stocked(4, 3);
    lines(&mut world, 8);
    let few = world.join(Some("few"));
    let room = Arc::clone(&world.room);
    let lies = Rc::new(RefCell::new(0));
    let told = Rc::clone(&lies);
    world.meddle = Box::new(move |from, to, bytes| {
        if from == End::Client(few) && submission(bytes, &room).is_some() {
            return matches!(to, End::Server(0 | 1)).then(|| bytes.to_vec());
        }
        if from == End::Server(0)
            && let Ok(Message::Row(epoch, slot, row)) = Message::decode(bytes, usize::MAX)
        {
            *told.borrow_mut() += 1;
            let mut other = row.to_vec();
            other[70] ^= 1;
            return Some(Message::Row(epoch, slot, other.into()).encode());
        }
        // The honest holder is slower.
        let honest = from == End::Server(1)
            && matches!(Message::decode(bytes, usize::MAX), Ok(Message::Row(..)));
        (!honest || *told.borrow() > 0).then(|| bytes.to_vec())
    });
    world.roles[0] = Role::Withholds;
    world.all_said();
    assert!(*lies.borrow() > 0, "nobody was asked");
    assert!(world.messages().contains(&"few".to_owned()));
    let fault = Told::Fault(id(0), "a row that is not the sealed one");
    assert!(world.told[2].contains(&fault) || world.told[3].contains(&fault));
}

/// A server gives wrong shares, under its own signature, of everything that it holds.
#[test]
fn wrong_stock() {
    for (n, liars) in [(4, vec![1]), (7, vec![2, 5])] {
        let mut world = stocked(n, 4);
        for &liar in &liars {
            spoil_stock(&mut world.disks[liar]);
            world.kill(liar);
            world.roles[liar] = Role::Withholds;
            world.restart(liar);
        }
        let said = lines(&mut world, 9);
        world.all_said();
        assert_eq!(world.messages(), said);
        let blamed = |i: usize| {
            world.told[i].iter().any(|told| {
            matches!(told, Told::Fault(party, "wrong shares") if liars.contains(&party.index()))
        })
        };
        assert!(world.honest().into_iter().any(blamed), "nobody noticed");
        world.assert_nobody_honest_blamed();
    }
}

/// A participant signs two rows for its slot and gives them to different servers.
#[test]
fn two_rows_of_one_slot() {
    let mut world = stocked(4, 5);
    let said = lines(&mut world, 8);
    let secret = world.draw.secret();
    let key = key_behind(&secret);
    let two = world.join_as(&secret, Some("two"));
    let room = Arc::clone(&world.room);
    let batches = Rc::new(RefCell::new(BTreeSet::new()));
    let seen = Rc::clone(&batches);
    world.meddle = Box::new(move |from, to, bytes| {
        if from == End::Client(two)
            && matches!(to, End::Server(2 | 3))
            && let Ok(ToServer::Submit { client, epoch: 0, slot, submission }) =
                ToServer::decode(bytes, &room)
        {
            let row = Submission::from_bytes(&submission, room.width()).unwrap();
            let mut values = row.masked.0.clone();
            values[0] += ostrakon_field::Fp::ONE;
            // The first epoch is of the batch that was ready first; both are tried.
            for batch in 0..2 {
                let place = ostrakon_asynchromix::state::place(&room, 0, slot, batch);
                let right = place.vouches(&client, &row);
                if right {
                    seen.borrow_mut().insert(batch);
                    let other = place.submit(&key, Masked(values.clone())).to_bytes();
                    let submit = ToServer::Submit { client, epoch: 0, slot, submission: other };
                    return Some(submit.encode());
                }
            }
        }
        Some(bytes.to_vec())
    });
    world.run(600, |world| world.have(1));
    assert!(!batches.borrow().is_empty(), "nothing was tested");
    let board = world.board();
    let Outcome::Messages(messages) = &board[0].entry.outcome else { panic!("enough rows") };
    assert_eq!(messages.len(), said.len(), "it is out, and nobody else");
    world.run(200, |world| world.news[two].contains(&News::Again(0)));
}

fn client(i: u8) -> SigningKey {
    SigningKey::from_seed(&[i; 32])
}

/// A state in which epoch 0 collects.
fn collecting(n: usize, shape: Shape) -> (Arc<ostrakon_asynchromix::Room>, State) {
    let room = room(n, shape);
    let mut state = State::new(&room);
    let record = |record: ostrakon_robust::offline::Record| Word::Batch(0, record.to_bytes());
    use ostrakon_robust::offline::Record;
    let members = room.committee_of(0).members().to_vec();
    for member in &members {
        drop(state.apply(&room, *member, &record(Record::Commit(Digest([member.0; 32])))));
    }
    let mut changes = Vec::new();
    for member in &members {
        changes.extend(state.apply(&room, *member, &record(Record::Right)));
    }
    assert!(changes.contains(&Change::Opened(0)));
    (room, state)
}

/// A complaint, or a member that is out, before a batch is ready makes room for another batch, with
/// another number; afterwards both are void. A complaint counts under its author's signature.
#[test]
fn complaint_after_ready() {
    use ostrakon_robust::message::{Part, StepId};
    use ostrakon_robust::offline::{Complaint, Record};
    let (room, mut state) = collecting(5, SHAPE);
    let step = StepId { phase: 0, part: Part::Deal };
    let complaint = Record::Complaint(Complaint { step, messages: Vec::new() });
    let of = |member: &PartyId| Digest([member.0; 32]);
    let word = |number: u64, by: usize| {
        let commitments: Vec<_> = room.committee_of(number).members().iter().map(of).collect();
        let name = room.subject_of(number).name(&room.shuffle_of(number), &commitments);
        Word::Show(number, Shown::sign(&name, &complaint, &signing(by)))
    };
    assert!(state.apply(&room, id(1), &word(0, 1)).is_empty(), "batch 0 is in use");
    assert!(state.apply(&room, id(1), &Word::Out(0)).is_empty());
    let number = 5;
    assert!(state.apply(&room, id(1), &word(number, 1)).is_empty(), "nobody has committed");
    for member in room.committee_of(number).members() {
        let commit = Record::Commit(of(member)).to_bytes();
        drop(state.apply(&room, *member, &Word::Batch(number, commit)));
    }
    assert!(state.apply(&room, id(4), &word(number, 4)).is_empty(), "not a member");
    assert!(state.apply(&room, id(1), &word(number, 2)).is_empty(), "another's");
    let unsigned = Word::Batch(number, complaint.to_bytes());
    assert!(state.apply(&room, id(1), &unsigned).is_empty(), "unsigned");
    assert_eq!(
        state.apply(&room, id(1), &word(number, 1)),
        [Change::Burnt(number), Change::Begun(15)]
    );
    assert_eq!(state.apply(&room, id(1), &Word::Out(10)), [Change::Dropped(10), Change::Begun(20)]);
}

/// A home's word about participants that asked it.
fn assign(room: &Room, home: usize, clients: &[SigningKey]) -> Word {
    let request = |key| Request::sign(room, 0, key, [9; 32], id(home)).assignment();
    Word::Assign(0, clients.iter().map(request).collect())
}

/// A home gives no place to a key that did not ask it: a corrupt one would take all keys that it
/// sees for its own, and with the t homes that have most leave them out.
#[test]
fn places_that_nobody_asked_for() {
    let (room, mut state) = collecting(4, SHAPE);
    let owner = client(1);
    let others = Request::sign(&room, 0, &owner, [9; 32], id(2)).assignment();
    let later = Request::sign(&room, 1, &owner, [9; 32], id(0)).assignment();
    let mut forged = others;
    forged.signature = Signature([0; 64]);
    drop(state.apply(&room, id(0), &Word::Assign(0, vec![others, later, forged])));
    assert!(state.collecting().unwrap().1.places.is_empty());
    drop(state.apply(&room, id(2), &Word::Assign(0, vec![others])));
    assert_eq!(state.collecting().unwrap().1.of_home(id(2)), 1);
}

/// One key has one slot, one home so many, and the first ordered word counts.
#[test]
fn one_slot_for_a_key_and_a_quota_for_a_home() {
    let (room, mut state) = collecting(4, SHAPE);
    let owners: Vec<_> = (0..40).map(client).collect();
    let keys: Vec<_> = owners.iter().map(SigningKey::verifying_key).collect();
    drop(state.apply(&room, id(1), &assign(&room, 1, &[client(0), client(0)])));
    drop(state.apply(&room, id(2), &assign(&room, 2, &owners[..2])));
    let (_, epoch) = state.collecting().unwrap();
    assert_eq!((epoch.slot_of(&keys[0]), epoch.slot_of(&keys[1])), (Some(0), Some(1)));
    assert_eq!(epoch.place(0).unwrap().home, id(1));
    drop(state.apply(&room, id(3), &assign(&room, 3, &owners[2..])));
    let (_, epoch) = state.collecting().unwrap();
    assert_eq!(epoch.of_home(id(3)), room.quota());
    assert_eq!(epoch.places.len(), 2 + room.quota());
}

/// A place goes to another home if its owner asked that one and homes are more alike then: no home
/// gathers places that way.
#[test]
fn places_go_to_emptier_homes_only() {
    let (room, mut state) = collecting(4, SHAPE);
    let owners: Vec<_> = (0..5).map(client).collect();
    let mut places = |author: usize, word: &Word| {
        drop(state.apply(&room, id(author), word));
        let (_, epoch) = state.collecting().unwrap();
        let keys: Vec<_> = epoch.places.iter().map(|place| place.client).collect();
        assert_eq!(keys.len(), keys.iter().collect::<std::collections::BTreeSet<_>>().len());
        epoch.places.iter().map(|place| place.home.0).collect::<Vec<_>>()
    };
    places(0, &assign(&room, 0, &owners[..4]));
    assert_eq!(places(1, &assign(&room, 1, &owners[4..])), [0, 0, 0, 0, 1]);
    // Nothing is in: places that hand nothing in are nobody's company.
    assert_eq!(places(1, &assign(&room, 1, &owners[..1])), [0, 0, 0, 0, 1]);
    for (slot, owner) in owners.iter().enumerate() {
        places(2, &declared(&room, slot, owner));
        assert_eq!(places(3, &declared(&room, slot, owner)), [0, 0, 0, 0, 1]);
    }
    // Nobody but the home that the owner named.
    assert_eq!(places(2, &assign(&room, 1, &owners[..1])), [0, 0, 0, 0, 1]);
    assert_eq!(places(1, &assign(&room, 1, &owners[..1])), [1, 0, 0, 0, 1]);
    // Three and two are as alike as can be.
    assert_eq!(places(1, &assign(&room, 1, &owners[1..3])), [1, 0, 0, 0, 1]);
    assert_eq!(places(0, &assign(&room, 0, &owners)), [1, 0, 0, 0, 1]);
    // From each of the two as long as that has two more.
    assert_eq!(places(3, &assign(&room, 3, &owners)), [3, 3, 0, 0, 1]);
}

/// Six rows of three homes are enough without the fullest. Corrupt participants take places beside
/// them and hand nothing in, and the fourth home calls for rows until it has most: nothing moves.
#[test]
fn places_without_rows_gather_nobody_s_rows() {
    let (room, mut state) = collecting(4, Shape { minimum: 4, ..SHAPE });
    let owners: Vec<_> = (0..6).map(client).collect();
    let corrupt: Vec<_> = (10..13).map(client).collect();
    let mut say = |author: usize, word: &Word| drop(state.apply(&room, id(author), word));
    for (home, two) in owners.chunks(2).enumerate() {
        say(home, &assign(&room, home, two));
    }
    say(1, &assign(&room, 1, &corrupt[..1]));
    say(2, &assign(&room, 2, &corrupt[1..]));
    for (slot, owner) in owners.iter().enumerate() {
        say(0, &declared(&room, slot, owner));
        say(1, &declared(&room, slot, owner));
    }
    for owner in [0, 2, 4] {
        say(3, &assign(&room, 3, &owners[owner..=owner]));
    }
    (0..2).for_each(|server| say(server, &Word::Close(0)));
    (0..3).for_each(|server| say(server, &Word::Final(0)));
    let epoch = &state.epochs[&0];
    let homes: Vec<u8> = epoch.places.iter().map(|place| place.home.0).collect();
    assert_eq!(homes, [0, 0, 1, 1, 2, 2, 1, 2, 2]);
    assert!(epoch.seal.as_ref().unwrap().enough);
}

/// A server's word that the owner of a slot has handed in.
fn declared(room: &Room, slot: usize, owner: &SigningKey) -> Word {
    let (row, place) = (Digest([1; 32]), state::place(room, 0, slot as u32, 0));
    let signature = owner.sign(&place.digest(&owner.verifying_key(), &row));
    Word::Declare(0, vec![Declaration { slot: slot as u32, row, signature }])
}

/// t servers' votes close nothing; a final list before the closing does not count; words about
/// other epochs are nothing.
#[test]
fn t_servers_decide_nothing() {
    let (room, mut state) = collecting(7, SHAPE);
    let mut say = |party: usize, word: Word| state.apply(&room, id(party), &word);
    for party in 0..7 {
        assert!(say(party, Word::Final(0)).is_empty());
        assert!(say(party, Word::Close(1)).is_empty());
    }
    for party in [0, 1, 1, 0] {
        assert!(say(party, Word::Close(0)).is_empty());
    }
    assert_eq!(say(2, Word::Close(0)), [Change::Closed(0)]);
    for party in 0..4 {
        assert!(say(party, Word::Final(0)).is_empty());
    }
    assert!(say(0, Word::Final(0)).is_empty(), "said twice");
    assert_eq!(say(4, Word::Final(0)), [Change::Sealed(0)]);
}

/// What counts as in: t + 1 declarations, up to the q-th final list, of the only row that the owner
/// signed. A corrupt server's declaration without the owner's signature throws nobody out.
#[test]
fn forged_second_row() {
    let (room, mut state) = collecting(4, SHAPE);
    let owners: Vec<_> = (0..5).map(client).collect();
    let keys: Vec<_> = owners.iter().map(SigningKey::verifying_key).collect();
    drop(state.apply(&room, id(0), &assign(&room, 0, &owners[..3])));
    drop(state.apply(&room, id(1), &assign(&room, 1, &owners[3..])));
    let declare = |slot: usize, row: u8, signer: Option<usize>| {
        let place = ostrakon_asynchromix::state::place(&room, 0, slot as u32, 0);
        let row = Digest([row; 32]);
        let signature = signer.map_or(Signature([0; 64]), |signer| {
            owners[signer].sign(&place.digest(&keys[slot], &row))
        });
        Word::Declare(0, vec![Declaration { slot: slot as u32, row, signature }])
    };
    let mut say = |party: usize, word: Word| drop(state.apply(&room, id(party), &word));
    // Slot 0: two honest declarations, and a forged one. Slot 1: a second row that is signed.
    // Slot 2: one declaration only. Slot 3: the second declaration comes with the final lists.
    // Slot 4: one server declares it twice.
    for slot in [0, 1] {
        say(1, declare(slot, 1, Some(slot)));
        say(2, declare(slot, 1, Some(slot)));
    }
    say(3, declare(0, 2, None));
    say(3, declare(1, 2, Some(1)));
    say(1, declare(2, 1, Some(2)));
    say(1, declare(3, 1, Some(3)));
    say(1, declare(4, 1, Some(4)));
    say(1, declare(4, 1, Some(4)));
    say(0, Word::Close(0));
    say(1, Word::Close(0));
    say(0, Word::Final(0));
    say(1, Word::Final(0));
    say(2, declare(3, 1, Some(3)));
    say(2, Word::Final(0));
    say(2, declare(2, 1, Some(2)));
    let seal = state.epochs[&0].seal.as_ref().unwrap();
    let row = Some(Digest([1; 32]));
    assert_eq!(seal.rows[..5], [row, None, None, row, None]);
    assert!(!seal.enough);
}

/// The minimum does not count the t homes that have most: they may be one's.
#[test]
fn one_home_is_not_the_minimum() {
    let shape = Shape { minimum: 2, ..SHAPE };
    let enough = |homes: &[usize]| {
        let (room, mut state) = collecting(4, shape);
        for (slot, home) in homes.iter().enumerate() {
            let owner = client(slot as u8);
            let key = owner.verifying_key();
            drop(state.apply(&room, id(*home), &assign(&room, *home, &[client(slot as u8)])));
            let place = ostrakon_asynchromix::state::place(&room, 0, slot as u32, 0);
            let row = Digest([7; 32]);
            let signature = owner.sign(&place.digest(&key, &row));
            let declaration = Declaration { slot: slot as u32, row, signature };
            for party in 0..2 {
                drop(state.apply(&room, id(party), &Word::Declare(0, vec![declaration])));
            }
        }
        for word in [Word::Close(0), Word::Final(0)] {
            (0..3).for_each(|party| drop(state.apply(&room, id(party), &word)));
        }
        state.epochs[&0].seal.as_ref().unwrap().enough
    };
    assert!(!enough(&[0, 0, 0, 0, 1]));
    assert!(enough(&[0, 0, 0, 0, 1, 2]));
    assert!(enough(&[0, 1, 2]));
    assert!(!enough(&[0, 1]));
}

/// Requests that somebody else signed, or for another home, and rows of somebody else's slot are
/// nothing.
#[test]
fn requests_of_others() {
    let mut world = stocked(4, 8);
    let (own, other) = (client(1), client(2));
    let mut request = Request::sign(&world.room, 0, &own, [9; 32], id(0));
    request.client = other.verifying_key();
    world.event(0, Event::Client(&ToServer::Request(request).encode()));
    let elsewhere = Request::sign(&world.room, 0, &own, [9; 32], id(1));
    world.event(0, Event::Client(&ToServer::Request(elsewhere).encode()));
    world.event(0, Event::Client(&[7; 3]));
    let mut ticks = 0;
    world.run(50, |_| {
        ticks += 1;
        ticks > 20
    });
    let service = world.services[0].as_ref().unwrap();
    assert!(service.state().epochs[&0].places.is_empty());
}

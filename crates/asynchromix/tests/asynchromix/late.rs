//! What comes late, is old, or went past a checkpoint: masks of an epoch that is over, shares and
//! entries of a server that was cut off, a state that is gone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use ostrakon_agreement::dag;
use ostrakon_asynchromix::message::{Message, ToClient, ToServer};
use ostrakon_asynchromix::service::Told;
use ostrakon_asynchromix::state::State;
use ostrakon_asynchromix::{Disk, Key, Participant};
use ostrakon_crypto::Transcript;
use ostrakon_crypto::sealed::seal;
use ostrakon_party::wire;

use crate::world::{End, Role, SHAPE, World, id, room};

/// Who is away for some rounds goes on from a checkpoint.
fn shallow(seed: u64) -> World {
    World::deep(room(4, SHAPE), seed, 8, 2)
}

fn lines(world: &mut World, count: usize) -> Vec<String> {
    let lines: Vec<String> = (0..count).map(|i| format!("line {i}")).collect();
    for line in &lines {
        world.join(Some(line));
    }
    lines
}

/// Answers that were held back until the epoch is over make a participant mask no second row with
/// the same masks: the two would show their difference.
#[test]
fn masks_of_an_epoch_that_is_over() {
    let mut world = World::new(4, 31);
    world.stock(2);
    let said = lines(&mut world, 8);
    let held = Rc::new(RefCell::new(Vec::new()));
    let keep = Rc::clone(&held);
    world.meddle = Box::new(move |from, to, bytes| {
        if let (End::Server(server), End::Client(0)) = (from, to) {
            keep.borrow_mut().push((server, bytes.to_vec()));
        }
        Some(bytes.to_vec())
    });
    world.run(900, |world| world.participants[0].awaited().is_some());
    let handed = world.participants[0].kept();
    world.all_said();
    assert!(said.contains(&"line 0".to_owned()));
    // The moment after the entry, when the device has asked for no other place yet: the same life
    // of it, and a later one.
    let room = Arc::clone(&world.room);
    let mut after = Participant::restore(Arc::clone(&room), &handed, world.draw.secret()).unwrap();
    let first = world.board().remove(0);
    assert!(after.entry(&Arc::new(first)).is_some() && after.epoch().is_none());
    let kept = after.kept();
    assert_eq!(kept.next, 1);
    let again = Participant::restore(room, &kept, world.draw.secret()).unwrap();
    for mut participant in [after, again] {
        let mut rows = BTreeSet::new();
        for _ in 0..3 {
            for (server, bytes) in held.borrow().iter() {
                let (messages, _) = participant.receive(id(*server), bytes);
                for message in messages.into_iter().chain(participant.tick()) {
                    if let Ok(ToServer::Submit { epoch, submission, .. }) =
                        ToServer::decode(&message, &world.room)
                    {
                        rows.insert((epoch, submission));
                    }
                }
            }
        }
        let of_first = rows.iter().filter(|(epoch, _)| *epoch == 0).count();
        assert_eq!(of_first, 0, "it has a second row");
        assert_ne!(participant.epoch(), Some(0), "it asks for a second place");
    }
}

/// One server tells of as many places as there are servers, before the others tell of the right
/// one.
#[test]
fn masks_of_many_places() {
    let mut world = World::new(4, 32);
    world.stock(2);
    let said = lines(&mut world, 8);
    let room = Arc::clone(&world.room);
    let mut told = 0;
    world.meddle = Box::new(move |from, _, bytes| {
        let liar = from == End::Server(2);
        let Ok(ToClient::Now(Some(_)) | ToClient::Masks { .. }) = ToClient::decode(bytes, &room)
        else {
            return Some(bytes.to_vec());
        };
        if liar { None } else { Some(bytes.to_vec()) }
    });
    let room = Arc::clone(&world.room);
    world.run(900, |world| world.told[0].iter().any(|told| matches!(told, Told::Opened(_))));
    for participant in 0..8 {
        // As soon as it has asked, the liar answers with places of its own.
        let mut flood = Vec::new();
        world.run(900, |world| world.participants[participant].epoch().is_some());
        let request = world.participants[participant].wants().into_iter().next().unwrap();
        let ToServer::Request(request) = request else { panic!("{request:?}") };
        // Slot and batch are the liar's choice: there are many.
        for number in 0..40 {
            let (slot, batch) = (number % 16, number / 16);
            let mut about = Transcript::new("ostrakon/v1/asynchromix/about mask shares");
            about.field(&room.digest().0).number(2).number(request.epoch);
            about.number(slot).number(batch);
            let shares = vec![0; 8 * (room.width() + 2)];
            let context = "ostrakon/v1/asynchromix/mask shares";
            let fresh = [number as u8; 32];
            let sealed = seal(context, &mut about, &request.exchange, &shares, fresh);
            let slot = u32::try_from(slot).unwrap();
            flood.push(ToClient::Masks { epoch: request.epoch, slot, batch, sealed }.encode());
        }
        for bytes in flood {
            let (messages, _) = world.participants[participant].receive(id(2), &bytes);
            world.say(participant, messages);
            told += 1;
        }
        // What it holds of places does not grow with what one server tells.
        assert!(world.participants[participant].places() <= world.room.servers());
    }
    assert_eq!(told, 320);
    world.all_said();
    assert_eq!(world.messages(), said);
}

/// A server whose shares are finished is cut off just when the others have ordered that the batch
/// is ready, and goes on from a checkpoint past that: it has them, and with another one dead they
/// are needed.
#[test]
fn shares_of_a_batch_that_became_ready_unseen() {
    let mut unseen = 0;
    for seed in 40..48 {
        let mut world = shallow(seed);
        let cut = Rc::new(Cell::new(false));
        let is_cut = Rc::clone(&cut);
        world.meddle = Box::new(move |from, to, bytes| {
            let lost = is_cut.get() && (to == End::Server(2) || from == End::Server(2));
            (!lost).then(|| bytes.to_vec())
        });
        // The second batch: the first one's epoch brings the others past a checkpoint.
        let ready = |world: &World, i: usize| {
            world.told[i].iter().filter(|told| matches!(told, Told::Ready(_))).count() > 1
        };
        world.watch(400, |world| ready(world, 0));
        let prepared = world.told[2].iter().filter(|told| matches!(told, Told::Prepared(..)));
        if ready(&world, 2) || prepared.count() < 2 {
            continue;
        }
        cut.set(true);
        let commits = world.services[0].as_ref().unwrap().commits();
        lines(&mut world, 8);
        world.run(2500, |world| {
            let service = world.services[0].as_ref().unwrap();
            service.state().entries > 0 && service.commits() > commits + 12
        });
        world.forget_clients();
        cut.set(false);
        world.run(900, |world| {
            let at = |i: usize| world.services[i].as_ref().unwrap();
            at(2).runs() && at(2).state().entries >= at(0).state().entries
        });
        unseen += usize::from(!ready(&world, 2));
        world.roles[1] = Role::Dead;
        let before = world.entries();
        lines(&mut world, 8);
        world.run(2500, |world| world.entries() > before);
    }
    assert!(unseen > 0, "every server saw every batch become ready");
}

/// What a server has written down of a batch that the checkpoint on its disk does not know yet.
fn unknown(disk: &Disk) -> Option<u64> {
    let checkpoint = disk.0.get(&Key::Ledger(dag::Key::Checkpoint))?;
    let checkpoint: dag::SignedCheckpoint = wire::decode(checkpoint).ok()?;
    let state = disk.0.get(&Key::State(checkpoint.agreed.commits))?;
    let state: State = wire::decode(state).ok()?;
    let mut held = disk.0.keys().rev().filter_map(|key| match key {
        Key::Stock(number) => Some(*number),
        _ => None,
    });
    held.find(|number| !state.stock.has_begun(*number))
}

/// A server that starts goes on from the checkpoint on its disk; shares of a batch that was begun
/// since are as good as any.
#[test]
fn shares_of_a_batch_that_the_checkpoint_does_not_know() {
    let mut world = World::with(4, 37, SHAPE, 24);
    let mut found = None;
    for _ in 0..6 {
        lines(&mut world, 8);
        world.watch(900, |world| {
            found = unknown(&world.disks[2]);
            found.is_some() || world.participants.iter().all(Participant::is_done)
        });
        if found.is_some() {
            break;
        }
        world.forget_clients();
    }
    let number = found.expect("batches are begun between checkpoints");
    world.kill(2);
    world.restart(2);
    assert!(world.disks[2].0.contains_key(&Key::Stock(number)), "the shares are gone");
    world.all_said();
}

/// The one honest server that signed an entry goes on from a checkpoint past it: it still has the
/// entry.
#[test]
fn draft_beyond_a_checkpoint() {
    let mut world = shallow(35);
    world.stock(2);
    lines(&mut world, 8);
    world.watch(2500, |world| world.disks[2].0.contains_key(&Key::Draft(0)));
    let old = world.disks[2].clone();
    world.kill(2);
    let entries = |world: &World| world.services[0].as_ref().unwrap().state().entries;
    world.run(2500, |world| entries(world) > 0);
    world.pass(60);
    world.disks[2] = old;
    world.restart(2);
    // Nobody gives it the entry.
    world.meddle = Box::new(|_, to, bytes| {
        let entry = matches!(Message::decode(bytes, usize::MAX), Ok(Message::Entry(_)));
        (to != End::Server(2) || !entry).then(|| bytes.to_vec())
    });
    world.run(900, |world| {
        world.services[2].as_ref().is_some_and(|service| service.state().entries > 0)
    });
    let service = world.services[2].as_ref().unwrap();
    assert!(service.board().any(|signed| signed.entry.epoch == 0), "the entry is gone");
    assert!(world.board().iter().any(|signed| signed.entry.epoch == 0));
}

/// The state of the checkpoint that a server went on from is gone everywhere before it comes: the
/// next one's does.
#[test]
fn state_that_is_gone() {
    let mut world = shallow(36);
    world.stock(2);
    world.kill(2);
    lines(&mut world, 8);
    world.run(2500, |world| world.services[0].as_ref().unwrap().state().entries > 0);
    let cut = Rc::new(Cell::new(true));
    let is_cut = Rc::clone(&cut);
    world.meddle = Box::new(move |_, to, bytes| {
        let state = matches!(
            Message::decode(bytes, usize::MAX),
            Ok(Message::State(..) | Message::Later(..))
        );
        (!is_cut.get() || to != End::Server(2) || !state).then(|| bytes.to_vec())
    });
    world.restart(2);
    let commits = |world: &World, i: usize| world.services[i].as_ref().unwrap().commits();
    let begun = commits(&world, 0);
    world.run(900, |world| commits(world, 2) + 4 >= begun);
    // Covers go on in the rounds that were in stock.
    world.run(900, |world| commits(world, 0) > begun + 12);
    world.run(900, |world| commits(world, 2) > begun + 8);
    assert!(commits(&world, 2) > begun + 8, "the ledger goes on");
    assert!(!world.services[2].as_ref().unwrap().runs());
    cut.set(false);
    world.run(900, |world| world.services[2].as_ref().unwrap().runs());
    world.forget_clients();
    let entries = world.entries();
    world.run(900, |world| world.have(entries));
}

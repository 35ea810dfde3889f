//! What comes late, is old, or went past a checkpoint: masks of an epoch that is over, shares and
//! entries of a server that was cut off, a state that is gone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use ostrakon_asynchromix::message::{Message, ToClient, ToServer};
use ostrakon_asynchromix::service::Told;
use ostrakon_asynchromix::{Key, Participant};
use ostrakon_crypto::Transcript;
use ostrakon_crypto::sealed::seal;

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
    world.all_said();
    assert!(said.contains(&"line 0".to_owned()));
    let kept = world.participants[0].kept();
    let room = Arc::clone(&world.room);
    let again = Participant::restore(room, &kept, world.draw.secret()).unwrap();
    // The same device, and the device after a start.
    for mut participant in [world.participants.swap_remove(0), again] {
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
        for slot in 0..5 {
            let mut about = Transcript::new("ostrakon/v1/asynchromix/about mask shares");
            about.field(&room.digest().0).number(2).number(request.epoch);
            about.number(slot).number(0);
            let shares = vec![0; 8 * (room.width() + 2)];
            let context = "ostrakon/v1/asynchromix/mask shares";
            let sealed = seal(context, &mut about, &request.exchange, &shares, [slot as u8; 32]);
            let slot = u32::try_from(slot).unwrap();
            flood.push(ToClient::Masks { epoch: request.epoch, slot, batch: 0, sealed }.encode());
        }
        for bytes in flood {
            let (messages, _) = world.participants[participant].receive(id(2), &bytes);
            world.say(participant, messages);
            told += 1;
        }
    }
    assert_eq!(told, 40);
    world.all_said();
    assert_eq!(world.messages(), said);
}

/// A server whose shares were finished, and that comes back after the others have dropped how the
/// batch became ready, has them: with another one dead they are needed.
#[test]
fn shares_of_a_batch_that_became_ready_unseen() {
    for seed in 0..6 {
        let mut world = shallow(40 + seed);
        let cut = Rc::new(Cell::new(false));
        let is_cut = Rc::clone(&cut);
        world.meddle = Box::new(move |from, to, bytes| {
            let lost = is_cut.get() && (to == End::Server(2) || from == End::Server(2));
            (!lost).then(|| bytes.to_vec())
        });
        let prepared = |told: &Told| matches!(told, Told::Prepared(..));
        world.run(900, |world| world.told[2].iter().filter(|told| prepared(told)).count() > 1);
        // What it said has left; it hears nothing until there are new checkpoints.
        world.pass(1);
        cut.set(true);
        let commits = world.services[0].as_ref().unwrap().commits();
        for _ in 0..200 {
            let service = world.services[0].as_ref().unwrap();
            if service.commits() > commits + 8 {
                break;
            }
            world.join(Some("more"));
            world.pass(6);
        }
        world.forget_clients();
        cut.set(false);
        world.run(900, |world| {
            let at = |i: usize| world.services[i].as_ref().unwrap();
            at(2).runs() && at(2).state().entries >= at(0).state().entries
        });
        world.roles[1] = Role::Dead;
        let ready = |world: &World| {
            let state = world.services[0].as_ref().unwrap().state().clone();
            state.stock.ready() + state.epochs.len()
        };
        if ready(&world) == 0 {
            continue;
        }
        let before = world.entries();
        lines(&mut world, 8);
        world.run(2500, |world| world.entries() > before);
    }
}

/// The one honest server that signed an entry goes on from a checkpoint past it: it still has the
/// entry.
#[test]
fn draft_beyond_a_checkpoint() {
    let mut world = shallow(35);
    world.stock(2);
    lines(&mut world, 8);
    world.run(2500, |world| world.disks[2].0.contains_key(&Key::Draft(0)));
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

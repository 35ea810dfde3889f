//! Devices that visit servers: what they believe, what they keep, what they do when t servers lie.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_asynchromix::board::Outcome;
use ostrakon_asynchromix::evidence::Deed;
use ostrakon_asynchromix::message::{Message, Request, RunId, ToServer};
use ostrakon_asynchromix::participant::{Kept, News, NotTaken, key_of};
use ostrakon_asynchromix::service::Told;
use ostrakon_asynchromix::state::UNDER_WAY;
use ostrakon_asynchromix::visit::{Answer, Ask};
use ostrakon_asynchromix::visitor::End;
use ostrakon_asynchromix::word::Word;
use ostrakon_asynchromix::{Shape, Visitor};
use ostrakon_crypto::{Secret, Signature};

use super::key_behind;
use crate::world::{Role, SHAPE, World, id, room};

/// A device: what is in its memory, and what is on its disk.
struct Device {
    visitor: Visitor,
    disk: Option<Kept>,
    news: Vec<News>,
}

/// What becomes of an answer on its way.
type Forge<'a> = &'a mut dyn FnMut(usize, Vec<u8>) -> Option<Vec<u8>>;

impl Device {
    fn new(world: &mut World, message: Option<&str>) -> Device {
        let seed = *world.draw.secret().expose();
        let mut kept = Kept::new(seed);
        kept.message = message.map(|text| text.as_bytes().to_vec());
        Device::start(world, kept)
    }

    fn start(world: &mut World, kept: Kept) -> Device {
        let fresh = world.draw.secret();
        let visitor = Visitor::taking_part(Arc::clone(&world.room), &kept, fresh).unwrap();
        Device { visitor, disk: Some(kept), news: Vec::new() }
    }

    fn watching(world: &World) -> Device {
        let visitor = Visitor::watching(Arc::clone(&world.room));
        Device { visitor, disk: None, news: Vec::new() }
    }

    /// Visits all servers, in a drawn order.
    fn visit(&mut self, world: &mut World, forge: Forge<'_>) {
        self.visitor.tick();
        let n = world.room.servers();
        let first = world.draw.below(n);
        for server in (0..n).map(|i| (first + i) % n) {
            if self.visitor.is_unkept() || world.draw.once_in(3) {
                self.disk = self.visitor.kept();
            }
            let ask = self.visitor.ask(id(server));
            let Some(answer) = world.visit(server, &ask) else { continue };
            let Some(answer) = forge(server, answer) else { continue };
            if let Ok(news) = self.visitor.take(id(server), &answer) {
                self.news.extend(news);
            }
        }
    }

    fn said(&self) -> bool {
        self.news.iter().any(|news| matches!(news, News::Published(_)))
    }

    fn read(&self) -> Vec<String> {
        let messages = self.visitor.wall().flat_map(|signed| match &signed.entry.outcome {
            Outcome::Messages(messages) => messages.clone(),
            Outcome::TooFew => Vec::new(),
        });
        let mut read: Vec<String> =
            messages.map(|message| String::from_utf8(message).unwrap()).collect();
        read.sort();
        read
    }
}

fn honestly(_: usize, answer: Vec<u8>) -> Option<Vec<u8>> {
    Some(answer)
}

/// Lets time pass for the servers, then for the devices, until `done`.
fn until(
    world: &mut World,
    devices: &mut [Device],
    forge: Forge<'_>,
    mut done: impl FnMut(&World, &[Device]) -> bool,
) {
    for _ in 0..600 {
        if done(world, devices) {
            return;
        }
        world.pass(1);
        devices.iter_mut().for_each(|device| device.visit(world, forge));
    }
    let news: Vec<_> = devices.iter().map(|device| &device.news).collect();
    panic!("seed {}: not done; {news:?}, {:?}", world.seed, devices[0].visitor.here());
}

fn lines(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("line {i}")).collect()
}

fn devices(world: &mut World, lines: &[String]) -> Vec<Device> {
    lines.iter().map(|line| Device::new(world, Some(line))).collect()
}

#[test]
fn people_say_and_watch_while_a_server_dies() {
    for (n, seed) in [(4, 1), (5, 2), (7, 3)] {
        let mut world = World::new(n, seed);
        world.stock(2);
        let said = lines(7);
        let mut all = devices(&mut world, &said);
        all.push(Device::watching(&world));
        let t = world.room.trust().corrupt();
        until(&mut world, &mut all, &mut honestly, |_, all| {
            all.iter().any(|device| device.visitor.here().collecting.is_some_and(|c| c.rows > 2))
        });
        (0..t).for_each(|i| world.roles[i] = Role::Dead);
        until(&mut world, &mut all, &mut honestly, |_, all| {
            all[..7].iter().all(Device::said) && all[7].read().len() == 7
        });
        assert_eq!(all[7].read(), said, "{n} servers");
        let here = all[7].visitor.here();
        for _ in 0..30 {
            all[7].visit(&mut world, &mut honestly);
        }
        let silent: Vec<_> = (0..t).map(id).collect();
        assert_eq!(all[7].visitor.here().silent, silent, "{here:?}");
        // Only with a server to spare is more prepared.
        let ended = all[7].visitor.here().ended;
        assert_eq!(ended, (n != 5).then_some(End::Away));
    }
}

/// A row under a mask is made once: it is on the disk before it is with any server, and a device
/// that is switched off again and again says its message once.
#[test]
fn a_device_that_is_switched_off_says_its_message_once() {
    for seed in 0..if crate::nightly() { 40 } else { 4 } {
        let mut world = World::new(4, seed);
        world.stock(2);
        let said = lines(6);
        let mut all = devices(&mut world, &said);
        let mut offs = 0;
        for _ in 0..1200 {
            if all.iter().all(Device::said) {
                break;
            }
            world.pass(1);
            for device in &mut all {
                device.visit(&mut world, &mut honestly);
            }
            if world.draw.once_in(3) && !all[0].said() {
                // What it learnt since is forgotten.
                let kept = all[0].disk.clone().unwrap();
                all[0] = Device::start(&mut world, kept);
                offs += 1;
            }
        }
        assert!(offs > 0, "seed {seed}: never switched off");
        world.run(200, |world| world.have(world.entries()));
        assert_eq!(world.messages(), said, "seed {seed}, off {offs} times");
    }
}

#[test]
fn row_leaves_after_it_is_kept() {
    let mut world = World::new(4, 5);
    world.stock(2);
    let mut device = Device::new(&mut world, Some("kept"));
    for _ in 0..40 {
        device.visitor.tick();
        for server in 0..4 {
            let ask = device.visitor.ask(id(server));
            let read = Ask::decode(&ask, &world.room).unwrap();
            let row = read.messages.iter().any(|m| matches!(m, ToServer::Submit { .. }));
            assert!(!row, "nobody has kept it");
            if let Some(answer) = world.visit(server, &ask) {
                drop(device.visitor.take(id(server), &answer));
            }
        }
        world.pass(1);
    }
    assert!(device.visitor.is_unkept(), "it has a row");
    let kept = device.visitor.kept().unwrap();
    assert!(kept.handed.as_ref().is_some_and(|handed| handed.carries));
    let ask = Ask::decode(&device.visitor.ask(id(0)), &world.room).unwrap();
    assert!(ask.messages.iter().any(|m| matches!(m, ToServer::Submit { .. })));
}

/// So many that the minimum is met without the fullest home, however they spread.
const PEOPLE: usize = 12;

/// One of four servers is dead: as many rounds come as were prepared, and not one more. Then every
/// device knows that the room waits, keeps its message, and says it when the server is back.
#[test]
fn four_servers_with_one_dead_give_the_rounds_that_they_promised() {
    let mut world = World::new(4, 13);
    world.stock(2);
    world.pass(60);
    assert_eq!(promised(&mut world), 3, "one that collects, and two batches");
    the_promised_rounds_come(&mut world, 3);
}

/// The same where a round is being mixed when the server dies, and all that there can be is there.
#[test]
fn four_servers_with_one_dead_also_give_the_round_that_is_mixed() {
    let mut world = World::new(4, 14);
    world.stock(2);
    // The first round is stuck until another batch is ready in place of the one that it uses.
    world.meddle = Box::new(|_, _, bytes| {
        let of_mix =
            matches!(Message::decode(bytes, usize::MAX), Ok(Message::Run(RunId::Epoch(_), _)));
        (!of_mix).then(|| bytes.to_vec())
    });
    let mut all = devices(&mut world, &lines(PEOPLE));
    until(&mut world, &mut all, &mut honestly, |world, _| {
        let state = world.services[0].as_ref().unwrap().state();
        state.epochs.len() == UNDER_WAY && state.stock.ready() == 2
    });
    world.run(100, |world| (0..4).all(|i| world.told[i].contains(&Told::Ready(3))));
    assert_eq!(promised(&mut world), 4, "one that is mixed, one that collects, two batches");
    world.meddle = Box::new(|_, _, bytes| Some(bytes.to_vec()));
    the_promised_rounds_come(&mut world, 4);
}

/// How many rounds a device expects if nothing more is prepared.
fn promised(world: &mut World) -> u64 {
    let mut device = Device::watching(world);
    device.visit(world, &mut honestly);
    let here = device.visitor.here();
    assert_eq!(here.ended, None);
    let under_way = u64::from(here.mixing) + here.collecting.iter().len() as u64;
    here.entries + under_way + u64::from(here.ready)
}

/// A server is killed; exactly so many rounds are on the board in the end.
fn the_promised_rounds_come(world: &mut World, promised: u64) {
    world.kill(2);
    while world.entries() < promised {
        let mut all = devices(world, &lines(PEOPLE));
        until(world, &mut all, &mut honestly, |world, all| {
            promised <= world.entries() || all.iter().all(Device::said)
        });
    }
    let mut all = devices(world, &lines(PEOPLE));
    for _ in 0..200 {
        world.pass(1);
        all.iter_mut().for_each(|device| device.visit(world, &mut honestly));
    }
    assert_eq!(world.entries(), promised);
    for device in &all {
        let here = device.visitor.here();
        assert!(here.collecting.is_none() && here.ready == 0, "{here:?}");
        assert_eq!(here.ended, Some(End::Away));
        assert_eq!(here.silent, [id(2)]);
        assert!(device.visitor.participant().unwrap().message().is_some() && !device.said());
    }
    world.restart(2);
    until(world, &mut all, &mut honestly, |_, all| all.iter().all(Device::said));
    assert_eq!(all[0].visitor.here().ended, None);
}

/// t servers answer with whatever they like: false standings, entries and signatures, somebody
/// else's answers, bytes that are none.
#[test]
fn lying_servers_show_nothing() {
    for (n, seed) in [(4, 21), (4, 22), (7, 23)] {
        let mut world = World::new(n, seed);
        world.stock(2);
        let said = lines(7);
        let mut all = devices(&mut world, &said);
        all.push(Device::watching(&world));
        let t = world.room.trust().corrupt();
        let mut draw = world.draw.clone();
        let own = Arc::clone(&world.room);
        let mut others = Vec::new();
        let mut forge = move |server: usize, answer: Vec<u8>| {
            if server >= t {
                others = answer.clone();
                return Some(answer);
            }
            let mut lie = Answer::decode(&answer, &own).unwrap();
            match draw.below(5) {
                0 => return Some(others.clone()),
                1 => {
                    let mut bytes = answer;
                    let bit = draw.below(bytes.len() * 8);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    bytes.truncate(bytes.len() - draw.below(2));
                    return Some(bytes);
                }
                2 => {
                    lie.standing.entries = u64::MAX;
                    lie.standing.ready = u32::MAX;
                    if let Some(collecting) = &mut lie.standing.collecting {
                        (collecting.epoch, collecting.places) = (u64::MAX - 1, u32::MAX);
                    }
                }
                3 => {
                    for signed in &mut lie.entries {
                        signed.entry.outcome = Outcome::Messages(vec![b"forged".to_vec()]);
                    }
                }
                _ => {
                    for signed in &mut lie.entries {
                        signed.signatures = vec![(id(0), Signature([1; 64])); t + 1];
                    }
                    lie.standing.convicted = vec![(id(n - 1), Deed::FalseNumbers)];
                    lie.standing.spoilt = u32::MAX;
                    lie.standing.reached.clear();
                }
            }
            Some(lie.encode())
        };
        until(&mut world, &mut all, &mut forge, |_, all| {
            all[..7].iter().all(Device::said) && all[7].read().len() == 7
        });
        assert_eq!(all[7].read(), said);
        let here = all[7].visitor.here();
        assert!(here.entries <= world.entries() && here.ready < 9, "{here:?}");
        assert!(here.collecting.is_none_or(|c| c.epoch < 99 && c.places <= 16), "{here:?}");
        assert!(!here.silent.iter().any(|party| party.index() >= t), "{here:?}");
        assert!(here.convicted.is_empty() && here.ended != Some(End::Spoilt), "{here:?}");
    }
}

/// Who is not on the list has no place, though a corrupt home gives it one.
#[test]
fn who_is_not_listed_has_no_place() {
    let seeds: Vec<Secret> = (0..6u8).map(|i| Secret::new([i; 32])).collect();
    let listed: BTreeSet<_> = seeds[..5].iter().map(|seed| key_of(seed).0).collect();
    let of = (*room(4, SHAPE)).clone().admitting(listed);
    let mut world = World::of(Arc::new(of), 7, 64);
    world.stock(2);
    let mut all: Vec<Device> = seeds
        .iter()
        .enumerate()
        .map(|(i, seed)| {
            let mut kept = Kept::new(*seed.expose());
            kept.message = Some(format!("line {i}").into_bytes());
            Device::start(&mut world, kept)
        })
        .collect();
    assert!(all[0].visitor.is_admitted() && !all[5].visitor.is_admitted());
    until(&mut world, &mut all, &mut honestly, |_, all| all[..5].iter().all(Device::said));
    assert_eq!(all[0].read(), lines(5));
    assert!(!all[5].news.iter().any(|news| matches!(news, News::In(_) | News::Published(_))));
    let mut state = world.services[1].as_ref().unwrap().state().clone();
    let epoch = state.collecting().map(|(number, _)| number);
    for (seed, places) in [(&seeds[5], 0), (&seeds[0], 1)] {
        let Some(number) = epoch else { return };
        let before = state.epochs[&number].places.len();
        let fresh = state.epochs[&number].slot_of(&key_of(seed)).is_none();
        let key = key_behind(seed);
        let request = Request::sign(&world.room, number, &key, [1; 32], id(0));
        drop(state.apply(&world.room, id(0), &Word::Assign(number, vec![request.assignment()])));
        let more = state.epochs[&number].places.len() - before;
        assert_eq!(more, if fresh { places } else { 0 });
    }
}

#[test]
fn who_is_alone_is_alone_in_a_trial_only() {
    for (minimum, alone) in [(1, true), (3, false)] {
        let mut world = World::with(4, 9, Shape { minimum, ..SHAPE }, 64);
        assert_eq!(world.room.is_trial(), alone);
        world.stock(2);
        let mut all = vec![Device::new(&mut world, Some("alone"))];
        until(&mut world, &mut all, &mut honestly, |_, all| {
            all[0].said() || all[0].news.contains(&News::Again(0))
        });
        assert_eq!(all[0].said(), alone);
        // In a room that is none, the message stays on the device.
        assert_eq!(all[0].visitor.participant().unwrap().message().is_some(), !alone);
    }
}

/// A device that comes back when the entry is too old to be had does not say its message again.
#[test]
fn outcome_that_cannot_be_known() {
    let mut world = World::new(4, 11);
    world.stock(2);
    let mut device = Device::new(&mut world, Some("old"));
    let mut all = devices(&mut world, &lines(5));
    while device.visitor.participant().unwrap().awaited().is_none() {
        world.pass(1);
        device.visit(&mut world, &mut honestly);
    }
    let kept = device.visitor.kept().unwrap();
    let mut device = Device::start(&mut world, kept);
    assert_eq!(device.visitor.say(b"next".to_vec()), Err(NotTaken::Waiting));
    assert_eq!(device.visitor.take_back(), None, "it may come out");
    until(&mut world, &mut all, &mut honestly, |world, _| world.have(1));
    // t + 1 servers say that the board is much longer.
    let own = Arc::clone(&world.room);
    device.visit(&mut world, &mut |server, answer| {
        let mut later = Answer::decode(&answer, &own).unwrap();
        later.standing.entries = if server < 2 { 400 } else { 0 };
        later.entries.clear();
        later.replies.clear();
        Some(later.encode())
    });
    assert_eq!(device.news, [News::Unknown(0)]);
    assert_eq!(device.visitor.kept().unwrap().message, None);
    assert_eq!(device.visitor.say(b"next".to_vec()), Ok(()));
    assert_eq!(device.visitor.take_back(), Some(b"next".to_vec()));
}

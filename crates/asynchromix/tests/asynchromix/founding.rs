//! Founding with curves, and what a server does that finds another one's disk gone.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use ostrakon_asynchromix::message::{DiskNonce, Message};
use ostrakon_asynchromix::service::{Effects, Event, Told};
use ostrakon_asynchromix::{Disk, Server};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_party::PartyId;
use ostrakon_testkit::{Draw, Mutation};

use crate::nightly;
use crate::world::{SHAPE, id, room};

/// What becomes of a message on its way.
type Meddle = Box<dyn FnMut(PartyId, PartyId, &[u8]) -> Vec<Vec<u8>>>;

struct Founding {
    meddle: Option<Meddle>,
    servers: Vec<Option<Server>>,
    disks: Vec<Disk>,
    pool: Vec<(PartyId, PartyId, Arc<[u8]>)>,
    told: Vec<Vec<Told>>,
    draw: Draw,
}

impl Founding {
    fn new(n: usize, seed: u64) -> Self {
        let mut founding = Self {
            meddle: None,
            servers: (0..n).map(|_| None).collect(),
            disks: vec![Disk::default(); n],
            pool: Vec::new(),
            told: vec![Vec::new(); n],
            draw: Draw(seed),
        };
        for i in 0..n {
            founding.start(i);
        }
        founding
    }

    fn start(&mut self, i: usize) {
        let identity = Secret::new(digest("test identity", &[i as u8]).0);
        let room = room(self.disks.len(), SHAPE);
        let (server, effects) =
            Server::start(room, id(i), &identity, &self.disks[i], self.draw.secret());
        self.servers[i] = Some(server);
        self.carry_out(i, effects);
    }

    fn carry_out(&mut self, i: usize, effects: Effects) {
        for write in effects.writes {
            self.disks[i].apply(write);
        }
        let sends = effects.sends.into_iter();
        self.pool.extend(sends.map(|(to, bytes)| (id(i), to, bytes)));
        self.told[i].extend(effects.told);
    }

    fn handle(&mut self, i: usize, event: Event<'_>) {
        if let Some(server) = &mut self.servers[i] {
            let effects = server.handle(event);
            self.carry_out(i, effects);
        }
    }

    /// Everything that is under way arrives, or is lost; then time passes.
    fn tick_once(&mut self) {
        self.deliver();
        (0..self.servers.len()).for_each(|i| self.handle(i, Event::Tick));
    }

    fn run(&mut self, ticks: usize, done: impl Fn(&Self) -> bool) {
        for _ in 0..ticks {
            self.deliver();
            if done(self) {
                return;
            }
            (0..self.servers.len()).for_each(|i| self.handle(i, Event::Tick));
        }
        panic!("not done");
    }

    fn deliver(&mut self) {
        while !self.pool.is_empty() {
            let at = self.draw.below(self.pool.len());
            let (from, to, bytes) = self.pool.swap_remove(at);
            if self.draw.once_in(10) {
                continue;
            }
            let meddled = match &mut self.meddle {
                Some(meddle) => meddle(from, to, &bytes),
                None => vec![bytes.to_vec()],
            };
            for bytes in meddled {
                self.handle(to.index(), Event::Server(from, &bytes));
            }
        }
    }

    fn is_founded(&self) -> bool {
        let stocked = |server: &Option<Server>| {
            let service = server.as_ref().and_then(Server::service);
            service.is_some_and(|service| service.state().stock.ready() > 0)
        };
        self.servers.iter().all(stocked)
    }
}

#[test]
fn servers_found_a_room_and_restart() {
    let mut founding = Founding::new(4, 1);
    // One restarts in the middle of it.
    founding.run(3, |founding| founding.disks[2].0.len() > 1);
    founding.start(2);
    founding.run(200, Founding::is_founded);
    for i in 0..4 {
        founding.servers[i] = None;
        founding.start(i);
        assert!(founding.servers[i].as_ref().unwrap().service().is_some(), "it goes on at once");
    }
    founding.run(200, Founding::is_founded);
    assert!(founding.told.iter().all(|told| !told.contains(&Told::DataLost)));
}

/// A server whose disk is gone makes the same key again, and must not found the ledger a second
/// time: it would vote twice.
#[test]
fn forgotten_founding() {
    let mut founding = Founding::new(4, 2);
    founding.run(200, Founding::is_founded);
    founding.servers[3] = None;
    founding.disks[3] = Disk::default();
    founding.pool.clear();
    founding.told[3].clear();
    founding.start(3);
    founding.run(300, |founding| founding.told[3].contains(&Told::Started));
    let service = founding.servers[3].as_ref().unwrap().service().unwrap();
    assert!(service.commits() > 0, "it follows the others' ledger");
    let agreed = founding.servers[0].as_ref().unwrap().service().unwrap();
    assert!(agreed.commits() > 0);
}

/// One server says to another that its disk was another one: that is nothing without the other's
/// own signature, and it founds the room with all of them as soon as it hears the truth.
#[test]
fn founding_with_a_false_witness() {
    let mut founding = Founding::new(4, 3);
    founding.meddle = Some(Box::new(|from, to, bytes| {
        let Ok(Message::Coin { key, disk, heard: Some(mut heard) }) =
            Message::decode(bytes, 1 << 20)
        else {
            return vec![bytes.to_vec()];
        };
        if (from, to) != (id(3), id(0)) {
            return vec![bytes.to_vec()];
        }
        // Under the liar's own signature, and under one of another nonce.
        let own = SigningKey::from_seed(&digest("test identity", &[3]).0);
        let forged = DiskNonce::sign(&room(4, SHAPE), &key, [9; 32], &own);
        heard.nonce = [9; 32];
        let heard = if bytes.len().is_multiple_of(2) { heard } else { forged };
        vec![Message::Coin { key, disk, heard: Some(heard) }.encode()]
    }));
    founding.run(60, |founding| {
        let begun = |i: usize| founding.servers[i].as_ref().unwrap().service().is_some();
        (1..3).all(begun)
    });
    (0..20).for_each(|_| founding.run(1, |_| true));
    assert!(founding.servers[0].as_ref().unwrap().service().is_none(), "it believed the liar");
    founding.meddle = None;
    founding.run(200, Founding::is_founded);
}

/// What one server says while the room is founded is changed in each way, for a while: nobody
/// honest is blamed, no two keys are made, and afterwards the room is founded. (What it signs anew
/// is swept where the key is made: `agreement`, `dkg/tests/sabotage.rs`.)
#[test]
fn what_a_server_says_in_the_founding_is_changed_in_each_way() {
    const CORRUPT: usize = 3;
    for (kind, name) in [(0, "of the key"), (1, "of the disk")] {
        for (number, mutation) in Mutation::UNSIGNED.into_iter().enumerate() {
            for seed in 0..if nightly() { 10 } else { 1 } {
                println!("{name}, {mutation:?}, seed {seed}");
                let seed = 100 * number as u64 + seed;
                let mut founding = Founding::new(4, seed);
                let (changed, mut last, mut draw) = (Rc::new(Cell::new(0)), Vec::new(), Draw(seed));
                let count = Rc::clone(&changed);
                founding.meddle = Some(Box::new(move |from, _, bytes| {
                    if from != id(CORRUPT) || bytes.first() != Some(&kind) {
                        return vec![bytes.to_vec()];
                    }
                    count.set(count.get() + 1);
                    let before = std::mem::replace(&mut last, bytes.to_vec());
                    let before = if before.is_empty() { bytes } else { &before };
                    mutation.of_unsigned(bytes, before, &mut draw)
                }));
                (0..6).for_each(|_| founding.tick_once());
                assert!(changed.get() > 0, "nothing {name} was said");
                founding.meddle = None;
                founding.run(300, Founding::is_founded);
                for (i, told) in founding.told.iter().enumerate().take(CORRUPT) {
                    let blames =
                        |told: &&Told| matches!(told, Told::Fault(of, _) if *of != id(CORRUPT));
                    let blamed = told.iter().find(blames);
                    assert!(blamed.is_none(), "{name}, {mutation:?}: {i} says {blamed:?}");
                }
            }
        }
    }
}

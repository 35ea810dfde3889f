//! A corrupt server: real keys, disk, links and state machine, and another will. Used by the tests
//! of whole processes, too.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use ostrakon_asynchromix::message::{Message, RunId};
use ostrakon_asynchromix::service::{Effects, Event, Service};
use ostrakon_asynchromix::{Disk, Key, Room, Server};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Secret, SigningKey, VerifyingKey};
use ostrakon_mixer::{Incoming, Journal, Links, Peers, TICK};
use ostrakon_net::Identity;
use ostrakon_party::PartyId;
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

use super::lies::{self, Lie};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Will {
    /// It says noise, frames without an end, other servers' messages as its own, and two answers
    /// to one question.
    Garbage,
    /// It lives twice, and each peer hears one of the two: other blocks in the same places. The
    /// second life gives wrong shares, under the server's signature.
    Equivocates,
    /// What it says comes up to two seconds late, in any order.
    Delays,
    /// It lies to one other member of each batch that it prepares.
    Lies(Lie),
}

/// A server whose place a turncoat takes.
pub struct Place {
    pub room: Arc<Room>,
    pub me: usize,
    pub identity: Secret,
    /// Of all servers.
    pub addresses: Vec<String>,
    /// Where its journal is.
    pub journal: PathBuf,
}

fn id(i: usize) -> PartyId {
    PartyId(u8::try_from(i).unwrap())
}

/// A server that has turned. It ends when this is dropped.
pub struct Turncoat {
    _task: JoinSet<()>,
    contradicted: Arc<AtomicUsize>,
}

struct Inside {
    will: Will,
    lives: Vec<(Server, Disk)>,
    links: Arc<Links>,
    frames: UnboundedReceiver<Incoming>,
    world: Names,
    said: u64,
    late: JoinSet<()>,
    signing: SigningKey,
    /// What the second life has said since the two have parted.
    contradicted: Arc<AtomicUsize>,
}

/// Whom it talks to.
struct Names {
    me: usize,
    keys: Vec<VerifyingKey>,
}

impl Turncoat {
    /// Takes the place of a server that was killed.
    pub async fn start(place: &Place, will: Will) -> Turncoat {
        let Place { room, me, identity, addresses, journal } = place;
        let me = *me;
        let keys = room.identities().as_slice().to_vec();
        let listener = bind(&addresses[me]).await;
        let dialled = keys.iter().copied().zip(addresses.iter().cloned()).skip(me + 1);
        let longest = room.longest() + (2 << 20);
        let peers = Peers { dialling: keys[..me].to_vec(), dialled: dialled.collect(), longest };
        let own = Identity::from_seed(identity.expose());
        let (links, frames) = Links::start(&own, Some(listener), peers);
        let (_, disk) = Journal::open(journal).unwrap();
        let count = match will {
            Will::Garbage => 0,
            Will::Equivocates => 2,
            Will::Delays | Will::Lies(_) => 1,
        };
        let mut inside = Inside {
            will,
            lives: Vec::new(),
            links: Arc::new(links),
            frames,
            world: Names { me, keys },
            said: 0,
            late: JoinSet::new(),
            signing: SigningKey::from_seed(identity.expose()),
            contradicted: Arc::default(),
        };
        let contradicted = Arc::clone(&inside.contradicted);
        for life in 0..count {
            let mut disk = disk.clone();
            if life > 0 {
                spoil(&mut disk);
            }
            let fresh = Secret::new(digest("test life", &[life]).0);
            let (server, effects) = Server::start(Arc::clone(room), id(me), identity, &disk, fresh);
            inside.lives.push((server, disk));
            inside.say(usize::from(life), effects);
        }
        let mut task = JoinSet::new();
        task.spawn(inside.run());
        Turncoat { _task: task, contradicted }
    }

    /// How much it has said that its other life did not say to others.
    pub fn contradictions(&self) -> usize {
        self.contradicted.load(Relaxed)
    }
}

pub async fn bind(address: &str) -> TcpListener {
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            // The one before is still closing.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Every share is another one.
fn spoil(disk: &mut Disk) {
    for (_, bytes) in disk.0.iter_mut().filter(|(key, _)| matches!(key, Key::Stock(_))) {
        for at in (32..bytes.len()).step_by(8) {
            bytes[at] ^= 1;
        }
    }
}

impl Inside {
    async fn run(mut self) {
        let mut clock = interval(TICK);
        loop {
            tokio::select! {
                _ = clock.tick() => self.happens(Event::Tick),
                Some(frame) = self.frames.recv() => {
                    let from = self.world.keys.iter().position(|key| *key == frame.from).unwrap();
                    self.happens(Event::Server(id(from), &frame.bytes));
                }
            }
            while self.late.try_join_next().is_some() {}
        }
    }

    fn happens(&mut self, event: Event<'_>) {
        if self.will == Will::Garbage {
            self.speak_garbage(event);
        }
        for life in 0..self.lives.len() {
            let effects = self.lives[life].0.handle(event);
            self.say(life, effects);
        }
    }

    /// What it hears it says to all others as its own; at a tick it has other things to say.
    fn speak_garbage(&mut self, event: Event<'_>) {
        let mut said: Vec<Arc<[u8]>> = Vec::new();
        if let Event::Server(_, bytes) = event {
            said.push(bytes.into());
        } else {
            self.said += 1;
            let noise: Vec<u8> = (0..97).map(|i| (i * self.said % 251) as u8).collect();
            said.extend([noise.into(), vec![0xff; 1 << 18].into()]);
            for (epoch, byte) in [(0, 1), (0, 2), (u64::MAX, 3)] {
                let run = RunId::Epoch(epoch);
                let forged = Message::Run(run, vec![byte; 200].into());
                let again = Message::Again(run, vec![[byte; 3]; 300]);
                let row = Message::Row(epoch, 0, vec![byte; 9].into());
                let messages = [forged, again, Message::AskState(epoch), row];
                said.extend(messages.map(|message| message.encode().into()));
            }
        }
        let others = self.world.keys.iter().enumerate().filter(|(i, _)| *i != self.world.me);
        for (_, key) in others {
            said.iter().for_each(|bytes| self.links.send(key, Arc::clone(bytes)));
        }
    }

    fn say(&mut self, life: usize, effects: Effects) {
        effects.writes.into_iter().for_each(|write| self.lives[life].1.apply(write));
        // Both lives are taken for the server that they were before they part.
        let runs = |(server, _): &(Server, Disk)| server.service().is_some_and(Service::runs);
        let parted = self.lives.iter().all(runs);
        let takes_part = runs(&self.lives[life]);
        for (to, bytes) in effects.sends {
            let key = self.world.keys[to.index()];
            match self.will {
                Will::Garbage => {}
                Will::Lies(lie) => {
                    let known = self.lives[life].0.service().map(|s| (&**s.room(), s.state()));
                    let told =
                        known.and_then(|known| lies::told(lie, known, &self.signing, &bytes));
                    self.links.send(&key, told.map_or(bytes, Arc::from));
                }
                Will::Equivocates => {
                    let others = to.index() + usize::from(to.index() > self.world.me);
                    // A life that takes part first waits for the other one: that would learn of its
                    // votes, and so that its own disk is old.
                    let speaks = if parted { others % 2 == life } else { !takes_part };
                    if speaks {
                        self.contradicted.fetch_add(usize::from(parted && life == 1), Relaxed);
                        self.links.send(&key, bytes);
                    }
                }
                Will::Delays => {
                    self.said += 1;
                    let pause = Duration::from_millis(self.said * 37 % 41 * 50);
                    let links = Arc::clone(&self.links);
                    self.late.spawn(async move {
                        sleep(pause).await;
                        links.send(&key, bytes);
                    });
                }
            }
        }
    }
}

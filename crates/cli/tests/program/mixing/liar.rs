//! A corrupt server beside real processes: key, journal and links are real, and it lies to one
//! other member of each batch that it prepares.

use std::path::Path;
use std::sync::Arc;

use ostrakon_asynchromix::service::{Effects, Event};
use ostrakon_asynchromix::{Description, Room, Server};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_mixer::{Incoming, Journal, Links, Peers, TICK};
use ostrakon_net::Identity;
use ostrakon_party::PartyId;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::interval;

use super::lies::{self, Lie};

/// A server that lies. It ends when this is dropped.
pub struct Liar {
    _runtime: Runtime,
}

struct Inside {
    lie: Lie,
    server: Server,
    journal: Journal,
    links: Links,
    frames: UnboundedReceiver<Incoming>,
    room: Arc<Room>,
    signing: SigningKey,
}

impl Liar {
    /// Takes the place of the server whose directory this is.
    pub fn start(home: &Path, lie: Lie) -> Self {
        let runtime = Runtime::new().unwrap();
        let inside = runtime.block_on(Inside::start(home, lie));
        runtime.spawn(inside.run());
        Self { _runtime: runtime }
    }
}

impl Inside {
    async fn start(home: &Path, lie: Lie) -> Self {
        let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
        let description: Description = serde_json::from_str(&read("room.json")).unwrap();
        let room = Arc::new(description.room().unwrap());
        let seed = data_encoding::HEXLOWER.decode(read("identity.key").trim().as_bytes()).unwrap();
        let seed: [u8; 32] = seed.try_into().unwrap();
        let signing = SigningKey::from_seed(&seed);
        let keys = room.identities().as_slice().to_vec();
        let me = keys.iter().position(|key| *key == signing.verifying_key()).unwrap();
        let addresses: Vec<String> =
            description.servers.iter().map(|card| card.mesh.clone()).collect();
        let listener = TcpListener::bind(&addresses[me]).await.unwrap();
        let dialled = keys.iter().copied().zip(addresses).skip(me + 1).collect();
        let longest = room.longest() + (2 << 20);
        let peers = Peers { dialling: keys[..me].to_vec(), dialled, longest };
        let (links, frames) = Links::start(&Identity::from_seed(&seed), Some(listener), peers);
        let data = home.join("data");
        std::fs::create_dir_all(&data).unwrap();
        let (journal, disk) = Journal::open(&data).unwrap();
        let fresh = Secret::new(digest("test life of a liar", &seed).0);
        let id = PartyId(u8::try_from(me).unwrap());
        let (server, effects) =
            Server::start(Arc::clone(&room), id, &Secret::new(seed), &disk, fresh);
        let mut inside = Self { lie, server, journal, links, frames, room, signing };
        inside.carry_out(effects);
        inside
    }

    async fn run(mut self) {
        let mut clock = interval(TICK);
        loop {
            let effects = tokio::select! {
                _ = clock.tick() => self.server.handle(Event::Tick),
                Some(frame) = self.frames.recv() => {
                    let keys = self.room.identities().as_slice();
                    let from = keys.iter().position(|key| *key == frame.from).unwrap();
                    let from = PartyId(u8::try_from(from).unwrap());
                    self.server.handle(Event::Server(from, &frame.bytes))
                }
            };
            self.carry_out(effects);
        }
    }

    fn carry_out(&mut self, effects: Effects) {
        self.journal.append(&effects.writes).unwrap();
        for (to, bytes) in effects.sends {
            let known = self.server.service().map(|service| (&*self.room, service.state()));
            let told = known.and_then(|of| lies::told(self.lie, of, &self.signing, &bytes));
            let key = self.room.identities()[to];
            self.links.send(&key, told.map_or(bytes, Arc::from));
        }
    }
}

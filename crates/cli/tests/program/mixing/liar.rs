//! A corrupt server beside real processes: key, journal and links are real, and the will is another
//! one.

use std::path::Path;
use std::sync::Arc;

use ostrakon_asynchromix::Description;
use ostrakon_crypto::{Secret, SigningKey};
use tokio::runtime::Runtime;

use super::turncoat::{Place, Turncoat, Will};

/// A corrupt server. It ends when this is dropped.
pub struct Liar {
    turncoat: Turncoat,
    _runtime: Runtime,
}

impl Liar {
    /// Takes the place of the server whose directory this is.
    pub fn start(home: &Path, will: Will) -> Self {
        let runtime = Runtime::new().unwrap();
        let turncoat = runtime.block_on(Turncoat::start(&place(home), will));
        Self { turncoat, _runtime: runtime }
    }

    /// How much it has said that it did not say to others.
    pub fn contradictions(&self) -> usize {
        self.turncoat.contradictions()
    }
}

fn place(home: &Path) -> Place {
    let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
    let description: Description = serde_json::from_str(&read("room.json")).unwrap();
    let room = description.room().unwrap();
    let seed = data_encoding::HEXLOWER.decode(read("identity.key").trim().as_bytes()).unwrap();
    let seed: [u8; 32] = seed.try_into().unwrap();
    let own = SigningKey::from_seed(&seed).verifying_key();
    let me = room.identities().as_slice().iter().position(|key| *key == own).unwrap();
    let journal = home.join("data");
    std::fs::create_dir_all(&journal).unwrap();
    Place {
        room: Arc::new(room),
        me,
        identity: Secret::new(seed),
        addresses: description.servers.iter().map(|card| card.mesh.clone()).collect(),
        journal,
    }
}

//! Meshes on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_net::{Config, Identity, Mesh, Quota, Reach, Timing};
use ostrakon_party::{Instance, InstanceKind, Party, PartyId, Roster, SessionId, Step, Tag};
use ostrakon_testkit::free_ports;
use tokio::net::TcpListener;

/// Several parties' addresses and keys.
pub struct Site {
    pub roster: Arc<Roster>,
    pub addresses: Vec<SocketAddr>,
    pub timing: Timing,
    pub quota: Quota,
}

pub fn seed(id: PartyId) -> [u8; 32] {
    [id.0 + 1; 32]
}

pub fn tag(number: u64, sequence: u32) -> Tag {
    Tag {
        instance: Instance { kind: InstanceKind::Batch, scope: [0; 16], number },
        step: Step(1),
        sequence,
    }
}

pub fn timing() -> Timing {
    Timing {
        handshake: Duration::from_millis(700),
        ping: Duration::from_millis(200),
        dead_after: Duration::from_secs(4),
        relay_after: Duration::from_millis(200),
        retry: Duration::from_millis(300),
        tick: Duration::from_millis(50),
        patience: Duration::from_millis(100),
    }
}

impl Site {
    /// `n` parties and their listeners.
    pub async fn new(n: u8) -> (Self, Vec<TcpListener>) {
        let keys =
            (0..n).map(|i| SigningKey::from_seed(&seed(PartyId(i))).verifying_key()).collect();
        let roster = Arc::new(Roster { session: SessionId(Digest([7; 32])), keys });
        let mut listeners = Vec::new();
        for port in free_ports(usize::from(n)) {
            listeners.push(TcpListener::bind(("127.0.0.1", port)).await.unwrap());
        }
        let addresses = listeners.iter().map(|l| l.local_addr().unwrap()).collect();
        (Self { roster, addresses, timing: timing(), quota: Quota::default() }, listeners)
    }

    /// A listener where party `id` was before.
    pub async fn listen_again(&self, id: u8) -> TcpListener {
        TcpListener::bind(self.addresses[usize::from(id)]).await.unwrap()
    }

    pub fn config(&self, id: u8, listener: TcpListener) -> Config {
        let id = PartyId(id);
        Config {
            id,
            roster: Arc::clone(&self.roster),
            identity: Identity::from_seed(&seed(id)),
            listener,
            addresses: self
                .roster
                .parties()
                .zip(self.addresses.iter().map(ToString::to_string))
                .collect(),
            timing: self.timing,
            quota: self.quota,
        }
    }

    pub fn start(&self, id: u8, listener: TcpListener) -> (Arc<Mesh>, Party) {
        let mesh = Mesh::start(self.config(id, listener)).unwrap();
        let signing = Arc::new(SigningKey::from_seed(&seed(PartyId(id))));
        let party = Party::new(PartyId(id), Arc::clone(&self.roster), signing, mesh.channel());
        (mesh, party)
    }
}

/// All parties of a site of `n`, connected or not.
pub async fn start_all(n: u8) -> (Site, Vec<(Arc<Mesh>, Party)>) {
    let (site, listeners) = Site::new(n).await;
    let all = (0..n).zip(listeners).map(|(id, listener)| site.start(id, listener)).collect();
    (site, all)
}

pub fn reach(mesh: &Mesh, peer: u8) -> Reach {
    mesh.peer_state(PartyId(peer)).unwrap().reach
}

/// Waits until `mesh` reaches `peer` as `wanted`.
pub async fn until_reach(mesh: &Mesh, peer: u8, wanted: Reach) {
    within(60, async {
        while reach(mesh, peer) != wanted {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Fails the test if something takes longer than it may.
pub async fn within<T>(seconds: u64, what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), what).await.expect("took too long")
}

/// Bytes that differ from place to place.
pub fn pattern(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

//! Two servers, and a third one in the hands of the test.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::engine::Journal;
use ostrakon_net::{Identity, Mesh, Quota, Timing};
use ostrakon_node::{Config, EngineProvider, Service};
use ostrakon_party::{
    Channel, Header, Instance, InstanceKind, Message, Party, PartyId, Recipient, Roster,
    SignedHeader, Step, Tag,
};
use ostrakon_protocol::FaultInfo;

use crate::common::engine::PlainProvider;
use crate::common::{LONG, configs, key};

pub const P0: PartyId = PartyId(0);
pub const P1: PartyId = PartyId(1);
pub const P2: PartyId = PartyId(2);

/// The seed of the third one's set-up.
pub const SEED: [u8; 32] = [9; 32];

/// The journal of a set-up that asks for none.
struct NoJournal;

impl Journal for NoJournal {
    fn record(&self, name: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        Err(format!("{name} is recorded"))
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.record(name, value)
    }
}

/// Two honest servers and the means of the third.
pub struct Scene {
    _directory: tempfile::TempDir,
    pub configs: Vec<Config>,
    pub honest: [Service; 2],
    pub mesh: Arc<Mesh>,
    /// The key of the third one.
    pub signing: SigningKey,
    pub party: Party,
}

/// Addresses of announcements and echoes, as the servers use them.
pub fn tag(author: PartyId, number: u64, step: u16) -> Tag {
    let mut scope = *b"announcements  \0";
    scope[15] = author.0;
    Tag {
        instance: Instance { kind: InstanceKind::Control, scope, number },
        step: Step(step),
        sequence: 0,
    }
}

impl Scene {
    /// With P2 in the hands of the test.
    pub async fn start() -> Self {
        Self::without(P2).await
    }

    /// With this server in the hands of the test.
    pub async fn without(third: PartyId) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let configs = configs(directory.path());
        let provider = Arc::new(PlainProvider(Arc::default()));
        let listener = tokio::net::TcpListener::bind(configs[third.index()].mesh).await.unwrap();
        let start =
            async |n: usize| Service::start(configs[n].clone(), provider.clone()).await.unwrap();
        let [one, other] = [(third.index() + 1) % 3, (third.index() + 2) % 3];
        let honest = [start(one.min(other)).await, start(one.max(other)).await];
        let keys: Vec<_> = configs[0].servers.iter().map(|server| server.key).collect();
        let roster =
            Arc::new(Roster { session: provider.setup_session(&keys), keys: keys.clone() });
        let mesh = Mesh::start(ostrakon_net::Config {
            id: third,
            roster: roster.clone(),
            identity: Identity::from_seed(&[third.0; 32]),
            listener,
            addresses: roster
                .parties()
                .zip(configs[0].servers.iter().map(|server| server.address.clone()))
                .collect(),
            timing: Timing::default(),
            quota: Quota::default(),
        })
        .unwrap();
        let early = Party::new(third, roster, Arc::new(key(third.0)), mesh.channel());
        let session = provider.set_up(early, SEED, Arc::new(NoJournal)).await.unwrap().session;
        let roster = Arc::new(Roster { session, keys });
        let party = Party::new(third, roster, Arc::new(key(third.0)), mesh.channel());
        let scene =
            Self { _directory: directory, configs, honest, mesh, signing: key(third.0), party };
        for server in &scene.honest {
            while server.servers().await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        scene
    }

    /// Signs anything to anybody.
    pub fn say(&self, to: PartyId, recipient: Recipient, tag: Tag, body: &[u8]) -> SignedHeader {
        let (length, digest) = (body.len() as u64, Header::digest_of(body));
        let session = self.party.roster.session;
        let signed = Header { session, tag, from: self.party.id, to: recipient, length, digest }
            .sign(&self.signing);
        self.mesh.post(to, Message { signed, body: Bytes::copy_from_slice(body), depth: 0 });
        signed
    }

    /// The faults that a server has on record, once there is one.
    pub async fn faults(&self, server: usize) -> Vec<FaultInfo> {
        let wait = async {
            loop {
                let faults = self.honest[server].faults().await.unwrap();
                if !faults.is_empty() {
                    return faults;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LONG, wait).await.expect("a fault is recorded")
    }
}

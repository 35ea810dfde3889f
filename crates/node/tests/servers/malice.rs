//! A malicious P2 among honest P0 and P1: what it says is recorded against it, and harms nobody.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ostrakon_crypto::SigningKey;
use ostrakon_net::{Identity, Mesh, Quota, Timing};
use ostrakon_node::interface::{FaultInfo, NewRoom};
use ostrakon_node::{EngineProvider, Service};
use ostrakon_party::{
    Channel, Header, Instance, InstanceKind, Message, Party, PartyId, Recipient, Roster, SignedHeader, Step, Tag, wire,
};

use crate::common::{configs, key};
use crate::engine::PlainProvider;

const P0: PartyId = PartyId(0);
const P1: PartyId = PartyId(1);
const P2: PartyId = PartyId(2);

/// Two honest servers and the means of the third.
struct Scene {
    _directory: tempfile::TempDir,
    honest: [Service; 2],
    mesh: Arc<Mesh>,
    signing: SigningKey,
    party: Party,
}

/// Addresses of announcements and echoes, as the servers use them.
fn tag(author: PartyId, number: u64, step: u16) -> Tag {
    let mut scope = *b"announcements  \0";
    scope[15] = author.0;
    Tag { instance: Instance { kind: InstanceKind::Control, scope, number }, step: Step(step), sequence: 0 }
}

impl Scene {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let configs = configs(directory.path());
        let provider = Arc::new(PlainProvider(Arc::default()));
        let listener = tokio::net::TcpListener::bind(configs[2].mesh).await.unwrap();
        let start = async |n: usize| Service::start(configs[n].clone(), provider.clone()).await.unwrap();
        let honest = [start(0).await, start(1).await];
        let keys: Vec<_> = configs[2].servers.iter().map(|server| server.key).collect();
        let roster = Arc::new(Roster { session: provider.setup_session(&keys), keys: keys.clone() });
        let mesh = Mesh::start(ostrakon_net::Config {
            id: P2,
            roster: roster.clone(),
            identity: Identity::from_seed(&[2; 32]),
            listener,
            addresses: Default::default(),
            timing: Timing::default(),
            quota: Quota::default(),
        })
        .unwrap();
        let early = Party::new(P2, roster, Arc::new(key(2)), mesh.channel());
        let session = provider.set_up(early, [9; 32]).await.unwrap().session;
        let roster = Arc::new(Roster { session, keys });
        let party = Party::new(P2, roster, Arc::new(key(2)), mesh.channel());
        let scene = Self { _directory: directory, honest, mesh, signing: key(2), party };
        for server in &scene.honest {
            while server.servers().await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        scene
    }

    /// Signs anything to anybody.
    fn say(&self, to: PartyId, recipient: Recipient, tag: Tag, body: &[u8]) -> SignedHeader {
        let (length, digest) = (body.len() as u64, Header::digest_of(body));
        let session = self.party.roster.session;
        let signed = Header { session, tag, from: P2, to: recipient, length, digest }.sign(&self.signing);
        self.mesh.post(to, Message { signed, body: Bytes::copy_from_slice(body), depth: 0 });
        signed
    }

    /// The faults that a server has on record, once there is one.
    async fn faults(&self, server: usize) -> Vec<FaultInfo> {
        let wait = async {
            loop {
                let faults = self.honest[server].faults().await.unwrap();
                if !faults.is_empty() {
                    return faults;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), wait).await.expect("a fault is recorded")
    }
}

/// An announcement's bytes up to the kind: nothing was delivered before it but `own` announcements of P2.
fn announcement(own: u8, kind: u8, rest: &[u8]) -> Vec<u8> {
    [&[0, 0, own, kind], rest].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_announcements_under_one_number_are_evidence_for_anybody() {
    let scene = Scene::start().await;
    // That batch 5, or batch 6, is ready.
    let one = scene.say(P0, Recipient::All, tag(P2, 0, 1), &announcement(0, 3, &[5]));
    let other = scene.say(P1, Recipient::All, tag(P2, 0, 1), &announcement(0, 3, &[6]));
    for (server, own, others) in [(0, one, other), (1, other, one)] {
        let faults = scene.faults(server).await;
        assert_eq!((faults.len(), faults[0].culprit), (1, 2));
        assert!(faults[0].what.contains("two different things"), "{}", faults[0].what);
        let (a, b): (SignedHeader, SignedHeader) = wire::decode(&faults[0].evidence).unwrap();
        assert_eq!((a, b), (own, others));
        assert!(scene.party.roster.vouches(&a) && scene.party.roster.vouches(&b) && a.contradicts(&b));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_announcement_to_one_server_only_blames_nobody_else() {
    let scene = Scene::start().await;
    scene.say(P0, Recipient::One(P0), tag(P2, 0, 1), &announcement(0, 3, &[5]));
    scene.say(P1, Recipient::One(P1), tag(P2, 0, 1), &announcement(0, 3, &[6]));
    for server in 0..2 {
        let faults = scene.faults(server).await;
        assert!(faults.iter().all(|fault| fault.culprit == 2 && fault.what.contains("one server only")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_breaks_the_rules_changes_nothing_and_the_log_goes_on() {
    let scene = Scene::start().await;
    let say = |number: u64, body: &[u8]| {
        for to in [P0, P1] {
            scene.say(to, Recipient::All, tag(P2, number, 1), body);
        }
    };
    say(0, b"no announcement at all");
    // A batch planned by who is not the scheduler; slots in a room that does not exist, with a length that is a lie.
    say(1, &announcement(1, 2, &[0, 9, 48]));
    say(2, &announcement(2, 6, &[&[7; 16][..], &[0, 255, 255, 255, 127]].concat()));
    // An honest one.
    say(3, &announcement(3, 3, &[5]));
    say(4, &announcement(4, 2, &[1, 9, 48]));
    for server in 0..2 {
        let wait = async {
            while scene.honest[server].faults().await.unwrap().len() < 4 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), wait).await.expect("four faults, with the last announcement's");
        let faults = scene.honest[server].faults().await.unwrap();
        assert!(faults.iter().all(|fault| fault.culprit == 2));
        assert_eq!(faults.iter().filter(|fault| fault.what.contains("well formed")).count(), 2);
        assert_eq!(faults.iter().filter(|fault| fault.what.contains("only the scheduler")).count(), 2);
        assert!(scene.honest[server].rooms().await.unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_false_echo_and_an_endless_announcement_are_recorded() {
    let scene = Scene::start().await;
    scene.say(P0, Recipient::All, tag(P1, 0, 2), b"an echo of nothing");
    let room = NewRoom {
        name: "a room".into(),
        payload: 32,
        capacity: 9,
        seconds: 1,
        minimum: 1,
        mode: ostrakon_broadcast::Mode::Fair,
    };
    let creator = scene.honest[1].clone();
    tokio::spawn(async move { creator.create_room(room).await });
    let faults = scene.faults(0).await;
    assert!(faults[0].culprit == 2 && faults[0].what.contains("never announced"));

    scene.say(P1, Recipient::All, tag(P2, 0, 1), &vec![0; (64 << 10) + 1]);
    let faults = scene.faults(1).await;
    assert!(faults[0].culprit == 2 && faults[0].what.contains("more than an announcement can hold"));
}

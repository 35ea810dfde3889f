//! Servers that stop and start at any moment, one after another, while participants go on: every
//! message is published once, and all boards are the same.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostrakon_broadcast::Archive;
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::{Agreed, IssueName};
use ostrakon_mixing::room::RoomId;
use ostrakon_mixing::{Content, RowFormat};
use ostrakon_node::Service;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::{Status, SubmissionRequest};

use crate::common::{Client, Deployment, LONG, issue_request, key, now};

type Servers = Arc<Mutex<Vec<Service>>>;

const PAUSE: Duration = Duration::from_millis(50);
/// Messages of each participant.
const MESSAGES: u32 = 4;
/// Restarts.
const RESTARTS: u64 = 9;

/// A participant that keeps its message until it is published.
struct Participant {
    servers: Servers,
    room: RoomId,
    home: usize,
    seed: u8,
    client: Client,
    pinned: ostrakon_mixing::Servers,
}

impl Participant {
    fn server(&self, n: usize) -> Service {
        self.servers.lock().unwrap()[n].clone()
    }

    async fn status(&self, n: usize) -> Option<Status> {
        self.server(n).status(self.room, 0, Duration::ZERO).await.ok()
    }

    /// Tries until it succeeds, the epoch is over (`None`), or another server should be heard
    /// first.
    async fn insist<T>(
        &self,
        n: usize,
        ask: impl AsyncFn(Service) -> Result<T, ServiceError>,
    ) -> Option<T> {
        for _ in 0..200 {
            match ask(self.server(n)).await {
                Ok(answer) => return Some(answer),
                Err(ServiceError::Conflict(_)) => return None,
                Err(ServiceError::Refused(reason)) => panic!("refused: {reason}"),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        None
    }

    /// Puts a message into the epoch that collects; returns which, if at least one server may have
    /// it.
    async fn send(&self, text: &str) -> Option<u64> {
        let epoch = self.status(self.home).await?.context?.epoch.number;
        let time = now();
        let digest =
            ostrakon_mixing::link::presence_digest(&self.room, time, PartyId(self.home as u8));
        let (signing, id) = (key(self.seed), key(self.seed).verifying_key());
        let presence =
            ostrakon_protocol::Presence { key: id, time, signature: signing.sign(&digest) };
        self.server(self.home).presence(self.room, presence).await.ok()?;
        let mut issues = Vec::new();
        for n in 0..3 {
            let name = IssueName { room: self.room, number: epoch, party: PartyId(n as u8) };
            let request = issue_request(&name, &signing);
            let issue = self
                .insist(n, async |server| server.issue(self.room, epoch, request.clone()).await)
                .await?;
            let opened = envelope::open(&self.pinned, &name, &signing, &issue.issue);
            issues.push(Some(opened.expect("every server is honest")));
        }
        let Agreed { context, slot, material } = envelope::agreed(&issues)?;
        let info = self.insist(self.home, async |server| server.room(self.room).await).await?;
        let content = if text.is_empty() { Content::Cover } else { Content::Message(text.into()) };
        let format = RowFormat::new(&info.descriptor, epoch);
        let row = format.encode(&content, &format.padding(&signing)).unwrap();
        let body = (self.client)(&self.pinned, &context, slot, &material, &row, &signing);
        let request = SubmissionRequest { key: id, slot, body };
        for n in 0..3 {
            self.insist(n, async |server| server.submit(self.room, epoch, request.clone()).await)
                .await;
        }
        Some(epoch)
    }

    /// Whether an epoch published the text, once it is over.
    async fn published(&self, epoch: u64, text: &str) -> bool {
        loop {
            tokio::time::sleep(PAUSE).await;
            let Some(status) = self.status(self.home).await else { continue };
            let over = status.epoch.is_some_and(|current| current.number > epoch)
                && status.mixing.iter().all(|mixing| mixing.number != epoch);
            if !over {
                continue;
            }
            let Ok(archive) = self.server(self.home).archive(self.room) else { continue };
            let Ok(archive) = archive.text().await else { continue };
            let archive = Archive::verify(&archive, None).expect("the archive holds");
            let entry = archive.entries.iter().find(|signed| signed.entry.epoch.number == epoch);
            return entry.is_some_and(|signed| {
                signed.entry.bodies().any(|message| message == text.as_bytes())
            });
        }
    }

    async fn say_all(self) {
        for n in 0..MESSAGES {
            let text = format!("{n} of {}", self.seed);
            loop {
                if let Some(epoch) = self.send(&text).await
                    && self.published(epoch, &text).await
                {
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        // Covers for the others, until the test ends.
        loop {
            self.send("").await;
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn restarts_at_any_moment_lose_and_repeat_nothing() {
    participate(Deployment::start().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn restarts_at_any_moment_lose_and_repeat_nothing_of_ruffle_rooms() {
    participate(Deployment::start_mixing().await).await;
}

async fn participate(mut deployment: Deployment) {
    let room = deployment.room(1, 2).await;
    let servers: Servers = Arc::new(Mutex::new(deployment.servers.clone()));
    let (client, pinned) = (deployment.client, deployment.pinned().await);
    let participant = |(home, seed)| {
        let (servers, pinned) = (servers.clone(), pinned.clone());
        Participant { servers, room, home, seed, client, pinned }.say_all()
    };
    let participants = [(0, 20), (1, 21), (2, 22), (0, 23), (1, 24), (2, 25)].map(participant);
    tokio::select! {
        _ = futures::future::join_all(participants) => unreachable!("they go on for ever"),
        () = storm(&mut deployment, &servers, room) => {}
    }
}

async fn storm(deployment: &mut Deployment, servers: &Servers, room: RoomId) {
    for n in 0..RESTARTS {
        // Any moments, the same in every run as far as the schedule goes.
        tokio::time::sleep(Duration::from_millis(200 + n * 7919 % 1400)).await;
        let victim = (n * 5 % 3) as usize;
        deployment.stop(victim).await;
        tokio::time::sleep(Duration::from_millis(n * 104_729 % 300)).await;
        deployment.servers[victim] = deployment.restart_without_waiting(victim).await;
        servers.lock().unwrap()[victim] = deployment.servers[victim].clone();
    }
    let mut expected: Vec<_> =
        (20..26).flat_map(|seed| (0..MESSAGES).map(move |n| format!("{n} of {seed}"))).collect();
    expected.sort();
    for server in 0..3 {
        deployment.until(server, |service| service.readiness().ready).await;
        let wait = async {
            loop {
                let mut messages = deployment.messages(server, room).await;
                messages.sort();
                if messages.len() >= expected.len() {
                    return messages;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let messages = tokio::time::timeout(LONG, wait).await.expect("in time");
        assert_eq!(messages, expected, "once each, at server {server}");
    }
}

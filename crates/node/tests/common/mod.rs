//! Three servers in one process, over real links on loopback, and participants that talk to them as over HTTP.

pub mod engine;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_broadcast::client::{issue_digest, presence_digest};
use ostrakon_broadcast::room::RoomId;
use ostrakon_broadcast::{Archive, Content, RowFormat};
use ostrakon_crypto::SigningKey;
use ostrakon_net::Timing;
use ostrakon_node::config::{ServerConfig, StockTargets};
use ostrakon_node::interface::{IssueRequest, NewRoom, Presence, Status, SubmissionRequest};
use ostrakon_node::{Config, Service, ServiceError};
use ostrakon_party::PartyId;

use self::engine::{Controls, PlainProvider};

/// Long enough for anything here.
const LONG: Duration = Duration::from_secs(60);

pub struct Deployment {
    directory: tempfile::TempDir,
    configs: Vec<Config>,
    pub servers: Vec<Service>,
    pub controls: Vec<Arc<Controls>>,
}

fn free_address() -> std::net::SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

async fn start(config: &Config, controls: &Arc<Controls>) -> Service {
    let patience = Duration::from_millis(300);
    let timing = Timing { patience, retry: Duration::from_millis(200), ..Timing::default() };
    let provider = Arc::new(PlainProvider(Arc::clone(controls)));
    Service::start_with(config.clone(), provider, timing).await.expect("the server starts")
}

impl Deployment {
    pub async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let addresses: Vec<_> = (0..3).map(|_| free_address()).collect();
        let server = |n: u8| ServerConfig {
            name: format!("server {n}"),
            url: format!("http://127.0.0.1:{n}"),
            address: addresses[usize::from(n)].to_string(),
            key: key(n).verifying_key(),
        };
        let list: Vec<_> = (0..3).map(server).collect();
        let config = |n: u8| {
            let own: &Path = &directory.path().join(n.to_string());
            std::fs::create_dir(own).unwrap();
            std::fs::write(own.join("key"), format!("{n:02x}").repeat(32)).unwrap();
            std::fs::write(own.join("token"), "a token of some length").unwrap();
            Config {
                party: n,
                data: own.join("data"),
                identity_file: own.join("key"),
                admin_token_file: own.join("token"),
                http: "127.0.0.1:1".parse().unwrap(),
                mesh: addresses[usize::from(n)],
                stock: StockTargets { ready: 2, ..StockTargets::default() },
                servers: list.clone(),
            }
        };
        let configs: Vec<_> = (0..3).map(config).collect();
        let controls: Vec<Arc<Controls>> = (0..3).map(|_| Arc::default()).collect();
        let mut servers = Vec::new();
        for (config, controls) in configs.iter().zip(&controls) {
            servers.push(start(config, controls).await);
        }
        let deployment = Self { directory, configs, servers, controls };
        for server in 0..3 {
            deployment.until(server, |service| service.readiness().ready).await;
        }
        deployment
    }

    pub fn data(&self, server: usize) -> std::path::PathBuf {
        self.directory.path().join(server.to_string()).join("data")
    }

    pub async fn stop(&self, server: usize) {
        self.servers[server].stop().await;
    }

    pub async fn restart_without_waiting(&self, server: usize) -> Service {
        start(&self.configs[server], &self.controls[server]).await
    }

    pub async fn start_again(&mut self, server: usize) {
        self.servers[server] = self.restart_without_waiting(server).await;
        self.until(server, |service| service.readiness().ready).await;
    }

    pub async fn until(&self, server: usize, mut condition: impl FnMut(&Service) -> bool) {
        let wait = async {
            while !condition(&self.servers[server]) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LONG, wait).await.expect("in time");
    }

    /// Waits until a server's status of the room is as asked for.
    pub async fn until_status(
        &self,
        server: usize,
        room: RoomId,
        mut condition: impl FnMut(&Status) -> bool,
    ) -> Status {
        let wait = async {
            let mut version = 0;
            loop {
                match self.servers[server].status(room, version, Duration::from_millis(500)).await {
                    Ok(status) if condition(&status) => return status,
                    Ok(status) => version = status.version,
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        tokio::time::timeout(LONG, wait).await.expect("in time")
    }

    pub async fn room(&self, seconds: u32, minimum: u32) -> RoomId {
        let room = NewRoom {
            name: "a room".into(),
            payload: 64,
            capacity: 12,
            seconds,
            minimum,
            mode: ostrakon_broadcast::Mode::Fair,
        };
        let info = self.servers[1].create_room(room).await.expect("the room is created");
        RoomId::from_hex(&info.id).unwrap()
    }

    pub async fn messages(&self, server: usize, room: RoomId) -> Vec<String> {
        let archive = self.servers[server].archive(room).await.unwrap();
        let archive = Archive::verify(&archive, None).expect("the archive holds");
        let messages = archive.entries.iter().flat_map(|signed| &signed.entry.messages);
        messages.map(|message| String::from_utf8(message.clone()).unwrap()).collect()
    }

    pub async fn present(&self, room: RoomId, home: usize, seed: u8) -> Result<(), ServiceError> {
        let time = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let signature = key(seed).sign(&presence_digest(&room, time, PartyId(home as u8)));
        let presence = Presence { key: key(seed).verifying_key(), time, signature };
        self.servers[home].presence(room, presence).await.map(|_| ())
    }

    /// A participant's slot in an epoch at one server, as soon as it has one.
    pub async fn slot(&self, room: RoomId, epoch: u64, server: usize, seed: u8) -> u32 {
        let signature = key(seed).sign(&issue_digest(&room, epoch, PartyId(server as u8)));
        let request = IssueRequest { key: key(seed).verifying_key(), signature };
        let ask = async {
            loop {
                match self.servers[server].issue(room, epoch, request.clone()).await {
                    Ok(issue) => return issue.slot,
                    Err(ServiceError::NotFound(_) | ServiceError::Unavailable(_)) => {}
                    Err(error) => panic!("no issue: {error}"),
                }
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        };
        tokio::time::timeout(LONG, ask).await.expect("in time")
    }

    pub async fn submission(&self, room: RoomId, epoch: u64, seed: u8, text: &str) -> SubmissionRequest {
        let info = self.servers[0].room(room).await.unwrap();
        let format = RowFormat::new(&info.descriptor, epoch);
        let mut slots = Vec::new();
        for server in 0..3 {
            slots.push(self.slot(room, epoch, server, seed).await);
        }
        assert!(slots.iter().all(|slot| *slot == slots[0]), "all servers give the same slot");
        let content = if text.is_empty() { Content::Cover } else { Content::Message(text.into()) };
        let body = format.encode(&content).unwrap();
        SubmissionRequest { key: key(seed).verifying_key(), slot: slots[0], body }
    }

    /// Takes part in an epoch; an empty text is a cover.
    pub async fn take_part(&self, room: RoomId, epoch: u64, seed: u8, text: &str) {
        let request = self.submission(room, epoch, seed, text).await;
        for server in &self.servers {
            server.submit(room, epoch, request.clone()).await.expect("accepted");
        }
    }
}

//! Servers in one process, over real links on loopback, and participants that talk to them as
//! over HTTP.

pub mod clocked;
pub mod engine;
pub mod scene;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_broadcast::Archive;
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::{Agreed, Exchange, IssueName, Issued};
use ostrakon_mixing::link::presence_digest;
use ostrakon_mixing::room::{RoomId, Servers};
use ostrakon_mixing::{Content, EngineKind, EpochContext, RowFormat, engines};
use ostrakon_net::Timing;
use ostrakon_node::config::{ProcessSettings, Role, ServerConfig, StockTargets};
use ostrakon_node::platform::System;
use ostrakon_node::renewal::{self, Begun, RenewalError};
use ostrakon_node::{Config, EngineProvider, Service, ThreeServers};
use ostrakon_party::{PartyId, SessionId};
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::{CollectPhase, IssueRequest, NewRoom, Presence, Status, SubmissionRequest};
use ostrakon_testkit::free_ports;

use self::clocked::{Ahead, Clocked};
use self::engine::{Controls, PlainProvider, trust};

/// Long enough for anything here, also on a busy machine.
pub const LONG: Duration = Duration::from_secs(300);

pub struct Deployment {
    directory: tempfile::TempDir,
    configs: Vec<Config>,
    pub servers: Vec<Service>,
    providers: Vec<Arc<dyn EngineProvider>>,
    pub client: Client,
    /// What is done to the plain engines.
    pub controls: Vec<Arc<Controls>>,
    /// By how much each server's clock is ahead.
    pub ahead: Vec<Ahead>,
}

/// How a participant makes a submission.
pub type Client =
    fn(&Servers, &EpochContext, u32, &[Option<Vec<u8>>], &[u8], &SigningKey) -> Vec<u8>;

fn plain_client(
    _: &Servers,
    _: &EpochContext,
    _: u32,
    _: &[Option<Vec<u8>>],
    row: &[u8],
    _: &SigningKey,
) -> Vec<u8> {
    row.to_vec()
}

fn mixing_client(
    servers: &Servers,
    context: &EpochContext,
    slot: u32,
    issues: &[Option<Vec<u8>>],
    row: &[u8],
    key: &SigningKey,
) -> Vec<u8> {
    let client = engines::client(context.engine);
    client.submit(servers, context, slot, issues, row, key).expect("honest servers")
}

/// Seconds since 1970: these servers go by the machine's clock.
pub fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

pub fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

/// What a participant says to be given an issue.
pub fn issue_request(name: &IssueName, key: &SigningKey) -> IssueRequest {
    let exchange = Exchange::new(key, name).public();
    let signature = key.sign(&envelope::request_digest(name, &exchange));
    IssueRequest { key: key.verifying_key(), exchange, signature }
}

async fn start(config: &Config, provider: &Arc<dyn EngineProvider>, ahead: &Ahead) -> Service {
    let patience = Duration::from_millis(300);
    let timing = Timing { patience, retry: Duration::from_millis(200), ..Timing::default() };
    let platform = Arc::new(Clocked::new(System::new(timing), Arc::clone(ahead)));
    Service::start_on(platform, config.clone(), Arc::clone(provider))
        .await
        .expect("the server starts")
}

/// Configurations of three servers below a directory.
pub fn configs(directory: &Path) -> Vec<Config> {
    configs_of(3, directory)
}

/// Configurations of so many servers, four at most, below a directory.
fn configs_of(parties: u8, directory: &Path) -> Vec<Config> {
    let addresses = free_ports(usize::from(parties))
        .into_iter()
        .map(|port| std::net::SocketAddr::from(([127, 0, 0, 1], port)))
        .collect::<Vec<_>>();
    let server = |n: u8| ServerConfig {
        name: format!("server {n}"),
        url: format!("http://127.0.0.1:{n}"),
        address: addresses[usize::from(n)].to_string(),
        key: key(n).verifying_key(),
    };
    let servers: Vec<_> = (0..parties).map(server).collect();
    let config = |party: u8| {
        let own = directory.join(party.to_string());
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("key"), format!("{party:02x}").repeat(32)).unwrap();
        std::fs::write(own.join("token"), "a-token-of-some-length").unwrap();
        Config {
            data: own.join("data"),
            identity_file: own.join("key"),
            admin_token_file: own.join("token"),
            stock: StockTargets { ready: 2, ..StockTargets::default() },
            ..Config::new(
                party,
                "127.0.0.1:1".parse().unwrap(),
                addresses[usize::from(party)],
                servers.clone(),
            )
        }
    };
    (0..parties).map(config).collect()
}

impl Deployment {
    /// Three servers with the plain engine.
    pub async fn start() -> Self {
        Self::start_of(3).await
    }

    /// So many servers with the plain engine, four at most.
    pub async fn start_of(parties: u8) -> Self {
        let controls: Vec<Arc<Controls>> = (0..parties).map(|_| Arc::default()).collect();
        let plain = |controls: &Arc<Controls>| {
            Arc::new(PlainProvider(Arc::clone(controls))) as Arc<dyn EngineProvider>
        };
        let providers = controls.iter().map(plain).collect();
        let directory = tempfile::tempdir().unwrap();
        let configs = configs_of(parties, directory.path());
        Self { controls, ..Self::start_in(directory, configs, providers, plain_client).await }
    }

    /// Three servers with the plain engine and changed configurations.
    pub async fn start_changed(change: impl Fn(&mut Config)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut configs = configs(directory.path());
        configs.iter_mut().for_each(change);
        let provider: Arc<dyn EngineProvider> = Arc::new(PlainProvider(Arc::default()));
        Self::start_in(directory, configs, vec![provider; 3], plain_client).await
    }

    /// Three servers with the engines that mix.
    pub async fn start_mixing() -> Self {
        let provider: Arc<dyn EngineProvider> = Arc::new(ThreeServers);
        let directory = tempfile::tempdir().unwrap();
        let configs = configs(directory.path());
        Self::start_in(directory, configs, vec![provider; 3], mixing_client).await
    }

    /// The same, of which each has its provider and what a test does to it.
    pub async fn start_mixing_by(
        provider: impl Fn(Arc<Controls>) -> Arc<dyn EngineProvider>,
    ) -> Self {
        let controls: Vec<Arc<Controls>> = (0..3).map(|_| Arc::default()).collect();
        let providers = controls.iter().cloned().map(provider).collect();
        let directory = tempfile::tempdir().unwrap();
        let configs = configs(directory.path());
        Self { controls, ..Self::start_in(directory, configs, providers, mixing_client).await }
    }

    /// Three servers with the Ruffle engine, each in a database of its own, the first of them
    /// shared with intake processes.
    pub async fn start_shared(databases: [String; 3]) -> Self {
        let provider: Arc<dyn EngineProvider> = Arc::new(ThreeServers);
        let directory = tempfile::tempdir().unwrap();
        let mut configs = configs(directory.path());
        for (config, url) in configs.iter_mut().zip(databases) {
            config.store.url = Some(url);
        }
        configs[0].process.role = Role::Engine;
        Self::start_in(directory, configs, vec![provider; 3], mixing_client).await
    }

    /// An intake process beside the first server.
    pub async fn intake(&self) -> Service {
        let mut config = self.configs[0].clone();
        config.process =
            ProcessSettings { role: Role::Intake, engine: Some("http://engine.example".into()) };
        // It needs none of these.
        config.identity_file = "nowhere".into();
        config.admin_token_file = "nowhere".into();
        config.data = "nowhere".into();
        start(&config, &self.providers[0], &self.ahead[0]).await
    }

    async fn start_in(
        directory: tempfile::TempDir,
        configs: Vec<Config>,
        providers: Vec<Arc<dyn EngineProvider>>,
        client: Client,
    ) -> Self {
        let mut servers = Vec::new();
        let ahead: Vec<Ahead> = configs.iter().map(|_| Ahead::default()).collect();
        for ((config, provider), ahead) in configs.iter().zip(&providers).zip(&ahead) {
            servers.push(start(config, provider, ahead).await);
        }
        let deployment =
            Self { directory, configs, servers, providers, client, controls: Vec::new(), ahead };
        for server in 0..deployment.servers.len() {
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
        start(&self.configs[server], &self.providers[server], &self.ahead[server]).await
    }

    pub async fn start_again(&mut self, server: usize) {
        self.servers[server] = self.restart_without_waiting(server).await;
        self.until(server, |service| service.readiness().ready).await;
    }

    /// Starts all servers that were stopped.
    pub async fn start_all_again(&mut self) {
        for server in 0..self.servers.len() {
            self.servers[server] = self.restart_without_waiting(server).await;
        }
        for server in 0..self.servers.len() {
            self.until(server, |service| service.readiness().ready).await;
        }
    }

    /// Lets a server that is stopped lose its data, all but the secrets of the set-up.
    pub fn lose_data(&self, server: usize) {
        for entry in std::fs::read_dir(self.data(server)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::remove_file(path).unwrap();
            } else if !path.ends_with("secrets") {
                std::fs::remove_dir_all(path).unwrap();
            }
        }
    }

    /// Writes a stopped server's state for a renewal.
    pub async fn write_state(&self, server: usize) -> Result<Vec<u8>, RenewalError> {
        let system = Arc::new(System::new(Timing::default()));
        renewal::write_state(&self.configs[server], Arc::clone(&self.providers[server]), system)
            .await
    }

    /// Begins the next generation at a stopped server.
    pub async fn renew(&self, server: usize, files: [&[u8]; 2]) -> Result<Begun, RenewalError> {
        self.renew_by(server, &files.map(<[u8]>::to_vec)).await
    }

    pub async fn renew_by(&self, server: usize, files: &[Vec<u8>]) -> Result<Begun, RenewalError> {
        let system = Arc::new(System::new(Timing::default()));
        let provider = Arc::clone(&self.providers[server]);
        renewal::begin(&self.configs[server], provider, system, files).await
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
        self.room_by(EngineKind::Ruffle, seconds, minimum).await
    }

    pub async fn room_by(&self, engine: EngineKind, seconds: u32, minimum: u32) -> RoomId {
        let usual = NewRoom::named("a room");
        let engine = Some(engine);
        let room = NewRoom { payload: 64, capacity: 12, seconds, minimum, engine, ..usual };
        let info = self.servers[1].create_room(room).await.expect("the room is created");
        RoomId::from_hex(&info.id).unwrap()
    }

    /// Participants 10, 11 and so on, each at home at another server, say something in an epoch.
    pub async fn speak(&self, room: RoomId, epoch: u64) {
        for server in 0..self.servers.len() {
            self.until_status(server, room, |status| collects(status, epoch)).await;
        }
        let participants = (10u8..).zip(0..self.servers.len());
        for (seed, home) in participants.clone() {
            self.present(room, home, seed).await.expect("present");
        }
        for (seed, home) in participants {
            self.take_part(room, epoch, seed, &format!("{home} in {epoch}")).await;
        }
    }

    /// Waits until every server's board has so many entries.
    pub async fn everywhere(&self, room: RoomId, entries: u64) {
        for server in 0..self.servers.len() {
            self.until_status(server, room, |status| status.board_length >= entries).await;
        }
    }

    pub async fn messages(&self, server: usize, room: RoomId) -> Vec<String> {
        let archive = self.servers[server].archive(room).unwrap().text().await.unwrap();
        let under = |engine, servers| match servers {
            3 => engines::trust(engine, servers).ok(),
            _ => Some(trust(servers)),
        };
        let archive = Archive::verify_under(&archive, None, under).expect("the archive holds");
        let messages = archive.entries.iter().flat_map(|signed| signed.entry.bodies());
        messages.map(|message| String::from_utf8(message.to_vec()).unwrap()).collect()
    }

    pub async fn present(&self, room: RoomId, home: usize, seed: u8) -> Result<(), ServiceError> {
        let time = now();
        let signature = key(seed).sign(&presence_digest(&room, time, PartyId(home as u8)));
        let presence = Presence { key: key(seed).verifying_key(), time, signature };
        self.servers[home].presence(room, presence).await.map(|_| ())
    }

    /// What one server gives a participant in an epoch, as soon as it does.
    pub async fn issue(&self, room: RoomId, epoch: u64, server: usize, seed: u8) -> Issued {
        let name = IssueName { room, number: epoch, party: PartyId(server as u8) };
        let request = issue_request(&name, &key(seed));
        let pinned = self.pinned().await;
        let ask = async {
            loop {
                match self.servers[server].issue(room, epoch, request.clone()).await {
                    Ok(issue) => {
                        return envelope::open(&pinned, &name, &key(seed), &issue.issue)
                            .expect("genuine");
                    }
                    Err(ServiceError::NotFound(_) | ServiceError::Unavailable(_)) => {}
                    Err(error) => panic!("no issue: {error}"),
                }
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        };
        tokio::time::timeout(LONG, ask).await.expect("in time")
    }

    pub async fn submission(
        &self,
        room: RoomId,
        epoch: u64,
        seed: u8,
        text: &str,
    ) -> SubmissionRequest {
        let info = self.servers[0].room(room).await.unwrap();
        let mut issues = Vec::new();
        for server in 0..self.servers.len() {
            issues.push(Some(self.issue(room, epoch, server, seed).await));
        }
        let Agreed { context, slot, material } =
            envelope::agreed(&issues).expect("two servers say the same");
        assert!(material.iter().all(Option::is_some), "all servers say the same");
        let content = if text.is_empty() { Content::Cover } else { Content::Message(text.into()) };
        let format = RowFormat::new(&info.descriptor, epoch);
        let row = format.encode(&content, &format.padding(&key(seed))).unwrap();
        let body = (self.client)(&self.pinned().await, &context, slot, &material, &row, &key(seed));
        SubmissionRequest { key: key(seed).verifying_key(), slot, body }
    }

    /// The servers as participants pin them.
    pub async fn pinned(&self) -> Servers {
        let info = self.servers[0].servers().await.unwrap();
        let keys = info
            .servers
            .iter()
            .map(|server| VerifyingKey::from_hex(&server.key).unwrap())
            .collect();
        Servers { session: SessionId(Digest::from_hex(&info.session).unwrap()), keys }
    }

    /// Takes part in an epoch; an empty text is a cover.
    pub async fn take_part(&self, room: RoomId, epoch: u64, seed: u8, text: &str) {
        let request = self.submission(room, epoch, seed, text).await;
        self.hand_in(room, epoch, &request).await;
    }

    /// Hands a submission in everywhere. The server that closes epochs comes last: as soon as it
    /// has everything it may close this one, and then the others take nothing more.
    pub async fn hand_in(&self, room: RoomId, epoch: u64, request: &SubmissionRequest) {
        for server in self.servers.iter().rev() {
            server.submit(room, epoch, request.clone()).await.expect("accepted");
        }
    }
}

/// Whether an epoch takes submissions.
pub fn collects(status: &Status, number: u64) -> bool {
    status
        .epoch
        .is_some_and(|epoch| epoch.number == number && epoch.phase == CollectPhase::Collecting)
}

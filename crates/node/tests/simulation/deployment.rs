//! Servers on simulated machines, with real databases in a directory of their own.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey, own};
use ostrakon_mixing::{RoomId, Servers};
use ostrakon_node::{Config, EngineProvider, Service};
use ostrakon_party::{PartyId, SessionId};
use ostrakon_protocol::ServiceError;

use crate::checks::parties_of;
use crate::executor::{Executor, OUTSIDE, Owner};
use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::malice::Vice;
use crate::network::Network;
use crate::random::Random;

const TOKEN: &str = "a-token-of-some-length";
/// How long an operator waits for an answer.
const PATIENCE: Duration = Duration::from_secs(25);

/// A server that runs.
#[derive(Clone)]
pub struct Running {
    pub service: Service,
    pub owner: Owner,
    machine: Arc<Machine>,
}

/// What one server is, over all its starts.
struct Server {
    config: Config,
    key: Arc<SigningKey>,
    running: Mutex<Option<Running>>,
    /// The machine of the start that is under way or done.
    machine: Mutex<Option<Arc<Machine>>>,
    ahead_ms: AtomicU64,
    hostile: Mutex<Option<Vice>>,
}

/// All of it.
pub struct Deployment {
    pub executor: Executor,
    pub network: Network,
    pub ledger: Arc<Ledger>,
    provider: Arc<dyn EngineProvider>,
    servers: Vec<Server>,
    owners: AtomicU64,
    /// Whether a test has changed what is on a disk.
    disk_changed: AtomicBool,
    _directory: tempfile::TempDir,
}

fn config(directory: &Path, party: u8, parties: u8) -> Config {
    let own = directory.join(party.to_string());
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("key"), format!("{party:02x}").repeat(32)).unwrap();
    std::fs::write(own.join("token"), TOKEN).unwrap();
    let servers: String = (0..parties)
        .map(|n| {
            let key = SigningKey::from_seed(&[n; 32]).verifying_key().to_hex();
            format!("[[servers]]\nname = \"server {n}\"\nurl = \"http://127.0.0.1:{n}\"\naddress = \"x:1\"\nkey = \"{key}\"\n")
        })
        .collect();
    let text = format!(
        "party = {party}\ndata = \"data\"\nidentity_file = \"key\"\nadmin_token_file = \"token\"\nhttp = \"127.0.0.1:1\"\n\
         mesh = \"127.0.0.1:1\"\n[stock]\nready = 2\n{servers}"
    );
    let file = own.join("server.toml");
    std::fs::write(&file, text).unwrap();
    Config::read(&file).unwrap()
}

/// Files in memory, where there is such a place.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

impl Deployment {
    /// Of so many servers.
    pub fn new(
        parties: u8,
        executor: Executor,
        provider: Arc<dyn EngineProvider>,
        ledger: Arc<Ledger>,
    ) -> Arc<Self> {
        own::remember();
        let directory = directory();
        let server = |party| Server {
            config: config(directory.path(), party, parties),
            key: Arc::new(SigningKey::from_seed(&[party; 32])),
            running: Mutex::default(),
            machine: Mutex::default(),
            ahead_ms: AtomicU64::new(0),
            hostile: Mutex::default(),
        };
        let servers = (0..parties).map(server).collect();
        let network = Network::new(&executor, parties);
        let owners = AtomicU64::new(OUTSIDE + 1);
        Arc::new(Self {
            executor,
            network,
            ledger,
            provider,
            servers,
            owners,
            disk_changed: AtomicBool::new(false),
            _directory: directory,
        })
    }

    /// All servers.
    pub fn parties(&self) -> impl Iterator<Item = PartyId> + use<> {
        parties_of(u8::try_from(self.servers.len()).unwrap())
    }

    fn server(&self, party: PartyId) -> &Server {
        &self.servers[party.index()]
    }

    pub fn key(&self, party: PartyId) -> Arc<SigningKey> {
        Arc::clone(&self.server(party).key)
    }

    pub fn set_clock(&self, party: PartyId, ahead_ms: u64) {
        self.server(party).ahead_ms.store(ahead_ms, Ordering::SeqCst);
    }

    pub fn set_hostile(&self, party: PartyId, hostile: Option<Vice>) {
        *self.server(party).hostile.lock().unwrap() = hostile;
    }

    /// Whether a server says just now that it has taken what it never wrote down. What is gone so
    /// is not asked for again.
    pub fn forgets(&self, party: PartyId) -> bool {
        let vice = *self.server(party).hostile.lock().unwrap();
        vice.is_some_and(|vice| !vice.heals()) && self.lies(party)
    }

    /// Whether a server lies to its participants just now.
    pub fn lies(&self, party: PartyId) -> bool {
        self.is_hostile(party) && self.executor.draw(|random| random.chance(30))
    }

    /// What a server says to a participant: the truth, unless it lies just now.
    pub fn spoil<T>(
        &self,
        party: PartyId,
        mut truth: T,
        lie: impl FnOnce(&mut Random, &mut T),
    ) -> T {
        if self.lies(party) {
            self.executor.draw(|random| lie(random, &mut truth));
        }
        truth
    }

    pub fn is_hostile(&self, party: PartyId) -> bool {
        self.server(party).hostile.lock().unwrap().is_some()
    }

    /// A server that answers.
    pub fn service(&self, party: PartyId) -> Option<Running> {
        let running = self.server(party).running.lock().unwrap().clone();
        running.filter(|running| !self.executor.is_dead(running.owner))
    }

    /// Starts a server, or starts it again; returns at once.
    pub fn start(self: &Arc<Self>, party: PartyId) {
        let server = self.server(party);
        let before = server.running.lock().unwrap().take();
        if let Some(machine) = server.machine.lock().unwrap().take() {
            self.executor.kill(machine.owner);
        }
        let machine = Arc::new(Machine {
            executor: self.executor.clone(),
            network: self.network.clone(),
            owner: self.owners.fetch_add(1, Ordering::SeqCst),
            ahead_ms: server.ahead_ms.load(Ordering::SeqCst),
            dies_after: AtomicU64::new(0),
            stalled: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        });
        *server.machine.lock().unwrap() = Some(Arc::clone(&machine));
        let deployment = Arc::clone(self);
        let owner = machine.owner;
        let starting = async move {
            if let Some(before) = before {
                before.machine.closing.store(true, Ordering::SeqCst);
                before.service.stop().await;
            }
            let server = deployment.server(party);
            let platform = Arc::clone(&machine) as Arc<dyn ostrakon_node::Platform>;
            let started = Service::start_on(
                platform,
                server.config.clone(),
                Arc::clone(&deployment.provider),
            )
            .await;
            let service = started.expect("a server starts with what it left behind");
            *server.running.lock().unwrap() = Some(Running { service, owner, machine });
        };
        self.executor.spawn(owner, starting.boxed());
    }

    /// Stops a server in good order.
    pub fn stop(&self, party: PartyId) {
        let Some(running) = self.server(party).running.lock().unwrap().take() else { return };
        self.executor.kill(running.owner);
        running.machine.closing.store(true, Ordering::SeqCst);
        self.executor.spawn(OUTSIDE, async move { running.service.stop().await }.boxed());
        self.executor.run_for(Duration::from_millis(100));
    }

    /// Notes that a test changes what is on a disk.
    pub fn change_disk(&self) {
        self.disk_changed.store(true, Ordering::SeqCst);
    }

    /// A server does not show what it finds damaged. Where nobody has changed its disk, it has put
    /// that on its board itself: with too few signatures, or out of its place.
    pub fn expect_no_damage<T>(&self, party: PartyId, answer: &Option<Result<T, ServiceError>>) {
        let Some(Err(error)) = answer else { return };
        let damaged = error.to_string().contains("is damaged on this server's disk");
        assert!(
            !damaged || self.disk_changed.load(Ordering::SeqCst),
            "{party} has an entry on its board that nobody believes: {error}"
        );
    }

    /// The directory of a server's data.
    pub fn data(&self, party: PartyId) -> std::path::PathBuf {
        self.server(party).config.data.clone()
    }

    /// Ends a server at once, wherever it is.
    pub fn kill(&self, party: PartyId) {
        if let Some(machine) = &*self.server(party).machine.lock().unwrap() {
            self.executor.kill(machine.owner);
        }
    }

    /// Ends a server as soon as it has made so many more calls to its disk.
    pub fn kill_after(&self, party: PartyId, calls: u64) {
        if let Some(machine) = &*self.server(party).machine.lock().unwrap() {
            machine.dies_after.store(calls, Ordering::SeqCst);
        }
    }

    /// Lets a server's disk stand still until the server is started again.
    pub fn stall(&self, party: PartyId) {
        if let Some(machine) = &*self.server(party).machine.lock().unwrap() {
            machine.stalled.store(true, Ordering::SeqCst);
        }
    }

    /// Whether a server is neither running nor about to.
    pub fn is_down(&self, party: PartyId) -> bool {
        self.server(party)
            .machine
            .lock()
            .unwrap()
            .as_ref()
            .is_none_or(|machine| self.executor.is_dead(machine.owner))
    }

    /// Asks a server something and waits for the answer, while everything goes on. `None` if there
    /// is none.
    pub fn call<T: Send + 'static>(
        &self,
        party: PartyId,
        call: impl FnOnce(Service) -> BoxFuture<'static, Result<T, ServiceError>>,
    ) -> Option<Result<T, ServiceError>> {
        let server = self.service(party)?;
        let answer = Arc::new(Mutex::new(None));
        let (place, work) = (Arc::clone(&answer), call(server.service));
        self.executor
            .spawn(server.owner, async move { *place.lock().unwrap() = Some(work.await) }.boxed());
        let over = || answer.lock().unwrap().is_some() || self.executor.is_dead(server.owner);
        self.executor.run_until(PATIENCE, Duration::from_millis(1), over);
        answer.lock().unwrap().take()
    }

    /// How many entries a room's board has and how many actions its host log, as a server says.
    pub fn lengths(&self, party: PartyId, room: RoomId) -> Option<(u64, u64)> {
        let status = self.call(party, |server| {
            async move { server.status(room, 0, Duration::ZERO).await }.boxed()
        });
        let status = status?.ok()?;
        Some((status.board_length, status.actions))
    }

    /// The servers as one of them names them, once there is a session.
    pub fn pinned(&self, party: PartyId) -> Option<Servers> {
        let info =
            self.call(party, |server| async move { server.servers().await }.boxed())?.ok()?;
        let keys = info
            .servers
            .iter()
            .map(|server| VerifyingKey::from_hex(&server.key).unwrap())
            .collect();
        Some(Servers { session: SessionId(Digest::from_hex(&info.session).unwrap()), keys })
    }

    /// Stops all servers in good order.
    pub fn end(&self) {
        for server in &self.servers {
            let running = server.running.lock().unwrap().take();
            if let Some(running) = running {
                self.executor.kill(running.owner);
                running.machine.closing.store(true, Ordering::SeqCst);
                self.executor.spawn(OUTSIDE, async move { running.service.stop().await }.boxed());
            }
        }
        self.executor.run_for(Duration::from_millis(100));
        self.executor.end();
    }
}

//! One server process: starts what there is to start, in order, and answers while it does.
//!
//! Start: configuration and keys, then the disk, then the links to the others. With them the
//! set-up, at the first start. Then the state from the disk, and everything else. Until then every
//! request is answered with what the server waits for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Duration;

use ostrakon_crypto::{Digest, SigningKey, hash};
use ostrakon_mixing::room::Servers;
use ostrakon_net::Reach;
use ostrakon_party::{ByParty, Channel, Party, PartyId, Roster};
use subtle::{Choice, ConstantTimeEq};
use tokio::sync::{mpsc, watch};

use crate::boards::{erasure, mending};
use crate::config::{Config, ConfigError, Role};
use crate::core::{Core, Counters};
use crate::disk::Disk;
use crate::disk::audit::{self, AuditInfo};
use crate::intakes::engine_side;
use crate::ledger::agree::follow;
use crate::ledger::rollback;
use crate::memory::introduction::{Introduction, Standing};
use crate::memory::logs::Logs;
use crate::memory::quotas::Creator;
use crate::memory::watchers::Watchers;
use crate::mixing::{scheduling_loop, stock};
use crate::operator::{self, metrics};
use crate::platform::mailer::Mailer;
use crate::platform::{Links, Platform, StartError};
use crate::ports::Drivers;
use crate::provider::EngineProvider;
use crate::provider::trusts::Trusts;
use crate::rooms::requests;
use crate::service::effects;
use crate::setup::{self, BeginError};
use crate::{intake, jobs, recovery};
use ostrakon_protocol::Create;
use ostrakon_protocol::{Readiness, ServiceError};

/// How a start went so far, if it is not done.
enum Progress {
    Waiting,
    Failed(BeginError),
}

/// How often it is looked whether the process can do no more.
const LOOK: Duration = Duration::from_millis(500);
/// How long putting the end on record may hold it up: a database that is away would hold it up for
/// a minute.
const LAST_NOTE: Duration = Duration::from_secs(1);

/// A server, from its start on.
pub(crate) struct Server {
    config: Arc<Config>,
    /// Compared instead of the tokens, so that lengths tell nothing either.
    tokens: RwLock<Tokens>,
    mailer: Option<Arc<Mailer>>,
    /// When the certificate of the public interface expires, in seconds since 1970; 0 if that is
    /// not known.
    certificate_expires: AtomicU64,
    introduction: Arc<Introduction>,
    platform: Arc<dyn Platform>,
    mesh: Arc<dyn Links>,
    store: Disk,
    core: OnceLock<Arc<Core>>,
    drivers: OnceLock<Drivers>,
    progress: Mutex<Progress>,
    stop: watch::Sender<bool>,
    /// Seconds since 1970.
    since: u64,
}

fn token_digest(token: &str) -> Digest {
    hash::digest("ostrakon/v1/node/administrator token", token.as_bytes())
}

/// Digests of tokens.
struct Tokens {
    administrator: Vec<Digest>,
    creation: Vec<Digest>,
}

impl Tokens {
    fn of(config: &Config) -> Result<Self, ConfigError> {
        let administrator =
            config.admin_tokens()?.iter().map(|token| token_digest(token)).collect();
        let creation = config.creation_tokens()?.iter().map(|token| token_digest(token)).collect();
        Ok(Self { administrator, creation })
    }
}

/// Whether a token is known. Takes the same time for every one that is not.
fn is_known(known: &[Digest], token: &str) -> bool {
    let token = token_digest(token);
    known.iter().fold(Choice::from(0), |found, known| found | token.0.ct_eq(&known.0)).into()
}

/// Starts a server.
pub(crate) async fn start(
    config: Config,
    provider: Arc<dyn EngineProvider>,
    platform: Arc<dyn Platform>,
) -> Result<Arc<Server>, StartError> {
    let seed = config.identity()?;
    let tokens = RwLock::new(Tokens::of(&config)?);
    let mailer = Mailer::of(&config)?.map(Arc::new);
    let trusts = provider.trusts(config.servers.len()).map_err(ConfigError::Setting)?;
    let store = Disk::open(&config.data, &config.database()?, Arc::clone(&platform)).await?;
    let keys: Vec<_> = config.servers.iter().map(|server| server.key).collect();
    // The links belong to the set-up's session for ever: what they carry bears its session itself.
    let roster = Arc::new(Roster { session: provider.setup_session(&keys), keys });
    let mesh = platform.connect(&config, Arc::clone(&roster), &seed).await?;
    let signing = Arc::new(SigningKey::from_seed(&seed));
    let introduction = Arc::new(Introduction::new(Arc::clone(&mesh), Arc::clone(&platform)));
    let server = Arc::new(Server {
        config: Arc::new(config),
        tokens,
        mailer,
        certificate_expires: AtomicU64::new(0),
        introduction,
        platform: Arc::clone(&platform),
        mesh,
        store,
        core: OnceLock::new(),
        drivers: OnceLock::new(),
        progress: Mutex::new(Progress::Waiting),
        stop: watch::Sender::new(false),
        since: platform.now_ms() / 1000,
    });
    server.note("server", "start", &format!("release {}", operator::VERSION)).await;
    let starting = Arc::clone(&server);
    let mut stopping = server.stop.subscribe();
    platform.spawn(Box::pin(async move {
        tokio::select! {
            biased;
            begun = starting.begin(roster, trusts, signing, provider) => if let Err(error) = begun {
                tracing::error!(reason = %error, "the server cannot begin its work");
                *starting.progress.lock().expect("no panic while held") = Progress::Failed(error);
            },
            _ = stopping.wait_for(|stop| *stop) => {}
        }
    }));
    Ok(server)
}

impl Server {
    /// Everything that needs the other servers.
    async fn begin(
        &self,
        roster: Arc<Roster>,
        trusts: Trusts,
        signing: Arc<SigningKey>,
        provider: Arc<dyn EngineProvider>,
    ) -> Result<(), BeginError> {
        let (id, jobs) = (self.config.id(), provider.jobs());
        jobs::distinct(&jobs)?;
        let early = Party::new(id, Arc::clone(&roster), Arc::clone(&signing), self.channel());
        let repeat = setup::was_done(&self.store);
        let result = setup::set_up(early.clone(), &self.store, &*self.platform, &provider).await?;
        let servers = Servers { session: result.session, keys: roster.keys.clone() };
        let roster = Arc::new(Roster { session: result.session, keys: roster.keys.clone() });
        let party = Party::new(id, roster, Arc::clone(&signing), self.channel());
        let engines = provider.engines(&party, &result.secret)?;
        let world = recovery::world(&self.store, &servers, &trusts, jobs).await?;
        let progress = recovery::progress(&self.store, &party.roster).await?;
        let delivered = ByParty::from(progress.delivered.clone());
        self.introduction.change(|about| about.progress = Some(progress));
        let (intake, arriving) = mpsc::channel(intake::WAITING);
        let (to_prepare, planned) = mpsc::unbounded_channel();
        let (effects, following) = mpsc::unbounded_channel();
        let core = Arc::new(Core {
            config: Arc::clone(&self.config),
            platform: Arc::clone(&self.platform),
            servers,
            mesh: Arc::clone(&self.mesh),
            store: self.store.clone(),
            provider: Arc::clone(&provider),
            engines,
            logs: Logs::new(delivered),
            introduction: Arc::clone(&self.introduction),
            standing: watch::Sender::new(Standing::Unknown),
            presence: Mutex::default(),
            loaded: Default::default(),
            under_way: Default::default(),
            mailer: self.mailer.clone(),
            identity: signing,
            intake,
            effects,
            changed: watch::Sender::new(world.version),
            watchers: Watchers::default(),
            subjects: Watchers::default(),
            stopping: self.stop.subscribe(),
            counters: Counters::new(trusts.parties()),
            trusts,
            damaged: Mutex::default(),
            verified: Default::default(),
            past: Mutex::default(),
            state: Mutex::new(world),
            party,
        });
        let drivers = Drivers::new(&core);
        core.spawn(effects::run(Arc::clone(&core), drivers.clone(), following, to_prepare));
        let (store, platform) = (self.store.clone(), Arc::clone(&self.platform));
        core.spawn(setup::help(early, store, platform, provider, result.session, repeat));
        let noting = Arc::clone(&core);
        let note = move |intakes: &[_], taken: &[_]| requests::note(&noting, intakes, taken);
        core.spawn(intake::run(self.store.clone(), arriving, note));
        recovery::load(&core).await?;
        core.spawn(operator::sample(Arc::clone(&core)));
        core.spawn(erasure::run(Arc::clone(&core)));
        core.spawn(self.store.clone().keep_trying());
        if self.config.process.role == Role::Engine {
            core.spawn(engine_side::run(Arc::clone(&core)));
        }
        core.spawn(mending::run(Arc::clone(&core)));
        self.show(&core, &drivers);
        self.find_standing(&core, repeat).await?;
        core.spawn(stock::run(Arc::clone(&core), planned));
        recovery::take_up(&core).await?;
        for author in core.party.peers() {
            core.spawn(follow(Arc::clone(&core), author));
        }
        core.spawn(scheduling_loop::run(Arc::clone(&core)));
        core.spawn(mending::serve(Arc::clone(&core)));
        drivers.run(&core);
        tracing::info!(party = %id, "the server is at work");
        Ok(())
    }

    /// Lets requests be answered by the running server. This is the only place where it is set.
    fn show(&self, core: &Arc<Core>, drivers: &Drivers) {
        drop(self.drivers.set(drivers.clone()));
        drop(self.core.set(Arc::clone(core)));
    }

    /// Finds out whether this server may speak, with data from before if `repeat`. An error says
    /// why it may not.
    async fn find_standing(&self, core: &Arc<Core>, repeat: bool) -> Result<(), BeginError> {
        // Who was not there before has said nothing yet.
        let closed = self.store.generation().await?.closed;
        let standing = if closed {
            rollback::closed()
        } else if repeat {
            rollback::decide(core).await
        } else {
            Standing::Fresh
        };
        core.standing.send_replace(standing);
        Ok(rollback::allowed(&core.standing).await?)
    }

    fn channel(&self) -> Arc<dyn Channel> {
        Arc::clone(&self.mesh) as Arc<dyn Channel>
    }

    /// What works for its jobs, once it is running.
    pub fn drivers(&self) -> Result<&Drivers, ServiceError> {
        self.drivers.get().ok_or_else(|| ServiceError::Unavailable(self.waits_for()))
    }

    /// The running server.
    pub fn core(&self) -> Result<&Arc<Core>, ServiceError> {
        self.core.get().ok_or_else(|| ServiceError::Unavailable(self.waits_for()))
    }

    fn waits_for(&self) -> String {
        if let Progress::Failed(error) = &*self.progress.lock().expect("no panic while held") {
            return format!("the server could not begin its work: {error}");
        }
        let missing = self.missing();
        if missing.is_empty() && self.core.get().is_some() {
            return "asking the other servers whether the data are the newest, and of their generation; try again in a moment".into();
        }
        if missing.is_empty() {
            return "the servers are setting up their session; try again in a moment".into();
        }
        format!(
            "waiting for the other servers: {} cannot be reached{}",
            missing.join(", "),
            self.troubles()
        )
    }

    fn missing(&self) -> Vec<String> {
        let name = |id: &PartyId| {
            self.config.servers.get(id.index()).map_or(id.to_string(), |server| server.name.clone())
        };
        let states = self.mesh.peer_states();
        states
            .iter()
            .filter(|(_, state)| state.reach == Reach::No)
            .map(|(id, _)| name(id))
            .collect()
    }

    /// Why servers that answer are not understood, in parentheses.
    fn troubles(&self) -> String {
        let known = self.mesh.acquaintances();
        let troubles: Vec<_> = known.into_values().filter_map(|peer| peer.trouble).collect();
        if troubles.is_empty() { String::new() } else { format!(" ({})", troubles.join("; ")) }
    }

    /// The process as its operator sees it.
    pub fn process(&self) -> operator::Process<'_> {
        operator::Process {
            config: &self.config,
            mesh: &*self.mesh,
            platform: &*self.platform,
            core: self.core.get(),
            drivers: self.drivers.get(),
            since: self.since,
            ready: self.readiness().ready,
            certificate_expires: self.certificate_expires(),
        }
    }

    pub fn is_administrator(&self, token: &str) -> bool {
        is_known(&self.tokens.read().expect("no panic while held").administrator, token)
    }

    pub fn creator(&self, token: Option<&str>, origin: Option<u64>) -> Option<Creator> {
        if token.is_some_and(|token| self.is_administrator(token)) {
            return Some(Creator::Administrator);
        }
        let known = |token: &str| {
            is_known(&self.tokens.read().expect("no panic while held").creation, token)
        };
        let may = match self.config.rooms.create {
            Create::Administrator => false,
            Create::Token => token.is_some_and(known),
            // A wrong token is refused here, too: otherwise the administrator's could be sought
            // without ever failing.
            Create::Anyone => token.is_none(),
        };
        may.then_some(Creator::Guest(origin))
    }

    /// Reads the tokens again. If that fails, those that were known remain.
    pub fn reload(&self) -> Result<(), ConfigError> {
        let tokens = Tokens::of(&self.config)?;
        *self.tokens.write().expect("no panic while held") = tokens;
        let (store, now) = (self.store.clone(), self.platform.now_ms());
        self.platform.spawn(Box::pin(async move {
            audit::note(&store, now, "operator", "read tokens again", "").await;
        }));
        Ok(())
    }

    pub fn set_certificate_expires(&self, time: u64) {
        self.certificate_expires.store(time, Ordering::Relaxed);
        self.introduction.change(|about| about.certificate_expires = self.certificate_expires());
    }

    pub fn certificate_expires(&self) -> Option<u64> {
        Some(self.certificate_expires.load(Ordering::Relaxed)).filter(|time| *time != 0)
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn readiness(&self) -> Readiness {
        let missing = self.missing();
        let speaks = self.core.get().is_some_and(|core| *core.standing.borrow() == Standing::Fresh);
        // That it was started is of no use to anybody once it cannot write any more.
        let end = self.store.end_of_writing().map(|end| end.to_string());
        let unwritable =
            || self.store.trouble().map(|why| format!("nothing can be written: {why}"));
        let detail = match (end.or_else(unwritable), speaks) {
            (Some(why), _) => why,
            (None, false) => self.waits_for(),
            (None, true) if missing.is_empty() => String::new(),
            (None, true) => format!("{} cannot be reached{}", missing.join(", "), self.troubles()),
        };
        Readiness {
            ready: detail.is_empty(),
            missing,
            detail,
            certificate_expires: self.certificate_expires(),
        }
    }

    pub fn metrics(&self) -> String {
        metrics::render(&self.process())
    }

    pub fn set_blocked(&self, peer: PartyId, blocked: bool) {
        self.mesh.set_blocked(peer, blocked);
    }

    /// Puts something on record.
    pub async fn note(&self, actor: &str, action: &str, detail: &str) {
        audit::note(&self.store, self.platform.now_ms(), actor, action, detail).await;
    }

    pub async fn audit(
        &self,
        before: Option<u64>,
        count: u32,
    ) -> Result<Vec<AuditInfo>, ServiceError> {
        audit::read(&self.store, before, count).await.map_err(|error| {
            tracing::error!(%error, "the audit log cannot be read");
            ServiceError::Internal
        })
    }

    /// Resolves when this process can do no more, but may once it is started again: with the cause
    /// and the remedy. What somebody has to look at first does not count.
    pub async fn ended(&self) -> String {
        loop {
            if let Some(reason) = self.end() {
                return reason;
            }
            self.platform.sleep(LOOK).await;
        }
    }

    fn end(&self) -> Option<String> {
        match (self.store.end_of_writing(), &*self.progress.lock().expect("no panic while held")) {
            // Started again, it would take the database from the other engine in its turn, and so
            // they would go on.
            (Some(ostrakon_store::Error::Superseded), _) => None,
            (Some(end), _) => Some(end.to_string()),
            (None, Progress::Failed(error)) if error.may_pass() => Some(error.to_string()),
            (None, _) => None,
        }
    }

    /// Stops everything. What is on disk is all that remains.
    pub async fn stop(&self) {
        if self.platform.timeout(LAST_NOTE, self.note("server", "stop", "")).await.is_none() {
            tracing::warn!(
                "the database does not take that the server stops, so the audit log will not say it"
            );
        }
        self.stop.send_replace(true);
        self.mesh.shutdown().await;
        // Give threads and tasks a moment to see it; what they still want of the database they are
        // refused.
        self.platform.sleep(Duration::from_millis(50)).await;
        self.store.close().await;
    }
}

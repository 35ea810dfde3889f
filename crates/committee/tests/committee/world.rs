//! A committee in one process: real links, databases in memory of the file system, and members that
//! read each other's statements directly.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_committee::{
    Config, Graphs, Jobs, Open, Peers, Phase, Refused, Service, Statistics, Store, Unreached,
};
use ostrakon_computation::{
    Archive, Cancellation, Card, Committee, ComputationId, Contributors, Draft, Input, Order,
    Parameters, ShareKey, SignedDraft, Statement,
};
use ostrakon_crypto::sealed;
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use ostrakon_net::{Identity, Mesh, Quota, Timing};
use ostrakon_party::{Channel, Party, PartyId, Roster, SessionId};
use ostrakon_stats::ExchangeKey;
use ostrakon_testkit::free_ports;
use sqlx::{Connection, Row};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::deaths::{Witness, Witnessed};
use crate::garbling::{Garble, Garbling};
use crate::plain::Plain;

/// How long anything may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// In which a member that trickles its answers has given one: a test that waits for it fails.
pub const TRICKLE: Duration = Duration::from_secs(5 * PATIENCE.as_secs());

/// The least minimum of reports that members take.
pub const FEWEST: u32 = 2;

/// How many computations may be under way at a time.
pub const OPEN: Open = Open { of_one: 6, in_all: 8, kept: 60 };

/// How long what is over is kept.
pub const KEEP: Duration = Duration::from_secs(1_000_000);

pub fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

pub fn member_key(member: usize) -> [u8; 32] {
    [200 + u8::try_from(member).unwrap(); 32]
}

fn exchange(member: usize) -> ExchangeKey {
    ExchangeKey::from_seed(&Secret::new([100 + u8::try_from(member).unwrap(); 32]))
}

/// Seconds since 1970, as all members take them to be: time passes when a test says so.
static NOW: AtomicU64 = AtomicU64::new(1_000_000);

pub fn now() -> u64 {
    NOW.load(Ordering::SeqCst)
}

/// Lets time pass.
pub fn pass(seconds: u64) {
    NOW.fetch_add(seconds, Ordering::SeqCst);
}

fn entropy(out: &mut [u8]) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes();
    out.iter_mut().zip(count.iter().cycle()).for_each(|(o, c)| *o = *c);
}

/// What a member shows to the others: as the service says, or as a test decides.
pub type Lie = Arc<dyn Fn(usize, usize, Vec<Statement>) -> Vec<Statement> + Send + Sync>;

/// The members as everybody reaches them.
#[derive(Clone)]
pub struct Directory {
    services: Arc<Mutex<Vec<Option<Service>>>>,
    lie: Arc<OnceLock<Lie>>,
    /// Inputs that every member shows, whether it holds them or not.
    planted: Arc<Mutex<Vec<Input>>>,
    /// How often a member was asked for an input.
    fetched: Arc<AtomicUsize>,
    /// A member that shows no inputs, whatever it lists, and after how long it says so.
    hiding: Arc<OnceLock<(usize, Duration)>>,
    /// A member that trickles whatever it answers.
    trickling: Arc<OnceLock<usize>>,
    /// Whether members pass on what the creator has cancelled.
    passing: Arc<AtomicBool>,
}

/// One member's view of the directory.
struct Seen {
    by: usize,
    directory: Directory,
}

impl Seen {
    fn service(&self, member: usize) -> Result<Service, Unreached> {
        let services = self.directory.services.lock().unwrap();
        services.get(member).cloned().flatten().ok_or_else(|| Unreached("it is stopped".into()))
    }

    /// The time in which a member answers.
    async fn answers(&self, member: usize) {
        if self.directory.trickling.get() == Some(&member) {
            tokio::time::sleep(TRICKLE).await;
        }
    }
}

fn unreached(error: impl std::fmt::Display) -> Unreached {
    Unreached(error.to_string())
}

impl Peers for Seen {
    fn statements<'a>(
        &'a self,
        member: usize,
        computation: &'a ComputationId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Statement>, Unreached>> {
        let told = self.service(member);
        async move {
            self.answers(member).await;
            let told = told?.statements(computation).map_err(unreached)?;
            let told = match self.directory.lie.get() {
                Some(lie) => lie(member, self.by, told),
                None => told,
            };
            let bytes = serde_json::to_vec(&told).map_err(unreached)?.len();
            if bytes > limit { Err(unreached("too long")) } else { Ok(told) }
        }
        .boxed()
    }

    fn input<'a>(
        &'a self,
        member: usize,
        computation: &'a ComputationId,
        (contributor, body): (VerifyingKey, Digest),
        _: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, Unreached>> {
        self.directory.fetched.fetch_add(1, Ordering::SeqCst);
        let hides = self.directory.hiding.get().filter(|(hiding, _)| *hiding == member);
        let service = self.service(member);
        let planted = self.directory.planted.lock().unwrap();
        let planted = planted.iter().find(|input| input.entry.input() == (contributor, body));
        let planted = planted.map(Input::encode);
        async move {
            match (planted, hides) {
                (Some(planted), _) => Ok(planted),
                (None, Some((_, after))) => {
                    tokio::time::sleep(*after).await;
                    Err(unreached("it shows none"))
                }
                (None, None) => {
                    service?.input(computation, &contributor, &body).await.map_err(unreached)
                }
            }
        }
        .boxed()
    }

    fn order(&self, member: usize, order: Order) -> BoxFuture<'_, Result<(), Unreached>> {
        let service = self.service(member);
        async move {
            self.answers(member).await;
            service?.close(&order).await.map_err(unreached)
        }
        .boxed()
    }

    fn cancel(&self, member: usize, order: Cancellation) -> BoxFuture<'_, Result<(), Unreached>> {
        let service = self.service(member);
        let passes = self.directory.passing.load(Ordering::SeqCst);
        async move {
            self.answers(member).await;
            if passes { service?.cancel(&order).await.map_err(unreached) } else { Ok(()) }
        }
        .boxed()
    }
}

/// A committee in one process.
pub struct World {
    pub committee: Committee,
    pub members: Vec<Service>,
    directory: Directory,
    meshes: Vec<Arc<Mesh>>,
    jobs: Box<dyn Fn(usize) -> Jobs + Send + Sync>,
    home: TempDir,
    nonce: AtomicUsize,
    budget: Option<u64>,
    /// A member that garbles its messages.
    garbling: Option<(usize, Garble)>,
    /// What all engines have said.
    pub witness: Arc<Witness>,
}

impl World {
    pub async fn start(count: usize, job: Plain) -> Self {
        Self::start_lying(count, job, None).await
    }

    /// Starts a committee in which `lie` says what a member shows to another one.
    pub async fn start_lying(count: usize, job: Plain, lie: Option<Lie>) -> Self {
        let jobs = move |_| Jobs::default().with(job.clone());
        Self::start_with(
            count,
            jobs,
            |member| ShareKey::new(&[0; 192], &member_key(member)),
            (lie, None, None),
        )
        .await
    }

    /// Starts a committee that computes statistics.
    pub async fn start_statistics(count: usize) -> Self {
        Self::start_statistics_with(count, None, None).await
    }

    /// The same, in which `lie` says what a member shows to another one, and members keep a budget.
    pub async fn start_statistics_with(
        count: usize,
        lie: Option<Lie>,
        budget: Option<u64>,
    ) -> Self {
        Self::start_statistics_as(count, (lie, budget, None)).await
    }

    /// The same, in which a member garbles what its engine sends.
    pub async fn start_statistics_garbling(count: usize, member: usize, garble: Garble) -> Self {
        Self::start_statistics_as(count, (None, None, Some((member, garble)))).await
    }

    async fn start_statistics_as(
        count: usize,
        terms: (Option<Lie>, Option<u64>, Option<(usize, Garble)>),
    ) -> Self {
        let jobs = |member| Jobs::default().with(Statistics::new(exchange(member), FEWEST));
        let share_key = |member| {
            let signing = SigningKey::from_seed(&member_key(member));
            ShareKey::new(&exchange(member).member(&signing).to_bytes(), &[0; 32])
        };
        Self::start_with(count, jobs, share_key, terms).await
    }

    /// Has every member show an input that it need not hold.
    pub fn plant(&self, input: Input) {
        self.directory.planted.lock().unwrap().push(input);
    }

    /// Has a member show no inputs, and say so after this long.
    pub fn hide(&self, member: usize, after: Duration) {
        assert!(self.directory.hiding.set((member, after)).is_ok());
    }

    /// Has a member trickle, from now on, whatever it answers to others.
    pub fn trickle(&self, member: usize) {
        assert!(self.directory.trickling.set(member).is_ok());
    }

    /// How many rows a table in a member's database has.
    pub async fn rows(&self, member: usize, table: &str) -> i64 {
        let url = format!("sqlite://{}", self.home.path().join(format!("{member}.db")).display());
        let mut database = sqlx::SqliteConnection::connect(&url).await.unwrap();
        let count = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        let row = sqlx::query(count).fetch_one(&mut database).await.unwrap();
        sqlx::Row::get(&row, 0)
    }

    /// How often a member has asked another one for an input.
    pub fn fetched(&self) -> usize {
        self.directory.fetched.load(Ordering::SeqCst)
    }

    /// Starts a committee that computes on graphs.
    pub async fn start_graphs(count: usize) -> Self {
        Self::start_graphs_with(count, None, None).await
    }

    /// The same, in which `lie` says what a member shows to another one, and members keep a budget.
    pub async fn start_graphs_with(count: usize, lie: Option<Lie>, budget: Option<u64>) -> Self {
        let key = |member: usize| {
            sealed::ExchangeKey::new(&Secret::new([150 + u8::try_from(member).unwrap(); 32]))
        };
        let jobs = move |member| Jobs::default().with(Graphs::new(key(member)));
        let share_key = |member: usize| {
            ShareKey::new(&[u8::try_from(member).unwrap(); 192], &key(member).public())
        };
        Self::start_with(count, jobs, share_key, (lie, budget, None)).await
    }

    async fn start_with(
        count: usize,
        jobs: impl Fn(usize) -> Jobs + Send + Sync + 'static,
        share_key: impl Fn(usize) -> ShareKey,
        (lie, budget, garbling): (Option<Lie>, Option<u64>, Option<(usize, Garble)>),
    ) -> Self {
        let mut listeners = Vec::new();
        for port in free_ports(count) {
            listeners.push(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap());
        }
        let cards = listeners.iter().enumerate().map(|(member, listener)| {
            let mesh = listener.local_addr().unwrap().to_string();
            let seed = member_key(member);
            let (name, url) = (format!("m{member}"), format!("http://m{member}"));
            Card::sign(&name, &url, &mesh, share_key(member), &SigningKey::from_seed(&seed))
        });
        let committee = Committee::found("test", cards.collect()).unwrap();
        let mut world = Self {
            members: Vec::new(),
            directory: Directory {
                services: Arc::new(Mutex::new(vec![None; count])),
                lie: Arc::default(),
                planted: Arc::default(),
                fetched: Arc::default(),
                hiding: Arc::default(),
                trickling: Arc::default(),
                passing: Arc::new(AtomicBool::new(true)),
            },
            meshes: Vec::new(),
            jobs: Box::new(jobs),
            home: tempfile::tempdir().unwrap(),
            nonce: AtomicUsize::new(0),
            budget,
            garbling,
            witness: Arc::default(),
            committee,
        };
        if let Some(lie) = lie {
            assert!(world.directory.lie.set(lie).is_ok());
        }
        for (member, listener) in listeners.into_iter().enumerate() {
            let mesh = world.mesh(member, listener);
            world.meshes.push(mesh);
            let service = world.serve(member).await;
            world.members.push(service);
        }
        world
    }

    fn roster(&self) -> Arc<Roster> {
        let session = SessionId(self.committee.digest());
        Arc::new(Roster { session, keys: self.committee.keys() })
    }

    fn mesh(&self, member: usize, listener: TcpListener) -> Arc<Mesh> {
        let roster = self.roster();
        let cards = roster.parties().zip(&self.committee.members);
        Mesh::start(ostrakon_net::Config {
            id: PartyId(u8::try_from(member).unwrap()),
            addresses: cards.map(|(id, card)| (id, card.mesh.clone())).collect(),
            identity: Identity::from_seed(&member_key(member)),
            listener,
            timing: Timing::default(),
            quota: Quota::default(),
            roster,
        })
        .unwrap()
    }

    fn channel(&self, member: usize) -> Arc<dyn Channel> {
        let (channel, witness) = (self.meshes[member].channel(), Arc::clone(&self.witness));
        let channel = Arc::new(Witnessed { channel, witness });
        match &self.garbling {
            Some((liar, garble)) if *liar == member => {
                let key = SigningKey::from_seed(&member_key(member));
                Arc::new(Garbling { channel, key, garble: Arc::clone(garble) })
            }
            _ => channel,
        }
    }

    async fn serve(&self, member: usize) -> Service {
        let signing = || SigningKey::from_seed(&member_key(member));
        let id = PartyId(u8::try_from(member).unwrap());
        let channel = self.channel(member);
        let service = Service::start(Config {
            committee: self.committee.clone(),
            signing: signing(),
            party: Party::new(id, self.roster(), Arc::new(signing()), channel),
            jobs: (self.jobs)(member),
            creators: Some([50, 52].map(|seed| key(seed).verifying_key()).to_vec()),
            store: Store::open(&self.home.path().join(format!("{member}.db"))).await.unwrap(),
            peers: Arc::new(Seen { by: member, directory: self.directory.clone() }),
            clock: now,
            entropy,
            pause: Duration::from_millis(20),
            open: OPEN,
            at_a_time: 4,
            keep: Some(KEEP),
            budget: self.budget,
        })
        .await
        .unwrap();
        self.directory.services.lock().unwrap()[member] = Some(service.clone());
        service
    }

    /// Stops a member and starts it again with what it has on disk; its links are made anew.
    pub async fn restart(&mut self, member: usize) {
        self.restart_after(member, "").await;
    }

    /// A connection to a member's database.
    pub async fn disk(&self, member: usize) -> sqlx::SqliteConnection {
        let url = format!("sqlite://{}", self.home.path().join(format!("{member}.db")).display());
        sqlx::SqliteConnection::connect(&url).await.unwrap()
    }

    /// Carries statements out on a member's database.
    pub async fn on_disk(&self, member: usize, statements: &str) {
        let mut database = self.disk(member).await;
        let statements = sqlx::AssertSqlSafe(statements.to_owned());
        sqlx::raw_sql(statements).execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    }

    /// Stops a member and starts it again, after statements were carried out on its database: as if
    /// it had been killed before something was written.
    pub async fn restart_after(&mut self, member: usize, statements: &str) {
        self.directory.services.lock().unwrap()[member] = None;
        self.members[member].stop().await;
        self.on_disk(member, statements).await;
        let address = self.meshes[member].address();
        self.meshes[member].shutdown().await;
        let listener = loop {
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        self.meshes[member] = self.mesh(member, listener);
        self.members[member] = self.serve(member).await;
    }

    pub async fn stop(&self) {
        for member in &self.members {
            member.stop().await;
        }
    }

    /// A draft of this committee's, for keys 1 to 5, closed by key 50.
    pub fn draft(&self, change: impl Fn(&mut Draft)) -> SignedDraft {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.nonce.fetch_add(1, Ordering::SeqCst).to_le_bytes());
        let contributors: Contributors = (1..=5).map(|seed| key(seed).verifying_key()).collect();
        let mut draft = Draft {
            committee: self.committee.digest(),
            job: "plain".into(),
            parameters: Parameters(vec![]),
            title: "How many?".into(),
            minimum: 2,
            contributors,
            closes: None,
            creator: key(50).verifying_key(),
            nonce,
        };
        change(&mut draft);
        draft.sign(&key(50))
    }

    pub async fn create(&self, draft: &SignedDraft) {
        for member in &self.members {
            member.create(draft.clone()).await.unwrap();
        }
    }

    /// Hands an input in at all members, and checks the receipts.
    pub async fn submit(&self, input: &Input) {
        for (member, card) in self.members.iter().zip(&self.committee.members) {
            let id = member
                .views()
                .into_iter()
                .map(|view| view.id)
                .find(|id| input.entry.verifies(id, &member.view(id).unwrap().draft.draft));
            let receipt = member.submit(&id.unwrap(), input.clone()).await.unwrap();
            assert!(receipt.verifies(&card.key));
        }
    }

    pub async fn close(&self, draft: &SignedDraft) {
        self.close_beside(draft, None).await;
    }

    /// The same. A member whose disk stands still, because it has heard of the order from others,
    /// may be unable to write that it was told once more.
    pub async fn close_beside(&self, draft: &SignedDraft, dying: Option<usize>) {
        let order = Order::sign(draft.draft.id(), &key(50));
        for (number, member) in self.members.iter().enumerate() {
            match member.close(&order).await {
                Err(Refused::Unavailable(_)) if dying == Some(number) => {}
                closed => closed.unwrap(),
            }
        }
    }

    /// The archive, once every member has it.
    pub async fn result(&self, id: &ComputationId) -> Archive {
        let there = async {
            loop {
                let archives: Vec<_> = self.members.iter().map(|m| m.archive(id)).collect();
                if archives.iter().all(Result::is_ok) {
                    return archives.into_iter().next().unwrap().unwrap();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let phases = || self.members.iter().map(|m| m.view(id).unwrap().phase).collect::<Vec<_>>();
        match tokio::time::timeout(PATIENCE, there).await {
            Ok(archive) => archive,
            Err(_) => panic!("no result: {:?}", phases()),
        }
    }

    /// Has members pass on what was cancelled, or not: they hear of it by each other's statements.
    pub fn passes_on(&self, passes: bool) {
        self.directory.passing.store(passes, Ordering::SeqCst);
    }

    /// Who had begun to open what was cancelled, once all members show that it was.
    pub async fn cancelled(&self, id: &ComputationId) -> Vec<usize> {
        let phases = || self.members.iter().map(|m| m.view(id).unwrap().phase).collect::<Vec<_>>();
        let there = async {
            loop {
                match &phases()[..] {
                    [Phase::Cancelled { opened }, others @ ..]
                        if others
                            .iter()
                            .all(|of| *of == Phase::Cancelled { opened: opened.clone() }) =>
                    {
                        return opened.clone();
                    }
                    _ => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        let there = tokio::time::timeout(PATIENCE, there).await;
        there.unwrap_or_else(|_| panic!("not cancelled everywhere: {:?}", phases()))
    }

    /// The reasons with which all members but `liar` have stopped.
    pub async fn stopped(&self, id: &ComputationId, liar: usize) -> Vec<String> {
        let why = |member: &Service| match member.view(id).unwrap().phase {
            Phase::Stopped { why } => Some(why),
            _ => None,
        };
        let honest = || self.members.iter().enumerate().filter(|(m, _)| *m != liar);
        let there = async {
            loop {
                if let Some(all) = honest().map(|(_, member)| why(member)).collect() {
                    return all;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, there).await.expect("the honest members stop")
    }
}

/// Whether what a statement selects of a database is true.
pub async fn says(database: &mut sqlx::SqliteConnection, statement: &str) -> bool {
    let statement = sqlx::AssertSqlSafe(statement.to_owned());
    sqlx::query(statement).fetch_one(database).await.unwrap().get::<i64, _>(0) > 0
}

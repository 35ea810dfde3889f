//! Servers on threads of their own, so that one can be frozen with its sockets open.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ostrakon_asynchromix::board::Outcome;
use ostrakon_asynchromix::participant::{Kept, News};
use ostrakon_asynchromix::service::Told;
use ostrakon_asynchromix::visit::Standing;
use ostrakon_asynchromix::{Room, Shape, Visitor};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixer::{Config, Report, Runner, Visits};
use ostrakon_party::PartyId;
use ostrakon_testkit::free_ports;
use tokio::sync::mpsc;

use crate::turncoat::{Place, bind};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(600);

pub enum Control {
    /// Nothing moves until the other end is dropped.
    Freeze(Receiver<()>),
    Quit,
}

pub struct Server {
    control: mpsc::UnboundedSender<Control>,
    pub visits: Visits,
    thread: Option<JoinHandle<()>>,
}

pub struct World {
    pub room: Arc<Room>,
    pub directory: tempfile::TempDir,
    pub addresses: Vec<String>,
    pub servers: Vec<Option<Server>>,
    /// Whom devices wait for in vain, beside the others.
    pub frozen: RefCell<BTreeSet<usize>>,
    /// Who says what of whom.
    pub faults: Arc<Mutex<Vec<Noted>>>,
}

/// A server, whom it blames, and what for.
pub type Noted = (usize, PartyId, &'static str);

pub fn identity(i: usize) -> Secret {
    Secret::new(digest("test identity", &[u8::try_from(i).unwrap()]).0)
}

pub fn id(i: usize) -> PartyId {
    PartyId(u8::try_from(i).unwrap())
}

impl World {
    pub fn new(n: usize) -> World {
        let key = |i| SigningKey::from_seed(identity(i).expose()).verifying_key();
        let shape = Shape { rows: 16, payload: 12, minimum: 3, ticks: 40 };
        let corrupt = ostrakon_mixer::demo::corrupt(n).unwrap();
        let room = Room::new(Digest([6; 32]), corrupt, (0..n).map(key).collect(), shape).unwrap();
        let addresses = free_ports(n).into_iter().map(|port| format!("127.0.0.1:{port}"));
        let mut world = World {
            room: Arc::new(room),
            directory: tempfile::tempdir().unwrap(),
            addresses: addresses.collect(),
            servers: (0..n).map(|_| None).collect(),
            frozen: RefCell::default(),
            faults: Arc::default(),
        };
        (0..n).for_each(|i| world.start(i, false));
        world
    }

    pub fn home(&self, i: usize) -> PathBuf {
        self.directory.path().join(format!("server-{i}"))
    }

    pub fn start(&mut self, i: usize, readmit: bool) {
        let (directory, addresses) = (self.home(i), self.addresses.clone());
        std::fs::create_dir_all(&directory).unwrap();
        let (room, own) = (Arc::clone(&self.room), addresses[i].clone());
        let (control, controls) = mpsc::unbounded_channel();
        let (tell, told) = channel();
        let faults = Arc::clone(&self.faults);
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = bind(&own).await;
                let config = Config {
                    room,
                    identity: identity(i),
                    directory,
                    listener,
                    addresses,
                    devices: None,
                };
                let (mut runner, visits, _) = Runner::start(config).unwrap();
                if readmit {
                    runner.readmit().unwrap();
                }
                tell.send(visits).unwrap();
                let note = |report| {
                    if let Report::Told(Told::Fault(party, what)) = report {
                        faults.lock().unwrap().push((i, party, what));
                    }
                };
                tokio::select! {
                    ended = runner.run(note) => ended.unwrap(),
                    () = controlled(controls) => {}
                }
            });
        });
        let visits = told.recv().unwrap();
        self.servers[i] = Some(Server { control, visits, thread: Some(thread) });
    }

    /// A server's place, for whoever takes it.
    pub fn place(&self, me: usize) -> Place {
        Place {
            room: Arc::clone(&self.room),
            me,
            identity: identity(me),
            addresses: self.addresses.clone(),
            journal: self.home(me),
        }
    }

    /// How many of its servers may be corrupt.
    pub fn corrupt(&self) -> usize {
        self.room.trust().corrupt()
    }

    /// Ends a server at once; what it has not written is gone.
    pub fn kill(&mut self, i: usize) {
        drop(self.servers[i].take());
    }

    /// Freezes a server until what is returned is dropped.
    pub fn freeze(&self, i: usize) -> Sender<()> {
        let (thaw, frozen) = channel();
        self.frozen.borrow_mut().insert(i);
        self.servers[i].as_ref().unwrap().control.send(Control::Freeze(frozen)).unwrap();
        thaw
    }
}

async fn controlled(mut controls: mpsc::UnboundedReceiver<Control>) {
    while let Some(Control::Freeze(frozen)) = controls.recv().await {
        // It ends when the other end is dropped.
        frozen.recv().unwrap_or_default();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.control.send(Control::Quit));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Devices that visit all servers.
pub struct Devices {
    pub visitors: Vec<Visitor>,
    pub news: Vec<Vec<News>>,
}

impl Devices {
    pub fn saying(world: &World, lines: &[String], seed: u8) -> Devices {
        let visitor = |(i, line): (usize, &String)| {
            let of =
                |what: &str| digest("test device", &[what.as_bytes(), &[seed, i as u8]].concat());
            let mut kept = Kept::new(of("seed").0);
            kept.message = Some(line.clone().into_bytes());
            let fresh = Secret::new(of("fresh").0);
            Visitor::taking_part(Arc::clone(&world.room), &kept, fresh).unwrap()
        };
        let visitors: Vec<_> = lines.iter().enumerate().map(visitor).collect();
        Devices { news: vec![Vec::new(); visitors.len()], visitors }
    }

    /// Each device visits each server once; one that does not answer holds nothing up.
    pub async fn visit(&mut self, world: &World) {
        for (visitor, news) in self.visitors.iter_mut().zip(&mut self.news) {
            visitor.tick();
            for (i, server) in world.servers.iter().enumerate() {
                let Some(server) = server else { continue };
                if world.frozen.borrow().contains(&i) {
                    continue;
                }
                drop(visitor.kept());
                let ask = visitor.ask(id(i));
                let visit = server.visits.visit(&ask);
                let answer = tokio::time::timeout(Duration::from_millis(300), visit).await;
                if let Ok(Ok(answer)) = answer
                    && let Ok(heard) = visitor.take(id(i), &answer)
                {
                    news.extend(heard);
                }
            }
        }
    }

    pub async fn until(&mut self, world: &World, what: &str, done: impl Fn(&Devices) -> bool) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !done(self) {
            assert!(
                tokio::time::Instant::now() < deadline,
                "{what}: {:?} {:?}",
                self.news,
                self.visitors[0].here()
            );
            self.visit(world).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Everybody's line is on the board, and the first device has read as much.
    pub fn all_said(&self) -> bool {
        let said = |news: &Vec<News>| news.iter().any(|n| matches!(n, News::Published(_)));
        self.news.iter().all(said) && self.read().len() >= self.visitors.len()
    }

    /// Whoever was told that its line is in has read it, or was told since to say it again.
    pub fn nothing_is_lost(&self) -> bool {
        let published = |news: &Vec<News>| news.iter().any(|n| matches!(n, News::Published(_)));
        let waits = |news: &Vec<News>| matches!(news.last(), Some(News::In(_)));
        self.news.iter().all(|news| published(news) || !waits(news))
    }

    /// No round is under way, and none is to come, as the first device heard.
    pub fn out_of_stock(&self) -> bool {
        let here = self.visitors[0].here();
        let idle = here.collecting.is_none() && here.mixing == 0;
        here.entries > 0 && idle && here.ready == 0 && here.ended.is_some()
    }

    /// What the first device read.
    pub fn read(&self) -> Vec<String> {
        let messages = self.visitors[0].wall().flat_map(|signed| match &signed.entry.outcome {
            Outcome::Messages(messages) => messages.clone(),
            Outcome::TooFew => Vec::new(),
        });
        let mut read: Vec<String> = messages.map(|m| String::from_utf8(m).unwrap()).collect();
        read.sort();
        read
    }
}

/// How one server says that it stands.
pub async fn standing(world: &World, i: usize) -> Standing {
    use ostrakon_asynchromix::visit::{Answer, Ask};
    let ask = Ask { entry: u64::MAX, messages: Vec::new() }.encode();
    let Some(server) = &world.servers[i] else { return Standing::default() };
    let visit = tokio::time::timeout(Duration::from_millis(300), server.visits.visit(&ask)).await;
    match visit {
        Ok(Ok(answer)) => Answer::decode(&answer, &world.room).unwrap().standing,
        _ => Standing::default(),
    }
}

pub async fn wait(world: &World, what: &str, i: usize, done: impl Fn(&Standing) -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let standing = standing(world, i).await;
        if done(&standing) {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{what}: {standing:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until every server has an open epoch and a batch in stock.
pub async fn stocked(world: &World) {
    for i in 0..world.servers.len() {
        wait(world, "stock", i, |s| s.collecting.is_some() && s.ready > 0).await;
    }
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

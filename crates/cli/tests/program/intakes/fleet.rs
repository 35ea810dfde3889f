//! The processes of three servers.

use std::fs::OpenOptions;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ostrakon_mixing::link::Link;
use ostrakon_protocol::Readiness;
use ostrakon_store::Scratch;
use ostrakon_testkit::free_ports;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::common::json;
use crate::common::servers::{LONG, PAUSE, Servers, text};

/// Intake processes of each server.
pub const INTAKES: usize = 2;

/// Three servers, each an engine with intake processes, and a proxy in front of those at the
/// server's public port.
pub struct Fleet {
    /// The engines' processes; asked over HTTP, what the proxies lead to answers.
    pub servers: Servers,
    databases: Scratch,
    engines: [u16; 3],
    ports: [[u16; INTAKES]; 3],
    intakes: [[Option<Child>; INTAKES]; 3],
    _proxies: JoinSet<()>,
}

impl Fleet {
    /// Starts everything and waits until it is at work.
    pub async fn start(directory: &Path) -> Self {
        let admin = std::env::var("OSTRAKON_TEST_POSTGRES").unwrap_or_else(|_| {
            panic!("OSTRAKON_TEST_POSTGRES is not set: run `cargo xtask test`, or `cargo xtask postgres cargo test …`")
        });
        let names = (0..3).map(|n| format!("intakes_{}_{n}", std::process::id())).collect();
        let databases =
            Scratch::create(&admin, names).await.expect("the tests' PostgreSQL answers");
        let servers = Servers::new(directory);
        let (mut engines, mut ports, mut proxies) = ([0; 3], [[0; INTAKES]; 3], JoinSet::new());
        let free = free_ports(3 * (1 + INTAKES));
        let each = free.chunks(1 + INTAKES);
        for (n, ((engine, ports), free)) in engines.iter_mut().zip(&mut ports).zip(each).enumerate()
        {
            *engine = free[0];
            ports.copy_from_slice(&free[1..]);
            let public = servers.public_port(n);
            proxies.spawn(forward(
                TcpListener::bind((Ipv4Addr::LOCALHOST, public)).await.expect("free"),
                *ports,
            ));
            configure(&servers, n, *engine, ports);
        }
        let intakes = Default::default();
        let mut fleet = Self { servers, databases, engines, ports, intakes, _proxies: proxies };
        (0..3).for_each(|n| fleet.start_engine(n));
        for n in 0..3 {
            fleet.engine_ready(n).await;
            (0..INTAKES).for_each(|which| fleet.start_intake(n, which));
        }
        fleet.servers.ready().await;
        fleet
    }

    fn program(&self, n: usize) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
        command.env("OSTRAKON_STORE_URL", &self.databases.urls()[n]);
        command
    }

    pub fn start_engine(&mut self, n: usize) {
        let program = self.program(n);
        self.servers.start_as(n, program);
    }

    async fn engine_ready(&self, n: usize) {
        let url = format!("{}/readyz", self.engine(n));
        let ready = async {
            loop {
                if let Ok(answer) = reqwest::get(&url).await
                    && answer.json().await.is_ok_and(|readiness: Readiness| readiness.ready)
                {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        self.servers.in_time("an engine becomes ready", ready).await;
    }

    pub fn start_intake(&mut self, n: usize, which: usize) {
        let home = intake_home(&self.servers, n, which);
        let log =
            OpenOptions::new().create(true).append(true).open(home.join("log")).expect("a log");
        let mut command = self.program(n);
        command.args(["serve", "--until-stdin-ends", "--config", text(&home.join("server.toml"))]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        self.intakes[n][which] = Some(command.spawn().expect("the program starts"));
    }

    /// SIGKILL: the process ends where it stands.
    pub async fn kill_intake(&mut self, n: usize, which: usize) {
        let mut child = self.intakes[n][which].take().expect("it runs");
        let early = child.try_wait().expect("a child");
        assert!(early.is_none(), "intake {which} of server {n} ended by itself ({early:?})");
        child.kill().await.expect("it can be killed");
    }

    /// Where server `n`'s engine is asked.
    pub fn engine(&self, n: usize) -> String {
        format!("http://127.0.0.1:{}", self.engines[n])
    }

    /// Where one of server `n`'s intake processes is asked.
    pub fn intake(&self, n: usize, which: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[n][which])
    }

    /// The first server's administrator token.
    pub fn token_file(&self) -> PathBuf {
        self.servers.home(0).join("admin.token")
    }

    /// A room with this many seconds to an epoch, and its link at each server's proxy.
    pub async fn room(&self, seconds: u32) -> Vec<Link> {
        let (engine, token, seconds) = (self.engine(0), self.token_file(), seconds.to_string());
        let create = [
            "room",
            "create",
            "Intakes",
            "--payload",
            "64",
            "--minimum",
            "1",
            "--without-crowd",
            "--capacity",
            "300",
            "--seconds",
            &seconds,
        ];
        let room = json(
            &[&create[..], &["--server", &engine, "--token-file", text(&token), "--json"]].concat(),
        );
        let links = room[0]["links"].as_array().expect("a list");
        links.iter().map(|link| link.as_str().expect("text").parse().expect("a link")).collect()
    }

    /// Waits until an epoch collects in which somebody has handed something in at a server.
    pub async fn until_handed_in(&self, n: usize, room: &Link) {
        let handed_in = async {
            loop {
                let status = self.servers.status(n, room).await;
                if status.and_then(|status| status.epoch).is_some_and(|epoch| epoch.submitted > 0) {
                    return;
                }
                tokio::time::sleep(PAUSE / 10).await;
            }
        };
        self.servers.in_time("somebody hands something in", handed_in).await;
    }

    /// Stops everything in an orderly way.
    pub async fn stop(mut self) {
        for child in self.intakes.iter_mut().flatten().flatten() {
            drop(child.stdin.take());
            let status = tokio::time::timeout(LONG, child.wait())
                .await
                .expect("it stops in time")
                .expect("a child");
            assert!(status.success(), "{status}");
        }
        self.servers.stop_all().await;
        self.databases.remove().await.expect("nobody uses them any more");
    }
}

fn intake_home(servers: &Servers, n: usize, which: usize) -> PathBuf {
    servers.home(n).join(format!("intake-{which}"))
}

/// Gives a server's processes a port and a configuration each. What intake processes have no use
/// for, they do not find.
fn configure(servers: &Servers, n: usize, engine: u16, intakes: &[u16]) {
    let listen = |port: u16| format!("http = \"127.0.0.1:{port}\"");
    let whole = std::fs::read_to_string(servers.config(n)).expect("a configuration");
    assert!(whole.contains(&listen(servers.public_port(n))), "{whole}");
    let at = |port: u16| whole.replace(&listen(servers.public_port(n)), &listen(port));
    std::fs::write(servers.config(n), at(engine) + "\n[process]\nrole = \"engine\"\n")
        .expect("it can be written");
    for (which, port) in intakes.iter().enumerate() {
        let home = intake_home(servers, n, which);
        std::fs::create_dir(&home).expect("a new directory");
        let role =
            format!("\n[process]\nrole = \"intake\"\nengine = \"http://127.0.0.1:{engine}\"\n");
        std::fs::write(home.join("server.toml"), at(*port) + &role).expect("it can be written");
    }
}

/// Leads each connection to one of the ports, in turn, and to the next one if nobody listens there.
async fn forward(listener: TcpListener, ports: [u16; INTAKES]) {
    let mut connections = JoinSet::new();
    for turn in 0.. {
        let mut near = listener.accept().await.expect("connections are accepted").0;
        connections.spawn(async move {
            for which in 0..INTAKES {
                let port = ports[(turn + which) % INTAKES];
                if let Ok(mut far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                    // However it ends, both sides see the end.
                    drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
                    return;
                }
            }
        });
    }
}

//! Three servers on one machine: their files.
//!
//! `DIR/alpha`, `DIR/beta` and `DIR/gamma` hold one server each: `server.toml`, the keys, the data
//! and the log. They share nothing, as they would not on three machines.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, anyhow, bail, ensure};
use ostrakon_node::config::{Config, ProcessSettings, Role, ServerConfig};
use ostrakon_protocol::Create;

use crate::client::Connection;
use crate::secret;
use crate::serving::administrator::Administrator;
use crate::serving::home::{self, CONFIG};

/// The servers' names, by party number.
const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];
/// From a server's public port to the port for the other servers.
const MESH_OFFSET: u16 = 100;
/// Lines of a log that are shown when a server dies.
const LAST_WORDS: usize = 3;

/// The ports of three servers.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    http: [u16; 3],
    mesh: [u16; 3],
}

impl Ports {
    /// Consecutive ports.
    ///
    /// # Errors
    /// If there are not that many ports.
    pub fn from_base(base: u16) -> Result<Self> {
        if base == 0 || base > u16::MAX - MESH_OFFSET - 3 {
            bail!("--base-port must be from 1 to {}, not {base}", u16::MAX - MESH_OFFSET - 3);
        }
        let from = |first: u16| [first, first + 1, first + 2];
        Ok(Self { http: from(base), mesh: from(base + MESH_OFFSET) })
    }

    /// Ports that nobody uses at the moment.
    ///
    /// # Errors
    /// If there are none.
    pub fn free() -> Result<Self> {
        let ports = free_ports(6)?;
        Ok(Self { http: [ports[0], ports[1], ports[2]], mesh: [ports[3], ports[4], ports[5]] })
    }
}

/// Where free ports are looked for: below those that systems give to outgoing connections, which
/// could take one before its server does.
const LOOKED_FOR: std::ops::Range<u16> = 20_000..32_000;

/// Ports that nobody uses at the moment.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    /// How many were given out: whoever got some may not use them yet.
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let many = u32::from(LOOKED_FOR.end - LOOKED_FOR.start);
    // Programs that start at the same time begin at different places.
    let given = GIVEN.fetch_add(u32::try_from(count)?, Ordering::Relaxed);
    let first = std::process::id().wrapping_mul(61).wrapping_add(given) % many;
    let all = (0..many).map(|i| LOOKED_FOR.start + ((first + i) % many) as u16);
    // All are held until all are known, so that they differ.
    let held: Vec<_> = all
        .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
        .take(count)
        .collect();
    ensure!(held.len() == count, "too few ports are free on 127.0.0.1: stop other servers first");
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// The command that runs the server whose configuration is in this directory.
fn serve(home: &Path) -> Vec<OsString> {
    vec!["serve".into(), "--config".into(), home.join(CONFIG).into()]
}

/// One of the servers.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// The command that runs it, with its arguments.
    pub command: Vec<OsString>,
    /// Its log.
    pub log: PathBuf,
    /// Origin of its public interface.
    pub url: String,
}

impl Server {
    /// The end of the log, for people who wonder why the server is gone.
    pub fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LAST_WORDS)..];
        format!("{} ends with: {}", self.log.display(), last.join(" | "))
    }
}

/// Three servers on this machine.
pub struct Site {
    directory: PathBuf,
    configs: Vec<Config>,
}

impl Site {
    /// Makes keys and configuration.
    ///
    /// # Errors
    /// If there are some already, or they cannot be written.
    pub fn create(directory: &Path, ports: Ports) -> Result<Self> {
        Self::create_with(directory, ports, |_, _| {})
    }

    /// Like [`Site::create`]; `change` is given each configuration and its party before it is
    /// written.
    ///
    /// # Errors
    /// As [`Site::create`].
    pub fn create_with(
        directory: &Path,
        ports: Ports,
        change: impl Fn(usize, &mut Config),
    ) -> Result<Self> {
        let mut cards = Vec::new();
        for (i, name) in NAMES.iter().enumerate() {
            let home = directory.join(name);
            secret::directory(&home)?;
            cards.push(ServerConfig {
                name: (*name).to_owned(),
                url: format!("http://127.0.0.1:{}", ports.http[i]),
                address: format!("127.0.0.1:{}", ports.mesh[i]),
                key: home::make_secrets(&home)?,
            });
        }
        for (i, name) in NAMES.iter().enumerate() {
            let listen = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let party = u8::try_from(i).expect("three servers");
            let mut config =
                Config::new(party, listen(ports.http[i]), listen(ports.mesh[i]), cards.clone());
            // Who can reach these servers is at this machine.
            config.rooms.create = Create::Anyone;
            change(i, &mut config);
            home::write_config(&directory.join(name), &config)?;
        }
        Self::open(directory)
    }

    /// Finds the servers that [`Site::create`] made.
    ///
    /// # Errors
    /// If a configuration is missing or wrong.
    pub fn open(directory: &Path) -> Result<Self> {
        // What has gone wrong is in the words already.
        let read = |name: &&str| {
            Config::read(&directory.join(name).join(CONFIG)).map_err(|error| anyhow!("{error}"))
        };
        let configs = NAMES.iter().map(read).collect::<Result<_>>()?;
        Ok(Self { directory: directory.to_owned(), configs })
    }

    /// The servers, by party number.
    pub fn servers(&self) -> Vec<Server> {
        let server = |(name, config): (&&str, &Config)| {
            let home = self.directory.join(name);
            let url = config.servers[config.id().index()].url.clone();
            let command = serve(&home);
            Server { name: (*name).to_owned(), command, log: home.join("log"), url }
        };
        NAMES.iter().zip(&self.configs).map(server).collect()
    }

    /// The servers' configuration files.
    pub fn config_files(&self) -> Vec<PathBuf> {
        NAMES.iter().map(|name| self.directory.join(name).join(CONFIG)).collect()
    }

    /// Makes configurations of so many intake processes for each server, which is an engine on
    /// PostgreSQL. Returns them by party, with their public ports.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn add_intakes(&self, count: usize) -> Result<Vec<Vec<(Server, u16)>>> {
        let mut all = Vec::new();
        for (name, config) in NAMES.iter().zip(&self.configs) {
            let mut of_one = Vec::new();
            for (number, port) in (1..).zip(free_ports(count)?) {
                let home = self.directory.join(name).join(format!("intake-{number}"));
                secret::directory(&home)?;
                let mut config = config.clone();
                let engine = Some(format!("http://{}", config.http));
                config.process = ProcessSettings { role: Role::Intake, engine };
                config.http = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                home::write_config(&home, &config)?;
                let url = format!("http://{}", config.http);
                let name = format!("{name}, intake {number}");
                of_one.push((
                    Server { name, command: serve(&home), log: home.join("log"), url },
                    port,
                ));
            }
            all.push(of_one);
        }
        Ok(all)
    }

    /// The servers' public ports, by party.
    pub fn ports(&self) -> Vec<u16> {
        self.configs.iter().map(|config| config.http.port()).collect()
    }

    /// The administrator of the first server.
    ///
    /// # Errors
    /// If the token cannot be read.
    pub fn administrator(&self, http: reqwest::Client) -> Result<Administrator> {
        Ok(Administrator::new(
            Connection::new(http, &self.configs[0].servers[0].url),
            self.token()?,
        ))
    }

    /// The token of the first server's administrator.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn token(&self) -> Result<String> {
        secret::read(&self.configs[0].admin_token_file)
    }
}

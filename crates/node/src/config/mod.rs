//! A server's configuration: one TOML file. Secrets are in files of their own, which it names, or
//! in the environment.

mod limits;
mod mail;
mod process;
mod rooms;
mod storage;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER_PERMISSIVE;
use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;
use ostrakon_protocol::Create;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

pub use limits::Limits;
pub use mail::{MAIL_PASSWORD_VARIABLE, Mail};
pub use process::{ProcessSettings, Role};
pub use rooms::{CREATION_TOKEN_VARIABLE, RoomPolicy};
pub use storage::{STORE_URL_VARIABLE, Storage};

/// The environment variable that holds the identity key, if it is not to be in a file.
pub const IDENTITY_VARIABLE: &str = "OSTRAKON_IDENTITY";
/// The environment variable that holds the administrator's token, if it is not to be in a file.
pub const ADMIN_TOKEN_VARIABLE: &str = "OSTRAKON_ADMIN_TOKEN";
/// The fewest characters of a token.
pub const SHORTEST_TOKEN: usize = 16;

/// What a server must know to start. Relative paths are relative to the configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// This server's party number, from 0.
    pub party: u8,
    /// Directory of the database and the stock. One per server.
    #[serde(default = "default_data")]
    pub data: PathBuf,
    /// File with this server's identity key: 32 bytes as 64 hexadecimal digits.
    /// [`IDENTITY_VARIABLE`] goes before it.
    #[serde(default = "default_identity")]
    pub identity_file: PathBuf,
    /// File with the administrator's token: whoever presents it may create and close rooms. One
    /// token a line, so that a new one can be introduced before the old one goes.
    /// [`ADMIN_TOKEN_VARIABLE`] goes before it.
    #[serde(default = "default_admin_token")]
    pub admin_token_file: PathBuf,
    /// Where the public interface listens.
    pub http: SocketAddr,
    /// Where the other servers connect. Intake processes, to which none do, need not say it.
    #[serde(default = "nowhere", skip_serializing_if = "is_nowhere")]
    pub mesh: SocketAddr,
    /// What is logged: a level (`warn`, `info`, `debug`), or directives like `ostrakon_net=debug`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// How the public interface comes to HTTPS.
    #[serde(default, skip_serializing_if = "Https::is_default")]
    pub https: Https,
    /// Which database the server's memory is in.
    #[serde(default, skip_serializing_if = "Storage::is_default")]
    pub store: Storage,
    /// What this process does for the server.
    #[serde(default, skip_serializing_if = "ProcessSettings::is_default")]
    pub process: ProcessSettings,
    /// How much is prepared ahead.
    #[serde(default)]
    pub stock: StockTargets,
    /// How much clients may ask of this server.
    #[serde(default)]
    pub limits: Limits,
    /// Who may create rooms here, and which.
    #[serde(default)]
    pub rooms: RoomPolicy,
    /// The server that e-mail is handed to; without it none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<Mail>,
    /// All servers, this one included, by party number; the same in every server's file.
    pub servers: Vec<ServerConfig>,
}

/// How much is prepared ahead. The scheduler's settings count for when to prepare, every server's
/// for how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StockTargets {
    /// Batches to hold ready for every shape that an open room needs.
    pub ready: u32,
    /// Bytes on disk at most; a batch beyond is declined.
    pub bytes: u64,
}

impl Default for StockTargets {
    fn default() -> Self {
        Self { ready: 3, bytes: 8 << 30 }
    }
}

/// How the public interface comes to HTTPS: by a certificate in files, or by one that the server
/// orders itself. It may do without on a loopback address, and behind a proxy
/// (`limits.behind_proxy`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Https {
    /// The certificate and those that it depends on, in PEM. Read again when the file changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_file: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Order certificates from an authority that speaks ACME.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acme: Option<Acme>,
}

/// How certificates are ordered (RFC 8555, challenge TLS-ALPN-01: `http` must be what the world
/// reaches at port 443).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acme {
    /// The names on the certificate.
    pub domains: Vec<String>,
    /// Whom the authority may write to, as in `mailto:operator@example.org`.
    #[serde(default)]
    pub contact: Vec<String>,
    /// The authority's directory; Let's Encrypt unless given.
    #[serde(default = "default_authority")]
    pub authority: String,
    /// Directory that keeps account and certificate over restarts.
    #[serde(default = "default_cache")]
    pub cache: PathBuf,
    /// Root certificates in PEM that the authority's own HTTPS is checked with; the public ones
    /// unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_roots: Option<PathBuf>,
}

fn default_data() -> PathBuf {
    "data".into()
}

fn default_identity() -> PathBuf {
    "identity.key".into()
}

fn default_admin_token() -> PathBuf {
    "admin.token".into()
}

fn default_authority() -> String {
    "https://acme-v02.api.letsencrypt.org/directory".into()
}

/// No address that anybody can listen at.
fn nowhere() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 0))
}

fn is_nowhere(address: &SocketAddr) -> bool {
    *address == nowhere()
}

fn default_cache() -> PathBuf {
    "acme".into()
}

impl Acme {
    /// Orders certificates with these names as is usual.
    pub fn new(domains: Vec<String>) -> Self {
        Self {
            domains,
            contact: Vec::new(),
            authority: default_authority(),
            cache: default_cache(),
            authority_roots: None,
        }
    }
}

impl Https {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    fn problems(&self, http: SocketAddr, behind_proxy: bool, complain: &mut impl FnMut(String)) {
        let files = self.certificate_file.is_some();
        if files != self.key_file.is_some() {
            complain("`https.certificate_file` and `https.key_file` go together: give both".into());
        }
        if let Some(acme) = &self.acme {
            if files || behind_proxy {
                complain(
                    "`https.acme` excludes certificate files and `limits.behind_proxy`: choose one"
                        .into(),
                );
            }
            if acme.domains.is_empty() {
                complain("`https.acme.domains` must name this server's host".into());
            }
            if !acme.authority.starts_with("https://") {
                complain(format!(
                    "`https.acme.authority` must begin with https://, not read {:?}",
                    acme.authority
                ));
            }
        }
        let none = !files && self.key_file.is_none() && self.acme.is_none() && !behind_proxy;
        if none && !http.ip().is_loopback() {
            complain(format!(
                "`http` = {http} would speak unencrypted to the world: give `https.certificate_file` and `https.key_file`, \
                 or `https.acme`, or set `limits.behind_proxy = true` if a proxy in front speaks HTTPS"
            ));
        }
    }
}

/// One server of the deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// Its operator's name for it.
    pub name: String,
    /// Origin of its public interface, for participants: `https://host`.
    pub url: String,
    /// Where it is reached by the other servers: `host:port`.
    pub address: String,
    /// Its identity key, hexadecimal.
    #[serde(with = "ostrakon_protocol::encoding::hex_key")]
    pub key: VerifyingKey,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Not TOML, or not these settings.
    #[error("{path}: {source}")]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// What is wrong and where.
        source: Box<toml::de::Error>,
    },
    /// A setting makes no sense.
    #[error("{0}")]
    Setting(String),
}

impl Config {
    /// A configuration with the usual file names and nothing unusual.
    pub fn new(party: u8, http: SocketAddr, mesh: SocketAddr, servers: Vec<ServerConfig>) -> Self {
        Self {
            party,
            data: default_data(),
            identity_file: default_identity(),
            admin_token_file: default_admin_token(),
            http,
            mesh,
            log: None,
            https: Https::default(),
            store: Storage::default(),
            process: ProcessSettings::default(),
            stock: StockTargets::default(),
            limits: Limits::default(),
            rooms: RoomPolicy::default(),
            mail: None,
            servers,
        }
    }

    /// Reads a configuration file and checks it.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read(path)?;
        let mut config: Config = toml::from_str(&text).map_err(|source| ConfigError::Syntax {
            path: path.into(),
            source: Box::new(source),
        })?;
        config.resolve(path.parent().unwrap_or(Path::new(".")));
        let problems = config.problems();
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::Setting(problems.join("; ")))
        }
    }

    /// Makes relative paths relative to `base`, the directory of the configuration file.
    pub fn resolve(&mut self, base: &Path) {
        let Https { certificate_file, key_file, acme, .. } = &mut self.https;
        let optional = [
            certificate_file.as_mut(),
            key_file.as_mut(),
            self.store.url_file.as_mut(),
            self.rooms.creation_token_file.as_mut(),
            self.mail.as_mut().and_then(|mail| mail.password_file.as_mut()),
        ]
        .into_iter()
        .flatten();
        let acme = acme
            .iter_mut()
            .flat_map(|acme| [Some(&mut acme.cache), acme.authority_roots.as_mut()])
            .flatten();
        let usual = [&mut self.data, &mut self.identity_file, &mut self.admin_token_file];
        for path in usual.into_iter().chain(optional).chain(acme) {
            *path = base.join(&*path);
        }
    }

    /// The file's text.
    pub fn to_text(&self) -> String {
        toml::to_string_pretty(self).expect("plain settings can be written as TOML")
    }

    /// Everything that makes no sense, each with its remedy.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut complain = |text: String| problems.push(text);
        if usize::from(self.party) >= self.servers.len() {
            complain(format!(
                "`party` must be less than the number of `servers`, {}, not {}",
                self.servers.len(),
                self.party
            ));
        }
        if is_nowhere(&self.mesh) && self.process.role != Role::Intake {
            complain("`mesh` is missing: say where this server listens for the others, as in 0.0.0.0:7100".into());
        }
        for (i, server) in self.servers.iter().enumerate() {
            if self.servers[..i].iter().any(|other| other.key == server.key) {
                let key = server.key.to_hex();
                complain(format!("two servers have the key {key}; every server needs its own"));
            }
        }
        if self.stock.ready == 0 {
            complain("`stock.ready` must be at least 1: without stock no epoch can open".into());
        }
        if let Err(error) = self.limits.check() {
            complain(error.to_string());
        }
        self.rooms.problems(&mut complain);
        if let Some(mail) = &self.mail {
            mail.problems(&mut complain);
        }
        self.https.problems(self.http, self.limits.behind_proxy, &mut complain);
        problems
    }

    /// This server's number.
    pub fn id(&self) -> PartyId {
        PartyId(self.party)
    }

    /// The seed of this server's identity key.
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read, does not hold a key, or holds one that is not
    /// this server's.
    pub fn identity(&self) -> Result<Zeroizing<[u8; 32]>, ConfigError> {
        let (origin, text) = secret(IDENTITY_VARIABLE, &self.identity_file)?;
        let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).map(Zeroizing::new);
        let seed = bytes
            .ok()
            .and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok())
            .map(Zeroizing::new);
        let Some(seed) = seed else {
            return Err(ConfigError::Setting(format!("{origin} must hold 64 hexadecimal digits")));
        };
        let key = ostrakon_crypto::SigningKey::from_seed(&seed).verifying_key();
        if self.servers.get(usize::from(self.party)).is_none_or(|server| server.key != key) {
            return Err(ConfigError::Setting(format!(
                "{origin} holds the key {}, which is not that of server {} in `servers`",
                key.to_hex(),
                self.party
            )));
        }
        Ok(seed)
    }

    /// The administrator's tokens, at least one.
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read or a token is shorter than [`SHORTEST_TOKEN`].
    pub fn admin_tokens(&self) -> Result<Vec<Zeroizing<String>>, ConfigError> {
        let (origin, text) = secret(ADMIN_TOKEN_VARIABLE, &self.admin_token_file)?;
        tokens(&origin, &text)
    }

    /// The tokens of those who may create rooms; none if the policy needs none.
    ///
    /// # Errors
    /// [`ConfigError`] if the policy needs one and there is none, or one is shorter than
    /// [`SHORTEST_TOKEN`].
    pub fn creation_tokens(&self) -> Result<Vec<Zeroizing<String>>, ConfigError> {
        let file = self.rooms.creation_token_file.as_deref();
        match (self.rooms.create, file) {
            (Create::Token, None) if std::env::var_os(CREATION_TOKEN_VARIABLE).is_none() => {
                let text = "`rooms.create = \"token\"` needs `rooms.creation_token_file`: name a file with a token";
                Err(ConfigError::Setting(text.into()))
            }
            (Create::Token, file) => {
                let (origin, text) =
                    secret(CREATION_TOKEN_VARIABLE, file.unwrap_or(Path::new("")))?;
                tokens(&origin, &text)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The password for the mail server.
    ///
    /// # Errors
    /// [`ConfigError`] if there is none or its file cannot be read.
    pub(crate) fn mail_password(&self) -> Result<Zeroizing<String>, ConfigError> {
        let file = self.mail.as_ref().and_then(|mail| mail.password_file.as_deref());
        if file.is_none() && std::env::var_os(MAIL_PASSWORD_VARIABLE).is_none() {
            let text = "`mail.user` needs `mail.password_file`: name a file with the password";
            return Err(ConfigError::Setting(text.into()));
        }
        Ok(secret(MAIL_PASSWORD_VARIABLE, file.unwrap_or(Path::new("")))?.1)
    }
}

/// The tokens in a text, one a line; `origin` is where it comes from, in words.
///
/// # Errors
/// [`ConfigError`] if there is none, or one is too short.
pub fn tokens(origin: &str, text: &str) -> Result<Vec<Zeroizing<String>>, ConfigError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let tokens: Vec<_> = lines.map(|token| Zeroizing::new(token.to_owned())).collect();
    if tokens.is_empty() || tokens.iter().any(|token| token.len() < SHORTEST_TOKEN) {
        let text = format!("a token in {origin} must have at least {SHORTEST_TOKEN} characters");
        return Err(ConfigError::Setting(text));
    }
    Ok(tokens)
}

/// A secret from the environment, or else from its file; with it, where it was found.
fn secret(variable: &str, path: &Path) -> Result<(String, Zeroizing<String>), ConfigError> {
    match std::env::var(variable) {
        Ok(text) => Ok((format!("the environment variable {variable}"), Zeroizing::new(text))),
        Err(_) => Ok((path.display().to_string(), Zeroizing::new(read(path)?))),
    }
}

pub(crate) fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::File { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_crypto::SigningKey;

    fn config() -> Config {
        let server = |n: u8| ServerConfig {
            name: format!("server {n}"),
            url: format!("http://127.0.0.1:700{n}"),
            address: format!("127.0.0.1:710{n}"),
            key: SigningKey::from_seed(&[n; 32]).verifying_key(),
        };
        let listen = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Config::new(1, listen(7001), listen(7101), (0..3).map(server).collect())
    }

    #[test]
    fn what_is_written_is_read_and_paths_are_relative_to_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.toml");
        std::fs::write(&path, config().to_text()).unwrap();
        let read = Config::read(&path).unwrap();
        assert_eq!(read.servers, config().servers);
        assert_eq!(read.data, directory.path().join("data"));
    }

    #[test]
    fn an_intake_process_needs_no_address_for_other_servers() {
        let listens = config().to_text();
        let text: String = listens
            .lines()
            .filter(|line| !line.starts_with("mesh"))
            .fold(String::new(), |all, line| all + line + "\n");
        let mut alone: Config = toml::from_str(&text).unwrap();
        assert!(alone.problems()[0].contains("`mesh` is missing"), "{:?}", alone.problems());
        alone.process.role = Role::Intake;
        let complaints = alone.problems().join(" ");
        assert!(!complaints.contains("`mesh`"), "{complaints}");
        assert!(!alone.to_text().contains("mesh ="));
    }

    #[test]
    fn mistakes_are_named() {
        let mut two = config();
        two.servers.truncate(1);
        assert!(two.problems()[0].contains("number of `servers`, 1"));
        let mut same = config();
        same.servers[2].key = same.servers[0].key;
        assert!(same.problems()[0].contains("its own"));
        let directory = tempfile::tempdir().unwrap();
        let mut foreign = config();
        foreign.identity_file = directory.path().join("identity.key");
        std::fs::write(&foreign.identity_file, "07".repeat(32)).unwrap();
        assert!(foreign.identity().unwrap_err().to_string().contains("not that of server 1"));
        std::fs::write(&foreign.identity_file, "01".repeat(32) + "\n").unwrap();
        assert_eq!(*foreign.identity().unwrap(), [1; 32]);
    }

    #[test]
    fn nothing_speaks_unencrypted_to_the_world_and_everything_wrong_is_said_at_once() {
        let mut open = config();
        open.http = "0.0.0.0:80".parse().unwrap();
        assert!(open.problems()[0].contains("behind_proxy = true"));
        open.limits.behind_proxy = true;
        assert_eq!(open.problems(), Vec::<String>::new());
        open.https.key_file = Some("key.pem".into());
        open.stock.ready = 0;
        let problems = open.problems();
        assert!(
            problems[0].contains("stock.ready") && problems[1].contains("give both"),
            "{problems:?}"
        );
        let text = "domains = [\"a.example\"]";
        open.https = Https { acme: Some(toml::from_str(text).unwrap()), ..Https::default() };
        assert!(open.problems()[1].contains("choose one"));
    }

    #[test]
    fn a_file_may_hold_a_token_and_its_successor() {
        let long = "a-token-of-some-length";
        assert_eq!(tokens("x", &format!("{long}\n{long}2\n")).unwrap().len(), 2);
        for wrong in ["", "short", &format!("{long}\nshort")] {
            assert!(tokens("x", wrong).unwrap_err().to_string().contains("16 characters"));
        }
    }
}

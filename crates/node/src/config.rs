//! A server's configuration: one TOML file. Secrets are in files of their own, which it names.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER_PERMISSIVE;
use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

pub use crate::limits::Limits;

/// Servers of a deployment.
pub const SERVERS: usize = 3;

/// What a server must know to start. Relative paths are relative to the configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// This server's party number, from 0.
    pub party: u8,
    /// Directory of the database and the stock. One per server.
    pub data: PathBuf,
    /// File with this server's identity key: 32 bytes as 64 hexadecimal digits.
    pub identity_file: PathBuf,
    /// File with the administrator's token: whoever presents it may create and close rooms.
    pub admin_token_file: PathBuf,
    /// Where the public interface listens.
    pub http: SocketAddr,
    /// Where the other servers connect.
    pub mesh: SocketAddr,
    /// How much is prepared ahead.
    #[serde(default)]
    pub stock: StockTargets,
    /// How much clients may ask of this server.
    #[serde(default)]
    pub limits: Limits,
    /// All servers, this one included, by party number; the same in every server's file.
    pub servers: Vec<ServerConfig>,
}

/// How much is prepared ahead. The scheduler's settings count for when to prepare, every server's for how much.
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
    #[serde(with = "crate::interface::hex_key")]
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
    /// Reads a configuration file and checks it.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read(path)?;
        let mut config: Config = toml::from_str(&text)
            .map_err(|source| ConfigError::Syntax { path: path.into(), source: Box::new(source) })?;
        let base = path.parent().unwrap_or(Path::new("."));
        for path in [&mut config.data, &mut config.identity_file, &mut config.admin_token_file] {
            *path = base.join(&*path);
        }
        config.check()?;
        Ok(config)
    }

    /// The file's text.
    pub fn to_text(&self) -> String {
        toml::to_string_pretty(self).expect("plain settings can be written as TOML")
    }

    fn check(&self) -> Result<(), ConfigError> {
        let complain = |text: String| Err(ConfigError::Setting(text));
        if self.servers.len() != SERVERS {
            return complain(format!("`servers` must list {SERVERS} servers, not {}", self.servers.len()));
        }
        if usize::from(self.party) >= SERVERS {
            return complain(format!("`party` must be 0, 1 or 2, not {}", self.party));
        }
        for (i, server) in self.servers.iter().enumerate() {
            if self.servers[..i].iter().any(|other| other.key == server.key) {
                return complain(format!(
                    "two servers have the key {}; every server needs its own",
                    server.key.to_hex()
                ));
            }
        }
        if self.stock.ready == 0 {
            return complain("`stock.ready` must be at least 1: without stock no epoch can open".into());
        }
        self.limits.check()
    }

    /// This server's number.
    pub fn id(&self) -> PartyId {
        PartyId(self.party)
    }

    /// The seed of this server's identity key.
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read, does not hold a key, or holds one that is not this server's.
    pub fn identity(&self) -> Result<Zeroizing<[u8; 32]>, ConfigError> {
        let path = &self.identity_file;
        let text = Zeroizing::new(read(path)?);
        let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).map(Zeroizing::new);
        let seed = bytes.ok().and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok()).map(Zeroizing::new);
        let Some(seed) = seed else {
            return Err(ConfigError::Setting(format!("{} must hold 64 hexadecimal digits", path.display())));
        };
        let key = ostrakon_crypto::SigningKey::from_seed(&seed).verifying_key();
        if key != self.servers[usize::from(self.party)].key {
            return Err(ConfigError::Setting(format!(
                "{} holds the key {}, which is not that of server {} in `servers`",
                path.display(),
                key.to_hex(),
                self.party
            )));
        }
        Ok(seed)
    }

    /// The administrator's token.
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read or the token is shorter than 16 characters.
    pub fn admin_token(&self) -> Result<Zeroizing<String>, ConfigError> {
        let text = Zeroizing::new(read(&self.admin_token_file)?);
        let token = text.trim();
        if token.len() < 16 {
            let path = self.admin_token_file.display();
            return Err(ConfigError::Setting(format!("the token in {path} must have at least 16 characters")));
        }
        Ok(Zeroizing::new(token.to_owned()))
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
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
        Config {
            party: 1,
            data: "data".into(),
            identity_file: "identity.key".into(),
            admin_token_file: "admin.token".into(),
            http: "127.0.0.1:7001".parse().unwrap(),
            mesh: "127.0.0.1:7101".parse().unwrap(),
            stock: StockTargets::default(),
            limits: Limits::default(),
            servers: (0..3).map(server).collect(),
        }
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
    fn mistakes_are_named() {
        let mut two = config();
        two.servers.pop();
        assert!(two.check().unwrap_err().to_string().contains("3 servers"));
        let mut same = config();
        same.servers[2].key = same.servers[0].key;
        assert!(same.check().unwrap_err().to_string().contains("its own"));
        let directory = tempfile::tempdir().unwrap();
        let mut foreign = config();
        foreign.identity_file = directory.path().join("identity.key");
        std::fs::write(&foreign.identity_file, "07".repeat(32)).unwrap();
        assert!(foreign.identity().unwrap_err().to_string().contains("not that of server 1"));
        std::fs::write(&foreign.identity_file, "01".repeat(32) + "\n").unwrap();
        assert_eq!(*foreign.identity().unwrap(), [1; 32]);
    }
}

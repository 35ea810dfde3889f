//! Which database a server's memory is in.

use std::fmt;
use std::path::PathBuf;

use ostrakon_store::Database;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::config::{Config, ConfigError, read};

/// The environment variable that holds the database's URL. It goes before the configuration.
pub const STORE_URL_VARIABLE: &str = "OSTRAKON_STORE_URL";

/// Which database: SQLite in the data directory, or a PostgreSQL database of this server's own.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Storage {
    /// `sqlite`, or `postgres://USER@HOST/DATABASE`. With a password it belongs into `url_file` or
    /// the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// File with the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_file: Option<PathBuf>,
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password.
        f.debug_struct("Storage").field("url_file", &self.url_file).finish_non_exhaustive()
    }
}

impl Storage {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Config {
    /// The database that this server's memory is in.
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read or the URL is not one of a database; the error
    /// does not repeat it.
    pub fn database(&self) -> Result<Database, ConfigError> {
        let Storage { url, url_file } = &self.store;
        let (origin, text) = match (std::env::var(STORE_URL_VARIABLE), url_file, url) {
            (Ok(text), ..) => {
                (format!("the environment variable {STORE_URL_VARIABLE}"), Zeroizing::new(text))
            }
            (Err(_), Some(_), Some(_)) => {
                return Err(ConfigError::Setting(
                    "`store.url` and `store.url_file` exclude each other: give one".into(),
                ));
            }
            (Err(_), Some(path), None) => (path.display().to_string(), Zeroizing::new(read(path)?)),
            (Err(_), None, Some(url)) => ("`store.url`".into(), Zeroizing::new(url.clone())),
            (Err(_), None, None) => return Ok(Database::Sqlite),
        };
        text.trim().parse().map_err(|problem| ConfigError::Setting(format!("{origin}: {problem}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(storage: &str) -> Config {
        let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 7001));
        Config {
            store: toml::from_str(storage).unwrap(),
            ..Config::new(0, listen, listen, Vec::new())
        }
    }

    #[test]
    fn the_url_comes_from_the_configuration_or_a_file_and_is_not_shown() {
        assert_eq!(config("").database().unwrap(), Database::Sqlite);
        assert_eq!(config("url = 'sqlite'").database().unwrap(), Database::Sqlite);
        let url = "postgres://me:hunter2@localhost/ostrakon";
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("url");
        std::fs::write(&path, format!("{url}\n")).unwrap();
        let of_file = config(&format!("url_file = '{}'", path.display()));
        let given = config(&format!("url = '{url}'"));
        assert_eq!(of_file.database().unwrap(), given.database().unwrap());
        assert!(!format!("{given:?}").contains("hunter2"));
        let both = Storage { url_file: of_file.store.url_file.clone(), ..given.store.clone() };
        let error = Config { store: both, ..given.clone() }.database().unwrap_err().to_string();
        assert!(error.contains("exclude each other"), "{error}");
        let error =
            config("url = 'mysql://me:hunter2@localhost'").database().unwrap_err().to_string();
        assert!(error.contains("`store.url`") && !error.contains("hunter2"), "{error}");
    }
}

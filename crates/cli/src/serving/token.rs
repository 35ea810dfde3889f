//! `ostrakon token`: new tokens for old ones, while the server runs.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_node::config::{ADMIN_TOKEN_VARIABLE, Config};

use crate::{output, system};

/// Subcommands of `token`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Puts a new token into a file. A running server takes it within seconds, unless its token is
    /// in OSTRAKON_ADMIN_TOKEN.
    Rotate(Options),
}

/// Options of `token rotate`.
#[derive(clap::Args)]
pub struct Options {
    /// The server's configuration: its administrator's token gets a successor. If the file is gone,
    /// it is made anew.
    #[arg(long, value_name = "FILE", required_unless_present = "file")]
    config: Option<PathBuf>,
    /// Another file with tokens.
    #[arg(long, conflicts_with = "config")]
    file: Option<PathBuf>,
    /// Lets the token that counts now count on beside the new one, until the next rotation.
    #[arg(long)]
    keep_old: bool,
}

/// Writes a new token.
///
/// # Errors
/// If the file cannot be replaced; if it is not there and no configuration names it; or if the
/// administrator's token is in the environment, before which no file counts.
pub fn run(command: &Command) -> Result<()> {
    let Command::Rotate(options) = command;
    let (path, missing) = match (&options.config, &options.file) {
        (Some(config), _) => {
            if std::env::var_os(ADMIN_TOKEN_VARIABLE).is_some() {
                bail!(
                    "{ADMIN_TOKEN_VARIABLE} goes before the file, so a new token in it would not count: change the \
                     variable and restart the server"
                );
            }
            (Config::read(config).context("--config")?.admin_token_file, Missing::Make)
        }
        (None, file) => (file.clone().context("--file is missing")?, Missing::Refuse),
    };
    rotate(&path, options.keep_old, missing)?;
    output::line(&path.display().to_string())
}

/// What a file that is not there means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It is lost, and made anew.
    Make,
    /// Its name is a mistake.
    Refuse,
}

fn rotate(path: &Path, keep_old: bool, missing: Missing) -> Result<()> {
    let old = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && missing == Missing::Make => {
            String::new()
        }
        read => read.with_context(|| format!("{} cannot be read", path.display()))?,
    };
    let mut text = data_encoding::HEXLOWER.encode(&system::random::<32>()) + "\n";
    let current = old.split_whitespace().next();
    if let Some(token) = current.filter(|_| keep_old) {
        text.push_str(token);
        text.push('\n');
    }
    replace(path, &text)
}

/// Puts another file in a file's place, in one step, with the same owner, readable by that owner
/// only. A file that was not there gets the directory's owner: that is the server's user, whoever
/// runs this.
///
/// # Errors
/// If the directory cannot be written.
pub fn replace(path: &Path, text: &str) -> Result<()> {
    let mut name = path.file_name().context("a file is needed")?.to_owned();
    name.push(".new");
    let successor = path.with_file_name(name);
    let write = || -> std::io::Result<()> {
        let _ = fs::remove_file(&successor);
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&successor)?;
        file.write_all(text.as_bytes())?;
        let directory = successor
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        if let Ok(old) = fs::metadata(path).or_else(|_| fs::metadata(directory)) {
            let new = file.metadata()?;
            if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                chown(&successor, Some(old.uid()), Some(old.gid()))?;
            }
        }
        file.sync_all()?;
        fs::rename(&successor, path)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&successor);
    }
    written.with_context(|| format!("{} cannot be replaced", path.display()))?;
    ensure!(path.is_file(), "{} is no file", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_rotation_replaces_the_token_or_puts_a_new_one_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("admin.token");
        assert!(
            rotate(&path, false, Missing::Refuse).is_err(),
            "a name that leads nowhere is a mistake"
        );
        crate::secret::write_new(&path, "the first token of all\n".replace(' ', "-").as_str())
            .unwrap();
        rotate(&path, true, Missing::Refuse).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let tokens: Vec<_> = text.lines().collect();
        assert_eq!((tokens.len(), tokens[0].len(), tokens[1]), (2, 64, "the-first-token-of-all"));
        let first = tokens[0].to_owned();
        rotate(&path, false, Missing::Make).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() == 1 && !text.contains(&first));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_lost_file_is_made_anew_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("admin.token");
        rotate(&path, true, Missing::Make).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!((text.lines().count(), text.trim().len()), (1, 64));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}

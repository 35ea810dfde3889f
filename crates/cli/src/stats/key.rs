//! `ostrakon stats key`: keys of devices that report again and again, each listed in a roster.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ostrakon_crypto::VerifyingKey;
use ostrakon_party::Invitation;
use serde::Serialize;

use crate::{output, secret, system};

/// Options of `stats key`.
#[derive(clap::Args)]
pub struct Options {
    /// The file that keeps the secret half; only its owner may read it.
    file: PathBuf,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    key: String,
    kept: String,
}

/// Runs the command.
///
/// # Errors
/// If the file cannot be read or written, or holds no key.
pub fn run(options: &Options) -> Result<()> {
    if !options.file.exists() {
        secret::write_new(&options.file, &format!("{}\n", Invitation(system::random()).to_text()))?;
    }
    let key = read(&options.file)?.key().verifying_key().to_hex();
    if options.json {
        return output::json(&Shown { key, kept: options.file.display().to_string() });
    }
    output::line(&key)
}

/// The key that a file keeps.
///
/// # Errors
/// If it cannot be read, others than the owner may read it, or it holds none.
pub fn read(path: &Path) -> Result<Invitation> {
    let name = path.display();
    Invitation::from_text(&secret::read(path)?)
        .with_context(|| format!("{name} holds no key; `stats key FILE` makes one in a new file"))
}

/// The keys in a file, one at the beginning of each line.
///
/// # Errors
/// If it cannot be read, or a line has no key or one that is there already.
pub fn roster(path: &Path) -> Result<Vec<VerifyingKey>> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let mut seen = BTreeSet::new();
    let keys = lines.map(|(number, line)| {
        let first = line.split_whitespace().next().unwrap_or_default();
        let key = VerifyingKey::from_hex(first).with_context(|| {
            format!("{name}, line {number}: a line begins with a key of 64 hexadecimal digits")
        })?;
        ensure!(seen.insert(key), "{name}, line {number}: this key is there already");
        Ok(key)
    });
    keys.collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_that_others_may_read_is_refused_with_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        run(&Options { file: file.clone(), json: false }).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        for refused in [read(&file).map(drop), run(&Options { file: file.clone(), json: false })] {
            let why = refused.unwrap_err().to_string();
            assert!(why.contains("others than its owner") && why.contains("chmod 600"), "{why}");
        }
    }

    #[test]
    fn a_key_stays_and_a_roster_is_read_line_by_line() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        let keys = [0, 1].map(|_| {
            run(&Options { file: file.clone(), json: false }).unwrap();
            read(&file).unwrap().key().verifying_key()
        });
        assert_eq!(keys[0], keys[1], "it is made once");
        let other = Invitation([7; 32]).key().verifying_key();
        let list = directory.path().join("roster");
        let read = |text: String| {
            fs::write(&list, text).unwrap();
            roster(&list).map_err(|error| error.to_string())
        };
        let (one, two) = (keys[0].to_hex(), other.to_hex());
        assert_eq!(read(format!("{one} kitchen\n\n{two}\n")), Ok(vec![keys[0], other]));
        assert!(read(format!("{one}\n\n{one}\n")).unwrap_err().contains("line 3"));
        assert!(read(format!("{one}\nkitchen\n")).unwrap_err().contains("line 2"));
        fs::write(&file, "none").unwrap();
        assert!(super::read(&file).unwrap_err().to_string().contains("holds no key"));
    }
}

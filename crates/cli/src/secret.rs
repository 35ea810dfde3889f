//! Files that only their owner may read.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// Writes a new file that only its owner may read.
///
/// # Errors
/// If there is such a file already: keys are never overwritten.
pub fn write_new(path: &Path, contents: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.with_context(|| {
        format!("{} cannot be created; keys are never overwritten", path.display())
    })?;
    file.write_all(contents.as_bytes())?;
    file.sync_all().with_context(|| format!("{} cannot be written", path.display()))
}

/// Writes a file that only its owner may read, in place of the one that may be there. After a crash
/// it is the one or the other, whole.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, contents: &str) -> Result<()> {
    let temporary = path.with_extension("partial");
    let write = || {
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
        file.write_all(contents.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        // Without this a crash may undo the renaming.
        File::open(directory_of(path))?.sync_all()
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// Removes a file for good, if there is one: after a crash, too, it is gone.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    let remove = || match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => File::open(directory_of(path))?.sync_all(),
    };
    remove().with_context(|| format!("{} cannot be removed", path.display()))
}

/// The directory that a file is in. A bare name is in the one in which the program runs.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An argument that other users of this machine are not to see in its list of processes: `-` is
/// the next line of standard input, `@FILE` the first line of a file, anything else itself.
///
/// # Errors
/// If there is no such file, or no line.
pub fn argument(text: &str) -> Result<String, String> {
    let mut line = String::new();
    if text == "-" {
        std::io::stdin().read_line(&mut line).map_err(|error| error.to_string())?;
    } else if let Some(path) = text.strip_prefix('@') {
        let whole = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        line.push_str(whole.lines().next().unwrap_or_default());
    } else {
        return Ok(text.to_owned());
    }
    let line = line.trim();
    if line.is_empty() { Err("there is no line to take it from".into()) } else { Ok(line.into()) }
}

/// A link, given as an [`argument`].
///
/// # Errors
/// Like [`argument`], or why it is no link.
pub fn link<L: FromStr<Err: Display>>(text: &str) -> Result<L, String> {
    argument(text)?.parse().map_err(|error: L::Err| error.to_string())
}

/// Reads a secret: the first line of a file. What follows in a file with tokens are those that
/// count besides.
///
/// # Errors
/// If others than the owner may read the file.
pub fn read(path: &Path) -> Result<String> {
    Ok(read_all(path)?.split_whitespace().next().unwrap_or_default().to_owned())
}

/// Reads a whole secret file.
///
/// # Errors
/// If others than the owner may read the file.
pub fn read_all(path: &Path) -> Result<String> {
    let metadata =
        fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        bail!("{} may be read by others than its owner: `chmod 600 {0}`", path.display());
    }
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// Creates a directory, and those above it, that only the owner may enter.
///
/// # Errors
/// If it cannot be created.
pub fn directory(path: &Path) -> Result<()> {
    let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.with_context(|| format!("{} cannot be created", path.display()))
}

/// Locks a file until it is dropped; `None` if another program holds it.
///
/// # Errors
/// If the file cannot be opened or locked.
pub fn lock(path: &Path) -> Result<Option<File>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    let file = file.with_context(|| format!("{} cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", path.display()))
        }
    }
}

/// Locks a file that exists until it is dropped. If another program holds it, calls `waits` and
/// waits for that program.
///
/// # Errors
/// If the file cannot be opened or locked.
pub fn lock_patiently(path: &Path, waits: impl FnOnce()) -> Result<File> {
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    let locked = match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            waits();
            file.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
    };
    locked.with_context(|| format!("{} cannot be locked", path.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_shall_not_see_is_taken_from_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("link");
        fs::write(&path, "a link \nand more\n").unwrap();
        let given = format!("@{}", path.display());
        assert_eq!(argument(&given).unwrap(), "a link");
        assert_eq!(argument("a link").unwrap(), "a link");
        fs::write(&path, "\n").unwrap();
        assert!(argument(&given).unwrap_err().contains("no line"));
        assert!(argument("@nowhere").unwrap_err().contains("nowhere"));
        assert_eq!(link::<u8>("7"), Ok(7));
        assert!(link::<u8>("x").is_err());
    }

    #[test]
    fn secrets_are_private_and_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        write_new(&path, "secret\n").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap(), "secret");
        assert!(write_new(&path, "other").is_err());
        assert_eq!(read(&path).unwrap(), "secret");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("chmod 600"));
    }

    #[test]
    fn secrets_are_replaced_whole_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        for contents in ["one", "two"] {
            replace(&path, contents).unwrap();
            assert_eq!(read(&path).unwrap(), contents);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_bare_name_is_in_the_directory_of_the_program() {
        for (path, directory) in [("key", "."), ("./key", "."), ("a/key", "a"), ("/key", "/")] {
            assert_eq!(directory_of(Path::new(path)), Path::new(directory));
            assert!(directory != "." || File::open(directory_of(Path::new(path))).is_ok());
        }
        // In the tests' own directory, which is the package's.
        let path = format!(".replaced-{}", std::process::id());
        replace(Path::new(&path), "whole").unwrap();
        assert_eq!(read(Path::new(&path)).unwrap(), "whole");
        remove(Path::new(&path)).unwrap();
    }

    #[test]
    fn who_waits_for_a_lock_gets_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        assert!(lock_patiently(&path, || ()).is_err(), "nothing is made");
        write_new(&path, "secret").unwrap();
        let first = lock_patiently(&path, || panic!("nobody has it")).unwrap();
        let (told, tell) = std::sync::mpsc::channel();
        std::thread::scope(|threads| {
            threads.spawn(|| lock_patiently(&path, || told.send(()).unwrap()).unwrap());
            tell.recv().unwrap();
            drop(first);
        });
    }
}

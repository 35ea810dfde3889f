//! Files that are whole or absent after any crash, and readable by their owner only.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::Error;

pub(crate) fn failure(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = PathBuf::from(path);
    move |source| Error::File { path, source }
}

pub(crate) fn create_private_directory(path: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failure(path))
}

pub(crate) fn create_private_file(path: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(failure(path))?;
    Ok(())
}

pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(failure(path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse(path.parent().unwrap_or(path).into())),
        Err(TryLockError::Error(source)) => Err(Error::File { path: path.into(), source }),
    }
}

/// Writes a file so that it appears under its name whole and on disk, or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let temporary = path.with_extension("partial");
    let write = || {
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(failure(&temporary))?;
    sync_directory(path)
}

/// Deletes a file if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failure(path)(error)),
        _ => Ok(()),
    }
}

/// Without this a crash may undo a rename.
fn sync_directory(of: &Path) -> Result<(), Error> {
    let directory = of.parent().unwrap_or(of);
    File::open(directory).and_then(|file| file.sync_all()).map_err(failure(directory))
}

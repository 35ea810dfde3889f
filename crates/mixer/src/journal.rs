//! What is durable: one file to which writes are appended.
//!
//! A record is its length, eight bytes of its digest, and its bytes. A record that a power failure
//! cut short ends the file: nothing that depended on it was sent. When most of the file is about
//! what is not there any more, it is written anew beside the old one, which it then replaces.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostrakon_asynchromix::{Disk, Key, Write};
use ostrakon_crypto::hash::digest;
use ostrakon_party::wire;

/// The file is written anew when it has so many bytes more than four times what is there.
const SLACK: u64 = 16 << 20;
/// Bytes before a record.
const HEAD: usize = 12;

/// A server's journal.
pub struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    sizes: BTreeMap<Key, u64>,
    live: u64,
}

fn frame(write: &Write) -> Vec<u8> {
    let bytes = wire::encode(write);
    let sum = digest("ostrakon/v1/mixer/journal", &bytes);
    let length = u32::try_from(bytes.len()).expect("a value is shorter than four GiB");
    [&length.to_le_bytes()[..], &sum.0[..8], &bytes].concat()
}

/// Reads records until the file ends, or one is not whole; how many bytes were read.
fn read(file: &mut File, mut each: impl FnMut(Write)) -> Result<u64> {
    let whole = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::with_capacity(1 << 20, file);
    let mut at = 0;
    loop {
        let mut head = [0; HEAD];
        let left = whole - at;
        if left < HEAD as u64 {
            return Ok(at);
        }
        input.read_exact(&mut head)?;
        let (length, sum) = head.split_at(4);
        let length = u64::from(u32::from_le_bytes(length.try_into()?));
        if left - (HEAD as u64) < length {
            return Ok(at);
        }
        let mut bytes = vec![0; usize::try_from(length)?];
        input.read_exact(&mut bytes)?;
        if digest("ostrakon/v1/mixer/journal", &bytes).0[..8] != *sum {
            return Ok(at);
        }
        let Ok(write) = wire::decode(&bytes) else { return Ok(at) };
        each(write);
        at += HEAD as u64 + length;
    }
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).with_context(|| format!("{} cannot be opened", path.display()))
}

impl Journal {
    /// Opens the journal in a directory, or begins one; returns what is durable.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn open(directory: &Path) -> Result<(Self, Disk)> {
        let path = directory.join("journal");
        let mut file = open(&path)?;
        let mut disk = Disk::default();
        let length = read(&mut file, |write| disk.apply(write))?;
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        let sizes: BTreeMap<_, _> =
            disk.0.iter().map(|(key, value)| (*key, value.len() as u64 + 32)).collect();
        let live = sizes.values().sum();
        sync_directory(directory)?;
        Ok((Self { path, file, length, sizes, live }, disk))
    }

    /// Makes writes durable.
    ///
    /// # Errors
    /// If the disk is full or broken: nothing that depends on the writes may be sent.
    pub fn append(&mut self, writes: &[Write]) -> Result<()> {
        if writes.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for write in writes {
            bytes.extend(frame(write));
            self.count(write);
        }
        self.file.write_all(&bytes).context("the journal cannot be written")?;
        self.file.sync_data().context("the journal cannot be written")?;
        self.length += bytes.len() as u64;
        if self.length > 4 * self.live + SLACK {
            self.compact()?;
        }
        Ok(())
    }

    /// Bytes of the file.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    fn count(&mut self, write: &Write) {
        match write {
            Write::Put(key, value) => {
                let size = value.len() as u64 + 32;
                self.live += size;
                self.live -= self.sizes.insert(*key, size).unwrap_or(0);
            }
            Write::Delete(key) => self.live -= self.sizes.remove(key).unwrap_or(0),
            Write::DropThrough(_) => {
                // The rule which keys go is the disk's.
                let keys = self.sizes.keys().map(|key| (*key, Vec::new())).collect();
                let mut disk = Disk(keys);
                disk.apply(write.clone());
                self.sizes.retain(|key, _| disk.0.contains_key(key));
                self.live = self.sizes.values().sum();
            }
        }
    }

    /// Writes the file anew with what is there.
    fn compact(&mut self) -> Result<()> {
        let mut disk = Disk::default();
        read(&mut self.file, |write| disk.apply(write))?;
        let fresh = self.path.with_extension("new");
        let mut file = open(&fresh)?;
        file.set_len(0)?;
        let mut output = BufWriter::with_capacity(1 << 20, &mut file);
        let mut length = 0;
        for (key, value) in disk.0 {
            let bytes = frame(&Write::Put(key, value));
            output.write_all(&bytes)?;
            length += bytes.len() as u64;
        }
        output.flush()?;
        drop(output);
        file.sync_all()?;
        std::fs::rename(&fresh, &self.path)?;
        if let Some(directory) = self.path.parent() {
            sync_directory(directory)?;
        }
        (self.file, self.length) = (file, length);
        Ok(())
    }
}

fn sync_directory(directory: &Path) -> Result<()> {
    File::open(directory)?.sync_all().context("the journal's directory cannot be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(number: u64, byte: u8, length: usize) -> Write {
        Write::Put(Key::Entry(number), vec![byte; length])
    }

    #[test]
    fn what_was_appended_is_there_and_a_torn_end_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, disk) = Journal::open(directory.path()).unwrap();
        assert_eq!(disk, Disk::default());
        journal.append(&[put(1, 1, 10), put(2, 2, 20), Write::Delete(Key::Entry(1))]).unwrap();
        drop(journal);
        let path = directory.path().join("journal");
        let whole = std::fs::read(&path).unwrap();
        let torn = [&whole[..], &frame(&put(3, 3, 30))[..20]].concat();
        std::fs::write(&path, torn).unwrap();
        let (mut journal, disk) = Journal::open(directory.path()).unwrap();
        assert_eq!(disk.0.keys().copied().collect::<Vec<_>>(), [Key::Entry(2)]);
        assert_eq!(journal.length(), whole.len() as u64);
        journal.append(&[put(4, 4, 40)]).unwrap();
        drop(journal);
        let (_, disk) = Journal::open(directory.path()).unwrap();
        assert_eq!(disk.0.len(), 2);
    }

    #[test]
    fn a_changed_record_ends_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(directory.path()).unwrap();
        journal.append(&[put(1, 1, 10), put(2, 2, 20)]).unwrap();
        drop(journal);
        let path = directory.path().join("journal");
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let (_, disk) = Journal::open(directory.path()).unwrap();
        assert_eq!(disk.0.keys().copied().collect::<Vec<_>>(), [Key::Entry(1)]);
    }

    #[test]
    fn the_file_does_not_grow_without_end() {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(directory.path()).unwrap();
        for i in 0..80 {
            journal.append(&[put(7, i, 1 << 20)]).unwrap();
        }
        assert!(journal.length() < 24 << 20, "{}", journal.length());
        drop(journal);
        let (_, disk) = Journal::open(directory.path()).unwrap();
        assert_eq!(disk.0[&Key::Entry(7)][0], 79);
    }
}

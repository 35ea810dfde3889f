//! What is durable: one file to which writes are appended.
//!
//! After a mark, the file is frames, one for each append: length, digest of the bytes, digest of
//! both and of where the frame begins, and the bytes. An append is flushed before the next one
//! begins. So what is not whole and has nothing after it was cut short, and nothing that depended
//! on it was sent; what is not whole and has a later frame after it was durable, and has been
//! damaged since. The file is written anew beside the old one, which it then replaces, when most of
//! it is about what is not there any more, and as soon as something is forgotten that must stay
//! unknown.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ostrakon_asynchromix::{Disk, Key, Write};
use ostrakon_crypto::hash::digest;
use ostrakon_party::wire;

/// The file is written anew when it has so many bytes more than four times what is there.
const SLACK: u64 = 16 << 20;
/// What the file begins with.
const MARK: &[u8; 16] = b"ostrakon journal";
/// Bytes before what a frame holds.
const HEAD: usize = 20;

/// A server's journal.
pub struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    sizes: BTreeMap<Key, u64>,
    live: u64,
    /// Whether the file has bytes of what is to stay unknown.
    stale: bool,
}

/// What must be in no byte of the file once it is forgotten (spec V7): with t + 1 servers' shares,
/// rows of an epoch that is over could be opened and traced to their owners.
fn is_secret(key: &Key) -> bool {
    matches!(key, Key::Stock(_) | Key::Row(..) | Key::Draft(_))
}

fn short(context: &'static str, bytes: &[u8]) -> [u8; 8] {
    let whole = digest(context, bytes).0;
    whole[..8].try_into().expect("a digest is longer")
}

/// A frame's first bytes; `at` is where it begins.
fn head(at: u64, length: u32, sum: [u8; 8]) -> [u8; HEAD] {
    let begun = [&at.to_le_bytes()[..], &length.to_le_bytes(), &sum].concat();
    let whole = short("ostrakon/v1/mixer/journal head", &begun);
    let bytes = [&length.to_le_bytes()[..], &sum, &whole].concat();
    bytes.try_into().expect("4 + 8 + 8 bytes")
}

fn frame(at: u64, writes: &[Write]) -> Result<Vec<u8>> {
    let bytes = wire::encode(&writes);
    let length = u32::try_from(bytes.len()).context("more is written at once than fits")?;
    let head = head(at, length, short("ostrakon/v1/mixer/journal", &bytes));
    Ok([&head[..], &bytes].concat())
}

/// The length and digest of the frame that begins at `at`, if these bytes are its first ones.
fn header(at: u64, bytes: &[u8]) -> Option<(u64, [u8; 8])> {
    let bytes = bytes.first_chunk::<HEAD>()?;
    let length = u32::from_le_bytes(*bytes.first_chunk()?);
    let sum: [u8; 8] = bytes[4..12].try_into().ok()?;
    (head(at, length, sum) == *bytes).then_some((length.into(), sum))
}

/// Whether a frame begins somewhere after `at`.
fn is_followed(file: &mut File, at: u64) -> Result<bool> {
    file.seek(SeekFrom::Start(at))?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    let mut windows = (at..).zip(rest.windows(HEAD)).skip(1);
    Ok(windows.any(|(at, bytes)| header(at, bytes).is_some()))
}

/// Reads frames until the file ends, or one was cut short; where that is.
fn read(file: &mut File, path: &Path, mut each: impl FnMut(Write)) -> Result<u64> {
    let whole = file.metadata()?.len();
    let mut at = MARK.len() as u64;
    file.seek(SeekFrom::Start(at))?;
    let mut input = BufReader::with_capacity(1 << 20, &mut *file);
    while at < whole {
        let mut first = [0; HEAD];
        if whole - at < HEAD as u64 {
            return Ok(at);
        }
        input.read_exact(&mut first)?;
        let Some((length, sum)) = header(at, &first) else { break };
        let end = at + HEAD as u64 + length;
        if end > whole {
            return Ok(at);
        }
        let mut bytes = vec![0; usize::try_from(length)?];
        input.read_exact(&mut bytes)?;
        if short("ostrakon/v1/mixer/journal", &bytes) != sum {
            break;
        }
        let Ok(writes) = wire::decode::<Vec<Write>>(&bytes) else {
            bail!("{} was written by another version of this program; use that", path.display());
        };
        writes.into_iter().for_each(&mut each);
        at = end;
    }
    drop(input);
    if at < whole && is_followed(file, at)? {
        bail!(
            "{} is damaged at byte {at}: what this server wrote there later is lost, so it must \
             not go on with what is left. Check the disk, move the file away and start the server \
             without it: with the same key it then takes part again as one that has lost its data",
            path.display()
        );
    }
    Ok(at)
}

/// Sees that the file begins with the mark.
fn begin(file: &mut File, path: &Path) -> Result<()> {
    let mut found = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    Read::by_ref(file).take(MARK.len() as u64).read_to_end(&mut found)?;
    if found == MARK {
        return Ok(());
    }
    if !MARK.starts_with(&found) {
        bail!(
            "{} is not a journal of this version of the program, or its beginning is damaged. \
             Move it away and start the server without it: with the same key it then takes part \
             again as one that has lost its data",
            path.display()
        );
    }
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(MARK)?;
    file.sync_all().context("the journal cannot be written")
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
    /// If the file cannot be read or written, or something in the middle of it is damaged.
    pub fn open(directory: &Path) -> Result<(Self, Disk)> {
        let path = directory.join("journal");
        let mut file = open(&path)?;
        begin(&mut file, &path)?;
        let mut disk = Disk::default();
        let mut stale = false;
        let length = read(&mut file, &path, |write| {
            stale |= matches!(&write, Write::Delete(key) if is_secret(key));
            disk.apply(write);
        })?;
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        let sizes: BTreeMap<_, _> =
            disk.0.iter().map(|(key, value)| (*key, value.len() as u64 + 32)).collect();
        let live = sizes.values().sum();
        sync_directory(directory)?;
        let mut journal = Self { path, file, length, sizes, live, stale };
        if stale {
            // The process ended before it was written anew.
            journal.compact()?;
        }
        Ok((journal, disk))
    }

    /// Makes writes durable.
    ///
    /// # Errors
    /// If the disk is full or broken: nothing that depends on the writes may be sent.
    pub fn append(&mut self, writes: &[Write]) -> Result<()> {
        if writes.is_empty() {
            return Ok(());
        }
        let bytes = frame(self.length, writes)?;
        writes.iter().for_each(|write| self.count(write));
        self.file.write_all(&bytes).context("the journal cannot be written")?;
        self.file.sync_data().context("the journal cannot be written")?;
        self.length += bytes.len() as u64;
        if self.stale || self.length > 4 * self.live + SLACK {
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
            Write::Delete(key) => {
                let size = self.sizes.remove(key);
                self.stale |= size.is_some() && is_secret(key);
                self.live -= size.unwrap_or(0);
            }
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
        read(&mut self.file, &self.path, |write| disk.apply(write))?;
        let fresh = self.path.with_extension("new");
        let mut file = open(&fresh)?;
        file.set_len(0)?;
        let mut output = BufWriter::with_capacity(1 << 20, &mut file);
        output.write_all(MARK)?;
        let mut length = MARK.len() as u64;
        for (key, value) in disk.0 {
            let bytes = frame(length, &[Write::Put(key, value)])?;
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
        (self.file, self.length, self.stale) = (file, length, false);
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
        let cut = frame(whole.len() as u64, &[put(3, 3, 30)]).unwrap();
        let torn = [&whole[..], &cut[..25]].concat();
        std::fs::write(&path, torn).unwrap();
        let (mut journal, disk) = Journal::open(directory.path()).unwrap();
        assert_eq!(disk.0.keys().copied().collect::<Vec<_>>(), [Key::Entry(2)]);
        assert_eq!(journal.length(), whole.len() as u64);
        journal.append(&[put(4, 4, 40)]).unwrap();
        drop(journal);
        let (_, disk) = Journal::open(directory.path()).unwrap();
        assert_eq!(disk.0.len(), 2);
    }

    /// The file after these appends, each by itself.
    fn written(directory: &Path, appends: &[&[Write]]) -> PathBuf {
        let (mut journal, _) = Journal::open(directory).unwrap();
        appends.iter().for_each(|writes| journal.append(writes).unwrap());
        directory.join("journal")
    }

    fn holds(path: &Path, byte: u8) -> bool {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(100).any(|window| window == [byte; 100])
    }

    /// Shares and rows that are forgotten are in no byte of the file: who seizes t + 1 disks later
    /// learns nothing of epochs that are over.
    #[test]
    fn what_is_forgotten_is_not_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let secret = |key, byte| Write::Put(key, vec![byte; 1000]);
        let path = written(
            directory.path(),
            &[
                &[secret(Key::Stock(1), 0xa1), secret(Key::Row(1, 2), 0xa2)],
                &[secret(Key::Stock(2), 0xa3), put(1, 0xa4, 1000)],
                &[Write::Delete(Key::Stock(1)), Write::Delete(Key::Row(1, 2))],
            ],
        );
        assert_eq!(
            [0xa1, 0xa2, 0xa3, 0xa4].map(|byte| holds(&path, byte)),
            [false, false, true, true]
        );
    }

    /// One byte of what was durable has changed: the server does not go on with an older state as
    /// if nothing were after it.
    #[test]
    fn damage_in_the_middle_is_refused() {
        let appends: [&[Write]; 3] = [&[put(1, 1, 200)], &[put(2, 2, 200)], &[put(3, 3, 200)]];
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path(), &appends);
        let whole = std::fs::read(&path).unwrap();
        for at in (0..2 * whole.len() / 3).step_by(23) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            assert!(Journal::open(directory.path()).is_err(), "byte {at}");
            assert_eq!(std::fs::read(&path).unwrap(), damaged, "nothing is cut off");
        }
    }

    /// A process that ends between the two leaves it to the next one.
    #[test]
    fn forgetting_is_finished_at_the_next_start() {
        let directory = tempfile::tempdir().unwrap();
        let stock = Write::Put(Key::Stock(1), vec![0xa1; 1000]);
        let path = written(directory.path(), &[&[stock]]);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend(frame(bytes.len() as u64, &[Write::Delete(Key::Stock(1))]).unwrap());
        std::fs::write(&path, bytes).unwrap();
        let (_, disk) = Journal::open(directory.path()).unwrap();
        assert!(disk.0.is_empty() && !holds(&path, 0xa1));
    }

    #[test]
    fn other_files_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        std::fs::write(&path, [7; 300]).unwrap();
        assert!(Journal::open(directory.path()).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), [7; 300]);
        // A start that was cut short.
        std::fs::write(&path, &MARK[..5]).unwrap();
        assert!(Journal::open(directory.path()).unwrap().1.0.is_empty());
    }

    /// A power failure leaves any part of the last append, its end without its beginning, too:
    /// nothing that depended on it was sent.
    #[test]
    fn a_torn_append_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path(), &[&[put(1, 1, 200)], &[put(2, 2, 200)]]);
        let before = std::fs::read(&path).unwrap();
        let path = written(directory.path(), &[&[put(3, 3, 3000), put(4, 4, 3000)]]);
        let whole = std::fs::read(&path).unwrap();
        let mut torn: Vec<Vec<u8>> =
            (before.len()..whole.len()).step_by(197).map(|end| whole[..end].to_vec()).collect();
        for lost in [0..1000, 0..20, 2000..3500] {
            let mut with_a_hole = whole.clone();
            with_a_hole[before.len()..][lost].fill(0);
            torn.push(with_a_hole);
        }
        for torn in torn {
            std::fs::write(&path, &torn).unwrap();
            let (journal, disk) = Journal::open(directory.path()).unwrap();
            assert_eq!(disk.0.len(), 2);
            assert_eq!(journal.length(), before.len() as u64);
        }
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

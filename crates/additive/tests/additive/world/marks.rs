//! Marks in memory, and a server that dies at one of them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_additive::three::epoch::Marks;
use ostrakon_party::PartyId;

/// Marks that live as long as the test.
#[derive(Default)]
pub struct Memory(pub Mutex<BTreeMap<String, Vec<u8>>>);

impl Marks for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.0.lock().unwrap().entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.record(name, value)
    }

    fn standing(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }
}

/// A server that dies at one of its marks, and is started again.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// Which server.
    pub victim: PartyId,
    /// At its mark of this number, if it comes so far.
    pub mark: u64,
    /// Whether the mark was written before.
    pub written: bool,
}

/// Marks of a server that dies at one of them.
pub struct Dying<'a> {
    marks: &'a Memory,
    left: AtomicU64,
    written: bool,
}

impl<'a> Dying<'a> {
    pub fn of(marks: &'a Memory, Crash { mark, written, .. }: Crash) -> Self {
        Self { marks, left: AtomicU64::new(mark), written }
    }
}

impl Marks for Dying<'_> {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let dies = self.left.fetch_sub(1, Ordering::Relaxed) == 0;
        if dies && !self.written {
            return Err("it died before".into());
        }
        let standing = self.marks.record(name, value);
        if dies { Err("it died behind".into()) } else { standing }
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.record(name, value)
    }

    fn standing(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        self.marks.standing(name)
    }
}

impl Memory {
    /// All marks.
    pub fn all(&self) -> Vec<(String, Vec<u8>)> {
        self.0.lock().unwrap().iter().map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

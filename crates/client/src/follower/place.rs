//! Where the reading of a board begins that is not read from its beginning
//! (`docs/spec/follower.md`, F5).

use ostrakon_broadcast::SignedEntry;
use ostrakon_crypto::Digest;
use ostrakon_mixing::Servers;

use crate::time::Millis;

/// Between two searches for the end.
const AGAIN: Millis = 1_000;
/// Entries that are read in order. A device that slept through more goes on at the end, as one that
/// was closed does: what was said meanwhile is said again.
const BEHIND: u64 = 64;

/// The search for an entry near the end.
pub struct Search {
    /// So many entries before the end.
    back: u64,
    /// When it is searched for next.
    due: Millis,
    asked: Option<Asked>,
}

/// All servers are asked for an entry.
struct Asked {
    index: u64,
    /// Servers that have not answered.
    left: usize,
    shown: Vec<SignedEntry>,
}

/// What a search came to.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// The entry of this index names this one before it.
    Place(u64, Digest),
    /// All servers are to be asked for the entry of this index.
    Ask(u64),
    /// Nothing, for now.
    Nothing,
}

impl Search {
    /// From so many entries before the end on.
    pub fn new(back: u64) -> Self {
        Self { back, due: 0, asked: None }
    }

    /// When it is searched for next; `None` while servers are asked.
    pub fn due(&self) -> Option<Millis> {
        self.asked.is_none().then_some(self.due)
    }

    /// Something happened: it is searched at once.
    pub fn rouse(&mut self, now: Millis) {
        self.due = self.due.min(now);
    }

    /// What is to be done in a room of so many servers, whose board has at least `length` entries,
    /// if that is known.
    pub fn next(&mut self, now: Millis, servers: usize, length: Option<u64>) -> Found {
        if self.asked.is_some() || self.due > now {
            return Found::Nothing;
        }
        self.due = now + AGAIN;
        let Some(length) = length else { return Found::Nothing };
        let index = length.saturating_sub(self.back);
        if index == 0 {
            return Found::Place(0, Digest([0; 32]));
        }
        self.asked = Some(Asked { index, left: servers, shown: Vec::new() });
        Found::Ask(index)
    }

    /// What a server shows in that place. So many servers have to show the same.
    pub fn answered(
        &mut self,
        now: Millis,
        entry: Option<SignedEntry>,
        servers: &Servers,
        believed: usize,
    ) -> Found {
        let Some(asked) = &mut self.asked else { return Found::Nothing };
        asked.left -= 1;
        asked.shown.extend(entry);
        let digest = |signed: &SignedEntry| signed.entry.digest(servers);
        let digests: Vec<_> = asked.shown.iter().map(digest).collect();
        let same = |digest: &Digest| digests.iter().filter(|other| *other == digest).count();
        let agreed = digests.iter().position(|digest| same(digest) >= believed);
        let found = agreed.map(|place| (asked.index, asked.shown[place].entry.previous));
        if asked.left == 0 || found.is_some() {
            (self.asked, self.due) = (None, now + AGAIN);
        }
        found.map_or(Found::Nothing, |(index, previous)| Found::Place(index, previous))
    }
}

/// Whether a board of so many entries, of which so many were read, is gone on with at its end.
pub fn is_behind(length: Option<u64>, read: u64) -> bool {
    length.is_some_and(|length| length > read + BEHIND)
}

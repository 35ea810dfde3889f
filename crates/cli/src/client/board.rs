//! A room's board, read page by page: what is in memory at a time does not grow with the board.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::Result;
use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::reader::BoardReader;
use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;
use ostrakon_protocol::BoardPage;

use super::connection::Pauses;
use super::room::Room;
use crate::failure;

/// How often in a row a server may fail to give a page before it is left.
const TRIES: u32 = 3;

/// The longest authentic board that any of the servers shows: one alone might leave out the end.
///
/// It is read at one server, the one that says it has most, and then at the others what they have
/// beyond it; if a server fails, the next one goes on from there. Every page is checked before it
/// is handed out.
pub struct BoardPages<'a> {
    room: &'a Room,
    path: String,
    reader: BoardReader,
    /// Servers that are still to be asked, in this order.
    sources: VecDeque<Source>,
    pauses: Pauses,
    /// Whether a server showed its board to its end. Until then there may be more, however much was
    /// read.
    ended: bool,
    /// The first reason for which a server was no help.
    problem: Option<anyhow::Error>,
    /// Whether there are servers that did not show their boards to the end.
    unseen: bool,
}

/// A server that is still to be asked.
struct Source {
    party: PartyId,
    /// Entries that it says it has, which decides no more than the order.
    said: u64,
    /// Pages in a row that it failed to give.
    failures: u32,
}

impl<'a> BoardPages<'a> {
    /// Asks the servers how much they have; no entry is read yet.
    pub async fn open(room: &'a Room) -> Self {
        let said = room.board_lengths().await;
        let source = |(party, said): (PartyId, Option<u64>)| Source {
            party,
            said: said.unwrap_or(0),
            failures: 0,
        };
        let mut sources: Vec<Source> = room.parties().zip(said).map(source).collect();
        sources.sort_by_key(|source| std::cmp::Reverse(source.said));
        Self {
            room,
            path: format!("rooms/{}/board", room.link.room.to_hex()),
            reader: BoardReader::new(room.servers.clone(), room.descriptor.clone()),
            sources: sources.into(),
            pauses: pauses(),
            ended: false,
            problem: None,
            unseen: false,
        }
    }

    /// The most entries that a server says it has. Nothing proves it.
    pub fn said(&self) -> u64 {
        self.sources.iter().map(|source| source.said).max().unwrap_or(0)
    }

    /// Entries handed out.
    pub fn length(&self) -> usize {
        self.reader.length()
    }

    /// The digest of the last entry handed out; zeros before the first.
    pub fn head(&self) -> Digest {
        self.reader.head()
    }

    /// The next entries, verified; `None` at the end of the longest board that was shown. Then it
    /// is said on stderr if a server could not be asked.
    ///
    /// # Errors
    /// The first server's reason, if none shows its board to the end.
    pub async fn next(&mut self) -> Result<Option<Vec<SignedEntry>>> {
        while let Some(mut source) = self.sources.pop_front() {
            if source.failures > 0 {
                // Once a board was seen to its end, a server that failed is worth waiting for only
                // if it may have more.
                if self.ended && source.said <= self.length() as u64 {
                    self.unseen = true;
                    continue;
                }
                self.pauses.pause().await;
            }
            match self.page(source.party).await {
                Ok(entries) if entries.is_empty() => self.ended = true,
                Ok(entries) => {
                    source.failures = 0;
                    self.pauses = pauses();
                    self.sources.push_front(source);
                    return Ok(Some(entries));
                }
                Err(error) => self.put_off(source, error),
            }
        }
        if self.ended {
            if self.unseen
                && let Some(problem) = self.problem.take()
            {
                eprintln!(
                    "Not every server showed its board ({problem:#}). What is here is authentic, but if the others left out the end, \
                     nothing shows it: try again later."
                );
            }
            return Ok(None);
        }
        Err(self.problem.take().unwrap_or_else(|| anyhow::anyhow!("the room has no servers")))
    }

    /// What a server has beyond what was read.
    async fn page(&mut self, party: PartyId) -> Result<Vec<SignedEntry>> {
        let query = [("from", self.reader.length())];
        let page: BoardPage = self
            .room
            .connection(party)
            .get_page(&self.path, &query)
            .await
            .map_err(failure::call)?;
        let read = self.reader.read(&page.entries);
        read.map_err(|error| failure::unproven(format!("not authentic: {error}")))?;
        Ok(page.entries)
    }

    /// Lets a server that failed wait until the others were asked, unless there is nothing to hope
    /// for.
    fn put_off(&mut self, mut source: Source, error: anyhow::Error) {
        source.failures += 1;
        let origin = self.room.connection(source.party).origin().to_owned();
        if failure::is_unreachable(&error) && source.failures < TRIES {
            self.sources.push_back(source);
        } else {
            self.unseen = true;
        }
        self.problem.get_or_insert(error.context(origin));
    }
}

/// Between two attempts at the same server.
fn pauses() -> Pauses {
    Pauses::new(Duration::from_millis(200), Duration::from_secs(2))
}

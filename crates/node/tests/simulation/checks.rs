//! What must hold of the boards, whatever happened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use ostrakon_broadcast::board::SignedEntry;
use ostrakon_broadcast::hosting::{MessageId, is_ballot, tally};
use ostrakon_broadcast::{Archive, Entry};
use ostrakon_crypto::Digest;
use ostrakon_mixing::{RoomId, Servers};
use ostrakon_party::PartyId;

use crate::deployment::Deployment;
use crate::engine::trust;
use crate::logs::Logs;

/// What was seen of the boards so far.
pub struct Boards {
    deployment: Arc<Deployment>,
    servers: Servers,
    /// The longest board of each room. A message that any server has shown stays in it.
    longest: BTreeMap<RoomId, Board>,
    /// How many entries each server has shown.
    shown: BTreeMap<(RoomId, PartyId), usize>,
}

#[derive(Default)]
struct Board {
    entries: Vec<Entry>,
    digests: Vec<Digest>,
    /// Where each message stands.
    places: BTreeMap<Vec<u8>, MessageId>,
}

/// All of three servers.
pub fn parties() -> impl Iterator<Item = PartyId> {
    parties_of(3)
}

/// All of so many servers.
pub fn parties_of(servers: u8) -> impl Iterator<Item = PartyId> {
    (0..servers).map(PartyId)
}

/// What may be published once: a text or an answer to a poll. Of a cheater's messages in an epoch,
/// which differ in the last letter, one.
fn name(body: &[u8]) -> &[u8] {
    if body.starts_with(b"cheat ") { &body[..body.len() - 1] } else { body }
}

impl Board {
    /// Takes what a server shows as entry `index`.
    fn take(&mut self, servers: &Servers, party: PartyId, index: usize, entry: Entry) {
        let digest = entry.digest(servers);
        if let Some(known) = self.digests.get(index) {
            assert_eq!(*known, digest, "the boards differ at {party}");
        } else {
            let previous = self.digests.last().copied().unwrap_or(Digest([0; 32]));
            assert_eq!(entry.previous, previous, "an entry of {party} does not continue the board");
            let last = self.entries.last().map(|last| last.epoch.number);
            assert!(last < Some(entry.epoch.number), "an epoch of {party} is out of order");
            self.digests.push(digest);
            self.entries.push(entry.clone());
        }
        for (place, message) in (0..).zip(&entry.messages) {
            let Some(body) = message.body() else { continue };
            let id = MessageId { epoch: entry.epoch.number, index: place };
            let known = *self.places.entry(name(body).to_vec()).or_insert(id);
            assert_eq!(known, id, "{:?} is published twice", String::from_utf8_lossy(body));
            self.entries[index].messages[place as usize] = message.clone();
        }
    }
}

impl Boards {
    pub fn new(deployment: &Arc<Deployment>, servers: Servers) -> Self {
        Self {
            deployment: Arc::clone(deployment),
            servers,
            longest: BTreeMap::new(),
            shown: BTreeMap::new(),
        }
    }

    /// Reads on at a server that says that it has so many entries: what it shows is signed by
    /// enough and chained, the beginning of the longest board or the longest itself, never shorter
    /// than before, and without a message twice.
    pub fn read(&mut self, room: RoomId, party: PartyId, length: u64) {
        let mut shown = self.shown.get(&(room, party)).copied().unwrap_or(0);
        assert!(shown as u64 <= length, "{party} forgot entries that it had shown");
        while (shown as u64) < length {
            let from = shown as u64;
            let page = self.deployment.call(party, |server| {
                async move { server.board(room, from, Duration::ZERO).await }.boxed()
            });
            self.deployment.expect_no_damage(party, &page);
            let Some(Ok(page)) = page else { return };
            assert!(
                !page.entries.is_empty(),
                "{party} does not have the entries that it says it has"
            );
            for signed in page.entries {
                self.take(room, party, shown, &signed);
                shown += 1;
            }
        }
    }

    fn take(&mut self, room: RoomId, party: PartyId, index: usize, signed: &SignedEntry) {
        signed
            .verify(&self.servers, &trust(self.servers.keys.len()), index)
            .expect("an entry is signed by enough");
        assert_eq!(signed.entry.epoch.room, room);
        self.longest.entry(room).or_default().take(
            &self.servers,
            party,
            index,
            signed.entry.clone(),
        );
        let shown = self.shown.entry((room, party)).or_default();
        *shown = (*shown).max(index + 1);
    }

    /// Reads the whole board anew, as an archive: it verifies, and what was shown is still there.
    /// The messages that the server still has, if it answers.
    pub fn read_whole(
        &mut self,
        room: RoomId,
        party: PartyId,
    ) -> Option<Vec<(MessageId, Vec<u8>)>> {
        let text = self
            .deployment
            .call(party, |server| async move { server.archive(room)?.text().await }.boxed());
        let text = text?.ok()?;
        let under = |_, servers| Some(trust(servers));
        let archive = Archive::verify_under(&text, Some(&self.servers.digest()), under)
            .expect("an archive verifies");
        let shown = self.shown.get(&(room, party)).copied().unwrap_or(0);
        assert!(shown <= archive.entries.len(), "{party} forgot entries that it had shown");
        for (index, signed) in archive.entries.iter().enumerate() {
            self.take(room, party, index, signed);
        }
        Some(archive.entries.iter().flat_map(|signed| messages(&signed.entry)).collect())
    }

    /// What this server has shown of a room, erased messages included.
    pub fn shown(
        &self,
        room: RoomId,
        party: PartyId,
    ) -> impl Iterator<Item = (MessageId, Vec<u8>)> {
        let count = self.shown.get(&(room, party)).copied().unwrap_or(0);
        let entries =
            self.longest.get(&room).map(|board| &board.entries[..count]).unwrap_or_default();
        entries.iter().flat_map(messages)
    }

    /// What any server has shown of a room.
    pub fn all(&self, room: RoomId) -> impl Iterator<Item = (MessageId, Vec<u8>)> {
        self.longest.get(&room).into_iter().flat_map(|board| &board.entries).flat_map(messages)
    }

    /// Counts the answers to a poll with the rule that pages count by, and compares: each that is
    /// on the board counts, once. `voters` holds who has answered, by poll.
    pub fn check_polls(&self, room: RoomId, logs: &Logs, voters: &BTreeMap<u64, Vec<u8>>) {
        let Some(board) = self.longest.get(&room) else { return };
        for (at, body) in self.all(room).filter(|(_, body)| is_ballot(body)) {
            let (id, option) = ballot(&body).expect("only devices answer");
            let Some(poll) = logs.poll(id) else {
                assert!(id >= logs.length() as u64, "an answer to something that is no poll");
                continue;
            };
            assert_eq!(poll.epoch, at.epoch, "an answer is in another epoch than its poll");
            assert!(
                voters.get(&id).is_some_and(|voters| voters.contains(&option)),
                "nobody answered so"
            );
        }
        for (id, poll) in logs.polls() {
            let Some(entry) = board.entries.iter().find(|entry| entry.epoch.number == poll.epoch)
            else {
                continue;
            };
            let tally = tally(id, poll, entry);
            let cast = |option: usize| {
                let own = |body: &&[u8]| ballot(body) == Some((id, option as u8));
                entry.bodies().filter(own).count() as u32
            };
            let votes: Vec<_> = (0..tally.votes.len()).map(cast).collect();
            assert_eq!(tally.votes, votes, "every answer to poll {id} counts");
            assert!(votes.iter().all(|count| *count <= 1), "somebody has answered poll {id} twice");
        }
    }

    /// Whom the servers have on record for misbehaviour.
    pub fn blamed(&self, by: PartyId) -> Vec<(PartyId, String)> {
        let faults =
            self.deployment.call(by, |server| async move { server.faults().await }.boxed());
        let faults = faults.and_then(Result::ok).unwrap_or_default();
        faults.into_iter().map(|fault| (PartyId(fault.culprit), fault.what)).collect()
    }
}

fn messages(entry: &Entry) -> impl Iterator<Item = (MessageId, Vec<u8>)> + use<> {
    let epoch = entry.epoch.number;
    let there = |(index, message): (u32, &ostrakon_broadcast::board::Published)| {
        Some((MessageId { epoch, index }, message.body()?.to_vec()))
    };
    (0..).zip(&entry.messages).filter_map(there).collect::<Vec<_>>().into_iter()
}

/// Reads an answer: the poll and the option. As the specification says it, not by the code that
/// writes it.
fn ballot(body: &[u8]) -> Option<(u64, u8)> {
    match body {
        [0, b'P', id @ .., option] => Some((u64::from_le_bytes(id.try_into().ok()?), *option)),
        _ => None,
    }
}

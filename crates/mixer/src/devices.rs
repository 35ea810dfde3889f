//! Participants of one process: they talk to all servers over links of their own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use ostrakon_asynchromix::board::SignedEntry;
use ostrakon_asynchromix::participant::News;
use ostrakon_asynchromix::{Participant, Room};
use ostrakon_crypto::{Secret, VerifyingKey};
use ostrakon_net::Identity;
use ostrakon_party::PartyId;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::links::{Incoming, Links, Peers};

/// How often participants ask.
const TICK: Duration = Duration::from_millis(100);

/// Many participants and their links.
pub struct Devices {
    links: Links,
    frames: mpsc::UnboundedReceiver<Incoming>,
    servers: BTreeMap<VerifyingKey, PartyId>,
    participants: BTreeMap<VerifyingKey, Participant>,
    board: BTreeMap<u64, Arc<SignedEntry>>,
}

impl Devices {
    /// Connects with all servers of a room, at `addresses` by number.
    #[must_use]
    pub fn start(room: &Room, identity: &Secret, addresses: &[String]) -> Self {
        let keys = room.identities().as_slice();
        let dialled = keys.iter().copied().zip(addresses.iter().cloned()).collect();
        let longest = room.longest() + (2 << 20);
        let peers = Peers { dialling: Vec::new(), dialled, longest };
        let (links, frames) = Links::start(&Identity::from_seed(identity.expose()), None, peers);
        let servers = keys.iter().copied().zip(room.parties()).collect();
        Self { links, frames, servers, participants: BTreeMap::new(), board: BTreeMap::new() }
    }

    /// Lets a participant take part.
    pub fn add(&mut self, participant: Participant) {
        self.participants.insert(participant.key(), participant);
    }

    /// The entries that participants have seen, by epoch.
    #[must_use]
    pub fn board(&self) -> &BTreeMap<u64, Arc<SignedEntry>> {
        &self.board
    }

    /// Carries messages until `each`, which is told participants' news, says that it is enough.
    ///
    /// # Errors
    /// If the links end, which they do not.
    pub async fn run(&mut self, mut each: impl FnMut(&VerifyingKey, News) -> bool) -> Result<()> {
        let mut clock = interval(TICK);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = clock.tick() => {
                    for participant in self.participants.values_mut() {
                        tell(&self.links, &self.servers, participant.tick());
                    }
                }
                frame = self.frames.recv() => {
                    let Some(frame) = frame else { anyhow::bail!("the links have ended") };
                    if let Some((key, news)) = self.take(&frame) && each(&key, news) {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn take(&mut self, frame: &Incoming) -> Option<(VerifyingKey, News)> {
        let from = *self.servers.get(&frame.from)?;
        let (client, bytes) = frame.bytes.split_first_chunk::<32>()?;
        let key = VerifyingKey(*client);
        let participant = self.participants.get_mut(&key)?;
        let (messages, news) = participant.receive(from, bytes);
        tell(&self.links, &self.servers, messages);
        if let Some(seen) = participant.seen() {
            self.board.entry(seen.entry.epoch).or_insert_with(|| Arc::clone(seen));
        }
        Some((key, news?))
    }
}

/// Tells all servers the same.
fn tell(links: &Links, servers: &BTreeMap<VerifyingKey, PartyId>, messages: Vec<Vec<u8>>) {
    for message in messages {
        let bytes: Arc<[u8]> = message.into();
        servers.keys().for_each(|server| links.send(server, Arc::clone(&bytes)));
    }
}

//! Steps S2 and S5: what a server writes of itself for a renewal.

use std::sync::Arc;

use ostrakon_broadcast::board::SignedEntry;
use ostrakon_broadcast::hosting::SignedAction;
use ostrakon_crypto::{Digest, Signature, SigningKey, hash};
use ostrakon_mixing::EpochContext;
use ostrakon_mixing::room::{RoomDescriptor, Servers};
use ostrakon_party::{PartyId, wire};
use ostrakon_store::{EpochRow, EpochState, RoomRow};
use serde::{Deserialize, Serialize};

use super::RenewalError;
use crate::disk::Disk;
use crate::provider::EngineProvider;
use crate::rooms::hosting;
use crate::state::Room;
use crate::state::epochs::{Conclusion, KEPT_VERDICTS};

/// Entries that the store is asked for at once.
const AT_ONCE: u32 = 16;

/// What a server that has closed its generation says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The generation that it has closed.
    pub generation: u32,
    /// Which server it is.
    pub party: PartyId,
    /// The deployment.
    pub servers: Servers,
    /// Every room.
    pub rooms: Vec<RoomState>,
}

/// A room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RoomState {
    pub descriptor: RoomDescriptor,
    /// The server whose operator made it.
    pub author: PartyId,
    pub open: bool,
    /// The number of the next epoch to be opened.
    pub next_epoch: u64,
    pub actions: Vec<SignedAction>,
    /// The board.
    pub entries: Vec<Dated>,
    /// Entries that this server would publish, with its signature.
    pub concluded: Vec<SignedEntry>,
    /// Epochs of which somebody may have read the messages, and whose outcome does not stand.
    pub in_doubt: Vec<u64>,
}

/// An entry with the day, counted from 1970, on which it was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Dated {
    pub published_on: u32,
    pub entry: SignedEntry,
}

/// A state's file.
#[derive(Serialize, Deserialize)]
struct Signed {
    state: Vec<u8>,
    signature: Signature,
}

fn digest(state: &[u8]) -> Digest {
    hash::digest("ostrakon/v1/node/renewal state", state)
}

impl State {
    /// The file, signed.
    pub fn to_file(&self, key: &SigningKey) -> Vec<u8> {
        let state = wire::encode(self);
        let signature = key.sign(&digest(&state));
        wire::encode(&Signed { state, signature })
    }

    /// Reads a file of one of `servers`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn from_file(file: &[u8], servers: &Servers) -> Result<Self, String> {
        let malformed = || "this is no file that `ostrakon renewal state` wrote".to_owned();
        let signed: Signed = wire::decode(file).map_err(|_| malformed())?;
        let state: Self = wire::decode(&signed.state).map_err(|_| malformed())?;
        if state.servers != *servers {
            return Err("this is the state of a server of another deployment".into());
        }
        let key = servers.keys.get(state.party.index()).ok_or_else(malformed)?;
        if !key.verifies(&digest(&signed.state), &signed.signature) {
            return Err(format!(
                "this is not signed by server {}: it was changed on the way",
                state.party
            ));
        }
        Ok(state)
    }
}

/// What the state is made from.
pub(super) struct Source<'a> {
    pub store: &'a Disk,
    pub provider: &'a Arc<dyn EngineProvider>,
    pub servers: &'a Servers,
    pub party: PartyId,
    pub key: &'a SigningKey,
}

impl Source<'_> {
    /// The state as the disk has it. The generation is closed already.
    pub async fn read(&self) -> Result<State, RenewalError> {
        let generation = self.store.generation().await?.number;
        let marks = self.store.marks().await?;
        let epochs = self.store.epochs(KEPT_VERDICTS as u32).await?;
        let mut rooms = Vec::new();
        for row in self.store.rooms().await? {
            let of_room: Vec<_> = epochs.iter().filter(|epoch| epoch.room == row.room).collect();
            rooms.push(self.room(row, &of_room, &marks).await?);
        }
        Ok(State { generation, party: self.party, servers: self.servers.clone(), rooms })
    }

    async fn room(
        &self,
        row: RoomRow,
        epochs: &[&EpochRow],
        marks: &[(String, Vec<u8>)],
    ) -> Result<RoomState, RenewalError> {
        let corrupt = |column| RenewalError::Store(ostrakon_store::Error::Corrupt(column));
        let descriptor: RoomDescriptor =
            wire::decode(&row.descriptor).map_err(|_| corrupt("rooms.descriptor"))?;
        let room = Room::new(descriptor.clone(), row.author, self.servers);
        let mut state = RoomState {
            descriptor,
            author: row.author,
            open: row.open,
            next_epoch: epochs.iter().map(|epoch| epoch.number + 1).fold(row.first_epoch, u64::max),
            actions: hosting::all_actions(self.store, &room.descriptor.id()).await?,
            entries: entries(self.store, &row.room).await?,
            concluded: Vec::new(),
            in_doubt: Vec::new(),
        };
        for epoch in epochs.iter().filter(|epoch| epoch.state == EpochState::Sealed) {
            let conclusion =
                epoch.conclusion.as_deref().map(wire::decode::<Conclusion>).transpose();
            let conclusion = conclusion.map_err(|_| corrupt("epochs.conclusion"))?;
            let entry = conclusion.and_then(|conclusion| conclusion.entry);
            let context = room.context(epoch.number, epoch.batch, epoch.minimum);
            if entry.is_some() || self.may_have_opened(&context, marks).await? {
                state.in_doubt.push(epoch.number);
            }
            if let Some(entry) = entry {
                let signature = entry.sign(self.servers, self.key);
                state
                    .concluded
                    .push(SignedEntry { signatures: vec![(self.party, signature)], entry });
            }
        }
        Ok(state)
    }

    /// `earlier`: marks among which an earlier version may have left those of the epoch.
    async fn may_have_opened(
        &self,
        context: &EpochContext,
        earlier: &[(String, Vec<u8>)],
    ) -> Result<bool, ostrakon_store::Error> {
        let marks = self.store.marks_of(&context.epoch.room.0, context.epoch.number).await?;
        Ok([&marks[..], earlier]
            .into_iter()
            .any(|marks| self.provider.may_have_opened(&self.servers.session, context, marks)))
    }
}

async fn entries(store: &Disk, room: &[u8; 16]) -> Result<Vec<Dated>, ostrakon_store::Error> {
    let mut entries = Vec::new();
    loop {
        let rows = store.entries(room, entries.len() as u64, AT_ONCE).await?;
        if rows.is_empty() {
            return Ok(entries);
        }
        for row in rows {
            let entry = wire::decode(&row.body)
                .map_err(|_| ostrakon_store::Error::Corrupt("entries.body"))?;
            let entry = SignedEntry { entry, signatures: row.signatures };
            entries.push(Dated { published_on: row.published_on, entry });
        }
    }
}

//! Renewal: the servers go on in a new generation after one of them has lost its data
//! (`docs/spec/restore.md`, whose steps are named here). [`write_state`] is step S2, [`begin`]
//! steps S4 to S8. Both are for servers that are stopped.

mod merge;
mod state;

use std::sync::Arc;

use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_mixing::room::{RoomId, Servers};
use ostrakon_party::{PartyId, wire};
use ostrakon_store::{EpochState, NewEntry, Renewed, RenewedRoom};

use crate::config::{Config, ConfigError};
use crate::disk::{Disk, audit};
use crate::platform::Platform;
use crate::provider::EngineProvider;
use crate::provider::trusts::Trusts;
use crate::rooms::hosting;
use crate::setup;
use crate::state::epochs::KEPT_VERDICTS;
use merge::Merged;
use ostrakon_protocol::{LastEpoch, Outcome};
use state::{Source, State};

/// Why a step of a renewal cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum RenewalError {
    /// The configuration, or a file that it names.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory.
    #[error("the data directory cannot be used: {0}; is the server stopped?")]
    Store(#[from] ostrakon_store::Error),
    /// The state does not allow it, or a file is not what it must be.
    #[error("{0}")]
    Refused(String),
}

fn refused<T>(why: &str) -> Result<T, RenewalError> {
    Err(RenewalError::Refused(why.into()))
}

/// What a renewal has come to at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The generation.
    pub generation: u32,
    /// The digest of its state, the same at all servers.
    pub digest: Digest,
    /// How many rooms there are.
    pub rooms: usize,
    /// Rooms that are closed because an epoch was in doubt.
    pub closed: Vec<RoomId>,
}

/// The number from which a generation's announcements and batches are counted.
pub(crate) fn base(generation: u32) -> u64 {
    u64::from(generation) << 40
}

/// A stopped server.
struct Site {
    store: Disk,
    provider: Arc<dyn EngineProvider>,
    platform: Arc<dyn Platform>,
    servers: Servers,
    trusts: Trusts,
    party: PartyId,
    key: SigningKey,
}

impl Site {
    async fn open(
        config: &Config,
        provider: Arc<dyn EngineProvider>,
        platform: Arc<dyn Platform>,
    ) -> Result<Self, RenewalError> {
        let key = SigningKey::from_seed(&*config.identity()?);
        let trusts = provider.trusts(config.servers.len()).map_err(RenewalError::Refused)?;
        let store = Disk::open(&config.data, &config.database()?, Arc::clone(&platform)).await?;
        let Some(session) = setup::session(&store).map_err(RenewalError::Refused)? else {
            store.close().await;
            return refused(
                "the secrets of the set-up (`secrets` in the data directory) are not here: put them back from the backup. Without \
                 them there is no renewal: see \"A server is lost\" in docs/operating.md",
            );
        };
        let keys = config.servers.iter().map(|server| server.key).collect();
        let servers = Servers { session, keys };
        Ok(Self { store, provider, platform, servers, trusts, party: config.id(), key })
    }
}

/// Closes the server's generation, and writes its state. It says nothing more until it has begun
/// the next one.
///
/// # Errors
/// [`RenewalError`].
pub async fn write_state(
    config: &Config,
    provider: Arc<dyn EngineProvider>,
    platform: Arc<dyn Platform>,
) -> Result<Vec<u8>, RenewalError> {
    let site = Site::open(config, provider, platform).await?;
    let written = site.write_state().await;
    site.store.close().await;
    written
}

/// Begins the generation that the states written make: one of each server but one.
///
/// # Errors
/// [`RenewalError`]. Nothing has changed then.
pub async fn begin(
    config: &Config,
    provider: Arc<dyn EngineProvider>,
    platform: Arc<dyn Platform>,
    files: &[Vec<u8>],
) -> Result<Begun, RenewalError> {
    let site = Site::open(config, provider, platform).await?;
    let begun = site.begin(files).await;
    site.store.close().await;
    begun
}

impl Site {
    async fn write_state(&self) -> Result<Vec<u8>, RenewalError> {
        if self.is_empty().await? {
            return refused(
                "this server has no data to write the state of: the others write theirs",
            );
        }
        self.store.close_generation().await?;
        let Self { store, provider, servers, party, key, .. } = self;
        let state = Source { store, provider, servers, party: *party, key }.read().await?;
        audit::note(store, self.platform.now_ms(), "operator", "close the generation", "").await;
        Ok(state.to_file(key))
    }

    /// Whether nothing was ever delivered here: the data are lost, and new.
    async fn is_empty(&self) -> Result<bool, RenewalError> {
        let mut delivered = 0;
        for author in (0u8..).map(PartyId).take(self.servers.keys.len()) {
            delivered += self.store.delivered(author).await?;
        }
        Ok(delivered == 0
            && self.store.generation().await?.number == 0
            && self.store.rooms().await?.is_empty())
    }

    async fn begin(&self, files: &[Vec<u8>]) -> Result<Begun, RenewalError> {
        let read =
            |file: &Vec<u8>| State::from_file(file, &self.servers).map_err(RenewalError::Refused);
        let states: Vec<_> = files.iter().map(read).collect::<Result<_, _>>()?;
        let merged =
            merge::merge(&self.servers, &self.trusts, &states).map_err(RenewalError::Refused)?;
        let digest = merged.digest(&self.servers);
        let closed = merged
            .rooms
            .iter()
            .filter(|(_, room)| !room.in_doubt.is_empty())
            .map(|(id, _)| *id)
            .collect();
        let begun =
            Begun { generation: merged.generation, digest, rooms: merged.rooms.len(), closed };
        let now = self.store.generation().await?;
        if now.number == merged.generation && now.digest == Some(digest) {
            return Ok(begun);
        }
        if !self.is_empty().await? {
            if now.number + 1 != merged.generation {
                return refused(
                    "the files are of another generation than this server's: let all servers that have data write them again",
                );
            }
            if !now.closed || states.iter().all(|state| state.party != self.party) {
                return refused(
                    "this server has data, but none of the files is its state. If the data are good, write its state \
                     (`ostrakon renewal state`) and use it; if they are an old copy, put them aside, all but `secrets`",
                );
            }
        }
        let renewed = self.renewed(&merged, digest).await?;
        setup::confirm(&self.store, self.servers.session).await?;
        self.store.renew(&renewed).await?;
        let detail = format!("generation {}, state {}", merged.generation, digest.to_hex());
        audit::note(&self.store, self.platform.now_ms(), "operator", "begin a generation", &detail)
            .await;
        Ok(begun)
    }

    /// What is to be written here: of every room what this server lacks.
    async fn renewed(&self, merged: &Merged, digest: Digest) -> Result<Renewed, RenewalError> {
        let mut rooms = Vec::new();
        for (id, room) in &merged.rooms {
            let (length, head) = self.store.board_head(&id.0).await?;
            let here = usize::try_from(length).unwrap_or(usize::MAX);
            let known = here.checked_sub(1).map(|last| room.entries.get(last));
            let known =
                known.map(|dated| dated.map(|dated| dated.entry.entry.digest(&self.servers)));
            let actions = hosting::all_actions(&self.store, id).await?;
            if known != head.map(Some) || !room.actions.starts_with(&actions) {
                return refused(&format!(
                    "this server's data of room {} go beyond the files: write its state again",
                    id.to_hex()
                ));
            }
            let entries = room.entries[here..].iter().map(|dated| {
                let signed = &dated.entry;
                let (digest, body) =
                    (signed.entry.digest(&self.servers), wire::encode(&signed.entry));
                let signatures = signed.signatures.clone();
                (
                    signed.entry.epoch.number,
                    NewEntry { digest, body, published_on: dated.published_on, signatures },
                )
            });
            let lacking = room.actions[actions.len()..].iter();
            rooms.push(RenewedRoom {
                room: id.0,
                descriptor: wire::encode(&room.descriptor),
                author: room.author,
                open: room.open,
                first_epoch: room.first_epoch,
                actions: lacking
                    .map(|action| (action.action.number, hosting::of_earlier_generation(action)))
                    .collect(),
                entries: entries.collect(),
            });
        }
        Ok(Renewed {
            number: merged.generation,
            digest,
            rooms,
            given_up: self.given_up(merged).await?,
        })
    }

    /// The epochs under way here, and how they end.
    async fn given_up(
        &self,
        merged: &Merged,
    ) -> Result<Vec<([u8; 16], u64, Vec<u8>)>, RenewalError> {
        let rows = self.store.epochs(KEPT_VERDICTS as u32).await?;
        let under_way = rows
            .iter()
            .filter(|row| matches!(row.state, EpochState::Collecting | EpochState::Sealed));
        let end = |row: &ostrakon_store::EpochRow| {
            let room = merged.rooms.get(&RoomId(row.room));
            let published = room.is_some_and(|room| {
                room.entries.iter().any(|dated| dated.entry.entry.epoch.number == row.number)
            });
            let doubtful = room.is_some_and(|room| room.in_doubt.contains(&row.number));
            let (outcome, detail) = match (published, doubtful) {
                (true, _) => (Outcome::Published, ""),
                (_, true) => (
                    Outcome::MayHaveOpened,
                    "a server lost its data while the messages were being opened, so they may have been read; \
                     nothing is said again, and the room is closed",
                ),
                _ => (Outcome::Failed, "a server lost its data; messages enter the next epoch"),
            };
            let last = LastEpoch { number: row.number, outcome, detail: detail.into() };
            (row.room, row.number, wire::encode(&last))
        };
        Ok(under_way.map(end).collect())
    }
}

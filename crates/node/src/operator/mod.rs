//! What an operator sees of a server: its peers, stock, epochs, disk, clock and certificate, and
//! what needs attention.
//!
//! Counts and levels only. Nothing here is about one participant or one submission.

pub(crate) mod metrics;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_mixing::engine::Form;
use ostrakon_mixing::room::{EngineKind, Mode};
use ostrakon_net::{Acquaintance, PeerState, Reach};
use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::core::Core;
use crate::intake;
use crate::memory::history::{PastEpoch, SAMPLE_SECONDS, StockSample, Suspects};
use crate::memory::introduction::About;
use crate::platform::{Links, Platform};
use crate::ports::Drivers;
use crate::rooms::requests;
use crate::state::World;
use ostrakon_protocol::{Overdue, RoomState};

/// How far a peer's clock may be off before the operator is warned, in milliseconds. Participants'
/// clocks may be two minutes off, so there is time to act.
pub const CLOCK_BOUND_MS: u64 = 10_000;
/// Below so many free bytes the operator is warned: a few batches and some thousand epochs of
/// submissions.
pub const DISK_LOW: u64 = 1 << 30;
/// From so many epochs on that the same two servers stopped, the operators are warned of the two.
pub const ABORTS_NOTED: u32 = 3;
/// So long before a certificate expires the operator is warned, in seconds.
pub const CERTIFICATE_NOTICE: u64 = 14 * 86_400;
pub use crate::memory::history::Queues;
pub use crate::memory::introduction::VERSION;

/// How a peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PeerReach {
    /// By a connection of its own.
    Direct,
    /// By way of the third server.
    Relayed,
    /// Not at all.
    None,
}

/// Another server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PeerView {
    /// Party number.
    pub party: u8,
    /// The operator's name for it.
    pub name: String,
    /// Origin of its public interface.
    pub url: String,
    /// Its identity key, hexadecimal.
    pub key: String,
    /// How it is reached.
    pub reach: PeerReach,
    /// Seconds since something last came from it.
    pub silent_for: Option<u64>,
    /// The release that it says it runs.
    pub version: Option<String>,
    /// When it says that its certificate expires, in seconds since 1970.
    pub certificate_expires: Option<u64>,
    /// How many milliseconds its clock is ahead of this server's.
    pub clock_ahead_ms: Option<i64>,
    /// Why no connection with it comes about although somebody answers.
    pub trouble: Option<String>,
}

/// Batches of one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StockView {
    /// The engine that the batches are for.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub engine: EngineKind,
    /// Rows of its tables.
    pub rows: u32,
    /// Bytes of a row.
    pub width: u32,
    /// Batches that an epoch can be opened with.
    pub usable: u32,
    /// Batches that are being prepared.
    pub preparing: u32,
    /// Whether an open room needs batches of this form.
    pub needed: bool,
}

/// A room, as its operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoomView {
    /// Its id, hexadecimal.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Open or closed.
    pub state: RoomState,
    /// Bytes of payload of a row.
    pub payload: u32,
    /// Slots of an epoch.
    pub capacity: u32,
    /// Seconds of an epoch.
    pub seconds: u32,
    /// The minimum anonymity set.
    pub minimum: u32,
    /// What happens when a server cheats.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub mode: Mode,
    /// Participants whose home is this server.
    pub present: u32,
    /// Entries on its board.
    pub board_length: u64,
    /// Epochs that were opened.
    pub epochs: u64,
    /// Epochs that are sealed and not finished everywhere.
    pub computing: u32,
    /// Why its epoch is not closed, or not opened, if it is overdue.
    pub overdue: Option<Overdue>,
}

/// The disk of the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Disk {
    /// Bytes that can be written.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
    /// Bytes of the stock.
    pub stock: u64,
    /// The most bytes of the stock.
    pub stock_limit: u64,
}

/// What kind of thing needs attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WarningKind {
    /// A server cannot be reached.
    Unreachable,
    /// A server runs another release.
    OtherVersion,
    /// A server's clock, or this one's, is off.
    ClockOff,
    /// The disk is nearly full.
    DiskLow,
    /// A certificate expires soon, or has.
    CertificateExpiring,
    /// An open room has no batch to go on with.
    StockEmpty,
    /// An epoch could have been closed or opened for a while, and the server's word is missing.
    EpochOverdue,
    /// The server is one of two of whom one has stopped epochs again and again.
    RepeatedAborts,
}

/// Something that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Warning {
    /// What kind of thing.
    pub kind: WarningKind,
    /// The server concerned, by party number.
    pub party: u8,
    /// Cause and remedy, for people.
    pub text: String,
}

/// A server at a glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Overview {
    /// The release that runs.
    pub version: String,
    /// The version of the servers' protocol.
    pub protocol: u16,
    /// Party number.
    pub party: u8,
    /// When the server started, in seconds since 1970.
    pub since: u64,
    /// The server's clock, in seconds since 1970.
    pub now: u64,
    /// Whether the server can do its work.
    pub ready: bool,
    /// When its certificate expires, in seconds since 1970; absent if a proxy keeps it.
    pub certificate_expires: Option<u64>,
    /// What needs attention.
    pub warnings: Vec<Warning>,
    /// The other servers.
    pub peers: Vec<PeerView>,
    /// How far clocks may be off, in milliseconds.
    pub clock_bound_ms: u64,
    /// The stock, by form.
    pub stock: Vec<StockView>,
    /// The stock of the last day, oldest first: every ten seconds, and further back the fewest of
    /// every five minutes.
    pub stock_history: Vec<StockSample>,
    /// Rooms, as many as there are.
    pub rooms: Vec<RoomView>,
    /// The last 200 epochs since the start, oldest first.
    pub epochs: Vec<PastEpoch>,
    /// Pairs of servers that stopped epochs since the start.
    pub suspects: Vec<Suspects>,
    /// The disk; absent if the system does not say.
    pub disk: Option<Disk>,
    /// What waits.
    pub queues: Queues,
}

/// What belongs to the process, whether or not it has found its peers.
pub(crate) struct Process<'a> {
    pub config: &'a Config,
    pub mesh: &'a dyn Links,
    pub platform: &'a dyn Platform,
    pub core: Option<&'a Arc<Core>>,
    pub drivers: Option<&'a Drivers>,
    pub since: u64,
    pub ready: bool,
    pub certificate_expires: Option<u64>,
}

/// The free and all bytes of the disk that holds `directory`.
pub(crate) fn disk_space(directory: &Path) -> Option<(u64, u64)> {
    let space = rustix::fs::statvfs(directory).ok()?;
    Some((
        space.f_bavail.saturating_mul(space.f_frsize),
        space.f_blocks.saturating_mul(space.f_frsize),
    ))
}

/// Everything at a glance.
pub(crate) async fn overview(process: Process<'_>) -> Overview {
    let Process { config, mesh, platform, core, since, ready, certificate_expires, .. } = process;
    let now = platform.now_ms();
    let disk = disk(config, core).await;
    let stock = core.map(|core| stock(&core.world())).unwrap_or_default();
    let rooms = core.map(|core| rooms(core, now)).unwrap_or_default();
    let record = |core: &Arc<Core>| {
        let history = core.history();
        (history.stock(), history.epochs(), history.suspects())
    };
    let (stock_history, epochs, suspects) = core.map(record).unwrap_or_default();
    let mut overview = Overview {
        version: VERSION.into(),
        protocol: ostrakon_net::frame::VERSION,
        party: config.party,
        since,
        now: now / 1000,
        ready,
        certificate_expires,
        warnings: Vec::new(),
        peers: peers(config, mesh),
        clock_bound_ms: CLOCK_BOUND_MS,
        stock,
        stock_history,
        rooms,
        epochs,
        suspects,
        disk,
        queues: core.map_or_else(Queues::default, |core| queues(core)),
    };
    overview.warnings = warnings(&overview);
    overview
}

fn peers(config: &Config, mesh: &dyn Links) -> Vec<PeerView> {
    let states = mesh.peer_states();
    let mut known = mesh.acquaintances();
    let view = |(id, state): (PartyId, PeerState)| {
        let server = config.servers.get(id.index())?;
        let Acquaintance { about, clock_ahead, trouble } = known.remove(&id).unwrap_or_default();
        let about = About::read(&about).unwrap_or_default();
        Some(PeerView {
            party: id.0,
            name: server.name.clone(),
            url: server.url.clone(),
            key: server.key.to_hex(),
            reach: match state.reach {
                Reach::Direct => PeerReach::Direct,
                Reach::Relayed(_) => PeerReach::Relayed,
                Reach::No => PeerReach::None,
            },
            silent_for: state.last_seen.map(|silence| silence.as_secs()),
            version: Some(about.release().to_owned()).filter(|version| !version.is_empty()),
            certificate_expires: about.certificate_expires,
            clock_ahead_ms: clock_ahead,
            trouble,
        })
    };
    states.into_iter().filter_map(view).collect()
}

fn stock(world: &World) -> Vec<StockView> {
    let empty = |form: Form| StockView {
        engine: form.engine,
        rows: form.shape.rows,
        width: form.shape.width,
        usable: 0,
        preparing: 0,
        needed: false,
    };
    let mut views: BTreeMap<Form, StockView> = BTreeMap::new();
    for room in world.rooms.values().filter(|room| room.open) {
        let form = Form::of(&room.descriptor);
        views.entry(form).or_insert_with(|| empty(form)).needed = true;
    }
    for batch in world.batches.values().filter(|batch| batch.is_supply()) {
        let view = views.entry(batch.form).or_insert_with(|| empty(batch.form));
        *(if batch.is_usable() { &mut view.usable } else { &mut view.preparing }) += 1;
    }
    views.into_values().collect()
}

fn rooms(core: &Core, now: u64) -> Vec<RoomView> {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let silent = core.silent(now);
    let world = core.world();
    let mut presence = core.presence.lock().expect("no panic while held");
    let there = world.rooms.iter().filter(|(_, room)| !room.deleted);
    let views = there.map(|(id, room)| RoomView {
        id: id.to_hex(),
        name: room.descriptor.name.clone(),
        state: if room.open { RoomState::Open } else { RoomState::Closed },
        payload: room.descriptor.payload,
        capacity: room.descriptor.capacity,
        seconds: room.descriptor.seconds,
        minimum: room.log.minimum(),
        mode: room.descriptor.mode,
        present: presence.count(id, now),
        board_length: room.board_length,
        epochs: room.next_epoch,
        computing: count(room.computing.len()),
        overdue: requests::overdue(room, core.me(), &silent, now),
    });
    views.collect()
}

async fn disk(config: &Config, core: Option<&Arc<Core>>) -> Option<Disk> {
    let (free, total) = disk_space(&config.data)?;
    let stock = match core {
        Some(core) => core.store.stock_bytes().await.unwrap_or(0),
        None => 0,
    };
    Some(Disk { free, total, stock, stock_limit: config.stock.bytes })
}

/// How full the queues are. Rounded down, so that what a single participant causes is not seen.
pub(crate) fn queues(core: &Core) -> Queues {
    let tenths =
        |waiting: usize, most: usize| u8::try_from(waiting * 10 / most).unwrap_or(10).min(10);
    Queues {
        intake_tenths: tenths(intake::WAITING - core.intake.capacity(), intake::WAITING),
        announcements_tenths: tenths(core.logs.on_their_way(), crate::memory::logs::WINDOW),
    }
}

/// What needs attention, the most urgent first.
fn warnings(overview: &Overview) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, party, text: String| warnings.push(Warning { kind, party, text });
    for peer in &overview.peers {
        let (party, name) = (peer.party, &peer.name);
        if peer.reach == PeerReach::None {
            let why = peer.trouble.as_deref().unwrap_or("nobody answers; ask its operator");
            warn(WarningKind::Unreachable, party, format!("{name} cannot be reached: {why}"));
        }
        if let Some(version) = peer.version.as_ref().filter(|version| **version != overview.version)
        {
            let text = format!(
                "{name} runs release {version}, this server {}: upgrade the older one",
                overview.version
            );
            warn(WarningKind::OtherVersion, party, text);
        }
        if let Some(ahead) =
            peer.clock_ahead_ms.filter(|ahead| ahead.unsigned_abs() > CLOCK_BOUND_MS)
        {
            let (seconds, side) =
                (ahead.unsigned_abs() / 1000, if ahead > 0 { "ahead of" } else { "behind" });
            let text = format!(
                "{name}'s clock is {seconds} s {side} this server's: synchronise both (NTP)"
            );
            warn(WarningKind::ClockOff, party, text);
        }
        if let Some(text) = expiry(name, peer.certificate_expires, overview.now) {
            warn(WarningKind::CertificateExpiring, party, text);
        }
    }
    if let Some(text) = expiry("this server", overview.certificate_expires, overview.now) {
        warn(WarningKind::CertificateExpiring, overview.party, text);
    }
    if let Some(disk) = overview.disk.filter(|disk| disk.free < DISK_LOW) {
        let mebibytes = disk.free >> 20;
        let text = format!(
            "only {mebibytes} MiB of disk are left: free some; a server without disk takes nothing more"
        );
        warn(WarningKind::DiskLow, overview.party, text);
    }
    for shape in overview.stock.iter().filter(|shape| shape.needed && shape.usable == 0) {
        let text = format!(
            "no batch of {} rows of {} bytes is ready: rooms wait",
            shape.rows, shape.width
        );
        warn(WarningKind::StockEmpty, overview.party, text);
    }
    overdue(overview, &mut warn);
    aborts(overview, warn);
    warnings
}

/// Warns of whose word is missing to close an epoch, or to open the next one, once for each:
/// without every server's word nothing is published.
fn overdue(overview: &Overview, mut warn: impl FnMut(WarningKind, u8, String)) {
    let mut longest: BTreeMap<Option<u8>, (u64, &str)> = BTreeMap::new();
    for room in &overview.rooms {
        let Some(Overdue { for_ms, by }) = &room.overdue else { continue };
        let keepers: Vec<_> =
            if by.is_empty() { vec![None] } else { by.iter().copied().map(Some).collect() };
        for keeper in keepers {
            let before = longest.entry(keeper).or_insert((*for_ms, &room.name));
            *before = (*before).max((*for_ms, &room.name));
        }
    }
    for (keeper, (for_ms, room)) in longest {
        let since = format!("an epoch of “{room}” could have gone on {} s ago", for_ms / 1000);
        let peer = overview.peers.iter().find(|peer| Some(peer.party) == keeper);
        let text = match (keeper, peer) {
            (None, _) => format!(
                "{since}, and waits for earlier ones that are still computed: if it lasts, look which server is slow or stuck"
            ),
            (_, Some(PeerView { name, .. })) => format!(
                "{since}, and {name}'s word is missing: the room stands still until it comes, and no other server can step in. \
                 What keeps it back can be there, on the way there, or at a server that is waited for there in turn: ask its \
                 operator to look at its log and its links, and whose word is missing there; if it waits for none, to start it again"
            ),
            (_, None) => format!(
                "{since}, and waits for this server: the room stands still until it speaks. Look at its log, and start it again"
            ),
        };
        warn(WarningKind::EpochOverdue, keeper.unwrap_or(overview.party), text);
    }
}

/// Warns of those who stop epochs. A server knows that it is honest itself.
fn aborts(overview: &Overview, mut warn: impl FnMut(WarningKind, u8, String)) {
    let name = |party: u8| {
        let peer = overview.peers.iter().find(|peer| peer.party == party);
        peer.map_or("this server", |peer| peer.name.as_str())
    };
    for Suspects { pair, aborts } in overview.suspects.iter().filter(|s| s.aborts >= ABORTS_NOTED) {
        let [a, b] = pair.map(name);
        let text = format!(
            "{aborts} epochs were stopped since this server started, and {a} or {b} was at fault each time, which cannot be \
             proved: compare what their operators' logs say"
        );
        for party in pair.iter().filter(|party| **party != overview.party) {
            warn(WarningKind::RepeatedAborts, *party, text.clone());
        }
    }
}

fn expiry(whose: &str, at: Option<u64>, now: u64) -> Option<String> {
    let at = at?;
    if at <= now {
        return Some(format!("the certificate of {whose} has expired: renew it"));
    }
    let days = (at - now) / 86_400;
    (at - now < CERTIFICATE_NOTICE)
        .then(|| format!("the certificate of {whose} expires in {days} days: renew it"))
}

/// Takes samples of the stock and of the queues until the server stops.
pub(crate) async fn sample(core: Arc<Core>) {
    loop {
        let usable = core.world().batches.values().filter(|batch| batch.is_usable()).count();
        let now = core.platform.now_ms() / 1000;
        let queues = queues(&core);
        core.history().sample(now, u32::try_from(usable).unwrap_or(u32::MAX), queues);
        core.platform.sleep(Duration::from_secs(SAMPLE_SECONDS)).await;
    }
}

#[cfg(test)]
mod tests;

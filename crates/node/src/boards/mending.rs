//! Looks after the boards on this server's disk (`docs/spec/rooms.md`, section 9): every entry is
//! verified when the server starts and once a day, as participants verify it. One that is not as it
//! was published is shown to nobody, and fetched from the other servers; what they give is believed
//! for the servers' signatures on it, and is put on record with its source.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::{Either, select};
use futures::stream::FuturesUnordered;
use ostrakon_broadcast::board::verify_chain;
use ostrakon_broadcast::hosting::MessageId;
use ostrakon_broadcast::{Entry, SignedEntry};
use ostrakon_crypto::Digest;
use ostrakon_mixing::room::{RoomDescriptor, RoomId};
use ostrakon_party::{Length, PartyId, wire};
use ostrakon_store::{EntryRow, Error, NewEntry};

use crate::boards::erasure;
use crate::core::Core;
use crate::disk::audit;
use crate::ledger::steps::ControlStep;
use crate::memory::introduction::{About, Want};
use crate::state::epochs;

/// Between two verifications of all boards.
const EVERY: Duration = Duration::from_secs(24 * 3600);
/// Entries after which the verification pauses, and for how long.
const AT_ONCE: u64 = 64;
const PAUSE: Duration = Duration::from_millis(20);
/// How long the others have to give an entry before they are asked anew.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether a peer asks for an entry.
const LOOK: Duration = Duration::from_secs(1);
/// How long an entry that a peer asked for is kept ready.
const KEPT_MS: u64 = 10 * 60 * 1000;

/// What an entry must be to take a place on a board.
struct Place {
    room: RoomId,
    descriptor: RoomDescriptor,
    position: u64,
    /// The digest of the entry before it.
    previous: Digest,
}

/// Verifies all boards, now and every day, until the server stops.
pub(crate) async fn run(core: Arc<Core>) {
    // What was damaged before is found again.
    if let Err(error) = core.store.forget_damaged().await {
        tracing::error!(%error, "what was noted of damaged entries cannot be deleted");
    }
    loop {
        let rooms: Vec<(RoomId, RoomDescriptor)> = {
            let world = core.world();
            world.rooms.iter().map(|(id, room)| (*id, room.descriptor.clone())).collect()
        };
        for (room, descriptor) in rooms {
            let place = Place { room, descriptor, position: 0, previous: Digest([0; 32]) };
            let tended = core.damaged.lock().expect("no panic while held").contains_key(&room);
            if !tended && let Some(damaged) = first_damaged(&core, place).await {
                // The others' boards are verified meanwhile, however long it takes.
                core.spawn(tend(Arc::clone(&core), damaged));
            }
        }
        core.platform.sleep(EVERY).await;
    }
}

/// Mends a board from the first damaged entry on.
async fn tend(core: Arc<Core>, mut place: Place) {
    loop {
        place.previous = mend(&core, &place).await;
        place.position += 1;
        match first_damaged(&core, place).await {
            Some(next) => place = next,
            None => return,
        }
    }
}

/// Verifies a board from a place on. Returns the place of the first entry that does not belong
/// there.
async fn first_damaged(core: &Core, mut place: Place) -> Option<Place> {
    let length = core.world().rooms.get(&place.room).map_or(0, |room| room.board_length);
    while place.position < length {
        let found = match core.store.entries(&place.room.0, place.position, 1).await {
            Ok(rows) => rows.into_iter().next().filter(|row| row.position == place.position),
            Err(Error::Corrupt(_)) => None,
            Err(error) => {
                tracing::error!(%error, "a board cannot be read; it is verified another time");
                return None;
            }
        };
        let Some(digest) = found.and_then(|row| accepted(core, &place, row)) else {
            return Some(place);
        };
        core.verified.note(&place.room, (place.position, place.position + 1));
        place.previous = digest;
        place.position += 1;
        if place.position.is_multiple_of(AT_ONCE) {
            core.platform.sleep(PAUSE).await;
        }
    }
    None
}

/// The digest of an entry that is what belongs there.
fn accepted(core: &Core, place: &Place, row: EntryRow) -> Option<Digest> {
    let entry: Entry = wire::decode(&row.body).ok()?;
    let right = entry.epoch.number == row.epoch;
    let signed = SignedEntry { entry, signatures: row.signatures };
    if right { fits(core, place, &signed) } else { None }
}

fn fits(core: &Core, place: &Place, signed: &SignedEntry) -> Option<Digest> {
    let entries = std::slice::from_ref(signed);
    let trust = core.trusts.of(place.descriptor.engine);
    verify_chain(&core.servers, &trust, &place.descriptor, place.previous, entries).ok()
}

fn clear(core: &Core, place: &Place) {
    let mut damaged = core.damaged.lock().expect("no panic while held");
    if let Some(places) = damaged.get_mut(&place.room) {
        places.remove(&place.position);
    }
    damaged.retain(|_, places| !places.is_empty());
    core.verified.note(&place.room, (place.position, place.position + 1));
}

/// Fetches an entry from the others until it is there. Returns its digest.
async fn mend(core: &Arc<Core>, place: &Place) -> Digest {
    let (room, position) = (place.room.to_hex(), place.position);
    {
        let mut damaged = core.damaged.lock().expect("no panic while held");
        damaged.entry(place.room).or_default().insert(position);
    }
    // The server's other processes show it to nobody, either.
    if let Err(error) = core.store.note_damaged(&place.room.0, position).await {
        tracing::error!(%error, "it cannot be noted that an entry is damaged");
    }
    let detail = format!(
        "entry {position} of the board of room {room} is not what the servers have signed: this server's disk or database has changed it"
    );
    tracing::error!("{detail}; it is fetched from the other servers");
    note(core, "board damaged", &detail).await;
    loop {
        let (signed, source, digest) = fetch(core, place).await;
        let entry = erasure::as_published(core, signed.entry);
        let epoch = entry.epoch.number;
        let published_on = erasure::day(core.platform.now_ms());
        let signatures = signed.signatures;
        let new = NewEntry { digest, body: wire::encode(&entry), published_on, signatures };
        match core.store.mend_entry(&place.room.0, position, epoch, &new).await {
            Ok(()) => {
                clear(core, place);
                let name = &core.config.servers[source.index()].name;
                let detail = format!(
                    "entry {position} of the board of room {room} is as it was published again, from {source} ({name})"
                );
                tracing::warn!("{detail}");
                note(core, "board mended", &detail).await;
                return digest;
            }
            Err(error) => {
                tracing::error!(%error, "an entry cannot be mended; trying again");
                core.platform.sleep(PATIENCE).await;
            }
        }
    }
}

async fn note(core: &Core, action: &str, detail: &str) {
    audit::note(&core.store, core.platform.now_ms(), "server", action, detail).await;
}

/// What the others offer for a place, body by body: each fits by its digest, whether it is there or
/// erased.
#[derive(Default)]
struct Offers {
    best: Option<(SignedEntry, PartyId, Digest)>,
    heard: BTreeSet<PartyId>,
}

impl Offers {
    /// Takes what a server offers, which fits.
    fn take(&mut self, peer: PartyId, digest: Digest, offered: SignedEntry) {
        let Some((best, source, taken)) = &mut self.best else {
            self.best = Some((offered, peer, digest));
            self.heard.insert(peer);
            return;
        };
        if *taken != digest {
            return;
        }
        self.heard.insert(peer);
        for (mine, theirs) in best.entry.messages.iter_mut().zip(offered.entry.messages) {
            if mine.body().is_none() && theirs.body().is_some() {
                *mine = theirs;
                *source = peer;
            }
        }
    }

    /// The entry, if all bodies are there that are not known to be erased, or all of so many others
    /// have erased them.
    fn whole(
        &self,
        others: usize,
        is_erased: impl Fn(&MessageId) -> bool,
    ) -> Option<(SignedEntry, PartyId, Digest)> {
        let (signed, source, digest) = self.best.as_ref()?;
        let epoch = signed.entry.epoch.number;
        let mut messages = (0..).zip(&signed.entry.messages);
        let there = messages.all(|(index, message)| {
            message.body().is_some() || is_erased(&MessageId { epoch, index })
        });
        (there || self.heard.len() >= others).then(|| (signed.clone(), *source, *digest))
    }
}

/// Asks both others for an entry until what they give fits there. What one of them has erased,
/// without a host's word for it, may be there at the other one.
async fn fetch(core: &Core, place: &Place) -> (SignedEntry, PartyId, Digest) {
    let is_erased = |message: &MessageId| erasure::is_asked_for(core, &place.room, message);
    let mut offers = Offers::default();
    let longest = epochs::longest_entry(&place.descriptor) + 4096;
    loop {
        let token = u64::from_le_bytes(core.platform.random());
        let want = Want { room: place.room, position: place.position, token };
        core.introduction.change(|about| about.wants = Some(want));
        let instance = want.instance(core.me());
        let answer = |peer: PartyId| {
            Box::pin(async move {
                let tag = ControlStep::Mended.of(instance);
                let heard = core.party.receive(peer, tag, Length::AtMost(longest)).await;
                let signed = heard.ok().and_then(|heard| wire::decode(&heard.body).ok());
                match signed.and_then(|signed| Some((fits(core, place, &signed)?, signed))) {
                    Some((digest, signed)) => (signed, peer, digest),
                    None => futures::future::pending().await,
                }
            })
        };
        let mut answers: FuturesUnordered<_> = core.party.peers().map(answer).collect();
        let others = answers.len();
        let mut patience = core.platform.sleep(PATIENCE);
        let mut found = None;
        while let Either::Left((Some((signed, peer, digest)), rest)) =
            select(answers.next(), patience).await
        {
            offers.take(peer, digest, signed);
            found = offers.whole(others, is_erased);
            if found.is_some() {
                break;
            }
            patience = rest;
        }
        drop(answers);
        core.introduction.change(|about| about.wants = None);
        core.party.retire(instance);
        if let Some(found) = found {
            return found;
        }
    }
}

/// Gives the others the entries that they ask for, until the server stops.
pub(crate) async fn serve(core: Arc<Core>) {
    let mut served: BTreeMap<PartyId, (Want, u64)> = BTreeMap::new();
    loop {
        core.platform.sleep(LOOK).await;
        let now = core.platform.now_ms();
        for (peer, known) in core.mesh.acquaintances() {
            let want = About::read(&known.about).and_then(|about| about.wants);
            let before = served.get(&peer).copied();
            if let Some((old, since)) = before
                && (want != Some(old) || since + KEPT_MS < now)
            {
                core.party.retire(old.instance(peer));
                served.remove(&peer);
            }
            if let Some(want) = want.filter(|want| before.is_none_or(|(old, _)| old != *want)) {
                served.insert(peer, (want, now));
                give(&core, peer, &want).await;
            }
        }
    }
}

async fn give(core: &Core, peer: PartyId, want: &Want) {
    let rows = core.store.entries(&want.room.0, want.position, 1).await;
    let row = rows.ok().and_then(|rows| rows.into_iter().next());
    let Some(row) = row.filter(|row| row.position == want.position) else { return };
    let Ok(entry) = wire::decode::<Entry>(&row.body) else { return };
    let signed = SignedEntry { entry, signatures: row.signatures };
    let body = Bytes::from(wire::encode(&signed));
    core.party.send(peer, ControlStep::Mended.of(want.instance(peer)), body);
}

#[cfg(test)]
mod tests {
    use ostrakon_broadcast::board::Published;
    use ostrakon_mixing::room::EpochId;

    use super::*;

    fn offered(full: &[bool]) -> SignedEntry {
        let message = |full: &bool| {
            let kept = Published::Kept { salt: [1; _], body: b"said".to_vec() };
            if *full { kept } else { kept.erased() }
        };
        let entry = Entry {
            epoch: EpochId { room: RoomId([1; 16]), number: 4 },
            previous: Digest([0; 32]),
            accepted: 2,
            messages: full.iter().map(message).collect(),
        };
        SignedEntry { entry, signatures: Vec::new() }
    }

    #[test]
    fn what_one_server_says_to_be_erased_is_taken_from_another_one() {
        let (digest, none) = (Digest([7; 32]), |_: &MessageId| false);
        let mut offers = Offers::default();
        offers.take(PartyId(1), digest, offered(&[false, false]));
        assert_eq!(offers.whole(2, none), None, "no host has asked for it");
        assert!(offers.whole(2, |_| true).is_some(), "a host has");
        offers.take(PartyId(2), digest, offered(&[true, false]));
        let (signed, source, _) = offers.whole(2, none).expect("both have answered");
        assert_eq!((signed, source), (offered(&[true, false]), PartyId(2)));
    }
}

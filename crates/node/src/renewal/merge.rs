//! Steps S4 to S7: the state that a generation begins with, as a function of the states that
//! all servers but one have written. Pure.

use std::collections::BTreeMap;

use ostrakon_broadcast::board::{SignedEntry, verify_chain};
use ostrakon_broadcast::hosting::{HostLog, SignedAction};
use ostrakon_crypto::{Digest, Transcript};
use ostrakon_mixing::room::{RoomDescriptor, RoomId, Servers};
use ostrakon_party::{PartyId, PartySet, Trust};

use super::state::{Dated, RoomState, State};
use crate::provider::trusts::{self, Trusts};

/// How far the next epochs of a room may differ: a server may have made so many announcements that
/// another has not heard.
const WINDOW: u64 = crate::memory::logs::WINDOW as u64;
/// A room cannot have had more epochs.
const MOST_EPOCHS: u64 = 1 << 40;

/// What a generation begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Merged {
    /// The generation that begins.
    pub generation: u32,
    pub rooms: BTreeMap<RoomId, Room>,
}

/// A room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub descriptor: RoomDescriptor,
    pub author: PartyId,
    pub open: bool,
    /// The number of the generation's first epoch.
    pub first_epoch: u64,
    pub log: HostLog,
    pub actions: Vec<SignedAction>,
    pub entries: Vec<Dated>,
    pub head: Digest,
    /// Epochs in doubt that end without an entry; the room is closed if there are any.
    pub in_doubt: Vec<u64>,
}

/// Merges the states of all servers of a deployment but one.
///
/// # Errors
/// Why they are not of honest servers, or not of this moment.
pub(super) fn merge(
    servers: &Servers,
    trusts: &Trusts,
    states: &[State],
) -> Result<Merged, String> {
    let (needed, authors) = (trusts::renew(trusts), states.iter().map(|state| state.party));
    if states.len() != needed || authors.collect::<PartySet>().len() != needed {
        return Err(format!(
            "one file of each server that kept its data is needed: {needed}, each of another server"
        ));
    }
    let generation = states.first().map_or(0, |state| state.generation);
    if states.iter().any(|state| state.generation != generation) {
        return Err(
            "the files are of different generations: let the servers write their state again"
                .into(),
        );
    }
    let mut known: BTreeMap<RoomId, Vec<&RoomState>> = BTreeMap::new();
    for state in states {
        let mut ids = std::collections::BTreeSet::new();
        for room in &state.rooms {
            if room.descriptor.validate().is_err() || !ids.insert(room.descriptor.id()) {
                return Err(format!("server {} lists a room that there cannot be", state.party));
            }
            known.entry(room.descriptor.id()).or_default().push(room);
        }
    }
    let merge_one = |(id, all): (RoomId, Vec<&RoomState>)| {
        let trust = all.first().map_or(trusts.ledger(), |one| trusts.of(one.descriptor.engine));
        let room = merge_room(servers, &trust, &all)
            .map_err(|why| format!("room {}: {why}", id.to_hex()))?;
        Ok((id, room))
    };
    let rooms = known.into_iter().map(merge_one).collect::<Result<_, String>>()?;
    Ok(Merged { generation: generation + 1, rooms })
}

/// Merges what the servers that know a room say of it.
fn merge_room(servers: &Servers, trust: &Trust, all: &[&RoomState]) -> Result<Room, String> {
    let first = all.first().ok_or("nobody knows it")?;
    let next = all.iter().map(|room| room.next_epoch);
    let (lowest, highest) = (next.clone().min().unwrap_or(0), next.max().unwrap_or(0));
    if highest - lowest > WINDOW || highest > MOST_EPOCHS {
        return Err(format!(
            "one server says that epoch {lowest} is the next, another {highest}: one does not tell the truth"
        ));
    }
    let descriptor = first.descriptor.clone();
    let mut boards = Vec::new();
    let mut logs = Vec::new();
    for room in all {
        logs.push((host_log(servers, room)?, &room.actions));
        let entries: Vec<SignedEntry> =
            room.entries.iter().map(|dated| dated.entry.clone()).collect();
        let head = verify_chain(servers, trust, &descriptor, Digest([0; 32]), &entries)
            .map_err(|why| format!("a board does not hold: {why}"))?;
        boards.push((room.entries.clone(), head));
    }
    let (log, actions) =
        longer(logs, |(_, actions)| actions.len(), |(_, a), (_, b)| a.starts_with(b)).ok_or(
            "the servers hold different host logs: one of them, or the room's host, has misbehaved",
        )?;
    let same =
        |a: &Dated, b: &Dated| a.entry.entry.digest(servers) == b.entry.entry.digest(servers);
    let begins = |(a, _): &(Vec<Dated>, _), (b, _): &(Vec<Dated>, _)| {
        a.iter().zip(b).all(|(a, b)| same(a, b))
    };
    let (mut entries, mut head) = longer(boards, |(entries, _)| entries.len(), begins)
        .ok_or("the servers hold different boards: so many servers have signed both that one must be honest, keep the files as evidence")?;
    append(servers, trust, all, &mut entries, &mut head);
    let published =
        |number: &u64| entries.iter().any(|dated| dated.entry.entry.epoch.number == *number);
    let mut in_doubt: Vec<u64> =
        all.iter().flat_map(|room| room.in_doubt.iter().copied()).collect();
    in_doubt.retain(|number| !published(number));
    in_doubt.sort_unstable();
    in_doubt.dedup();
    // An entry's epoch was sealed, so it is below the next; whoever claims otherwise must not make
    // numbers run out.
    let open = all.iter().all(|room| room.open) && in_doubt.is_empty() && !log.closed();
    let author = all.iter().map(|room| room.author).min().unwrap_or(first.author);
    let actions = actions.clone();
    Ok(Room {
        descriptor,
        author,
        open,
        first_epoch: highest + 1,
        log,
        actions,
        entries,
        head,
        in_doubt,
    })
}

fn host_log(servers: &Servers, room: &RoomState) -> Result<HostLog, String> {
    let mut log = HostLog::new(servers, &room.descriptor);
    for action in &room.actions {
        log.apply(action).map_err(|why| format!("a host log does not hold: {why}"))?;
    }
    Ok(log)
}

/// The longer one, if it begins with the other.
fn longer<T>(
    many: Vec<T>,
    length: impl Fn(&T) -> usize,
    begins: impl Fn(&T, &T) -> bool,
) -> Option<T> {
    let mut many = many.into_iter();
    let first = many.next()?;
    many.try_fold(first, |longest, next| {
        let (longest, next) =
            if length(&next) > length(&longest) { (next, longest) } else { (longest, next) };
        begins(&longest, &next).then_some(longest)
    })
}

/// Puts on the board what enough of them would publish next.
fn append(
    servers: &Servers,
    trust: &Trust,
    all: &[&RoomState],
    entries: &mut Vec<Dated>,
    head: &mut Digest,
) {
    let mut candidates: BTreeMap<(u64, Digest), SignedEntry> = BTreeMap::new();
    for signed in all.iter().flat_map(|room| &room.concluded) {
        let key = (signed.entry.epoch.number, signed.entry.digest(servers));
        let candidate = candidates
            .entry(key)
            .or_insert_with(|| SignedEntry { signatures: Vec::new(), ..signed.clone() });
        candidate.signatures.extend(&signed.signatures);
        candidate.signatures.sort_unstable_by_key(|(party, _)| *party);
        candidate.signatures.dedup_by_key(|(party, _)| *party);
    }
    for ((number, digest), entry) in candidates {
        let last = entries.last().map(|dated| (dated.entry.entry.epoch.number, dated.published_on));
        let fits = last.is_none_or(|(last, _)| number > last) && entry.entry.previous == *head;
        let room = all.first().map(|room| &room.descriptor);
        let next = std::slice::from_ref(&entry);
        let holds = |room| verify_chain(servers, trust, room, *head, next).is_ok();
        if fits && room.is_some_and(holds) {
            *head = digest;
            entries.push(Dated { published_on: last.map_or(0, |(_, day)| day), entry });
        }
    }
}

impl Merged {
    /// The digest that servers must have alike to speak to each other in the generation.
    pub fn digest(&self, servers: &Servers) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/node/generation");
        transcript
            .field(&servers.digest().0)
            .number(u64::from(self.generation))
            .number(self.rooms.len() as u64);
        for (id, room) in &self.rooms {
            transcript.field(&id.0).number(u64::from(room.author.0)).number(u64::from(room.open));
            transcript.number(room.first_epoch);
            transcript.field(&room.log.head().0).number(room.log.length());
            transcript.field(&room.head.0).number(room.entries.len() as u64);
        }
        transcript.finish()
    }
}

#[cfg(test)]
mod tests;

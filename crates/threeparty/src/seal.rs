//! Sealing: the servers agree on the set of submissions (`docs/spec/ruffle.md`, E1 to E3 and E5).
//!
//! Every server broadcasts, with authentication, the slots for which it holds a submission with the
//! digest of each. A slot is accepted if two servers list the same digest, one slot for an owner;
//! where lists differ, the participants' signatures are shown, and two valid ones for different
//! submissions drop the slot. Holders give accepted submissions to the server that lacks them. Then
//! all three sign the same list.

use std::collections::{BTreeMap, HashSet};
use std::mem::replace;
use std::ops::Deref;

use bytes::Bytes;
use futures::future::join;
use ostrakon_crypto::{Digest, Signature, VerifyingKey, hash};
use ostrakon_kernels::{with_room, zeroed_table};
use ostrakon_party::{PartyId, Received, Step, wire};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::marks::Marks;
use crate::offence::{Offence, Statement};
use crate::protocol::{Protocol, steps};
use crate::run::Run;
use crate::stop::Unheard;

/// Bytes of an entry of a submission list: slot and digest.
pub const LIST_ENTRY: usize = 4 + 32;
/// Bytes of an entry of the conflict details: slot, digest of what was submitted, signature.
pub const DETAILS_ENTRY: usize = 4 + 32 + 64;

/// Entries of a list that a thread writes at a time.
const TASK: usize = 1 << 9;

/// What a participant hands in for a slot, signed.
pub trait Sealable: Serialize + DeserializeOwned + Sync {
    /// The digest of what was submitted.
    fn content(&self) -> Digest;

    /// The owner's signature on [`Sealable::listed`].
    fn signature(&self) -> Signature;

    /// The digest that lists hold: of the context, the slot, the owner and the content.
    fn listed(context: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest;

    /// The same of this submission, for the slot and owner that it was taken in for.
    fn as_listed(&self, context: &Digest, slot: u32, owner: &VerifyingKey) -> Digest {
        Self::listed(context, slot, owner, &self.content())
    }

    /// The same of many.
    fn all_as_listed(context: &Digest, held: &[(&Slot<Self>, &Self)]) -> Vec<Digest> {
        let listed =
            |(slot, own): &(&Slot<Self>, &Self)| own.as_listed(context, slot.slot, &slot.owner);
        held.iter().map(listed).collect()
    }

    /// Whether it is as wide as the table's rows.
    fn is_wide(&self, width: usize) -> bool;

    /// Whether it may be taken from a server that forwards it, given that its digest is `listed` by
    /// two. By default its signature is looked at; where servers take submissions in by something
    /// else, the two lists must do, or an invalid signature would stop who lacks the submission.
    fn is_acceptable(&self, owner: &VerifyingKey, listed: &Digest) -> bool {
        owner.verifies(listed, &self.signature())
    }
}

/// A slot that was given out, as one server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot<M> {
    /// The slot.
    pub slot: u32,
    /// Its owner, on whom all servers agree.
    pub owner: VerifyingKey,
    /// The owner's submission, if it arrived here; signature and length have been checked.
    pub submission: Option<M>,
}

/// What is sealed: everything that judging a submission depends on.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// The digest that participants sign.
    pub context: Digest,
    /// Bytes of a row.
    pub width: u32,
}

/// The server that gives out a slot.
pub fn class_of(slot: u32) -> PartyId {
    PartyId((slot % 3) as u8)
}

/// Whether a list of fixed-size entries, each beginning with a slot, names slots below `slots` in
/// strictly ascending order.
#[must_use]
pub fn slots_ascend(body: &[u8], entry: usize, slots: u32) -> bool {
    let slot = |entry: &[u8]| u32::from_le_bytes(entry[..4].try_into().expect("4 bytes"));
    let mut above = slots;
    body.len().is_multiple_of(entry)
        && body.chunks_exact(entry).rev().map(slot).all(|slot| slot < replace(&mut above, slot))
}

/// The accepted slots in ascending order with the digests of their submissions, as lists travel:
/// where all list the same, what is accepted is that list, and nothing is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted(Bytes);

impl Accepted {
    /// How many they are.
    pub fn len(&self) -> usize {
        self.0.len() / LIST_ENTRY
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Slots and digests.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, Digest)> + Clone {
        entries(&self.0)
    }

    /// What the servers vote for.
    pub fn digest(&self) -> Digest {
        digest_of(&self.0)
    }
}

impl FromIterator<(u32, Digest)> for Accepted {
    fn from_iter<I: IntoIterator<Item = (u32, Digest)>>(slots: I) -> Self {
        Self(list(slots).into())
    }
}

/// A submission that the servers agree on.
pub enum Taken<'a, M> {
    /// This server has it.
    Own(&'a M),
    /// Others gave it.
    Given(Box<M>),
}

impl<M> Deref for Taken<'_, M> {
    type Target = M;

    fn deref(&self) -> &M {
        match self {
            Taken::Own(own) => own,
            Taken::Given(given) => given,
        }
    }
}

/// The accepted slots, and their submissions in the same order.
pub type Agreed<'a, M> = (Accepted, Vec<Taken<'a, M>>);

/// The digest of a list of accepted slots: what the servers vote for.
pub fn digest(slots: &[(u32, Digest)]) -> Digest {
    digest_of(&list(slots.iter().copied()))
}

fn digest_of(list: &[u8]) -> Digest {
    hash::digest("ostrakon/v1/threeparty/sealed slots", list)
}

/// Slots and digests one after another.
fn list(slots: impl IntoIterator<Item = (u32, Digest)>) -> Vec<u8> {
    let slots = slots.into_iter();
    let mut body = Vec::with_capacity(slots.size_hint().0 * LIST_ENTRY);
    for (slot, digest) in slots {
        body.extend_from_slice(&slot.to_le_bytes());
        body.extend_from_slice(&digest.0);
    }
    body
}

/// What such a list says.
fn entries(list: &[u8]) -> impl ExactSizeIterator<Item = (u32, Digest)> + Clone {
    let (entries, _) = list.as_chunks::<LIST_ENTRY>();
    entries.iter().map(|entry| {
        let (slot, digest) = entry.split_at(4);
        let slot = u32::from_le_bytes(slot.try_into().expect("4 bytes"));
        (slot, Digest(digest.try_into().expect("32 bytes")))
    })
}

/// Accepted slots that one can be sure of whichever single server is corrupt: all but those of the
/// largest class.
pub fn guaranteed(slots: impl Iterator<Item = u32>) -> u32 {
    let mut classes = [0u32; 3];
    for slot in slots {
        classes[class_of(slot).index()] += 1;
    }
    classes.iter().sum::<u32>() - classes.iter().max().copied().unwrap_or(0)
}

/// What the servers list, each in ascending order of slots.
type Lists = [Vec<(u32, Digest)>; 3];

/// The slots as this server knows them, in ascending order.
struct Known<'a, M>(Vec<&'a Slot<M>>);

impl<'a, M> Known<'a, M> {
    /// Of a slot that is named twice, what is named last.
    fn of(slots: &'a [Slot<M>]) -> Self {
        let mut known = with_room(slots.len());
        known.extend(slots);
        if !known.is_sorted_by(|one, next| one.slot < next.slot) {
            known.reverse();
            known.sort_by_key(|slot| slot.slot);
            known.dedup_by_key(|slot| slot.slot);
        }
        Self(known)
    }

    fn get(&self, slot: u32) -> Option<&'a Slot<M>> {
        self.0.binary_search_by_key(&slot, |known| known.slot).ok().map(|at| self.0[at])
    }

    /// Whether each slot is certainly another one's, by the first bytes of keys.
    fn owners_differ(&self) -> bool {
        use rayon::prelude::*;
        let first =
            |slot: &&Slot<M>| u64::from_le_bytes(slot.owner.0[..8].try_into().expect("8 bytes"));
        let mut keys: Vec<u64> = self.0.iter().map(first).collect();
        keys.par_sort_unstable();
        keys.is_sorted_by(|one, next| one < next)
    }
}

/// This server's submissions in ascending order of slots, and the list of them.
struct Own<'a, M> {
    held: Vec<(&'a Slot<M>, &'a M)>,
    list: Bytes,
}

impl<'a, M: Sealable> Own<'a, M> {
    fn of(scope: &Scope, owned: &Known<'a, M>) -> Self {
        use rayon::prelude::*;
        let mut held = with_room(owned.0.len());
        let submitted = |slot: &&'a Slot<M>| Some((*slot, slot.submission.as_ref()?));
        held.extend(owned.0.iter().filter_map(submitted));
        let mut list = zeroed_table(held.len() * LIST_ENTRY);
        let write = |(entries, held): (&mut [u8], &[(&Slot<M>, &M)])| {
            let (entries, _) = entries.as_chunks_mut::<LIST_ENTRY>();
            let listed = M::all_as_listed(&scope.context, held);
            for ((entry, (slot, _)), digest) in entries.iter_mut().zip(held).zip(listed) {
                entry[..4].copy_from_slice(&slot.slot.to_le_bytes());
                entry[4..].copy_from_slice(&digest.0);
            }
        };
        list.par_chunks_mut(TASK * LIST_ENTRY).zip(held.par_chunks(TASK)).for_each(write);
        Self { held, list: list.into() }
    }

    fn get(&self, slot: u32) -> Option<&'a M> {
        let found = self.held.binary_search_by_key(&slot, |(known, _)| known.slot);
        found.ok().map(|at| self.held[at].1)
    }
}

/// The entry of a slot in what is left of a list. Slots are asked for in ascending order.
fn ascending<'a, T>(rest: &mut &'a [T], slot: u32, of: impl Fn(&T) -> u32) -> Option<&'a T> {
    while let Some((first, after)) = rest.split_first() {
        if of(first) >= slot {
            return (of(first) == slot).then_some(first);
        }
        *rest = after;
    }
    None
}

/// Finds the digests that a list has for slots that are asked for in ascending order.
struct Reader<'a>(&'a [(u32, Digest)]);

impl<'a> Reader<'a> {
    fn digest(&mut self, slot: u32) -> Option<&'a Digest> {
        ascending(&mut self.0, slot, |(slot, _)| *slot).map(|(_, digest)| digest)
    }
}

fn readers(lists: &Lists) -> [Reader<'_>; 3] {
    [0, 1, 2].map(|party: usize| Reader(&lists[party]))
}

/// Agrees on the submissions and collects them. The vote is not part of it ([`vote`]).
///
/// # Errors
/// Evidence against a server that broke the broadcast, or a mark that could not be written.
pub async fn agree<'a, P: Protocol, M: Sealable>(
    run: &Run<P>,
    scope: &Scope,
    slots: &'a [Slot<M>],
    marks: &dyn Marks,
) -> Result<Agreed<'a, M>, Unheard<P::Fault>> {
    let owned = Known::of(slots);
    let own = Own::of(scope, &owned);
    let body = own.list.clone();
    let listed = run.broadcast_recorded(steps::SUBMISSION_LIST, body, marks).await?;
    if listed.iter().all(|list| list.digest() == listed[0].digest()) && owned.owners_differ() {
        // All list what this server has: nothing is disputed, and nobody lacks anything.
        let submissions = own.held.into_iter().map(|(_, own)| Taken::Own(own)).collect();
        return Ok((Accepted(own.list), submissions));
    }
    let lists: Lists = [0, 1, 2].map(|party: usize| entries(&listed[party].body).collect());
    let conflicts = conflicting(&lists);
    let valid = resolve(run, scope, &owned, &own, &conflicts, marks).await?;
    let accepted = accept(&lists, &owned, &conflicts, &valid);
    let submissions = gather(run, scope, &owned, &own, &lists, &accepted).await;
    Ok((accepted.into_iter().collect(), submissions))
}

/// Slots for which two servers list different digests.
fn conflicting(lists: &Lists) -> Vec<u32> {
    if lists[0] == lists[1] && lists[0] == lists[2] {
        return Vec::new();
    }
    let mut all: Vec<u32> = lists.iter().flatten().map(|(slot, _)| *slot).collect();
    all.sort();
    all.dedup();
    let mut readers = readers(lists);
    all.retain(|slot| {
        let mut digests = readers.each_mut().map(|list| list.digest(*slot)).into_iter().flatten();
        let first = digests.next();
        digests.any(|digest| Some(digest) != first)
    });
    all
}

/// The digests for which a valid signature of the slot's owner was shown, by slot. Only if lists
/// differ, and then everybody knows it: one more broadcast of the signatures on what was listed.
async fn resolve<P: Protocol, M: Sealable>(
    run: &Run<P>,
    scope: &Scope,
    owned: &Known<'_, M>,
    own: &Own<'_, M>,
    conflicts: &[u32],
    marks: &dyn Marks,
) -> Result<BTreeMap<u32, Vec<Digest>>, Unheard<P::Fault>> {
    let mut valid: BTreeMap<u32, Vec<Digest>> = BTreeMap::new();
    if conflicts.is_empty() {
        return Ok(valid);
    }
    let mut body = Vec::new();
    for slot in conflicts {
        if let Some(submission) = own.get(*slot) {
            body.extend_from_slice(&slot.to_le_bytes());
            body.extend_from_slice(&submission.content().0);
            body.extend_from_slice(&submission.signature().0);
        }
    }
    for details in run.broadcast_recorded(steps::CONFLICT_DETAILS, body, marks).await? {
        for entry in details.body.chunks_exact(DETAILS_ENTRY) {
            let slot = u32::from_le_bytes(entry[..4].try_into().expect("4 bytes"));
            let content = Digest(entry[4..36].try_into().expect("32 bytes"));
            let signature = Signature(entry[36..].try_into().expect("64 bytes"));
            let Some(known) = owned.get(slot) else { continue };
            let digest = M::listed(&scope.context, slot, &known.owner, &content);
            let digests = valid.entry(slot).or_default();
            if known.owner.verifies(&digest, &signature) && !digests.contains(&digest) {
                digests.push(digest);
            }
        }
    }
    Ok(valid)
}

/// The accepted slots: listed alike by two servers, with no second valid signature, and the first
/// such slot of their owner.
fn accept<M>(
    lists: &Lists,
    owned: &Known<'_, M>,
    conflicts: &[u32],
    valid: &BTreeMap<u32, Vec<Digest>>,
) -> Vec<(u32, Digest)> {
    let distinct = owned.owners_differ();
    let mut owners = HashSet::new();
    let mut readers = readers(lists);
    let accepted = |known: &&Slot<M>| {
        let slot = &known.slot;
        let [a, b, c] = readers.each_mut().map(|list| list.digest(*slot));
        let twice = *if a.is_some() && (a == b || a == c) { a } else { b.filter(|_| b == c) }?;
        let sole = conflicts.binary_search(slot).is_err()
            || valid.get(slot).is_some_and(|v| v[..] == [twice]);
        (sole && (distinct || owners.insert(known.owner))).then_some((*slot, twice))
    };
    owned.0.iter().filter_map(accepted).collect()
}

/// The accepted submissions, in order; those that this server lacks come from the two that have
/// them.
async fn gather<'a, P: Protocol, M: Sealable>(
    run: &Run<P>,
    scope: &Scope,
    owned: &Known<'a, M>,
    own: &Own<'a, M>,
    lists: &Lists,
    accepted: &[(u32, Digest)],
) -> Vec<Taken<'a, M>> {
    let mut readers = readers(lists);
    let holders: Vec<[bool; 3]> = accepted
        .iter()
        .map(|(slot, digest)| readers.each_mut().map(|list| list.digest(*slot) == Some(digest)))
        .collect();
    let has = |party: u8, holders: &[bool; 3]| holders[usize::from(party)];
    for peer in run.peers() {
        let lacking: Vec<(u32, &M)> = accepted
            .iter()
            .zip(&holders)
            .filter(|(_, holders)| !has(peer, holders) && has(run.me(), holders))
            .filter_map(|((slot, _), _)| Some((*slot, own.get(*slot)?)))
            .collect();
        if lacking.is_empty() {
            continue;
        }
        // Both holders keep the message ready; the lower one sends it unasked.
        let body = wire::encode(&lacking);
        let other_holder = run.peers().into_iter().find(|p| *p != peer).expect("two peers");
        if run.me() < other_holder {
            run.send(peer, steps::FORWARD, body)
        } else {
            run.offer(peer, steps::FORWARD, body)
        };
    }
    let entries = accepted.iter().zip(&holders);
    let missing: Vec<(u32, Digest)> =
        entries.filter(|(_, holders)| !has(run.me(), holders)).map(|(entry, _)| *entry).collect();
    let mut forwarded: BTreeMap<u32, M> = BTreeMap::new();
    if !missing.is_empty() {
        let accept = |received: &Received| {
            let not_usable =
                || P::Evidence::from(Offence::Malformed(Box::new(Statement::from(received))));
            let list: Vec<(u32, M)> = wire::decode(&received.body).map_err(|_| not_usable())?;
            let list: BTreeMap<u32, M> = list.into_iter().collect();
            let whole = missing.iter().all(|(slot, digest)| {
                let Some((known, submission)) = owned.get(*slot).zip(list.get(slot)) else {
                    return false;
                };
                let listed = M::listed(&scope.context, *slot, &known.owner, &submission.content());
                listed == *digest
                    && submission.is_wide(scope.width as usize)
                    && submission.is_acceptable(&known.owner, digest)
            });
            if whole { Ok(list) } else { Err(not_usable()) }
        };
        // A bad forward is no proof for a third person, who does not know the owners: it is passed
        // over, not reported.
        (forwarded, _) = run.receive_from_either(run.peers(), steps::FORWARD, accept).await;
    }
    let mut rest = &own.held[..];
    let taken = |((slot, _), holders): (&(u32, Digest), &[bool; 3])| match ascending(
        &mut rest,
        *slot,
        |(known, _)| known.slot,
    ) {
        Some((_, own)) if has(run.me(), holders) => Taken::Own(*own),
        _ => Taken::Given(Box::new(forwarded.remove(slot).expect("a usable forward has all"))),
    };
    accepted.iter().zip(&holders).map(taken).collect()
}

/// Signs the accepted list and waits until both peers have signed the same one. A different vote
/// counts as none.
///
/// # Errors
/// Evidence against a peer whose vote is malformed.
pub async fn vote<P: Protocol>(
    run: &Run<P>,
    step: impl Into<Step>,
    value: &Digest,
) -> Result<[Statement; 3], P::Fault> {
    let step = step.into();
    let signed = run.send_all(step, value.0.to_vec());
    let own = Statement { signed, body: value.0.to_vec() };
    let [a, b] = run.peers();
    let (from_a, from_b) = join(matching(run, a, step, value), matching(run, b, step, value)).await;
    Ok(match run.me() {
        0 => [own, from_a?, from_b?],
        1 => [from_a?, own, from_b?],
        _ => [from_a?, from_b?, own],
    })
}

async fn matching<P: Protocol>(
    run: &Run<P>,
    from: u8,
    step: Step,
    value: &Digest,
) -> Result<Statement, P::Fault> {
    let received = run.receive(from, step).await?;
    if received.body[..] == value.0 {
        return Ok(Statement::from(&received));
    }
    futures::future::pending().await
}

//! What a server finds of registrations by itself (`docs/spec/clarion.md`, R2, R3): whose they are,
//! and what the own boxes hold.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ostrakon_crypto::{Digest, Secret, VerifyingKey};
use ostrakon_party::Party;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::seal::Slot;
use rayon::prelude::*;

use super::messages::RegistrationSpec;
use super::registration::RegistrationKey;
use crate::client::{BOX, Registration, box_about, commitment};

/// What a server has found of a registration by itself: that it is its owner's for the occasion,
/// and what the own box holds. That takes public-key operations, which need not wait until the
/// servers agree: whoever looks at registrations as they come in gives what it found to [`agree`].
pub struct Looked {
    content: Digest,
    listed: Digest,
    seeds: [Option<Secret>; 2],
}

impl Looked {
    /// Looks at the registration of an owner under a number. `None` if it is not signed for the
    /// occasion, or its boxes have another length: a server that gets such a one from two others
    /// cannot take it, so none lists it.
    pub fn at(
        party: &Party,
        spec: &RegistrationSpec,
        key: &RegistrationKey,
        number: u32,
        owner: &VerifyingKey,
        registration: &Registration,
    ) -> Option<Self> {
        let content = registration.content();
        let listed = Registration::listed(&spec.occasion(), number, owner, &content);
        let genuine =
            registration.is_wellformed() && owner.verifies(&listed, &registration.signature);
        genuine.then(|| {
            let deployment = &party.roster.session.0;
            let seeds = open(deployment, key, party.id.0, owner, registration);
            Self { content, listed, seeds }
        })
    }

    /// Whether it is of this registration.
    fn is_of(
        &self,
        spec: &RegistrationSpec,
        number: u32,
        owner: &VerifyingKey,
        registration: &Registration,
    ) -> bool {
        let content = registration.content();
        Registration::listed(&spec.occasion(), number, owner, &content) == self.listed
    }
}

/// A registration that the servers agree on, with what this server's box for it holds.
pub(super) struct Opened<'a> {
    pub number: u32,
    pub owner: VerifyingKey,
    pub registration: &'a Registration,
    pub content: Digest,
    pub seeds: [Option<Secret>; 2],
}

/// The slots of the occasion, without registrations that nobody may list, and what was found of
/// the others, by number.
pub(super) fn genuine(
    party: &Party,
    spec: &RegistrationSpec,
    key: &RegistrationKey,
    slots: Vec<Slot<Registration>>,
    mut looked: BTreeMap<u32, Looked>,
) -> (Vec<Slot<Registration>>, BTreeMap<u32, Looked>) {
    let before: Vec<Option<Looked>> = slots.iter().map(|slot| looked.remove(&slot.slot)).collect();
    let look = |(mut slot, before): (Slot<Registration>, Option<Looked>)| {
        let (number, owner) = (slot.slot, slot.owner);
        let found = slot.submission.as_ref().and_then(|registration| {
            before
                .filter(|looked| looked.is_of(spec, number, &owner, registration))
                .or_else(|| Looked::at(party, spec, key, number, &owner, registration))
        });
        if found.is_none() {
            slot.submission = None;
        }
        (slot, found)
    };
    let known = slots.into_par_iter().zip(before).filter(|(slot, _)| slot.slot < spec.slots);
    let all: Vec<(Slot<Registration>, Option<Looked>)> = known.map(look).collect();
    let (mut slots, mut looked) = (Vec::with_capacity(all.len()), BTreeMap::new());
    for (slot, found) in all {
        looked.extend(found.map(|found| (slot.slot, found)));
        slots.push(slot);
    }
    (slots, looked)
}

/// The accepted registrations with what the own boxes hold; those that others gave are opened now.
pub(super) fn opened<'a>(
    party: &Party,
    key: &RegistrationKey,
    slots: &[Slot<Registration>],
    mut looked: BTreeMap<u32, Looked>,
    accepted: &[(u32, Digest)],
    registrations: &'a [Cow<'_, Registration>],
) -> Vec<Opened<'a>> {
    let owners: BTreeMap<u32, VerifyingKey> =
        slots.iter().map(|slot| (slot.slot, slot.owner)).collect();
    let entries: Vec<_> = accepted
        .iter()
        .zip(registrations)
        .map(|((number, listed), registration)| {
            let looked = looked.remove(number).filter(|looked| looked.listed == *listed);
            (*number, &**registration, looked)
        })
        .collect();
    let deployment = &party.roster.session.0;
    let open = |(number, registration, looked): (u32, &'a Registration, Option<Looked>)| {
        let owner = owners[&number];
        let (content, seeds) = match looked {
            Some(looked) => (looked.content, looked.seeds),
            None => {
                let seeds = open(deployment, key, party.id.0, &owner, registration);
                (registration.content(), seeds)
            }
        };
        Opened { number, owner, registration, content, seeds }
    };
    entries.into_par_iter().map(open).collect()
}

/// The seeds in this server's box, those that open their commitments.
fn open(
    deployment: &Digest,
    key: &RegistrationKey,
    me: u8,
    owner: &VerifyingKey,
    registration: &Registration,
) -> [Option<Secret>; 2] {
    let mut about = box_about(deployment, owner, me);
    let Some(plain) = key.0.open(BOX, &mut about, &registration.boxes[usize::from(me)]) else {
        return [None, None];
    };
    let pairs = Pair::of_party(me);
    [0, 1].map(|place: usize| {
        let seed: [u8; 32] = plain.get(32 * place..32 * place + 32)?.try_into().ok()?;
        let committed = registration.commitments[pairs[place].index()];
        (commitment(deployment, owner, pairs[place], &seed) == committed).then(|| Secret::new(seed))
    })
}

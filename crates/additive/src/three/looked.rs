//! What a server finds of registrations by itself (`docs/spec/clarion.md`, R2, R3): whose they are,
//! and what the own boxes hold.

use std::borrow::Cow;

use ostrakon_crypto::{Digest, Secret, Signature, VerifyingKey};
use ostrakon_party::Party;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::seal::{Sealable, Slot};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::messages::RegistrationSpec;
use super::registration::RegistrationKey;
use crate::client::{BOX, BOX_BYTES, REGISTRATION_BYTES, Registration, box_about, commitment};

/// A registration with what a server has found of it by itself: that it is its owner's for the
/// occasion, and what the own box holds. That takes public-key operations, which need not wait
/// until the servers agree, so registrations are looked at as they come in.
pub struct Looked {
    occasion: Digest,
    number: u32,
    owner: VerifyingKey,
    digested: Digested,
    seeds: Seeds,
}

/// The own pairs' seeds, those that open their commitments.
pub(super) type Seeds = [Option<Secret>; 2];

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
        registration: Registration,
    ) -> Option<Box<Self>> {
        let (occasion, content) = (spec.occasion(), registration.content());
        let listed = Registration::listed(&occasion, number, owner, &content);
        let genuine =
            registration.is_wellformed() && owner.verifies(&listed, &registration.signature);
        genuine.then(|| {
            let deployment = &party.roster.session.0;
            let seeds = open(deployment, key, party.id.0, owner, &registration);
            let digested = Digested { registration, content, listed: Some(listed) };
            Box::new(Self { occasion, number, owner: *owner, digested, seeds })
        })
    }

    /// Looks at a registration's bytes, unless what was found `before` is of the same ones.
    pub fn again(
        before: Option<Box<Self>>,
        party: &Party,
        spec: &RegistrationSpec,
        key: &RegistrationKey,
        number: u32,
        owner: &VerifyingKey,
        bytes: &[u8; REGISTRATION_BYTES],
    ) -> Option<Box<Self>> {
        let look = || Self::at(party, spec, key, number, owner, Registration::from_bytes(bytes));
        before.filter(|before| before.digested.registration.is(bytes)).or_else(look)
    }

    /// Whether it was looked at for this use.
    fn is_for(&self, occasion: &Digest, number: u32, owner: &VerifyingKey) -> bool {
        (&self.occasion, self.number, &self.owner) == (occasion, number, owner)
    }
}

/// A registration with its digests, which are made once.
#[derive(Clone)]
pub(super) struct Digested {
    registration: Registration,
    content: Digest,
    /// What lists hold of it, where it was looked at for that.
    listed: Option<Digest>,
}

impl From<Registration> for Digested {
    fn from(registration: Registration) -> Self {
        let content = registration.content();
        Self { registration, content, listed: None }
    }
}

impl Serialize for Digested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.registration.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Digested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Registration::deserialize(deserializer).map(Self::from)
    }
}

impl Sealable for Digested {
    fn content(&self) -> Digest {
        self.content
    }

    fn signature(&self) -> &Signature {
        &self.registration.signature
    }

    fn listed(context: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest {
        Registration::listed(context, slot, owner, content)
    }

    fn as_listed(&self, occasion: &Digest, number: u32, owner: &VerifyingKey) -> Digest {
        let found = self.listed;
        found.unwrap_or_else(|| Registration::listed(occasion, number, owner, &self.content))
    }

    fn is_wide(&self, width: usize) -> bool {
        width == BOX_BYTES && self.registration.is_wellformed()
    }
}

/// A registration that the servers agree on, with what this server's box for it holds.
pub(super) struct Opened<'a> {
    pub number: u32,
    pub owner: VerifyingKey,
    pub registration: &'a Registration,
    pub content: Digest,
    pub seeds: Seeds,
}

/// The slots of the occasion in ascending order, without registrations that were looked at for
/// something else, and the seeds of each of the others.
pub(super) fn genuine(
    spec: &RegistrationSpec,
    mut slots: Vec<Slot<Box<Looked>>>,
) -> (Vec<Slot<Digested>>, Vec<Option<Seeds>>) {
    slots.sort_unstable_by_key(|slot| slot.slot);
    slots.retain(|slot| slot.slot < spec.slots);
    let occasion = spec.occasion();
    let taken = |Slot { slot, owner, submission }: Slot<Box<Looked>>| {
        let looked = submission.filter(|looked| looked.is_for(&occasion, slot, &owner));
        let (submission, seeds) = looked.map(|looked| (looked.digested, looked.seeds)).unzip();
        (Slot { slot, owner, submission }, seeds)
    };
    slots.into_par_iter().with_min_len(256).map(taken).unzip()
}

/// The accepted registrations, in ascending order, with what the own boxes hold; those that others
/// gave are opened now.
pub(super) fn opened<'a>(
    party: &Party,
    key: &RegistrationKey,
    slots: &[Slot<Digested>],
    seeds: Vec<Option<Seeds>>,
    accepted: &[(u32, Digest)],
    registrations: &'a [Cow<'_, Digested>],
) -> Vec<Opened<'a>> {
    let mut known = slots.iter().zip(seeds);
    let of_slot = |((number, _), registration): (&(u32, Digest), &'a Cow<'_, Digested>)| {
        let slot = known.find(|(slot, _)| slot.slot == *number);
        let (slot, seeds) = slot.expect("accepted slots are among the given ones, in order");
        // What was found of another registration than the accepted one is not found of that.
        let seeds = seeds.filter(|_| matches!(registration, Cow::Borrowed(_)));
        (slot.owner, *number, &**registration, seeds)
    };
    let entries: Vec<_> = accepted.iter().zip(registrations).map(of_slot).collect();
    let deployment = &party.roster.session.0;
    let open = |(owner, number, known, seeds)| {
        let known: &'a Digested = known;
        let (registration, content) = (&known.registration, known.content);
        let seeds: Option<Seeds> = seeds;
        let open = || open(deployment, key, party.id.0, &owner, registration);
        Opened { number, owner, registration, content, seeds: seeds.unwrap_or_else(open) }
    };
    entries.into_par_iter().with_min_len(256).map(open).collect()
}

/// The seeds in this server's box, those that open their commitments.
fn open(
    deployment: &Digest,
    key: &RegistrationKey,
    me: u8,
    owner: &VerifyingKey,
    registration: &Registration,
) -> Seeds {
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

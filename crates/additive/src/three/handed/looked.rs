//! What a server finds of registrations by itself (`docs/spec/clarion.md`, R2, R3): whose they are,
//! and what the own boxes hold.

use std::borrow::Cow;

use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Digest, Secret, Signature, VerifyingKey};
use ostrakon_party::Party;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::seal::{Sealable, Slot};
use rayon::prelude::*;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error as _, Serialize, Serializer};

use crate::client::{BOX, BOX_BYTES, REGISTRATION_BYTES, Registration, box_about, commitment};
use crate::three::messages::RegistrationSpec;

/// The server's half of the boxes of one occasion of registering. Erased with its end: who has it
/// and the boxes has every seed that they brought.
pub struct RegistrationKey(ExchangeKey);

impl RegistrationKey {
    /// Of 32 fresh random bytes.
    pub fn new(secret: &Secret) -> Self {
        Self(ExchangeKey::new(secret))
    }

    /// What participants seal their boxes for.
    pub fn public(&self) -> [u8; 32] {
        self.0.public()
    }
}

/// What a server has found of a registration by itself: that it is its owner's for the occasion,
/// and what the own box holds. That takes public-key operations, which need not wait until the
/// servers agree, so registrations are looked at as they come in.
pub struct Found {
    occasion: Digest,
    number: u32,
    owner: VerifyingKey,
    content: Digest,
    listed: Digest,
    seeds: Seeds,
}

/// The own pairs' seeds, those that open their commitments.
pub type Seeds = [Option<Secret>; 2];

impl Found {
    /// Looks at the registration of an owner under a number. `None` if it is not signed for the
    /// occasion, or its boxes have another length: a server that gets such a one from two others
    /// cannot take it, so none lists it.
    pub fn of(
        party: &Party,
        spec: &RegistrationSpec,
        key: &RegistrationKey,
        number: u32,
        owner: &VerifyingKey,
        registration: &Registration,
    ) -> Option<Self> {
        let (occasion, content) = (spec.occasion(), registration.content());
        let listed = Registration::listed(&occasion, number, owner, &content);
        let genuine =
            registration.is_wellformed() && owner.verifies(&listed, &registration.signature);
        genuine.then(|| {
            let deployment = &party.roster.session.0;
            let seeds = open(deployment, key, party.id.0, owner, registration);
            Self { occasion, number, owner: *owner, content, listed, seeds }
        })
    }

    pub fn into_seeds(self) -> Seeds {
        self.seeds
    }

    /// Whether it was looked at for this use.
    pub fn is_for(&self, occasion: &Digest, number: u32, owner: &VerifyingKey) -> bool {
        (&self.occasion, self.number, &self.owner) == (occasion, number, owner)
    }
}

/// A registration, as it was handed in, with what was found of it.
pub struct Looked {
    bytes: Vec<u8>,
    found: Box<Found>,
}

impl Looked {
    /// Looks at a registration of an owner under a number. `None` if it is not signed for the
    /// occasion, or its boxes have another length.
    pub fn at(
        party: &Party,
        spec: &RegistrationSpec,
        key: &RegistrationKey,
        number: u32,
        owner: &VerifyingKey,
        registration: &Registration,
    ) -> Option<Self> {
        let found = Box::new(Found::of(party, spec, key, number, owner, registration)?);
        Some(Self { bytes: registration.to_bytes(), found })
    }

    fn parted(self) -> (Digested, Seeds) {
        let Found { content, listed, seeds, .. } = *self.found;
        (Digested { bytes: self.bytes, content, listed: Some(listed) }, seeds)
    }
}

/// The bytes of a registration with its digests, which are made once. Of a peer's with other boxes
/// there are no bytes; nobody takes it.
#[derive(Clone)]
pub struct Digested {
    bytes: Vec<u8>,
    content: Digest,
    /// What lists hold of it, where it was looked at for that.
    listed: Option<Digest>,
}

impl Digested {
    fn registration(&self) -> Option<Registration> {
        self.bytes.first_chunk().map(Registration::from_bytes)
    }
}

/// The bytes of a registration, from somewhere in them on.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let part = bytes.get(at..).and_then(<[u8]>::first_chunk);
    *part.expect("a registration that is taken has all its bytes")
}

impl From<Registration> for Digested {
    fn from(registration: Registration) -> Self {
        let wellformed = registration.is_wellformed();
        let bytes = if wellformed { registration.to_bytes() } else { Vec::new() };
        Self { bytes, content: registration.content(), listed: None }
    }
}

impl Serialize for Digested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let registration = self.registration();
        registration.ok_or_else(|| S::Error::custom("no registration"))?.serialize(serializer)
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

    fn signature(&self) -> Signature {
        Signature(part(&self.bytes, REGISTRATION_BYTES - 64))
    }

    fn listed(context: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest {
        Registration::listed(context, slot, owner, content)
    }

    fn as_listed(&self, occasion: &Digest, number: u32, owner: &VerifyingKey) -> Digest {
        let found = self.listed;
        found.unwrap_or_else(|| Registration::listed(occasion, number, owner, &self.content))
    }

    fn is_wide(&self, width: usize) -> bool {
        width == BOX_BYTES && self.bytes.len() == REGISTRATION_BYTES
    }
}

/// A registration that the servers agree on, with what this server's box for it holds.
pub struct Opened<'a> {
    pub number: u32,
    pub owner: VerifyingKey,
    bytes: &'a [u8],
    pub content: Digest,
    pub seeds: Seeds,
}

impl Opened<'_> {
    /// The commitment to the seed of a pair.
    pub fn commitment(&self, pair: Pair) -> Digest {
        Digest(part(self.bytes, 32 * pair.index()))
    }
}

/// What holds a registration.
pub trait Registers: Sealable {
    /// All its bytes.
    fn registration_bytes(&self) -> &[u8];

    /// What submissions name it by.
    fn registration_name(&self) -> Digest;
}

impl Registers for Digested {
    fn registration_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn registration_name(&self) -> Digest {
        self.content
    }
}

/// The slots of the occasion in ascending order, without registrations that were looked at for
/// something else, and the seeds of each of the others.
pub fn genuine(
    spec: &RegistrationSpec,
    mut slots: Vec<Slot<Looked>>,
) -> (Vec<Slot<Digested>>, Vec<Option<Seeds>>) {
    slots.sort_unstable_by_key(|slot| slot.slot);
    slots.retain(|slot| slot.slot < spec.slots);
    let occasion = spec.occasion();
    let taken = |Slot { slot, owner, submission }: Slot<Looked>| {
        let looked = submission.filter(|looked| looked.found.is_for(&occasion, slot, &owner));
        let (submission, seeds) = looked.map(Looked::parted).unzip();
        (Slot { slot, owner, submission }, seeds)
    };
    slots.into_par_iter().with_min_len(256).map(taken).unzip()
}

/// The accepted registrations, in ascending order, with what the own boxes hold; those that others
/// gave are opened now.
pub fn opened<'a, M: Registers>(
    party: &Party,
    key: &RegistrationKey,
    slots: &[Slot<M>],
    seeds: Vec<Option<Seeds>>,
    accepted: &[(u32, Digest)],
    submissions: &'a [Cow<'_, M>],
) -> Vec<Opened<'a>> {
    let mut known = slots.iter().zip(seeds);
    let of_slot = |((number, _), held): (&(u32, Digest), &'a Cow<'_, M>)| {
        let slot = known.find(|(slot, _)| slot.slot == *number);
        let (slot, seeds) = slot.expect("accepted slots are among the given ones, in order");
        // What was found of another registration than the accepted one is not found of that.
        let seeds = seeds.filter(|_| matches!(held, Cow::Borrowed(_)));
        (slot.owner, *number, &**held, seeds)
    };
    let entries: Vec<_> = accepted.iter().zip(submissions).map(of_slot).collect();
    let deployment = &party.roster.session.0;
    let open = |(owner, number, held, seeds): (VerifyingKey, u32, &'a M, Option<Seeds>)| {
        let bytes = held.registration_bytes();
        let open = || match bytes.first_chunk().map(Registration::from_bytes) {
            Some(whole) => open(deployment, key, party.id.0, &owner, &whole),
            None => [None, None],
        };
        let seeds = seeds.unwrap_or_else(open);
        Opened { number, owner, bytes, content: held.registration_name(), seeds }
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

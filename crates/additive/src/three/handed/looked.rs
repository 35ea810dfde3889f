//! What a server finds of registrations by itself (`docs/spec/clarion.md`, R2, R3): whose they are,
//! and what the own boxes hold.

use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Digest, Secret, Signature, VerifyingKey};
use ostrakon_kernels::with_room;
use ostrakon_party::Party;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::seal::{Accepted, Sealable, Slot, Taken};
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

    pub fn seeds(&self) -> &Seeds {
        &self.seeds
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

    fn digested(self) -> Digested {
        let Self { bytes, found } = self;
        Digested { bytes, content: found.content, found: Some(found) }
    }
}

/// The bytes of a registration with its digests, which are made once. Of a peer's with other boxes
/// there are no bytes; nobody takes it.
pub struct Digested {
    bytes: Vec<u8>,
    content: Digest,
    /// What was found of it, where this server has looked at it.
    found: Option<Box<Found>>,
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
        Self { bytes, content: registration.content(), found: None }
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
        let listed = || Registration::listed(occasion, number, owner, &self.content);
        self.found.as_ref().map_or_else(listed, |found| found.listed)
    }

    fn is_wide(&self, width: usize) -> bool {
        width == BOX_BYTES && self.bytes.len() == REGISTRATION_BYTES
    }
}

/// A registration that the servers agree on, with what this server's box for it holds. It refers to
/// what was handed in: a copy for each of a million would be memory that was not touched before.
pub struct Opened<'a, M> {
    slot: &'a Slot<M>,
    /// What the servers agree on, which this server may have been given.
    pub held: &'a M,
    /// Seeds that were not found as the registration came in.
    given: Option<Box<Seeds>>,
}

impl<'a, M: Registers> Opened<'a, M> {
    /// The number it is registered under.
    pub fn number(&self) -> u32 {
        self.slot.slot
    }

    /// Whose it is.
    pub fn owner(&self) -> &'a VerifyingKey {
        &self.slot.owner
    }

    /// The seeds of the own pairs, those that this server has.
    pub fn seeds(&self) -> &Seeds {
        let found = || self.held.found().expect("what was not found was opened");
        self.given.as_deref().unwrap_or_else(found)
    }

    /// The same of a registration of which none is lacking.
    pub fn complete(&self) -> [&Secret; 2] {
        let seeds = self.seeds().each_ref();
        seeds.map(|seed| seed.as_ref().expect("lacking seeds were given or dropped"))
    }

    /// Takes a seed in that another holder gave; `place` is that of its pair among the own ones.
    pub fn take(&mut self, place: usize, seed: Secret) {
        let mut seeds = self.seeds().clone();
        seeds[place] = Some(seed);
        self.given = Some(Box::new(seeds));
    }

    /// The commitment to the seed of a pair.
    pub fn commitment(&self, pair: Pair) -> Digest {
        Digest(part(self.held.registration_bytes(), 32 * pair.index()))
    }
}

/// What holds a registration.
pub trait Registers: Sealable {
    /// All its bytes.
    fn registration_bytes(&self) -> &[u8];

    /// What submissions name it by.
    fn registration_name(&self) -> Digest;

    /// What this server's box was found to hold when it came in, if it was looked at then.
    fn found(&self) -> Option<&Seeds>;
}

impl Registers for Digested {
    fn registration_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn registration_name(&self) -> Digest {
        self.content
    }

    fn found(&self) -> Option<&Seeds> {
        self.found.as_deref().map(Found::seeds)
    }
}

/// The slots of the occasion in ascending order, without registrations that were looked at for
/// something else.
pub fn genuine(spec: &RegistrationSpec, mut slots: Vec<Slot<Looked>>) -> Vec<Slot<Digested>> {
    slots.sort_unstable_by_key(|slot| slot.slot);
    slots.retain(|slot| slot.slot < spec.slots);
    let occasion = spec.occasion();
    let taken = |Slot { slot, owner, submission }: Slot<Looked>| {
        let looked = submission.filter(|looked| looked.found.is_for(&occasion, slot, &owner));
        Slot { slot, owner, submission: looked.map(Looked::digested) }
    };
    slots.into_par_iter().with_min_len(256).map(taken).collect()
}

/// The accepted registrations, in ascending order, with what the own boxes hold; those that others
/// gave are opened now.
pub fn opened<'a, M: Registers>(
    party: &Party,
    key: &RegistrationKey,
    slots: &'a [Slot<M>],
    accepted: &Accepted,
    taken: &'a [Taken<'_, M>],
) -> Vec<Opened<'a, M>> {
    let mut known = slots.iter();
    let of_slot = |((number, _), held): ((u32, Digest), &'a Taken<'_, M>)| {
        let slot = known.find(|slot| slot.slot == number);
        let slot = slot.expect("accepted slots are among the given ones, in order");
        Opened { slot, held: &**held, given: None }
    };
    let mut entries = with_room(accepted.len());
    entries.extend(accepted.iter().zip(taken).map(of_slot));
    let deployment = &party.roster.session.0;
    let open = |opened: &mut Opened<'_, M>| {
        if opened.held.found().is_some() {
            return;
        }
        let bytes = opened.held.registration_bytes();
        let seeds = match bytes.first_chunk().map(Registration::from_bytes) {
            Some(whole) => open(deployment, key, party.id.0, opened.owner(), &whole),
            None => [None, None],
        };
        opened.given = Some(Box::new(seeds));
    };
    entries.par_iter_mut().with_min_len(256).for_each(open);
    entries
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

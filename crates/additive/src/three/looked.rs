//! What a server finds of registrations by itself (`docs/spec/clarion.md`, R2, R3): whose they are,
//! and what the own boxes hold.

use std::borrow::Cow;
use std::collections::HashMap;

use ostrakon_crypto::{Digest, Secret, Signature, VerifyingKey};
use ostrakon_party::Party;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::seal::{Sealable, Slot};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::messages::RegistrationSpec;
use super::registration::RegistrationKey;
use crate::client::{BOX, BOX_BYTES, Registration, box_about, commitment};

/// What a server has found of a registration by itself: that it is its owner's for the occasion,
/// and what the own box holds. That takes public-key operations, which need not wait until the
/// servers agree: whoever looks at registrations as they come in gives what it found to `agree`.
pub struct Looked {
    occasion: Digest,
    owner: VerifyingKey,
    content: Digest,
    signature: Signature,
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
        let (occasion, content) = (spec.occasion(), registration.content());
        let listed = Registration::listed(&occasion, number, owner, &content);
        let signature = registration.signature;
        let genuine = registration.is_wellformed() && owner.verifies(&listed, &signature);
        genuine.then(|| {
            let deployment = &party.roster.session.0;
            let seeds = open(deployment, key, party.id.0, owner, registration);
            Self { occasion, owner: *owner, content, signature, seeds }
        })
    }

    /// Whether it is of this registration, under the number that it was looked at for.
    fn is_of(&self, occasion: &Digest, owner: &VerifyingKey, known: &Digested) -> bool {
        let signature = &known.registration.signature;
        (&self.occasion, &self.owner, &self.content, &self.signature)
            == (occasion, owner, &known.content, signature)
    }
}

/// A registration with the digest of its content, which is made once.
#[derive(Clone)]
pub(super) struct Digested {
    registration: Registration,
    content: Digest,
}

impl From<Registration> for Digested {
    fn from(registration: Registration) -> Self {
        let content = registration.content();
        Self { registration, content }
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
    pub seeds: [Option<Secret>; 2],
}

/// The slots of the occasion in ascending order, without registrations that nobody may list, and
/// what was found of each of the others.
pub(super) fn genuine(
    party: &Party,
    spec: &RegistrationSpec,
    key: &RegistrationKey,
    mut slots: Vec<Slot<Registration>>,
    looked: HashMap<u32, Looked>,
) -> (Vec<Slot<Digested>>, Vec<Option<Looked>>) {
    slots.sort_unstable_by_key(|slot| slot.slot);
    slots.retain(|slot| slot.slot < spec.slots);
    let mut looked = looked;
    let before: Vec<Option<Looked>> = slots.iter().map(|slot| looked.remove(&slot.slot)).collect();
    let occasion = spec.occasion();
    let look = |(slot, before): (Slot<Registration>, Option<Looked>)| {
        let Slot { slot, owner, submission } = slot;
        let known = submission.map(Digested::from);
        let found = known.as_ref().and_then(|known| {
            before
                .filter(|looked| looked.is_of(&occasion, &owner, known))
                .or_else(|| Looked::at(party, spec, key, slot, &owner, &known.registration))
        });
        (Slot { slot, owner, submission: known.filter(|_| found.is_some()) }, found)
    };
    slots.into_par_iter().zip(before).map(look).unzip()
}

/// The accepted registrations, in ascending order, with what the own boxes hold; those that others
/// gave are opened now.
pub(super) fn opened<'a>(
    party: &Party,
    key: &RegistrationKey,
    slots: &[Slot<Digested>],
    looked: Vec<Option<Looked>>,
    accepted: &[(u32, Digest)],
    registrations: &'a [Cow<'_, Digested>],
) -> Vec<Opened<'a>> {
    let mut known = slots.iter().zip(looked);
    let of_slot = |((number, _), registration): (&(u32, Digest), &'a Cow<'_, Digested>)| {
        let slot = known.find(|(slot, _)| slot.slot == *number);
        let (slot, looked) = slot.expect("accepted slots are among the given ones, in order");
        (slot.owner, *number, &**registration, looked)
    };
    let entries: Vec<_> = accepted.iter().zip(registrations).map(of_slot).collect();
    let deployment = &party.roster.session.0;
    let open = |(owner, number, known, looked)| {
        let known: &'a Digested = known;
        let looked: Option<Looked> = looked;
        let seeds = match looked.filter(|looked| looked.content == known.content) {
            Some(looked) => looked.seeds,
            None => open(deployment, key, party.id.0, &owner, &known.registration),
        };
        let (registration, content) = (&known.registration, known.content);
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

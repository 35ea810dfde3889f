//! What is handed in by participants who register for one epoch alone (`docs/spec/clarion.md`, J1):
//! a registration and a submission that names it, listed and sealed as one.

use std::borrow::Cow;

use ostrakon_crypto::{Digest, Signature, VerifyingKey};
use ostrakon_party::Party;
use ostrakon_threeparty::seal::{Sealable, Slot};
use rayon::prelude::*;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use super::messages::{EpochSpec, RegistrationSpec};
use crate::client::{REGISTRATION_BYTES, Registration, SUBMISSION_OVERHEAD, Submission, Submitted};

pub mod looked;
pub mod prints;

use looked::{Found, Registers, RegistrationKey, Seeds};
use prints::Prints;

/// For what, and with what, a server looks at what is handed in for an epoch.
pub struct Looking<'a> {
    party: &'a Party,
    registration: RegistrationSpec,
    key: &'a RegistrationKey,
    prints: &'a Prints,
    signed: Digest,
}

/// What a server has found of what was handed in for a slot, as it came in.
pub struct Seen {
    found: Found,
    /// What lists hold of both parts.
    listed: Digest,
    /// Of all bytes.
    print: Option<u64>,
}

impl<'a> Looking<'a> {
    /// For an epoch and the occasion of registering with it.
    pub fn new(
        party: &'a Party,
        epoch: &EpochSpec,
        registration: RegistrationSpec,
        key: &'a RegistrationKey,
        prints: &'a Prints,
    ) -> Self {
        Self { party, registration, key, prints, signed: epoch.signed() }
    }

    /// Looks at what somebody hands in, of which the submission's signature is known to be right.
    /// `None` if the registration is not the owner's for the occasion, or not the one that the
    /// submission names.
    pub fn at(&self, slot: u32, owner: &VerifyingKey, bytes: &[u8]) -> Option<Box<Seen>> {
        let handed = Joint::of(bytes)?;
        let registration = handed.registration();
        let Self { party, registration: spec, key, .. } = self;
        let found = Found::of(party, spec, key, slot, owner, &registration)?;
        let (submitted, name) = (handed.submitted(), handed.registration_name());
        (submitted.registration() == name).then(|| {
            let content = Submission::content_of(submitted.padded(), &name);
            let listed = Submission::listed(&self.signed, slot, owner, &content);
            Box::new(Seen { found, listed, print: self.prints.of(bytes) })
        })
    }

    /// The same of what was kept, unless what was seen `before` is of the same bytes.
    pub fn again<'b>(
        &self,
        before: Option<Box<Seen>>,
        slot: u32,
        owner: &VerifyingKey,
        bytes: &'b [u8],
    ) -> Option<Joint<'b>> {
        let same = |print: Option<u64>| print.is_some() && print == self.prints.of(bytes);
        let seen = before.filter(|seen| same(seen.print));
        let seen = seen.or_else(|| self.at(slot, owner, bytes))?;
        Some(Joint { bytes: Cow::Borrowed(bytes), seen: Some(seen) })
    }
}

/// The bytes of a registration and, behind it, those of the submission.
pub struct Joint<'a> {
    bytes: Cow<'a, [u8]>,
    /// What was found of them, where this server has looked at them.
    seen: Option<Box<Seen>>,
}

impl<'a> Joint<'a> {
    /// `None` if they are too few for both.
    fn of(bytes: impl Into<Cow<'a, [u8]>>) -> Option<Self> {
        let bytes = bytes.into();
        let whole = bytes.len() >= REGISTRATION_BYTES + SUBMISSION_OVERHEAD;
        whole.then_some(Self { bytes, seen: None })
    }

    fn registration(&self) -> Registration {
        Registration::from_bytes(self.bytes.first_chunk().expect("the length was checked"))
    }

    fn submitted(&self) -> Submitted<'_> {
        Submitted::of(&self.bytes[REGISTRATION_BYTES..]).expect("the length was checked")
    }

    /// The padded row.
    pub fn padded(&self) -> &[u8] {
        self.submitted().padded()
    }
}

impl Registers for Joint<'_> {
    fn registration_bytes(&self) -> &[u8] {
        &self.bytes[..REGISTRATION_BYTES]
    }

    fn registration_name(&self) -> Digest {
        match &self.seen {
            // The submission was found to name it.
            Some(_) => self.submitted().registration(),
            None => Registration::name_of(self.registration_bytes()),
        }
    }

    fn found(&self) -> Option<&Seeds> {
        self.seen.as_ref().map(|seen| seen.found.seeds())
    }
}

impl Serialize for Joint<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.bytes.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Joint<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::deserialize(deserializer)?;
        Self::of(bytes).ok_or_else(|| D::Error::custom("no registration with a submission"))
    }
}

impl Sealable for Joint<'_> {
    /// Of the registration that is there, whichever the submission names.
    fn content(&self) -> Digest {
        Submission::content_of(self.padded(), &self.registration_name())
    }

    fn signature(&self) -> Signature {
        self.submitted().signature()
    }

    fn listed(context: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest {
        Submission::listed(context, slot, owner, content)
    }

    fn as_listed(&self, context: &Digest, slot: u32, owner: &VerifyingKey) -> Digest {
        let listed = || Self::listed(context, slot, owner, &self.content());
        self.seen.as_ref().map_or_else(listed, |seen| seen.listed)
    }

    fn is_wide(&self, width: usize) -> bool {
        self.padded().len() == width
    }

    /// One of the two who list it is honest and has looked at its signatures.
    fn is_acceptable(&self, _: &VerifyingKey, _: &Digest) -> bool {
        true
    }
}

/// Leaves the slots of the epoch in ascending order, without what was looked at for something else
/// or has another width.
pub(super) fn keep_genuine(
    spec: &EpochSpec,
    registration: &RegistrationSpec,
    slots: &mut Vec<Slot<Joint<'_>>>,
) {
    let most = spec.slots.min(registration.slots);
    slots.sort_unstable_by_key(|slot| slot.slot);
    slots.retain(|slot| slot.slot < most);
    let (occasion, width) = (registration.occasion(), spec.width as usize);
    let bytes = REGISTRATION_BYTES + SUBMISSION_OVERHEAD + width;
    let look = |Slot { slot, owner, submission }: &mut Slot<Joint<'_>>| {
        let fits = |joint: &mut Joint<'_>| {
            let found = joint.seen.as_ref().map(|seen| &seen.found);
            joint.bytes.len() == bytes
                && found.is_some_and(|found| found.is_for(&occasion, *slot, owner))
        };
        submission.take_if(|joint| !fits(joint));
    };
    slots.par_iter_mut().with_min_len(256).for_each(look);
}

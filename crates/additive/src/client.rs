//! What a participant computes (`docs/spec/clarion.md`, R1, C1, C2): its registration, once a
//! session, and a submission in a round.
//!
//! A row is hidden by three pads. Each grows from a seed that exactly two servers know, those of
//! its pair, and every seed is hashed forward with each round ([`ClientSeed`]).

use ostrakon_crypto::hash::{digest, keyed};
use ostrakon_crypto::sealed::{Sealed, seal};
use ostrakon_crypto::{Digest, Secret, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_kernels::{short_prg, xor_into};
use ostrakon_threeparty::pair::Pair;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use crate::params::{MAC, MAX_SKIP, PAD_SEED};

/// A round of which the seed is not to be had: it has been forgotten, or is too far away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the seed is at round {at} and cannot be moved to round {to}")]
pub struct Forgotten {
    /// Where the seed is.
    pub at: u64,
    /// Where it was to be moved.
    pub to: u64,
}

/// A seed that a participant shares with the two servers of a pair, at one round. Moving it on
/// forgets it: what it was cannot be computed from what it is.
pub struct ClientSeed {
    round: u64,
    seed: Secret,
}

impl ClientSeed {
    /// The seed of a registration, at round 0.
    pub fn initial(seed: [u8; 32]) -> Self {
        Self { round: 0, seed: Secret::new(seed) }
    }

    /// The round that it is of.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Hashes it forward.
    ///
    /// # Errors
    /// [`Forgotten`] if the round has passed or is more than [`MAX_SKIP`] rounds away.
    pub fn advance_to(&mut self, round: u64) -> Result<(), Forgotten> {
        match round.checked_sub(self.round) {
            Some(steps) if steps <= MAX_SKIP => {
                for _ in 0..steps {
                    self.seed = self.seed.derive("ostrakon/v1/clarion/next seed", &[]);
                }
                self.round = round;
                Ok(())
            }
            _ => Err(Forgotten { at: self.round, to: round }),
        }
    }

    /// The seed of the pad for a slot (C1).
    pub fn pad(&self, context: &Digest, slot: u32, owner: &VerifyingKey) -> [u8; PAD_SEED] {
        let about = PadContext::new(context, self.round).of(slot, owner);
        keyed(self.seed.expose(), &about).expose()[..PAD_SEED].try_into().expect("half of 32 bytes")
    }

    /// What it is at its round.
    #[cfg(feature = "server")]
    pub(crate) fn secret(&self) -> &Secret {
        &self.seed
    }

    /// Bytes for the memory that only its holder reads: round and seed.
    pub fn to_bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&self.round.to_le_bytes());
        bytes[8..].copy_from_slice(self.seed.expose());
        bytes
    }

    /// Reads what [`ClientSeed::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8; 40]) -> Self {
        let (round, seed) = bytes.split_at(8);
        Self {
            round: u64::from_le_bytes(round.try_into().expect("8 bytes")),
            seed: Secret::new(seed.try_into().expect("32 bytes")),
        }
    }
}

/// What all pads of a round are for. The round is part of it, so that two epochs of one context
/// have different pads.
pub struct PadContext([u8; Self::BYTES]);

impl PadContext {
    /// What a block of 64 bytes has room for beside slot and key.
    const BYTES: usize = 28;

    /// Of an epoch's context and the round of its seeds.
    pub fn new(context: &Digest, round: u64) -> Self {
        let mut transcript = Transcript::new("ostrakon/v1/clarion/pads");
        let whole = transcript.field(&context.0).number(round).finish();
        Self(whole.0[..Self::BYTES].try_into().expect("28 of 32 bytes"))
    }

    /// What is hashed under a seed of the context's round: the result begins with the pad's seed.
    /// One-way, and a single compression: servers make two for each row while a board is waited
    /// for.
    pub(crate) fn of(&self, slot: u32, owner: &VerifyingKey) -> [u8; 64] {
        let mut about = [0; 64];
        about[..Self::BYTES].copy_from_slice(&self.0);
        about[Self::BYTES..32].copy_from_slice(&slot.to_le_bytes());
        about[32..].copy_from_slice(&owner.0);
        about
    }
}

/// The MAC of a submission for the server that holds these two seeds, in the order of pairs.
fn mac(seeds: [&ClientSeed; 2], listed: &Digest) -> [u8; MAC] {
    let key = seeds[0].seed.derive("ostrakon/v1/clarion/mac", &[seeds[1].seed.expose()]);
    let mac = keyed(key.expose(), &listed.0);
    mac.expose()[..MAC].try_into().expect("half of 32 bytes")
}

/// The commitment to a participant's initial seed for a pair.
pub fn commitment(deployment: &Digest, owner: &VerifyingKey, pair: Pair, seed: &[u8]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/clarion/seed commitment");
    transcript.field(&deployment.0).field(&owner.0).number(pair.index() as u64).field(seed);
    transcript.finish()
}

/// The purpose of the boxes' keys.
pub(crate) const BOX: &str = "ostrakon/v1/clarion/registration box key";

/// What a box is about: it opens at one server, for one participant of one deployment.
pub(crate) fn box_about(deployment: &Digest, owner: &VerifyingKey, server: u8) -> Transcript {
    let mut transcript = Transcript::new("ostrakon/v1/clarion/registration box");
    transcript.field(&deployment.0).field(&owner.0).number(u64::from(server));
    transcript
}

/// The digest of an occasion of registering: what the servers call it, and the keys for which boxes
/// are sealed on it. Who was told another key for a server has signed for another occasion, so that
/// its registration counts nowhere; it would be repaired otherwise, and read by whose key it was.
pub fn occasion(context: &Digest, servers: &[[u8; 32]; 3]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/clarion/registration occasion");
    transcript.field(&context.0);
    servers.iter().for_each(|key| {
        transcript.field(key);
    });
    transcript.finish()
}

/// A participant's registration, the same bytes to all servers (R1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Commitments to the three seeds, by [`Pair::index`].
    pub commitments: [Digest; 3],
    /// For each server its two seeds, sealed.
    pub boxes: [Sealed; 3],
    /// The participant's signature on [`Registration::listed`].
    pub signature: Signature,
}

/// Bytes of a closed box: two seeds and the cipher's tag.
pub const BOX_BYTES: usize = 2 * 32 + 16;
/// Bytes of a registration.
pub const REGISTRATION_BYTES: usize = 3 * 32 + 3 * (32 + BOX_BYTES) + 64;

/// The first bytes of what is left of something whose length was checked.
fn taken<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (first, after) = rest.split_first_chunk().expect("the length was checked");
    *rest = after;
    *first
}

impl Registration {
    /// Whether its boxes have the length that boxes have.
    #[must_use]
    pub fn is_wellformed(&self) -> bool {
        self.boxes.iter().all(|sealed| sealed.closed.len() == BOX_BYTES)
    }

    /// Commitments, boxes and signature, one after another: [`REGISTRATION_BYTES`]. The boxes must
    /// have the length that boxes have.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(REGISTRATION_BYTES);
        self.commitments.iter().for_each(|commitment| bytes.extend_from_slice(&commitment.0));
        for sealed in &self.boxes {
            bytes.extend_from_slice(&sealed.exchange);
            bytes.extend_from_slice(&sealed.closed);
        }
        bytes.extend_from_slice(&self.signature.0);
        bytes
    }

    /// Reads what [`Registration::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8; REGISTRATION_BYTES]) -> Self {
        let mut rest = &bytes[..];
        let commitments = [0; 3].map(|_: u8| Digest(taken(&mut rest)));
        let boxes = [0; 3].map(|_: u8| {
            let exchange = taken(&mut rest);
            Sealed { exchange, closed: taken::<BOX_BYTES>(&mut rest).to_vec() }
        });
        Self { commitments, boxes, signature: Signature(taken(&mut rest)) }
    }

    /// The digest of all its bytes, its signature included: what a submission names that is handed
    /// in with it. Whoever copies both cannot change either.
    pub fn name(&self) -> Digest {
        Self::name_of(&self.to_bytes())
    }

    /// The same of what [`Registration::to_bytes`] wrote.
    pub fn name_of(bytes: &[u8]) -> Digest {
        digest("ostrakon/v1/clarion/registration bytes", bytes)
    }

    /// The digest of commitments and boxes: what is signed, and what a submission names that comes
    /// later, when the servers have agreed on it.
    pub fn content(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/clarion/registration content");
        for (commitment, sealed) in self.commitments.iter().zip(&self.boxes) {
            transcript.field(&commitment.0).field(&sealed.exchange).field(&sealed.closed);
        }
        transcript.finish()
    }

    /// What is signed: the content under a registration number, for one [`occasion`].
    pub fn listed(
        occasion: &Digest,
        number: u32,
        owner: &VerifyingKey,
        content: &Digest,
    ) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/clarion/registration");
        transcript.field(&occasion.0).number(u64::from(number)).field(&owner.0).field(&content.0);
        transcript.finish()
    }
}

/// A participant's own seeds, by [`Pair::index`]. Not `Clone`: where they are there is one state.
pub struct OwnSeeds(pub [ClientSeed; 3]);

impl OwnSeeds {
    /// Hashes all three forward.
    ///
    /// # Errors
    /// [`Forgotten`].
    pub fn advance_to(&mut self, round: u64) -> Result<(), Forgotten> {
        self.0.iter_mut().try_for_each(|seed| seed.advance_to(round))
    }

    fn of_server(&self, server: u8) -> [&ClientSeed; 2] {
        Pair::of_party(server).map(|pair| &self.0[pair.index()])
    }
}

/// For what and where a participant registers.
#[derive(Clone, Copy, Debug)]
pub struct RegistrationName<'a> {
    /// The servers' session.
    pub deployment: &'a Digest,
    /// What the servers call this occasion of registering.
    pub context: &'a Digest,
    /// The participant's number.
    pub number: u32,
    /// The servers' public registration keys, by party.
    pub servers: &'a [[u8; 32]; 3],
}

/// Makes a registration (R1). `randomness` is fresh and serves this alone.
pub fn register(
    name: RegistrationName<'_>,
    key: &SigningKey,
    randomness: &Secret,
) -> (Registration, OwnSeeds) {
    let draw = |purpose: &[u8], index: u8| {
        randomness.derive("ostrakon/v1/clarion/registration randomness", &[purpose, &[index]])
    };
    let owner = key.verifying_key();
    let seeds = Pair::ALL.map(|pair| draw(b"seed", pair.index() as u8));
    let commitments = Pair::ALL
        .map(|pair| commitment(name.deployment, &owner, pair, seeds[pair.index()].expose()));
    let boxes = [0, 1, 2].map(|server: u8| {
        let [a, b] = Pair::of_party(server).map(|pair| seeds[pair.index()].expose());
        let mut plain = [&a[..], &b[..]].concat();
        let mut about = box_about(name.deployment, &owner, server);
        let to = &name.servers[usize::from(server)];
        let sealed = seal(BOX, &mut about, to, &plain, *draw(b"box", server).expose());
        plain.zeroize();
        sealed
    });
    let mut registration = Registration { commitments, boxes, signature: Signature([0; 64]) };
    let content = registration.content();
    let occasion = occasion(name.context, name.servers);
    let listed = Registration::listed(&occasion, name.number, &owner, &content);
    registration.signature = key.sign(&listed);
    (registration, OwnSeeds(seeds.map(|seed| ClientSeed::initial(*seed.expose()))))
}

/// What a submission is signed for beside its slot: the epoch's context and the round of the seeds.
/// Without the round, a submission of one epoch would count as its owner's word in another epoch of
/// the same context, and two words drop the slot.
pub fn signed_for(context: &Digest, round: u64) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/clarion/epoch and round");
    transcript.field(&context.0).number(round);
    transcript.finish()
}

/// A padded row, the same bytes to all servers (C2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// C = m + G(s12) + G(s13) + G(s23), as wide as the table.
    pub padded: Vec<u8>,
    /// The owner's registration: its name where both are handed in together, its content where the
    /// servers have it.
    pub registration: Digest,
    /// For each server, a MAC of [`Submission::listed`].
    pub macs: [[u8; MAC]; 3],
    /// The owner's signature on [`Submission::listed`].
    pub signature: Signature,
}

/// Bytes that a submission has beyond the padded row.
pub const SUBMISSION_OVERHEAD: usize = 32 + 3 * MAC + 64;

impl Submission {
    /// What comes with the row, and then the row: [`SUBMISSION_OVERHEAD`] and the row's width.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SUBMISSION_OVERHEAD + self.padded.len());
        bytes.extend_from_slice(&self.registration.0);
        self.macs.iter().for_each(|mac| bytes.extend_from_slice(mac));
        bytes.extend_from_slice(&self.signature.0);
        bytes.extend_from_slice(&self.padded);
        bytes
    }

    /// Reads what [`Submission::to_bytes`] wrote; the row is what is left. `None` if there is too
    /// little for what comes before it.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (mut head, padded) = bytes.split_at_checked(SUBMISSION_OVERHEAD)?;
        let rest = &mut head;
        let registration = Digest(taken(rest));
        let macs = [0; 3].map(|_: u8| taken(rest));
        Some(Self {
            padded: padded.to_vec(),
            registration,
            macs,
            signature: Signature(taken(rest)),
        })
    }

    /// The digest of row and registration.
    pub fn content(&self) -> Digest {
        Self::content_of(&self.padded, &self.registration)
    }

    /// The same of a padded row and what names its owner's registration.
    pub fn content_of(padded: &[u8], registration: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/clarion/submission content");
        transcript
            .field(&digest("ostrakon/v1/clarion/padded row", padded).0)
            .field(&registration.0);
        transcript.finish()
    }

    /// What is signed and listed: the content, for one slot of the epoch of a [`signed_for`].
    pub fn listed(epoch: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/clarion/submission");
        transcript.field(&epoch.0).number(u64::from(slot)).field(&owner.0).field(&content.0);
        transcript.finish()
    }

    /// Whether its MAC for a server is right (C3). `seeds` are the server's two, in the order of
    /// its pairs, at the epoch's round.
    #[must_use]
    pub fn has_mac(&self, server: u8, seeds: [&ClientSeed; 2], listed: &Digest) -> bool {
        mac(seeds, listed).ct_eq(&self.macs[usize::from(server)]).into()
    }
}

/// The bytes of a submission ([`Submission::to_bytes`]), and what is where in them.
#[cfg(feature = "server")]
#[derive(Clone, Copy)]
pub(crate) struct Submitted<'b>(&'b [u8]);

#[cfg(feature = "server")]
impl<'b> Submitted<'b> {
    /// `None` if they are too few for one.
    pub fn of(bytes: &'b [u8]) -> Option<Self> {
        (bytes.len() >= SUBMISSION_OVERHEAD).then_some(Self(bytes))
    }

    /// What names its owner's registration, as it says.
    pub fn registration(self) -> Digest {
        Digest(*self.0.first_chunk().expect("the length was checked"))
    }

    pub fn signature(self) -> Signature {
        let signature = self.0[..SUBMISSION_OVERHEAD].last_chunk();
        Signature(*signature.expect("the length was checked"))
    }

    pub fn padded(self) -> &'b [u8] {
        &self.0[SUBMISSION_OVERHEAD..]
    }
}

/// A slot of an epoch, as its owner names it.
#[derive(Clone, Copy, Debug)]
pub struct SlotName<'a> {
    /// The digest of everything the servers agreed on about the epoch.
    pub context: &'a Digest,
    /// The slot.
    pub slot: u32,
    /// What names the owner's registration ([`Submission::registration`]).
    pub registration: &'a Digest,
}

/// Pads a row and signs it (C1, C2). The seeds must be at the epoch's round; they are moved on, so
/// that no second row is padded with them. Whoever may have to send the submission again keeps its
/// bytes.
pub fn submit(
    name: SlotName<'_>,
    seeds: &mut OwnSeeds,
    row: &[u8],
    key: &SigningKey,
) -> Submission {
    let round = seeds.0[0].round();
    assert!(seeds.0.iter().all(|seed| seed.round() == round), "seeds move on together");
    let owner = key.verifying_key();
    let mut padded = row.to_vec();
    let mut stream = vec![0; row.len()];
    for seed in &seeds.0 {
        let mut pad = seed.pad(name.context, name.slot, &owner);
        short_prg(&pad, &mut stream);
        xor_into(&mut padded, &stream);
        pad.zeroize();
    }
    stream.zeroize();
    let mut submission = Submission {
        padded,
        registration: *name.registration,
        macs: [[0; MAC]; 3],
        signature: Signature([0; 64]),
    };
    let epoch = signed_for(name.context, round);
    let listed = Submission::listed(&epoch, name.slot, &owner, &submission.content());
    submission.macs = [0, 1, 2].map(|server: u8| mac(seeds.of_server(server), &listed));
    submission.signature = key.sign(&listed);
    seeds.advance_to(round + 1).expect("the next round is not far away");
    submission
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_moves_on_and_never_back() {
        let mut a = ClientSeed::initial([7; 32]);
        let mut b = ClientSeed::initial([7; 32]);
        a.advance_to(5).unwrap();
        for round in 1..=5 {
            b.advance_to(round).unwrap();
        }
        assert_eq!(a.to_bytes(), b.to_bytes());
        assert_eq!(a.advance_to(4), Err(Forgotten { at: 5, to: 4 }));
        assert!(a.advance_to(6 + MAX_SKIP).is_err());
        assert_eq!(ClientSeed::from_bytes(&a.to_bytes()).round(), 5);
        let owner = VerifyingKey([1; 32]);
        let pads = [&a, &b].map(|seed| seed.pad(&Digest([2; 32]), 3, &owner));
        assert_eq!(pads[0], pads[1]);
        let other_round = ClientSeed { round: 6, seed: Secret::new(*a.seed.expose()) };
        assert_ne!(pads[0], other_round.pad(&Digest([2; 32]), 3, &owner), "the round itself");
        b.advance_to(6).unwrap();
        assert_ne!(pads[0], b.pad(&Digest([2; 32]), 3, &owner), "another round");
        assert_ne!(pads[0], a.pad(&Digest([2; 32]), 4, &owner), "another slot");
        assert_ne!(pads[0], a.pad(&Digest([2; 32]), 3, &VerifyingKey([2; 32])), "another owner");
    }

    #[test]
    fn what_is_handed_in_reads_back() {
        let key = SigningKey::from_seed(&[5; 32]);
        let (deployment, servers) = (Digest([1; 32]), [[2; 32], [3; 32], [4; 32]]);
        let context = Digest([6; 32]);
        let name = RegistrationName {
            deployment: &deployment,
            context: &context,
            number: 7,
            servers: &servers,
        };
        let (registration, mut seeds) = register(name, &key, &Secret::new([8; 32]));
        let bytes: [u8; REGISTRATION_BYTES] = registration.to_bytes()[..].try_into().unwrap();
        assert_eq!(Registration::from_bytes(&bytes), registration);
        let content = registration.content();
        let name = SlotName { context: &context, slot: 7, registration: &content };
        let submission = submit(name, &mut seeds, &[9; 24], &key);
        let bytes = submission.to_bytes();
        assert_eq!(bytes.len(), SUBMISSION_OVERHEAD + 24);
        assert_eq!(Submission::from_bytes(&bytes), Some(submission));
        assert_eq!(Submission::from_bytes(&bytes[..SUBMISSION_OVERHEAD - 1]), None);
    }

    /// Whoever wants to change what it has handed in, and pads another row for the same slot, does
    /// not do so with the same pads: the sum of both would be the sum of the rows.
    #[test]
    fn no_two_rows_are_padded_alike() {
        let key = SigningKey::from_seed(&[5; 32]);
        let mut seeds = OwnSeeds([1, 2, 3].map(|fill| ClientSeed::initial([fill; 32])));
        let (context, registration) = (Digest([4; 32]), Digest([5; 32]));
        let name = SlotName { context: &context, slot: 1, registration: &registration };
        let [first, second] = [[1; 16], [2; 16]].map(|row| submit(name, &mut seeds, &row, &key));
        let sum: Vec<u8> = first.padded.iter().zip(&second.padded).map(|(a, b)| a ^ b).collect();
        assert_ne!(sum, [3; 16]);
        assert_eq!(seeds.0[2].round(), 2);
    }
}

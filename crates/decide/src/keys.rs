//! One-time keys: what is said of them, and what makes them certified (spec, steps 2 and 3).

pub mod layers;
pub mod shares;

use ostrakon_crypto::{Digest, Secret, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_onepass::{Helpers, LayerKey, OneTimeKey, ProofOfPossession, Ristretto};
use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};

use crate::draft::gathering::GatheringId;
use crate::draft::{DecisionId, helpers};
use crate::hex::hexadecimal;
use crate::operators::{Operators, SERVERS};

/// Certified keys that P0 should have of an account, so that the owner can be asked while away.
pub const STOCK: usize = 8;
/// Certified keys that P0 keeps of an account at most.
pub const MOST_STOCK: usize = 16;
/// How long after a decision's deadline the shares of its keys must last at least, in seconds:
/// servers that were down open then.
pub const GRACE: u64 = 7 * 24 * 3600;
/// How long shares last at most, in seconds: the farthest deadline, and a month.
pub const MOST_LIFETIME: u64 = crate::draft::MOST_SECONDS + 31 * 24 * 3600;
/// The threshold of the keys in a stock.
pub const STOCK_THRESHOLD: u8 = 2;

hexadecimal! {
    /// The random number by which a device finds a one-time key again from its account's seed.
    Serial, 16
}

hexadecimal! {
    /// A public key for an exchange or an encoded group element: 32 bytes.
    PublicBytes, 32
}

/// Which one-time key: nobody may use one in two decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyName {
    /// The account.
    pub owner: VerifyingKey,
    /// Its number.
    pub serial: Serial,
}

/// What is wrong with a key, a share or a server's part of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// Not in the form that it must have.
    #[error("the key is malformed: {0}")]
    Form(String),
    /// Its maker need not know its secret half.
    #[error(
        "the key's maker has not proved to know its secret: it could be made out of other people's keys"
    )]
    Possession,
    /// No signature of whom it must be signed by.
    #[error("the key's signature is not the one of its owner")]
    Owner,
    /// A server's signature does not hold, or another server than expected answered.
    #[error("server {0} has not signed this: ask it again, or another server stands in between")]
    Server(u8),
    /// Not one receipt of each server.
    #[error(
        "a key that servers can stand in for needs the receipts of all three, any other one none"
    )]
    Receipts,
    /// The share is not what the commitments promise, or was sealed for another server or key.
    #[error(
        "the share for server {0} cannot be read or does not fit its commitments: the device must make a new key"
    )]
    Share(u8),
    /// Its shares are erased too early, or would be kept too long.
    #[error(
        "the shares of this key are not kept as long as they must, or longer than they may: make a new key"
    )]
    Lifetime,
    /// Another threshold than the one asked for.
    #[error("the key is shared for {found} servers, but the decision needs keys for {expected}")]
    Threshold {
        /// The decision's.
        expected: u8,
        /// The key's.
        found: u8,
    },
}

/// What the owner of a one-time key says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyStatement {
    /// The account.
    pub owner: VerifyingKey,
    /// The key's number.
    pub serial: Serial,
    /// How many servers can stand in for the owner: 2, 3, or 0 for none.
    pub threshold: u8,
    /// Until when the servers keep its shares if it is not used, in seconds since 1970.
    pub expires: u64,
    /// The commitments to its sharing, one for each server that is needed; the first one is the key
    /// itself, and the only one with threshold 0.
    pub commitments: Vec<PublicBytes>,
    /// The proof of possession: 64 bytes.
    pub proof: Vec<u8>,
}

/// Reads commitments, or a layer's.
pub(crate) fn layer_key(
    commitments: &[PublicBytes],
    helpers: Helpers,
) -> Result<LayerKey<Ristretto>, InvalidKey> {
    let bytes: Vec<u8> = commitments.iter().flat_map(|commitment| commitment.0).collect();
    LayerKey::from_bytes(&bytes, helpers).map_err(|error| InvalidKey::Form(error.to_string()))
}

/// Writes what [`layer_key`] reads.
pub(crate) fn commitments(key: &LayerKey<Ristretto>) -> Vec<PublicBytes> {
    key.to_bytes().as_chunks().0.iter().copied().map(PublicBytes).collect()
}

/// Whether the proof shows that the key's maker knows it.
pub(crate) fn check_possession(
    key: &LayerKey<Ristretto>,
    proof: &[u8],
    context: &Digest,
) -> Result<(), InvalidKey> {
    let proof = ProofOfPossession::from_bytes(proof)
        .map_err(|error| InvalidKey::Form(error.to_string()))?;
    if proof.verify(key, context) { Ok(()) } else { Err(InvalidKey::Possession) }
}

/// The secret half of a one-time key. A function of the account and the serial, so that the device
/// remembers its seed only.
pub(crate) fn one_time_key(
    account: &SigningKey,
    serial: &Serial,
    threshold: u8,
    operators: &Operators,
) -> Result<OneTimeKey<Ristretto>, InvalidKey> {
    let fields: [&[u8]; 3] = [&operators.digest.0, &serial.0, &[threshold]];
    let seed: Secret = account.derive("ostrakon/v1/decide/one-time key", &fields);
    Ok(OneTimeKey::from_seed(&seed, threshold_helpers(threshold)?))
}

/// The account under which a device takes part in one decision: nobody sees by it in which others
/// it does. A function of the device's account and the decision.
pub fn account_for(
    device: &SigningKey,
    operators: &Operators,
    decision: &DecisionId,
) -> SigningKey {
    SigningKey::from_seed(account_seed(device, operators, decision).expose())
}

/// The seed of [`account_for`].
pub fn account_seed(device: &SigningKey, operators: &Operators, decision: &DecisionId) -> Secret {
    let fields: [&[u8]; 2] = [&operators.digest.0, &decision.0];
    device.derive("ostrakon/v1/decide/account of a decision", &fields)
}

/// The seed of the account under which a device asks by a join link, and takes part in what comes
/// of it.
pub fn joining_seed(device: &SigningKey, operators: &Operators, id: &GatheringId) -> Secret {
    let fields: [&[u8]; 2] = [&operators.digest.0, &id.0];
    device.derive("ostrakon/v1/decide/account of a join link", &fields)
}

/// What the owner of an account signs to be told how many keys it has in stock. `time` in seconds
/// since 1970.
pub fn stock_digest(operators: &Operators, owner: &VerifyingKey, time: u64) -> Digest {
    let mut transcript = operators.transcript("ostrakon/v1/decide/stock level");
    transcript.field(&owner.0).number(time).finish()
}

pub(crate) fn threshold_helpers(threshold: u8) -> Result<Helpers, InvalidKey> {
    helpers(threshold)
        .ok_or_else(|| InvalidKey::Form(format!("0, 2 or 3 servers can stand in, not {threshold}")))
}

impl KeyStatement {
    /// The key's name.
    pub fn name(&self) -> KeyName {
        KeyName { owner: self.owner, serial: self.serial }
    }

    /// What a proof of possession is bound to.
    pub(crate) fn context(
        operators: &Operators,
        owner: &VerifyingKey,
        serial: &Serial,
        (threshold, expires): (u8, u64),
    ) -> Digest {
        let mut transcript =
            operators.transcript("ostrakon/v1/decide/possession of a one-time key");
        let transcript = transcript.field(&owner.0).field(&serial.0).number(u64::from(threshold));
        transcript.number(expires).finish()
    }

    /// Adds the statement to a transcript.
    pub(crate) fn add_to<'a>(&self, transcript: &'a mut Transcript) -> &'a mut Transcript {
        let commitments: Vec<u8> =
            self.commitments.iter().flat_map(|commitment| commitment.0).collect();
        let threshold = u64::from(self.threshold);
        transcript
            .field(&self.owner.0)
            .field(&self.serial.0)
            .number(threshold)
            .number(self.expires)
            .field(&commitments)
            .field(&self.proof)
    }

    /// The key with its commitments, unverified.
    pub(crate) fn layer_key(&self) -> Result<LayerKey<Ristretto>, InvalidKey> {
        layer_key(&self.commitments, threshold_helpers(self.threshold)?)
    }

    /// Checks form and proof of possession.
    ///
    /// # Errors
    /// [`InvalidKey`].
    pub fn verify(&self, operators: &Operators) -> Result<(), InvalidKey> {
        let key = self.layer_key()?;
        let terms = (self.threshold, self.expires);
        let context = Self::context(operators, &self.owner, &self.serial, terms);
        check_possession(&key, &self.proof, &context)
    }
}

/// What a server signs when it has written down its share of the key.
pub fn receipt_digest(operators: &Operators, party: PartyId, statement: &KeyStatement) -> Digest {
    let mut transcript = operators.transcript("ostrakon/v1/decide/receipt of a share");
    transcript.number(u64::from(party.0));
    statement.add_to(&mut transcript).finish()
}

/// A one-time key that a decision can rely on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertifiedKey {
    /// What the owner says.
    pub statement: KeyStatement,
    /// The three servers' on [`receipt_digest`], by party; none with threshold 0.
    pub receipts: Vec<Signature>,
    /// The owner's.
    pub signature: Signature,
}

fn certificate_digest(operators: &Operators, statement: &KeyStatement) -> Digest {
    let mut transcript = operators.transcript("ostrakon/v1/decide/certified key");
    statement.add_to(&mut transcript).finish()
}

impl CertifiedKey {
    /// Checks everything about it: form, proof of possession, receipts, signature.
    ///
    /// # Errors
    /// [`InvalidKey`].
    pub fn verify(&self, operators: &Operators) -> Result<(), InvalidKey> {
        self.check_receipts(operators)?;
        if !self
            .statement
            .owner
            .verifies(&certificate_digest(operators, &self.statement), &self.signature)
        {
            return Err(InvalidKey::Owner);
        }
        self.statement.verify(operators)
    }

    fn check_receipts(&self, operators: &Operators) -> Result<(), InvalidKey> {
        let expected = if self.statement.threshold == 0 { 0 } else { SERVERS };
        if self.receipts.len() != expected {
            return Err(InvalidKey::Receipts);
        }
        for ((party, key), receipt) in (0..).map(PartyId).zip(&operators.keys).zip(&self.receipts) {
            if !key.verifies(&receipt_digest(operators, party, &self.statement), receipt) {
                return Err(InvalidKey::Server(party.0));
            }
        }
        Ok(())
    }
}

/// The owner certifies its key with the receipts of the three servers, by party; none with
/// threshold 0.
///
/// # Errors
/// [`InvalidKey`] if a receipt does not hold or the account is not the owner.
pub fn certify(
    account: &SigningKey,
    statement: KeyStatement,
    receipts: Vec<Signature>,
    operators: &Operators,
) -> Result<CertifiedKey, InvalidKey> {
    let signature = account.sign(&certificate_digest(operators, &statement));
    let key = CertifiedKey { statement, receipts, signature };
    key.verify(operators)?;
    Ok(key)
}

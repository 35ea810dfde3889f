//! How a one-time key is shared among the servers: a device makes the key and seals each server's
//! share, and the server checks what it is given before it says that it holds it (spec, steps 1 and
//! 2).

use ostrakon_crypto::sealed::{ExchangeKey, Sealed, seal};
use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript};
use ostrakon_onepass::{KeyShare, Ristretto};
use ostrakon_party::{PartyId, wire};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::keys::{
    InvalidKey, KeyStatement, MOST_LIFETIME, PublicBytes, Serial, commitments, one_time_key,
};
use crate::operators::{Operators, SERVERS};

const SHARE_KEY: &str = "ostrakon/v1/decide/share key";

/// A server's public key for shares, signed by its identity key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelperKey {
    /// Whose.
    pub party: PartyId,
    /// X25519.
    pub exchange: PublicBytes,
    /// By the server.
    pub signature: Signature,
}

/// The secret half, a function of the server's identity.
fn exchange(identity: &SigningKey, operators: &Operators) -> ExchangeKey {
    ExchangeKey::new(&identity.derive("ostrakon/v1/decide/helper exchange", &[&operators.digest.0]))
}

impl HelperKey {
    /// The key of the server with this identity.
    pub fn of(identity: &SigningKey, party: PartyId, operators: &Operators) -> Self {
        let exchange = PublicBytes(exchange(identity, operators).public());
        Self {
            party,
            exchange,
            signature: identity.sign(&Self::digest(operators, party, &exchange)),
        }
    }

    fn digest(operators: &Operators, party: PartyId, exchange: &PublicBytes) -> Digest {
        let mut transcript = operators.transcript("ostrakon/v1/decide/helper key");
        transcript.number(u64::from(party.0)).field(&exchange.0).finish()
    }

    /// Checks that the server whose key is pinned has signed it.
    ///
    /// # Errors
    /// [`InvalidKey::Server`].
    pub fn verify(&self, operators: &Operators) -> Result<(), InvalidKey> {
        let digest = Self::digest(operators, self.party, &self.exchange);
        let genuine =
            operators.key(self.party).is_some_and(|key| key.verifies(&digest, &self.signature));
        if genuine { Ok(()) } else { Err(InvalidKey::Server(self.party.0)) }
    }
}

/// What a device hands in at a server: a key and that server's share of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deposit {
    /// The server.
    pub helper: PartyId,
    /// The key.
    pub statement: KeyStatement,
    /// The share, for the server's eyes.
    pub sealed: Sealed,
    /// The owner's, on all of it: nobody else fills an account, or takes its serials.
    pub signature: Signature,
}

/// What both sides know of a sealed share.
fn about(operators: &Operators, helper: PartyId, statement: &KeyStatement) -> Transcript {
    let mut transcript = operators.transcript("ostrakon/v1/decide/share envelope");
    transcript.number(u64::from(helper.0));
    statement.add_to(&mut transcript);
    transcript
}

impl Deposit {
    fn digest(
        operators: &Operators,
        helper: PartyId,
        statement: &KeyStatement,
        sealed: &Sealed,
    ) -> Digest {
        let mut transcript = operators.transcript("ostrakon/v1/decide/deposit");
        transcript.number(u64::from(helper.0));
        statement.add_to(&mut transcript);
        transcript.field(&sealed.exchange).field(&sealed.closed).finish()
    }

    /// What the owner of the key hands in at a server.
    pub fn of(
        owner: &SigningKey,
        operators: &Operators,
        helper: PartyId,
        statement: KeyStatement,
        sealed: Sealed,
    ) -> Self {
        let signature = owner.sign(&Self::digest(operators, helper, &statement, &sealed));
        Self { helper, statement, sealed, signature }
    }

    /// Reads the body of a request.
    ///
    /// # Errors
    /// [`InvalidKey::Form`].
    pub fn decode(bytes: &[u8]) -> Result<Self, InvalidKey> {
        wire::decode(bytes).map_err(|_| InvalidKey::Form("this is no deposit of a share".into()))
    }

    /// The server opens and checks the deposit; `now` in seconds since 1970. What it returns must
    /// be on disk before the receipt ([`crate::keys::receipt_digest`]) leaves.
    ///
    /// # Errors
    /// [`InvalidKey`]: the key is malformed or not possessed, the deposit is for another server or
    /// not the owner's, lasts too long or not at all, or the share is wrong.
    pub fn open(
        &self,
        identity: &SigningKey,
        party: PartyId,
        operators: &Operators,
        now: u64,
    ) -> Result<HeldShare, InvalidKey> {
        if self.helper != party || self.statement.threshold == 0 {
            return Err(InvalidKey::Share(self.helper.0));
        }
        let digest = Self::digest(operators, party, &self.statement, &self.sealed);
        if !self.statement.owner.verifies(&digest, &self.signature) {
            return Err(InvalidKey::Owner);
        }
        let lasts = self.statement.expires.checked_sub(now);
        if !lasts.is_some_and(|lasts| (1..=MOST_LIFETIME).contains(&lasts)) {
            return Err(InvalidKey::Lifetime);
        }
        self.statement.verify(operators)?;
        let mut about = about(operators, party, &self.statement);
        let plain = exchange(identity, operators).open(SHARE_KEY, &mut about, &self.sealed);
        let share = plain.and_then(|plain| KeyShare::<Ristretto>::from_bytes(&plain).ok());
        let share = share.filter(|share| {
            self.statement.layer_key().is_ok_and(|key| key.verify_share(party.index(), share))
        });
        let share = share.ok_or(InvalidKey::Share(party.0))?;
        Ok(HeldShare { statement: self.statement.clone(), share: share.to_bytes() })
    }
}

/// A share that a server holds, checked against its commitments.
pub struct HeldShare {
    statement: KeyStatement,
    share: Zeroizing<[u8; 32]>,
}

impl HeldShare {
    /// The key.
    pub fn statement(&self) -> &KeyStatement {
        &self.statement
    }

    /// For the server's disk. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(wire::encode(&(&self.statement, &*self.share)))
    }

    /// Reads [`HeldShare::to_bytes`]; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (statement, share) = wire::decode(bytes).ok()?;
        Some(Self { statement, share: Zeroizing::new(share) })
    }

    pub(crate) fn share(&self) -> Option<KeyShare<Ristretto>> {
        KeyShare::from_bytes(&*self.share).ok()
    }
}

/// A one-time key that a device has made, with what to hand in at each server: nothing with
/// threshold 0.
pub struct NewKey {
    /// The key.
    pub statement: KeyStatement,
    /// One for each server, by party.
    pub deposits: Vec<Deposit>,
}

/// Makes a one-time key and seals its shares, which the servers keep until `expires` if it is not
/// used. `serial` is fresh and random; `helpers` are the three
/// servers' keys, by party, and not looked at with threshold 0.
///
/// # Errors
/// [`InvalidKey`] if a server's key is not genuine or missing.
pub fn new_key(
    account: &SigningKey,
    serial: Serial,
    (threshold, expires): (u8, u64),
    operators: &Operators,
    helpers: &[HelperKey],
    rng: &mut impl CryptoRng,
) -> Result<NewKey, InvalidKey> {
    let key = one_time_key(account, &serial, threshold, operators)?;
    let owner = account.verifying_key();
    let context = KeyStatement::context(operators, &owner, &serial, (threshold, expires));
    let proof = key.prove_possession(&context, rng).to_bytes().to_vec();
    let statement = KeyStatement {
        owner,
        serial,
        threshold,
        expires,
        commitments: commitments(&key.layer_key()),
        proof,
    };
    let mut deposits = Vec::new();
    for place in 0..if threshold == 0 { 0 } else { SERVERS } {
        let helper = PartyId(u8::try_from(place).expect("three servers"));
        let to = helpers
            .get(place)
            .filter(|key| key.party == helper)
            .ok_or(InvalidKey::Server(helper.0))?;
        to.verify(operators)?;
        let mut randomness = [0; 32];
        rng.fill_bytes(&mut randomness);
        let share = key.share(place).to_bytes();
        let mut about = about(operators, helper, &statement);
        let sealed = seal(SHARE_KEY, &mut about, &to.exchange.0, &share[..], randomness);
        deposits.push(Deposit::of(account, operators, helper, statement.clone(), sealed));
    }
    Ok(NewKey { statement, deposits })
}

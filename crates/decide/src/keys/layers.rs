//! The operators' layers: one key for each decision and server, drawn at random, so that it can be
//! erased when the decision is over (spec, step 5).

use ostrakon_crypto::{Digest, Secret, Signature, SigningKey};
use ostrakon_onepass::{LayerKey, OneTimeKey, Ristretto};
use ostrakon_party::PartyId;
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use crate::draft::Draft;
use crate::keys::{
    InvalidKey, PublicBytes, check_possession, commitments, layer_key, threshold_helpers,
};
use crate::operators::Operators;

/// How long after an operator has drawn its layer a decision may begin with it, in seconds: half as
/// long as operators keep what they drew for drafts that are not begun.
pub const FRESH: u64 = 12 * 3600;

/// An operator's layer key for one draft, signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The operator.
    pub party: PartyId,
    /// When the operator drew it, in seconds since 1970, by its clock.
    pub drawn: u64,
    /// The key first. The rest is the form that keys have with the draft's threshold; nobody is
    /// given a share of an operator's key.
    pub commitments: Vec<PublicBytes>,
    /// The proof of possession: 64 bytes.
    pub proof: Vec<u8>,
    /// By the operator's identity key.
    pub signature: Signature,
}

/// The secret half: a function of what the operator drew for this draft, and of nothing that it
/// keeps for longer.
pub(crate) fn secret(drawn: &Secret, draft: &Draft) -> Result<OneTimeKey<Ristretto>, InvalidKey> {
    let seed = drawn.derive("ostrakon/v1/decide/operator layer", &[&draft.digest().0]);
    Ok(OneTimeKey::from_seed(&seed, threshold_helpers(draft.threshold)?))
}

impl Layer {
    fn context(operators: &Operators, party: PartyId, draft: &Draft) -> Digest {
        let mut transcript = operators.transcript("ostrakon/v1/decide/possession of a layer");
        transcript.number(u64::from(party.0)).field(&draft.digest().0).finish()
    }

    fn digest(&self, operators: &Operators, draft: &Draft) -> Digest {
        let mut transcript = operators.transcript("ostrakon/v1/decide/layer");
        let commitments: Vec<u8> =
            self.commitments.iter().flat_map(|commitment| commitment.0).collect();
        transcript
            .number(u64::from(self.party.0))
            .number(self.drawn)
            .field(&draft.digest().0)
            .field(&commitments)
            .field(&self.proof)
            .finish()
    }

    /// The layer of the operator with this identity. `drawn` is fresh randomness for this draft,
    /// and when it was drawn (seconds since 1970); it must be on disk before the layer leaves, and
    /// is to be erased when the decision is over.
    ///
    /// # Errors
    /// [`InvalidKey`] if the draft's threshold is none.
    pub fn of(
        (drawn, at): (&Secret, u64),
        identity: &SigningKey,
        party: PartyId,
        operators: &Operators,
        draft: &Draft,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, InvalidKey> {
        let key = secret(drawn, draft)?;
        let proof =
            key.prove_possession(&Self::context(operators, party, draft), rng).to_bytes().to_vec();
        let mut layer = Self {
            party,
            drawn: at,
            commitments: commitments(&key.layer_key()),
            proof,
            signature: Signature([0; 64]),
        };
        layer.signature = identity.sign(&layer.digest(operators, draft));
        Ok(layer)
    }

    /// Checks form, proof of possession and signature.
    ///
    /// # Errors
    /// [`InvalidKey`].
    pub fn verify(&self, operators: &Operators, draft: &Draft) -> Result<(), InvalidKey> {
        let digest = self.digest(operators, draft);
        if !operators.key(self.party).is_some_and(|key| key.verifies(&digest, &self.signature)) {
            return Err(InvalidKey::Server(self.party.0));
        }
        let key = self.layer_key(draft.threshold)?;
        check_possession(&key, &self.proof, &Self::context(operators, self.party, draft))
    }

    /// Whether a decision may begin with it at this time, in seconds since 1970.
    pub(crate) fn is_fresh(&self, time: u64) -> bool {
        time <= self.drawn.saturating_add(FRESH)
    }

    pub(crate) fn layer_key(&self, threshold: u8) -> Result<LayerKey<Ristretto>, InvalidKey> {
        layer_key(&self.commitments, threshold_helpers(threshold)?)
    }
}

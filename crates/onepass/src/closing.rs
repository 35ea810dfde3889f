//! After the last visitor: absentees' rows are dropped, layers removed with proofs, and the result
//! is opened (F1 to F5).

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_crypto::{Digest, Transcript};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::composition::rank;
use crate::fault::{CloseError, DecodeError, OpenError, PartialError};
use crate::group::Group;
use crate::group::elgamal::Ciphertext;
use crate::hashing;
use crate::history::History;
use crate::key::OneTimeKey;
use crate::layer::Layer;
use crate::params::{ELEMENT_BYTES, partial_bytes};
use crate::proofs::dleq::{Claim, DleqProof, Oracle};
use crate::session::Session;
use crate::sharing::{KeyShare, LayerKey, lagrange};

/// A visitor who has not come, with the value that counts for it in each ballot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// The place in the roster.
    pub visitor: usize,
    /// One public default value for each ballot.
    pub choices: Vec<u16>,
}

/// A closed session: one ciphertext for each ballot, under the keys of the operators and of the
/// absent.
#[derive(Debug, Clone)]
pub struct Closing<G: Group> {
    session: Arc<Session<G>>,
    digest: Digest,
    /// Ascending.
    absent: Vec<usize>,
    finals: Vec<Ciphertext<G>>,
}

impl<G: Group> History<G> {
    /// F1, F2: closes the session after the steps that have come. `head` is the head of the
    /// caller's chain; `absent` must name exactly those who have not come.
    ///
    /// # Errors
    /// If the absences do not fit the history and the ballots, or there are some and no helpers.
    pub fn close(&self, head: &Digest, absent: &[Absence]) -> Result<Closing<G>, CloseError> {
        let mut absent: Vec<&Absence> = absent.iter().collect();
        absent.sort_by_key(|absence| absence.visitor);
        self.check_absences(&absent)?;
        let tables = self.tables();
        let last = |ballot: usize| {
            let mut counts = vec![0; usize::from(self.session().ballots()[ballot].values())];
            for absence in &absent {
                counts[usize::from(absence.choices[ballot])] += 1;
            }
            // Dropping a row for each absentee leaves the entry whose composition is that of their
            // values.
            tables[ballot].entries[rank(&counts)]
        };
        let finals: Vec<Ciphertext<G>> = (0..tables.len()).map(last).collect();
        let mut transcript = Transcript::new("ostrakon/v1/onepass/closing");
        transcript.field(&self.session().binding().0).field(&self.trail().0).field(&head.0);
        transcript.number(absent.len() as u64);
        for absence in &absent {
            let choices: Vec<u8> =
                absence.choices.iter().flat_map(|choice| choice.to_le_bytes()).collect();
            transcript.number(absence.visitor as u64).field(&choices);
        }
        hashing::elements::<G>(&mut transcript, finals.iter().flat_map(|last| [&last.u, &last.v]));
        let absent = absent.iter().map(|absence| absence.visitor).collect();
        Ok(Closing { session: self.session().clone(), digest: transcript.finish(), absent, finals })
    }

    fn check_absences(&self, absent: &[&Absence]) -> Result<(), CloseError> {
        let remaining = self.remaining();
        for (place, absence) in absent.iter().enumerate() {
            let twice = place > 0 && absent[place - 1].visitor == absence.visitor;
            if twice || !remaining.contains(&absence.visitor) {
                return Err(CloseError::NotAbsent(absence.visitor));
            }
            let ballots = self.session().ballots();
            let fits = absence.choices.len() == ballots.len()
                && absence
                    .choices
                    .iter()
                    .zip(ballots)
                    .all(|(choice, ballot)| *choice < ballot.values());
            if !fits {
                return Err(CloseError::Defaults(absence.visitor));
            }
        }
        if let Some(left) =
            remaining.iter().find(|left| !absent.iter().any(|absence| absence.visitor == **left))
        {
            return Err(CloseError::NotNamed(*left));
        }
        match absent.first() {
            Some(first) if self.session().helpers().count() == 0 => {
                Err(CloseError::NoHelpers(first.visitor))
            }
            _ => Ok(()),
        }
    }
}

/// A party's part of the decryption of all ballots, with the proof that it is right (F3). Nobody
/// has verified it.
#[derive(Clone, PartialEq, Eq)]
pub struct PartialDecryption<G: Group> {
    elements: Vec<G::Element>,
    proof: DleqProof<G>,
}

impl<G: Group> PartialDecryption<G> {
    /// One element for each ballot, then the proof.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.elements.iter().flat_map(G::encode).chain(self.proof.to_bytes()).collect()
    }

    /// Reads [`PartialDecryption::to_bytes`] for that many ballots.
    ///
    /// # Errors
    /// If the length or an encoding is wrong.
    pub fn from_bytes(bytes: &[u8], ballots: usize) -> Result<Self, DecodeError> {
        let expected = partial_bytes(ballots);
        if bytes.len() != expected {
            return Err(DecodeError::Length { expected, found: bytes.len() });
        }
        let (elements, proof) = bytes.split_at(ELEMENT_BYTES * ballots);
        let element = |chunk| G::decode(chunk).ok_or(DecodeError::Point);
        let elements = elements.as_chunks().0.iter().map(element).collect::<Result<_, _>>()?;
        Ok(Self { elements, proof: DleqProof::from_bytes(proof)? })
    }
}

/// Who makes a partial decryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Party {
    Operator(usize),
    Helper(usize),
}

/// A partial decryption that was verified: its maker's part in the removal of one layer of one
/// closing.
#[derive(Debug, Clone)]
pub struct Removed<G: Group> {
    closing: Digest,
    party: Party,
    layer: Layer,
    elements: Vec<G::Element>,
}

/// The hashing of partial decryptions: everything that a proof speaks of is in the context.
struct PartialOracle(Digest);

impl PartialOracle {
    fn new<G: Group>(closing: &Digest, party: Party, layer: Layer, claim: &Claim<'_, G>) -> Self {
        let mut transcript = Transcript::new("ostrakon/v1/onepass/partial decryption");
        let (role, place) = match party {
            Party::Operator(place) => (0, place),
            Party::Helper(place) => (1, place),
        };
        transcript.field(&closing.0).number(role).number(place as u64);
        let (role, place) = match layer {
            Layer::Visitor(place) => (0, place),
            Layer::Operator(place) => (1, place),
        };
        transcript.number(role).number(place as u64);
        hashing::elements::<G>(&mut transcript, [&claim.base, &claim.public]);
        hashing::elements::<G>(&mut transcript, claim.pairs.iter().flat_map(|(u, d)| [u, d]));
        Self(transcript.finish())
    }
}

impl<G: Group> Oracle<G> for PartialOracle {
    fn weights(&self, claim: &Claim<'_, G>) -> Vec<G::Scalar> {
        hashing::weights::<G>("ostrakon/v1/onepass/partial weights", &self.0, 0, claim.pairs.len())
    }

    fn challenge(&self, _: &Claim<'_, G>, composites: [&G::Element; 4]) -> G::Scalar {
        let mut transcript = Transcript::new("ostrakon/v1/onepass/partial challenge");
        transcript.field(&self.0.0);
        hashing::elements::<G>(&mut transcript, composites);
        hashing::scalar::<G>(
            "ostrakon/v1/onepass/partial challenge scalar",
            &transcript.finish(),
            0,
        )
    }
}

impl<G: Group> Closing<G> {
    /// D: what operators and helpers agree on. A helper signs, and acts on, one of them in a
    /// session's life.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &Arc<Session<G>> {
        &self.session
    }

    /// Who did not come, ascending.
    #[must_use]
    pub fn absent(&self) -> &[usize] {
        &self.absent
    }

    /// The final ciphertexts, one for each ballot.
    #[cfg(test)]
    pub(crate) fn finals(&self) -> &[Ciphertext<G>] {
        &self.finals
    }

    /// F3: an operator removes its layer.
    ///
    /// # Errors
    /// If the key is not this operator's.
    pub fn decrypt_as_operator(
        &self,
        operator: usize,
        key: &OneTimeKey<G>,
        rng: &mut impl CryptoRng,
    ) -> Result<PartialDecryption<G>, PartialError> {
        let listed = self
            .session
            .operators()
            .get(operator)
            .ok_or(PartialError::UnknownOperator(operator))?;
        if G::mul_base(key.secret()) != listed.public_key() {
            return Err(PartialError::WrongKey(operator));
        }
        Ok(self.decrypt(Party::Operator(operator), Layer::Operator(operator), key.secret(), rng))
    }

    /// F3: a helper gives its part for one layer, an absent visitor's or a missing operator's, with
    /// its share of that key. The caller has made sure that this closing is the only one that the
    /// helper acts on.
    ///
    /// # Errors
    /// If there is no such helper or operator, the visitor has come, or the share is another one.
    pub fn decrypt_as_helper(
        &self,
        helper: usize,
        layer: Layer,
        share: &KeyShare<G>,
        rng: &mut impl CryptoRng,
    ) -> Result<PartialDecryption<G>, PartialError> {
        let commitments = self.layer_for_helpers(helper, layer)?;
        if !commitments.verify_share(helper, share) {
            return Err(PartialError::WrongShare(layer));
        }
        Ok(self.decrypt(Party::Helper(helper), layer, share.value(), rng))
    }

    /// The key of a layer that the helper may remove.
    fn layer_for_helpers(&self, helper: usize, layer: Layer) -> Result<&LayerKey<G>, PartialError> {
        if helper >= self.session.helpers().count() {
            return Err(PartialError::UnknownHelper(helper));
        }
        match layer {
            Layer::Visitor(visitor) if !self.absent.contains(&visitor) => {
                Err(PartialError::NotAbsent(visitor))
            }
            Layer::Operator(operator) => {
                self.session.layer(layer).ok_or(PartialError::UnknownOperator(operator))
            }
            Layer::Visitor(_) => {
                Ok(self.session.layer(layer).expect("who is absent is in the session"))
            }
        }
    }

    fn decrypt(
        &self,
        party: Party,
        layer: Layer,
        secret: &G::Scalar,
        rng: &mut impl CryptoRng,
    ) -> PartialDecryption<G> {
        let part = |last: &Ciphertext<G>| G::multiscalar_mul(&[*secret], &[last.u]);
        let elements: Vec<G::Element> = self.finals.iter().map(part).collect();
        let pairs = self.pairs(&elements);
        let claim = Claim { base: G::generator(), public: G::mul_base(secret), pairs: &pairs };
        let oracle = PartialOracle::new(&self.digest, party, layer, &claim);
        let nonce = Zeroizing::new(G::random_scalar(rng));
        PartialDecryption { proof: DleqProof::prove(&claim, secret, &oracle, &nonce), elements }
    }

    fn pairs(&self, elements: &[G::Element]) -> Vec<(G::Element, G::Element)> {
        self.finals.iter().map(|last| last.u).zip(elements.iter().copied()).collect()
    }

    /// F4: verifies what an operator gave.
    ///
    /// # Errors
    /// If it is wrong, or there is no such operator.
    pub fn verify_operator(
        &self,
        operator: usize,
        partial: PartialDecryption<G>,
    ) -> Result<Removed<G>, PartialError> {
        let listed = self
            .session
            .operators()
            .get(operator)
            .ok_or(PartialError::UnknownOperator(operator))?;
        let (party, layer) = (Party::Operator(operator), Layer::Operator(operator));
        if !self.holds(party, layer, listed.public_key(), &partial)? {
            return Err(PartialError::Operator(operator));
        }
        Ok(Removed { closing: self.digest, party, layer, elements: partial.elements })
    }

    /// F4: verifies what a helper gave for a layer.
    ///
    /// # Errors
    /// If it is wrong, or there is no such helper or operator, or the visitor has come.
    pub fn verify_helper(
        &self,
        helper: usize,
        layer: Layer,
        partial: PartialDecryption<G>,
    ) -> Result<Removed<G>, PartialError> {
        let public = self.layer_for_helpers(helper, layer)?.share_commitment(helper);
        let party = Party::Helper(helper);
        if !self.holds(party, layer, public, &partial)? {
            return Err(PartialError::Helper(helper, layer));
        }
        Ok(Removed { closing: self.digest, party, layer, elements: partial.elements })
    }

    fn holds(
        &self,
        party: Party,
        layer: Layer,
        public: G::Element,
        partial: &PartialDecryption<G>,
    ) -> Result<bool, PartialError> {
        if partial.elements.len() != self.finals.len() {
            return Err(PartialError::Length {
                expected: self.finals.len(),
                found: partial.elements.len(),
            });
        }
        let pairs = self.pairs(&partial.elements);
        let claim = Claim { base: G::generator(), public, pairs: &pairs };
        let oracle = PartialOracle::new(&self.digest, party, layer, &claim);
        Ok(partial.proof.verify(&claim, &oracle))
    }

    /// F5: the output of each ballot, once every layer is removed: an operator's by itself or by
    /// enough helpers, an absent visitor's by enough helpers, who need not be the same for all
    /// layers.
    ///
    /// # Errors
    /// If a layer is still on the result, or a contribution belongs to another closing.
    pub fn open(&self, removed: &[Removed<G>]) -> Result<Vec<u32>, OpenError> {
        if removed.iter().any(|removed| removed.closing != self.digest) {
            return Err(OpenError::OtherClosing);
        }
        let operators = (0..self.session.operators().len()).map(Layer::Operator);
        let absent = self.absent.iter().copied().map(Layer::Visitor);
        let mut left: Vec<G::Element> = self.finals.iter().map(|last| last.v).collect();
        for layer in operators.chain(absent) {
            let parts: Vec<&Removed<G>> =
                removed.iter().filter(|part| part.layer == layer).collect();
            let part = self.part_of_layer(layer, &parts)?;
            left = left.iter().zip(&part).map(|(left, part)| *left - *part).collect();
        }
        self.read(&left)
    }

    /// What a layer adds to each final ciphertext, from the verified parts for it.
    fn part_of_layer(
        &self,
        layer: Layer,
        parts: &[&Removed<G>],
    ) -> Result<Vec<G::Element>, OpenError> {
        if let Some(own) = parts.iter().find(|part| matches!(part.party, Party::Operator(_))) {
            return Ok(own.elements.clone());
        }
        // By helper: a part that comes twice counts once.
        let mut given: BTreeMap<usize, &Removed<G>> = BTreeMap::new();
        for part in parts {
            if let Party::Helper(helper) = part.party {
                given.entry(helper).or_insert(part);
            }
        }
        let (needed, found) = (self.session.helpers().threshold(), given.len());
        match layer {
            Layer::Operator(operator) if found == 0 => return Err(OpenError::Operator(operator)),
            _ if found < needed => return Err(OpenError::Helpers { layer, needed, found }),
            _ => {}
        }
        let (helpers, parts): (Vec<usize>, Vec<&Removed<G>>) =
            given.into_iter().take(needed).unzip();
        let coefficients = lagrange::<G>(&helpers);
        let combined = |ballot: usize| {
            let elements: Vec<G::Element> =
                parts.iter().map(|part| part.elements[ballot]).collect();
            G::vartime_multiscalar_mul(&coefficients, &elements)
        };
        Ok((0..self.finals.len()).map(combined).collect())
    }

    /// Which outputs the elements stand for.
    fn read(&self, left: &[G::Element]) -> Result<Vec<u32>, OpenError> {
        let output = |(ballot, x): (usize, &G::Element)| {
            let found = self.session.encodings(ballot).iter().find(|(_, encoding)| encoding == x);
            found.map(|(output, _)| *output).ok_or(OpenError::NoOutput(ballot))
        };
        left.iter().enumerate().map(output).collect()
    }
}

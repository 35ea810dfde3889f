//! What everybody knows before the first visit: keys, ballots, and the initial tables that follow
//! from them (I1).

use ostrakon_crypto::{Digest, Transcript};

use crate::ballot::Ballot;
use crate::fault::SessionError;
use crate::group::elgamal::{Ciphertext, Table};
use crate::group::{Group, sum};
use crate::hashing;
use crate::layer::Layer;
use crate::params::{
    CIPHERTEXT_BYTES, MAX_ENTRIES, MAX_OPERATORS, MAX_STEP_BYTES, proof_bytes, table_entries,
};
use crate::sharing::{Helpers, LayerKey};

/// The caller's digest of the signed descriptor, which says everything about a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(pub Digest);

/// One session: its keys, ballots and helpers.
///
/// The caller has checked the proofs of possession of all keys.
#[derive(Debug)]
pub struct Session<G: Group> {
    id: SessionId,
    binding: Digest,
    visitors: Vec<LayerKey<G>>,
    operators: Vec<LayerKey<G>>,
    operators_key: G::Element,
    helpers: Helpers,
    ballots: Vec<Ballot>,
    /// For each ballot its distinct outputs, ascending, with their encodings.
    encodings: Vec<Vec<(u32, G::Element)>>,
}

impl<G: Group> Session<G> {
    /// A session of these visitors and operators, each with a key of its own for it.
    ///
    /// # Errors
    /// If it has no visitor, operator or ballot; if a ballot is for another number of visitors; if
    /// the tables or the steps would be too large; if a key's sharing has another threshold; if two
    /// keys are equal.
    pub fn new(
        id: SessionId,
        visitors: Vec<LayerKey<G>>,
        operators: Vec<LayerKey<G>>,
        helpers: Helpers,
        ballots: Vec<Ballot>,
    ) -> Result<Self, SessionError> {
        check_sizes(visitors.len(), operators.len(), &ballots)?;
        check_keys(&visitors, &operators, helpers)?;
        let binding = binding(id, &visitors, &operators, helpers, &ballots);
        let encode = |(place, ballot): (usize, &Ballot)| {
            let mut outputs = ballot.outputs().to_vec();
            outputs.sort_unstable();
            outputs.dedup();
            outputs
                .into_iter()
                .map(|output| (output, encoding::<G>(&binding, place, output)))
                .collect()
        };
        let encodings = ballots.iter().enumerate().map(encode).collect();
        let operators_key = sum::<G>(operators.iter().map(LayerKey::public_key));
        Ok(Self { id, binding, visitors, operators, operators_key, helpers, ballots, encodings })
    }

    /// The caller's digest.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// B: the digest of the id and of everything that the session was made of.
    #[must_use]
    pub fn binding(&self) -> &Digest {
        &self.binding
    }

    /// The visitors' keys, in the order of the roster.
    #[must_use]
    pub fn visitors(&self) -> &[LayerKey<G>] {
        &self.visitors
    }

    /// The operators' keys.
    #[must_use]
    pub fn operators(&self) -> &[LayerKey<G>] {
        &self.operators
    }

    /// The sum of the operators' public keys: the paper's h_{n+1}.
    pub(crate) fn operators_key(&self) -> G::Element {
        self.operators_key
    }

    /// Who can stand in.
    #[must_use]
    pub fn helpers(&self) -> Helpers {
        self.helpers
    }

    /// The ballots, all of which every visitor answers.
    #[must_use]
    pub fn ballots(&self) -> &[Ballot] {
        &self.ballots
    }

    /// The public key of a layer.
    pub(crate) fn layer(&self, layer: Layer) -> Option<&LayerKey<G>> {
        match layer {
            Layer::Visitor(visitor) => self.visitors.get(visitor),
            Layer::Operator(operator) => self.operators.get(operator),
        }
    }

    /// The distinct outputs of a ballot, ascending, with their encodings X.
    pub(crate) fn encodings(&self, ballot: usize) -> &[(u32, G::Element)] {
        &self.encodings[ballot]
    }

    /// The exact length of the step at this place (from 0) in the order of arrival; 0 after the
    /// last.
    #[must_use]
    pub fn step_bytes(&self, position: usize) -> usize {
        if position >= self.visitors.len() {
            return 0;
        }
        self.tables_bytes(position)
            + self.ballots.iter().map(|ballot| proof_bytes(ballot.values())).sum::<usize>()
    }

    /// The length of the tables at the head of that step.
    pub(crate) fn tables_bytes(&self, position: usize) -> usize {
        let left = self.visitors.len() - position - 1;
        self.ballots.iter().map(|ballot| CIPHERTEXT_BYTES * entries_of(ballot, left)).sum()
    }

    /// The entries of a ballot's table in the step at this place.
    pub(crate) fn step_entries(&self, position: usize, ballot: usize) -> usize {
        entries_of(&self.ballots[ballot], self.visitors.len() - position - 1)
    }

    /// I1: the randomness of a ballot's initial table, which is public.
    pub(crate) fn initial_randomness(&self, ballot: usize) -> Vec<G::Scalar> {
        let mut transcript = Transcript::new("ostrakon/v1/onepass/initial table");
        transcript.field(&self.binding.0).number(ballot as u64);
        let digest = transcript.finish();
        let entries = 0..self.ballots[ballot].outputs().len();
        entries
            .map(|entry| {
                hashing::scalar::<G>("ostrakon/v1/onepass/initial randomness", &digest, entry)
            })
            .collect()
    }

    /// The place of an entry's output among [`Session::encodings`].
    pub(crate) fn initial_output(&self, ballot: usize, entry: usize) -> usize {
        let output = self.ballots[ballot].outputs()[entry];
        let place = self.encodings[ballot].binary_search_by_key(&output, |(output, _)| *output);
        place.expect("every output has its encoding")
    }

    /// I1: the initial tables, which everybody computes alike.
    #[must_use]
    pub fn initial_tables(&self) -> Vec<Table<G>> {
        let key = sum::<G>(self.visitors.iter().map(LayerKey::public_key)) + self.operators_key;
        let table = |ballot: usize| {
            let randomness = self.initial_randomness(ballot);
            let entry = |(place, r)| {
                let (_, x) = self.encodings[ballot][self.initial_output(ballot, place)];
                Ciphertext::encrypt(&x, &key, r)
            };
            Table { entries: randomness.iter().enumerate().map(entry).collect() }
        };
        (0..self.ballots.len()).map(table).collect()
    }
}

/// The entries of a ballot's table with `left` visitors to come, which the session's limit bounds.
fn entries_of(ballot: &Ballot, left: usize) -> usize {
    table_entries(left, ballot.values()).expect("smaller than the initial table")
}

fn check_sizes(visitors: usize, operators: usize, ballots: &[Ballot]) -> Result<(), SessionError> {
    if visitors == 0 {
        return Err(SessionError::NoVisitors);
    }
    if operators == 0 || operators > MAX_OPERATORS {
        return Err(SessionError::Operators(operators));
    }
    if ballots.is_empty() {
        return Err(SessionError::NoBallots);
    }
    for (place, ballot) in ballots.iter().enumerate() {
        if ballot.visitors() != visitors {
            let expected = table_entries(visitors, ballot.values()).unwrap_or(usize::MAX);
            return Err(SessionError::TableLength {
                ballot: place,
                expected,
                found: ballot.outputs().len(),
            });
        }
    }
    let entries: usize = ballots.iter().map(|ballot| ballot.outputs().len()).sum();
    if entries > MAX_ENTRIES {
        return Err(SessionError::TooManyEntries { entries: entries as u64 });
    }
    // The first step is the longest: tables shrink from visitor to visitor.
    let step = |ballot: &Ballot| {
        CIPHERTEXT_BYTES * entries_of(ballot, visitors - 1) + proof_bytes(ballot.values())
    };
    let bytes: usize = ballots.iter().map(step).sum();
    if bytes > MAX_STEP_BYTES {
        return Err(SessionError::StepTooLong { bytes: bytes as u64 });
    }
    Ok(())
}

fn check_keys<G: Group>(
    visitors: &[LayerKey<G>],
    operators: &[LayerKey<G>],
    helpers: Helpers,
) -> Result<(), SessionError> {
    let visitors = visitors.iter().enumerate().map(|(place, key)| (Layer::Visitor(place), key));
    let operators = operators.iter().enumerate().map(|(place, key)| (Layer::Operator(place), key));
    let mut seen = std::collections::HashMap::new();
    for (layer, key) in visitors.chain(operators) {
        if key.threshold() != helpers.threshold() {
            return Err(SessionError::Sharing(layer));
        }
        if let Some(first) = seen.insert(G::encode(&key.public_key()), layer) {
            return Err(SessionError::SameKey(first, layer));
        }
    }
    Ok(())
}

/// B: binds every later hash to all that the session consists of.
fn binding<G: Group>(
    id: SessionId,
    visitors: &[LayerKey<G>],
    operators: &[LayerKey<G>],
    helpers: Helpers,
    ballots: &[Ballot],
) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/onepass/session");
    transcript.field(&id.0.0).number(helpers.threshold() as u64).number(helpers.count() as u64);
    for keys in [visitors, operators] {
        transcript.number(keys.len() as u64);
        for key in keys {
            hashing::elements::<G>(&mut transcript, key.coefficients());
        }
    }
    transcript.number(ballots.len() as u64);
    for ballot in ballots {
        let outputs: Vec<u8> =
            ballot.outputs().iter().flat_map(|output| output.to_le_bytes()).collect();
        transcript.number(u64::from(ballot.values())).field(&outputs);
    }
    transcript.finish()
}

/// X(b, y): the element that stands for an output.
fn encoding<G: Group>(binding: &Digest, ballot: usize, output: u32) -> G::Element {
    let mut transcript = Transcript::new("ostrakon/v1/onepass/output");
    transcript.field(&binding.0).number(ballot as u64).number(u64::from(output));
    hashing::element::<G>("ostrakon/v1/onepass/output element", &transcript.finish(), 0)
}

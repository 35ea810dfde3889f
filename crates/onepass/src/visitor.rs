//! What a visitor computes (V1 to V7).

use ostrakon_crypto::Digest;
use rand_core::CryptoRng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::composition::RowMaps;
use crate::fault::VisitError;
use crate::group::Group;
use crate::group::elgamal::{Ciphertext, Table};
use crate::history::History;
use crate::key::OneTimeKey;
use crate::proofs::disjunction::{Witness, prove};
use crate::statement::combine;
use crate::step::{Step, encode_tables};

/// Somebody who is about to come, with the one-time key.
pub struct Visitor<G: Group> {
    session: Digest,
    index: usize,
    key: OneTimeKey<G>,
}

impl<G: Group> Visitor<G> {
    /// The visitor of this number in the roster, whose key must be the roster's.
    ///
    /// # Errors
    /// If there is no such visitor, the key is another one, or the visitor came.
    pub fn new(history: &History<G>, index: usize, key: OneTimeKey<G>) -> Result<Self, VisitError> {
        let listed = history.session().visitors().get(index).ok_or(VisitError::UnknownVisitor)?;
        if G::mul_base(key.secret()) != listed.public_key() {
            return Err(VisitError::WrongKey(index));
        }
        if history.has_arrived(index) {
            return Err(VisitError::Repeated(index));
        }
        Ok(Self { session: *history.session().binding(), index, key })
    }

    /// Makes the step that gives one value to each ballot, after the verified history of all who
    /// came before.
    ///
    /// `previous` is the head of the caller's chain. The step must be stored before it is sent: a
    /// second one for the same place, with other values, would let the server open both. Time and
    /// memory access do not depend on the choices.
    ///
    /// # Errors
    /// If the history is of another session or has the visitor already, or the choices do not fit
    /// the ballots.
    pub fn visit(
        self,
        history: &History<G>,
        choices: &[u16],
        previous: &Digest,
        rng: &mut impl CryptoRng,
    ) -> Result<Step<G>, VisitError> {
        self.check(history, choices)?;
        let (old, maps) = (history.tables(), history.maps());
        let remaining = history.layers() - history.session().visitors()[self.index].public_key();
        let mut randomness = Vec::with_capacity(maps.len());
        let mut tables = Vec::with_capacity(maps.len());
        for ((old, maps), choice) in old.iter().zip(&maps).zip(choices) {
            let s: Vec<G::Scalar> = (0..maps.entries()).map(|_| G::random_scalar(rng)).collect();
            tables.push(hand_on(old, maps, *choice, self.key.secret(), &s, &remaining));
            randomness.push(Zeroizing::new(s));
        }
        let statement = history.statement(self.index, previous, &encode_tables(&tables));
        let mut branches = Vec::with_capacity(maps.len());
        let mut witnesses = Vec::with_capacity(maps.len());
        for (ballot, maps) in maps.iter().enumerate() {
            let weights = statement.weights(ballot, maps.entries());
            branches.push(combine(&weights, &old[ballot], &tables[ballot], maps));
            let products = weights.iter().zip(randomness[ballot].iter());
            let s = products.fold(G::scalar(0), |sum, (weight, s)| sum + *weight * *s);
            witnesses.push(Witness { choice: choices[ballot], s });
        }
        let proofs = prove(&statement, &branches, self.key.secret(), &witnesses, rng);
        Ok(Step { tables, proofs })
    }

    fn check(&self, history: &History<G>, choices: &[u16]) -> Result<(), VisitError> {
        if *history.session().binding() != self.session {
            return Err(VisitError::OtherSession);
        }
        if history.has_arrived(self.index) {
            return Err(VisitError::Repeated(self.index));
        }
        let ballots = history.session().ballots();
        if choices.len() != ballots.len() {
            return Err(VisitError::Choices { expected: ballots.len(), found: choices.len() });
        }
        let out_of_range =
            ballots.iter().zip(choices).position(|(ballot, choice)| *choice >= ballot.values());
        out_of_range.map_or(Ok(()), |ballot| Err(VisitError::Range(ballot)))
    }
}

/// V1: the row that becomes entry `entry` if `choice` is the value, found by looking at the rows of
/// all values alike.
fn select<G: Group>(old: &Table<G>, maps: &RowMaps, entry: usize, choice: u16) -> Ciphertext<G> {
    let mut selected = old.entries[maps.of(0)[entry]];
    for (value, map) in maps.iter().enumerate().skip(1) {
        let candidate = &old.entries[map[entry]];
        let own = (value as u64).ct_eq(&u64::from(choice));
        selected.u.conditional_assign(&candidate.u, own);
        selected.v.conditional_assign(&candidate.v, own);
    }
    selected
}

/// V1, V2 for one ballot, with the randomness of each new entry.
pub(crate) fn hand_on<G: Group>(
    old: &Table<G>,
    maps: &RowMaps,
    choice: u16,
    alpha: &G::Scalar,
    randomness: &[G::Scalar],
    remaining: &G::Element,
) -> Table<G> {
    let entry = |(place, s)| select(old, maps, place, choice).hand_on(alpha, s, remaining);
    Table { entries: randomness.iter().enumerate().map(entry).collect() }
}

//! The course of a session: who came, and the tables as they stand, verified (H1 to H4).

use std::sync::Arc;

use ostrakon_crypto::{Digest, Transcript};
use rand_core::CryptoRng;

use crate::composition::RowMaps;
use crate::fault::{HistoryError, StepFault};
use crate::group::elgamal::Table;
use crate::group::{Group, sum};
use crate::proofs::combination::{Combination, Equations, Operand};
use crate::session::Session;
use crate::statement::{Place, Statement};
use crate::step::Step;

/// A verified course of a session so far. It is made by starting, by verifying steps, or by
/// [`History::resume`] where that was done before.
#[derive(Debug, Clone)]
pub struct History<G: Group> {
    session: Arc<Session<G>>,
    arrived: Vec<usize>,
    trail: Digest,
    /// `None` before the first step: the initial tables.
    tables: Option<Arc<Vec<Table<G>>>>,
}

impl<G: Group> History<G> {
    /// Nobody has come yet.
    #[must_use]
    pub fn start(session: Arc<Session<G>>) -> Self {
        let trail = *session.binding();
        Self { session, arrived: Vec::new(), trail, tables: None }
    }

    /// The course after steps that were verified before, of which the caller has kept who came, the
    /// [`History::trail`] and the last step: for a server that verifies each step when it comes.
    /// Nothing is verified here.
    ///
    /// # Errors
    /// If the last step is malformed for its place.
    pub fn resume(
        session: Arc<Session<G>>,
        arrived: Vec<usize>,
        trail: Digest,
        last_step: &[u8],
    ) -> Result<Self, StepFault> {
        let position = arrived.len().checked_sub(1).ok_or(StepFault::UnknownVisitor)?;
        let step = Step::from_bytes(&session, position, last_step)?;
        Ok(Self { session, arrived, trail, tables: Some(Arc::new(step.tables)) })
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &Arc<Session<G>> {
        &self.session
    }

    /// Who came, in the order of arrival.
    #[must_use]
    pub fn arrived(&self) -> &[usize] {
        &self.arrived
    }

    /// Whether a visitor came.
    #[must_use]
    pub fn has_arrived(&self, visitor: usize) -> bool {
        self.arrived.contains(&visitor)
    }

    /// Who has not come, ascending.
    #[must_use]
    pub fn remaining(&self) -> Vec<usize> {
        (0..self.session.visitors().len()).filter(|visitor| !self.has_arrived(*visitor)).collect()
    }

    /// T: the digest of all steps.
    #[must_use]
    pub fn trail(&self) -> &Digest {
        &self.trail
    }

    /// The tables as they stand.
    #[must_use]
    pub fn tables(&self) -> Arc<Vec<Table<G>>> {
        self.tables.clone().unwrap_or_else(|| Arc::new(self.session.initial_tables()))
    }

    /// H: the sum of the keys of all layers on the tables.
    pub(crate) fn layers(&self) -> G::Element {
        let visitors = self
            .remaining()
            .into_iter()
            .map(|visitor| self.session.visitors()[visitor].public_key());
        sum::<G>(visitors) + self.session.operators_key()
    }

    /// One map for each ballot, from the tables as they stand to those after one more visitor.
    pub(crate) fn maps(&self) -> Vec<RowMaps> {
        let left = self.session.visitors().len() - self.arrived.len() - 1;
        let left = u16::try_from(left).expect("fewer visitors than entries");
        self.session.ballots().iter().map(|ballot| RowMaps::new(ballot.values(), left)).collect()
    }

    /// V3: what a step of `visitor` states that makes these tables.
    pub(crate) fn statement(
        &self,
        visitor: usize,
        previous: &Digest,
        tables: &[u8],
    ) -> Statement<G> {
        let place = Place { position: self.arrived.len(), visitor, previous, trail: &self.trail };
        let remaining = self.layers() - self.session.visitors()[visitor].public_key();
        Statement::new(&self.session, &place, remaining, tables)
    }

    /// The course with one more step, which nobody has verified.
    pub(crate) fn after(
        &self,
        visitor: usize,
        previous: &Digest,
        step: &[u8],
        tables: Arc<Vec<Table<G>>>,
    ) -> Self {
        let trail = trail_after(&self.trail, visitor, previous, step);
        let arrived = self.arrived.iter().copied().chain([visitor]).collect();
        Self { session: self.session.clone(), arrived, trail, tables: Some(tables) }
    }

    /// To verify further steps.
    #[must_use]
    pub fn verifier(self) -> HistoryVerifier<G> {
        let mut combination = Combination::new(&self.session);
        let operands = operands(&mut combination, &self);
        HistoryVerifier { last: self, steps: Vec::new(), combination, operands }
    }

    /// The first halves of all entries of a ballot.
    fn first_halves(&self, ballot: usize) -> Vec<G::Element> {
        match &self.tables {
            Some(tables) => tables[ballot].entries.iter().map(|entry| entry.u).collect(),
            None => self.session.initial_randomness(ballot).iter().map(G::mul_base).collect(),
        }
    }
}

/// T after one more step: what [`History::trail`] becomes. Before the first step it is
/// [`Session::binding`].
#[must_use]
pub fn trail_after(trail: &Digest, visitor: usize, previous: &Digest, step: &[u8]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/onepass/trail");
    transcript.field(&trail.0).number(visitor as u64).field(&previous.0).field(step).finish()
}

/// The operands of a history's tables.
fn operands<G: Group>(combination: &mut Combination<G>, history: &History<G>) -> Vec<Operand> {
    match &history.tables {
        Some(tables) => combination.tables(tables),
        None => vec![Operand::Initial; history.session.ballots().len()],
    }
}

/// A step that was decoded, with what was before it.
struct Pushed<G: Group> {
    before: History<G>,
    visitor: usize,
    statement: Statement<G>,
    step: Step<G>,
}

/// Verifies steps together: decodes and takes them in one by one, so that progress can be shown,
/// and decides at the end.
pub struct HistoryVerifier<G: Group> {
    /// The course with all steps taken in; unverified.
    last: History<G>,
    steps: Vec<Pushed<G>>,
    combination: Combination<G>,
    /// Where the last tables stand in the combination.
    operands: Vec<Operand>,
}

impl<G: Group> HistoryVerifier<G> {
    /// How many steps were taken in, those of the history that it started from included.
    #[must_use]
    pub fn position(&self) -> usize {
        self.last.arrived.len()
    }

    /// H1, H2: takes in the next step, as its visitor (by the caller's signed record) made it when
    /// `previous` was the head of the caller's chain. If it returns an error the step is not taken
    /// in, and another one may follow.
    ///
    /// # Errors
    /// If the step can be refused at once. That it is accepted here says nothing of its proof.
    pub fn push(
        &mut self,
        visitor: usize,
        previous: &Digest,
        step: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<(), HistoryError> {
        let position = self.position();
        let before = &self.last;
        let error = |fault| HistoryError { position, visitor, fault };
        if visitor >= before.session.visitors().len() {
            return Err(error(StepFault::UnknownVisitor));
        }
        if before.has_arrived(visitor) {
            return Err(error(StepFault::Repeated));
        }
        let decoded = Step::from_bytes(&before.session, position, step).map_err(error)?;
        let maps = before.maps();
        check_rerandomised(before, &decoded, &maps).map_err(error)?;
        let statement =
            before.statement(visitor, previous, &step[..before.session.tables_bytes(position)]);
        let after = before.after(visitor, previous, step, Arc::new(decoded.tables.clone()));
        let new = self.combination.tables(&decoded.tables);
        let equations = Equations {
            session: &before.session,
            statement: &statement,
            visitor,
            remaining: &after.remaining(),
            proofs: &decoded.proofs,
            maps: &maps,
            old: &self.operands,
            new: &new,
        };
        self.combination.add_step(&equations, rng);
        self.operands = new;
        let before = std::mem::replace(&mut self.last, after);
        self.steps.push(Pushed { before, visitor, statement, step: decoded });
        Ok(())
    }

    /// H3, H4: decides about all steps together.
    ///
    /// # Errors
    /// If one does not hold; the error names the first such one.
    pub fn finish(self, rng: &mut impl CryptoRng) -> Result<History<G>, HistoryError> {
        if self.combination.is_identity() {
            return Ok(self.last);
        }
        for pushed in &self.steps {
            if !holds_alone(pushed, rng) {
                let (position, visitor) = (pushed.before.arrived.len(), pushed.visitor);
                return Err(HistoryError { position, visitor, fault: StepFault::Proof });
            }
        }
        // Every step holds alone, so all do.
        Ok(self.last)
    }
}

/// H1: no entry may have the first half of an entry that it could come from, whatever the value.
fn check_rerandomised<G: Group>(
    before: &History<G>,
    step: &Step<G>,
    maps: &[RowMaps],
) -> Result<(), StepFault> {
    for (ballot, (table, maps)) in step.tables.iter().zip(maps).enumerate() {
        let old = before.first_halves(ballot);
        for map in maps.iter() {
            let same = |(_, (entry, old_entry)): &(
                usize,
                (&crate::group::elgamal::Ciphertext<G>, &usize),
            )| { entry.u == old[**old_entry] };
            if let Some((entry, _)) = table.entries.iter().zip(map).enumerate().find(same) {
                return Err(StepFault::NotRerandomised { ballot, entry });
            }
        }
    }
    Ok(())
}

/// H4: whether one step's equations hold.
fn holds_alone<G: Group>(pushed: &Pushed<G>, rng: &mut impl CryptoRng) -> bool {
    let Pushed { before, visitor, statement, step } = pushed;
    let mut combination = Combination::new(&before.session);
    let old = operands(&mut combination, before);
    let new = combination.tables(&step.tables);
    let remaining: Vec<usize> =
        before.remaining().into_iter().filter(|other| other != visitor).collect();
    let maps = before.maps();
    let equations = Equations {
        session: &before.session,
        statement,
        visitor: *visitor,
        remaining: &remaining,
        proofs: &step.proofs,
        maps: &maps,
        old: &old,
        new: &new,
    };
    combination.add_step(&equations, rng);
    combination.is_identity()
}

/// Verifies all steps of a session so far: for each the visitor, the head of the caller's chain
/// before it, and its bytes.
///
/// # Errors
/// If a step is refused; the error names it.
pub fn verify_history<G: Group>(
    session: Arc<Session<G>>,
    steps: &[(usize, Digest, &[u8])],
    rng: &mut impl CryptoRng,
) -> Result<History<G>, HistoryError> {
    let mut verifier = History::start(session).verifier();
    for (visitor, previous, step) in steps {
        verifier.push(*visitor, previous, step, rng)?;
    }
    verifier.finish(rng)
}

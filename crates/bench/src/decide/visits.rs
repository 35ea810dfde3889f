//! A one-pass session with everybody's secrets, in the middle of its course: to measure what one
//! visit costs.

use std::sync::Arc;

use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, Secret, Stream};
use ostrakon_onepass::{
    Ballot, Helpers, History, HistoryVerifier, OneTimeKey, Ristretto, Session, SessionError,
    SessionId, Visitor,
};

/// Operators of a session, as in a deployment.
const OPERATORS: usize = 3;

/// The form of a session: everybody answers `ballots` questions of `values` options each, all
/// decided by plurality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Who may come.
    pub visitors: usize,
    /// Options of a ballot.
    pub values: u16,
    /// Ballots.
    pub ballots: usize,
}

/// A session in which the first visitors have come, in the order of the roster; the next one's
/// visit can be repeated.
pub struct Visits {
    session: Arc<Session<Ristretto>>,
    seeds: Vec<Secret>,
    steps: Vec<(Digest, Vec<u8>)>,
    rng: Stream,
}

impl Visits {
    /// A session, decided by a seed, in which `before` visitors have come.
    ///
    /// # Errors
    /// If the session would be beyond the protocol's limits.
    ///
    /// # Panics
    /// If `before` leaves nobody to come.
    pub fn new(form: Form, before: usize, seed: u64) -> Result<Self, SessionError> {
        assert!(before < form.visitors, "somebody has to be left");
        let secret = Secret::new(digest("ostrakon/v1/bench/visits", &seed.to_le_bytes()).0);
        let seed_of =
            |place: usize| secret.derive("ostrakon/v1/bench/visits key", &[&place.to_le_bytes()]);
        let seeds: Vec<Secret> = (0..form.visitors + OPERATORS).map(seed_of).collect();
        let key = |seed| OneTimeKey::<Ristretto>::from_seed(seed, Helpers::none()).layer_key();
        let mut keys: Vec<_> = seeds.iter().map(key).collect();
        let operators = keys.split_off(form.visitors);
        let ballot = |_| Ballot::from_function(form.values, form.visitors, most);
        let ballots = (0..form.ballots).map(ballot).collect::<Result<_, _>>()?;
        let id = SessionId(digest("ostrakon/v1/bench/visits session", &seed.to_le_bytes()));
        let session = Arc::new(Session::new(id, keys, operators, Helpers::none(), ballots)?);
        let rng = Stream::of(
            secret.derive("ostrakon/v1/bench/visits randomness", &[]),
            "ostrakon/v1/bench/visits stream",
        );
        let mut visits = Self { session: session.clone(), seeds, steps: Vec::new(), rng };
        let mut history = History::start(session);
        for visitor in 0..before {
            let (previous, step) = (head(&history), visits.step(&history));
            let mut verifier = history.verifier();
            verifier.push(visitor, &previous, &step, &mut visits.rng).expect("an honest step");
            history = verifier.finish(&mut visits.rng).expect("an honest step");
            visits.steps.push((previous, step));
        }
        Ok(visits)
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session<Ristretto> {
        &self.session
    }

    /// The first part of the visit: every earlier step decoded and taken in.
    ///
    /// # Panics
    /// Never: all steps are honest.
    pub fn decode(&mut self) -> HistoryVerifier<Ristretto> {
        let mut verifier = History::start(self.session.clone()).verifier();
        for (visitor, (previous, step)) in self.steps.iter().enumerate() {
            verifier.push(visitor, previous, step, &mut self.rng).expect("an honest step");
        }
        verifier
    }

    /// The second part: the decision about all of them.
    ///
    /// # Panics
    /// Never: all steps are honest.
    pub fn verify(&mut self, verifier: HistoryVerifier<Ristretto>) -> History<Ristretto> {
        verifier.finish(&mut self.rng).expect("honest steps")
    }

    /// The third part: the visitor's own step with its proof, encoded. The last option of every
    /// ballot is chosen.
    ///
    /// # Panics
    /// If the history is of another session.
    pub fn step(&mut self, history: &History<Ristretto>) -> Vec<u8> {
        let place = history.arrived().len();
        let key = OneTimeKey::from_seed(&self.seeds[place], Helpers::none());
        let visitor = Visitor::new(history, place, key).expect("comes for the first time");
        let choices: Vec<u16> =
            self.session.ballots().iter().map(|ballot| ballot.values() - 1).collect();
        visitor
            .visit(history, &choices, &head(history), &mut self.rng)
            .expect("choices within range")
            .to_bytes()
    }
}

/// The head of a chain that consists of steps only.
fn head(history: &History<Ristretto>) -> Digest {
    digest("ostrakon/v1/bench/visits head", &history.trail().0)
}

/// The option that was picked most often; of several the first.
fn most(counts: &[u16]) -> u32 {
    let most = counts.iter().max();
    counts.iter().position(|count| Some(count) == most).map_or(0, |place| place as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_visit_is_one_that_others_accept() {
        let form = Form { visitors: 4, values: 3, ballots: 2 };
        let mut visits = Visits::new(form, 2, 7).unwrap();
        let verifier = visits.decode();
        let history = visits.verify(verifier);
        assert_eq!(history.arrived(), [0, 1]);
        let step = visits.step(&history);
        assert_eq!(step.len(), visits.session().step_bytes(2));
        let (mut verifier, previous) = (visits.decode(), head(&history));
        verifier.push(2, &previous, &step, &mut visits.rng).unwrap();
        assert_eq!(visits.verify(verifier).arrived(), [0, 1, 2]);
    }
}

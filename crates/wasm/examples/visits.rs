//! A visit of the one-pass protocol, and a report of a number, for `cargo xtask bench-wasm` to
//! measure in a browser. It is no part of the page.

/// The sessions that the benchmark measures natively, too.
#[path = "../../bench/src/decide/visits.rs"]
pub mod sessions;

use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_onepass::{History, HistoryVerifier, Ristretto};
use ostrakon_stats::{Committee, ExchangeKey, Form, Question, Scope, Statistic, Value, report};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// A session in which some visitors have come. The three parts of the next visit are called one
/// after the other.
#[wasm_bindgen]
pub struct Visits {
    visits: sessions::Visits,
    verifier: Option<HistoryVerifier<Ristretto>>,
    history: Option<History<Ristretto>>,
}

#[wasm_bindgen]
impl Visits {
    /// `visitors` people answer `ballots` ballots of `values` options; `before` of them have come.
    ///
    /// # Errors
    /// If that is beyond the protocol's limits.
    #[wasm_bindgen(constructor)]
    pub fn new(
        visitors: usize,
        values: u16,
        ballots: usize,
        before: usize,
    ) -> Result<Visits, JsError> {
        let visits =
            sessions::Visits::new(sessions::Form { visitors, values, ballots }, before, 1)?;
        Ok(Self { visits, verifier: None, history: None })
    }

    /// Decodes every earlier step.
    pub fn decode(&mut self) {
        self.verifier = Some(self.visits.decode());
    }

    /// Verifies them.
    pub fn verify(&mut self) {
        let verifier = self.verifier.take().expect("decode() comes first");
        self.history = Some(self.visits.verify(verifier));
    }

    /// Makes the own step; its length.
    pub fn step(&mut self) -> usize {
        let history = self.history.take().expect("verify() comes first");
        self.visits.step(&history).len()
    }
}

/// Somebody who is asked for a number of 32 bits by a committee.
#[wasm_bindgen]
pub struct Reporter {
    committee: Committee,
    question: Question,
    key: SigningKey,
}

#[wasm_bindgen]
impl Reporter {
    /// A committee of so many members.
    ///
    /// # Errors
    /// If there is none of so many.
    #[wasm_bindgen(constructor)]
    pub fn new(members: u8) -> Result<Reporter, JsError> {
        let member = |i: u8| {
            let exchange = ExchangeKey::from_seed(&Secret::new([i + 1; 32]));
            exchange.member(&SigningKey::from_seed(&[i + 1; 32]))
        };
        let committee = Committee::new((0..members).map(member).collect())?;
        let (form, statistics) = (Form::Number { width: 32 }, vec![Statistic::Quantile(500)]);
        let text = "How many?".into();
        let question = Question { text, form, minimum: 10, statistics, epsilon: None };
        Ok(Self { committee, question, key: SigningKey::from_seed(&[200; 32]) })
    }

    /// Makes a report; its length.
    ///
    /// # Errors
    /// Never: the number is one that is asked for.
    pub fn report(&self, number: u32) -> Result<usize, JsError> {
        let Self { committee, question, key } = self;
        let scope = Scope { subject: Digest([7; 32]), committee, question, number: 0 };
        let randomness = Secret::new([9; 32]);
        Ok(report::make(&scope, &Value::Number(number.into()), key, &randomness)?.len())
    }
}

//! A visit of the one-pass protocol, for `cargo xtask bench-wasm` to measure in a browser. It is no
//! part of the page.

/// The sessions that the benchmark measures natively, too.
#[path = "../../bench/src/decide/visits.rs"]
pub mod sessions;

use ostrakon_onepass::{History, HistoryVerifier, Ristretto};
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

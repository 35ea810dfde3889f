//! How a decision is begun (docs/spec/visitor.md, V7).

mod inner;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::deciding::Deployment;
use crate::taking_part::millis;
use crate::{DeviceKey, shown};

/// The beginning of a decision. Times are milliseconds since 1970. After every call
/// [`DecisionBeginning::actions`] are to be done, and the machine is to be woken at
/// [`DecisionBeginning::wake_at`].
#[wasm_bindgen]
pub struct DecisionBeginning(inner::Beginning);

#[wasm_bindgen]
impl DecisionBeginning {
    /// By its creator, of a draft (JSON). `seed` is 32 fresh random bytes.
    ///
    /// # Errors
    /// If the draft is malformed or breaks a limit, or the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(
        deployment: &Deployment,
        creator: &DeviceKey,
        draft: &str,
        seed: &[u8],
    ) -> Result<DecisionBeginning, JsError> {
        inner::Beginning::new(deployment.0, &creator.seed, draft, seed).map(Self).map_err(shown)
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.machine.wake(millis(now));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.machine.replied(millis(now), u64::from(id), status, body.as_bytes());
    }

    /// What must not be lost is written down, or could not be: then nothing begins.
    pub fn kept(&mut self, now: f64, written: bool) {
        self.0.machine.kept(millis(now), written);
    }

    /// What is to be done since it was asked last: JSON of a list of `{do: "ask", …}`, as of a
    /// visitor, of which what is posted to `decisions` goes with what the server's policy asks for;
    /// `{do: "keep"}`: write down what must not be lost, such as the invitations, and call
    /// [`DecisionBeginning::kept`]; `{do: "forget"}`: there will be no such decision; `{do:
    /// "stocked"}`, where the creator decides, too: nothing more is done at the stock; `{do:
    /// "begun"}`; `{do: "shown"}`, so many servers show it that one of them is honest; `{do:
    /// "late"}`, they do not; and `{do: "failed", failure: {kind, …}}`, or `{do: "doubtful", …}` if
    /// perhaps it was begun all the same, with `kind` one of `refused` (`detail`), `layer`
    /// (`party`), `server` (`party`, `status`, `detail`), `away` (`party`), `altered` or
    /// `not-kept`.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.machine.wake_at() as f64
    }
}

//! What servers are asked about a join link, and when (docs/spec/visitor.md, V9).

mod inner;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::shown;
use crate::taking_part::millis;

/// Milliseconds from one look at a join link until the next one.
#[wasm_bindgen(js_name = lookAgain)]
pub fn look_again() -> f64 {
    ostrakon_client::joining::LOOK_AGAIN as f64
}

/// Something that all servers of a join link are asked. Times are milliseconds since 1970. After
/// every call [`JoinCanvass::actions`] are to be done, and the machine is to be woken at
/// [`JoinCanvass::wake_at`].
#[wasm_bindgen]
pub struct JoinCanvass(inner::Canvass);

#[wasm_bindgen]
impl JoinCanvass {
    /// Asks for what `call` says, JSON: `{keep: LINK}`, `{show: ID}`, `{take: {link: ID,
    /// request}}`, `{requests: {link: ID, time, signature}}` or `{say: {link: ID, word}}`, with
    /// bytes in base64url. `seed` is 32 fresh random bytes.
    ///
    /// # Errors
    /// If it is malformed, or the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(call: &str, seed: &[u8]) -> Result<JoinCanvass, JsError> {
        inner::Canvass::new(call, seed).map(Self).map_err(shown)
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.machine.wake(millis(now));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.machine.replied(millis(now), u64::from(id), status, body.as_bytes());
    }

    /// What is to be done since it was asked last: JSON of a list of `{do: "ask", …}`, as of a
    /// visitor, of which what is posted to `gatherings` goes with what the server's policy asks
    /// for; and, as its end, `{do: "done", answers}`, with what those servers show that have
    /// something to show, or `{do: "failed", party, status, detail}`, with 0 for silence.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.machine.wake_at() as f64
    }
}

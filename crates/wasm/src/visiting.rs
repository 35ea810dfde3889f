//! A person's visit to a decision, and the stock of an account's keys (docs/spec/visitor.md): what
//! is asked of the servers and when, what of that is believed, and what is written down before
//! anything that depends on it leaves.

mod inner;
mod told;

use ostrakon_decide::Invitation;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::deciding::{DecisionMemory, Deployment};
use crate::taking_part::millis;
use crate::{DeviceKey, shown};

/// A visitor of a decision. Times are milliseconds since 1970. After every call
/// [`DecisionVisitor::actions`] are to be done, and the machine is to be woken at
/// [`DecisionVisitor::wake_at`].
#[wasm_bindgen]
pub struct DecisionVisitor(inner::Visitor);

#[wasm_bindgen]
impl DecisionVisitor {
    /// A visitor under a device's account. `invitation` is the last part of the link, if it has
    /// one; `seed` is 32 fresh random bytes, from which also one-time keys and the blinding of
    /// answers are drawn.
    ///
    /// # Errors
    /// If `decision` is no decision's id, the invitation is incomplete, or the seed has another
    /// length.
    #[wasm_bindgen(constructor)]
    pub fn new(
        deployment: &Deployment,
        decision: &str,
        invitation: Option<String>,
        account: &DeviceKey,
        seed: &[u8],
    ) -> Result<DecisionVisitor, JsError> {
        let incomplete = || shown("the invitation is incomplete: copy the whole link");
        let read = |text: String| Invitation::from_text(&text).ok_or_else(incomplete);
        let invitation = invitation.map(read).transpose()?;
        let made = inner::Visitor::new(deployment.0, decision, invitation, &account.seed, seed);
        made.map(Self).map_err(shown)
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.machine.wake(millis(now));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.machine.replied(millis(now), u64::from(id), status, body.as_bytes());
    }

    /// Takes note of what was seen and, if answers are to be given, fixes them, in the memory of
    /// this device. That is to be written down, and then [`DecisionVisitor::kept`] to be called.
    pub fn keep(&mut self, memory: &mut DecisionMemory) {
        self.0.machine.keep(&mut memory.0);
    }

    /// What was noted last is written down, or could not be: then nothing that depends on it
    /// leaves, and it is asked for again.
    pub fn kept(&mut self, now: f64, written: bool) {
        self.0.machine.kept(millis(now), written);
    }

    /// Accepts. `false` if that is wanted already, as of all that a person does here.
    pub fn accept(&mut self, now: f64) -> bool {
        self.0.machine.accept(millis(now))
    }

    /// Gives one answer for each ballot. From here on they cannot be changed.
    pub fn answer(&mut self, now: f64, answers: &[u8]) -> bool {
        self.0.machine.answer(millis(now), answers)
    }

    /// Hands in again what was fixed before this visit and is not known to have arrived. Whether
    /// there is such.
    pub fn resume(&mut self, now: f64) -> bool {
        self.0.machine.resume(millis(now))
    }

    /// As the creator: takes a person off the list.
    pub fn remove(&mut self, now: f64, person: u16) -> bool {
        self.0.remove(millis(now), person)
    }

    /// As the creator: calls the decision off.
    pub fn cancel(&mut self, now: f64) -> bool {
        self.0.cancel(millis(now))
    }

    /// Says to the others that everything was checked.
    #[wasm_bindgen(js_name = sayVerified)]
    pub fn say_verified(&mut self, now: f64) -> bool {
        self.0.say_verified(millis(now))
    }

    /// What is to be done, or is known, since it was asked last: JSON of a list of `{do: "ask", id,
    /// party, path, body, bytes, patience}`, as of a participant; `{do: "keep"}`, see
    /// [`DecisionVisitor::keep`]; and `{do: "tell", at, …}` with `at` one of `verifying` (`done`,
    /// `all`), `away` (`said: {status, detail}`, what a server says if none shows the decision, or
    /// `null`), `alone`, `read`, `not-kept`, `refused` (`doubt`), `done` (`deed`), `failed`
    /// (`deed`, `failure: {kind, …}`) or `signed`.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.machine.wake_at() as f64
    }

    /// How the visit stands: JSON of `{account, wanted, pending, receipt, distrusted: [{party,
    /// doubt}], refusals: [{party, detail}], outcome, unresolved}`. `account` is the public key of
    /// the account that takes part; `wanted` is what is to be done, the first thing now; a doubt is
    /// `{finding, detail}`, and its finding `{kind, …}` with `kind` one of `decision`, `signature`,
    /// `rule`, `forked` (with `number`), `key` (`number`, `whose`), `step` (`number`, `name`),
    /// `shorter` (`shown`, `seen`), `opening` (`party`), `different`, `no-result`, `other`.
    pub fn here(&self) -> String {
        self.0.here()
    }

    /// What was read, as JSON: the report of an archive, with `missing`, `answered`, `remaining`,
    /// `creator`, `owners` (by person, key or null) and `seats` (by person, as in the draft)
    /// besides. `undefined` before the first record. Show it once `read` is told.
    pub fn view(&self) -> Option<String> {
        self.0.view()
    }

    /// The digest of record `number`, 64 hexadecimal digits.
    pub fn digest(&self, number: u32) -> Option<String> {
        self.0.machine.visit().digest(number).map(|digest| digest.to_hex())
    }

    /// What could be learned of a person's answers by those who come later, as JSON `{before,
    /// after, results, everything}`.
    pub fn residual(&self, person: u16) -> Option<String> {
        self.0.residual(person)
    }

    /// The text of an archive of all that was read. `servers` is the answer of `GET
    /// /api/v1/servers`.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn archive(&self, servers: &str) -> Result<String, JsError> {
        self.0.archive(servers).map_err(shown)
    }
}

/// Fills the stock of one-time keys with which an account can be asked while it is away. To be
/// driven as [`DecisionVisitor`] is.
#[wasm_bindgen]
pub struct KeyStock(inner::Stock);

#[wasm_bindgen]
impl KeyStock {
    /// Of an account, up to what the server wants and to `most` keys. `seed` is 32 fresh random
    /// bytes, from which the keys are drawn.
    ///
    /// # Errors
    /// If the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(
        deployment: &Deployment,
        account: &DeviceKey,
        most: Option<u32>,
        seed: &[u8],
    ) -> Result<KeyStock, JsError> {
        inner::Stock::new(deployment.0, &account.seed, most, seed).map(Self).map_err(shown)
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.machine.wake(millis(now));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.machine.replied(millis(now), u64::from(id), status, body.as_bytes());
    }

    /// What is to be done since it was asked last: JSON of a list of `{do: "ask", …}`, `{do:
    /// "full", added}`, the stock is filled, and `{do: "failed", failure}`, it is not and will not
    /// be now.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.machine.wake_at() as f64
    }
}

//! Taking part in a room (docs/spec/participant.md): which requests leave the device, and when.

pub(crate) mod inner;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::messaging::Messenger;
use crate::{DeviceKey, Outbox, shown};

/// A device's participant in a room. Times are milliseconds since 1970. After every call
/// [`Participant::actions`] are to be done, and the machine is to be woken at
/// [`Participant::wake_at`].
#[wasm_bindgen]
pub struct Participant(inner::Participant);

#[wasm_bindgen]
impl Participant {
    /// A participant under a key. `servers` is the answer of `GET /api/v1/servers`; `seed` is 32
    /// fresh random bytes; `before` is the server at which it is present at first, if it answers.
    ///
    /// # Errors
    /// If one of the documents is malformed, or the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(
        servers: &str,
        descriptor: &str,
        key: &DeviceKey,
        seed: &[u8],
        before: Option<u8>,
    ) -> Result<Participant, JsError> {
        let made = inner::Participant::new(servers, descriptor, &key.seed, seed, before);
        made.map(Self).map_err(shown)
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.wake(millis(now));
    }

    /// A server has said how the room stands, in its answer as it `came` then; or it does not
    /// answer.
    pub fn heard(&mut self, now: f64, party: u8, status: Option<String>, came: f64) {
        self.0.heard(millis(now), party, status.as_deref(), millis(came));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.replied(millis(now), id, status, body);
    }

    /// Decides what goes into an epoch with this minimum, as an action asked for, from an outbox:
    /// its message or a cover. What [`Outbox::save`] says is to be kept, and then
    /// [`Participant::filled`] to be called.
    pub fn fill(&mut self, outbox: &mut Outbox, epoch: u64, minimum: u32) {
        self.0.fill(&mut outbox.0, epoch, minimum);
    }

    /// The same from a messages client: its row. What [`Messenger::seal`] says is to be kept.
    #[wasm_bindgen(js_name = fillRow)]
    pub fn fill_row(&mut self, messenger: &mut Messenger, epoch: u64, minimum: u32) {
        self.0.fill_row(&mut messenger.0, epoch, minimum);
    }

    /// What was decided last is written down, or could not be: then nothing leaves, and it is asked
    /// for again.
    pub fn filled(&mut self, now: f64, kept: bool) {
        self.0.filled(millis(now), kept);
    }

    /// What is to be done since it was asked last: JSON of a list of `{do: "ask", id, party, path,
    /// body, bytes, patience}`, a request to a server below `/api/v1/`, with a body to be posted or
    /// `null`, which is JSON or, if `bytes` says so, bytes in base64url, and which has so many
    /// milliseconds to be answered; `{do: "fill", epoch, minimum}`, see [`Participant::fill`]; and
    /// `{do: "tell", at, home, epoch}`, where the participant stands.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.wake_at() as f64
    }
}

pub(crate) fn millis(time: f64) -> u64 {
    // A clock that is out of its range is at one end of it.
    time as u64
}

//! Rooms without a clock for the page: what a link pins, and a device that visits their servers
//! (docs/spec/asynchromix.md, section 18).

mod inner;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::shown;

/// A room without a clock, checked.
#[wasm_bindgen]
pub struct MixRoom(inner::MixRoom);

#[wasm_bindgen]
impl MixRoom {
    /// From the answer of `GET /api/v1/mix`; `digest` is the link's.
    ///
    /// # Errors
    /// If it is malformed, or another room.
    #[wasm_bindgen(constructor)]
    pub fn new(description: &str, digest: &str) -> Result<MixRoom, JsError> {
        inner::MixRoom::new(description, digest).map(Self).map_err(shown)
    }

    /// What it is: JSON of
    /// `{name, servers: [{name, url}], corrupt, places, limit, seconds, minimum, open}`.
    pub fn about(&self) -> String {
        self.0.about()
    }

    /// A device that watches.
    pub fn watch(&self) -> MixVisitor {
        MixVisitor(self.0.watch())
    }

    /// A device that takes part, with what it kept, or with a link's seed, or anew.
    ///
    /// # Errors
    /// If what was kept is not of this room, or the browser has no randomness.
    #[wasm_bindgen(js_name = takePart)]
    pub fn take_part(
        &self,
        kept: Option<Vec<u8>>,
        seed: Option<String>,
    ) -> Result<MixVisitor, JsError> {
        let visitor = self.0.take_part(kept.as_deref(), seed.as_deref());
        visitor.map(MixVisitor).map_err(shown)
    }
}

/// A device in a room without a clock.
#[wasm_bindgen]
pub struct MixVisitor(ostrakon_asynchromix::Visitor);

#[wasm_bindgen]
impl MixVisitor {
    /// Some time has passed: four times a second.
    pub fn tick(&mut self) {
        self.0.tick();
    }

    /// What server `server` is to be asked now, for `POST /api/v1/mix`.
    /// [`MixVisitor::kept`] must have been kept before.
    pub fn ask(&mut self, server: u8) -> Vec<u8> {
        self.0.ask(ostrakon_party::PartyId(server))
    }

    /// Takes a server's answer; the news: JSON of `[{kind, epoch}]` with kind `in`, `published`,
    /// `covered`, `again` or `unknown`.
    ///
    /// # Errors
    /// If it is no answer.
    pub fn take(&mut self, server: u8, answer: &[u8]) -> Result<String, JsError> {
        inner::take(&mut self.0, server, answer).map_err(shown)
    }

    /// What this device must keep before anything more leaves it; `undefined` if it only watches.
    pub fn kept(&mut self) -> Option<Vec<u8>> {
        inner::kept(&mut self.0)
    }

    /// Takes a message to be said.
    ///
    /// # Errors
    /// While the message before is not published, or if it is too long.
    pub fn say(&mut self, text: &str) -> Result<(), JsError> {
        self.0.say(text.as_bytes().to_vec()).map_err(shown)
    }

    /// Gives the message back, so that it is not said; `undefined` if it is handed in.
    #[wasm_bindgen(js_name = takeBack)]
    pub fn take_back(&mut self) -> Option<String> {
        self.0.take_back().map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// How the room and the own message stand: JSON of `{entries, epoch, places, rows, waited,
    /// mixing, ready, ended, convicted, silent, admitted, message, handed, covers, left_out, in}`.
    pub fn here(&self) -> String {
        inner::here(&self.0)
    }

    /// Entries of the board from `first` on: JSON of `[{epoch, accepted, few, messages}]`.
    pub fn entries(&self, first: f64) -> String {
        inner::entries(&self.0, first)
    }
}

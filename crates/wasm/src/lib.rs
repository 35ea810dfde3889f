//! What the page in the browser computes: keys, signatures, submissions, and the checks of
//! everything it is shown.
//!
//! Thin bindings over the same crates that servers and the command line use. Texts and JSON
//! documents of the HTTP API come in as they were received; errors are sentences to be shown. No
//! clock and no network here; the only randomness is a fresh device key's. What `inner` does is
//! tested natively, without a browser.

mod acting;
mod arriving;
mod asking;
mod beginning;
mod changes;
mod deciding;
#[cfg(test)]
#[path = "../../client/tests/traces/exchange.rs"]
mod exchange;
mod following;
mod hosting;
mod inner;
mod messaging;
mod mixing;
mod randomness;
mod taking_part;
mod visiting;

use ostrakon_broadcast::outbox;
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::{RoomId, link, room};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use zeroize::Zeroizing;

fn shown(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

/// A participant's key pair. It stays on the device that made it.
#[wasm_bindgen]
pub struct DeviceKey {
    seed: Zeroizing<[u8; 32]>,
    key: SigningKey,
}

impl DeviceKey {
    /// The key under which its owner asks by a join link.
    pub(crate) fn joining(
        &self,
        operators: &ostrakon_decide::Operators,
        id: &ostrakon_decide::GatheringId,
    ) -> DeviceKey {
        let seed = ostrakon_decide::keys::joining_seed(&self.key, operators, id);
        Self::of(Zeroizing::new(*seed.expose()))
    }

    fn of(seed: Zeroizing<[u8; 32]>) -> Self {
        Self { key: SigningKey::from_seed(&seed), seed }
    }
}

#[wasm_bindgen]
impl DeviceKey {
    /// A new key from the browser's generator.
    ///
    /// # Errors
    /// If the browser has no cryptographic generator.
    #[expect(clippy::disallowed_methods, reason = "the browser is an edge: here randomness enters")]
    pub fn generate() -> Result<DeviceKey, JsError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut())
            .map_err(|_| shown("this browser offers no secure random numbers"))?;
        Ok(Self { key: SigningKey::from_seed(&seed), seed })
    }

    /// The key whose [`DeviceKey::seed`] was kept.
    ///
    /// # Errors
    /// If the seed does not have 32 bytes.
    #[wasm_bindgen(js_name = fromSeed)]
    pub fn from_seed(seed: &[u8]) -> Result<DeviceKey, JsError> {
        let seed: [u8; 32] = seed.try_into().map_err(|_| shown("a device key has 32 bytes"))?;
        Ok(Self { key: SigningKey::from_seed(&seed), seed: Zeroizing::new(seed) })
    }

    /// The secret from which the key is made again: 32 bytes.
    pub fn seed(&self) -> Vec<u8> {
        self.seed.to_vec()
    }

    /// The key of an invitation or of a host: from the last part of its link.
    ///
    /// # Errors
    /// If the text is no such part.
    #[wasm_bindgen(js_name = fromInvitation)]
    pub fn from_invitation(text: &str) -> Result<DeviceKey, JsError> {
        let invitation = link::Invitation::from_text(text);
        Self::from_seed(
            &invitation
                .ok_or_else(|| shown("the invitation is incomplete: copy the whole link"))?
                .0,
        )
    }

    /// The secret as the last part of a link, for whom it invites or makes host.
    pub fn invitation(&self) -> String {
        link::Invitation(*self.seed).to_text()
    }

    /// The public half: 64 hexadecimal digits.
    #[wasm_bindgen(js_name = publicKey)]
    pub fn public_key(&self) -> String {
        self.key.verifying_key().to_hex()
    }
}

/// Whether what a server refused with this HTTP status may succeed later.
#[wasm_bindgen(js_name = refusalPasses)]
pub fn refusal_passes(status: u16) -> bool {
    ostrakon_client::passes(status)
}

/// The digest of a deployment's servers, from the answer of `GET /api/v1/servers`: 64 hexadecimal
/// digits.
///
/// # Errors
/// If the answer is malformed.
#[wasm_bindgen(js_name = serversDigest)]
pub fn servers_digest(servers: &str) -> Result<String, JsError> {
    Ok(inner::servers(servers).map_err(shown)?.digest().to_hex())
}

/// The name of the room that a descriptor (JSON) describes: 32 hexadecimal digits.
///
/// # Errors
/// If the descriptor is malformed or breaks a limit.
#[wasm_bindgen(js_name = roomId)]
pub fn room_id(descriptor: &str) -> Result<String, JsError> {
    Ok(inner::descriptor(descriptor).map_err(shown)?.id().to_hex())
}

/// Bytes of the longest message in a room.
///
/// # Errors
/// As [`room_id`].
#[wasm_bindgen(js_name = messageLimit)]
pub fn message_limit(descriptor: &str) -> Result<usize, JsError> {
    let room = inner::descriptor(descriptor).map_err(shown)?;
    Ok(ostrakon_mixing::RowFormat::new(&room, 0).limit())
}

/// How many of a room's servers must say the same for it to be believed though no signature proves
/// it: then one of them is honest, by what the room's engine bears.
#[wasm_bindgen]
pub fn believed(engine: &str, servers: usize) -> usize {
    inner::trust(engine, servers).believed()
}

/// How many people it takes that a minimum is met, the servers giving out their places evenly.
#[wasm_bindgen(js_name = peopleFor)]
pub fn people_for(minimum: u32, engine: &str, servers: usize) -> u32 {
    room::people_for(minimum, &inner::trust(engine, servers))
}

/// The minimum that suits so many people who are expected.
#[wasm_bindgen(js_name = minimumFor)]
pub fn minimum_for(people: u32, engine: &str, servers: usize) -> u32 {
    room::minimum_for(people, &inner::trust(engine, servers))
}

/// The greatest minimum of a room with so many places.
#[wasm_bindgen(js_name = mostMinimum)]
pub fn most_minimum(capacity: u32, engine: &str, servers: usize) -> u32 {
    room::most_minimum(capacity, &inner::trust(engine, servers))
}

/// The places that suit so many people who are expected: `least`, doubled as often as needed.
#[wasm_bindgen(js_name = placesFor)]
pub fn places_for(people: u32, least: u32) -> u32 {
    ostrakon_client::host::places_for(people, least)
}

/// How many more people have to come until a minimum is met; `present` counts those who are there,
/// by server. Whoever comes goes to the server that has fewest.
#[wasm_bindgen(js_name = moreNeeded)]
pub fn more_needed(present: &[u32], minimum: u32, engine: &str) -> u32 {
    room::more_needed(present, minimum, &inner::trust(engine, present.len()))
}

/// The short code of the room with this id.
///
/// # Errors
/// If `room` is no room's name.
#[wasm_bindgen(js_name = roomCode)]
pub fn room_code(room: &str) -> Result<String, JsError> {
    let room = RoomId::from_hex(room).ok_or_else(|| shown("this is no room's name"))?;
    Ok(room.code())
}

/// A short code as it is written, from what people type; `undefined` if it is none.
#[wasm_bindgen(js_name = tidyCode)]
pub fn tidy_code(typed: &str) -> Option<String> {
    RoomId::tidy_code(typed)
}

/// Reads a link to a room: JSON `{origin, room, servers, invitation}`.
///
/// # Errors
/// If the text is no such link.
#[wasm_bindgen(js_name = parseLink)]
pub fn parse_link(text: &str) -> Result<String, JsError> {
    inner::parse_link(text).map_err(shown)
}

/// The message of this device that is not on the wall yet, and its answers to polls. See
/// [`outbox::Outbox`] for its promises.
#[wasm_bindgen]
#[derive(Default)]
pub struct Outbox(outbox::Outbox);

#[wasm_bindgen]
impl Outbox {
    /// With nothing to say.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Outbox {
        Self::default()
    }

    /// As it was when [`Outbox::save`] was called.
    ///
    /// # Errors
    /// If `saved` is something else.
    pub fn restore(saved: &str) -> Result<Outbox, JsError> {
        serde_json::from_str(saved)
            .map(Outbox)
            .map_err(|_| shown("the saved message cannot be read"))
    }

    /// Its state. It must be kept before anything computed from it leaves the device.
    pub fn save(&self) -> String {
        serde_json::to_string(&self.0).expect("writing plain data into memory does not fail")
    }

    /// Takes a message to be said.
    ///
    /// # Errors
    /// While the message before is not published.
    pub fn put(&mut self, text: &str) -> Result<(), JsError> {
        self.0.put(text.as_bytes().to_vec()).map_err(shown)
    }

    /// The message that is not published yet.
    pub fn message(&self) -> Option<String> {
        self.0.message().map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// The epoch whose outcome decides about the message.
    pub fn undecided(&self) -> Option<u64> {
        self.0.undecided()
    }

    /// The epoch that may have shown the message and did not publish it: it is not said again,
    /// unless it is taken back and put anew.
    pub fn held(&self) -> Option<u64> {
        self.0.held()
    }

    /// Gives the message back, so that it is not said; `undefined` if there is none.
    ///
    /// # Errors
    /// While an epoch may bring it out.
    #[wasm_bindgen(js_name = takeBack)]
    pub fn take_back(&mut self) -> Result<Option<String>, JsError> {
        let message = self.0.take_back().map_err(shown)?;
        Ok(message.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    /// The earliest epoch whose outcome decides about the message or an answer.
    pub fn awaited(&self) -> Option<u64> {
        self.0.awaited()
    }

    /// The answers to polls, as JSON: `[{epoch, poll, state}]` with state `waiting`, `sent`,
    /// `counted` or `missed`.
    pub fn ballots(&self) -> String {
        hosting::ballots(&self.0)
    }

    /// Forgets an answer that was not handed in, to a poll that was withdrawn.
    pub fn withdraw(&mut self, poll: u64) {
        self.0.withdraw(poll);
    }

    /// The user agrees to speak in epochs with this minimum. What was agreed to before stands, if
    /// that was less.
    pub fn agree(&mut self, minimum: u32) {
        self.0.agree(minimum);
    }

    /// The least minimum that the user has agreed to. In an epoch with a lower one nothing is said.
    pub fn agreed(&self) -> Option<u32> {
        self.0.agreed()
    }

    /// Learns from two servers that epoch `number` ended without a board.
    #[wasm_bindgen(js_name = endedWithoutBoard)]
    pub fn ended_without_board(&mut self, number: u64) {
        self.0.ended_without_board(number);
    }

    /// Hears from a server that messages of epoch `number` may have been read although it
    /// publishes none.
    pub fn doubt(&mut self, number: u64) {
        self.0.doubt(number);
    }
}

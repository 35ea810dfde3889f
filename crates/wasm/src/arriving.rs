//! From a link, or one server's address, to the servers and to the room (docs/spec/arriving.md).

pub(crate) mod inner;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::shown;
use crate::taking_part::millis;

/// Somebody's way from a link, to be driven as [`RoomHost`](crate::acting::RoomHost) is.
#[wasm_bindgen]
pub struct Arriving(inner::Arriving);

#[wasm_bindgen]
impl Arriving {
    /// To the servers with the digest `servers`, or those that the one at `origin` names, and to
    /// the room with the id `room`, if there is one. `kept` is what was kept of the room: JSON of
    /// `{servers: TEXT, descriptor}`; what is something else counts as nothing. `seed` is 32 fresh
    /// random bytes.
    ///
    /// # Errors
    /// If the digest or the id is none, or the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(
        origin: &str,
        servers: Option<String>,
        room: Option<String>,
        kept: Option<String>,
        seed: &[u8],
    ) -> Result<Arriving, JsError> {
        let (servers, room, kept) = (servers.as_deref(), room.as_deref(), kept.as_deref());
        inner::Arriving::new(origin, servers, room, kept, seed).map(Self).map_err(shown)
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.machine.wake(millis(now));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.machine.replied(millis(now), u64::from(id), status, body.as_bytes());
    }

    /// What is to be done since it was asked last: JSON of a list of `{do: "ask", …}`, before the
    /// servers are found of the one that is asked first, whatever number it has; `{do: "found",
    /// addresses}`, by number; `{do: "arrived", servers, addresses, entrance, room,
    /// contradicting}`, with the list of servers, where links lead to, `{descriptor, closed}` of
    /// the room if one was looked for, and the numbers of those who name other servers than the
    /// link; and `{do: "failed", failure: {kind, …}}` with `kind` one of `other-servers`,
    /// `other-room`, `unusable` (`why`), `server` (`status`, `detail`), `malformed` (`why`) or
    /// `away`, each but `unusable` with the server's address `at`.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.machine.wake_at() as f64
    }
}

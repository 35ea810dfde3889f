//! Opening a room, acting as its host, and taking an invitation (docs/spec/hosting.md, H1 to H6):
//! what is signed, which server is given it, and when something counts as done.

pub(crate) mod inner;

use std::rc::Rc;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::hosting::HostLog;
use crate::taking_part::millis;
use crate::{DeviceKey, shown};

/// A host who acts in a room. Times are milliseconds since 1970. After every call
/// [`RoomHost::actions`] are to be done, and the machine is to be woken at [`RoomHost::wake_at`].
#[wasm_bindgen]
pub struct RoomHost(inner::Host);

#[wasm_bindgen]
impl RoomHost {
    /// Of a host by its key. What is read and done is in `log`, which others may read, too:
    /// `followed` says that somebody does. `seed` is 32 fresh random bytes.
    ///
    /// # Errors
    /// If the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(
        log: &HostLog,
        key: &DeviceKey,
        followed: bool,
        seed: &[u8],
    ) -> Result<RoomHost, JsError> {
        inner::Host::new(Rc::clone(&log.0), &key.seed, followed, seed).map(Self).map_err(shown)
    }

    /// Does something, when its turn comes; what, is asked then ([`RoomHost::decided`]). The deed's
    /// number, by which it is told of.
    pub fn act(&mut self, now: f64) -> u32 {
        self.0.act(millis(now))
    }

    /// What is to be done, as JSON, for example `{"pin": {"target": {"epoch": 3, "index": 0},
    /// "pinned": true}}` or `"close"`; `undefined` gives it up.
    pub fn decided(&mut self, now: f64, deed: Option<String>) {
        self.0.decided(millis(now), deed.as_deref());
    }

    /// What was signed may leave: it is written down, or whoever closes the page looks at the log
    /// before they say it again.
    pub fn kept(&mut self, now: f64) {
        self.0.kept(millis(now));
    }

    /// Time has passed.
    pub fn wake(&mut self, now: f64) {
        self.0.wake(millis(now));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.replied(millis(now), id, status, body);
    }

    /// What is to be done since it was asked last: JSON of a list of `{do: "ask", id, party, path,
    /// body, bytes, patience}`, as of a participant; `{do: "decide", deed}`, see
    /// [`RoomHost::decided`]; `{do: "keep"}`, see [`RoomHost::kept`]; `{do: "done", deed}`, it is
    /// in the log; and `{do: "failed", deed, failure: {kind, …}}` with `kind` one of `declined`
    /// (`code`, `detail`), `server` (`status`, `detail`), `away`, `busy` or `given-up`.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.wake_at() as f64
    }
}

/// A device that takes an invitation, to be driven as [`RoomHost`] is until the host log has the
/// claim, or shows that the invitation is not to be had.
#[wasm_bindgen]
pub struct InvitationClaim(inner::Claiming);

#[wasm_bindgen]
impl InvitationClaim {
    /// Of an invitation by the key in its link, for a key of the device's own. `servers` is the
    /// answer of `GET /api/v1/servers`; `seed` is 32 fresh random bytes.
    ///
    /// # Errors
    /// If one of the documents is malformed, or the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(
        servers: &str,
        descriptor: &str,
        invitation: &DeviceKey,
        key: &DeviceKey,
        seed: &[u8],
    ) -> Result<InvitationClaim, JsError> {
        let made = inner::Claiming::new(servers, descriptor, &invitation.key, &key.key, seed);
        made.map(Self).map_err(shown)
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.machine.wake(millis(now));
    }

    /// The claim was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.machine.replied(millis(now), u64::from(id), status, body.as_bytes());
    }

    /// What is to be done since it was asked last: JSON of a list of `{do: "ask", …}`, `{do:
    /// "taken"}`, it is in the log by the first server's word, and `{do: "failed", failure}`, it is
    /// claimed again after a while.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.machine.wake_at() as f64
    }
}

/// The opening of a room, to be driven as [`RoomHost`] is.
#[wasm_bindgen]
pub struct RoomOpening(inner::Opening);

#[wasm_bindgen]
impl RoomOpening {
    /// Of a room at servers, `servers` being the answer of `GET /api/v1/servers` of one of them.
    /// Those of `order` are asked to open it: the first one, and each further one if those before
    /// say that it is for another one to do. `wish` is what is posted to `rooms`; `seed` is 32
    /// fresh random bytes.
    ///
    /// # Errors
    /// If one of the documents is malformed, or the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(
        servers: &str,
        order: &[u8],
        wish: &str,
        seed: &[u8],
    ) -> Result<RoomOpening, JsError> {
        inner::Opening::new(servers, order, wish, seed).map(Self).map_err(shown)
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.machine.wake(millis(now));
    }

    /// Looks once more for a room that was opened, and was not shown in time.
    #[wasm_bindgen(js_name = lookAgain)]
    pub fn look_again(&mut self, now: f64) {
        self.0.machine.look_again(millis(now));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        self.0.machine.replied(millis(now), u64::from(id), status, body.as_bytes());
    }

    /// What is to be done since it was asked last: JSON of a list of `{do: "ask", …}`, what is
    /// posted with what the server's policy asks for; `{do: "opened", room, descriptor}`, a server
    /// has opened it as it was asked for; `{do: "shown"}`, so many servers show it that one of them
    /// is honest; `{do: "over"}`, it is not looked for any more; and `{do: "failed", failure:
    /// {kind, …}}` with `kind` one of `server` (`status`, `detail`), `away`, `altered`, or
    /// `other-servers` (`party`).
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.machine.wake_at() as f64
    }
}

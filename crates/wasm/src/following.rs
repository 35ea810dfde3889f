//! Following a room (docs/spec/follower.md): what its servers say, what its hosts did, and its
//! wall. Nothing is believed that is not signed and chained.

pub(crate) mod inner;

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::messaging::Messenger;
use crate::taking_part::millis;
use crate::{Outbox, shown};

/// A device that follows a room. Times are milliseconds since 1970. After every call
/// [`Follower::actions`] are to be done, and the machine is to be woken at [`Follower::wake_at`].
#[wasm_bindgen]
pub struct Follower(pub(crate) Rc<RefCell<inner::Following>>);

#[wasm_bindgen]
impl Follower {
    /// Of a room of which nothing is read. `servers` is the answer of `GET /api/v1/servers`; `seed`
    /// is 32 fresh random bytes.
    ///
    /// # Errors
    /// If one of the documents is malformed, or the seed has another length.
    #[wasm_bindgen(constructor)]
    pub fn new(servers: &str, descriptor: &str, seed: &[u8]) -> Result<Follower, JsError> {
        let following = inner::Following::new(servers, descriptor, seed).map_err(shown)?;
        Ok(Self(Rc::new(RefCell::new(following))))
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: f64) {
        self.0.borrow_mut().machine.wake(millis(now));
    }

    /// A request was answered with this HTTP status; with 0 if there is no answer.
    pub fn replied(&mut self, now: f64, id: u32, status: u16, body: &str) {
        let machine = &mut self.0.borrow_mut().machine;
        machine.replied(millis(now), u64::from(id), status, body.as_bytes());
    }

    /// What is to be done, or is known, since it was asked last: JSON of a list of `{do: "ask", id,
    /// party, path, body, bytes, patience}`, as of a participant; `{do: "heard", party, report:
    /// {reachable, status, came, sealsAt}}`, a server's last word; `{do: "actions", from,
    /// actions}`, what hosts did; `{do: "entries", from, entries}`, of the wall, to be read by
    /// [`Follower::show`] or [`Follower::tell`], and with `keep` as they are to be kept, or else
    /// empty; `{do: "forged", party, why}`; `{do: "informed"}` and `{do: "caught-up"}`, once the
    /// hosts' actions and the wall are read as far as they go.
    pub fn actions(&mut self, keep: bool) -> String {
        self.0.borrow_mut().actions(keep)
    }

    /// When it is to be woken.
    #[wasm_bindgen(js_name = wakeAt)]
    pub fn wake_at(&self) -> f64 {
        self.0.borrow().machine.wake_at() as f64
    }

    /// Shows the entries that came last to `outbox`. Returns JSON `{entries: [{epoch, accepted,
    /// signers, messages, indices, erased, ballots}], published, erased, again}`: `messages` are
    /// the texts, `indices` their places in the entry, `erased` the places of erased ones,
    /// `ballots` the number of answers to polls; `published` says that the outbox's message is
    /// settled: it is among them or, if `erased` says so, only among the erased ones, if at all;
    /// `again` that it enters a later epoch.
    pub fn show(&mut self, outbox: &mut Outbox) -> String {
        self.0.borrow_mut().show(&mut outbox.0)
    }

    /// Has a messages client read the entries that came last. Returns what happened: JSON of a list
    /// of events.
    pub fn tell(&mut self, messenger: &mut Messenger) -> String {
        self.0.borrow_mut().tell(&mut messenger.0)
    }

    /// Reads the wall anew from its beginning.
    pub fn reread(&mut self) {
        self.0.borrow_mut().reread();
    }

    /// Whether no server answers, although all were asked.
    #[wasm_bindgen(js_name = isAlone)]
    pub fn is_alone(&self) -> bool {
        self.0.borrow().machine.is_alone()
    }

    /// Takes what a device has kept of the two lists, from their beginnings (JSON lists), beyond
    /// what is read.
    ///
    /// # Errors
    /// If it does not verify; what came before was taken in.
    pub fn recall(&mut self, actions: &str, entries: &str) -> Result<(), JsError> {
        self.0.borrow_mut().recall(actions, entries).map_err(shown)
    }

    /// The digest of the last entry read, 64 hexadecimal digits: whoever has the same one has read
    /// the same board.
    pub fn head(&self) -> String {
        self.0.borrow().machine.board().head().to_hex()
    }

    /// The last epoch that two servers say is over, once their boards were read.
    pub fn over(&self) -> Option<u64> {
        self.0.borrow().machine.over()
    }

    /// Epochs whose messages may have been read although they published none, as any server says.
    #[wasm_bindgen(js_name = mayHaveOpened)]
    pub fn may_have_opened(&self) -> Vec<u64> {
        self.0.borrow().machine.may_have_opened().collect()
    }
}

//! Messages between two people for the page: contacts, conversations, the row of each round, and
//! the reading of boards.
//!
//! Errors of what the user asks for begin with a name of their kind and a bar, as in `too-long|…`,
//! by which the page says them in its reader's language.

pub(crate) mod inner;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::shown;

/// A messages client in one room. What it knows must be kept ([`Messenger::seal`]) after every
/// change, and before a submission leaves the device.
#[wasm_bindgen]
pub struct Messenger(pub(crate) inner::Messenger);

#[wasm_bindgen]
impl Messenger {
    /// A new client under a name that is told to those whom it calls. `servers` is the answer of
    /// `GET /api/v1/servers`, which the caller has compared with the link; `origin` is where links
    /// of its own lead.
    ///
    /// # Errors
    /// If the name is too long, or rows of the room are too narrow.
    pub fn create(
        servers: &str,
        descriptor: &str,
        origin: &str,
        name: &str,
    ) -> Result<Messenger, JsError> {
        inner::Messenger::create(servers, descriptor, origin, name).map(Self).map_err(shown)
    }

    /// The client that [`Messenger::seal`] wrote under the same key.
    ///
    /// # Errors
    /// If `sealed` is something else, or of another room.
    pub fn open(
        servers: &str,
        descriptor: &str,
        origin: &str,
        key: &[u8],
        sealed: &[u8],
    ) -> Result<Messenger, JsError> {
        inner::Messenger::open(servers, descriptor, origin, key, sealed).map(Self).map_err(shown)
    }

    /// Everything that it knows, encrypted under a key of 32 bytes.
    ///
    /// # Errors
    /// If the key has another length, or the browser has no randomness.
    pub fn seal(&self, key: &[u8]) -> Result<Vec<u8>, JsError> {
        self.0.seal(key).map_err(shown)
    }

    /// What is shown: JSON of `{name, limit, read, contacts: [{number, name, state, code, callable,
    /// added, link, unread, last, waited}], links: [{number, label, link}]}`. `read` is the last
    /// round that is over, `last` the last message, `waited` the rounds since a call went out, of
    /// which there is no answer.
    pub fn view(&self) -> String {
        self.0.view()
    }

    /// What was said with a contact, as far as it is kept: JSON of `[{number, own, text, state,
    /// round}]`.
    pub fn messages(&self, contact: u32) -> String {
        self.0.messages(contact)
    }

    /// The user has seen everything that a contact said.
    #[wasm_bindgen(js_name = markRead)]
    pub fn mark_read(&mut self, contact: u32) {
        self.0.mark_read(contact);
    }

    /// Makes a link of the user's own, and returns its number.
    ///
    /// # Errors
    /// If there are too many.
    #[wasm_bindgen(js_name = addLink)]
    pub fn add_link(&mut self, label: &str) -> Result<u32, JsError> {
        self.0.add_link(label).map_err(shown)
    }

    /// Takes a link back.
    ///
    /// # Errors
    /// If there is no such link.
    pub fn revoke(&mut self, link: u32) -> Result<(), JsError> {
        self.0.revoke(link).map_err(shown)
    }

    /// Keeps somebody's contact link, and returns the contact's number.
    ///
    /// # Errors
    /// If it is none, of another room, or the user's own.
    #[wasm_bindgen(js_name = addContact)]
    pub fn add_contact(&mut self, link: &str, name: &str) -> Result<u32, JsError> {
        self.0.add_contact(link, name).map_err(shown)
    }

    /// The contact that is known by a link, if there is one.
    #[wasm_bindgen(js_name = contactOf)]
    pub fn contact_of(&self, link: &str) -> Option<u32> {
        self.0.contact_of(link)
    }

    /// Forgets a contact and what was said with it.
    ///
    /// # Errors
    /// If there is no such contact.
    #[wasm_bindgen(js_name = removeContact)]
    pub fn remove_contact(&mut self, contact: u32) -> Result<(), JsError> {
        self.0.remove_contact(contact).map_err(shown)
    }

    /// Accepts a contact's call, or calls it, unless there is a conversation.
    ///
    /// # Errors
    /// If no channel is free.
    pub fn engage(&mut self, contact: u32) -> Result<(), JsError> {
        self.0.engage(contact).map_err(shown)
    }

    /// Does not accept a contact's call. Nothing is sent.
    ///
    /// # Errors
    /// If it does not call.
    pub fn decline(&mut self, contact: u32) -> Result<(), JsError> {
        self.0.decline(contact).map_err(shown)
    }

    /// Says something, and sees to it that there is a conversation.
    ///
    /// # Errors
    /// If it is too long, too much waits already, or no channel is free.
    pub fn say(&mut self, contact: u32, text: &str) -> Result<(), JsError> {
        self.0.say(contact, text).map_err(shown)
    }

    /// Ends a conversation, or takes a call back.
    ///
    /// # Errors
    /// If there is neither.
    pub fn end(&mut self, contact: u32) -> Result<(), JsError> {
        self.0.end(contact).map_err(shown)
    }

    /// Learns from two servers that rounds up to this one are over, and that all their boards were
    /// read. Returns what happened: JSON of a list of events.
    pub fn over(&mut self, round: u64) -> String {
        self.0.over(round)
    }

    /// The minimum that a host has lowered below what the user found; then nothing is sent.
    pub fn eased(&self) -> Option<u32> {
        self.0.eased()
    }

    /// The user agrees to hide among so many.
    pub fn agree(&mut self, minimum: u32) {
        self.0.agree(minimum);
    }
}

//! What the bindings compute, without the browser.

use std::collections::BTreeMap;

use ostrakon_broadcast::SignedEntry;
use ostrakon_crypto::Secret;
use ostrakon_messaging::{Client, ContactLink, ContactState, ContactView, Message, Refused, state};
use ostrakon_mixing::link::Link;
use ostrakon_mixing::{RoomDescriptor, RowFormat, Servers};
use serde::{Deserialize, Serialize};

use crate::inner::{descriptor, json, servers};
use crate::randomness::generator;

/// What is shown to the user.
type Sentence = String;
type Shown<T> = Result<T, Sentence>;

/// How what is kept is written ([`state::seal`]); a client alone has another form.
const FORM: u8 = 3;

/// What is kept on the device.
#[derive(Serialize, Deserialize)]
struct Kept {
    client: Client,
    /// By contact, the number of its first message that the user has not seen.
    unseen: BTreeMap<u32, u64>,
    /// By contact, the round before the user called it.
    called: BTreeMap<u32, u64>,
}

/// A client, and the room that it is in.
pub struct Messenger {
    servers: Servers,
    room: RoomDescriptor,
    origin: String,
    kept: Kept,
    /// The row that was made last, and its round: the only one there will ever be for it.
    row: Option<(u64, Vec<u8>)>,
    agreed: Option<u32>,
    eased: Option<u32>,
}

#[derive(Serialize)]
struct View<'a> {
    name: &'a str,
    limit: usize,
    read: Option<u64>,
    contacts: Vec<ContactJson>,
    links: Vec<LinkJson>,
}

#[derive(Serialize)]
struct ContactJson {
    number: u32,
    name: String,
    state: ContactState,
    code: Option<String>,
    callable: bool,
    added: bool,
    link: Option<u32>,
    unread: usize,
    last: Option<Message>,
    waited: Option<u64>,
}

#[derive(Serialize)]
struct LinkJson {
    number: u32,
    label: String,
    link: String,
}

impl Messenger {
    pub fn create(pinned: &str, room: &str, origin: &str, name: &str) -> Shown<Self> {
        let room = descriptor(room)?;
        let width = RowFormat::new(&room, 0).limit();
        let client = Client::new(room.id(), width, name).map_err(refused)?;
        let (unseen, called) = Default::default();
        Ok(Self::of(servers(pinned)?, room, origin, Kept { client, unseen, called }))
    }

    pub fn open(pinned: &str, room: &str, origin: &str, key: &[u8], sealed: &[u8]) -> Shown<Self> {
        let room = descriptor(room)?;
        let kept: Kept =
            state::open(FORM, &secret(key)?, sealed).map_err(|error| error.to_string())?;
        let width = RowFormat::new(&room, 0).limit();
        if kept.client.room() != room.id() || kept.client.width() != width {
            return Err("what this browser kept is of another room".to_owned());
        }
        Ok(Self::of(servers(pinned)?, room, origin, kept))
    }

    fn of(servers: Servers, room: RoomDescriptor, origin: &str, kept: Kept) -> Self {
        let (row, agreed, eased) = Default::default();
        Self { servers, room, origin: origin.to_owned(), kept, row, agreed, eased }
    }

    pub fn seal(&self, key: &[u8]) -> Shown<Vec<u8>> {
        Ok(state::seal(FORM, &self.kept, &secret(key)?, &mut generator()?))
    }

    pub fn view(&self) -> String {
        let client = &self.kept.client;
        let room = Link {
            origin: self.origin.clone(),
            room: client.room(),
            servers: self.servers.digest(),
            invitation: None,
        };
        let link = |own: ostrakon_messaging::LinkView| LinkJson {
            number: own.number,
            label: own.label,
            link: ContactLink::in_room(&room, own.callee).to_string(),
        };
        json(&View {
            name: client.name(),
            limit: client.limit(),
            read: client.last_read(),
            contacts: client.contacts().into_iter().map(|contact| self.contact(contact)).collect(),
            links: client.links().into_iter().map(link).collect(),
        })
    }

    fn contact(&self, mut contact: ContactView) -> ContactJson {
        let unseen = self.kept.unseen.get(&contact.number).copied().unwrap_or(0);
        let new = |message: &&Message| !message.own && message.number >= unseen;
        let calls = contact.state == ContactState::Calling;
        let called = self.kept.called.get(&contact.number).filter(|_| calls);
        let read = self.kept.client.last_read().unwrap_or(0);
        ContactJson {
            number: contact.number,
            name: contact.name,
            state: contact.state,
            code: contact.code,
            callable: contact.callable,
            added: contact.added,
            link: contact.called_by,
            unread: contact.messages.iter().filter(new).count(),
            last: contact.messages.pop(),
            waited: called.map(|called| read.saturating_sub(*called)),
        }
    }

    pub fn messages(&self, number: u32) -> String {
        let found = self.kept.client.contacts().into_iter().find(|one| one.number == number);
        json(&found.map(|contact| contact.messages).unwrap_or_default())
    }

    pub fn mark_read(&mut self, number: u32) {
        let contacts = self.kept.client.contacts();
        let contact = contacts.iter().find(|contact| contact.number == number);
        if let Some(last) = contact.and_then(|contact| contact.messages.last()) {
            self.kept.unseen.insert(number, last.number + 1);
        }
    }

    pub fn add_link(&mut self, label: &str) -> Shown<u32> {
        let link = self.kept.client.add_link(label, &mut generator()?).map_err(refused)?;
        Ok(link.number)
    }

    pub fn revoke(&mut self, number: u32) -> Shown<()> {
        self.kept.client.revoke(number).map_err(refused)
    }

    pub fn add_contact(&mut self, link: &str, name: &str) -> Shown<u32> {
        let link: ContactLink = link.trim().parse().map_err(|error| format!("no-link|{error}"))?;
        if link.room != self.room.id() || link.servers != self.servers.digest() {
            return Err("other-room|the link leads to another room".to_owned());
        }
        self.kept.client.add_contact(link.callee, name).map_err(refused)
    }

    pub fn contact_of(&self, link: &str) -> Option<u32> {
        let link: ContactLink = link.trim().parse().ok()?;
        self.kept.client.contact_of(&link.callee)
    }

    pub fn remove_contact(&mut self, number: u32) -> Shown<()> {
        self.kept.client.remove_contact(number).map_err(refused)?;
        self.kept.unseen.remove(&number);
        self.kept.called.remove(&number);
        Ok(())
    }

    pub fn engage(&mut self, number: u32) -> Shown<()> {
        let before = self.state(number);
        self.kept.client.engage(number, &mut generator()?).map_err(refused)?;
        if before != Some(ContactState::Calling)
            && self.state(number) == Some(ContactState::Calling)
        {
            let read = self.kept.client.last_read().unwrap_or(0);
            self.kept.called.insert(number, read);
        }
        Ok(())
    }

    fn state(&self, number: u32) -> Option<ContactState> {
        let contacts = self.kept.client.contacts();
        contacts.iter().find(|contact| contact.number == number).map(|contact| contact.state)
    }

    pub fn decline(&mut self, number: u32) -> Shown<()> {
        self.kept.client.decline(number).map_err(refused)
    }

    pub fn say(&mut self, number: u32, text: &str) -> Shown<()> {
        // Nothing is kept of what nobody will hear.
        self.engage(number)?;
        self.kept.client.say(number, text).map_err(refused)?;
        self.mark_read(number);
        Ok(())
    }

    pub fn end(&mut self, number: u32) -> Shown<()> {
        self.kept.client.end(number).map_err(refused)
    }

    /// Reads verified entries, and says what happened.
    pub fn read(&mut self, entries: &[SignedEntry]) -> String {
        let mut events = Vec::new();
        for signed in entries {
            let rows: Vec<&[u8]> = signed.entry.bodies().collect();
            events.extend(self.kept.client.on_round(signed.entry.epoch.number, &rows));
        }
        json(&events)
    }

    pub fn over(&mut self, round: u64) -> String {
        json(&self.kept.client.on_over(round))
    }

    /// The row of a round with this minimum; the same one if it is asked again. `None` if nothing
    /// more is sent in that round.
    pub fn row(&mut self, number: u64, minimum: u32) -> Shown<Option<Vec<u8>>> {
        self.eased = self.agreed.is_some_and(|agreed| minimum < agreed).then_some(minimum);
        if self.eased.is_some() {
            return Err(format!("eased|the minimum was lowered to {minimum}"));
        }
        self.agreed = Some(self.agreed.map_or(minimum, |agreed| agreed.min(minimum)));
        if self.row.as_ref().is_none_or(|(round, _)| *round != number) {
            match self.kept.client.next_row(number, &mut generator()?) {
                Ok(row) => self.row = Some((number, row)),
                Err(Refused::Spent(_)) => return Ok(None),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(self.row.as_ref().map(|(_, row)| row.clone()))
    }

    pub fn eased(&self) -> Option<u32> {
        self.eased
    }

    pub fn agree(&mut self, minimum: u32) {
        self.agreed = Some(minimum);
        self.eased = None;
    }
}

fn secret(key: &[u8]) -> Shown<Secret> {
    let key = key.try_into().map_err(|_| "a key has 32 bytes".to_owned())?;
    Ok(Secret::new(key))
}

/// A refusal with the name of its kind in front, as the page tells kinds apart.
#[expect(clippy::needless_pass_by_value, reason = "it is what errors are mapped with")]
fn refused(why: Refused) -> Sentence {
    let kind = match why {
        Refused::TooNarrow(_) => "too-narrow",
        Refused::TooManyLinks => "too-many-links",
        Refused::TooManyContacts => "too-many-contacts",
        Refused::NoLink(_) => "no-such-link",
        Refused::NoContact(_) => "no-such-contact",
        Refused::OwnLink => "own-link",
        Refused::NotCallable => "not-callable",
        Refused::Engaged => "engaged",
        Refused::NotCalled => "not-called",
        Refused::NoChannel => "no-channel",
        Refused::NothingToEnd => "nothing-to-end",
        Refused::TooLong { .. } => "too-long",
        Refused::Empty => "empty",
        Refused::TooMuch => "too-much",
        Refused::BadName => "bad-name",
        Refused::Spent(_) => "spent",
    };
    format!("{kind}|{why}")
}

#[cfg(test)]
mod tests;

//! A client: its links, its contacts, and what the user does with them. What it does in rounds is
//! in [`crate::rounds`].

mod contact;

use std::collections::VecDeque;

use ostrakon_mixing::RoomId;
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use crate::chain::Side;
use crate::dial::opening::Opening;
use crate::dial::{Answer, Meeting, fresh};
use crate::event::{ContactState, Message};
use crate::hidden::Hidden;
use crate::link::Callee;
use crate::params::{
    ALL_HISTORIES, CHANNELS, CONTACTS, CYCLE, LEAST_WIDTH, LINK_SECRET, LINKS, NAME, OUTGOING,
    OUTGOING_BYTES, PARTS, SEEN,
};
use crate::parts::room_for_text;
use crate::round::{Turn, cycle_of};
use crate::talk::Talk;

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Rows of the room are too narrow for a call.
    #[error(
        "rows of this room have {0} bytes; messages need {LEAST_WIDTH}: take a room with a payload of 256 or more"
    )]
    TooNarrow(usize),
    /// See [`LINKS`].
    #[error("there are {LINKS} links already: revoke one first")]
    TooManyLinks,
    /// See [`CONTACTS`].
    #[error("there are {CONTACTS} contacts already: remove one first")]
    TooManyContacts,
    /// No such link.
    #[error("there is no link {0} of yours; it may have been revoked")]
    NoLink(u32),
    /// No such contact.
    #[error("there is no contact {0}")]
    NoContact(u32),
    /// A link of the user's own.
    #[error("this is a link of your own: give it to others")]
    OwnLink,
    /// A contact who called and whose link is not known.
    #[error("no link of this contact is known, so it cannot be called: ask for one")]
    NotCallable,
    /// There is a conversation, or a call.
    #[error("there is a conversation or a call with this contact already")]
    Engaged,
    /// Nobody called.
    #[error("this contact does not call")]
    NotCalled,
    /// As many conversations, or calls that go out, as channels.
    #[error(
        "no channel is free on both sides: end one of the {CHANNELS} conversations or calls first"
    )]
    NoChannel,
    /// Nothing to end.
    #[error("there is no conversation and no call with this contact")]
    NothingToEnd,
    /// See [`PARTS`].
    #[error("the text has {length} bytes; at most {limit} fit: send it in pieces")]
    TooLong {
        /// Bytes of the text.
        length: usize,
        /// Bytes that fit.
        limit: usize,
    },
    /// An empty text.
    #[error("there is nothing to say")]
    Empty,
    /// See [`OUTGOING`] and [`OUTGOING_BYTES`].
    #[error(
        "{OUTGOING} messages wait for this contact already, or too much text for all contacts: wait until some are delivered"
    )]
    TooMuch,
    /// A name that is too long.
    #[error("a name has 1 to {NAME} bytes")]
    BadName,
    /// A row was made for this round, or its board was read.
    #[error("nothing more is sent in round {0}")]
    Spent(u64),
}

/// A link of the user's own.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct OwnLink {
    pub number: u32,
    pub label: String,
    pub secret: Hidden<32>,
    pub callee: Callee,
}

/// A call that goes out.
#[derive(Serialize, Deserialize)]
pub(crate) struct Calling {
    pub once: Hidden<32>,
    /// The user's own link that is shown to the callee.
    pub from: Option<u32>,
    /// The cycle in which it was sent last.
    pub last: Option<u64>,
    /// Whether another key is to be taken, because the answer named a channel that is taken.
    pub renew: bool,
    /// By which the callee's first row is found; none if the link's key is none.
    pub opening: Option<Opening>,
}

/// A call that came in.
#[derive(Serialize, Deserialize)]
pub(crate) struct Incoming {
    pub once: [u8; 32],
    pub channels: u8,
    pub link: u32,
    pub from: Option<Callee>,
    /// Whether the user called at the same time, so that it is accepted without a question.
    pub welcome: bool,
}

/// An answer that goes out.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answering {
    pub to: [u8; 32],
    pub secret: Hidden<LINK_SECRET>,
    pub answer: Answer,
    pub times: u32,
    pub last: Option<u64>,
}

/// Somebody with whom messages are exchanged, or were, or are to be.
#[derive(Serialize, Deserialize)]
pub(crate) struct Contact {
    pub number: u32,
    pub name: String,
    pub callee: Option<Callee>,
    pub calling: Option<Calling>,
    pub incoming: Option<Incoming>,
    pub answering: Option<Answering>,
    pub talk: Option<Talk>,
    pub history: VecDeque<Message>,
    pub next_message: u64,
    /// Own messages before this one were handed to the conversation.
    pub brought: u64,
    /// Whether the user added the contact, or has accepted its call.
    pub added: bool,
    /// The link of the user's own that it has: the only one that is named to it.
    pub given: Option<u32>,
}

/// A link of the user's own, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// Its number.
    pub number: u32,
    /// What the user calls it.
    pub label: String,
    /// What others call by it.
    pub callee: Callee,
}

/// A contact, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactView {
    /// Its number.
    pub number: u32,
    /// What the user, or the contact itself, calls it.
    pub name: String,
    /// How it stands.
    pub state: ContactState,
    /// The code that both see if nobody is between them, while there is a conversation.
    pub code: Option<String>,
    /// Whether it can be called.
    pub callable: bool,
    /// Whether the user added it, or has accepted a call of it: others are known by the name that
    /// they gave themselves.
    pub added: bool,
    /// The link of the user's that it calls by, while it does.
    pub called_by: Option<u32>,
    /// Messages that are kept, oldest first.
    pub messages: Vec<Message>,
}

/// One person's client in one room for messages. It knows no network and no clock: it is given
/// rounds' boards, and gives rounds' rows. What it knows is to be written down
/// ([`Client::seal`]) after every change and before a row leaves.
#[derive(Serialize, Deserialize)]
pub struct Client {
    pub(crate) room: RoomId,
    pub(crate) width: usize,
    pub(crate) name: String,
    pub(crate) links: Vec<OwnLink>,
    pub(crate) contacts: Vec<Contact>,
    /// Calls that are known, by their keys: those that were answered or declined.
    pub(crate) seen: VecDeque<[u8; 32]>,
    next_link: u32,
    next_contact: u32,
    /// The last round that a row was made for, or that is over.
    pub(crate) spent: Option<u64>,
    /// The last round whose board was read.
    pub(crate) read: Option<u64>,
    /// Whether a board was read since the client was opened (step 3.7).
    #[serde(skip)]
    pub(crate) looked: bool,
}

impl Client {
    /// A client in a room whose rows have `width` bytes ([`ostrakon_mixing::RowFormat::limit`]),
    /// under a name that is told to those whom it calls.
    ///
    /// # Errors
    /// [`Refused::TooNarrow`], [`Refused::BadName`].
    pub fn new(room: RoomId, width: usize, name: &str) -> Result<Self, Refused> {
        if width < LEAST_WIDTH {
            return Err(Refused::TooNarrow(width));
        }
        Ok(Self {
            room,
            width,
            name: checked(name)?,
            links: Vec::new(),
            contacts: Vec::new(),
            seen: VecDeque::new(),
            next_link: 0,
            next_contact: 0,
            spent: None,
            read: None,
            looked: false,
        })
    }

    /// The room.
    pub fn room(&self) -> RoomId {
        self.room
    }

    /// The last round whose board was read, or that is known to have had none.
    pub fn last_read(&self) -> Option<u64> {
        self.read
    }

    /// The name that is told to those whom it calls.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its rows.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Bytes of the longest text.
    pub fn limit(&self) -> usize {
        PARTS * room_for_text(self.width)
    }

    /// Step 2.1: makes a link of the user's own. `label` is for the user alone.
    ///
    /// # Errors
    /// [`Refused::TooManyLinks`].
    pub fn add_link(&mut self, label: &str, rng: &mut impl CryptoRng) -> Result<LinkView, Refused> {
        if self.links.len() >= LINKS {
            return Err(Refused::TooManyLinks);
        }
        let secret = fresh(rng);
        let mut shared = Hidden([0; LINK_SECRET]);
        rng.fill_bytes(&mut shared.0);
        let callee = Callee { key: secret.exchange().public(), secret: shared };
        let link = OwnLink { number: self.next_link, label: label.to_owned(), secret, callee };
        self.next_link += 1;
        self.links.push(link);
        Ok(self.links().pop().expect("it was added"))
    }

    /// Step 2.3: takes a link back. Calls by it are not heard any more, also those that wait;
    /// conversations that it led to go on.
    ///
    /// # Errors
    /// [`Refused::NoLink`].
    pub fn revoke(&mut self, number: u32) -> Result<(), Refused> {
        let at = self.links.iter().position(|link| link.number == number);
        self.links.remove(at.ok_or(Refused::NoLink(number))?);
        for contact in &mut self.contacts {
            contact.incoming = contact.incoming.take().filter(|call| call.link != number);
            contact.given = contact.given.filter(|given| *given != number);
            if let Some(calling) = &mut contact.calling {
                calling.from = calling.from.filter(|from| *from != number);
            }
        }
        // Who did nothing but call by it is nobody any more.
        self.contacts.retain(|contact| contact.added || contact.incoming.is_some());
        Ok(())
    }

    /// The links of the user's own.
    pub fn links(&self) -> Vec<LinkView> {
        let view = |link: &OwnLink| LinkView {
            number: link.number,
            label: link.label.clone(),
            callee: link.callee.clone(),
        };
        self.links.iter().map(view).collect()
    }

    /// Adds a contact by its link; the one that is known by it, if there is one.
    ///
    /// # Errors
    /// [`Refused::OwnLink`], [`Refused::TooManyContacts`], [`Refused::BadName`].
    pub fn add_contact(&mut self, callee: Callee, name: &str) -> Result<u32, Refused> {
        let name = checked(name)?;
        if self.links.iter().any(|link| link.callee.key == callee.key) {
            return Err(Refused::OwnLink);
        }
        if let Some(known) = self.known_by(&callee.key) {
            let contact = self.contact_mut(known)?;
            contact.name = name;
            contact.added = true;
            return Ok(known);
        }
        self.new_contact(name, Some(callee))
    }

    pub(crate) fn new_contact(
        &mut self,
        name: String,
        callee: Option<Callee>,
    ) -> Result<u32, Refused> {
        if self.contacts.len() >= CONTACTS {
            return Err(Refused::TooManyContacts);
        }
        let number = self.next_contact;
        self.next_contact += 1;
        self.contacts.push(Contact::new(number, name, callee));
        Ok(number)
    }

    /// The contact that is known by a link.
    pub fn contact_of(&self, callee: &Callee) -> Option<u32> {
        self.known_by(&callee.key)
    }

    /// The contact with a link of this key.
    pub(crate) fn known_by(&self, key: &[u8; 32]) -> Option<u32> {
        let has = |contact: &&Contact| contact.callee.as_ref().is_some_and(|to| to.key == *key);
        self.contacts.iter().find(has).map(|contact| contact.number)
    }

    /// Forgets a contact and what was said with it, at once and without telling it.
    ///
    /// # Errors
    /// [`Refused::NoContact`].
    pub fn remove_contact(&mut self, number: u32) -> Result<(), Refused> {
        let contact = self.contact_mut(number)?;
        let call = contact.incoming.take().map(|call| call.once);
        self.contacts.retain(|contact| contact.number != number);
        self.see(call);
        Ok(())
    }

    /// The contacts.
    pub fn contacts(&self) -> Vec<ContactView> {
        let view = |contact: &Contact| ContactView {
            number: contact.number,
            name: contact.name.clone(),
            state: contact.state(),
            code: contact.talk.as_ref().map(Talk::code),
            callable: contact.callee.is_some(),
            added: contact.added,
            called_by: contact.incoming.as_ref().map(|call| call.link),
            messages: contact.history.iter().cloned().collect(),
        };
        self.contacts.iter().map(view).collect()
    }

    pub(crate) fn contact_mut(&mut self, number: u32) -> Result<&mut Contact, Refused> {
        let mut contacts = self.contacts.iter_mut();
        contacts.find(|contact| contact.number == number).ok_or(Refused::NoContact(number))
    }

    /// Step 4.1: calls a contact in every dial round until it answers. `from` is the link of the
    /// user's own by which the contact knows who calls, and can call back.
    ///
    /// # Errors
    /// [`Refused::NoContact`], [`Refused::NoLink`], [`Refused::NotCallable`], [`Refused::Engaged`],
    /// [`Refused::NoChannel`].
    pub fn call(
        &mut self,
        number: u32,
        from: Option<u32>,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Refused> {
        if let Some(missing) = from.filter(|from| self.links.iter().all(|l| l.number != *from)) {
            return Err(Refused::NoLink(missing));
        }
        let free = self.free_channels();
        let calls = self.contacts.iter().filter(|contact| contact.calling.is_some()).count();
        let room = self.room;
        let contact = self.contact_mut(number)?;
        let Some(callee) = &contact.callee else { return Err(Refused::NotCallable) };
        if contact.talk.is_some() || contact.calling.is_some() {
            return Err(Refused::Engaged);
        }
        if free == 0 || calls >= usize::from(CHANNELS) {
            return Err(Refused::NoChannel);
        }
        let once = fresh(rng);
        let opening = Opening::of_caller(&room, &once, callee);
        contact.calling = Some(Calling { once, from, last: None, renew: false, opening });
        Ok(())
    }

    /// Step 4.6: accepts a contact's call, with words for it in the next rounds.
    ///
    /// # Errors
    /// [`Refused::NoContact`], [`Refused::NotCalled`], [`Refused::NoChannel`],
    /// [`Refused::NoLink`].
    pub fn accept(&mut self, number: u32, rng: &mut impl CryptoRng) -> Result<(), Refused> {
        let next = self.spent.map_or(0, |spent| spent.saturating_add(1));
        self.accept_in(number, next, rng)
    }

    /// The same, if the answer can go out in this round or one after it.
    pub(crate) fn accept_in(
        &mut self,
        number: u32,
        round: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<(), Refused> {
        let free = self.free_channels();
        let room = self.room;
        let call = self.contact_mut(number)?.incoming.as_ref().ok_or(Refused::NotCalled)?;
        let (link, channels) = (call.link, call.channels);
        let of_talk = self.contact_mut(number)?.talk.as_ref().map_or(0, |talk| 1 << talk.channel);
        let common = (free | of_talk) & channels;
        let (channel, start) = next_turn(round, common).ok_or(Refused::NoChannel)?;
        let own = self.links.iter().find(|own| own.number == link).cloned();
        let own = own.ok_or(Refused::NoLink(link))?;
        let contact = self.contact_mut(number)?;
        let call = contact.incoming.take().ok_or(Refused::NotCalled)?;
        contact.hang_up();
        contact.calling = None;
        contact.added = true;
        contact.given = contact.given.or(Some(link));
        let secret = fresh(rng);
        let answer = Answer { once: secret.exchange().public(), channel, start };
        let meeting = Meeting {
            room: &room,
            link: &own.callee.key,
            secret: &own.callee.secret,
            call: &call.once,
            from: call.from.as_ref().map(|from| &from.key),
            answer: &answer,
        };
        // A call whose key is of small order is from nobody.
        let root = meeting.root_of_callee(&own.secret, &secret).ok_or(Refused::NotCalled)?;
        let opening = Opening::of_callee(&room, &own.secret, &own.callee, &call.once);
        let mut talk = Talk::new(&root, channel, start, Side::Callee);
        talk.open(opening.ok_or(Refused::NotCalled)?, Some(answer.clone()));
        contact.talk = Some(talk);
        let (to, shared) = (call.once, own.callee.secret.clone());
        contact.answering = Some(Answering { to, secret: shared, answer, times: 0, last: None });
        self.see(Some(call.once));
        Ok(())
    }

    /// Step 4.8: does not accept a contact's call. Nothing is sent.
    ///
    /// # Errors
    /// [`Refused::NoContact`], [`Refused::NotCalled`].
    pub fn decline(&mut self, number: u32) -> Result<(), Refused> {
        let contact = self.contact_mut(number)?;
        let call = contact.incoming.take().ok_or(Refused::NotCalled)?;
        if !contact.added {
            self.contacts.retain(|contact| contact.number != number);
        }
        self.see(Some(call.once));
        Ok(())
    }

    /// Remembers calls that are dealt with.
    fn see(&mut self, call: Option<[u8; 32]>) {
        self.seen.extend(call);
        while self.seen.len() > SEEN {
            self.seen.pop_front();
        }
    }

    /// Says something to a contact. It waits until there is a conversation, and until its turn
    /// comes. Returns the message's number.
    ///
    /// # Errors
    /// [`Refused::NoContact`], [`Refused::Empty`], [`Refused::TooLong`], [`Refused::TooMuch`].
    pub fn say(&mut self, number: u32, text: &str) -> Result<u64, Refused> {
        let limit = self.limit();
        let waiting: usize = self.contacts.iter().map(Contact::open_bytes).sum();
        let contact = self.contact_mut(number)?;
        if text.is_empty() {
            return Err(Refused::Empty);
        }
        if text.len() > limit {
            return Err(Refused::TooLong { length: text.len(), limit });
        }
        let open = contact.history.iter().filter(|message| !message.state.is_settled()).count();
        if open >= OUTGOING || waiting + text.len() > OUTGOING_BYTES {
            return Err(Refused::TooMuch);
        }
        Ok(contact.note(true, text.to_owned(), None))
    }

    /// Step 6.6: ends a conversation: the contact is told in its rows. Once more, and it is
    /// forgotten at once. A call is taken back.
    ///
    /// # Errors
    /// [`Refused::NoContact`], [`Refused::NothingToEnd`].
    pub fn end(&mut self, number: u32) -> Result<(), Refused> {
        let contact = self.contact_mut(number)?;
        let called = contact.calling.take().is_some();
        match &mut contact.talk {
            Some(talk) if talk.heard && talk.goes_on() => talk.end(),
            // Nobody listens yet, or nobody seems to: the user does not want to wait.
            Some(_) => contact.hang_up(),
            None if called => {}
            None => return Err(Refused::NothingToEnd),
        }
        Ok(())
    }

    /// Forgets the oldest messages of those contacts of which most is kept, until all that is kept
    /// is not too long to be written down in every round.
    pub(crate) fn shorten_histories(&mut self) {
        let mut kept: Vec<usize> = self.contacts.iter().map(Contact::bytes).collect();
        let mut all: usize = kept.iter().sum();
        while all > ALL_HISTORIES {
            let longest = (0..kept.len()).max_by_key(|at| kept[*at]).filter(|at| kept[*at] > 0);
            let Some(at) = longest else { return };
            match self.contacts[at].shorten() {
                Some(gone) => {
                    kept[at] -= gone;
                    all -= gone;
                }
                // Nothing of it may go.
                None => kept[at] = 0,
            }
        }
    }

    /// Channels without a conversation, by bits.
    pub(crate) fn free_channels(&self) -> u8 {
        let talks = self.contacts.iter().filter_map(|contact| contact.talk.as_ref());
        talks.fold((1 << CHANNELS) - 1, |free, talk| free & !(1 << talk.channel))
    }
}

/// Of these channels the one whose turn comes first, from a round on, and the cycle of that turn.
fn next_turn(round: u64, channels: u8) -> Option<(u8, u64)> {
    let turns = (0..CYCLE).map(|ahead| round.saturating_add(ahead));
    let mut turns = turns.filter_map(|round| match Turn::of(round) {
        Turn::Channel(channel) => Some((channel, cycle_of(round))),
        Turn::Dialing => None,
    });
    turns.find(|(channel, _)| channels >> channel & 1 == 1)
}

fn checked(name: &str) -> Result<String, Refused> {
    let name = name.trim();
    if name.is_empty() || name.len() > NAME { Err(Refused::BadName) } else { Ok(name.to_owned()) }
}

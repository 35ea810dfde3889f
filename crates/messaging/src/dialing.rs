//! What a client does in dial rounds (specification, section 4).

use ostrakon_crypto::sealed::ExchangeKey;
use rand_core::CryptoRng;

use crate::chain::Side;
use crate::client::{Answering, Calling, Client, Contact, Incoming, Refused};
use crate::dial::opening::Opening;
use crate::dial::{self, Answer, Call, Meeting, fresh};
use crate::event::{ContactState, Event};
use crate::hidden::Hidden;
use crate::params::{ANSWERS, CALLS, CALLS_OF_LINK, CHANNELS, LATE, LINK_SECRET};
use crate::parts::split;
use crate::round::cycle_of;
use crate::talk::Talk;

/// Calls that are tried on every row, made up or not. A thousand clients in one process, on the
/// boards of a thousand, do without those that are made up.
const CALLS_TRIED: usize = if cfg!(test) { 0 } else { CHANNELS as usize };

/// Something that a row may be for.
struct Trial {
    key: ExchangeKey,
    secret: Hidden<LINK_SECRET>,
    of: Of,
}

#[derive(Clone, Copy)]
enum Of {
    /// A link of the user's own, which may be called.
    Link(u32),
    /// A contact that the user calls, which may answer.
    Contact(u32),
    /// Nothing: it takes as long as a call.
    Nothing,
}

impl Client {
    /// Sees to it that there is, or will be, a conversation with a contact: accepts its call, or
    /// calls. The contact is named the link of the user's own that it has, or a fresh one, and no
    /// other: two whom the user calls do not find the same one.
    ///
    /// # Errors
    /// As of [`Client::accept`] and [`Client::call`].
    pub fn engage(&mut self, number: u32, rng: &mut impl CryptoRng) -> Result<(), Refused> {
        let contact = self.contact_mut(number)?;
        match contact.state() {
            ContactState::Called => self.accept(number, rng),
            ContactState::Idle if contact.callee.is_some() => {
                // A call is refused before a link is made for it.
                self.call(number, None, rng)?;
                let from = self.link_for(number, rng);
                let contact = self.contact_mut(number)?;
                contact.given = from;
                contact.calling.iter_mut().for_each(|calling| calling.from = from);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The link that a contact has; else one that is labelled with its name and that nobody else
    /// has; else a fresh one, as long as there is room.
    fn link_for(&mut self, number: u32, rng: &mut impl CryptoRng) -> Option<u32> {
        let contact = self.contacts.iter().find(|contact| contact.number == number)?;
        if contact.given.is_some() {
            return contact.given;
        }
        let name = contact.name.clone();
        let has = |link: u32| self.contacts.iter().any(|contact| contact.given == Some(link));
        let labelled = self.links.iter().find(|link| link.label == name && !has(link.number));
        match labelled {
            Some(link) => Some(link.number),
            None => self.add_link(&name, rng).ok().map(|link| link.number),
        }
    }

    /// The user gave this link of its own to a contact, by which the contact knows who calls.
    ///
    /// # Errors
    /// [`Refused::NoContact`], [`Refused::NoLink`].
    pub fn gave(&mut self, number: u32, link: u32) -> Result<(), Refused> {
        if self.links.iter().all(|own| own.number != link) {
            return Err(Refused::NoLink(link));
        }
        self.contact_mut(number)?.given = Some(link);
        Ok(())
    }

    /// The row of a dial round, if there is something to say: of all calls and answers the one that
    /// was sent longest ago.
    pub(crate) fn dial(&mut self, round: u64, rng: &mut impl CryptoRng) -> Option<Vec<u8>> {
        self.welcome(round, rng);
        let free = self.free_channels();
        let last = |contact: &Contact| match (&contact.answering, &contact.calling) {
            (Some(answering), _) => Some(answering.last),
            (None, Some(calling)) => (free != 0).then_some(calling.last),
            (None, None) => None,
        };
        let next = self.contacts.iter().filter_map(|contact| Some((last(contact)?, contact)));
        let number = next.min_by_key(|(last, _)| *last)?.1.number;
        if self.contact_mut(number).ok()?.answering.is_some() {
            return self.answer(number, round, rng);
        }
        self.call_out(number, free, round, rng)
    }

    /// Accepts the calls of those whom the user called at the same time (step 4.9), in this dial
    /// round.
    fn welcome(&mut self, round: u64, rng: &mut impl CryptoRng) {
        let welcome =
            |contact: &&Contact| contact.incoming.as_ref().is_some_and(|incoming| incoming.welcome);
        let welcome: Vec<_> =
            self.contacts.iter().filter(welcome).map(|contact| contact.number).collect();
        for number in welcome {
            if self.accept_in(number, round, rng).is_ok() {
                continue;
            }
            if let Ok(Contact { incoming: Some(incoming), .. }) = self.contact_mut(number) {
                incoming.welcome = false;
            }
        }
    }

    /// Step 4.6: gives an answer, once more or for the first time.
    fn answer(&mut self, number: u32, round: u64, rng: &mut impl CryptoRng) -> Option<Vec<u8>> {
        let contact = self.contact_mut(number).ok()?;
        let answering = contact.answering.as_mut()?;
        answering.last = Some(cycle_of(round));
        answering.times += 1;
        let Answering { to, secret, answer, .. } = answering;
        let (to, secret, answer) = (*to, secret.clone(), answer.clone());
        dial::answer(self.place(round), &to, &secret, &answer, rng)
    }

    /// Step 4.1: calls, once more or for the first time.
    fn call_out(
        &mut self,
        number: u32,
        channels: u8,
        round: u64,
        rng: &mut impl CryptoRng,
    ) -> Option<Vec<u8>> {
        let (name, room) = (self.name.clone(), self.room);
        let contact = self.contact_mut(number).ok()?;
        let to = contact.callee.clone()?;
        let calling = contact.calling.as_mut()?;
        calling.last = Some(cycle_of(round));
        if std::mem::take(&mut calling.renew) {
            calling.once = fresh(rng);
            calling.opening = Opening::of_caller(&room, &calling.once, &to);
        }
        let (once, from) = (calling.once.exchange().public(), calling.from);
        let own = self.links.iter().find(|link| Some(link.number) == from);
        let call = Call { once, channels, name, from: own.map(|own| own.callee.clone()) };
        dial::call(self.place(round), &to, &call, own.map(|own| &own.secret), rng)
    }

    /// Step 4.5: tries every row with every link and every call of the user's own.
    pub(crate) fn hear_calls(&mut self, round: u64, rows: &[&[u8]], events: &mut Vec<Event>) {
        let trials = self.trials(CALLS_TRIED);
        let mut dropped = 0;
        for row in rows {
            for Trial { key, secret, of } in &trials {
                match *of {
                    Of::Link(link) => {
                        if let Some(call) = dial::read_call(self.place(round), key, secret, row) {
                            dropped += usize::from(!self.called(link, call, events));
                            break;
                        }
                    }
                    Of::Nothing => {
                        let _none = dial::read_answer(self.place(round), key, secret, row);
                    }
                    Of::Contact(contact) => {
                        let answer = dial::read_answer(self.place(round), key, secret, row);
                        if let Some(answer) = answer {
                            self.answered(contact, &answer, round, events);
                            break;
                        }
                    }
                }
            }
        }
        if dropped > 0 {
            events.push(Event::CallsDropped { count: dropped });
        }
        for contact in &mut self.contacts {
            if contact.answering.as_ref().is_some_and(|answering| answering.times >= ANSWERS) {
                contact.hang_up();
                events.push(Event::Unanswered { contact: contact.number });
            }
        }
    }

    /// Step 4.7: looks for the first rows of those whom the user calls, at as many addresses
    /// whether anybody is called or not.
    pub(crate) fn hear_answers(&mut self, round: u64, rows: &[&[u8]], events: &mut Vec<Event>) {
        let (room, width) = (self.room, self.width);
        for (contact, opening) in self.openings(CALLS_TRIED) {
            let address = opening.address(round);
            let mut found = rows.iter().filter_map(|row| split(row, width));
            let Some((_, locked)) = found.find(|(at, _)| **at == address) else { continue };
            let answer = opening.read(&room, round, locked);
            if let (Some(contact), Some((answer, _))) = (contact, answer) {
                self.answered(contact, &answer, round, events);
            }
        }
    }

    /// What the first row of each whom the user calls is found by, and so many made up that there
    /// are at least so many.
    fn openings(&self, at_least: usize) -> Vec<(Option<u32>, Opening)> {
        let calls = self.contacts.iter().filter_map(|contact| {
            Some((Some(contact.number), contact.calling.as_ref()?.opening.clone()?))
        });
        let mut calls: Vec<_> = calls.collect();
        let all = calls.len().max(at_least);
        calls.resize_with(all, || (None, Opening::of_nobody()));
        calls
    }

    /// Every link and every call of the user's own, and so many made up that there are at least so
    /// many calls: how long a board takes could be seen by when the next row leaves.
    fn trials(&self, at_least: usize) -> Vec<Trial> {
        let links = self.links.iter().map(|link| Trial {
            key: link.secret.exchange(),
            secret: link.callee.secret.clone(),
            of: Of::Link(link.number),
        });
        let calls = self.contacts.iter().filter_map(|contact| {
            let (calling, callee) = (contact.calling.as_ref()?, contact.callee.as_ref()?);
            Some(Trial {
                key: calling.once.exchange(),
                secret: callee.secret.clone(),
                of: Of::Contact(contact.number),
            })
        });
        let mut trials: Vec<_> = links.chain(calls).collect();
        let all = trials.len().max(self.links.len() + at_least);
        trials.resize_with(all, || Trial {
            key: Hidden([1; 32]).exchange(),
            secret: Hidden([1; LINK_SECRET]),
            of: Of::Nothing,
        });
        trials
    }

    /// Somebody called a link of the user's. Returns whether the call is kept, or known already.
    fn called(&mut self, link: u32, call: Call, events: &mut Vec<Event>) -> bool {
        if self.seen.contains(&call.once) {
            return true;
        }
        let again = |contact: &mut Contact| {
            let incoming = contact.incoming.as_mut()?;
            (incoming.once == call.once).then(|| incoming.channels = call.channels)
        };
        if self.contacts.iter_mut().any(|contact| again(contact).is_some()) {
            return true;
        }
        let before = call.from.as_ref().and_then(|from| self.known_by(&from.key));
        let Some(number) = before.or_else(|| self.new_caller(link, &call)) else { return false };
        let Call { once, channels, name, from } = call;
        let name = harmless(&name);
        let Ok(contact) = self.contact_mut(number) else { return false };
        // Who has called before, and nothing else, is as unknown as before.
        let known = before.is_some() && contact.added;
        let again = before.is_some() && !known;
        let mut welcome = false;
        if let Some(Calling { once: own, from: Some(own_link), .. }) = &contact.calling
            && known
            && *own_link == link
        {
            // Both call each other: of two calls the one with the lower key is answered.
            if own.exchange().public() < once {
                return true;
            }
            welcome = true;
        }
        contact.incoming = Some(Incoming { once, channels, link, from, welcome });
        if !again {
            events.push(Event::Called { contact: number, name, known, link });
        }
        true
    }

    /// A contact for a caller who is not known; `None` if too many wait already.
    fn new_caller(&mut self, link: u32, call: &Call) -> Option<u32> {
        let waiting = || self.contacts.iter().filter_map(|contact| contact.incoming.as_ref());
        let of_link = waiting().filter(|incoming| incoming.link == link).count();
        if waiting().count() >= CALLS || of_link >= CALLS_OF_LINK {
            return None;
        }
        let number = self.new_contact(harmless(&call.name), call.from.clone()).ok()?;
        self.contact_mut(number).ok()?.added = false;
        Some(number)
    }

    /// Step 4.7: a contact has answered. An answer that names a channel which is taken meanwhile
    /// makes the user call anew.
    fn answered(&mut self, number: u32, answer: &Answer, round: u64, events: &mut Vec<Event>) {
        let (free, room, cycle) = (self.free_channels(), self.room, cycle_of(round));
        let own = |links: &[crate::client::OwnLink], from: Option<u32>| {
            links.iter().find(|link| Some(link.number) == from).cloned()
        };
        let from = self.contact_mut(number).ok().and_then(|contact| contact.calling.as_ref()?.from);
        let own = own(&self.links, from);
        let Ok(contact) = self.contact_mut(number) else { return };
        let (Some(callee), Some(calling)) = (&contact.callee, &mut contact.calling) else { return };
        if answer.channel >= CHANNELS
            || answer.start > cycle + 1
            || cycle.saturating_sub(answer.start) > LATE
        {
            return;
        }
        if free >> answer.channel & 1 == 0 {
            calling.renew = true;
            return;
        }
        let call = calling.once.exchange().public();
        let meeting = Meeting {
            room: &room,
            link: &callee.key,
            secret: &callee.secret,
            call: &call,
            from: own.as_ref().map(|own| &own.callee.key),
            answer,
        };
        let secret = own.as_ref().map(|own| &own.secret);
        let Some(root) = meeting.root_of_caller(&calling.once, secret) else { return };
        let mut talk = Talk::new(&root, answer.channel, answer.start, Side::Caller);
        if let Some(opening) = calling.opening.take() {
            talk.open(opening, None);
        }
        contact.calling = None;
        contact.incoming = None;
        contact.talk = Some(talk);
        events.push(Event::Accepted { contact: number });
    }
}

/// A name that somebody else chose: no control characters, none that turn the writing around or
/// cannot be seen, and not nothing.
fn harmless(name: &str) -> String {
    let unseen = |letter: char| {
        let format = ['\u{ad}', '\u{61c}', '\u{feff}'].contains(&letter)
            || ('\u{200b}'..='\u{200f}').contains(&letter)
            || ('\u{2028}'..='\u{202e}').contains(&letter)
            || ('\u{2060}'..='\u{206f}').contains(&letter);
        letter.is_control() || format
    };
    let name = name.replace(unseen, "\u{fffd}");
    if name.trim().is_empty() { "?".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{World, generator};

    /// As many exchanges on every row whether the user calls or not.
    #[test]
    fn a_board_takes_as_long_whether_anybody_is_called() {
        let mut world = World::new(2, 51);
        let count = |client: &Client| client.trials(usize::from(CHANNELS)).len();
        let links = [1, 2].map(|seed| world.clients[1].add_link("", &mut generator(seed)).unwrap());
        let idle = count(&world.clients[0]);
        for link in links {
            let contact = world.clients[0].add_contact(link.callee, "x").unwrap();
            world.clients[0].call(contact, None, &mut generator(2)).unwrap();
            assert_eq!(count(&world.clients[0]), idle);
        }
        assert_eq!(count(&world.clients[1]), idle + 2, "links of one's own are tried besides");
    }
}

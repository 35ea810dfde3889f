//! What a client does in rounds: one row in each, and every board read whole (specification,
//! section 3).

use rand_core::CryptoRng;

use crate::client::{Client, Contact, Refused};
use crate::dial;
use crate::event::{Event, MessageState};
use crate::params::{STOPPED, VERSION, WINDOW};
use crate::round::{Turn, cycle_of};
use crate::talk::{News, Talk};

impl Client {
    /// Step 3.1: the row of a round, once. Everybody who is present sends one in every round, and
    /// it is as long as every other and looks like it, whatever it says. What changed is to be
    /// written down before the row leaves.
    ///
    /// # Errors
    /// [`Refused::Spent`]: for this round, or a later one, a row was made, or it is over.
    pub fn next_row(&mut self, round: u64, rng: &mut impl CryptoRng) -> Result<Vec<u8>, Refused> {
        if self.spent.is_some_and(|spent| round <= spent) {
            return Err(Refused::Spent(round));
        }
        self.spent = Some(round);
        let row = match Turn::of(round) {
            // Step 3.7.
            Turn::Channel(_) if !self.looked => None,
            Turn::Channel(channel) => self.write(channel, round),
            Turn::Dialing => self.dial(round, rng),
        };
        let row = row.unwrap_or_else(|| self.cover(round, rng));
        debug_assert_eq!(row.len(), self.width, "every row is as long");
        Ok(row)
    }

    /// Step 3.3: what is sent by whoever has nothing to say.
    fn cover(&self, round: u64, rng: &mut impl CryptoRng) -> Vec<u8> {
        if Turn::of(round) == Turn::Dialing {
            return dial::cover(self.place(round), rng);
        }
        let mut row = vec![0; self.width];
        rng.fill_bytes(&mut row);
        row[0] = VERSION;
        row
    }

    /// The row of the conversation on a channel, if there is one.
    fn write(&mut self, channel: u8, round: u64) -> Option<Vec<u8>> {
        let (room, width) = (self.room, self.width);
        let on_channel = |contact: &&mut Contact| {
            contact.talk.as_ref().is_some_and(|talk| talk.channel == channel)
        };
        let contact = self.contacts.iter_mut().find(on_channel)?;
        contact.bring_forward(width);
        let talk = contact.talk.as_mut()?;
        let written = talk.write(&room, round, width)?;
        if let Some((message, again)) = written.message {
            let state = if again { MessageState::SentAgain } else { MessageState::Sent };
            if again || talk.is_out(message) {
                contact.turn(message, state, round);
            }
        }
        Some(written.row)
    }

    /// Step 3.4: reads the board of a round, all of it. Boards are read in the order of rounds; one
    /// that was read, or comes late, is not read again.
    pub fn on_round(&mut self, round: u64, rows: &[&[u8]]) -> Vec<Event> {
        if self.read.is_some_and(|read| round <= read) {
            return Vec::new();
        }
        self.read = Some(round);
        self.looked = true;
        self.spent = self.spent.max(Some(round));
        let mut events = Vec::new();
        match Turn::of(round) {
            Turn::Channel(channel) => self.listen(channel, round, rows, &mut events),
            Turn::Dialing => self.hear_calls(round, rows, &mut events),
        }
        self.clear_up(round);
        events
    }

    /// Step 3.5: a round ended without a board. Its number, and the keys that belong to it, are
    /// used up.
    pub fn on_stopped(&mut self, round: u64) -> Vec<Event> {
        if self.read.is_some_and(|read| round <= read) {
            return Vec::new();
        }
        self.read = Some(round);
        self.spent = self.spent.max(Some(round));
        let mut events = Vec::new();
        if let Turn::Channel(channel) = Turn::of(round) {
            for contact in &mut self.contacts {
                let talk = contact.talk.as_mut().filter(|talk| talk.channel == channel);
                let news: Vec<_> = talk.and_then(|talk| talk.stop(round)).into_iter().collect();
                contact.tell(news, round, &mut events);
            }
        }
        self.clear_up(round);
        events
    }

    /// Learns that a round is over, and that what was read by now are all boards up to it: those
    /// that are missing ended without one. Of rounds long ago nothing is told.
    pub fn on_over(&mut self, over: u64) -> Vec<Event> {
        let next = self.read.map_or(over, |read| read.saturating_add(1));
        let missing = next.max(over.saturating_sub(STOPPED))..=over;
        missing.flat_map(|round| self.on_stopped(round)).collect()
    }

    /// Gives up conversations in which nothing was heard for so many cycles, so that others find
    /// a channel: for who talks to everybody.
    pub fn give_up_silent(&mut self, cycles: u64) {
        let Some(now) = self.read.map(cycle_of) else { return };
        for contact in &mut self.contacts {
            let silent = |talk: &Talk| now.saturating_sub(talk.last_heard) > cycles;
            if contact.talk.as_ref().is_some_and(silent) {
                contact.hang_up();
            }
        }
    }

    fn listen(&mut self, channel: u8, round: u64, rows: &[&[u8]], events: &mut Vec<Event>) {
        self.hear_answers(round, rows, events);
        let (room, width) = (self.room, self.width);
        for contact in &mut self.contacts {
            let Some(talk) = contact.talk.as_mut().filter(|talk| talk.channel == channel) else {
                continue;
            };
            let news = talk.read(&room, round, rows.iter().copied(), width);
            contact.tell(news, round, events);
        }
    }

    /// Forgets conversations that are over, and what is too much to be kept.
    fn clear_up(&mut self, round: u64) {
        self.shorten_histories();
        for contact in &mut self.contacts {
            if contact.talk.as_ref().is_some_and(|talk| talk.is_over(cycle_of(round))) {
                contact.hang_up();
            }
        }
    }

    pub(crate) fn place(&self, round: u64) -> dial::Place<'_> {
        dial::Place { room: &self.room, round, width: self.width }
    }
}

impl Contact {
    /// Hands what waits to the conversation, as far as it has room for it.
    fn bring_forward(&mut self, width: usize) {
        let Some(talk) = self.talk.as_mut().filter(|talk| talk.goes_on()) else { return };
        for message in &self.history {
            if talk.on_its_way() >= WINDOW as usize {
                return;
            }
            let waits = message.own && message.state == MessageState::Waiting;
            if waits && message.number >= self.brought {
                talk.say(message.number, talk.parts_of(&message.text, width));
                self.brought = message.number + 1;
            }
        }
    }

    /// Notes what became known of the conversation, and tells the user.
    fn tell(&mut self, news: Vec<News>, round: u64, events: &mut Vec<Event>) {
        let contact = self.number;
        for news in news {
            match news {
                News::Heard => {
                    self.answering = None;
                    events.push(Event::Connected { contact });
                }
                News::Text(text) => {
                    let message = self.note(false, text.clone(), Some(round));
                    events.push(Event::Received { contact, message, text });
                }
                News::Delivered(message) => {
                    let state = MessageState::Delivered;
                    if self.turn(message, state, round) {
                        events.push(Event::Moved { contact, message, state });
                    }
                }
                News::Stopped(message) => {
                    let state = MessageState::RoundStopped;
                    if self.turn(message, state, round) {
                        events.push(Event::Moved { contact, message, state });
                    }
                }
                News::Ended => events.push(Event::Ended { contact }),
                News::Copied => {
                    self.hang_up();
                    events.push(Event::Copied { contact });
                }
            }
        }
    }
}

//! What a client keeps of a contact, and how it changes.

use std::collections::VecDeque;

use super::Contact;
use crate::event::{ContactState, Message, MessageState};
use crate::link::Callee;
use crate::params::{HISTORY, HISTORY_BYTES};

impl Contact {
    pub(super) fn new(number: u32, name: String, callee: Option<Callee>) -> Self {
        Self {
            number,
            name,
            callee,
            calling: None,
            incoming: None,
            answering: None,
            talk: None,
            history: VecDeque::new(),
            next_message: 0,
            brought: 0,
            added: true,
            given: None,
        }
    }

    pub fn state(&self) -> ContactState {
        match (&self.talk, &self.incoming, &self.calling) {
            (Some(talk), _, _) if !talk.goes_on() => ContactState::Ending,
            (Some(talk), _, _) if talk.heard => ContactState::Talking,
            (Some(_), _, _) if self.answering.is_some() => ContactState::Answering,
            (Some(_), _, _) => ContactState::Talking,
            (None, Some(_), _) => ContactState::Called,
            (None, None, Some(_)) => ContactState::Calling,
            (None, None, None) => ContactState::Idle,
        }
    }

    /// Adds a message; the oldest of too many are forgotten.
    pub fn note(&mut self, own: bool, text: String, round: Option<u64>) -> u64 {
        let number = self.next_message;
        self.next_message += 1;
        let state = if own { MessageState::Waiting } else { MessageState::Delivered };
        self.history.push_back(Message { number, own, text, state, round });
        let mut goes_on = true;
        while goes_on && (self.history.len() > HISTORY || self.bytes() > HISTORY_BYTES) {
            goes_on = self.shorten().is_some();
        }
        number
    }

    /// Bytes of the texts that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.history.iter().map(|message| message.text.len()).sum()
    }

    /// Bytes of the texts that nobody is known to have yet.
    pub(super) fn open_bytes(&self) -> usize {
        let open = self.history.iter().filter(|message| !message.state.is_settled());
        open.map(|message| message.text.len()).sum()
    }

    /// Forgets the oldest message of which nothing more becomes; not the newest of all, which the
    /// user has not seen. What waits or is on its way is not pushed out by what the partner says.
    /// Bytes of its text; `None` if there is none.
    pub(super) fn shorten(&mut self) -> Option<usize> {
        let last = self.history.len().saturating_sub(1);
        let old = self.history.iter().take(last).position(|message| message.state.is_settled());
        old.and_then(|at| self.history.remove(at)).map(|message| message.text.len())
    }

    /// Says how a message stands. Whether that is new.
    pub fn turn(&mut self, number: u64, state: MessageState, round: u64) -> bool {
        let found = self.history.iter_mut().find(|message| message.number == number);
        let Some(message) = found.filter(|message| message.state != state) else { return false };
        (message.state, message.round) = (state, Some(round));
        true
    }

    /// Forgets the conversation. What is not acknowledged is not known to have arrived.
    pub fn hang_up(&mut self) {
        self.answering = None;
        let Some(talk) = self.talk.take() else { return };
        for number in talk.undelivered() {
            let found = self.history.iter_mut().find(|message| message.number == number);
            match found {
                // Not all of it was ever sent, so the partner does not have it.
                Some(Message { state: MessageState::Waiting, .. }) => {
                    self.brought = self.brought.min(number);
                }
                Some(message) => message.state = MessageState::Unknown,
                None => {}
            }
        }
    }
}

//! What the device writes down before anything that depends on it leaves (`docs/spec/visitor.md`,
//! V4): the storage port.

use ostrakon_decide::{Memory, Refused, SignedRecord};

use super::keeping::{Found, State};
use super::machine::Visitor;
use super::news::{Action, Deed, Failure, News};
use super::reading::Doubt;
use crate::time::Millis;

/// After so long it is tried again to write something down.
const LATER: Millis = 1_500;

impl Visitor {
    /// Has the front end write down what is to be.
    pub(crate) fn write_down(&mut self) {
        if !self.over && self.keeping.due().is_some_and(|due| due <= self.now) {
            self.keeping.state = State::Asked;
            self.actions.push_back(Action::Keep);
        }
    }

    pub(crate) fn take_note(&mut self, memory: &mut Memory) {
        if !self.keeping.is_asked() {
            return;
        }
        let owner = self.account().verifying_key();
        let found = match self.visit().remember(&owner, memory) {
            Err(Refused::Shorter { .. }) if self.reading.is_more() => Found::Behind,
            Err(refused) => Found::Refused(refused),
            Ok(()) => {
                if self.receipt.as_ref().is_some_and(|receipt| receipt.is_complete()) {
                    self.visit().confirmed(&owner, memory);
                }
                let made = self.fix(memory);
                Found::Noted(memory.pending(&self.id).map(<[u8]>::to_vec), made)
            }
        };
        self.keeping.found = Some(found);
    }

    /// Fixes the answers and makes the record, or finds the one again that was made.
    fn fix(&mut self, memory: &mut Memory) -> Option<Result<Box<SignedRecord>, Refused>> {
        if !self.is_fixing() {
            return None;
        }
        let time = self.seconds();
        let answers = self.wanted.front()?.answers.clone();
        let Self { reading, rng, acting, device, .. } = self;
        let account = acting.as_ref().and_then(Option::as_ref).unwrap_or(device);
        let made = reading.visit().answer(account, &answers, memory, time, rng);
        Some(made.map(Box::new))
    }

    pub(crate) fn noted(&mut self, written: bool) {
        let Some(found) = self.keeping.found.take() else { return };
        self.keeping.state = State::Idle;
        let looked = std::mem::take(&mut self.keeping.looked);
        match found {
            Found::Behind => {
                self.tell(News::Alone);
                self.look.pause(self.now, &mut self.draws);
            }
            Found::Refused(refused) => self.refuse(Doubt::Refused(refused)),
            Found::Noted(..) if !written => {
                self.tell(News::NotKept);
                self.drop_all(&Failure::NotKept);
                self.keeping.looked = true;
                self.keeping.state = State::Wanted(self.now + LATER);
            }
            Found::Noted(pending, made) => {
                self.keeping.pending = pending;
                self.keeping.noted = self.reading.length();
                match made {
                    Some(Ok(record)) => self.post(*record),
                    Some(Err(refused)) => self.fail(Failure::Refused(refused)),
                    None => {}
                }
                if looked {
                    self.looked();
                }
            }
        }
    }

    /// What was fixed before this visit, and is not known to have arrived, is handed in again.
    /// Whether there is such.
    pub fn resume(&mut self, now: Millis) -> bool {
        let Some(answers) = self.keeping.pending.clone() else { return false };
        self.answer(now, &answers);
        self.is_wanted(Deed::Answer)
    }
}

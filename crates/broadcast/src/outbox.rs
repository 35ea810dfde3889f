//! What a participant has to say, kept until it is on the board.
//!
//! Three rules are kept here, for every client alike. A message is put into one epoch at a time:
//! only when that epoch is known to have ended without it does it enter a later one, so nothing is
//! published twice. An answer to a poll is put into the poll's epoch and no other, in place of the
//! message, which waits. And what goes into an epoch is decided once: asked again, [`Outbox`] gives
//! the same answer, so no two different rows ever meet the same masks.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::board::Entry;
use ostrakon_mixing::row::Content;

/// Answers to polls that are remembered after they were settled.
const BALLOTS_KEPT: usize = 32;

/// What a board entry means for the message in an [`Outbox`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// It says nothing about the message.
    Nothing,
    /// The message is published, or the entry of its epoch has erased messages and it may be one of
    /// them.
    Published,
    /// The message's epoch is over without it; it enters the next one.
    Again,
    /// The message's epoch is over without it, and it may have been read: it waits for its author
    /// ([`Outbox::held`]).
    Held,
}

/// Where the answer to a poll stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BallotState {
    /// It waits for the poll's epoch and can be changed.
    Waiting,
    /// It was put into the poll's epoch, whose outcome is not known.
    Sent,
    /// It is on the board.
    Counted,
    /// The poll's epoch is over without it.
    Missed,
    /// The poll's epoch ended without a board, and it may have been read: only its author gives it
    /// again.
    Doubted,
}

/// The answer to a poll. What it says is not printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ballot {
    /// The poll: the number of the host's action that asks.
    pub poll: u64,
    /// The message that says the answer ([`crate::hosting::Answer::encode`]).
    pub body: Vec<u8>,
    /// Where it stands.
    pub state: BallotState,
    /// Whether a server says that it may have been read without being published.
    #[serde(default)]
    doubted: bool,
}

impl Ballot {
    /// Its epoch is over without it; or it is settled already.
    fn miss(&mut self, read: bool) {
        self.state = match self.state {
            BallotState::Sent if read => BallotState::Doubted,
            BallotState::Sent | BallotState::Waiting => BallotState::Missed,
            settled => settled,
        };
    }
}

impl fmt::Debug for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ballot")
            .field("poll", &self.poll)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// What was put into an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Put {
    Cover,
    Message,
    Ballot,
}

/// The message that a participant has to say and its answers to polls, until they are on the board.
/// Nothing of it is printed: which epochs have a message of the participant's is as secret as what
/// it says.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    message: Option<Vec<u8>>,
    /// The epoch that the message was put into, while its outcome is unknown.
    undecided: Option<u64>,
    /// Whether a server says that it may have been read in that epoch without being published.
    #[serde(default)]
    doubted: bool,
    /// The epoch that ended so. While there is one, the message enters no other.
    #[serde(default)]
    held: Option<u64>,
    /// The latest epoch that something was put into, and what.
    latest: Option<(u64, Put)>,
    /// The latest epoch known to be over.
    over: Option<u64>,
    /// Answers to polls by the polls' epochs.
    ballots: BTreeMap<u64, Ballot>,
    /// The least minimum that the participant has agreed to.
    #[serde(default)]
    agreed: Option<u32>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}

/// Why the outbox does not take something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// A participant has one message at a time.
    #[error("the message before is not on the board yet: wait until it is")]
    Occupied,
    /// A message that begins like an answer to a poll.
    #[error("a message is text: its first character must not be NUL")]
    NotText,
    /// The poll's epoch is over, or something was put into it.
    #[error("it is too late to answer: the poll's epoch is closed for this device")]
    TooLate,
    /// The message is on its way.
    #[error("the message was handed in for epoch {0} and cannot be taken back now")]
    HandedIn(u64),
}

impl Outbox {
    /// Takes a message to be said; an empty one is nothing to say.
    ///
    /// # Errors
    /// [`NotTaken::Occupied`] while the message before is not published; [`NotTaken::NotText`].
    pub fn put(&mut self, message: Vec<u8>) -> Result<(), NotTaken> {
        if self.message.is_some() {
            return Err(NotTaken::Occupied);
        }
        if message.first() == Some(&0) {
            return Err(NotTaken::NotText);
        }
        self.message = Some(message).filter(|text| !text.is_empty());
        Ok(())
    }

    /// Gives the message back, so that it is not said, unless an epoch may still bring it out.
    /// `None` if there is none.
    ///
    /// # Errors
    /// [`NotTaken::HandedIn`].
    pub fn take_back(&mut self) -> Result<Option<Vec<u8>>, NotTaken> {
        match self.undecided {
            Some(number) => Err(NotTaken::HandedIn(number)),
            None => {
                self.held = None;
                Ok(self.message.take())
            }
        }
    }

    /// Takes the answer to poll `poll`, which is collected in epoch `number`; an earlier answer is
    /// replaced.
    ///
    /// # Errors
    /// [`NotTaken::TooLate`] when the epoch is over or something was put into it.
    pub fn answer(&mut self, poll: u64, number: u64, body: Vec<u8>) -> Result<(), NotTaken> {
        let passed = self.over.is_some_and(|over| number <= over);
        if passed || self.latest.is_some_and(|(latest, _)| number <= latest) {
            return Err(NotTaken::TooLate);
        }
        let ballot = Ballot { poll, body, state: BallotState::Waiting, doubted: false };
        self.ballots.insert(number, ballot);
        Ok(())
    }

    /// Forgets an answer that was not put into its epoch, for a poll that was withdrawn.
    pub fn withdraw(&mut self, poll: u64) {
        self.ballots
            .retain(|_, ballot| ballot.poll != poll || ballot.state != BallotState::Waiting);
    }

    /// The participant agrees to hide among as many as an epoch with this minimum promises. What it
    /// agreed to before stands, if that was less.
    pub fn agree(&mut self, minimum: u32) {
        self.agreed = Some(self.agreed.map_or(minimum, |agreed| agreed.min(minimum)));
    }

    /// The least minimum that the participant has agreed to; `None` if it has agreed to nothing
    /// yet.
    pub fn agreed(&self) -> Option<u32> {
        self.agreed
    }

    /// The answers that are known, by the polls' epochs.
    pub fn ballots(&self) -> &BTreeMap<u64, Ballot> {
        &self.ballots
    }

    /// The message that is not published yet.
    pub fn message(&self) -> Option<&[u8]> {
        self.message.as_deref()
    }

    /// The epoch whose outcome decides about the message.
    pub fn undecided(&self) -> Option<u64> {
        self.undecided
    }

    /// The epoch that may have shown the message and did not publish it: it is not said again,
    /// unless it is taken back and put anew.
    pub fn held(&self) -> Option<u64> {
        self.held
    }

    /// The earliest epoch whose outcome decides about the message or an answer.
    pub fn awaited(&self) -> Option<u64> {
        let sent = self
            .ballots
            .iter()
            .filter(|(_, ballot)| ballot.state == BallotState::Sent)
            .map(|(number, _)| *number);
        sent.chain(self.undecided).min()
    }

    /// What to put into epoch `number`: the answer to the poll that is collected in it; else the
    /// message; else, or while the message may still come out of an earlier epoch, a cover. The
    /// answer for an epoch never changes. `None` for an epoch that is over, or before one already
    /// answered for.
    pub fn content(&mut self, number: u64) -> Option<Content> {
        self.content_among(number, u32::MAX)
    }

    /// Like [`Outbox::content`], for an epoch with this minimum. If it is below what the
    /// participant has agreed to, a cover goes into it, whatever there is to say.
    pub fn content_among(&mut self, number: u64, minimum: u32) -> Option<Content> {
        match self.latest {
            Some((latest, _)) if number < latest => return None,
            _ if self.over.is_some_and(|over| number <= over) => return None,
            Some((latest, put)) if number == latest => return Some(self.as_put(number, put)),
            _ => {}
        }
        let put = if self.agreed.is_some_and(|agreed| minimum < agreed) {
            Put::Cover
        } else if let Some(ballot) = self.ballots.get_mut(&number) {
            ballot.state = BallotState::Sent;
            Put::Ballot
        } else if self.message.is_some() && self.undecided.is_none() && self.held.is_none() {
            self.undecided = Some(number);
            Put::Message
        } else {
            Put::Cover
        };
        self.latest = Some((number, put));
        Some(self.as_put(number, put))
    }

    fn as_put(&self, number: u64, put: Put) -> Content {
        let body = match put {
            Put::Cover => None,
            Put::Message => self.message.clone(),
            Put::Ballot => self.ballots.get(&number).map(|ballot| ballot.body.clone()),
        };
        body.map_or(Content::Cover, Content::Message)
    }

    /// Learns from a verified board entry. Entries are shown in order, none left out.
    pub fn observe(&mut self, entry: &Entry) -> Observed {
        self.observe_with(entry, |message| entry.bodies().any(|text| text == message))
    }

    /// Like [`Outbox::observe`], for a program with several participants, whose messages may be
    /// equal: `holds` says whether the entry holds the message, and counts every copy for one
    /// participant only.
    ///
    /// What was erased cannot be told from what was said. A message that is not among those that
    /// are left, where others were erased, is settled all the same: said again, it would undo the
    /// erasure, and show that its author was there both times. So a server that shows bodies as
    /// erased can make a message get lost that was left out of the epoch.
    pub fn observe_with(&mut self, entry: &Entry, holds: impl Fn(&[u8]) -> bool) -> Observed {
        let number = entry.epoch.number;
        self.over = self.over.max(Some(number));
        self.settle_ballots(number, |epoch, body| epoch == number && holds(body));
        let Some(undecided) = self.undecided.filter(|undecided| *undecided <= number) else {
            return Observed::Nothing;
        };
        if number > undecided {
            return self.release();
        }
        (self.undecided, self.doubted) = (None, false);
        let erased = || entry.messages.iter().any(|message| message.body().is_none());
        if self.message.as_deref().is_some_and(|message| holds(message) || erased()) {
            self.message = None;
            return Observed::Published;
        }
        Observed::Again
    }

    /// Learns that epoch `number` ended without a board. The caller has it from two servers, one of
    /// which is honest: a single one could make the message come out twice.
    pub fn ended_without_board(&mut self, number: u64) {
        self.over = self.over.max(Some(number));
        if self.undecided == Some(number) {
            self.release();
        }
        if let Some(ballot) = self.ballots.get_mut(&number) {
            ballot.miss(ballot.doubted);
        }
    }

    /// Hears that messages of epoch `number` may have been read although it publishes none, or none
    /// yet. The caller has it from any server: it counts if the epoch then ends without a board.
    /// Said again by itself, the message would stand beside what was read of it, so it waits for
    /// its author; and so does the answer to a poll.
    pub fn doubt(&mut self, number: u64) {
        self.doubted |= self.undecided == Some(number);
        if let Some(ballot) = self.ballots.get_mut(&number) {
            ballot.doubted |= ballot.state == BallotState::Sent;
        }
    }

    /// The message's epoch ended without a board.
    fn release(&mut self) -> Observed {
        self.held = self.undecided.take().filter(|_| self.doubted);
        self.doubted = false;
        if self.held.is_some() { Observed::Held } else { Observed::Again }
    }

    /// Settles the answers to polls up to epoch `number`, and forgets the oldest of too many.
    fn settle_ballots(&mut self, number: u64, counted: impl Fn(u64, &[u8]) -> bool) {
        for (epoch, ballot) in self.ballots.range_mut(..=number) {
            if ballot.state == BallotState::Sent && counted(*epoch, &ballot.body) {
                ballot.state = BallotState::Counted;
            }
            // An epoch that is on the board has left out what is not there.
            ballot.miss(ballot.doubted && *epoch < number);
        }
        while self.ballots.len() > BALLOTS_KEPT
            && self.ballots.first_key_value().is_some_and(|(e, _)| *e <= number)
        {
            self.ballots.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Digest;

    use super::*;
    use crate::board::Published;
    use ostrakon_mixing::room::{EpochId, RoomId};

    fn entry(number: u64, messages: &[&[u8]]) -> Entry {
        let messages =
            messages.iter().map(|m| Published::Kept { salt: [0; 16], body: m.to_vec() }).collect();
        Entry {
            epoch: EpochId { room: RoomId([1; 16]), number },
            previous: Digest([0; 32]),
            accepted: 3,
            messages,
        }
    }

    #[test]
    fn what_waits_to_be_said_is_not_printed() {
        let mut outbox = Outbox::default();
        let silent = format!("{outbox:#?}");
        outbox.put(vec![213; 3]).unwrap();
        outbox.content(4);
        assert_eq!(format!("{outbox:#?}"), silent);
        let ballot =
            Ballot { poll: 2, body: vec![213; 3], state: BallotState::Waiting, doubted: false };
        assert!(!format!("{ballot:?}").contains("213"));
    }

    #[test]
    fn nothing_is_said_among_fewer_than_was_agreed_to() {
        let mut outbox = Outbox::default();
        outbox.agree(3);
        outbox.put(b"hello".to_vec()).unwrap();
        outbox.answer(7, 2, vec![0]).unwrap();
        assert_eq!(outbox.content_among(1, 2), Some(Content::Cover));
        assert_eq!(outbox.content_among(2, 2), Some(Content::Cover), "an answer neither");
        assert_eq!((outbox.undecided(), outbox.message()), (None, Some(&b"hello"[..])));
        assert_eq!(outbox.content_among(3, 3), Some(Content::Message(b"hello".to_vec())));
        outbox.ended_without_board(3);
        outbox.agree(5);
        outbox.agree(2);
        assert_eq!(outbox.agreed(), Some(2));
        assert_eq!(outbox.content_among(4, 2), Some(Content::Message(b"hello".to_vec())));
    }

    #[test]
    fn a_message_is_in_one_epoch_at_a_time_until_it_is_published() {
        let said = || Some(Content::Message(b"hello".to_vec()));
        let mut outbox = Outbox::default();
        assert_eq!(outbox.content(1), Some(Content::Cover));
        outbox.put(b"hello".to_vec()).unwrap();
        assert_eq!(outbox.put(b"more".to_vec()), Err(NotTaken::Occupied));
        assert_eq!(
            outbox.content(1),
            Some(Content::Cover),
            "what goes into an epoch is decided once"
        );
        assert_eq!(outbox.content(2), said());
        assert_eq!(outbox.content(3), Some(Content::Cover), "epoch 2 is undecided");
        assert_eq!(outbox.content(2), None, "no going back");
        assert_eq!(outbox.observe(&entry(1, &[b"hello"])), Observed::Nothing, "somebody else's");
        assert_eq!(outbox.observe(&entry(2, &[b"other"])), Observed::Again);
        assert_eq!(outbox.content(3), Some(Content::Cover), "epoch 3 was answered for");
        assert_eq!(outbox.content(4), said());
        assert_eq!(
            outbox.observe(&entry(5, &[b"hello"])),
            Observed::Again,
            "epoch 4 was left out of the chain"
        );
        assert_eq!(outbox.content(6), said());
        assert_eq!(outbox.content(6), said());
        outbox.ended_without_board(5);
        assert_eq!(outbox.undecided(), Some(6));
        outbox.ended_without_board(6);
        assert_eq!(outbox.content(7), said());
        assert_eq!(outbox.observe(&entry(7, &[b"x", b"hello"])), Observed::Published);
        assert_eq!(outbox.message(), None);
        outbox.put(b"next".to_vec()).unwrap();
        assert_eq!(outbox.content(7), None, "epoch 7 is over");
        assert_eq!(outbox.observe(&entry(8, &[b"next"])), Observed::Nothing);
        assert_eq!(outbox.content(9), Some(Content::Message(b"next".to_vec())));
        assert_eq!(outbox.observe(&entry(9, &[b"next"])), Observed::Published);
        assert_eq!(outbox.put(Vec::new()), Ok(()));
        assert_eq!(outbox.content(10), Some(Content::Cover));
    }

    #[test]
    fn a_message_that_may_have_been_read_waits_for_its_author() {
        let mut outbox = Outbox::default();
        outbox.put(b"hello".to_vec()).unwrap();
        assert!(matches!(outbox.content(2), Some(Content::Message(_))));
        outbox.doubt(1);
        outbox.ended_without_board(2);
        assert!(matches!(outbox.content(3), Some(Content::Message(_))), "epoch 1 was another one");
        outbox.doubt(3);
        assert_eq!(outbox.observe(&entry(3, &[b"other"])), Observed::Again, "it was left out");
        assert!(matches!(outbox.content(4), Some(Content::Message(_))));
        outbox.doubt(4);
        assert_eq!((outbox.undecided(), outbox.held()), (Some(4), None), "one server's word");
        assert_eq!(outbox.observe(&entry(5, &[b"hello"])), Observed::Held, "somebody else's");
        assert_eq!((outbox.undecided(), outbox.held()), (None, Some(4)));
        assert_eq!(outbox.content(6), Some(Content::Cover));
        assert_eq!(outbox.put(b"more".to_vec()), Err(NotTaken::Occupied));
        let kept: Outbox = serde_json::from_str(&serde_json::to_string(&outbox).unwrap()).unwrap();
        assert_eq!(kept, outbox, "also after a restart");
        assert_eq!(outbox.take_back(), Ok(Some(b"hello".to_vec())));
        outbox.put(b"hello".to_vec()).unwrap();
        assert!(matches!(outbox.content(7), Some(Content::Message(_))), "its author says it anew");
        outbox.doubt(7);
        outbox.ended_without_board(7);
        assert_eq!((outbox.content(8), outbox.held()), (Some(Content::Cover), Some(7)));
    }

    #[test]
    fn an_answer_that_may_have_been_read_waits_for_its_author() {
        let mut outbox = Outbox::default();
        for epoch in [2, 4, 6, 8] {
            outbox.answer(epoch, epoch, vec![0, 1]).unwrap();
        }
        outbox.doubt(2);
        assert_eq!(outbox.content(3), Some(Content::Cover), "the first answer stayed here");
        outbox.content(4);
        outbox.doubt(4);
        outbox.ended_without_board(4);
        outbox.content(6);
        outbox.doubt(6);
        outbox = serde_json::from_str(&serde_json::to_string(&outbox).unwrap()).unwrap();
        outbox.observe(&entry(7, &[]));
        outbox.content(8);
        outbox.doubt(8);
        outbox.observe(&entry(8, &[]));
        let states: Vec<_> = outbox.ballots().values().map(|ballot| ballot.state).collect();
        let (missed, doubted) = (BallotState::Missed, BallotState::Doubted);
        assert_eq!(states, [missed, doubted, doubted, missed], "epoch 8 has left it out");
    }

    #[test]
    fn an_answer_goes_into_its_epoch_and_the_message_waits() {
        let mut outbox = Outbox::default();
        outbox.put(b"hello".to_vec()).unwrap();
        outbox.answer(7, 5, b"\0yes".to_vec()).unwrap();
        outbox.answer(7, 5, b"\0no".to_vec()).unwrap();
        let said = |text: &[u8]| Some(Content::Message(text.to_vec()));
        assert_eq!(outbox.content(5), said(b"\0no"));
        assert_eq!(outbox.answer(7, 5, b"\0yes".to_vec()), Err(NotTaken::TooLate));
        assert_eq!(outbox.content(5), said(b"\0no"), "decided once");
        assert_eq!(outbox.awaited(), Some(5));
        assert_eq!(outbox.content(6), said(b"hello"));
        assert_eq!(outbox.observe(&entry(5, &[b"hello", b"\0no"])), Observed::Nothing);
        assert_eq!(outbox.ballots()[&5].state, BallotState::Counted);
        assert_eq!(outbox.observe(&entry(6, &[b"hello"])), Observed::Published);
        assert_eq!(
            outbox.answer(8, 6, b"\0yes".to_vec()),
            Err(NotTaken::TooLate),
            "the epoch is over"
        );
    }

    #[test]
    fn an_answer_is_never_put_into_another_epoch() {
        let mut outbox = Outbox::default();
        for epoch in [3, 5, 7] {
            outbox.answer(epoch, epoch, vec![0, 1]).unwrap();
        }
        assert_eq!(outbox.content(2), Some(Content::Cover));
        assert_eq!(outbox.content(4), Some(Content::Cover), "this device was away in epoch 3");
        assert_eq!(outbox.content(5), Some(Content::Message(vec![0, 1])));
        outbox.ended_without_board(5);
        assert_eq!(outbox.content(6), Some(Content::Cover));
        assert_eq!(outbox.observe(&entry(6, &[&[0, 1]])), Observed::Nothing);
        let states: Vec<_> = outbox.ballots().values().map(|ballot| ballot.state).collect();
        assert_eq!(states, [BallotState::Missed, BallotState::Missed, BallotState::Waiting]);
        outbox.withdraw(7);
        assert_eq!(outbox.content(7), Some(Content::Cover));
    }

    #[test]
    fn a_message_that_may_have_been_erased_is_not_said_again() {
        let mut outbox = Outbox::default();
        outbox.put(b"hello".to_vec()).unwrap();
        let erased_in = |number| {
            let mut entry = entry(number, &[b"other", b"hello"]);
            entry.messages[1] = entry.messages[1].erased();
            entry
        };
        assert!(outbox.content(2).is_some());
        assert_eq!(outbox.observe(&erased_in(1)), Observed::Nothing, "another epoch's");
        assert_eq!(outbox.observe(&erased_in(2)), Observed::Published);
        assert_eq!(outbox.message(), None);
        assert_eq!(outbox.content(3), Some(Content::Cover));
        outbox.put(b"hello".to_vec()).unwrap();
        assert!(matches!(outbox.content(4), Some(Content::Message(_))));
        assert_eq!(
            outbox.observe(&erased_in(5)),
            Observed::Again,
            "epoch 4 was left out of the chain"
        );
    }

    #[test]
    fn a_message_is_taken_back_only_before_it_is_handed_in() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.put(b"\0ballot".to_vec()), Err(NotTaken::NotText));
        outbox.put(b"hello".to_vec()).unwrap();
        assert_eq!(outbox.take_back(), Ok(Some(b"hello".to_vec())));
        assert_eq!(outbox.content(1), Some(Content::Cover));
        outbox.put(b"hello".to_vec()).unwrap();
        assert!(matches!(outbox.content(2), Some(Content::Message(_))));
        assert_eq!(outbox.take_back(), Err(NotTaken::HandedIn(2)));
        outbox.ended_without_board(2);
        assert_eq!(outbox.take_back(), Ok(Some(b"hello".to_vec())));
        assert_eq!(outbox.content(2), None);
        assert_eq!(outbox.content(3), Some(Content::Cover));
    }
}

//! Polls: what is asked, how an answer travels, how the answers are counted.
//!
//! Answers are messages of one epoch, which the poll names. Every participant has one slot in an epoch and hands in one
//! row for it, so nobody answers twice; who does not answer hands in a cover, which looks the same. Answers that come
//! out of another epoch are not counted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::action::InvalidDeed;
use crate::board::Entry;

/// Longest question in bytes of UTF-8.
pub const QUESTION_BYTES: usize = 500;
/// Longest option in bytes of UTF-8.
pub const OPTION_BYTES: usize = 200;
/// Options of a choice.
pub const OPTIONS: std::ops::RangeInclusive<usize> = 2..=20;
/// The highest mark of a rating; the lowest is 1.
pub const HIGHEST: std::ops::RangeInclusive<u8> = 2..=10;
/// What an answer to a poll begins with. No text does.
const BALLOT: [u8; 2] = [0, b'P'];
/// Bytes before the answer itself: the beginning and the poll's id.
const HEADER: usize = BALLOT.len() + 8;

/// A question to everybody in the room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// The question. At most [`QUESTION_BYTES`] bytes.
    pub question: String,
    /// What may be answered.
    pub form: PollForm,
    /// The epoch whose messages are the answers.
    pub epoch: u64,
}

/// What may be answered to a poll.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PollForm {
    /// One of several options, or several of them.
    Choice {
        /// As many as [`OPTIONS`] says, of at most [`OPTION_BYTES`] bytes each, all different.
        options: Vec<String>,
        /// Several may be chosen.
        several: bool,
    },
    /// A mark from 1 to `highest`.
    Rating {
        /// Within [`HIGHEST`].
        highest: u8,
    },
    /// A few words.
    Text,
}

impl Poll {
    /// Checks every limit.
    ///
    /// # Errors
    /// [`InvalidDeed`] names it.
    pub fn validate(&self) -> Result<(), InvalidDeed> {
        let complain = |text: String| Err(InvalidDeed(text));
        if self.question.trim().is_empty() || self.question.len() > QUESTION_BYTES {
            return complain(format!("a question must have 1 to {QUESTION_BYTES} bytes"));
        }
        match &self.form {
            PollForm::Choice { options, .. } => {
                let distinct: BTreeSet<_> = options.iter().map(|option| option.trim()).collect();
                if !OPTIONS.contains(&options.len()) || distinct.len() != options.len() {
                    let (least, most) = (OPTIONS.start(), OPTIONS.end());
                    return complain(format!("a choice must have {least} to {most} options, all different"));
                }
                if options.iter().any(|option| option.trim().is_empty() || option.len() > OPTION_BYTES) {
                    return complain(format!("an option must have 1 to {OPTION_BYTES} bytes"));
                }
                Ok(())
            }
            PollForm::Rating { highest } if !HIGHEST.contains(highest) => {
                complain(format!("the highest mark must be from {} to {}", HIGHEST.start(), HIGHEST.end()))
            }
            _ => Ok(()),
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Indices of the chosen options.
    Choice(BTreeSet<u8>),
    /// The mark.
    Rating(u8),
    /// The words.
    Text(String),
}

/// An answer that the poll does not admit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the poll does not admit this answer")]
pub struct InvalidAnswer;

impl Answer {
    /// Whether the poll admits it.
    fn suits(&self, form: &PollForm) -> bool {
        match (self, form) {
            (Answer::Choice(chosen), PollForm::Choice { options, several }) => {
                let known = chosen.last().is_some_and(|last| usize::from(*last) < options.len());
                known && (*several || chosen.len() == 1)
            }
            (Answer::Rating(mark), PollForm::Rating { highest }) => (1..=*highest).contains(mark),
            (Answer::Text(words), PollForm::Text) => !words.trim().is_empty(),
            _ => false,
        }
    }

    /// The message that says the answer to poll `number`.
    ///
    /// # Errors
    /// [`InvalidAnswer`].
    pub fn encode(&self, number: u64, poll: &Poll) -> Result<Vec<u8>, InvalidAnswer> {
        if !self.suits(&poll.form) {
            return Err(InvalidAnswer);
        }
        let mut message = BALLOT.to_vec();
        message.extend(number.to_le_bytes());
        match self {
            Answer::Choice(chosen) => message.extend(chosen),
            Answer::Rating(mark) => message.push(*mark),
            Answer::Text(words) => message.extend(words.as_bytes()),
        }
        Ok(message)
    }

    /// Reads a message; `None` if it is no answer that poll `number` admits.
    pub fn decode(number: u64, poll: &Poll, message: &[u8]) -> Option<Self> {
        let (header, body) = message.split_at_checked(HEADER)?;
        if header[..BALLOT.len()] != BALLOT || header[BALLOT.len()..] != number.to_le_bytes() {
            return None;
        }
        let answer = match (&poll.form, body) {
            (PollForm::Choice { .. }, indices) => {
                // Ascending and without repetition: an answer is written in one way.
                indices.is_sorted_by(|a, b| a < b).then(|| Answer::Choice(indices.iter().copied().collect()))?
            }
            (PollForm::Rating { .. }, [mark]) => Answer::Rating(*mark),
            (PollForm::Rating { .. }, _) => return None,
            (PollForm::Text, words) => Answer::Text(String::from_utf8(words.to_vec()).ok()?),
        };
        answer.suits(&poll.form).then_some(answer)
    }
}

/// Whether a message is an answer to some poll, and so not to be shown as a text.
pub fn is_ballot(message: &[u8]) -> bool {
    message.starts_with(&BALLOT[..1])
}

/// The answers to a poll.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Participants who answered.
    pub answers: u32,
    /// Votes by option, or by mark from 1 on; empty for texts.
    pub votes: Vec<u32>,
    /// What was answered in words, in the board's order.
    pub texts: Vec<String>,
    /// Messages of the epoch that begin like an answer and are none to this poll.
    pub invalid: u32,
}

impl Tally {
    /// Nobody answered.
    pub fn none(poll: &Poll) -> Self {
        let votes = match &poll.form {
            PollForm::Choice { options, .. } => vec![0; options.len()],
            PollForm::Rating { highest } => vec![0; usize::from(*highest)],
            PollForm::Text => Vec::new(),
        };
        Self { votes, ..Self::default() }
    }
}

/// Counts the answers to poll `number` in the entry of the poll's epoch; those of another epoch are not its.
pub fn tally(number: u64, poll: &Poll, entry: &Entry) -> Tally {
    let mut tally = Tally::none(poll);
    if entry.epoch.number != poll.epoch {
        return tally;
    }
    for message in entry.bodies().filter(|message| is_ballot(message)) {
        let Some(answer) = Answer::decode(number, poll, message) else {
            tally.invalid += 1;
            continue;
        };
        tally.answers += 1;
        match answer {
            Answer::Choice(chosen) => chosen.iter().for_each(|index| tally.votes[usize::from(*index)] += 1),
            Answer::Rating(mark) => tally.votes[usize::from(mark) - 1] += 1,
            Answer::Text(words) => tally.texts.push(words),
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Digest;

    use super::*;
    use crate::board::Published;
    use crate::room::{EpochId, RoomId};

    fn choice(several: bool) -> Poll {
        let options = ["yes", "no", "later"].map(String::from).to_vec();
        Poll { question: "When?".into(), form: PollForm::Choice { options, several }, epoch: 9 }
    }

    fn entry(number: u64, messages: &[Vec<u8>]) -> Entry {
        let messages = messages.iter().map(|m| Published::Kept { salt: [0; 16], body: m.clone() }).collect();
        Entry { epoch: EpochId { room: RoomId([1; 16]), number }, previous: Digest([0; 32]), accepted: 9, messages }
    }

    fn chosen(indices: &[u8]) -> Answer {
        Answer::Choice(indices.iter().copied().collect())
    }

    #[test]
    fn answers_are_counted_in_the_poll_s_epoch_only() {
        let poll = choice(false);
        let vote = |index| chosen(&[index]).encode(4, &poll).unwrap();
        let other_poll = chosen(&[0]).encode(5, &poll).unwrap();
        let messages = [vote(0), vote(2), b"a text".to_vec(), other_poll, vote(2)];
        let expected = Tally { answers: 3, votes: vec![1, 0, 2], texts: Vec::new(), invalid: 1 };
        assert_eq!(tally(4, &poll, &entry(9, &messages)), expected);
        assert_eq!(tally(4, &poll, &entry(8, &messages)).answers, 0);
    }

    #[test]
    fn an_answer_that_the_poll_does_not_admit_is_none() {
        let (one, several) = (choice(false), choice(true));
        for (answer, poll) in
            [(chosen(&[]), &one), (chosen(&[3]), &one), (chosen(&[0, 1]), &one), (Answer::Rating(1), &one)]
        {
            assert_eq!(answer.encode(4, poll), Err(InvalidAnswer));
        }
        let both = chosen(&[0, 2]).encode(4, &several).unwrap();
        assert_eq!(Answer::decode(4, &several, &both), Some(chosen(&[0, 2])));
        assert_eq!(Answer::decode(4, &one, &both), None);
        let prefix = &both[..HEADER];
        for body in [&[2, 0][..], &[0, 0], &[], &[7]] {
            assert_eq!(Answer::decode(4, &several, &[prefix, body].concat()), None, "{body:?}");
        }
        let rating = Poll { form: PollForm::Rating { highest: 5 }, ..choice(false) };
        for body in [&[0][..], &[6], &[1, 1], &[]] {
            assert_eq!(Answer::decode(4, &rating, &[prefix, body].concat()), None, "{body:?}");
        }
        let text = Poll { form: PollForm::Text, ..choice(false) };
        assert_eq!(Answer::decode(4, &text, &[prefix, b" "].concat()), None);
        assert_eq!(Answer::decode(4, &text, &[prefix, &[255]].concat()), None);
        assert_eq!(Answer::decode(4, &text, b""), None);
    }

    #[test]
    fn ratings_and_texts_are_counted() {
        let rating = Poll { form: PollForm::Rating { highest: 5 }, ..choice(false) };
        let marks: Vec<_> = [5, 1, 5].map(|mark| Answer::Rating(mark).encode(1, &rating).unwrap()).to_vec();
        assert_eq!(tally(1, &rating, &entry(9, &marks)).votes, [1, 0, 0, 0, 2]);
        let text = Poll { form: PollForm::Text, ..choice(false) };
        let words = Answer::Text("more bread".into()).encode(1, &text).unwrap();
        assert_eq!(tally(1, &text, &entry(9, &[words])).texts, ["more bread"]);
    }

    #[test]
    fn every_limit_of_a_poll_is_named() {
        let with = |options: &[&str]| {
            let options = options.iter().map(|option| (*option).to_owned()).collect();
            Poll { form: PollForm::Choice { options, several: false }, ..choice(false) }
        };
        let long = "o".repeat(201);
        for (poll, word) in [
            (Poll { question: " ".into(), ..choice(false) }, "question"),
            (with(&["one"]), "2 to 20"),
            (with(&["one", "one "]), "different"),
            (with(&["one", &long]), "bytes"),
            (Poll { form: PollForm::Rating { highest: 11 }, ..choice(false) }, "mark"),
        ] {
            let error = poll.validate().unwrap_err();
            assert!(error.0.contains(word), "{error}");
        }
        assert_eq!(choice(true).validate(), Ok(()));
    }
}

//! Polls: what is asked, how an answer travels, how the answers are counted.
//!
//! Answers are messages of one epoch, which the poll names. Every participant has one slot in an
//! epoch and hands in one row for it, so nobody answers twice; who does not answer hands in a
//! cover, which looks the same. Answers that come out of another epoch are not counted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::message::MessageId;
use super::refused::InvalidDeed;
use crate::board::Entry;

/// Longest question in bytes of UTF-8.
pub const QUESTION_BYTES: usize = 500;
/// Longest option in bytes of UTF-8.
pub const OPTION_BYTES: usize = 200;
/// Options of a choice.
pub const OPTIONS: std::ops::RangeInclusive<usize> = 2..=20;
/// Messages that a round of votes is about.
pub const TARGETS: std::ops::RangeInclusive<usize> = 2..=100;
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
    /// A round of votes: which of these messages of the board come next, any number of them. They
    /// are named, not repeated, so that what is erased is erased here as well.
    Messages {
        /// As many as [`TARGETS`] says, ascending, each once, of epochs before the poll's.
        targets: Vec<MessageId>,
    },
    /// All options in an order, the best one first.
    Ranking {
        /// As those of a choice.
        options: Vec<String>,
    },
}

/// Whether options are as a choice and a ranking must have them.
fn check_options(options: &[String]) -> Result<(), InvalidDeed> {
    let distinct: BTreeSet<_> = options.iter().map(|option| option.trim()).collect();
    if !OPTIONS.contains(&options.len()) || distinct.len() != options.len() {
        let (least, most) = (OPTIONS.start(), OPTIONS.end());
        return Err(InvalidDeed(format!(
            "a poll must have {least} to {most} options, all different"
        )));
    }
    if options.iter().any(|option| option.trim().is_empty() || option.len() > OPTION_BYTES) {
        return Err(InvalidDeed(format!("an option must have 1 to {OPTION_BYTES} bytes")));
    }
    Ok(())
}

impl PollForm {
    /// The messages that a round of votes is about; none for other forms.
    pub fn targets(&self) -> &[MessageId] {
        if let PollForm::Messages { targets } = self { targets } else { &[] }
    }

    /// Options, marks or messages that votes are counted for; none for texts.
    fn candidates(&self) -> usize {
        match self {
            PollForm::Choice { options, .. } | PollForm::Ranking { options } => options.len(),
            PollForm::Rating { highest } => usize::from(*highest),
            PollForm::Messages { targets } => targets.len(),
            PollForm::Text => 0,
        }
    }
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
            PollForm::Choice { options, .. } | PollForm::Ranking { options } => {
                check_options(options)
            }
            PollForm::Messages { targets } => {
                let (least, most) = (TARGETS.start(), TARGETS.end());
                let earlier = targets.last().is_none_or(|last| last.epoch < self.epoch);
                if !TARGETS.contains(&targets.len())
                    || !targets.is_sorted_by(|a, b| a < b)
                    || !earlier
                {
                    return complain(format!(
                        "a round of votes is about {least} to {most} messages of earlier epochs, in the board's order"
                    ));
                }
                Ok(())
            }
            PollForm::Rating { highest } if !HIGHEST.contains(highest) => complain(format!(
                "the highest mark must be from {} to {}",
                HIGHEST.start(),
                HIGHEST.end()
            )),
            _ => Ok(()),
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Indices of the chosen options or messages.
    Choice(BTreeSet<u8>),
    /// The mark.
    Rating(u8),
    /// The words.
    Text(String),
    /// The indices of all options, the best one first.
    Ranking(Vec<u8>),
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
            (Answer::Choice(chosen), PollForm::Messages { targets }) => {
                chosen.last().is_some_and(|last| usize::from(*last) < targets.len())
            }
            (Answer::Ranking(order), PollForm::Ranking { options }) => {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                sorted.iter().map(|index| usize::from(*index)).eq(0..options.len())
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
        match (self, &poll.form) {
            (Answer::Choice(chosen), PollForm::Messages { targets }) => {
                message.extend(bits(chosen, targets.len()))
            }
            (Answer::Choice(chosen), _) => message.extend(chosen),
            (Answer::Rating(mark), _) => message.push(*mark),
            (Answer::Text(words), _) => message.extend(words.as_bytes()),
            (Answer::Ranking(order), _) => message.extend(order),
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
                indices
                    .is_sorted_by(|a, b| a < b)
                    .then(|| Answer::Choice(indices.iter().copied().collect()))?
            }
            (PollForm::Rating { .. }, [mark]) => Answer::Rating(*mark),
            (PollForm::Rating { .. }, _) => return None,
            (PollForm::Text, words) => Answer::Text(String::from_utf8(words.to_vec()).ok()?),
            (PollForm::Messages { targets }, field) => {
                Answer::Choice(read_bits(field, targets.len())?)
            }
            (PollForm::Ranking { .. }, order) => Answer::Ranking(order.to_vec()),
        };
        answer.suits(&poll.form).then_some(answer)
    }
}

/// A bit for each of `all` things, the lowest of the first byte for the first one: set if it is
/// chosen.
fn bits(chosen: &BTreeSet<u8>, all: usize) -> Vec<u8> {
    let mut field = vec![0; all.div_ceil(8)];
    chosen.iter().for_each(|index| field[usize::from(index / 8)] |= 1 << (index % 8));
    field
}

/// Reads what [`bits`] wrote; `None` if the length is another one. Whether a bit beyond the last
/// thing is set is seen from what is returned.
fn read_bits(field: &[u8], all: usize) -> Option<BTreeSet<u8>> {
    let set = |index: &u8| field[usize::from(index / 8)] >> (index % 8) & 1 == 1;
    let places = 0..u8::try_from(8 * field.len()).ok()?;
    (field.len() == all.div_ceil(8)).then(|| places.filter(set).collect())
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
    /// Votes by option, by message, or by mark from 1 on; empty for texts. Of a ranking, points: an
    /// option has one for each option that a participant puts behind it.
    pub votes: Vec<u32>,
    /// What was answered in words, in the board's order.
    pub texts: Vec<String>,
    /// Messages of the epoch that begin like an answer and are none to this poll.
    pub invalid: u32,
}

impl Tally {
    /// Nobody answered.
    pub fn none(poll: &Poll) -> Self {
        Self { votes: vec![0; poll.form.candidates()], ..Self::default() }
    }
}

/// Counts the answers to poll `number` in the entry of the poll's epoch; those of another epoch are
/// not its.
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
            Answer::Choice(chosen) => {
                chosen.iter().for_each(|index| tally.votes[usize::from(*index)] += 1)
            }
            Answer::Rating(mark) => tally.votes[usize::from(mark) - 1] += 1,
            Answer::Text(words) => tally.texts.push(words),
            Answer::Ranking(order) => {
                order
                    .iter()
                    .rev()
                    .zip(0..)
                    .for_each(|(index, points)| tally.votes[usize::from(*index)] += points);
            }
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Digest;

    use super::*;
    use crate::board::Published;
    use ostrakon_mixing::room::{EpochId, RoomId};

    fn choice(several: bool) -> Poll {
        let options = ["yes", "no", "later"].map(String::from).to_vec();
        Poll { question: "When?".into(), form: PollForm::Choice { options, several }, epoch: 9 }
    }

    fn entry(number: u64, messages: &[Vec<u8>]) -> Entry {
        let messages =
            messages.iter().map(|m| Published::Kept { salt: [0; 16], body: m.clone() }).collect();
        Entry {
            epoch: EpochId { room: RoomId([1; 16]), number },
            previous: Digest([0; 32]),
            accepted: 9,
            messages,
        }
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
        for (answer, poll) in [
            (chosen(&[]), &one),
            (chosen(&[3]), &one),
            (chosen(&[0, 1]), &one),
            (Answer::Rating(1), &one),
        ] {
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
        let marks: Vec<_> =
            [5, 1, 5].map(|mark| Answer::Rating(mark).encode(1, &rating).unwrap()).to_vec();
        assert_eq!(tally(1, &rating, &entry(9, &marks)).votes, [1, 0, 0, 0, 2]);
        let text = Poll { form: PollForm::Text, ..choice(false) };
        let words = Answer::Text("more bread".into()).encode(1, &text).unwrap();
        assert_eq!(tally(1, &text, &entry(9, &[words])).texts, ["more bread"]);
    }

    fn round(targets: usize) -> Poll {
        let targets = (0..targets)
            .map(|at| MessageId { epoch: 3 + at as u64 / 8, index: at as u32 % 8 })
            .collect();
        Poll { form: PollForm::Messages { targets }, epoch: 99, ..choice(false) }
    }

    #[test]
    fn a_round_counts_every_ballot_once_for_each_message() {
        let poll = round(11);
        let votes = [&[0, 10][..], &[10], &[3, 4, 10]]
            .map(|indices| chosen(indices).encode(6, &poll).unwrap());
        assert_eq!(votes[0][HEADER..], [1, 4], "a bit for each message");
        let counted = tally(6, &poll, &entry(99, &votes));
        assert_eq!((counted.answers, counted.votes), (3, vec![1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 3]));
        assert_eq!(chosen(&[11]).encode(6, &poll), Err(InvalidAnswer));
        let header = &votes[0][..HEADER];
        for field in [&[0, 0][..], &[1], &[1, 0, 0], &[0, 8], &[]] {
            assert_eq!(Answer::decode(6, &poll, &[header, field].concat()), None, "{field:?}");
        }
        let all: Vec<u8> = (0..100).collect();
        let widest = round(*TARGETS.end());
        let ballot = chosen(&all).encode(6, &widest).unwrap();
        assert_eq!(Answer::decode(6, &widest, &ballot), Some(chosen(&all)));
        assert!(ballot.len() <= 30, "a ballot fits into the smallest row");
    }

    #[test]
    fn a_ranking_gives_points_for_every_option_behind() {
        let options = ["a", "b", "c"].map(String::from).to_vec();
        let poll = Poll { form: PollForm::Ranking { options }, ..choice(false) };
        let order = |order: &[u8]| Answer::Ranking(order.to_vec());
        let ballots =
            [[2, 0, 1], [2, 1, 0], [0, 2, 1]].map(|by| order(&by).encode(4, &poll).unwrap());
        let counted = tally(4, &poll, &entry(9, &ballots));
        assert_eq!((counted.answers, counted.votes), (3, vec![3, 1, 5]));
        for wrong in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 2], &[]] {
            assert_eq!(order(wrong).encode(4, &poll), Err(InvalidAnswer), "{wrong:?}");
            assert_eq!(
                Answer::decode(4, &poll, &[&ballots[0][..HEADER], wrong].concat()),
                None,
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn a_round_names_messages_that_are_there_to_be_voted_on() {
        assert_eq!(round(*TARGETS.end()).validate(), Ok(()));
        let at = |epoch, index| MessageId { epoch, index };
        for targets in [
            vec![at(3, 0)],
            round(101).form.targets().to_vec(),
            vec![at(3, 1), at(3, 0)],
            vec![at(3, 1), at(3, 1)],
            vec![at(3, 1), at(99, 0)],
        ] {
            let error =
                Poll { form: PollForm::Messages { targets }, ..round(2) }.validate().unwrap_err();
            assert!(error.0.contains("earlier epochs"), "{error}");
        }
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

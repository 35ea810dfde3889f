//! What each server says of the room, kept up to date by asking again and again
//! (`docs/spec/follower.md`, F2).

use ostrakon_mixing::RoomDescriptor;
use ostrakon_protocol::{Outcome, Status};

use crate::pauses::Draws;
use crate::time::Millis;

/// Between an answer and the next question, so that a lively room keeps nobody busy.
const PAUSE: Millis = 250;
/// The longest pause after a server has not answered. Pauses double.
const LONGEST: Millis = 4_000;
const DAY: Millis = 86_400_000;

/// One server's last word.
pub struct Word {
    /// Its last status; stale while it does not answer.
    status: Option<Status>,
    /// When that came.
    came: Millis,
    /// Whether it answers; `None` before the first answer or failure.
    answers: Option<bool>,
    /// When it is asked next; `None` while it is asked.
    due: Option<Millis>,
    pause: Millis,
}

impl Word {
    /// Of a server that is to be asked at once.
    pub fn new() -> Self {
        let (status, came, answers) = Default::default();
        Self { status, came, answers, due: Some(0), pause: PAUSE }
    }

    /// When it is asked next.
    pub fn due(&self) -> Option<Millis> {
        self.due
    }

    /// It is asked now: after which version of its status it is to answer.
    pub fn asked(&mut self) -> Option<u64> {
        self.due = None;
        // A server that starts anew counts its versions anew: after silence it is asked for how the
        // room stands now.
        self.current().map(|status| status.version)
    }

    /// What came of it.
    pub fn heard(&mut self, now: Millis, status: Option<Status>, draws: &mut Draws) {
        self.answers = Some(status.is_some());
        if let Some(status) = status {
            (self.status, self.came, self.pause) = (Some(status), now, PAUSE);
        }
        let varied = draws.between(self.pause * 3 / 4, self.pause * 5 / 4);
        self.due = Some(now + varied);
        if self.answers == Some(false) {
            self.pause = (self.pause * 2).min(LONGEST);
        }
    }

    /// Whether it has answered, or failed to.
    pub fn is_settled(&self) -> bool {
        self.answers.is_some()
    }

    /// Its last status, however old.
    pub fn last(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    /// Its status, if it answers.
    pub fn current(&self) -> Option<&Status> {
        self.status.as_ref().filter(|_| self.answers == Some(true))
    }

    /// When that came.
    pub fn came(&self) -> Millis {
        self.came
    }
}

/// What so many servers say at least that one of them is honest, of what each says.
pub fn agreed<T: Ord + Copy>(said: impl Iterator<Item = T>, believed: usize) -> Option<T> {
    let mut said: Vec<T> = said.collect();
    said.sort_unstable();
    said.len().checked_sub(believed).and_then(|place| said.get(place)).copied()
}

/// The last epoch that a server says is over with all before it, once its whole board was read:
/// `length` entries, up to that of epoch `last` (F4).
pub fn over(status: &Status, length: u64, last: Option<u64>) -> Option<u64> {
    let ended = status.last.as_ref().filter(|_| status.board_length <= length)?;
    if ended.outcome == Outcome::Published && last < Some(ended.number) {
        return None;
    }
    let epoch = status.epoch.map(|epoch| epoch.number);
    let mut pending = status.mixing.iter().map(|mixing| mixing.number).chain(epoch);
    pending.try_fold(ended.number, |over, number| Some(over.min(number.checked_sub(1)?)))
}

/// Up to before which epoch everything seems to have been there for as long as the room keeps it,
/// as the server tells that is furthest behind. An estimate: the epochs since then may have been
/// shorter, as in a full room, where one ends with the last submission, or longer.
pub fn kept_from(words: &[Word], room: &RoomDescriptor) -> Option<u64> {
    let number = |status: &Status| {
        let last = status.last.as_ref().map(|last| last.number);
        status.epoch.map(|epoch| epoch.number).or(last).unwrap_or(0)
    };
    let furthest_behind = words.iter().filter_map(Word::current).map(number).min()?;
    let kept = Millis::from(room.retention_days?) * DAY;
    let epochs = kept.div_ceil(Millis::from(room.seconds.max(1)) * 1_000);
    furthest_behind.checked_sub(epochs).map(|last| last + 1)
}

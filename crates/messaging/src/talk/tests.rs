use super::*;
use crate::params::{CYCLE, PARTS};
use crate::parts::{parts_of, room_for_text};

const ROOM: RoomId = RoomId([3; 16]);
const WIDTH: usize = 254;
const CHANNEL: u8 = 2;

/// The round of a turn.
fn round(cycle: u64) -> u64 {
    cycle * CYCLE + u64::from(CHANNEL)
}

/// Two people in conversation, and what happened at each.
struct Pair {
    talks: [Talk; 2],
    news: [Vec<News>; 2],
    said: [u64; 2],
}

impl Pair {
    fn new() -> Self {
        let root = Secret::new([9; 32]);
        let talk = |side| Talk::new(&root, CHANNEL, 0, side);
        Self {
            talks: [talk(Side::Caller), talk(Side::Callee)],
            news: [Vec::new(), Vec::new()],
            said: [0, 0],
        }
    }

    fn say(&mut self, who: usize, text: &str) -> u64 {
        self.said[who] += 1;
        self.talks[who].say(self.said[who], parts_of(text, WIDTH));
        self.said[who]
    }

    /// One turn. `present` says who writes and reads, `lost` whose row does not come out.
    fn turn(&mut self, cycle: u64, present: [bool; 2], lost: [bool; 2]) {
        let mut board = Vec::new();
        for ((talk, present), lost) in self.talks.iter_mut().zip(present).zip(lost) {
            if present {
                let written = talk.write(&ROOM, round(cycle), WIDTH).unwrap();
                assert_eq!(written.row.len(), WIDTH);
                board.extend((!lost).then_some(written.row));
            }
        }
        for ((talk, news), present) in self.talks.iter_mut().zip(&mut self.news).zip(present) {
            if present {
                let rows = board.iter().map(Vec::as_slice);
                news.extend(talk.read(&ROOM, round(cycle), rows, WIDTH));
            }
        }
    }

    fn texts(&self, who: usize) -> Vec<&str> {
        let text = |news: &'_ News| matches!(news, News::Text(_));
        let texts = self.news[who].iter().filter(|news| text(news));
        texts.map(|news| if let News::Text(text) = news { &**text } else { "" }).collect()
    }

    fn delivered(&self, who: usize) -> Vec<u64> {
        let number = |news: &News| if let News::Delivered(n) = news { Some(*n) } else { None };
        self.news[who].iter().filter_map(number).collect()
    }
}

const BOTH: [bool; 2] = [true; 2];
const NONE: [bool; 2] = [false; 2];

#[test]
fn words_arrive_once_in_order_and_are_acknowledged() {
    let mut pair = Pair::new();
    assert_eq!(pair.talks[0].code(), pair.talks[1].code());
    pair.say(0, "one");
    pair.say(0, "two");
    pair.say(1, "three");
    for cycle in 0..4 {
        pair.turn(cycle, BOTH, NONE);
    }
    assert_eq!(pair.texts(1), ["one", "two"]);
    assert_eq!(pair.texts(0), ["three"]);
    assert_eq!((pair.delivered(0), pair.delivered(1)), (vec![1, 2], vec![1]));
}

#[test]
fn a_long_text_comes_in_parts_and_whole() {
    let mut pair = Pair::new();
    let text = "ä".repeat(PARTS * room_for_text(WIDTH) / 2);
    pair.say(0, &text);
    for cycle in 0..PARTS as u64 + 2 {
        pair.turn(cycle, BOTH, [cycle % 7 == 3, cycle % 5 == 1]);
    }
    for cycle in 40..60 {
        pair.turn(cycle, BOTH, NONE);
    }
    assert_eq!(pair.texts(1), [text.as_str()]);
    assert_eq!(pair.delivered(0), [1]);
}

/// `round_reused`: a turn makes one row; also if its round was stopped, its keys are used up.
#[test]
fn round_reused() {
    let mut pair = Pair::new();
    pair.say(0, "words");
    let first = pair.talks[0].write(&ROOM, round(0), WIDTH).unwrap();
    assert!(pair.talks[0].write(&ROOM, round(0), WIDTH).is_none());
    assert!(pair.talks[0].stop(round(0)) == Some(News::Stopped(1)));
    assert!(pair.talks[0].write(&ROOM, round(0), WIDTH).is_none(), "not after a stop either");
    let again = pair.talks[0].write(&ROOM, round(1), WIDTH).unwrap();
    assert_ne!(first.row[1..17], again.row[1..17], "the same words have another address");
    assert!(again.message == Some((1, true)));
}

/// `replayed_rows`: a row of an earlier turn, shown in a later one, says nothing.
#[test]
fn replayed_rows() {
    let mut pair = Pair::new();
    pair.say(0, "words");
    let row = pair.talks[0].write(&ROOM, round(0), WIDTH).unwrap().row;
    let both = [&row[..], &row[..]];
    let news = pair.talks[1].read(&ROOM, round(0), both.into_iter(), WIDTH);
    assert_eq!(news.iter().filter(|news| matches!(news, News::Text(_))).count(), 1);
    for cycle in [0, 1, 2] {
        assert!(pair.talks[1].read(&ROOM, round(cycle), both.into_iter(), WIDTH).is_empty());
    }
}

/// What somebody makes of a row.
type Change = fn(&[u8]) -> Vec<u8>;

/// Whatever becomes of a row on its way, it says nothing, or what was said; and the words come with
/// a later one.
#[test]
fn sabotaged_rows_say_nothing_and_delay_only() {
    let others: [Change; 4] = [
        |row| row[..WIDTH - 1].to_vec(),
        |row| [row, &[0]].concat(),
        |_| vec![0; WIDTH],
        |row| row.iter().rev().copied().collect(),
    ];
    for at in 0..WIDTH + others.len() {
        let mut pair = Pair::new();
        pair.say(0, "words");
        let row = pair.talks[0].write(&ROOM, round(0), WIDTH).unwrap().row;
        let mut changed = row.clone();
        match at.checked_sub(WIDTH) {
            None => changed[at] ^= 1 << (at % 8),
            Some(other) => changed = others[other](&row),
        }
        let read = |talk: &mut Talk| talk.read(&ROOM, round(0), [&changed[..]].into_iter(), WIDTH);
        assert!(read(&mut pair.talks[1]).is_empty(), "byte {at}");
        let stopped = read(&mut pair.talks[0]).contains(&News::Stopped(1));
        // Of a change behind the address its author sees nothing, but hears of no receipt.
        assert_eq!(stopped, !(17..WIDTH).contains(&at), "byte {at}");
        for cycle in 1..6 {
            pair.turn(cycle, BOTH, NONE);
        }
        assert_eq!((pair.texts(1), pair.delivered(0)), (vec!["words"], vec![1]), "byte {at}");
    }
}

#[test]
fn who_was_away_hears_what_was_said_and_nothing_twice() {
    let mut pair = Pair::new();
    for text in ["one", "two", "three"] {
        pair.say(0, text);
    }
    for cycle in 0..30 {
        pair.turn(cycle, [true, false], NONE);
    }
    assert!(pair.texts(1).is_empty());
    for cycle in 30..36 {
        pair.turn(cycle, BOTH, NONE);
    }
    assert_eq!(pair.texts(1), ["one", "two", "three"]);
    assert_eq!(pair.delivered(0), [1, 2, 3]);
    assert_eq!(pair.talks[0].on_its_way(), 0);
}

/// Who speaks in every turn is heard from the first word on, though the partner missed that one:
/// it goes out again before anything new. What came after it counts as delivered only when the
/// partner was shown it.
#[test]
fn new_words_do_not_hold_back_one_that_was_missed() {
    let mut pair = Pair::new();
    for cycle in 0..8 {
        pair.say(1, &format!("{cycle}"));
        pair.turn(cycle, [cycle > 0, true], NONE);
        let (heard, delivered) = (pair.texts(0).len(), pair.delivered(1));
        assert!(delivered.len() <= heard, "{delivered:?} of {heard} in turn {cycle}");
        // The second word comes in turn 1 and waits for the first one.
        assert_eq!(heard, [0, 0, 2, 3, 4, 5, 6, 7][cycle as usize], "in turn {cycle}");
        if cycle == 2 {
            assert_eq!(pair.talks[1].undelivered().collect::<Vec<_>>(), [1, 2, 3]);
        }
    }
    for cycle in 8..11 {
        pair.turn(cycle, BOTH, NONE);
    }
    assert_eq!(pair.texts(0), ["0", "1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(pair.delivered(1), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(pair.talks[1].on_its_way(), 0);
}

/// What a partner has that was not told what came before is kept, and not sent again while it
/// says that it has it.
#[test]
fn what_waits_at_the_partner_is_not_sent_again() {
    let mut pair = Pair::new();
    for text in ["one", "two", "three"] {
        pair.say(0, text);
    }
    let mut sent = Vec::new();
    for cycle in 0..8 {
        let written = [0, 1].map(|who| pair.talks[who].write(&ROOM, round(cycle), WIDTH).unwrap());
        sent.extend(written[0].message.map(|(message, _)| message));
        for (who, news) in pair.news.iter_mut().enumerate() {
            // The partner is not shown the first word in turns 0 and 2.
            let hidden = who == 1 && [0, 2].contains(&cycle);
            let rows = written.iter().enumerate().filter(|(by, _)| !(hidden && *by == 0));
            let rows = rows.map(|(_, written)| &*written.row);
            news.extend(pair.talks[who].read(&ROOM, round(cycle), rows, WIDTH));
        }
    }
    assert_eq!(sent, [1, 2, 1, 3, 1]);
    assert_eq!(pair.texts(1), ["one", "two", "three"]);
    assert_eq!(pair.delivered(0), [1, 2, 3]);
}

#[test]
fn an_end_is_heard_after_the_last_words() {
    let mut pair = Pair::new();
    pair.say(0, "farewell");
    pair.talks[0].end();
    for cycle in 0..4 {
        pair.turn(cycle, BOTH, NONE);
    }
    assert_eq!(pair.texts(1), ["farewell"]);
    assert!(pair.news[1].contains(&News::Ended));
    assert!(pair.talks[0].is_over(4), "it was acknowledged");
    assert!(!pair.talks[1].is_over(4) && pair.talks[1].is_over(4 + FAREWELL + 1));
}

/// A partner that goes on after its end is not heard.
#[test]
fn nothing_follows_an_end() {
    let mut pair = Pair::new();
    pair.talks[0].end();
    pair.say(0, "one thing more");
    for cycle in 0..6 {
        pair.turn(cycle, BOTH, NONE);
    }
    assert!(pair.news[1].contains(&News::Ended) && pair.texts(1).is_empty());
}

#[test]
fn an_end_that_nobody_hears_is_given_up() {
    let mut pair = Pair::new();
    pair.talks[0].end();
    assert!(!pair.talks[0].is_over(FORSAKEN) && pair.talks[0].is_over(FORSAKEN + 1));
}

/// A hostile partner that acknowledges what was never said, or numbers parts absurdly.
#[test]
fn a_partner_that_lies_harms_itself_only() {
    let mut pair = Pair::new();
    pair.say(0, "words");
    let lie = |talk: &mut Talk, said: Said, cycle| {
        let (own, _) = talk.chain.take(cycle, talk.side).unwrap();
        row(&own.address(), &own.lock(&about(&ROOM, round(cycle)), &said.encode(WIDTH)))
    };
    let part = |of| Part { end: false, index: 0, of, text: b"x".to_vec() };
    let heard = |next, beyond| Heard { next, beyond };
    let lies = [
        Said { heard: heard(u32::MAX, u64::MAX), part: Some((u32::MAX, part(1))) },
        Said { heard: heard(0, u64::MAX), part: Some((WINDOW, part(1))) },
        Said { heard: heard(1, 0), part: Some((5, part(2))) },
    ];
    for (cycle, said) in (0..).zip(lies) {
        let row = lie(&mut pair.talks[1], said, cycle);
        let news = pair.talks[0].read(&ROOM, round(cycle), [&row[..]].into_iter(), WIDTH);
        assert!(!news.iter().any(|news| matches!(news, News::Text(_) | News::Delivered(_))));
    }
    assert_eq!(pair.talks[0].on_its_way(), 1, "nothing was sent, so nothing is acknowledged");
    let kept: Vec<_> = pair.talks[0].early.keys().copied().collect();
    assert_eq!(kept, [5], "what is beyond the window is not kept");
}

//! One conversation: what is to be said, what was heard, and the row of each turn (specification,
//! sections 5 and 6).

use std::collections::{BTreeMap, VecDeque};

use ostrakon_crypto::Secret;
use ostrakon_mixing::RoomId;
use serde::{Deserialize, Serialize};

use crate::chain::{Chain, RowKey, Side, about};
use crate::dial::Answer;
use crate::dial::opening::{OPENING, Opening};
use crate::params::{ADDRESS, AGAIN_AFTER, AWAITED, FAREWELL, FORSAKEN, PARTS, WINDOW};
use crate::parts::{Heard, Part, Said, parts_of, room_for_text, row, split};
use crate::round::cycle_of;

/// A part that the partner has not acknowledged.
#[derive(Serialize, Deserialize)]
struct Outgoing {
    number: u32,
    /// Whose part it is; the end of the conversation belongs to none.
    message: Option<u64>,
    part: Part,
    /// The cycle in which it was sent last, or in which the partner said last that it has it,
    /// though not all before it; none, if the round that it was sent in brought nothing out.
    sent: Option<u64>,
    /// How often it was sent.
    times: u32,
}

/// A round whose board is to be read.
#[derive(Serialize, Deserialize)]
struct Awaited {
    cycle: u64,
    /// Where the own row is, or would be.
    own: [u8; ADDRESS],
    /// Whether one was written.
    wrote: bool,
    key: RowKey,
}

/// Whether the conversation goes on.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Ending {
    GoesOn,
    /// The user ended it in this cycle.
    Own(u64),
    /// The partner ended it; this was heard in this cycle.
    Partners(u64),
}

/// What became known of a conversation.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// The partner's first row was read: it has the keys.
    Heard,
    /// A text of the partner's, whole.
    Text(String),
    /// Every part of a message was acknowledged, and every one before it.
    Delivered(u64),
    /// A part of a message did not come out with its round, and is sent again.
    Stopped(u64),
    /// The partner has ended the conversation.
    Ended,
    /// Somebody else has written where only this device writes, or the partner.
    Copied,
}

/// What a turn's row carries.
pub(crate) struct Written {
    pub row: Vec<u8>,
    /// The message that it has a part of, and whether that part was sent before.
    pub message: Option<(u64, bool)>,
}

/// A conversation.
#[derive(Serialize, Deserialize)]
pub(crate) struct Talk {
    pub channel: u8,
    side: Side,
    chain: Chain,
    awaited: VecDeque<Awaited>,
    outgoing: VecDeque<Outgoing>,
    next: u32,
    expected: u32,
    early: BTreeMap<u32, Part>,
    assembling: Vec<Part>,
    /// Whether a row of the partner's was read.
    pub heard: bool,
    /// The cycle of the last one, or the first cycle.
    pub last_heard: u64,
    code: [u8; 20],
    ending: Ending,
    /// What the callee's first rows are made with, until the other side is heard to have the keys:
    /// at the callee with the answer that they carry.
    opening: Option<(Opening, Option<Answer>)>,
}

impl Talk {
    /// A conversation with this root, which begins with this cycle.
    pub fn new(root: &Secret, channel: u8, start: u64, side: Side) -> Self {
        let mut code = [0; 20];
        root.fill("ostrakon/v1/messaging/verification", &[], &mut code);
        Self {
            channel,
            side,
            chain: Chain::new(root, start),
            awaited: VecDeque::new(),
            outgoing: VecDeque::new(),
            next: 0,
            expected: 0,
            early: BTreeMap::new(),
            assembling: Vec::new(),
            heard: false,
            last_heard: start,
            code,
            ending: Ending::GoesOn,
            opening: None,
        }
    }

    /// Step 4.7: the callee's rows are opening rows until it hears the caller. `answer` at the
    /// callee.
    pub fn open(&mut self, opening: Opening, answer: Option<Answer>) {
        self.opening = Some((opening, answer));
    }

    /// A text in parts that fit this side's next rows; if those of opening rows are too small for
    /// it, it waits until there are others.
    pub fn parts_of(&self, text: &str, width: usize) -> Vec<Part> {
        let narrow = width - OPENING;
        let opens = self.opening.as_ref().is_some_and(|(_, answer)| answer.is_some());
        let fits = text.len() <= PARTS * room_for_text(narrow);
        parts_of(text, if opens && fits { narrow } else { width })
    }

    /// Eight groups of five digits that both sides have if nobody is between them.
    pub fn code(&self) -> String {
        let number =
            |bytes: &[u8]| bytes.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
        // 2^20 is ten times 10^5: a digit group is nearly uniform over 0..100000.
        let bits = |group: usize| {
            let (at, odd) = (group / 2 * 5, group % 2 == 1);
            let three = number(&self.code[at + if odd { 2 } else { 0 }..][..3]);
            if odd { three & 0xf_ffff } else { three >> 4 }
        };
        let groups: Vec<_> = (0..8).map(|group| format!("{:05}", bits(group) % 100_000)).collect();
        groups.join(" ")
    }

    /// Whether more may be said.
    pub fn goes_on(&self) -> bool {
        self.ending == Ending::GoesOn
    }

    /// Parts that are not acknowledged.
    pub fn on_its_way(&self) -> usize {
        self.outgoing.len()
    }

    /// Messages that have parts on their way.
    pub fn undelivered(&self) -> impl Iterator<Item = u64> + '_ {
        self.outgoing.iter().filter_map(|outgoing| outgoing.message)
    }

    /// Whether every part of a message was sent once.
    pub fn is_out(&self, message: u64) -> bool {
        let mut parts = self.outgoing.iter().filter(|part| part.message == Some(message));
        parts.all(|part| part.times > 0)
    }

    /// Queues a message.
    pub fn say(&mut self, message: u64, parts: Vec<Part>) {
        parts.into_iter().for_each(|part| self.queue(Some(message), part));
    }

    /// Queues the end.
    pub fn end(&mut self) {
        if self.goes_on() {
            self.ending = Ending::Own(self.chain.cycle());
            self.queue(None, Part { end: true, index: 0, of: 1, text: Vec::new() });
        }
    }

    fn queue(&mut self, message: Option<u64>, part: Part) {
        let (sent, times) = (None, 0);
        self.outgoing.push_back(Outgoing { number: self.next, message, part, sent, times });
        self.next += 1;
    }

    /// Whether nothing is left to do in it, as of this cycle.
    pub fn is_over(&self, cycle: u64) -> bool {
        match self.ending {
            Ending::GoesOn => false,
            Ending::Own(since) => {
                self.outgoing.is_empty() || cycle.saturating_sub(since) > FORSAKEN
            }
            Ending::Partners(since) => cycle.saturating_sub(since) > FAREWELL,
        }
    }

    /// Step 6.3: the row of a turn. `None` if the conversation has not begun, or if a row was made
    /// for the turn.
    pub fn write(&mut self, room: &RoomId, round: u64, width: usize) -> Option<Written> {
        let cycle = cycle_of(round);
        let (own, key) = self.chain.take(cycle, self.side)?;
        let opens = self.opening.as_ref().and_then(|(of, answer)| Some((of, answer.as_ref()?)));
        let address = opens.map_or_else(|| own.address(), |(opening, _)| opening.address(round));
        let within = if opens.is_some() { width - OPENING } else { width };
        self.awaited.push_back(Awaited { cycle, own: address, wrote: true, key });
        if self.awaited.len() > AWAITED {
            self.awaited.pop_front();
        }
        let (mut message, mut part) = (None, None);
        let room_for_text = room_for_text(within);
        if let Some(chosen) = self.choose(cycle).filter(|of| of.part.text.len() <= room_for_text) {
            message = chosen.message.map(|message| (message, chosen.times > 0));
            part = Some((chosen.number, chosen.part.clone()));
            chosen.sent = Some(cycle);
            chosen.times += 1;
        }
        let said = Said { heard: self.acknowledgement(), part };
        let plain = zeroize::Zeroizing::new(said.encode(within));
        let locked = own.lock(&about(room, round), &plain);
        let row = match self.opening.as_ref() {
            Some((opening, Some(answer))) => opening.write(room, round, answer, &locked),
            _ => row(&address, &locked),
        };
        Some(Written { row, message })
    }

    /// What the partner lacks, though it has written since; else what was never sent or came to
    /// nothing, in order; else what was not acknowledged for some turns.
    fn choose(&mut self, cycle: u64) -> Option<&mut Outgoing> {
        let end = self.outgoing.front()?.number.saturating_add(WINDOW);
        let within = |outgoing: &Outgoing| outgoing.number < end;
        // Before what follows it: that would wait at the partner until this is there.
        let lacking = self.last_heard.checked_sub(1).and_then(|last| self.sent_by(last));
        let fresh = || self.outgoing.iter().position(|part| part.sent.is_none() && within(part));
        let due = || cycle.checked_sub(AGAIN_AFTER).and_then(|last| self.sent_by(last));
        let at = lacking.or_else(fresh).or_else(due)?;
        self.outgoing.get_mut(at)
    }

    /// Of the parts that were sent in this cycle or before, the place of the one that was sent
    /// longest ago.
    fn sent_by(&self, last: u64) -> Option<usize> {
        let sent = |part: &Outgoing| part.sent.filter(|sent| *sent <= last);
        let parts = self.outgoing.iter().enumerate();
        parts.filter_map(|(at, part)| Some((sent(part)?, at))).min().map(|(_, at)| at)
    }

    fn acknowledgement(&self) -> Heard {
        let bits = self.early.keys().filter_map(|number| number.checked_sub(self.expected + 1));
        let beyond = bits.filter(|bit| *bit < 64).fold(0, |beyond, bit| beyond | 1u64 << bit);
        Heard { next: self.expected, beyond }
    }

    /// Step 6.4: reads the board of one of the conversation's turns.
    pub fn read<'a>(
        &mut self,
        room: &RoomId,
        round: u64,
        rows: impl Iterator<Item = &'a [u8]>,
        width: usize,
    ) -> Vec<News> {
        let cycle = cycle_of(round);
        let Some(Awaited { own, wrote, key, .. }) = self.awaited_of(cycle) else {
            return Vec::new();
        };
        let opening = self.opening.as_ref().map(|(opening, _)| opening.address(round));
        let (own_opening, their_opening) = match self.side {
            Side::Callee => (opening, None),
            Side::Caller => (None, opening),
        };
        let (address, mut own_rows, mut partners, mut first) = (key.address(), 0, None, None);
        for (found, locked) in rows.filter_map(|row| split(row, width)) {
            own_rows += usize::from(*found == own || Some(*found) == own_opening);
            if *found == address && partners.is_none() {
                partners = Some(locked);
            }
            if Some(*found) == their_opening && first.is_none() {
                first = Some(locked);
            }
        }
        if own_rows > usize::from(wrote) {
            return vec![News::Copied];
        }
        let mut news = Vec::new();
        if own_rows == 0 {
            news.extend(self.not_sent(cycle).map(News::Stopped));
        }
        let first = first.and_then(|locked| self.opening.as_ref()?.0.read(room, round, locked));
        let locked = partners.or(first.as_ref().map(|(_, within)| &within[..]));
        let plain = locked.and_then(|locked| key.unlock(&about(room, round), locked));
        let Some(said) = plain.and_then(|plain| Said::decode(&plain)) else { return news };
        self.last_heard = cycle;
        // The callee has heard that the caller has the keys, and the caller that the callee knows.
        if self.side == Side::Callee || partners.is_some() {
            self.opening = None;
        }
        if !std::mem::replace(&mut self.heard, true) {
            news.push(News::Heard);
        }
        news.extend(self.acknowledged(said.heard, cycle).into_iter().map(News::Delivered));
        if let Some((number, part)) = said.part {
            self.take(number, part, cycle, &mut news);
        }
        news
    }

    /// The round of a turn brought nothing out.
    pub fn stop(&mut self, round: u64) -> Option<News> {
        let cycle = cycle_of(round);
        self.awaited.retain(|awaited| awaited.cycle != cycle);
        self.not_sent(cycle).map(News::Stopped)
    }

    /// The keys by which a cycle's board is read. Rounds before it that were never heard of are
    /// given up.
    fn awaited_of(&mut self, cycle: u64) -> Option<Awaited> {
        while self.awaited.front().is_some_and(|awaited| awaited.cycle < cycle) {
            self.awaited.pop_front();
        }
        if self.awaited.front().is_some_and(|awaited| awaited.cycle == cycle) {
            return self.awaited.pop_front();
        }
        let (own, key) = self.chain.take(cycle, self.side)?;
        Some(Awaited { cycle, own: own.address(), wrote: false, key })
    }

    /// What was sent in a cycle is to be sent again at the next turn; the message that it belongs
    /// to.
    fn not_sent(&mut self, cycle: u64) -> Option<u64> {
        let part = self.outgoing.iter_mut().find(|part| part.sent == Some(cycle))?;
        part.sent = None;
        part.message
    }

    /// Forgets what the partner has heard; what was never sent it has not, whatever it claims. What
    /// it has without all that comes before, its user has not seen: that is kept, but not sent
    /// again soon. Returns the messages that are delivered by that.
    fn acknowledged(&mut self, heard: Heard, cycle: u64) -> Vec<u64> {
        let beyond = |number: u32| {
            let ahead = number.saturating_sub(heard.next);
            (1..=64).contains(&ahead) && heard.beyond >> (ahead - 1) & 1 == 1
        };
        for part in self.outgoing.iter_mut().filter(|part| part.times > 0) {
            if beyond(part.number) {
                part.sent = part.sent.max(Some(cycle));
            }
        }
        let mut delivered: Vec<u64> = Vec::new();
        self.outgoing.retain(|part| {
            let gone = part.number < heard.next && part.times > 0;
            if gone {
                delivered.extend(part.message);
            }
            !gone
        });
        delivered.dedup();
        delivered.retain(|message| self.undelivered().all(|other| other != *message));
        delivered
    }

    /// Takes a part in, once and in order.
    fn take(&mut self, number: u32, part: Part, cycle: u64, news: &mut Vec<News>) {
        let ahead = number.checked_sub(self.expected);
        if ahead.is_none_or(|ahead| ahead >= WINDOW) {
            return;
        }
        self.early.entry(number).or_insert(part);
        while let Some(part) = self.early.remove(&self.expected) {
            self.expected += 1;
            if matches!(self.ending, Ending::Partners(_)) {
                continue;
            }
            if part.end {
                self.ending = Ending::Partners(cycle);
                news.push(News::Ended);
                continue;
            }
            news.extend(self.assemble(part).map(News::Text));
        }
    }

    /// Adds a part to the text that it belongs to. Parts that do not follow one another are a
    /// hostile partner's, and lost.
    fn assemble(&mut self, part: Part) -> Option<String> {
        let follows = usize::from(part.index) == self.assembling.len()
            && self.assembling.first().is_none_or(|first| first.of == part.of);
        if !follows {
            self.assembling.clear();
            if part.index != 0 {
                return None;
            }
        }
        let of = usize::from(part.of);
        self.assembling.push(part);
        if self.assembling.len() < of {
            return None;
        }
        let bytes: Vec<u8> = self.assembling.drain(..).flat_map(|part| part.text).collect();
        // What is no text is not kept: replaced letter by letter it would be three times as long.
        Some(String::from_utf8(bytes).unwrap_or_else(|_| "\u{fffd}".to_owned()))
    }
}

#[cfg(test)]
mod tests;

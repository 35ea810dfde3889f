//! What is kept for one peer, and the order in which it travels.
//!
//! Memory here is bounded by what this party itself posted, plus, for the peer's part: at most
//! [`MAX_WANTED`] remembered wants, one queued copy of each posted message, and [`FORWARDED`] bytes
//! in transit from each other party.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use ostrakon_party::{Instance, Message, PartyId, Tag};
use tokio::sync::Notify;

use crate::bounds::{FORWARDED, cost};
use crate::frame::{self, Frame, Relay, Want};
use crate::inbox::Taken;
use crate::retired::Retired;

/// How many wants for messages not yet posted are remembered; a peer that has more must ask again.
const MAX_WANTED: usize = 16 * 1024;
/// Short frames are gathered up to about this many bytes before they are written.
const BATCH: usize = 128 * 1024;

/// The link that messages to the peer travel by.
#[derive(Clone)]
pub(crate) struct Active {
    /// Never repeats within a mesh.
    pub id: u64,
    /// The relaying party, or none if the link is direct.
    pub via: Option<PartyId>,
    /// Rung when there is something to write.
    pub wake: Arc<Notify>,
    /// Rung when the link must close.
    pub cancel: Arc<Notify>,
}

struct Kept {
    message: Message,
    /// The link by which it was last sent or queued.
    sent_on: Option<u64>,
    /// Whether a copy waits in a queue.
    queued: bool,
}

struct Transfer {
    number: u32,
    tag: Tag,
    rest: Bytes,
}

/// See the module's description.
pub(crate) struct Outbox {
    kept: HashMap<Tag, Kept>,
    wanted: HashMap<Tag, Taken>,
    retired: Arc<Retired>,
    active: Option<Active>,
    lane: VecDeque<Frame>,
    transfers: VecDeque<Transfer>,
    relayed: VecDeque<(PartyId, Relay)>,
    in_transit: HashMap<PartyId, usize>,
    next_transfer: u32,
    relay_next: bool,
}

impl Outbox {
    pub fn new(retired: Arc<Retired>) -> Self {
        Self {
            kept: HashMap::new(),
            wanted: HashMap::new(),
            retired,
            active: None,
            lane: VecDeque::new(),
            transfers: VecDeque::new(),
            relayed: VecDeque::new(),
            in_transit: HashMap::new(),
            next_transfer: 0,
            relay_next: false,
        }
    }

    pub fn active(&self) -> Option<&Active> {
        self.active.as_ref()
    }

    /// Makes `link` the one that messages travel by; what was queued for the one before is dropped
    /// (the peer asks for it again) and that one is told to close.
    pub fn activate(&mut self, link: Active) {
        self.clear_queues();
        if let Some(old) = self.active.replace(link) {
            old.cancel.notify_one();
        }
    }

    /// Notes that a link is gone. Whether it was the active one.
    pub fn deactivate(&mut self, id: u64) -> bool {
        let was_active = self.active.as_ref().is_some_and(|active| active.id == id);
        if was_active {
            self.active = None;
            self.clear_queues();
        }
        was_active
    }

    fn clear_queues(&mut self) {
        self.lane.clear();
        self.transfers.clear();
        self.relayed.clear();
        self.in_transit.clear();
        for kept in self.kept.values_mut() {
            kept.queued = false;
        }
    }

    fn wake(&self) {
        if let Some(active) = &self.active {
            active.wake.notify_one();
        }
    }

    /// Keeps a message, and sends it if the peer has asked for it, or if `push` and it is short.
    pub fn post(&mut self, message: Message, push: bool) {
        let tag = message.signed.header.tag;
        if self.retired.contains(&tag.instance) {
            return;
        }
        let push = push && message.body.len() <= frame::SMALL;
        self.kept.insert(tag, Kept { message, sent_on: None, queued: false });
        if let Some(taken) = self.wanted.remove(&tag) {
            self.enqueue(tag, taken);
        } else if push {
            self.enqueue(tag, u64::MAX.into());
        }
    }

    /// The peer asks for a message: sends it, or remembers the want until it is posted.
    pub fn wanted(&mut self, want: Want) {
        if self.retired.contains(&want.tag.instance) {
            return;
        }
        let link = self.active.as_ref().map(|active| active.id);
        let taken = Taken { limit: want.limit, known: want.known };
        match self.kept.get(&want.tag) {
            // The copy on its way will do: a link loses nothing while it lasts.
            Some(kept)
                if kept.queued
                    || (!want.again && kept.sent_on.is_some() && kept.sent_on == link) => {}
            Some(_) => self.enqueue(want.tag, taken),
            None if self.wanted.len() < MAX_WANTED => {
                self.wanted.insert(want.tag, taken);
            }
            None => {}
        }
    }

    fn enqueue(&mut self, tag: Tag, Taken { limit, known }: Taken) {
        let (Some(kept), Some(active)) = (self.kept.get_mut(&tag), &self.active) else {
            return; // With no link there is nothing to queue for: on the next one the peer asks.
        };
        kept.queued = true;
        kept.sent_on = Some(active.id);
        let Message { signed, body, depth } = &kept.message;
        let length = body.len() as u64;
        let refused = length > limit || signed.header.length > limit;
        if refused || known == Some(signed.header.digest) {
            let bare = Message { signed: *signed, body: Bytes::new(), depth: *depth };
            self.lane.push_back(Frame::Whole(bare));
        } else if body.len() <= frame::SMALL {
            self.lane.push_back(Frame::Whole(kept.message.clone()));
        } else {
            let number = self.next_transfer;
            self.next_transfer = number.wrapping_add(1);
            // The header goes ahead, by the short frames' lane, so that the peer knows the message
            // to be on its way.
            self.lane.push_back(Frame::Head {
                transfer: number,
                signed: *signed,
                depth: *depth,
                length,
            });
            self.transfers.push_back(Transfer { number, tag, rest: body.clone() });
        }
        self.wake();
    }

    /// Queues frames that concern this link alone.
    pub fn push(&mut self, frames: impl IntoIterator<Item = Frame>) {
        if self.active.is_some() {
            self.lane.extend(frames);
            self.wake();
        }
    }

    /// Queues a tunnel's frame on behalf of `origin`, while few enough of its bytes wait. Whether
    /// it was queued. Tunnels lead over direct links only.
    pub fn push_relay(&mut self, origin: PartyId, relay: Relay) -> bool {
        if self.active.as_ref().is_none_or(|active| active.via.is_some()) {
            return false;
        }
        let waiting = self.in_transit.entry(origin).or_default();
        if *waiting + cost(&relay) > FORWARDED {
            return false;
        }
        *waiting += cost(&relay);
        self.relayed.push_back((origin, relay));
        self.wake();
        true
    }

    /// Takes what is to be written next by link `id`: appends short frames to `out`, then possibly
    /// a chunk's prefix, the chunk itself being returned.
    pub fn take(&mut self, id: u64, out: &mut Vec<u8>) -> Bytes {
        if self.active.as_ref().is_none_or(|active| active.id != id) {
            return Bytes::new();
        }
        while out.len() < BATCH
            && let Some(frame) = self.lane.pop_front()
        {
            frame.encode(out);
            if let Frame::Whole(message) = &frame {
                self.sent(&message.signed.header.tag);
            }
        }
        if out.len() >= BATCH {
            return Bytes::new();
        }
        // Tunnels and long messages take turns.
        self.relay_next = !self.relay_next;
        if (self.relay_next || self.transfers.is_empty()) && !self.relayed.is_empty() {
            self.take_relayed(out);
            return Bytes::new();
        }
        self.take_chunk(out)
    }

    fn take_relayed(&mut self, out: &mut Vec<u8>) {
        while out.len() < BATCH
            && let Some((origin, relay)) = self.relayed.pop_front()
        {
            if let Some(waiting) = self.in_transit.get_mut(&origin) {
                *waiting = waiting.saturating_sub(cost(&relay));
            }
            Frame::Relay(relay).encode(out);
        }
    }

    fn take_chunk(&mut self, out: &mut Vec<u8>) -> Bytes {
        let Some(mut transfer) = self.transfers.pop_front() else {
            return Bytes::new();
        };
        let chunk = transfer.rest.split_to(transfer.rest.len().min(frame::CHUNK));
        out.extend_from_slice(&frame::chunk_prefix(transfer.number, chunk.len()));
        if transfer.rest.is_empty() {
            self.sent(&transfer.tag);
        } else {
            self.transfers.push_back(transfer);
        }
        chunk
    }

    fn sent(&mut self, tag: &Tag) {
        if let Some(kept) = self.kept.get_mut(tag) {
            kept.queued = false;
        }
    }

    /// Forgets an instance. It must be among the retired ones already.
    pub fn purge(&mut self, instance: &Instance) {
        self.kept.retain(|tag, _| tag.instance != *instance);
        self.wanted.retain(|tag, _| tag.instance != *instance);
        self.transfers.retain(|transfer| transfer.tag.instance != *instance);
        self.lane.retain(|frame| frame.instance().as_ref() != Some(instance));
    }
}

#[cfg(test)]
mod tests;

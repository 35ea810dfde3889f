//! What one peer has sent, and what is being waited for.
//!
//! A slot is kept per awaited or arrived tag, until its instance is retired. Memory is allocated
//! for what a local `collect` asks for, up to its limit; unasked messages are kept within a
//! [`Quota`], beyond which they are dropped and asked for when they are needed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ostrakon_crypto::Digest;
use ostrakon_party::{Instance, Message, SignedHeader, Tag};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::frame::{Frame, Want};
use crate::retired::Retired;

/// What a message kept in memory costs beside its body.
const OVERHEAD: usize = 256;
/// The longest pause between two requests for the same message.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How much of what nobody has asked for yet is kept, per peer.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Bytes, a fixed overhead per message included.
    pub bytes: usize,
    /// Messages.
    pub messages: usize,
}

impl Default for Quota {
    fn default() -> Self {
        Self { bytes: 8 << 20, messages: 4096 }
    }
}

/// What is taken of a message.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// The longest body.
    pub limit: u64,
    /// The digest of a body that is there already, and need not come.
    pub known: Option<Digest>,
}

impl From<u64> for Taken {
    fn from(limit: u64) -> Self {
        Self { limit, known: None }
    }
}

struct Waiter {
    taken: Taken,
    deliver: oneshot::Sender<Message>,
}

#[derive(Default)]
struct Slot {
    waiters: VecDeque<Waiter>,
    stored: Option<Message>,
    /// Whether `stored` counts towards the quota.
    early: bool,
    /// How many messages under this tag have been handed out.
    delivered: u32,
    /// How often the message has been asked for since the last one was handed out.
    asked: u32,
    ask_at: Option<Instant>,
    /// Link and transfer by which the message is arriving.
    arriving: Option<(u64, u32)>,
}

/// A long message, as far as it has arrived.
pub(crate) struct Assembly {
    link: u64,
    transfer: u32,
    tag: Tag,
    signed: SignedHeader,
    depth: u32,
    length: usize,
    /// Reserved to `length` when the transfer began.
    pub body: Vec<u8>,
}

impl Assembly {
    /// How many bytes are missing.
    pub fn missing(&self) -> usize {
        self.length - self.body.len()
    }
}

/// See the module's description.
pub(crate) struct Inbox {
    slots: HashMap<Tag, Slot>,
    assemblies: HashMap<(u64, u32), Assembly>,
    retired: Arc<Retired>,
    quota: Quota,
    early_bytes: usize,
    early_messages: usize,
    /// Whether something was ever dropped. From then on every request asks for another copy, since
    /// the first one may be what was dropped.
    dropped: bool,
}

impl Inbox {
    pub fn new(retired: Arc<Retired>, quota: Quota) -> Self {
        Self {
            slots: HashMap::new(),
            assemblies: HashMap::new(),
            retired,
            quota,
            early_bytes: 0,
            early_messages: 0,
            dropped: false,
        }
    }

    /// Waits for a message: either it is there, or the receiver gets it later; then there may be a
    /// request to send.
    pub fn collect(
        &mut self,
        tag: Tag,
        taken: impl Into<Taken>,
        now: Instant,
    ) -> (oneshot::Receiver<Message>, Option<Frame>) {
        let (deliver, receiver) = oneshot::channel();
        if self.retired.contains(&tag.instance) {
            return (receiver, None);
        }
        let slot = self.slots.entry(tag).or_default();
        slot.waiters.push_back(Waiter { taken: taken.into(), deliver });
        if let Some(message) = self.unstore(&tag) {
            self.deliver(message);
            return (receiver, None);
        }
        let dropped = self.dropped;
        let slot = self.slots.entry(tag).or_default();
        if slot.delivered == 0 && slot.asked == 0 {
            return (receiver, Some(slot.ask(tag, dropped, now)));
        }
        // What came before was no good: a peer that repeats itself is not asked at full speed.
        if slot.ask_at.is_none() {
            slot.ask_at = Some(now + pause(slot.delivered.saturating_sub(1)) / 20);
        }
        (receiver, None)
    }

    fn unstore(&mut self, tag: &Tag) -> Option<Message> {
        let slot = self.slots.get_mut(tag)?;
        let message = slot.stored.take()?;
        if std::mem::take(&mut slot.early) {
            self.early_bytes -= message.body.len() + OVERHEAD;
            self.early_messages -= 1;
        }
        Some(message)
    }

    /// A message has arrived, or was handed out and came back because nobody took it.
    pub fn deliver(&mut self, message: Message) {
        let tag = message.signed.header.tag;
        if self.retired.contains(&tag.instance) {
            return;
        }
        let mut message = message;
        if let Some(slot) = self.slots.get_mut(&tag) {
            while let Some(waiter) = slot.waiters.pop_front() {
                match waiter.deliver.send(clip(message, waiter.taken.limit)) {
                    Ok(()) => {
                        slot.delivered = slot.delivered.saturating_add(1);
                        slot.asked = 0;
                        slot.ask_at = None;
                        return;
                    }
                    Err(returned) => message = returned,
                }
            }
        }
        self.store(tag, message);
    }

    fn store(&mut self, tag: Tag, message: Message) {
        let size = message.body.len() + OVERHEAD;
        let slot = self.slots.get(&tag);
        if slot.is_some_and(|slot| slot.stored.is_some() || (slot.delivered > 0 && slot.asked == 0))
        {
            return; // A duplicate.
        }
        let asked = slot.is_some_and(|slot| slot.asked > 0);
        if !asked {
            if self.early_messages >= self.quota.messages
                || self.early_bytes + size > self.quota.bytes
            {
                self.dropped = true;
                return;
            }
            self.early_bytes += size;
            self.early_messages += 1;
        }
        let slot = self.slots.entry(tag).or_default();
        slot.stored = Some(message);
        slot.early = !asked;
        slot.ask_at = None;
    }

    /// Takes back what a cancelled `collect` had been handed.
    pub fn give_back(&mut self, message: Message) {
        if let Some(slot) = self.slots.get_mut(&message.signed.header.tag) {
            slot.delivered = slot.delivered.saturating_sub(1);
            slot.asked = 1;
        }
        self.deliver(message);
    }

    /// A long message is announced. Room is made for it only if it is awaited with a sufficient
    /// limit.
    pub fn begin(
        &mut self,
        link: u64,
        transfer: u32,
        signed: SignedHeader,
        depth: u32,
        length: u64,
    ) {
        let tag = signed.header.tag;
        if self.retired.contains(&tag.instance) {
            return;
        }
        let Some(slot) = self.slots.get_mut(&tag) else {
            self.dropped = true;
            return;
        };
        slot.waiters.retain(|waiter| !waiter.deliver.is_closed());
        let Some(limit) = slot.waiters.iter().map(|waiter| waiter.taken.limit).max() else {
            self.dropped = true;
            return;
        };
        if length > limit || signed.header.length > limit {
            self.deliver(Message { signed, body: Bytes::new(), depth });
            return;
        }
        let Ok(length) = usize::try_from(length) else {
            return;
        };
        if slot.arriving.is_some_and(|(by, _)| by == link) {
            return;
        }
        if let Some(stale) = slot.arriving.replace((link, transfer)) {
            self.assemblies.remove(&stale);
        }
        // An empty vector with room on huge pages: page faults would take longer than decryption.
        let mut body = ostrakon_kernels::zeroed_table(length);
        body.clear();
        let assembly = Assembly { link, transfer, tag, signed, depth, length, body };
        self.assemblies.insert((link, transfer), assembly);
    }

    /// Takes out a message to append a chunk to; none if the chunk belongs to nothing that is
    /// awaited.
    pub fn take(&mut self, link: u64, transfer: u32) -> Option<Assembly> {
        self.assemblies.remove(&(link, transfer))
    }

    /// Puts back what [`Inbox::take`] took; delivers it if it is complete.
    pub fn put_back(&mut self, assembly: Assembly) {
        let key = (assembly.link, assembly.transfer);
        let Some(slot) = self.slots.get_mut(&assembly.tag) else {
            return; // Retired meanwhile.
        };
        if slot.arriving != Some(key) {
            return; // Another link took over.
        }
        if assembly.missing() > 0 {
            self.assemblies.insert(key, assembly);
            return;
        }
        slot.arriving = None;
        let Assembly { signed, depth, body, .. } = assembly;
        self.deliver(Message { signed, body: body.into(), depth });
    }

    /// A link is gone: what was arriving by it must be asked for again.
    pub fn lose(&mut self, link: u64) {
        self.assemblies.retain(|(by, _), _| *by != link);
        for slot in self.slots.values_mut() {
            if slot.arriving.is_some_and(|(by, _)| by == link) {
                slot.arriving = None;
            }
        }
    }

    /// Asks for everything that is awaited, on a new link.
    pub fn ask_all(&mut self, now: Instant) -> Vec<Frame> {
        self.ask(now, true)
    }

    /// Asks again for what has been awaited for long and is not arriving.
    pub fn ask_due(&mut self, now: Instant) -> Vec<Frame> {
        self.ask(now, false)
    }

    fn ask(&mut self, now: Instant, all: bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        for (tag, slot) in &mut self.slots {
            slot.waiters.retain(|waiter| !waiter.deliver.is_closed());
            let due = all || slot.ask_at.is_some_and(|at| at <= now);
            if due && !slot.waiters.is_empty() && slot.arriving.is_none() {
                frames.push(slot.ask(*tag, true, now));
            }
        }
        frames
    }

    /// Forgets an instance. It must be among the retired ones already.
    pub fn purge(&mut self, instance: &Instance) {
        let over: Vec<Tag> =
            self.slots.keys().filter(|tag| tag.instance == *instance).copied().collect();
        for tag in over {
            self.unstore(&tag);
            self.slots.remove(&tag);
        }
        self.assemblies.retain(|_, assembly| assembly.tag.instance != *instance);
    }
}

impl Slot {
    fn ask(&mut self, tag: Tag, again: bool, now: Instant) -> Frame {
        let limit = self.waiters.iter().map(|waiter| waiter.taken.limit).max().unwrap_or(0);
        // Who waits for the same message has the same body, or else it is to come.
        let known = self.waiters.front().and_then(|waiter| waiter.taken.known);
        let known = known.filter(|_| self.waiters.iter().all(|w| w.taken.known == known));
        self.ask_at = Some(now + pause(self.asked));
        self.asked = self.asked.saturating_add(1);
        Frame::Want(Want { tag, limit, again, known })
    }
}

/// The pause after the request before which there were `before`: from one second to two.
fn pause(before: u32) -> Duration {
    (Duration::from_secs(1) + Duration::from_millis(250) * before.min(4)).min(MAX_PAUSE)
}

/// Of a message over the limit, only what was signed is handed on.
fn clip(mut message: Message, limit: u64) -> Message {
    if message.signed.header.length > limit || message.body.len() as u64 > limit {
        message.body = Bytes::new();
    }
    message
}

#[cfg(test)]
mod tests;

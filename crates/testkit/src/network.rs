//! An in-memory network with an adversary on it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, poll_fn};
use ostrakon_crypto::Digest;
use ostrakon_party::{Channel, Instance, Message, PartyId, Tag};

use crate::saboteur::{Fate, Saboteur};

type Address = (PartyId, PartyId, Tag);
/// For each message with its recipient: how often the world comes to rest before it arrives.
type Schedule = Box<dyn FnMut(PartyId, &Message) -> u32 + Send>;

/// What every link of a network is like, in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// How long a byte is under way.
    pub latency: Duration,
    /// How many bytes of message bodies pass in a second; a message waits for those sent before it.
    pub bytes_per_second: u64,
}

/// Messages under way on wires, by virtual time.
#[derive(Default)]
struct Wires {
    wire: Option<Wire>,
    now: Duration,
    busy_until: BTreeMap<(PartyId, PartyId), Duration>,
    under_way: BTreeMap<(Duration, u64), (PartyId, Message)>,
    sent: u64,
}

impl Wires {
    fn send(&mut self, wire: Wire, to: PartyId, message: Message) {
        let busy_until = self.busy_until.entry((message.signed.header.from, to)).or_default();
        let seconds = message.body.len() as f64 / wire.bytes_per_second as f64;
        *busy_until = self.now.max(*busy_until) + Duration::from_secs_f64(seconds);
        self.under_way.insert((*busy_until + wire.latency, self.sent), (to, message));
        self.sent += 1;
    }

    /// The messages that arrive next, at one time, to which the clock moves.
    fn next(&mut self) -> Vec<(PartyId, Message)> {
        let Some((&(at, _), _)) = self.under_way.first_key_value() else { return Vec::new() };
        self.now = at;
        let later = self.under_way.split_off(&(at + Duration::from_nanos(1), 0));
        std::mem::replace(&mut self.under_way, later).into_values().collect()
    }
}

#[derive(Default)]
struct State {
    wires: Wires,
    delivered: BTreeMap<Address, VecDeque<Message>>,
    offered: BTreeMap<Address, Message>,
    held_back: Vec<(u32, PartyId, Message)>,
    schedule: Option<Schedule>,
    waiting: Vec<Waker>,
    impatient: Vec<Waker>,
    patience_runs: u64,
    saboteurs: BTreeMap<PartyId, Saboteur>,
    sent: Vec<(PartyId, Message)>,
    history: Vec<(PartyId, Message)>,
    offers_taken: BTreeMap<(PartyId, PartyId), u64>,
}

impl State {
    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn deliver(&mut self, to: PartyId, message: Message) {
        self.history.push((to, message.clone()));
        self.queue(to, message);
    }

    fn queue(&mut self, to: PartyId, message: Message) {
        let header = &message.signed.header;
        self.delivered.entry((header.from, to, header.tag)).or_default().push_back(message);
        self.wake();
    }

    fn transmit(&mut self, to: PartyId, message: Message) {
        self.sent.push((to, message.clone()));
        let fate = match self.saboteurs.get_mut(&message.signed.header.from) {
            None => Fate { now: vec![message], later: Vec::new() },
            Some(saboteur) => saboteur.tamper(to, message),
        };
        for message in fate.now {
            let rests = self.schedule.as_mut().map_or(0, |schedule| schedule(to, &message));
            match (rests, self.wires.wire) {
                (0, None) => self.deliver(to, message),
                (0, Some(wire)) => self.wires.send(wire, to, message),
                _ => self.held_back.push((rests, to, message)),
            }
        }
        self.held_back.extend(fate.later.into_iter().map(|message| (1, to, message)));
    }
}

/// The network of one world. Nothing on it happens by itself: it is driven by
/// [`crate::World::run`].
#[derive(Clone, Default)]
pub struct Network(Arc<Mutex<State>>);

impl Network {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic while the network is locked")
    }

    /// One party's end.
    pub fn channel(&self, party: PartyId) -> Arc<dyn Channel> {
        Arc::new(End { network: self.clone(), party })
    }

    /// Puts a corrupt party's messages into a saboteur's hands. There may be one for each party.
    pub fn corrupt(&self, saboteur: Saboteur) {
        self.state().saboteurs.insert(saboteur.party(), saboteur);
    }

    /// Lets an adversary order the messages: each arrives after the world has come to rest as often
    /// as `schedule` says.
    pub fn schedule(&self, schedule: impl FnMut(PartyId, &Message) -> u32 + Send + 'static) {
        self.state().schedule = Some(Box::new(schedule));
    }

    /// Gives every link a latency and a bandwidth. The world then has a clock
    /// ([`Network::elapsed`]), which jumps from arrival to arrival; computing takes no time on it.
    pub fn wires(&self, wire: Wire) {
        self.state().wires.wire = Some(wire);
    }

    /// The virtual time that has passed.
    pub fn elapsed(&self) -> Duration {
        self.state().wires.now
    }

    /// Puts a message onto the network, as a corrupt party may, that arrives after the world has
    /// come to rest `rests` times.
    pub fn inject(&self, to: PartyId, message: Message, rests: u32) {
        self.state().held_back.push((rests, to, message));
    }

    /// Every message posted so far, with its recipient, as its sender's own code posted it.
    pub fn sent(&self) -> Vec<(PartyId, Message)> {
        self.state().sent.clone()
    }

    /// How many messages a party has posted.
    pub fn posted(&self, party: PartyId) -> usize {
        self.state().sent.iter().filter(|(_, message)| message.signed.header.from == party).count()
    }

    /// A party has lost its memory: what had been delivered to it is delivered again, as its peers'
    /// outboxes would.
    pub fn restart(&self, party: PartyId) {
        let mut state = self.state();
        state.delivered.retain(|(_, to, _), _| *to != party);
        let again: Vec<_> = state.history.iter().filter(|(to, _)| *to == party).cloned().collect();
        again.into_iter().for_each(|(to, message)| state.queue(to, message));
    }

    /// A party has lost its memory, and its peers tell it nothing but what they post from now on.
    pub fn forget(&self, party: PartyId) {
        self.state().delivered.retain(|(_, to, _), _| *to != party);
    }

    /// Bytes of offered messages that were taken, from the first party to the second.
    pub fn offers_taken(&self, from: PartyId, to: PartyId) -> u64 {
        self.state().offers_taken.get(&(from, to)).copied().unwrap_or(0)
    }

    /// When nothing moves any more: lets delayed messages arrive, or else lets patience run out.
    /// Returns whether that may have changed anything.
    pub(crate) fn nudge(&self) -> bool {
        let mut state = self.state();
        let arriving = state.wires.next();
        if !arriving.is_empty() {
            arriving.into_iter().for_each(|(to, message)| state.deliver(to, message));
            return true;
        }
        if let Some(next) = state.held_back.iter().map(|(rests, _, _)| *rests).min() {
            let (due, later) = std::mem::take(&mut state.held_back)
                .into_iter()
                .partition(|(rests, _, _)| *rests == next);
            let due: Vec<_> = due;
            state.held_back = later;
            due.into_iter().for_each(|(_, to, message)| state.deliver(to, message));
            return true;
        }
        let impatient = std::mem::take(&mut state.impatient);
        state.patience_runs += 1;
        let any = !impatient.is_empty();
        impatient.into_iter().for_each(Waker::wake);
        any
    }
}

struct End {
    network: Network,
    party: PartyId,
}

impl Channel for End {
    fn post(&self, to: PartyId, message: Message) {
        self.network.state().transmit(to, message);
    }

    fn offer(&self, to: PartyId, message: Message) {
        let mut state = self.network.state();
        state.offered.insert((self.party, to, message.signed.header.tag), message);
        state.wake();
    }

    fn collect(&self, from: PartyId, tag: Tag, limit: u64) -> BoxFuture<'_, Message> {
        Box::pin(poll_fn(move |context| {
            let mut state = self.network.state();
            let address = (from, self.party, tag);
            if let Some(offered) = state.offered.remove(&address) {
                *state.offers_taken.entry((from, self.party)).or_default() +=
                    offered.body.len() as u64;
                state.transmit(self.party, offered);
            }
            match state.delivered.get_mut(&address).and_then(VecDeque::pop_front) {
                Some(mut message) => {
                    if message.body.len() as u64 > limit {
                        message.body = Bytes::new();
                    }
                    Poll::Ready(message)
                }
                None => {
                    state.waiting.push(context.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }

    fn collect_known(
        &self,
        from: PartyId,
        tag: Tag,
        limit: u64,
        known: Digest,
    ) -> BoxFuture<'_, Message> {
        let collected = self.collect(from, tag, limit);
        Box::pin(async move {
            let mut message = collected.await;
            if message.signed.header.digest == known {
                message.body = Bytes::new();
            }
            message
        })
    }

    fn patience(&self) -> BoxFuture<'_, ()> {
        let begun = self.network.state().patience_runs;
        Box::pin(poll_fn(move |context| {
            let mut state = self.network.state();
            if state.patience_runs > begun {
                return Poll::Ready(());
            }
            state.impatient.push(context.waker().clone());
            Poll::Pending
        }))
    }

    fn retire(&self, instance: Instance) {
        let mut state = self.network.state();
        state.delivered.retain(|(_, _, tag), _| tag.instance != instance);
        state.offered.retain(|(_, _, tag), _| tag.instance != instance);
    }
}

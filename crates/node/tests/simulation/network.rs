//! The links between the servers: the promises of a channel, with everything that may happen
//! between them.
//!
//! Like the real one, a link keeps what was posted for as long as the server runs; the receiver
//! asks for what it awaits, at once and again every second or two; what is lost on the way is asked
//! for again. A server that restarts has forgotten what it posted.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_net::probe::Clock;
use ostrakon_net::{Acquaintance, PeerState, Reach};
use ostrakon_node::platform::Links;
use ostrakon_party::{Channel, Header, Instance, Message, PartyId, Tag};

use crate::checks::parties_of;
use crate::executor::{Executor, OUTSIDE, Owner};
use crate::malice::Malice;

/// Messages that were under way when a server died: so many of a hundred still arrive.
const SURVIVING: u64 = 50;

/// What has arrived under a tag.
#[derive(Default)]
struct Slot {
    stored: Option<Message>,
    delivered: bool,
    asked: bool,
    waiting: Vec<Waker>,
}

/// One server's end, from one start to the next.
#[derive(Default)]
struct End {
    owner: Owner,
    about: Bytes,
    posted: BTreeMap<(PartyId, Tag), Message>,
    slots: BTreeMap<(PartyId, Tag), Slot>,
    retired: BTreeSet<Instance>,
}

#[derive(Default)]
struct State {
    ends: Vec<Option<End>>,
    /// Links that are cut, lower number first.
    cut: BTreeSet<(PartyId, PartyId)>,
    malice: BTreeMap<PartyId, Malice>,
    kept: Option<Kept>,
}

/// Whether a message, with this header and to this server, is kept from it.
pub type Kept = fn(&Header, PartyId) -> bool;

impl State {
    fn is_cut(&self, a: PartyId, b: PartyId) -> bool {
        self.cut.contains(&(a.min(b), a.max(b)))
    }

    fn parties(&self) -> impl Iterator<Item = PartyId> + use<> {
        parties_of(u8::try_from(self.ends.len()).unwrap())
    }

    fn runs(&self, executor: &Executor, party: PartyId) -> bool {
        self.ends[party.index()].as_ref().is_some_and(|end| !executor.is_dead(end.owner))
    }

    fn reach(&self, executor: &Executor, from: PartyId, to: PartyId) -> Reach {
        let relays = |third: &PartyId| {
            let lines = !self.is_cut(from, *third) && !self.is_cut(*third, to);
            *third != from && *third != to && lines && self.runs(executor, *third)
        };
        if !self.runs(executor, from) || !self.runs(executor, to) {
            Reach::No
        } else if !self.is_cut(from, to) {
            Reach::Direct
        } else {
            self.parties().find(relays).map_or(Reach::No, Reach::Relayed)
        }
    }
}

/// Clones share it.
#[derive(Clone)]
pub struct Network {
    executor: Executor,
    state: Arc<Mutex<State>>,
}

impl Network {
    pub fn new(executor: &Executor, parties: u8) -> Self {
        let ends = parties_of(parties).map(|_| None).collect();
        let state = Arc::new(Mutex::new(State { ends, ..State::default() }));
        Self { executor: executor.clone(), state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// A server's end, from its start on.
    pub fn join(&self, party: PartyId, owner: Owner) -> Arc<dyn Links> {
        self.state().ends[party.index()] = Some(End { owner, ..End::default() });
        Arc::new(Wire { network: self.clone(), party, owner })
    }

    pub fn set_cut(&self, a: PartyId, b: PartyId, cut: bool) {
        let link = (a.min(b), a.max(b));
        let mut state = self.state();
        if cut {
            state.cut.insert(link);
        } else {
            state.cut.remove(&link);
        }
    }

    /// Puts what a server sends into a saboteur's hands, or takes it out of them.
    pub fn set_malice(&self, party: PartyId, malice: Option<Malice>) {
        match malice {
            Some(malice) => drop(self.state().malice.insert(party, malice)),
            None => drop(self.state().malice.remove(&party)),
        }
    }

    /// Keeps messages from whom they are for, however often they are asked for, or none any more.
    pub fn set_kept(&self, kept: Option<Kept>) {
        self.state().kept = kept;
    }

    fn delay(&self, reach: Reach) -> Option<Duration> {
        let hops = match reach {
            Reach::No => return None,
            Reach::Direct => 1,
            Reach::Relayed(_) => 2,
        };
        // Now and then a packet is lost and sent again.
        let micros = self.executor.draw(|random| {
            if random.chance(2) {
                random.within(200_000, 900_000)
            } else {
                random.within(100, 20_000)
            }
        });
        Some(Duration::from_micros(micros * hops))
    }

    /// Lets a message travel, if it can.
    fn transmit(&self, to: PartyId, message: Message) {
        let header = message.signed.header;
        let from = header.from;
        let (delay, owners, versions) = {
            let mut state = self.state();
            let delay = self.delay(state.reach(&self.executor, from, to));
            let owner = |party: PartyId| state.ends[party.index()].as_ref().map(|end| end.owner);
            let owners = [owner(from), owner(to)];
            let kept = state.kept.is_some_and(|keeps| keeps(&header, to));
            let versions = match state.malice.get_mut(&from) {
                _ if kept => Vec::new(),
                None => vec![message],
                Some(malice) => self.executor.draw(|random| malice.tamper(random, to, message)),
            };
            (delay, owners, versions)
        };
        self.executor.observe(
            "message",
            &[from.0.into(), to.0.into(), header.tag.step.0.into(), header.length],
        );
        let Some(delay) = delay else { return };
        for message in versions {
            let network = self.clone();
            self.executor.spawn(
                OUTSIDE,
                async move {
                    network.executor.sleep(delay).await;
                    network.arrive(from, to, owners, message);
                }
                .boxed(),
            );
        }
    }

    fn arrive(&self, from: PartyId, to: PartyId, owners: [Option<Owner>; 2], message: Message) {
        let mut state = self.state();
        if state.reach(&self.executor, from, to) == Reach::No
            && !self.executor.draw(|random| random.chance(SURVIVING))
        {
            return;
        }
        let Some(end) = state.ends[to.index()].as_mut().filter(|end| Some(end.owner) == owners[1])
        else {
            return;
        };
        let header = message.signed.header;
        if end.retired.contains(&header.tag.instance) {
            return;
        }
        self.executor.trace("arrives", &[&[from.0, to.0], &header.digest.0[..]].concat());
        let slot = end.slots.entry((from, header.tag)).or_default();
        if slot.stored.is_some() || (slot.delivered && !slot.asked) {
            return;
        }
        slot.stored = Some(message);
        let waiting = std::mem::take(&mut slot.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Asks a peer for what it may have posted under a tag.
    fn ask(&self, from: PartyId, to: PartyId, tag: Tag) {
        let delay = self.delay(self.state().reach(&self.executor, from, to));
        let Some(delay) = delay else { return };
        let network = self.clone();
        self.executor.spawn(
            OUTSIDE,
            async move {
                network.executor.sleep(delay).await;
                let posted = {
                    let state = network.state();
                    let end = state.ends[from.index()].as_ref();
                    end.filter(|end| !network.executor.is_dead(end.owner))
                        .and_then(|end| end.posted.get(&(to, tag)).cloned())
                };
                if let Some(message) = posted {
                    network.transmit(to, message);
                }
            }
            .boxed(),
        );
    }
}

/// One server's side of its links.
struct Wire {
    network: Network,
    party: PartyId,
    owner: Owner,
}

impl Wire {
    /// Does something with this server's end, if it is still this server's.
    fn with<T>(&self, work: impl FnOnce(&mut End) -> T) -> Option<T> {
        let mut state = self.network.state();
        if self.network.executor.is_dead(self.owner) {
            return None;
        }
        state.ends[self.party.index()].as_mut().filter(|end| end.owner == self.owner).map(work)
    }

    fn keep(&self, to: PartyId, message: &Message) -> bool {
        let tag = message.signed.header.tag;
        let kept = self.with(|end| {
            let goes = !end.retired.contains(&tag.instance);
            if goes {
                end.posted.insert((to, tag), message.clone());
            }
            goes
        });
        kept == Some(true)
    }
}

impl Channel for Wire {
    fn post(&self, to: PartyId, message: Message) {
        if self.keep(to, &message) {
            self.network.transmit(to, message);
        }
    }

    fn offer(&self, to: PartyId, message: Message) {
        self.keep(to, &message);
    }

    fn collect(&self, from: PartyId, tag: Tag, limit: u64) -> BoxFuture<'_, Message> {
        async move {
            loop {
                let pause = self
                    .network
                    .executor
                    .draw(|random| Duration::from_millis(random.within(1000, 2000)));
                let mut again = self.network.executor.sleep(pause).boxed();
                // What came before was no good: it is not asked for at full speed.
                let fresh = self.with(|end| !end.slots.entry((from, tag)).or_default().delivered);
                if fresh == Some(true) {
                    self.network.ask(from, self.party, tag);
                }
                let arrived = poll_fn(|context| {
                    let taken = self.with(|end| {
                        let slot = end.slots.entry((from, tag)).or_default();
                        let message = slot.stored.take()?;
                        (slot.delivered, slot.asked) = (true, false);
                        Some(message)
                    });
                    if let Some(Some(message)) = taken {
                        return Poll::Ready(Some(message));
                    }
                    if again.poll_unpin(context).is_ready() {
                        return Poll::Ready(None);
                    }
                    self.with(|end| {
                        end.slots
                            .entry((from, tag))
                            .or_default()
                            .waiting
                            .push(context.waker().clone());
                    });
                    Poll::Pending
                });
                if let Some(mut message) = arrived.await {
                    if message.body.len() as u64 > limit {
                        message.body = Bytes::new();
                    }
                    return message;
                }
                if self.with(|end| end.retired.contains(&tag.instance)) != Some(false) {
                    std::future::pending::<()>().await;
                }
                self.with(|end| end.slots.entry((from, tag)).or_default().asked = true);
                self.network.ask(from, self.party, tag);
            }
        }
        .boxed()
    }

    fn patience(&self) -> BoxFuture<'_, ()> {
        self.network.executor.sleep(Duration::from_secs(1)).boxed()
    }

    fn retire(&self, instance: Instance) {
        self.with(|end| {
            end.posted.retain(|(_, tag), _| tag.instance != instance);
            end.slots.retain(|(_, tag), _| tag.instance != instance);
            end.retired.insert(instance);
        });
    }
}

impl Links for Wire {
    fn peer_states(&self) -> BTreeMap<PartyId, PeerState> {
        let state = self.network.state();
        let peers = state.parties().filter(|peer| *peer != self.party);
        let describe = |peer| {
            let reach = state.reach(&self.network.executor, self.party, peer);
            (peer, PeerState { reach, last_seen: None, bytes_sent: 0, bytes_received: 0, links: 0 })
        };
        peers.map(describe).collect()
    }

    /// What the others say is known at once, since it is repeated for as long as there is a link.
    fn acquaintances(&self) -> BTreeMap<PartyId, Acquaintance> {
        let state = self.network.state();
        let reached =
            |peer: &PartyId| state.reach(&self.network.executor, self.party, *peer) != Reach::No;
        let peers = state.parties().filter(|peer| *peer != self.party).filter(reached);
        let about = |peer: PartyId| Some((peer, state.ends[peer.index()].as_ref()?.about.clone()));
        peers
            .filter_map(about)
            .map(|(peer, about)| (peer, Acquaintance { about, ..Acquaintance::default() }))
            .collect()
    }

    fn introduce(&self, about: Bytes, _clock: Clock) {
        self.with(|end| end.about = about);
    }

    fn set_blocked(&self, peer: PartyId, blocked: bool) {
        self.network.set_cut(self.party, peer, blocked);
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        self.with(|end| *end = End { owner: self.owner, ..End::default() });
        async {}.boxed()
    }
}

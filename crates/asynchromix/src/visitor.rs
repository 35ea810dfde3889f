//! A device with the room's link: it visits every server by itself, again and again, watches or
//! takes part, and believes what t + 1 servers say or sign (spec section 18).
//!
//! Whoever drives it calls [`Visitor::tick`] by a clock, sends what [`Visitor::ask`] gives to each
//! server, and gives it the answers. What [`Visitor::kept`] returns is made durable before the next
//! visit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_crypto::Secret;
use ostrakon_party::{PartyId, wire};

use crate::board::SignedEntry;
use crate::evidence::Deed;
use crate::message::ToServer;
use crate::participant::{Kept, News, NotTaken, Participant};
use crate::room::{KEPT, Room};
use crate::visit::{Answer, Ask, Collecting, Standing};

/// Ticks without an answer after which a server is shown as silent.
const SILENT: u32 = 20;
/// Ticks after which a server is asked for entries again that it did not have.
const ANEW: u32 = 64;
/// Ticks after which a device whose epoch is late offers its place to another home again.
const SPREAD: u32 = 2;
/// Ticks of the servers that closing an epoch may take without being late.
const LATE: u32 = 10;
/// Entries that are held at most.
const HELD: usize = 1024;

/// What the visitor knows of a server.
#[derive(Default)]
struct Seen {
    standing: Option<Standing>,
    /// Ticks since its last answer.
    silent: u32,
    /// It has nothing below this.
    floor: u64,
}

/// Batches that were spoilt one after another from which on people are told.
pub const SPOILT: u32 = 3;

/// Why no more rounds can be prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// For good: servers that every set needs were convicted of lying.
    Convicted,
    /// Until they are back: servers that every set needs are away.
    Away,
    /// Until its operator mends it: somebody spoils every batch, and nobody can say who.
    Spoilt,
}

impl End {
    /// Why no set of a room can prepare anything, where servers were `convicted`, or are `away`,
    /// and so many batches were `spoilt` one after another.
    pub fn of(
        room: &Room,
        convicted: impl Fn(&PartyId) -> bool,
        away: impl Fn(&PartyId) -> bool,
        spoilt: u32,
    ) -> Option<Self> {
        let stopped = |out: &dyn Fn(&PartyId) -> bool| {
            room.committees().iter().all(|set| set.members().iter().any(out))
        };
        if stopped(&convicted) {
            Some(Self::Convicted)
        } else if stopped(&|party| convicted(party) || away(party)) {
            Some(Self::Away)
        } else {
            (spoilt >= SPOILT).then_some(Self::Spoilt)
        }
    }
}

/// How the room stands: what t + 1 servers say, of whom one is honest.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Here {
    /// Entries on the board.
    pub entries: u64,
    /// The epoch that collects.
    pub collecting: Option<Collecting>,
    /// Epochs that are being mixed.
    pub mixing: u32,
    /// Epochs that can still be opened if nothing more is prepared.
    pub ready: u32,
    /// What keeps more from being prepared; then the room ends, or waits, after those.
    pub ended: Option<End>,
    /// Servers that were convicted of lying, and what they did. Everybody can check it.
    pub convicted: Vec<(PartyId, Deed)>,
    /// Servers that do not answer, or do not take part.
    pub silent: Vec<PartyId>,
}

/// A device in a room.
pub struct Visitor {
    room: Arc<Room>,
    participant: Option<Participant>,
    /// A row was made that is not kept yet.
    unkept: bool,
    wall: BTreeMap<u64, Arc<SignedEntry>>,
    servers: Vec<Seen>,
    ticks: u32,
}

impl Visitor {
    /// A device that watches.
    #[must_use]
    pub fn watching(room: Arc<Room>) -> Self {
        let servers = (0..room.servers()).map(|_| Seen::default()).collect();
        let wall = BTreeMap::new();
        Self { room, participant: None, unkept: false, wall, servers, ticks: 0 }
    }

    /// A device that takes part, with what it kept. `fresh` is 32 fresh random bytes at every
    /// start.
    ///
    /// `None` if what was kept is not of this room.
    #[must_use]
    pub fn taking_part(room: Arc<Room>, kept: &Kept, fresh: Secret) -> Option<Self> {
        let participant = Participant::restore(Arc::clone(&room), kept, fresh)?;
        Some(Self { participant: Some(participant), ..Self::watching(room) })
    }

    /// The room.
    #[must_use]
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Who takes part, if somebody does.
    #[must_use]
    pub fn participant(&self) -> Option<&Participant> {
        self.participant.as_ref()
    }

    /// Whether the list of who may take part has this device's key.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        self.participant.as_ref().is_some_and(|participant| self.room.admits(&participant.key()))
    }

    /// What the device must keep now, and make durable before it visits a server again: the row
    /// that was handed in leaves only afterwards (spec W3).
    pub fn kept(&mut self) -> Option<Kept> {
        self.unkept = false;
        self.participant.as_ref().map(Participant::kept)
    }

    /// Whether there is a row that leaves only after [`Visitor::kept`].
    #[must_use]
    pub fn is_unkept(&self) -> bool {
        self.unkept
    }

    /// Takes a message to be said. Without a participant nothing is taken.
    ///
    /// # Errors
    /// [`NotTaken`].
    pub fn say(&mut self, message: Vec<u8>) -> Result<(), NotTaken> {
        self.participant.as_mut().map_or(Ok(()), |participant| participant.say(message))
    }

    /// Gives the message back, unless it is handed in.
    pub fn take_back(&mut self) -> Option<Vec<u8>> {
        self.participant.as_mut().and_then(Participant::take_back)
    }

    /// Some time has passed.
    pub fn tick(&mut self) {
        self.ticks = self.ticks.wrapping_add(1);
        let late = self.is_late();
        let spreads = late && self.ticks.is_multiple_of(SPREAD);
        let silent = if spreads { self.here().silent } else { Vec::new() };
        if let Some(participant) = &mut self.participant {
            participant.pass();
            if spreads {
                participant.spread(&silent);
            } else if !late {
                participant.stay();
            }
        }
        for seen in &mut self.servers {
            seen.silent = seen.silent.saturating_add(1);
            if seen.silent > SILENT {
                seen.standing = None;
            }
            if self.ticks.is_multiple_of(ANEW) {
                seen.floor = 0;
            }
        }
    }

    /// Whether the epoch that the own row is in should be closed by now.
    fn is_late(&self) -> bool {
        let own = self.participant.as_ref().filter(|participant| participant.is_in());
        let collecting =
            self.here().collecting.filter(|of| own.and_then(Participant::epoch) == Some(of.epoch));
        let time = self.room.shape().ticks.saturating_add(LATE);
        collecting.is_some_and(|of| of.age >= time)
    }

    /// What a server is to be asked now.
    pub fn ask(&mut self, server: PartyId) -> Vec<u8> {
        let floor = self.servers.get(server.index()).map_or(0, |seen| seen.floor);
        let entry = self.wanted(floor);
        let mut messages = self.participant.as_ref().map(Participant::wants).unwrap_or_default();
        if self.unkept {
            messages.retain(|message| !matches!(message, ToServer::Submit { .. }));
        }
        Ask { entry, messages }.encode()
    }

    /// Takes a server's answer to the last visit.
    ///
    /// # Errors
    /// [`wire::Malformed`] if it is none; then it is as if nothing had come.
    pub fn take(&mut self, from: PartyId, bytes: &[u8]) -> Result<Vec<News>, wire::Malformed> {
        let Answer { standing, entries, replies } = Answer::decode(bytes, &self.room)?;
        let seen = self.servers.get_mut(from.index()).ok_or(wire::Malformed)?;
        if standing.runs {
            // Where the first entry is a later one, it lacks those before.
            let here = entries.first().map_or(standing.entries, |signed| signed.entry.epoch);
            seen.floor = seen.floor.max(here.min(standing.entries));
        }
        seen.silent = 0;
        seen.standing = Some(standing);
        entries.into_iter().for_each(|signed| self.keep(signed));
        let mut news = Vec::new();
        if let Some(participant) = &mut self.participant {
            let awaited = participant.awaited();
            for reply in replies {
                news.extend(participant.take(from, reply).1);
            }
            self.unkept |= participant.awaited().is_some() && participant.awaited() != awaited;
        }
        news.extend(self.settle());
        Ok(news)
    }

    /// What the board says of the epoch that the participant is in.
    fn settle(&mut self) -> Option<News> {
        let entries = self.agreed(|standing| standing.entries);
        let participant = self.participant.as_mut()?;
        let epoch = participant.epoch()?;
        match self.wall.get(&epoch) {
            Some(signed) => participant.entry(signed),
            None if epoch + (KEPT as u64) < entries => participant.give_up(),
            None => None,
        }
    }

    /// The board, as far as it is known: what t + 1 servers signed.
    pub fn wall(&self) -> impl DoubleEndedIterator<Item = &Arc<SignedEntry>> {
        self.wall.values()
    }

    /// Whether t + 1 servers have said where the board ends, and all of it is here that servers
    /// still give.
    #[must_use]
    pub fn is_caught_up(&self) -> bool {
        let entries = self.agreed(|standing| standing.entries);
        self.is_believed() && self.wanted(0) == entries
    }

    /// Whether t + 1 servers that take part have said how the room stands.
    #[must_use]
    pub fn is_believed(&self) -> bool {
        self.standings().count() >= self.room.trust().believed()
    }

    /// Whether every server has answered.
    #[must_use]
    pub fn has_heard_all(&self) -> bool {
        self.servers.iter().all(|seen| seen.standing.is_some())
    }

    fn keep(&mut self, signed: SignedEntry) {
        let epoch = signed.entry.epoch;
        if !self.wall.contains_key(&epoch) && signed.verifies(&self.room) {
            self.wall.insert(epoch, Arc::new(signed));
            if self.wall.len() > HELD {
                self.wall.pop_first();
            }
        }
    }

    /// The first entry from `floor` on that is lacking, among those that servers still give.
    fn wanted(&self, floor: u64) -> u64 {
        let entries = self.agreed(|standing| standing.entries);
        let first = entries.saturating_sub(KEPT as u64).max(floor);
        (first..entries).find(|epoch| !self.wall.contains_key(epoch)).unwrap_or(entries)
    }

    /// What servers say that take part.
    fn standings(&self) -> impl Iterator<Item = (PartyId, &Standing)> {
        let known = self.room.parties().zip(&self.servers);
        let known = known.filter_map(|(party, seen)| Some((party, seen.standing.as_ref()?)));
        known.filter(|(_, standing)| standing.runs)
    }

    /// The largest number that t + 1 servers reach.
    fn agreed<N: Ord + Default>(&self, of: impl Fn(&Standing) -> N) -> N {
        let mut said: Vec<N> = self.standings().map(|(_, standing)| of(standing)).collect();
        said.sort_unstable_by(|a, b| b.cmp(a));
        said.into_iter().nth(self.room.trust().corrupt()).unwrap_or_default()
    }

    /// How the room stands.
    #[must_use]
    pub fn here(&self) -> Here {
        // An epoch by its number plus one, so that none is less than the first.
        let number =
            |standing: &Standing| standing.collecting.map_or(0, |c| c.epoch.saturating_add(1));
        let epoch = self.agreed(number);
        let of = |part: fn(&Collecting) -> u32| {
            self.agreed(|standing| match &standing.collecting {
                Some(collecting) if collecting.epoch.saturating_add(1) == epoch => part(collecting),
                _ => 0,
            })
        };
        let collecting = epoch.checked_sub(1).map(|epoch| Collecting {
            epoch,
            places: of(|c| c.places),
            rows: of(|c| c.rows),
            age: of(|c| c.age),
        });
        let runs: Vec<PartyId> = self.standings().map(|(party, _)| party).collect();
        let silent: Vec<PartyId> = if self.ticks > SILENT || !runs.is_empty() {
            let late = |party: &PartyId| {
                let seen = &self.servers[party.index()];
                !runs.contains(party) && (seen.standing.is_some() || self.ticks > SILENT)
            };
            self.room.parties().filter(late).collect()
        } else {
            Vec::new()
        };
        Here {
            entries: self.agreed(|standing| standing.entries),
            collecting,
            mixing: self.agreed(|standing| standing.mixing),
            ready: self.agreed(|standing| standing.ready),
            ended: self.ended(&silent),
            convicted: self.convicted(),
            silent,
        }
    }

    /// Whether all places of the round that collects are taken, and none by this device.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        let lacks = |own: &Participant| own.awaited().is_none() && own.places() == 0;
        let taken = self.here().collecting.and_then(|of| usize::try_from(of.places).ok());
        let full = taken.is_some_and(|taken| taken >= self.room.shape().rows);
        full && self.participant.as_ref().is_some_and(lacks)
    }

    /// Who was convicted, as t + 1 servers say, and of what.
    fn convicted(&self) -> Vec<(PartyId, Deed)> {
        let said = self.standings().flat_map(|(_, standing)| standing.convicted.iter().copied());
        let said: BTreeSet<(PartyId, Deed)> = said.collect();
        let many = |of: &(PartyId, Deed)| {
            let says = self.standings().filter(|(_, standing)| standing.convicted.contains(of));
            says.count() >= self.room.trust().believed()
        };
        said.into_iter().filter(many).collect()
    }

    /// Why no set can prepare anything, as far as t + 1 servers or this device know.
    fn ended(&self, silent: &[PartyId]) -> Option<End> {
        let believed = self.room.trust().believed();
        let convicted = self.convicted();
        let corrupt = |party: &PartyId| convicted.iter().any(|(of, _)| of == party);
        let away = |party: &PartyId| {
            let others = self.standings().filter(|(from, _)| from != party);
            let missed = others.filter(|(_, standing)| !standing.reached.contains(party));
            silent.contains(party) || missed.count() >= believed
        };
        End::of(&self.room, corrupt, away, self.agreed(|standing| standing.spoilt))
    }
}

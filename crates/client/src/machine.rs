//! The state machine: what it knows, and what it has others do.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ostrakon_broadcast::reader::BoardReader;
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_mixing::engine::{ClientEngine, EpochContext};
use ostrakon_mixing::submission::{Author, NoSubmission};
use ostrakon_mixing::{Content, RoomDescriptor, RoomId, Servers, engines};
use ostrakon_party::{PartyId, Trust};

use crate::epoch::Epoch;
use crate::home::Standing;
use crate::pauses::Draws;
use crate::reports::Reports;
use crate::request::{Call, Kind, Request};
use crate::time::{Clock, Millis};

/// A room, as its participants share it.
pub struct Scene {
    pub(crate) servers: Servers,
    pub(crate) room: RoomDescriptor,
    pub(crate) id: RoomId,
    pub(crate) engine: &'static (dyn ClientEngine + Send + Sync),
    pub(crate) believed: usize,
    /// What the servers bear, if that is not the room's engine's.
    trust: Option<Trust>,
}

impl Scene {
    /// The room of a descriptor, which the caller has compared with the link, as it has the
    /// servers.
    pub fn new(servers: Servers, room: RoomDescriptor) -> Self {
        let believed = engines::believed(room.engine, servers.keys.len());
        let (id, engine) = (room.id(), engines::client(room.engine));
        Self { servers, room, id, engine, believed, trust: None }
    }

    /// The same, with servers that bear so much, and an engine of one's own.
    #[must_use]
    pub fn with(self, engine: &'static (dyn ClientEngine + Send + Sync), trust: Trust) -> Self {
        Self { engine, believed: trust.believed(), trust: Some(trust), ..self }
    }

    /// The room's board before its first entry.
    pub(crate) fn board(&self) -> BoardReader {
        let board = BoardReader::new(self.servers.clone(), self.room.clone());
        match self.trust {
            Some(trust) => board.under(trust),
            None => board,
        }
    }

    /// The room's id.
    pub fn id(&self) -> &RoomId {
        &self.id
    }

    /// What its servers say, of which nothing is known yet.
    pub fn reports(&self) -> Reports {
        Reports::new(self.servers.keys.len(), self.believed)
    }

    pub(crate) fn parties(&self) -> impl Iterator<Item = PartyId> + use<> {
        (0u8..).take(self.servers.keys.len()).map(PartyId)
    }
}

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Send this. What comes of it is told by [`Participant::answered`].
    Ask(Request),
    /// Decide what goes into this epoch, and write it down, so that it is never decided otherwise;
    /// then [`Participant::filled`]. With a lower minimum than the user has agreed to, nothing is
    /// said in it.
    Fill(EpochContext),
    /// Tell the user.
    Tell(News),
}

/// How the participant gets on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// It looks for a server to be present at.
    Looking,
    /// It is present there, and waits for a slot.
    Waiting {
        /// The server.
        home: PartyId,
    },
    /// It has a slot.
    Placed {
        /// The epoch.
        epoch: u64,
    },
    /// So many servers have what it submitted that one of them is honest.
    HandedIn {
        /// The epoch.
        epoch: u64,
        /// Whether it was a message, not a cover.
        message: bool,
    },
    /// No server gave it a slot in this epoch.
    NoSlot {
        /// The epoch.
        epoch: u64,
    },
    /// What the servers gave does not make a submission; they are asked again.
    NotMade {
        /// The epoch.
        epoch: u64,
        /// Why.
        why: NoSubmission,
    },
}

/// What goes into an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filled {
    /// This, and it is written down.
    Row(Content),
    /// Nothing: the epoch is over for this device.
    Nothing,
    /// It cannot be decided or written down now; that is tried again soon.
    Later,
}

/// A participant of a room (`docs/spec/participant.md`).
pub struct Participant {
    pub(crate) scene: Arc<Scene>,
    pub(crate) key: SigningKey,
    pub(crate) draws: Draws,
    pub(crate) clock: Clock,
    pub(crate) now: Millis,
    /// The device's clock, as it stands.
    pub(crate) unix: Millis,
    pub(crate) reports: Reports,
    pub(crate) standing: Option<Standing>,
    /// Where it is present at first, if it answers.
    pub(crate) before: Option<PartyId>,
    /// The server that it left last.
    pub(crate) left: Option<PartyId>,
    pub(crate) epoch: Option<Epoch>,
    /// The last epoch with too few that was taken notice of.
    pub(crate) failed: Option<u64>,
    /// When it went on after it had stood still for so long that it was forgotten.
    pub(crate) returned: Option<Millis>,
    pub(crate) asked: BTreeMap<u64, Asked>,
    pub(crate) next: u64,
    pub(crate) actions: VecDeque<Action>,
}

/// A request that is not answered.
pub(crate) struct Asked {
    pub party: PartyId,
    pub kind: Kind,
    /// Which count of the servers' participants it belongs to.
    pub count: u64,
}

impl Participant {
    /// A participant under a key. `seed` is 32 fresh random bytes; `before` is where it is present
    /// at first, if it has a preference.
    pub fn new(scene: Arc<Scene>, key: SigningKey, seed: Secret, before: Option<PartyId>) -> Self {
        let reports = scene.reports();
        let (clock, now, unix, standing, left, epoch) = Default::default();
        let (failed, returned, asked, next, actions) = Default::default();
        let draws = Draws::new(seed);
        Self {
            scene,
            key,
            draws,
            clock,
            now,
            unix,
            reports,
            standing,
            before,
            left,
            epoch,
            failed,
            returned,
            asked,
            next,
            actions,
        }
    }

    /// The room in which it takes part.
    pub fn room(&self) -> &RoomId {
        self.scene.id()
    }

    pub(crate) fn at(&mut self, now: Millis) {
        (self.now, self.unix) = (self.clock.read(now), now);
    }

    pub(crate) fn tell(&mut self, news: News) {
        self.actions.push_back(Action::Tell(news));
    }

    pub(crate) fn ask(&mut self, party: PartyId, call: Call, count: u64) {
        let id = self.next;
        self.next += 1;
        self.asked.insert(id, Asked { party, kind: call.kind(), count });
        self.actions.push_back(Action::Ask(Request { id, party, call }));
    }

    /// Where it is present.
    pub(crate) fn home(&self) -> Option<PartyId> {
        match &self.standing {
            Some(Standing::Present(present)) => Some(present.home),
            _ => None,
        }
    }

    pub(crate) fn author(&self) -> Author<'_> {
        let Scene { servers, room, engine, .. } = &*self.scene;
        Author { engine: *engine, servers, room, key: &self.key }
    }
}

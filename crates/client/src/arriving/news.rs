//! What somebody who arrives is told, and what servers say instead of what they were asked for.

use ostrakon_crypto::Digest;
use ostrakon_mixing::{RoomDescriptor, RoomId, Servers};
use ostrakon_party::PartyId;
use ostrakon_protocol::ServersInfo;

use crate::pinned::servers_of;
use crate::refusal::Refusal;
use crate::request::Sending;

/// Where somebody wants to go.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The address of the server that is asked first.
    pub origin: String,
    /// The digest of the servers, if a link names them. Otherwise they are those that the first
    /// server names.
    pub servers: Option<Digest>,
    /// The room, if one is looked for.
    pub room: Option<RoomId>,
}

/// What a device has kept of a room, for when its servers do not answer.
#[derive(Clone, Debug)]
pub struct Documents {
    /// The servers as one of them listed them.
    pub servers: ServersInfo,
    /// What the room is.
    pub descriptor: RoomDescriptor,
}

impl Documents {
    /// Whether they are what a link names.
    pub(super) fn are_of(&self, destination: &Destination) -> bool {
        let servers = servers_of(&self.servers);
        let named = servers.filter(|servers| usize::from(self.servers.you) < servers.keys.len());
        destination.room == Some(self.descriptor.id())
            && self.descriptor.validate().is_ok()
            && named.is_some_and(|servers| destination.servers == Some(servers.digest()))
    }
}

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum ArrivingAction {
    /// Send this: before the servers are found, to the server that is asked first, whatever number
    /// it has. What comes of it is told by [`Arriving::replied`](super::Arriving::replied).
    Ask(Sending),
    /// Go on by this.
    Tell(ArrivingNews),
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivingNews {
    /// Who the servers are: their addresses, by number. What is asked from now on goes there.
    Found(Vec<String>),
    /// What was looked for is found.
    Arrived(Box<Arrived>),
    /// It is not, or is not to be used.
    Failed(ArrivingFailure),
}

/// Servers, and the room if one was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The list of servers, as one of them gave it.
    pub info: ServersInfo,
    /// The same, as links pin them.
    pub servers: Servers,
    /// Where they are reached, by number: the first one where it was, others where it says.
    pub addresses: Vec<String>,
    /// Where links lead to: the first server's address, if it is one by which the servers know
    /// themselves.
    pub entrance: String,
    /// The room.
    pub room: Option<ArrivedRoom>,
    /// Who names other servers than the link, or calls itself another one of them: to be told.
    pub contradicting: Vec<PartyId>,
}

/// A room as its link names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivedRoom {
    /// What it is.
    pub descriptor: RoomDescriptor,
    /// Whether so many servers say that it takes no more messages that one of them is honest.
    pub closed: bool,
}

/// Why somebody does not arrive. Servers are named by their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivingFailure {
    /// A server names other servers than the link, or, where there is none, than the one that was
    /// asked first; or it calls itself another one of them. With a link nobody shows the room then.
    OtherServers {
        /// The server.
        at: String,
    },
    /// A server shows another room than the one that is looked for, and none shows that one.
    OtherRoom {
        /// The server.
        at: String,
    },
    /// The room is not one that servers can keep.
    Unusable {
        /// What is wrong with it.
        why: String,
    },
    /// A server says no.
    Refused {
        /// The server.
        at: String,
        /// What it says.
        refusal: Refusal,
    },
    /// Nobody can read what a server answers.
    Malformed {
        /// The server.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    /// A server does not answer.
    Away {
        /// The server.
        at: String,
    },
}

/// What a server has shown instead of what it was asked for.
#[derive(Clone, Debug)]
pub enum Complaint {
    /// It names other servers, or calls itself another one of them.
    OtherServers,
    OtherRoom,
    Refused(Refusal),
    Malformed(String),
    Away,
}

impl Complaint {
    /// Whether the same request may succeed later.
    pub fn passes(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.passes(),
            Self::Away => true,
            Self::OtherServers | Self::OtherRoom | Self::Malformed(_) => false,
        }
    }

    /// That the server has no such room.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.status == 404)
    }

    /// Of a server, by its address.
    pub fn of(self, at: &str) -> ArrivingFailure {
        let at = at.to_owned();
        match self {
            Self::OtherServers => ArrivingFailure::OtherServers { at },
            Self::OtherRoom => ArrivingFailure::OtherRoom { at },
            Self::Refused(refusal) => ArrivingFailure::Refused { at, refusal },
            Self::Malformed(why) => ArrivingFailure::Malformed { at, why },
            Self::Away => ArrivingFailure::Away { at },
        }
    }
}

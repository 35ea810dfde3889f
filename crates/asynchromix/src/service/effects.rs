//! What an event leads to.

use std::sync::Arc;

use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;

use crate::disk::Write;
use crate::evidence::Deed;
use crate::message::{Message, ToClient};

/// What a server has to say to whoever runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It takes part.
    Started,
    /// Its data are older than what others have heard of it. It is silent until
    /// [`super::Event::Readmit`].
    DataLost,
    /// It was away past a checkpoint, and has the state after so many commits from another server.
    CaughtUp(u64),
    /// A batch is begun.
    Begun(u64),
    /// This server has prepared its part of a batch; elements that it sent for it.
    Prepared(u64, usize),
    /// A batch is ready.
    Ready(u64),
    /// A batch was thrown away after a complaint.
    Burnt(u64),
    /// A batch was dropped: a member is out of it.
    Dropped(u64),
    /// An epoch collects.
    Opened(u64),
    /// An epoch takes no more participants.
    Closed(u64),
    /// An epoch is sealed with so many rows, and whether they are enough.
    Sealed(u64, usize, bool),
    /// This server begins an epoch's shuffle: all rows are here.
    Mixing(u64),
    /// This server has an epoch's output; elements that it sent for it.
    Mixed(u64, usize),
    /// An entry is on the board.
    Published(u64),
    /// Another server did something wrong.
    Fault(PartyId, &'static str),
    /// A server was convicted by what all have shown of a burnt batch: nothing more is prepared
    /// with it.
    Convicted(PartyId, Deed),
}

/// What an event leads to. The writes are made durable, in order, before a message leaves.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Effects {
    /// What must be durable first.
    pub writes: Vec<Write>,
    /// Messages to other servers.
    pub sends: Vec<(PartyId, Arc<[u8]>)>,
    /// Messages to participants.
    pub replies: Vec<(VerifyingKey, ToClient)>,
    /// What has happened.
    pub told: Vec<Told>,
}

impl Effects {
    pub(crate) fn send(&mut self, to: PartyId, message: &Message) {
        self.sends.push((to, message.encode().into()));
    }

    /// Adds what comes later.
    pub fn extend(&mut self, more: Effects) {
        self.writes.extend(more.writes);
        self.sends.extend(more.sends);
        self.replies.extend(more.replies);
        self.told.extend(more.told);
    }
}

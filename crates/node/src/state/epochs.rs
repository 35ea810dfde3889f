//! How an epoch ends: what a server finds, what it tells the others, and what they then agree on.
//! Pure.
//!
//! After computing, every server *concludes*: it has an entry for the board or a reason why there
//! is none. It writes that down, tells the others ([`Verdict`]), and *settles* the epoch as soon as
//! enough servers, itself included or not, say the same ([`tally`]): an entry with as many
//! signatures as are believed is valid for everybody, so no server may go on without it; and no
//! entry can come about once so many have refused that the others are too few. When all have
//! spoken, the epoch is *finished*: nobody needs anything of it any more, since each wrote its
//! conclusion down before it spoke.

use ostrakon_broadcast::board::{Entry, Published, SALT, salts};
use ostrakon_crypto::{Digest, Signature, Transcript};
use ostrakon_mixing::engine::{Opened, Stopped};
use ostrakon_mixing::room::{EpochId, RoomDescriptor, Servers};
use ostrakon_mixing::row::{Content, RowFormat};
use ostrakon_party::{ByParty, PartyId, Trust};
use serde::{Deserialize, Serialize};

use crate::provider::trusts;
use ostrakon_protocol::{LastEpoch, Outcome};

/// Epochs of a room whose verdict is kept ready for a server that lags behind. More than may be
/// unfinished at a time.
pub const KEPT_VERDICTS: u64 = 8;
/// Bytes of an encoded verdict at most.
pub const LONGEST_VERDICT: u64 = 128;

/// Bytes of a room's longest encoded entry, or a few more.
pub fn longest_entry(room: &RoomDescriptor) -> u64 {
    // Besides its body a message has a salt, a mark, and its length in at most three bytes.
    let message = u64::from(room.payload) + SALT as u64 + 4;
    256 + u64::from(room.capacity) * message
}

/// What a server tells the others of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It would publish the entry with this digest.
    Publish(Digest, Signature),
    /// It would publish nothing.
    Nothing,
}

/// What a server found: kept on its disk until the epoch is finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The entry, if there is one to be published.
    pub entry: Option<Entry>,
    /// How the epoch ended.
    pub last: LastEpoch,
}

/// What was computed, before it is known what the entry before it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Computed {
    /// Messages in mixed order, from so many submissions.
    Messages {
        /// The messages; covers and noise are dropped.
        messages: Vec<Published>,
        /// Submissions mixed, covers included.
        accepted: u32,
        /// What is to be said besides.
        detail: String,
    },
    /// No entry.
    Nothing(Outcome, String),
}

/// How an epoch ended that was given up before it was sealed.
pub fn void(number: u64) -> LastEpoch {
    let detail = "the epoch was given up before it was sealed, because a server lost its preprocessed material or the room was \
                  closed; messages enter the next epoch, if there is one";
    LastEpoch { number, outcome: Outcome::Failed, detail: detail.into() }
}

/// Reads the rows that a mix brought out.
pub fn read_rows(room: &RoomDescriptor, number: u64, opened: &Opened) -> Computed {
    let format = RowFormat::new(room, number);
    let mut rows = Transcript::new("ostrakon/v1/node/readable rows");
    let read = format.decode_table(&opened.table);
    let table = opened.table.chunks_exact(format.width()).zip(&read);
    let rows = rows.fields(table.filter_map(|(row, content)| content.as_ref().map(|_| row)));
    let rows = rows.finish();
    let bodies = read.into_iter().flatten().filter_map(|content| match content {
        Content::Message(body) => Some(body),
        Content::Cover => None,
    });
    let bodies: Vec<_> = bodies.collect();
    let salts = salts(&rows, bodies.len());
    let messages = salts.zip(bodies).map(|(salt, body)| Published::Kept { salt, body });
    let detail = match (opened.trusted, &opened.fault) {
        (Some(trusted), Some(fault)) => {
            format!("{fault}; server {trusted} finished alone and knows who wrote what")
        }
        (None, Some(fault)) => fault.to_string(),
        _ => String::new(),
    };
    Computed::Messages { messages: messages.collect(), accepted: opened.accepted, detail }
}

/// What it means that a computation stopped; `None` if it is to be tried again.
pub fn read_stop(stopped: &Stopped) -> Option<Computed> {
    let outcome = match stopped {
        Stopped::TooFew { .. } => Outcome::TooFew,
        Stopped::Cheated(_) => Outcome::Cheated,
        Stopped::Aborted { .. } | Stopped::Spent { .. } => Outcome::Failed,
        Stopped::Journal(_) => return None,
    };
    Some(Computed::Nothing(outcome, stopped.to_string()))
}

impl Computed {
    /// The conclusion, given the digest of the board's last entry.
    pub fn conclude(self, epoch: EpochId, previous: Digest) -> Conclusion {
        let number = epoch.number;
        match self {
            Computed::Messages { messages, accepted, detail } => Conclusion {
                entry: Some(Entry { epoch, previous, accepted, messages }),
                last: LastEpoch { number, outcome: Outcome::Published, detail },
            },
            Computed::Nothing(outcome, detail) => {
                Conclusion { entry: None, last: LastEpoch { number, outcome, detail } }
            }
        }
    }
}

/// What the verdicts so far amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tally {
    /// Not enough agree.
    Open,
    /// The entry with this digest is published, with these signatures.
    Publish(Digest, Vec<(PartyId, Signature)>),
    /// Nothing is published.
    Nothing,
}

/// Counts verdicts; `None` where one is missing. A signature that is not the server's counts as a
/// refusal. `trust` is the engine's.
pub fn tally(verdicts: &ByParty<Option<Verdict>>, servers: &Servers, trust: &Trust) -> Tally {
    let mut refusals = 0;
    let mut votes: Vec<(Digest, Vec<(PartyId, Signature)>)> = Vec::new();
    for (id, verdict) in verdicts.iter() {
        match verdict {
            None => {}
            Some(Verdict::Publish(digest, signature))
                if servers
                    .keys
                    .get(id.index())
                    .is_some_and(|key| key.verifies(digest, signature)) =>
            {
                match votes.iter_mut().find(|(voted, _)| voted == digest) {
                    Some((_, signatures)) => signatures.push((id, *signature)),
                    None => votes.push((*digest, vec![(id, *signature)])),
                }
            }
            Some(_) => refusals += 1,
        }
    }
    if let Some((digest, signatures)) =
        votes.into_iter().find(|(_, signatures)| signatures.len() >= trusts::publish(trust))
    {
        return Tally::Publish(digest, signatures);
    }
    if refusals >= trusts::refuse(trust) { Tally::Nothing } else { Tally::Open }
}

#[cfg(test)]
mod tests;

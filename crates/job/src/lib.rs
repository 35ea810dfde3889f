//! The interface of jobs: what the servers of a deployment agree on besides rooms, each a crate of
//! its own that the node names in one line.
//!
//! A job is a [`State`], the same on all servers, that their *words* change. A word is about a
//! *subject*, whatever the job calls so. The node carries words in the servers' logs of
//! announcements, keeps them on disk, and plays them to an empty state when it starts; the job says
//! which are valid, what they change, where they are filed ([`Filed`]), what is to be done then
//! ([`Deed`]), and what a server says by itself ([`State::due`]). What a server does beside that,
//! and what it answers, is its job's [`Driver`], which knows the server by its [`Port`] alone:
//! the clock, randomness, the disk, the other servers. `CONTRIBUTING.md`, *Adding a job*, goes
//! through it.
//!
//! **Servers are upgraded one after another**, and words of a job that only some know by then are
//! no fault: who does not know it keeps them as they are, and judges them, in the order of their
//! delivery, when it starts with the job. Of each server so many bytes are kept
//! ([`MOST_UNJUDGED`]); then its announcements are not delivered until the job is there, so servers
//! that do the same jobs are never in different states.
//!
//! **The order of concurrent words must not matter.** Words of one server come in its order
//! everywhere, and each after all that its author had heard of ([`Said::after`]); beyond that every
//! server hears them in an order of its own. So let words only add, or let one server say those
//! whose order counts ([`SCHEDULER`]); and let what is valid depend on nothing that a concurrent
//! word changes.

mod kept;
mod port;

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use ostrakon_party::{PartyId, Servers};
use ostrakon_protocol::ServiceError;

pub use kept::{Condition, Failed, Filed, Item, ItemName, OnDisk, Storage, Write};
pub use port::{Creator, Driver, Gauge, Holds, Idle, Letter, Port};

/// What words are about, within a job.
pub type Subject = [u8; 16];

/// Bytes of the longest word.
pub const LONGEST_WORD: usize = 60 << 10;
/// Bytes of one server's words of jobs that this server does not know, at most.
pub const MOST_UNJUDGED: usize = 64 << 20;
/// The server that puts into one order what needs one.
pub const SCHEDULER: PartyId = PartyId(0);

/// Something that no honest server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub &'static str);

/// By whom a word is said, and when.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The server.
    pub author: PartyId,
    /// The number of its announcement.
    pub number: u64,
    /// For each server, how many of its announcements the author had heard of.
    pub after: &'a [u64],
}

/// What every server is to do because of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// What it is about.
    pub subject: Subject,
    /// What is to be done, as the job writes it.
    pub what: Vec<u8>,
}

/// A job. One line in the node's `EngineProvider::jobs` makes a deployment have it.
pub trait Job: Send + Sync + 'static {
    /// Its number in announcements and on disk, which no other job of the deployment has.
    fn number(&self) -> u8;

    /// Its name in paths, which no other job has.
    fn name(&self) -> &'static str;

    /// The state before the first word. `known` are the subjects that began at this server
    /// ([`Filed::begins`]): those whose first words are not played now ended with an earlier
    /// generation. A server that has lost its data does not know of them, so they are not the same
    /// on all servers: nothing that [`State::judge`] says may depend on them.
    fn empty(&self, servers: &Servers, known: BTreeSet<Subject>) -> Box<dyn State>;

    /// Whether no honest server says this, whatever was said before: part of [`State::judge`] by
    /// which a third person convicts.
    fn is_never_valid(&self, author: PartyId, subject: &Subject, word: &[u8]) -> bool {
        let _ = (author, subject, word);
        false
    }

    /// What works for it at a server.
    fn driver(&self, port: Arc<dyn Port>) -> Arc<dyn Driver> {
        drop(port);
        Arc::new(Idle)
    }
}

/// What the servers agree on of a job. Pure: no disk, no clock but what is passed in, no
/// randomness. `Clone` and `PartialEq` are all that the node needs of its type.
pub trait State: AnyState + fmt::Debug + Send + Sync {
    /// Whether a word changes anything (any more).
    ///
    /// # Errors
    /// [`Invalid`]: then it changes nothing, on any server, and convicts who said it.
    fn judge(&self, said: &Said<'_>, subject: &Subject, word: &[u8]) -> Result<bool, Invalid>;

    /// How a word that was judged to change something is filed, in the same transaction that marks
    /// it delivered.
    fn filed(&self, author: PartyId, subject: &Subject, word: &[u8]) -> Filed {
        let _ = (author, subject, word);
        Filed::default()
    }

    /// Takes a word that was judged to change something, announcement `number` of its author.
    fn apply(&mut self, by: (PartyId, u64), subject: &Subject, word: &[u8]) -> Vec<Deed>;

    /// Takes a word again that this server had taken before it was started, in the same order: its
    /// disk may have changed it. Of what is to be done because of it, [`State::undone`] says what
    /// was not.
    ///
    /// # Errors
    /// [`Invalid`] if it cannot be what was taken.
    fn replay(
        &mut self,
        by: (PartyId, u64),
        subject: &Subject,
        word: &[u8],
    ) -> Result<(), Invalid> {
        drop(self.apply(by, subject, word));
        Ok(())
    }

    /// What `me` says by itself at this time, in milliseconds since 1970: nothing that it has said.
    /// What is more than the state and the time tell, such as something drawn, the driver says
    /// ([`Port::say`]).
    fn due(&self, me: PartyId, now: u64) -> Option<(Subject, Vec<u8>)> {
        let _ = (me, now);
        None
    }

    /// What `me` was to do when it was stopped and may not have done.
    fn undone(&self, me: PartyId) -> Vec<Deed> {
        let _ = me;
        Vec::new()
    }

    /// The word by which a server says what somebody asks of it over HTTP. It is judged before it
    /// is said: an invalid one is refused (422), and one that changes nothing is not said, but
    /// answered as if it were (201). A signature in it is checked before anything that depends on
    /// who signed. A job that has more to look at than its state, or must know at which server it
    /// is, answers requests by its driver instead, over paths of its own.
    ///
    /// # Errors
    /// What to answer.
    fn request(&self, subject: &Subject, body: &[u8]) -> Result<Vec<u8>, ServiceError> {
        let _ = (subject, body);
        Err(ServiceError::NotFound("this job takes its requests under paths of its own".into()))
    }

    /// What everybody is shown of a subject.
    fn view(&self, subject: &Subject) -> Option<serde_json::Value>;
}

/// What any [`State`] with `Clone` and `PartialEq` has.
pub trait AnyState: Any {
    /// The same once more.
    fn copy(&self) -> Box<dyn State>;

    /// Whether both are the same.
    fn is(&self, other: &dyn State) -> bool;
}

impl<S: State + Clone + PartialEq> AnyState for S {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn is(&self, other: &dyn State) -> bool {
        (other as &dyn Any).downcast_ref::<S>() == Some(self)
    }
}

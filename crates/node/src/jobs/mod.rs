//! Jobs: what the servers of a deployment agree on besides rooms and decisions, each a file of its
//! own that nothing else names.
//!
//! A job is a [`State`], the same on all servers, that their *words* change. A word is about a
//! *subject*, whatever the job calls so. The node carries words in the servers' logs of
//! announcements, keeps them on disk, and plays them to an empty state when it starts; the job says
//! which are valid, what they change, what is to be done then ([`Deed`]), and what a server says by
//! itself ([`State::due`]). `CONTRIBUTING.md`, *Adding a job*, goes through it.
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
//! whose order counts; and let what is valid depend on nothing that a concurrent word changes.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_broadcast::room::Servers;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;

/// What words are about, within a job.
pub type Subject = [u8; 16];

/// Bytes of the longest word.
pub const LONGEST_WORD: usize = 60 << 10;
/// Bytes of one server's words of jobs that this server does not know, at most.
pub const MOST_UNJUDGED: usize = 64 << 20;

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

/// A job. One line in [`crate::EngineProvider::jobs`] makes a deployment have it.
pub trait Job: Send + Sync + 'static {
    /// Its number in announcements and on disk, which no other job of the deployment has.
    fn number(&self) -> u8;

    /// Its name in paths, which no other job has.
    fn name(&self) -> &'static str;

    /// The state before the first word.
    fn empty(&self, servers: &Servers) -> Box<dyn State>;

    /// Whether no honest server says this, whatever was said before: part of [`State::judge`] by
    /// which a third person convicts.
    fn is_never_valid(&self, author: PartyId, subject: &Subject, word: &[u8]) -> bool {
        let _ = (author, subject, word);
        false
    }

    /// Does what a word asks of this server, now or, if it was stopped before, after its next start
    /// ([`State::undone`]).
    fn follow(&self, port: Arc<dyn Port>, deed: Deed) -> BoxFuture<'static, ()> {
        let _ = (port, deed);
        async {}.boxed()
    }
}

/// What a job's deeds may do at their server.
pub trait Port: Send + Sync {
    /// The server.
    fn me(&self) -> PartyId;

    /// Says a word. It is on disk when this returns.
    fn say(&self, subject: Subject, word: Vec<u8>) -> BoxFuture<'_, Result<(), ServiceError>>;
}

/// What the servers agree on of a job. Pure: no disk, no clock but what is passed in, no
/// randomness. `Clone` and `PartialEq` are all that the node needs of its type.
pub trait State: AnyState + fmt::Debug + Send + Sync {
    /// Whether a word changes anything (any more).
    ///
    /// # Errors
    /// [`Invalid`]: then it changes nothing, on any server, and convicts who said it.
    fn judge(&self, said: &Said<'_>, subject: &Subject, word: &[u8]) -> Result<bool, Invalid>;

    /// Takes a word that was judged to change something, announcement `number` of its author.
    fn apply(&mut self, by: (PartyId, u64), subject: &Subject, word: &[u8]) -> Vec<Deed>;

    /// What `me` says by itself at this time, in milliseconds since 1970: nothing that it has said.
    fn due(&self, me: PartyId, now: u64) -> Option<(Subject, Vec<u8>)> {
        let _ = (me, now);
        None
    }

    /// What `me` was to do when it was stopped and may not have done.
    fn undone(&self, me: PartyId) -> Vec<Deed> {
        let _ = me;
        Vec::new()
    }

    /// The word by which a server says what somebody asks of it over HTTP. A signature in it is
    /// checked before anything that depends on who signed.
    ///
    /// # Errors
    /// What to answer.
    fn request(&self, subject: &Subject, body: &[u8]) -> Result<Vec<u8>, ServiceError>;

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

/// A job at work.
struct Running {
    job: Arc<dyn Job>,
    /// Copied before it is changed, if somebody is just asking it something.
    state: Arc<dyn State>,
    /// When a subject was last changed, by the versions of whoever keeps this.
    versions: BTreeMap<Subject, u64>,
}

impl Clone for Running {
    fn clone(&self) -> Self {
        let (job, state) = (Arc::clone(&self.job), Arc::clone(&self.state));
        Self { job, state, versions: self.versions.clone() }
    }
}

/// In which order a server heard of changes is its own.
impl PartialEq for Running {
    fn eq(&self, other: &Self) -> bool {
        self.state.is(&*other.state)
    }
}

impl Eq for Running {}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}

/// A deployment's jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Jobs {
    /// Those that this server does, by number.
    running: BTreeMap<u8, Running>,
    /// Bytes of words of others that are kept, by who said them.
    unjudged: BTreeMap<PartyId, usize>,
}

impl Jobs {
    /// All of them, before the first word.
    pub fn new(jobs: Vec<Arc<dyn Job>>, servers: &Servers) -> Self {
        let mut running = BTreeMap::new();
        for job in jobs {
            let (number, state) = (job.number(), Arc::from(job.empty(servers)));
            let new = Running { job, state, versions: BTreeMap::new() };
            assert!(running.insert(number, new).is_none(), "two jobs with the number {number}");
        }
        Self { running, unjudged: BTreeMap::new() }
    }

    /// The number of the job with this name.
    pub fn number(&self, name: &str) -> Option<u8> {
        let mut known = self.running.iter();
        known.find(|(_, running)| running.job.name() == name).map(|(number, _)| *number)
    }

    /// Whether a word changes anything (any more); `None` if this server does not know the job:
    /// then nobody is to blame for it, and whether it is valid is seen later.
    pub fn judge(
        &self,
        said: &Said<'_>,
        job: u8,
        subject: &Subject,
        word: &[u8],
    ) -> Result<Option<bool>, Invalid> {
        if word.len() > LONGEST_WORD {
            return Err(Invalid("a word of a job is not longer than words are"));
        }
        let running = self.running.get(&job);
        running.map(|running| running.state.judge(said, subject, word)).transpose()
    }

    /// Whether there is room for another word of an author, if this server does not know the job.
    pub fn has_room(&self, author: PartyId, job: u8) -> bool {
        let kept = self.unjudged.get(&author).copied().unwrap_or(0);
        self.running.contains_key(&job) || kept + LONGEST_WORD <= MOST_UNJUDGED
    }

    /// Takes a word that changes something. Nothing is to be done for a job that this server does
    /// not know.
    pub fn apply(
        &mut self,
        job: u8,
        by: (PartyId, u64),
        (subject, word): (&Subject, &[u8]),
        version: u64,
    ) -> Vec<Deed> {
        let Some(running) = self.running.get_mut(&job) else {
            *self.unjudged.entry(by.0).or_default() += word.len();
            return Vec::new();
        };
        running.versions.insert(*subject, version);
        if Arc::get_mut(&mut running.state).is_none() {
            running.state = Arc::from(running.state.copy());
        }
        let state = Arc::get_mut(&mut running.state).expect("nobody else has the copy");
        state.apply(by, subject, word)
    }

    /// What `me` says by itself now, for one of the jobs.
    pub fn due(&self, me: PartyId, now: u64) -> Option<(u8, Subject, Vec<u8>)> {
        self.running.iter().find_map(|(number, running)| {
            let (subject, word) = running.state.due(me, now)?;
            Some((*number, subject, word))
        })
    }

    /// What is to be done after a start.
    pub fn undone(&self, me: PartyId) -> Vec<(u8, Deed)> {
        let of = |(number, running): (&u8, &Running)| {
            let deeds = running.state.undone(me);
            deeds.into_iter().map(|deed| (*number, deed)).collect::<Vec<_>>()
        };
        self.running.iter().flat_map(of).collect()
    }

    pub fn follow(&self, job: u8, port: Arc<dyn Port>, deed: Deed) -> BoxFuture<'static, ()> {
        match self.running.get(&job) {
            Some(running) => running.job.follow(port, deed),
            None => async {}.boxed(),
        }
    }

    /// A job's state as it is now, to be asked for a word ([`State::request`]) while nobody waits
    /// for the answer.
    pub fn state(&self, job: u8) -> Option<Arc<dyn State>> {
        Some(Arc::clone(&self.running.get(&job)?.state))
    }

    /// What is shown of a subject, and when it was last changed.
    pub fn view(&self, job: u8, subject: &Subject) -> Option<(u64, serde_json::Value)> {
        let running = self.running.get(&job)?;
        Some((self.version(job, subject), running.state.view(subject)?))
    }

    /// When a subject was last changed; zero if never.
    pub fn version(&self, job: u8, subject: &Subject) -> u64 {
        let running = self.running.get(&job);
        running.and_then(|running| running.versions.get(subject)).copied().unwrap_or(0)
    }
}

/// Whether no honest server says this word, of a deployment that has these jobs.
pub(crate) fn is_never_valid(
    jobs: &[Arc<dyn Job>],
    author: PartyId,
    (job, subject, word): (u8, &Subject, &[u8]),
) -> bool {
    let breaks = match jobs.iter().find(|known| known.number() == job) {
        Some(job) => job.is_never_valid(author, subject, word),
        // The deployment may do more than who looks at this knows of.
        None => false,
    };
    word.len() > LONGEST_WORD || breaks
}

#[cfg(test)]
pub(crate) mod tests;

//! The jobs of a deployment, whatever they are: what words do to their states ([`ostrakon_job`]).

pub(crate) mod filing;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use ostrakon_job::{Deed, Filed, Invalid, Job, LONGEST_WORD, MOST_UNJUDGED, Said, State, Subject};
use ostrakon_party::{PartyId, Servers};

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
    /// All of them, before the first word; with the subjects of each that began at this server.
    /// They are [`distinct`].
    pub fn new(jobs: Vec<(Arc<dyn Job>, BTreeSet<Subject>)>, servers: &Servers) -> Self {
        let start = |(job, known): (Arc<dyn Job>, BTreeSet<Subject>)| {
            let (number, state) = (job.number(), Arc::from(job.empty(servers, known)));
            (number, Running { job, state, versions: BTreeMap::new() })
        };
        Self { running: jobs.into_iter().map(start).collect(), unjudged: BTreeMap::new() }
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

    /// How a word is filed that changes something.
    pub fn filed(&self, author: PartyId, job: u8, subject: &Subject, word: &[u8]) -> Filed {
        let running = self.running.get(&job);
        running.map(|running| running.state.filed(author, subject, word)).unwrap_or_default()
    }

    /// There is news of a subject, whatever its state is.
    pub fn touch(&mut self, job: u8, subject: &Subject, version: u64) {
        if let Some(running) = self.running.get_mut(&job) {
            running.versions.insert(*subject, version);
        }
    }

    /// All that this server does.
    pub fn all(&self) -> Vec<Arc<dyn Job>> {
        self.running.values().map(|running| Arc::clone(&running.job)).collect()
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
        let state = self.taking(job, by.0, (subject, word), version);
        state.map_or_else(Vec::new, |state| state.apply(by, subject, word))
    }

    /// Takes a word again that was taken before a restart.
    pub fn replay(
        &mut self,
        job: u8,
        by: (PartyId, u64),
        (subject, word): (&Subject, &[u8]),
        version: u64,
    ) -> Result<(), Invalid> {
        let state = self.taking(job, by.0, (subject, word), version);
        state.map_or(Ok(()), |state| state.replay(by, subject, word))
    }

    /// The state that is to take a word; the word is kept if this server does not know its job.
    fn taking(
        &mut self,
        job: u8,
        author: PartyId,
        (subject, word): (&Subject, &[u8]),
        version: u64,
    ) -> Option<&mut dyn State> {
        let Some(running) = self.running.get_mut(&job) else {
            *self.unjudged.entry(author).or_default() += word.len();
            return None;
        };
        running.versions.insert(*subject, version);
        if Arc::get_mut(&mut running.state).is_none() {
            running.state = Arc::from(running.state.copy());
        }
        Some(Arc::get_mut(&mut running.state).expect("nobody else has the copy"))
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

    /// A job's state as it is now, to be asked for a word ([`State::request`]) while nobody waits
    /// for the answer.
    pub fn state(&self, job: u8) -> Option<Arc<dyn State>> {
        Some(Arc::clone(&self.running.get(&job)?.state))
    }

    /// A job's state, to be looked at while nobody changes it.
    pub fn look(&self, job: u8) -> Option<&dyn State> {
        Some(&*self.running.get(&job)?.state)
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

/// Checks that a deployment's jobs can be told from each other: by number in announcements and on
/// disk, by name in paths.
///
/// # Errors
/// Which two cannot, and what to change.
pub(crate) fn distinct(jobs: &[Arc<dyn Job>]) -> Result<(), String> {
    let (mut numbers, mut names) = (BTreeMap::new(), BTreeMap::new());
    for (number, name) in jobs.iter().map(|job| (job.number(), job.name())) {
        if let Some(other) = numbers.insert(number, name) {
            return Err(format!(
                "the jobs {other} and {name} have one number, {number}: give one of them another that no job has had"
            ));
        }
        if let Some(other) = names.insert(name, number) {
            return Err(format!(
                "the jobs {other} and {number} have one name, {name}: give one of them another that no job has had"
            ));
        }
    }
    Ok(())
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

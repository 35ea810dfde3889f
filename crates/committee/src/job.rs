//! What can be computed: a job judges drafts and inputs, and computes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_computation::{Committee, ComputationId, Draft, Input};
use ostrakon_crypto::Secret;
use ostrakon_party::{Instance, Party};
use serde_json::Value;

use crate::marks::Marks;

/// What a job is asked about.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// Which computation.
    pub computation: &'a ComputationId,
    /// Its draft.
    pub draft: &'a Draft,
    /// Who computes it.
    pub committee: &'a Committee,
}

/// An attempt among all that there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptId {
    /// Names it among all of this committee.
    pub number: u64,
    /// Whether it is the first at its computation: no member has begun another one.
    pub first: bool,
}

/// An attempt at a computation (C8), which one thread of its own makes.
pub struct Run<'a> {
    /// What is computed.
    pub about: About<'a>,
    /// This member, in the attempt's session.
    pub party: Party,
    /// Which attempt it is.
    pub attempt: AttemptId,
    /// The sealed inputs, in the seal's order; each has passed [`Job::check`].
    pub inputs: Vec<Input>,
    /// The computation's journal.
    pub marks: Marks,
    /// 32 random bytes: fresh, or those of the same attempt before a restart.
    pub randomness: Secret,
    /// Is told how far it is.
    pub progress: Tell,
}

/// Takes how far an attempt is: the stage, how many parts of it are done, and of how many.
pub type Tell = Arc<dyn Fn(&str, u32, u32) + Send + Sync>;

/// Why an attempt brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Another attempt, by another session, may succeed.
    Again(String),
    /// The same attempt may go on, begun again from what is on disk; for jobs that
    /// [repeat](Job::repeats).
    Later(String),
    /// None can; the computation stops with this reason, for people.
    Final(String),
}

/// For how much longer sealed inputs are of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// So many more questions.
    pub questions: u32,
    /// That begin within so many seconds.
    pub seconds: u64,
}

/// What an answer tells of any one contributor at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// It tells nothing of anybody.
    None,
    /// It is exact, or has noise that hides less than what one of them contributes.
    Exact,
    /// So many thousandths of ε.
    Epsilon(u64),
}

/// Something that a committee computes.
pub trait Job: Send + Sync {
    /// The name in drafts.
    fn name(&self) -> &'static str;

    /// Whether this can be computed.
    ///
    /// # Errors
    /// Why not, for people.
    fn judge(&self, draft: &Draft, committee: &Committee) -> Result<(), String>;

    /// Bytes of the longest body of an input.
    fn body_bytes(&self, draft: &Draft) -> usize;

    /// Whether every body is as long as the longest.
    fn has_one_length(&self) -> bool {
        false
    }

    /// How many inputs one member takes at most: more could not be computed on.
    fn most_inputs(&self, draft: &Draft) -> usize;

    /// Whether an input is sound, as everybody can tell: all members find the same.
    ///
    /// # Errors
    /// Why not, for people.
    fn check(&self, about: About<'_>, input: &Input) -> Result<(), String>;

    /// Computes; blocks until it has come out, which may be never if another member is silent. It
    /// is given up by dropping what [`futures::executor::block_on`] waits for, so it must not block
    /// otherwise.
    fn compute<'a>(
        &'a self,
        run: Run<'a>,
    ) -> futures::future::LocalBoxFuture<'a, Result<Vec<u8>, Ended>>;

    /// How long, and for how many more questions of its creator, sealed inputs are kept (C14). None
    /// if they are computed on once.
    fn keeps(&self, _draft: &Draft) -> Option<Keeping> {
        None
    }

    /// Whether a draft can be computed on the inputs that were sealed for another one, so many.
    ///
    /// # Errors
    /// Why not, for people.
    fn again(&self, _earlier: &Draft, _draft: &Draft, _inputs: usize) -> Result<(), String> {
        Err("what is handed in for this is computed on once: ask everybody anew".into())
    }

    /// What the answer costs whoever contributes, of the budget that a member may keep for each.
    fn price(&self, draft: &Draft) -> Price;

    /// Bytes of memory that an attempt on so many inputs takes.
    fn memory(&self, draft: &Draft, inputs: usize) -> u64;

    /// The name of the mark that an attempt makes in the computation's journal before it opens
    /// anything that was asked for. If another value stands there it opens nothing (C13).
    fn opening(&self) -> Vec<u8>;

    /// Whether an attempt is a function of its randomness, its journal and the messages that it
    /// receives, so that a member that was killed goes on with it, begun again with the same
    /// randomness and against the same messages (C8). Else it begins another attempt.
    fn repeats(&self) -> bool {
        false
    }

    /// What is sent and kept under an attempt on so many inputs, to be forgotten when it is over.
    fn instances(&self, about: About<'_>, inputs: usize, attempt: AttemptId) -> Vec<Instance>;

    /// What contributors need of this member before they can make an input, for their programs;
    /// null if nothing. Where there is something whoever asks could like one better than another.
    fn part(&self, _about: About<'_>) -> Value {
        Value::Null
    }

    /// A draft's parameters, for people and programs.
    fn describe(&self, draft: &Draft) -> Value;

    /// A result, for people and programs.
    fn render(&self, draft: &Draft, result: &[u8]) -> Value;
}

/// The jobs that a member knows, by name.
#[derive(Clone, Default)]
pub struct Jobs(BTreeMap<&'static str, Arc<dyn Job>>);

impl Jobs {
    /// Adds a job.
    ///
    /// # Panics
    /// If there is one of that name already: which jobs a program knows is written in it.
    #[must_use]
    pub fn with(mut self, job: impl Job + 'static) -> Self {
        let name = job.name();
        let before = self.0.insert(name, Arc::new(job));
        assert!(before.is_none(), "two jobs have one name, {name}: give one of them another");
        self
    }

    /// The job of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Job>> {
        self.0.get(name)
    }

    /// All names.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }
}

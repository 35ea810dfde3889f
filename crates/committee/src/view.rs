//! What is shown of a computation.

use ostrakon_computation::{ComputationId, Equivocation, SignedDraft};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How far a computation is, as one member sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Phase {
    /// Inputs are taken.
    Collecting,
    /// No more are taken; the members agree on the list.
    Sealing,
    /// The members compute.
    Computing,
    /// The result is there, signed by all.
    Done,
    /// Inputs were missing, and nothing was computed; signed by all.
    TooFew {
        /// How many more the minimum needs.
        missing: u32,
    },
    /// Its creator has cancelled it: nothing comes out, and what was handed in is erased.
    Cancelled {
        /// The numbers of the members that had begun to open what was asked for, by their own word.
        opened: Vec<usize>,
    },
    /// It has stopped without a result.
    Stopped {
        /// The reason, for people.
        why: String,
    },
}

/// How far the computing is at a member, in the job's words. It tells nothing but public sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What it does.
    pub stage: String,
    /// How many parts of it are done.
    pub done: u32,
    /// Of how many; 0 if it has no parts.
    pub of: u32,
    /// Bytes that this member has sent to the others in the attempt, headers not counted.
    pub sent: u64,
}

/// What a member has shown so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// Its name.
    pub name: String,
    /// Whether it has closed.
    pub closed: bool,
    /// Whether it has signed a list.
    pub sealed: bool,
    /// How often it has begun to compute.
    pub generation: u32,
    /// Whether it has signed a result.
    pub signed: bool,
    /// Why it has stopped, in its own words.
    pub stopped: Option<String>,
}

/// A computation, as one member sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its name.
    pub id: ComputationId,
    /// What is asked.
    pub draft: SignedDraft,
    /// The parameters, in the job's words.
    pub asked: Value,
    /// What contributors need of this member before they can make an input; null if nothing.
    #[serde(default)]
    pub part: Value,
    /// How far it is.
    pub phase: Phase,
    /// How far the computing is, while this member computes.
    pub progress: Option<Progress>,
    /// How many inputs this member holds; of the seal once there is one.
    pub inputs: u64,
    /// The members, in order.
    pub members: Vec<MemberView>,
    /// Members that contradict themselves, with their signatures.
    pub equivocations: Vec<Equivocation>,
}

//! Computations by a committee of servers: the documents, and the rules that need no server
//! (`docs/spec/committee.md`).
//!
//! A creator drafts what is computed ([`Draft`]); contributors hand in one input each ([`Input`]);
//! members say what they hold, seal one list and sign one result ([`Statement`], [`Seal`]); readers
//! verify all of it offline ([`Archive`]). What is computed, and how nobody learns an input, are
//! matters of jobs that these documents only name.

mod archive;
mod committee;
mod draft;
pub mod election;
mod heard;
mod input;
mod link;
mod seal;
mod statement;

pub use archive::{Archive, Conclusion, SealedBy, Unverified};
pub use committee::{Card, Committee, MEMBERS, NotACommittee, ShareKey};
pub use draft::{
    BadDraft, CONTRIBUTORS, Cancellation, ComputationId, Contributors, Draft, Order,
    PARAMETER_BYTES, Parameters, SignedDraft,
};
pub use heard::Heard;
pub use input::{Announced, Entry, Input, body_digest};
pub use link::{InvalidLink, Link};
pub use seal::{Conflict, Founded, Incomplete, Seal};
pub use statement::{Equivocation, Said, Spent, Statement, Told};

/// Longest name of a member or a committee in bytes of UTF-8.
pub const NAME_BYTES: usize = 60;
/// Longest title of a computation in bytes of UTF-8.
pub const TITLE_BYTES: usize = 200;
/// Most generations of one member in one computation (C8).
pub const GENERATIONS: u32 = 16;

/// Whether a text that people are shown is one line of at most so many bytes, and says something.
fn is_label(text: &str, limit: usize) -> bool {
    let plain = |c: char| !c.is_control();
    (1..=limit).contains(&text.len()) && text.trim() == text && text.chars().all(plain)
}

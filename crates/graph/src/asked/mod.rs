//! Graphs as a committee's computation: how the documents of `docs/spec/committee.md` hold what is
//! asked, a contribution and a result (`docs/spec/graph.md`, sections 11 to 14). Builds for
//! WebAssembly without the feature `server`.

mod contribution;
mod noise;
mod program;
mod reader;
mod result;
mod terms;

use ostrakon_computation::{Archive, Card, Committee, Conclusion};
use ostrakon_party::wire;

pub use contribution::{BadContribution, BadList, Contribution, SEEDS, make};
pub use noise::{EPSILON, Noise};
pub use program::{Program, Shown};
pub use reader::{Closed, ReaderKey, SealedSeeds, Unmasked, Unreadable, mask, reader};
#[cfg(feature = "server")]
pub(crate) use result::top_of;
pub use result::{GraphResult, Values};
pub use terms::{
    BadTerms, HOPS, Keep, LENGTHS, MOST_EDGES, MOST_SHOWN, MOST_VERTICES, MOST_WORDS, Naming,
    Terms, parameters, terms,
};

/// The job's name in drafts.
pub const JOB: &str = "graph";
/// Servers of a committee that computes on graphs.
pub const SERVERS: usize = 3;

/// Why a computation is none on graphs, or not for this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGraphs {
    /// Another job.
    #[error("this does not ask for a graph but for \"{0}\"")]
    Job(String),
    /// Parameters or a result that this program does not read.
    #[error("this is of another version of the program")]
    Version,
    /// The parameters.
    #[error(transparent)]
    Terms(#[from] BadTerms),
    /// The committee.
    #[error("graphs are computed by committees of exactly three servers, and this one has {0}")]
    Servers(usize),
}

/// The three members' keys for seeds.
///
/// # Errors
/// [`NotGraphs`].
pub fn members(committee: &Committee) -> Result<[[u8; 32]; SERVERS], NotGraphs> {
    let count = committee.members.len();
    let members: &[Card; SERVERS] =
        committee.members[..].try_into().map_err(|_| NotGraphs::Servers(count))?;
    Ok(members.each_ref().map(|card| card.share_key.for_seeds()))
}

/// The result in an archive; none if too few had contributed.
///
/// # Errors
/// [`NotGraphs`].
pub fn result(archive: &Archive) -> Result<Option<GraphResult>, NotGraphs> {
    match &archive.conclusion {
        Conclusion::TooFew { .. } => Ok(None),
        Conclusion::Reached(result) => {
            wire::decode(&result.0).map(Some).map_err(|_| NotGraphs::Version)
        }
    }
}

//! Private decisions at the three servers: the job ([`PrivateDecisions`]) that `ostrakon_decide` is
//! the rules, the devices' part and the mathematics of. `docs/spec/decide.md` is the specification;
//! its steps are named here.
//!
//! From the bottom up; a module uses those above it in this list only:
//!
//! * `keep`: what a server keeps for itself: shares of one-time keys, layers, stocks, join links,
//!   how much was mailed. `limits` is what it keeps in memory.
//! * `word`: what servers say, and how that is filed.
//! * `state`: what the servers agree on, and pure. A decision's chain comes from the scheduler's
//!   log alone.
//! * `server`: [`DecisionServer`], one server's part: `records` gets records into their chains,
//!   `holding` holds them for others, `course` is what servers do by themselves, which `driver`
//!   sets in motion; `requests`, `gathering` and `mail` answer people.
//!
//! A server is known by its [`ostrakon_job::Port`] alone: no sockets, no database, no clock.

mod course;
mod driver;
mod gathering;
mod holding;
mod keep;
mod limits;
mod mail;
mod records;
mod requests;
mod server;
mod state;
mod word;

use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_decide::DecisionId;
use ostrakon_job::{Driver, Job, Port, State, Subject};
use ostrakon_party::{PartyId, Servers};

pub use keep::{DRAFTS, LAYERS, OPENS, SHARES};
pub use server::DecisionServer;
pub use word::{OPENINGS, RECORDS, Word};

/// The job's number in announcements and on disk.
pub const NUMBER: u8 = 2;

/// Private decisions, as a job of a deployment.
pub struct PrivateDecisions;

impl Job for PrivateDecisions {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn name(&self) -> &'static str {
        "decisions"
    }

    fn empty(&self, servers: &Servers, known: BTreeSet<Subject>) -> Box<dyn State> {
        let ended = known.into_iter().map(DecisionId).collect();
        Box::new(state::Decisions::new(servers, ended))
    }

    fn is_never_valid(&self, author: PartyId, subject: &Subject, word: &[u8]) -> bool {
        word::is_never_valid(author, &DecisionId(*subject), word)
    }

    fn driver(&self, port: Arc<dyn Port>) -> Arc<dyn Driver> {
        Arc::new(DecisionServer::new(port))
    }
}

//! What engines for three servers, one of them malicious, have in common, whatever they compute.
//!
//! * [`pair`]: the three pairs of servers.
//! * [`run`]: one party's view of a run: messages by step under a protocol's rules
//!   ([`protocol`]), authenticated broadcast, a second source for what two servers hold.
//! * [`offence`]: what a third person can see to be wrong in a message of any protocol, and
//!   [`evidence`], how.
//! * [`commitment`], [`coin`]: commit, then open; joint coins.
//! * [`setup`]: pairwise keys and a session without a dealer.
//! * [`seal`]: agreement on the participants' submissions.
//! * [`cost`]: what exchanges cost in bytes.
//! * [`marks`]: what a server must have on record before it sends what follows from it.
//!
//! The steps are specified where they are used: `docs/spec/ruffle.md` sections 3 to 5 and 7,
//! `docs/spec/clarion.md`. Without the feature `server` there is only [`pair`].

pub mod pair;

#[cfg(feature = "server")]
pub mod coin;
#[cfg(feature = "server")]
pub mod commitment;
#[cfg(feature = "server")]
pub mod cost;
#[cfg(feature = "server")]
pub mod evidence;
#[cfg(feature = "server")]
pub mod marks;
#[cfg(feature = "server")]
pub mod offence;
#[cfg(feature = "server")]
pub mod protocol;
#[cfg(feature = "server")]
pub mod run;
#[cfg(feature = "server")]
pub mod seal;
#[cfg(feature = "server")]
pub mod setup;
#[cfg(feature = "server")]
pub mod stop;

#[cfg(feature = "server")]
pub use marks::Marks;
#[cfg(feature = "server")]
pub use offence::{Offence, Statement};
#[cfg(feature = "server")]
pub use protocol::Protocol;
#[cfg(feature = "server")]
pub use run::Run;
#[cfg(feature = "server")]
pub use stop::{Stop, Unheard};

//! Test kit: worlds of parties in one process, and the adversary that corrupts one of them.
//!
//! * [`World`]: all parties, deterministic from a printed seed, single-threaded, without a clock. A
//!   run ends when everybody is done or when nothing moves any more; a party that has no result
//!   then is *waiting*.
//! * [`Network`]: the parties' channels in memory. It keeps every message that was posted; its
//!   links may have latency and bandwidth.
//! * [`nightly`]: whether a test tries everything or a part.
//! * [`free_ports`]: where servers of tests listen.
//! * [`Draw`]: choices from a seed, for worlds of other shapes.
//! * [`Saboteur`]: changes, drops, repeats, delays or replaces the corrupt party's messages, and
//!   signs them again.
//!
//! A *sabotage sweep* runs a protocol once to count the corrupt party's messages, then once for
//! each message and each [`Mutation`] ([`Script`] lists them as [`Case`]s), and asserts what the
//! protocol promises. Dealers and fixed randomness live here and nowhere else.

mod draw;
mod network;
mod night;
mod ports;
mod saboteur;
mod sweep;
mod wake;
mod world;

pub use draw::Draw;
pub use network::{Network, Wire};
pub use night::nightly;
pub use ports::free_ports;
pub use saboteur::{Mutation, Saboteur, Target};
pub use sweep::{Case, Script};
pub use world::World;

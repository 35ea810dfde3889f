//! Tests that know the inside: worlds in one process, attacks, forgeries, exact distributions,
//! vectors, wire forms.

mod attacks;
mod exhaustive;
mod finish;
mod forgery;
mod hybrid;
mod unsound;
mod vectors;
mod wire;
mod world;

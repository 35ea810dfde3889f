//! Finite fields.
//!
//! So far one: GF(2^64), in which the engines check shuffles and tag rows. Bulk work on tables of words belongs to
//! [`ostrakon_kernels::gf64`]; the types here are for the few elements of a check's verdict.

mod gf64;

pub use gf64::Gf64;

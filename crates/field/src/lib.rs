//! Finite fields and what is computed with polynomials over them.
//!
//! * [`Gf64`]: GF(2^64), in which engines on bits check shuffles and tag rows. Bulk work on tables
//!   of words belongs to [`ostrakon_kernels::gf64`].
//! * [`Fp61`]: the prime field of order 2^61 − 1, in which counts are added. [`WordField`] is what
//!   it has in common with [`Gf64`]: elements of one word, in tables of bytes.
//! * [`Fp`]: the prime field of p = 2^64 − 2^32 + 1 ("Goldilocks"), in which values are shared by
//!   polynomials; [`Fp2`], its quadratic extension, in which statistical checks take place because
//!   2^64 is too few for them.
//! * [`ntt`], [`poly`]: number-theoretic transforms and polynomials over [`Fp`].

mod element;
mod fp61;
mod gf64;
mod goldilocks;
mod goldilocks2;
pub mod ntt;
pub mod poly;
mod word;

pub use element::{Field, batch_inverse};
pub use fp61::{Fp61, P61};
pub use gf64::Gf64;
pub use goldilocks::{Accumulator, Fp, NotCanonical, dot};
pub use goldilocks2::Fp2;
pub use word::{ELEMENT_BYTES, WordField, element, elements, to_table, words};

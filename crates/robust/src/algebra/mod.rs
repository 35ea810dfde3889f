//! Polynomials and vectors over the field.

pub mod interpolation;
pub mod vectors;

//! Statistics against what they are by definition, and whole committees that compute them.

mod circuits;
mod committee;
mod noise;
mod own;
mod segments;

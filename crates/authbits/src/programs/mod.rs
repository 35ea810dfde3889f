//! Programs: statistics as circuits.

pub mod arithmetic;
pub mod noise;
pub mod select;
pub mod sketch;

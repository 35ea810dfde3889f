//! Programs that spend checked material on what participants have sealed (spec 11 to 13).

pub mod butterfly;
pub mod powermix;
pub mod shuffle;
pub mod sum;

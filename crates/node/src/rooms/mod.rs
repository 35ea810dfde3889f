//! What hosts and participants ask of a running server about rooms.

mod creation;
pub(crate) mod hosting;
pub(crate) mod requests;
pub(crate) mod taking_part;

//! What a creator wants decided, and by whom (`docs/spec/visitor.md`, V8): what is wrong with a
//! wish, the draft that comes of it, and what people of one name are called.

mod names;
mod wish;

pub(crate) use names::normalised;
pub use names::{Bearer, called, look, told_apart};
pub use wish::{Around, Drafted, Guest, Wish};

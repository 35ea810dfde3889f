//! From a link, or one server's address, to the servers and to the room (`docs/spec/arriving.md`):
//! who is asked for what, what of it is believed, and when that is enough.

mod doors;
mod machine;
mod news;

pub use machine::Arriving;
pub use news::{
    Arrived, ArrivedRoom, ArrivingAction, ArrivingFailure, ArrivingNews, Destination, Documents,
};

//! The page as a set of files that can be checked: whoever built it signs the list of its files;
//! whoever uses it compares what the operators serve.
//!
//! What this shows, and what not: a server can send one person another page than it sends this
//! program. So the check is worth most when many make it, from many places, unannounced, and when
//! the page is installed as an app, whose files then stay.

mod manifest;
pub mod sign;
pub mod verify;

//! A participant's device against servers that the test plays, in virtual time.

mod epochs;
mod homes;
mod script;
mod trace;
mod world;

//! What words of jobs leave on disk, and what a server keeps of jobs beside them.

pub(crate) mod items;
pub(crate) mod words;

//! Bodies that may have to be erased, each on pages of its own.
//!
//! SQLite overwrites what is deleted or replaced (`secure_delete`). But when a page is full it
//! moves rows to another page, and copies of them stay behind in the space that becomes free, which
//! no later deletion reaches. Of a long value only the beginning is in the row. The rest is on
//! overflow pages: these belong to one value, are never copied, and are overwritten when they are
//! freed. So a lead of zeros fills the part in the row, and all of the body comes after it.
//!
//! PostgreSQL has the lead too, for one set of queries; there it is compressed away.

use crate::Error;

/// At least as many bytes as SQLite keeps of a value in a row, with pages of 4096 bytes.
const LEAD: usize = 4096;

/// A body as it is stored.
pub(crate) fn erasable(body: &[u8]) -> Vec<u8> {
    [&[0; LEAD], body].concat()
}

/// The body in what is stored.
pub(crate) fn body_of(mut stored: Vec<u8>, column: &'static str) -> Result<Vec<u8>, Error> {
    if stored.len() < LEAD {
        return Err(Error::Corrupt(column));
    }
    drop(stored.drain(..LEAD));
    Ok(stored)
}

//! One question: how many values there are, and the output for each composition of all visitors'
//! values.

use crate::composition;
use crate::fault::SessionError;
use crate::params::{MAX_ENTRIES, table_entries};

/// A symmetric function of the visitors' values, as its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ballot {
    values: u16,
    visitors: usize,
    outputs: Vec<u32>,
}

impl Ballot {
    /// A function over `values` values of `visitors` visitors by its outputs, in the order of
    /// [`composition::all`]. With two values `outputs[j]` is the output for j ones.
    ///
    /// # Errors
    /// If there are fewer than two values, too many entries, or not one output for each.
    pub fn new(values: u16, visitors: usize, outputs: Vec<u32>) -> Result<Self, SessionError> {
        let expected = entries(values, visitors)?;
        if outputs.len() != expected {
            return Err(SessionError::TableLength { ballot: 0, expected, found: outputs.len() });
        }
        Ok(Self { values, visitors, outputs })
    }

    /// The table of a function of the numbers of visitors with each value.
    ///
    /// # Errors
    /// If there are fewer than two values, or too many entries.
    pub fn from_function(
        values: u16,
        visitors: usize,
        f: impl FnMut(&[u16]) -> u32,
    ) -> Result<Self, SessionError> {
        entries(values, visitors)?;
        // The entries are within their limit, so the visitors are, too.
        let total = u16::try_from(visitors).map_err(|_| too_many(visitors as u64))?;
        let outputs = composition::all(values, total).iter().map(Vec::as_slice).map(f).collect();
        Ok(Self { values, visitors, outputs })
    }

    /// The number c of values.
    #[must_use]
    pub fn values(&self) -> u16 {
        self.values
    }

    /// The number n of visitors for which the table is made.
    #[must_use]
    pub fn visitors(&self) -> usize {
        self.visitors
    }

    /// One output for each composition.
    #[must_use]
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }
}

fn too_many(entries: u64) -> SessionError {
    SessionError::TooManyEntries { entries }
}

/// The number of entries, if it is within the limit.
fn entries(values: u16, visitors: usize) -> Result<usize, SessionError> {
    if values < 2 {
        return Err(SessionError::Values(values));
    }
    match table_entries(visitors, values) {
        Some(entries) if entries <= MAX_ENTRIES => Ok(entries),
        Some(entries) => Err(too_many(entries as u64)),
        None => Err(too_many(u64::from(u32::MAX))),
    }
}

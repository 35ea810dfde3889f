//! Whose layer of encryption is on a table.

use std::fmt;

/// A visitor or operator, as the owner of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// By the place in the roster.
    Visitor(usize),
    /// By the place among the operators.
    Operator(usize),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Visitor(place) => write!(f, "visitor {place}"),
            Self::Operator(place) => write!(f, "operator {place}"),
        }
    }
}

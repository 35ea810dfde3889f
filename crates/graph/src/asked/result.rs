//! What came out, as members sign it.

use std::collections::BTreeMap;

use ostrakon_crypto::VerifyingKey;
use serde::{Deserialize, Serialize};

/// The values that are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Of each vertex, in their order; none where there is none to show.
    Vertices(Vec<Option<u64>>),
    /// How many vertices have which value, in the values' order; those without one first.
    Counts(Vec<(Option<u64>, u64)>),
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphResult {
    /// How many owners' lists it is of.
    pub accepted: u64,
    /// Whose lists were left out, since they were no graphs.
    pub excluded: Vec<VerifyingKey>,
    /// What is shown.
    pub values: Values,
}

impl Values {
    /// How many vertices have which value.
    pub fn counts(&self) -> Vec<(Option<u64>, u64)> {
        match self {
            Values::Counts(counts) => counts.clone(),
            Values::Vertices(values) => {
                let mut counts = BTreeMap::<Option<u64>, u64>::new();
                values.iter().for_each(|value| *counts.entry(*value).or_default() += 1);
                counts.into_iter().collect()
            }
        }
    }
}

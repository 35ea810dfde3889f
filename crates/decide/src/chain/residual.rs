//! What those who come later could learn: no protocol in which everybody comes once can prevent it
//! (spec, guarantee 1).

use ostrakon_onepass::params::table_entries;
use serde::{Deserialize, Serialize};

use crate::chain::Chain;

/// What whoever conspires with all three servers and with everybody who comes after a person could
/// learn of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residual {
    /// How many have answered before the person.
    pub before: usize,
    /// Who is still to come after the person, by their places in the draft. If nobody, only the
    /// result is left.
    pub after: Vec<u16>,
    /// For each ballot, how many results they could look at: one for each way in which those who
    /// come after could answer.
    pub results: Vec<usize>,
    /// Whether the three servers together could even open every single answer: they hold shares of
    /// everybody's keys.
    pub everything: bool,
}

/// What could be learned of a person, by its place in the draft, if it answers now, or has answered
/// where the chain says.
pub fn residual(chain: &Chain, person: u16) -> Residual {
    let place = chain.people().get(usize::from(person)).and_then(|standing| standing.answered());
    let comes_after = |step: Option<u32>| match (place, step) {
        (Some(own), Some(other)) => other > own,
        (_, other) => other.is_none(),
    };
    let others = || chain.asked().filter(|(other, _)| *other != person);
    let after: Vec<u16> = others()
        .filter(|(_, other)| comes_after(other.answered()))
        .map(|(other, _)| other)
        .collect();
    let entries = |options: usize| {
        table_entries(after.len(), u16::try_from(options).unwrap_or(u16::MAX)).unwrap_or(0)
    };
    Residual {
        before: others().count() - after.len(),
        results: chain.draft().ballots.iter().map(|ballot| entries(ballot.options.len())).collect(),
        after,
        everything: chain.draft().threshold != 0,
    }
}

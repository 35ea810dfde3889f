//! What a creator and everybody who is asked should know of a draft before they answer: that its
//! result can tell more than it seems to.

use serde::{Deserialize, Serialize};

use crate::draft::function::{Function, Meaning};
use crate::draft::{Ballot, Draft};

/// A way in which a result tells single answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Warning {
    /// Of two people each can often tell the other's answer by the result and its own.
    TwoPeople,
    /// A ballot has a result that comes out only if exactly one person takes some option: whoever
    /// conspires to leave one answer open finds it.
    LoneAnswer {
        /// The ballot, from 0.
        ballot: usize,
    },
}

/// What is to be warned of if so many people take part.
pub fn warnings(draft: &Draft, people: usize) -> Vec<Warning> {
    let lone = |ballot: &Ballot| finds_a_lone_answer(ballot, people);
    let ballots = (0..).zip(&draft.ballots).filter(|(_, ballot)| lone(ballot));
    let two = (people == 2).then_some(Warning::TwoPeople);
    two.into_iter().chain(ballots.map(|(ballot, _)| Warning::LoneAnswer { ballot })).collect()
}

/// Whether some output comes out only where exactly one person takes some option. A full count is
/// left out: everybody sees that it tells how many took each option.
fn finds_a_lone_answer(ballot: &Ballot, people: usize) -> bool {
    let options = ballot.options.len();
    let possible = ballot.function.objection(people, options).is_none();
    if ballot.function == Function::Tally || !possible {
        return false;
    }
    let outputs = ballot.function.table(people, options);
    let counts = |output: &u32| match Function::Tally.meaning(people, options, *output) {
        Some(Meaning::Counts(counts)) => counts,
        _ => Vec::new(),
    };
    let compositions: Vec<_> = Function::Tally.table(people, options).iter().map(counts).collect();
    let alone = |option: usize, output: u32| {
        let mut same = outputs.iter().zip(&compositions).filter(|(other, _)| **other == output);
        same.all(|(_, counts)| counts.get(option) == Some(&1))
    };
    outputs.iter().any(|output| (0..options).any(|option| alone(option, *output)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warns(function: Function, people: usize, options: usize) -> bool {
        let options = (0..options).map(|i| i.to_string()).collect();
        finds_a_lone_answer(&Ballot { label: String::new(), options, function, assumed: 0 }, people)
    }

    #[test]
    fn tables_that_find_a_lone_answer_are_told() {
        let table = |outputs: &[u8]| Function::Custom { outputs: outputs.to_vec() };
        assert!(warns(table(&[0, 1, 0, 0, 0]), 4, 2), "just one took option 1");
        assert!(warns(table(&[0, 0, 0, 2, 0]), 4, 2), "just one took option 0");
        assert!(warns(table(&[9, 1, 2, 3, 4]), 4, 2), "a full count in disguise");
        assert!(!warns(table(&[0, 0, 1, 1, 1]), 4, 2));
        assert!(!warns(table(&[0; 5]), 4, 2));
        assert!(warns(Function::Parity, 2, 2) && !warns(Function::Parity, 3, 2));
        for function in [Function::Majority, Function::Veto, Function::Unanimous, Function::Tally] {
            assert!(!warns(function.clone(), 5, 2), "{function:?}");
        }
        // Of three options, by two people: 2 0 0, 1 1 0, …; one output for each composition.
        assert!(warns(table(&[0, 1, 2, 3, 4, 5]), 2, 3));
        assert!(!warns(table(&[0; 6]), 2, 3));
    }
}

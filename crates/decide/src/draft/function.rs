//! The functions that a ballot can have: symmetric in the people, so that only the numbers of
//! answers count.

use ostrakon_onepass::composition;
use ostrakon_onepass::params::{MAX_ENTRIES, table_entries};
use serde::{Deserialize, Serialize};

use super::flaw::{Flaw, InvalidDraft};

/// What happens if several options were picked most often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// The first of them in the ballot's order wins.
    First,
    /// None wins.
    None,
}

/// What is computed of the answers. Options are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Function {
    /// Whether more than half picked option 1 of two.
    Majority,
    /// Whether all picked option 1 of two.
    Unanimous,
    /// Whether at least `k` picked option 1 of two.
    AtLeast {
        /// 1 to the number of people.
        k: u16,
    },
    /// Whether nobody picked option 1 of two, the veto.
    Veto,
    /// Whether an odd number picked option 1 of two.
    Parity,
    /// The option that was picked most often.
    Plurality {
        /// If several were.
        tie: Tie,
    },
    /// How often each option was picked.
    Tally,
    /// A table: one output for each composition of the answers, in the order of
    /// [`composition::all`].
    Custom {
        /// The outputs.
        outputs: Vec<u8>,
    },
}

/// What an output says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// Of majority, unanimous, at-least and veto: whether it passed.
    Passed(bool),
    /// Of parity: whether the number was odd.
    Odd(bool),
    /// Of plurality: the option that won.
    Option(u8),
    /// Of plurality: none won.
    Tie,
    /// Of a tally: how often each option was picked.
    Counts(Vec<u16>),
    /// Of a custom table: the byte that stands in it.
    Value(u8),
}

impl Function {
    /// Whether it is one of two options.
    pub fn is_binary(&self) -> bool {
        !matches!(self, Function::Plurality { .. } | Function::Tally | Function::Custom { .. })
    }

    /// Why it cannot be computed of so many people with so many options; `None` if it can.
    pub fn objection(&self, people: usize, options: usize) -> Option<InvalidDraft> {
        let objection = |flaw, sentence: String| Some(InvalidDraft::new(flaw, sentence));
        if self.is_binary() && options != 2 {
            let sentence = format!("this function needs two options, not {options}");
            return objection(Flaw::Function, sentence);
        }
        let Some(entries) = table_entries(people, u16::try_from(options).unwrap_or(u16::MAX))
        else {
            return objection(Flaw::Large, too_large(people, options));
        };
        match self {
            Function::AtLeast { k } if *k == 0 || usize::from(*k) > people => objection(
                Flaw::Enough,
                format!("“at least k” needs k from 1 to {people}, the number of people, not {k}"),
            ),
            Function::Custom { outputs } if outputs.len() != entries => objection(
                Flaw::Table,
                format!(
                    "the table of {people} people and {options} options has {entries} entries, not {}",
                    outputs.len()
                ),
            ),
            _ if entries > MAX_ENTRIES => objection(Flaw::Large, too_large(people, options)),
            _ => None,
        }
    }

    /// One output for each composition, in the order of [`composition::all`]; empty if
    /// [`Function::objection`] has one.
    pub fn table(&self, people: usize, options: usize) -> Vec<u32> {
        if self.objection(people, options).is_some() {
            return Vec::new();
        }
        if let Function::Custom { outputs } = self {
            return outputs.iter().copied().map(u32::from).collect();
        }
        let all = compositions(people, options);
        (0u32..).zip(&all).map(|(place, counts)| self.output(place, counts)).collect()
    }

    fn output(&self, place: u32, counts: &[u16]) -> u32 {
        let people = counts.iter().map(|count| u32::from(*count)).sum::<u32>();
        let ones = u32::from(counts[1]);
        match self {
            Function::Majority => u32::from(2 * ones > people),
            Function::Unanimous => u32::from(ones == people),
            Function::AtLeast { k } => u32::from(ones >= u32::from(*k)),
            Function::Veto => u32::from(ones == 0),
            Function::Parity => ones % 2,
            Function::Plurality { tie } => {
                let most = counts.iter().max().expect("there are options");
                let first = counts.iter().position(|count| count == most).expect("one has most");
                let tied = counts.iter().filter(|count| *count == most).count() > 1;
                let winner = if tied && *tie == Tie::None { counts.len() } else { first };
                u32::try_from(winner).expect("few options")
            }
            Function::Tally | Function::Custom { .. } => place,
        }
    }

    /// What an output of [`Function::table`] says; `None` for a number that is no output of it.
    pub fn meaning(&self, people: usize, options: usize, output: u32) -> Option<Meaning> {
        if !self.table(people, options).contains(&output) {
            return None;
        }
        Some(match self {
            Function::Majority
            | Function::Unanimous
            | Function::AtLeast { .. }
            | Function::Veto => Meaning::Passed(output == 1),
            Function::Parity => Meaning::Odd(output == 1),
            Function::Plurality { .. } if output as usize == options => Meaning::Tie,
            Function::Plurality { .. } => Meaning::Option(u8::try_from(output).ok()?),
            Function::Tally => {
                Meaning::Counts(compositions(people, options).swap_remove(output as usize))
            }
            Function::Custom { .. } => Meaning::Value(u8::try_from(output).ok()?),
        })
    }
}

fn compositions(people: usize, options: usize) -> Vec<Vec<u16>> {
    let number = |value| u16::try_from(value).expect("the table is within its limit");
    composition::all(number(options), number(people))
}

fn too_large(people: usize, options: usize) -> String {
    format!(
        "the table of {people} people and {options} options is too large (more than {MAX_ENTRIES} entries): ask fewer people or give fewer options"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_functions_count_the_ones() {
        let tables = [
            (Function::Majority, [0, 0, 0, 1, 1]),
            (Function::Unanimous, [0, 0, 0, 0, 1]),
            (Function::AtLeast { k: 2 }, [0, 0, 1, 1, 1]),
            (Function::Veto, [1, 0, 0, 0, 0]),
            (Function::Parity, [0, 1, 0, 1, 0]),
            (Function::Tally, [0, 1, 2, 3, 4]),
            (Function::Plurality { tie: Tie::First }, [0, 0, 0, 1, 1]),
            (Function::Plurality { tie: Tie::None }, [0, 0, 2, 1, 1]),
        ];
        for (function, table) in tables {
            assert_eq!(function.table(4, 2), table, "{function:?}");
        }
        assert_eq!(Function::Tally.meaning(4, 2, 3), Some(Meaning::Counts(vec![1, 3])));
        assert_eq!(Function::Plurality { tie: Tie::None }.meaning(4, 2, 2), Some(Meaning::Tie));
        assert_eq!(Function::Majority.meaning(4, 2, 2), None, "no output of it");
    }

    #[test]
    fn what_cannot_be_computed_is_said() {
        assert!(Function::Majority.objection(3, 3).unwrap().sentence.contains("two options"));
        assert!(
            Function::AtLeast { k: 4 }.objection(3, 2).unwrap().sentence.contains("from 1 to 3")
        );
        assert!(Function::AtLeast { k: 0 }.objection(3, 2).is_some());
        assert!(
            Function::Custom { outputs: vec![0; 3] }
                .objection(3, 2)
                .unwrap()
                .sentence
                .contains("4 entries, not 3")
        );
        assert!(Function::Tally.objection(200, 3).unwrap().sentence.contains("900"));
        assert_eq!(Function::Tally.objection(40, 3), None);
        assert_eq!(Function::Majority.table(3, 3), Vec::<u32>::new());
    }
}

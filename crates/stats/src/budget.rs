//! How much of what is reported may be told in all.

use serde::{Deserialize, Serialize};

use crate::question::Question;

/// What is left of an ε that all questions to the same people share. It only falls: a question
/// that is computed again, with noise drawn anew, spends again. The servers that keep it write it
/// down before they compute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    left: u64,
}

/// Why a question is not paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Overspent {
    /// An exact answer has no price that a budget could pay.
    #[error("the question has no noise: with a budget, every question needs an ε")]
    Exact,
    /// Too little is left.
    #[error("the question costs {asked} thousandths of ε, and {left} are left of the budget")]
    Left {
        /// What it costs.
        asked: u64,
        /// What is left.
        left: u64,
    },
}

impl Budget {
    /// A budget of so many thousandths of ε.
    pub fn new(thousandths: u64) -> Self {
        Self { left: thousandths }
    }

    /// Thousandths of ε that are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Pays for a question. Nothing is spent on a refusal.
    ///
    /// # Errors
    /// [`Overspent`].
    pub fn spend(&mut self, question: &Question) -> Result<(), Overspent> {
        let asked = u64::from(question.epsilon.ok_or(Overspent::Exact)?);
        let left = self.left;
        self.left = left.checked_sub(asked).ok_or(Overspent::Left { asked, left })?;
        Ok(())
    }
}

//! How likely a committee is without an honest member.

use crate::MEMBERS;

/// What a committee must bear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strength {
    /// c, its members.
    pub members: usize,
    /// f, the fraction of all weight that may be corrupt, counted by families: all the weight of a
    /// family with a corrupt operator.
    pub corrupt: f64,
    /// b, the reveals of the beacon that may be withheld, each of which is another try.
    pub withheld: u32,
    /// m, how many committees are drawn, so that none of them is corrupt.
    pub elections: u32,
    /// The probability asked for is 2^-security.
    pub security: u32,
    /// λ, of the engine: what a committee with an honest member is good for.
    pub engine: u32,
}

/// Why a committee is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TooWeak {
    /// Numbers that mean nothing.
    #[error(
        "a committee has {} to {} members, and the corrupt part is above 0 and below 1",
        MEMBERS.start(),
        MEMBERS.end()
    )]
    Numbers,
    /// The bound.
    #[error(
        "the chance that no member is honest may be 2^{log2:.2}, and at most 2^-{asked} is asked for; {}",
        remedy(*.enough)
    )]
    Bound {
        /// log₂ of the bound.
        log2: f64,
        /// What was asked for.
        asked: u32,
        /// The fewest members that would do.
        enough: Option<usize>,
    },
    /// There are not so many operators.
    #[error(
        "{asked} members of different families are asked for, and there are {there}: take a larger \
         table or a smaller committee"
    )]
    Families {
        /// Families with a weight.
        there: usize,
        /// Members asked for.
        asked: usize,
    },
}

fn remedy(enough: Option<usize>) -> String {
    match enough {
        Some(members) => format!("take {members} members"),
        None => "no committee is large enough: assume less corruption, or ask for less".to_owned(),
    }
}

impl Strength {
    /// log₂ of m·(2^b·f^c + 2^-λ). Families are drawn without replacement: all c are corrupt with
    /// at most f^c, since with each corrupt one that is drawn the corrupt part of what is left
    /// falls.
    pub fn log2(&self) -> f64 {
        let committee = f64::from(self.withheld) + self.members as f64 * self.corrupt.log2();
        let engine = -f64::from(self.engine);
        let (high, low) = (committee.max(engine), committee.min(engine));
        f64::from(self.elections.max(1)).log2() + high + (low - high).exp2().ln_1p() / 2f64.ln()
    }

    /// Whether it is strong enough.
    ///
    /// # Errors
    /// [`TooWeak`].
    pub fn check(&self) -> Result<(), TooWeak> {
        let sound = self.corrupt > 0.0 && self.corrupt < 1.0 && MEMBERS.contains(&self.members);
        if !sound {
            return Err(TooWeak::Numbers);
        }
        let (log2, asked) = (self.log2(), self.security);
        if log2 <= -f64::from(asked) {
            return Ok(());
        }
        let would_do =
            |members: &usize| Strength { members: *members, ..*self }.log2() <= -f64::from(asked);
        Err(TooWeak::Bound { log2, asked, enough: MEMBERS.into_iter().find(would_do) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(members: usize, withheld: u32, engine: u32) -> Strength {
        Strength { members, corrupt: 0.25, withheld, elections: 1008, security: 40, engine }
    }

    /// The paper's parameters have no margin; those that are recommended have some.
    #[test]
    fn the_bound_is_what_the_paper_and_the_design_say() {
        assert!((of(25, 0, 56).log2() + 40.0).abs() < 0.01, "{}", of(25, 0, 56).log2());
        assert!((of(26, 0, 64).log2() + 42.02).abs() < 0.01, "{}", of(26, 0, 64).log2());
        for (members, withheld) in [(26, 0), (28, 4), (30, 8)] {
            assert_eq!(of(members, withheld, 64).check(), Ok(()));
        }
        // Words that are withheld cost as much as members that are missing.
        for (members, withheld) in [(24, 0), (26, 4), (28, 8)] {
            let refused = of(members, withheld, 64).check();
            assert!(matches!(refused, Err(TooWeak::Bound { .. })), "{members}, {withheld}");
        }
    }

    #[test]
    fn weak_committees_are_refused_with_the_fewest_members_that_would_do() {
        let refused = of(9, 0, 64).check().unwrap_err();
        assert!(matches!(refused, TooWeak::Bound { enough: Some(25), .. }), "{refused}");
        assert!(refused.to_string().contains("take 25 members"));
        let never = Strength { corrupt: 0.6, ..of(32, 0, 64) }.check().unwrap_err();
        assert!(matches!(never, TooWeak::Bound { enough: None, .. }), "{never}");
        for corrupt in [0.0, 1.0, f64::NAN] {
            assert_eq!(Strength { corrupt, ..of(9, 0, 64) }.check(), Err(TooWeak::Numbers));
        }
        assert_eq!(of(33, 0, 64).check(), Err(TooWeak::Numbers));
    }
}

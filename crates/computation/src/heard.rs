//! How a computation ends, as far as its members have signed it: for whoever asks them one by one,
//! and believes none what it says of others.

use serde::Serialize;

use crate::archive::Conclusion;
use crate::committee::Committee;
use crate::draft::{CONTRIBUTORS, Draft};
use crate::statement::{Said, Statement, Told};

/// What members have signed of the end of a computation that has no result yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// Its creator has taken it back: a member shows the creator's signature.
    pub cancelled: bool,
    /// The members, by number, that have said their last word on what was taken back.
    pub ended: Vec<usize>,
    /// Those of them that had begun to open it, by their own word.
    pub opened: Vec<usize>,
    /// The members that have stopped, by number, and why, in their own words.
    pub stopped: Vec<(usize, String)>,
}

impl Heard {
    /// Of what each member, in their order, shows as its statements. What is not its own, or not on
    /// this computation, says nothing.
    pub fn of(committee: &Committee, draft: &Draft, shown: &[Vec<Statement>]) -> Self {
        let computation = draft.id();
        let members = committee.members.iter().zip(shown).map(|(member, statements)| {
            let mut told = Told::default();
            for statement in statements {
                let creators = match &statement.said {
                    Said::Cancelled { order, .. } => order.verifies(draft),
                    _ => true,
                };
                let its_own = statement.computation == computation
                    && creators
                    && statement.verifies(&member.key);
                if its_own {
                    // The first word counts of one that contradicts itself.
                    let _ = told.take(statement.clone());
                }
            }
            told
        });
        let told: Vec<Told> = members.collect();
        let cancelled = told.iter().any(|told| told.cancelled().is_some());
        let opened = |told: &Told| match (told.cancelled(), told.result()) {
            (Some((_, opened)), _) => opened,
            (None, Some((_, result))) => {
                // That too few had handed something in opens nothing.
                let most = draft.minimum.min(u32::try_from(CONTRIBUTORS).unwrap_or(u32::MAX));
                let few = |missing| Conclusion::TooFew { missing }.digest(&computation) == result;
                !(1..=most).any(few)
            }
            (None, None) => false,
        };
        let all = || told.iter().enumerate();
        let which = |of: &dyn Fn(&Told) -> bool| {
            all().filter(|(_, told)| cancelled && of(told)).map(|(member, _)| member).collect()
        };
        Self {
            cancelled,
            ended: which(&|told| told.outcome.is_some()),
            opened: which(&opened),
            stopped: all().filter_map(|(m, t)| Some((m, t.why()?.to_owned()))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Digest;

    use super::*;
    use crate::committee::tests::{committee, key};
    use crate::draft::Cancellation;
    use crate::draft::tests::draft;

    /// Attack: one member says of all others what is true of none.
    #[test]
    fn the_end_is_what_members_have_signed_of_themselves() {
        let (committee, draft) = (committee(3), draft());
        let (id, seal) = (draft.id(), Digest([2; 32]));
        let signer = |member: u8| key(100 + member);
        let heard = |shown: [Vec<Statement>; 3]| Heard::of(&committee, &draft, &shown);
        let by = |member, said| vec![Statement::sign(id, said, &signer(member))];
        let cancelled = |creator, opened| {
            let order = Cancellation::sign(id, &key(creator));
            Said::Cancelled { order, opened }
        };
        let outcome =
            |conclusion: Conclusion| Said::Outcome { seal, result: conclusion.digest(&id) };
        let reached = outcome(Conclusion::Reached(crate::Parameters(vec![1])));
        let few = outcome(Conclusion::TooFew { missing: 1 });
        // Of itself what it likes; of others nothing, and nothing of the creator's will.
        let forged = heard([by(0, cancelled(7, true)), vec![], vec![]]);
        assert_eq!(forged, Heard::default());
        let others = [by(1, cancelled(50, true)), by(1, Said::stopped("no")), vec![]].concat();
        assert_eq!(heard([others, vec![], vec![]]), Heard::default());
        let elsewhere =
            Statement::sign(crate::ComputationId(seal), Said::stopped("no"), &signer(0));
        assert_eq!(heard([vec![elsewhere], vec![], vec![]]), Heard::default());
        let stopped = heard([by(0, Said::stopped("no")), by(1, reached.clone()), vec![]]);
        assert_eq!(stopped, Heard { stopped: vec![(0, "no".to_owned())], ..Heard::default() });
        let ended = |one, other| {
            let heard = heard([by(0, cancelled(50, false)), by(1, one), by(2, other)]);
            assert!(heard.cancelled && heard.ended == [0, 1, 2]);
            heard.opened
        };
        assert_eq!(ended(cancelled(50, true), reached), [1, 2]);
        assert_eq!(ended(cancelled(50, false), few), [0; 0], "too few opened nothing");
    }
}

//! What there is to see.

use ostrakon_computation::{Archive, Conclusion, SealedBy, Statement, Told};

use super::{Course, State, is_signed_by_all};
use crate::view::{MemberView, Phase, Progress, View};

/// What is counted of a computation.
pub(crate) struct Figures {
    pub phase: Phase,
    pub inputs: u64,
    /// How often this member has begun.
    pub begun: u64,
    /// Members that contradict themselves.
    pub contradictions: u64,
    /// Signatures in members' lists that were verified.
    pub verified: u64,
}

impl Course {
    /// Own statements.
    pub fn statements(&self) -> Vec<Statement> {
        let Some(here) = self.member.upgrade() else { return Vec::new() };
        self.state().told[here.number].statements().cloned().collect()
    }

    /// The archive, once all have signed.
    pub fn archive(&self) -> Option<Archive> {
        let here = self.member.upgrade()?;
        let state = self.state();
        let conclusion = state.conclusion.clone().filter(|_| state.is_signed_by_all())?;
        let sealed = |told: &Told| {
            Some(SealedBy { spent: told.spent(), signature: told.sealed.as_ref()?.signature })
        };
        let outcome = |told: &Told| Some(told.outcome.as_ref()?.signature);
        let sealed = state.told.iter().map(sealed).collect::<Option<Vec<_>>>()?;
        let signatures = (sealed, state.told.iter().map(outcome).collect::<Option<Vec<_>>>()?);
        let seal = state.seal.clone()?;
        let (committee, draft) = (here.config.committee.clone(), self.draft.clone());
        Some(Archive::new(committee, draft, seal, conclusion, signatures))
    }

    /// What is counted of it.
    pub fn figures(&self) -> Figures {
        let own = self.member.upgrade().map_or(0, |here| here.number);
        let state = self.state();
        let begun = state.told.get(own).and_then(Told::generation);
        Figures {
            phase: self.phase(&state, own),
            inputs: inputs(&state),
            begun: begun.map_or(0, |(_, generation)| generation.into()),
            contradictions: state.equivocations.len() as u64,
            verified: state.verified,
        }
    }

    fn phase(&self, state: &State, own: usize) -> Phase {
        let few = state.seal.as_ref().is_some_and(|seal| seal.missing(&self.draft.draft) > 0);
        let under_way = state.attempt.is_some();
        phase((&state.told, state.conclusion.as_ref(), under_way), (own, few))
    }

    /// What there is to see.
    pub fn view(&self) -> View {
        let here = self.member.upgrade();
        // Nothing is added up that is not shown.
        let computing = self.state().progress.is_some();
        let sent = here.as_ref().filter(|_| computing).map_or(0, |here| self.sent(here));
        let state = self.state();
        let names = here.iter().flat_map(|here| &here.config.committee.members);
        let members = names.zip(&state.told).map(|(card, told)| MemberView {
            name: card.name.clone(),
            closed: told.holdings.is_some(),
            sealed: told.sealed.is_some(),
            generation: told.generation().map_or(0, |(_, generation)| generation),
            signed: told.result().is_some(),
            stopped: told.why().map(str::to_owned),
        });
        let phase = self.phase(&state, here.as_ref().map_or(0, |here| here.number));
        let progress = state.progress.clone().filter(|_| phase == Phase::Computing);
        let progress = progress.map(|progress| Progress { sent, ..progress });
        View {
            id: self.id,
            draft: self.draft.clone(),
            asked: self.job.describe(&self.draft.draft),
            part: self.part.clone(),
            phase,
            progress,
            inputs: inputs(&state),
            members: members.collect(),
            equivocations: state.equivocations.clone(),
        }
    }
}

fn inputs(state: &State) -> u64 {
    state.seal.as_ref().map_or(state.entries.len(), |seal| seal.inputs.len()) as u64
}

/// How far a computation is at the member of number `own`: from what all have said, what came out,
/// whether an attempt is under way, and whether there are too `few` in the seal.
pub(crate) fn phase(
    (told, conclusion, under_way): (&[Told], Option<&Conclusion>, bool),
    (own, few): (usize, bool),
) -> Phase {
    if told.iter().any(|told| told.cancelled().is_some()) {
        // Whoever signs that there are too few opens nothing.
        let signed = |told: &Told| told.result().is_some() && !few;
        let opened = |told: &Told| told.cancelled().map_or(signed(told), |(_, by)| by);
        let opened = told.iter().enumerate().filter(|(_, told)| opened(told));
        return Phase::Cancelled { opened: opened.map(|(member, _)| member).collect() };
    }
    if let Some(why) = told.get(own).and_then(Told::why) {
        return Phase::Stopped { why: why.to_owned() };
    }
    let signed = conclusion.is_some() && is_signed_by_all(told);
    match (conclusion, signed) {
        (Some(Conclusion::TooFew { missing }), true) => Phase::TooFew { missing: *missing },
        (Some(Conclusion::Reached(_)), true) => Phase::Done,
        _ if under_way || conclusion.is_some() => Phase::Computing,
        _ if told.get(own).is_some_and(|told| told.holdings.is_some()) => Phase::Sealing,
        _ => Phase::Collecting,
    }
}

//! What there is to see.

use ostrakon_computation::{Archive, Conclusion, Statement, Told};

use super::{Course, State};
use crate::view::{MemberView, Phase, View};

impl Course {
    /// Own statements.
    pub fn statements(&self) -> Vec<Statement> {
        let Some(inner) = self.inner.upgrade() else { return Vec::new() };
        self.state().told[inner.number].statements().cloned().collect()
    }

    /// The archive, once all have signed.
    pub fn archive(&self) -> Option<Archive> {
        let inner = self.inner.upgrade()?;
        let state = self.state();
        let conclusion = state.conclusion.clone().filter(|_| state.is_signed_by_all())?;
        let signature = |of: fn(&Told) -> &Option<Statement>| {
            let signed = |told: &Told| Some(of(told).as_ref()?.signature);
            state.told.iter().map(signed).collect::<Option<Vec<_>>>()
        };
        let signatures = (signature(|told| &told.sealed)?, signature(|told| &told.outcome)?);
        let seal = state.seal.clone()?;
        let (committee, draft) = (inner.config.committee.clone(), self.draft.clone());
        Some(Archive::new(committee, draft, seal, conclusion, signatures))
    }

    /// What there is to see.
    pub fn view(&self) -> View {
        let state = self.state();
        let inner = self.inner.upgrade();
        let names = inner.iter().flat_map(|inner| &inner.config.committee.members);
        let members = names.zip(&state.told).map(|(card, told)| MemberView {
            name: card.name.clone(),
            closed: told.holdings.is_some(),
            sealed: told.sealed.is_some(),
            generation: told.generation().map_or(0, |(_, generation)| generation),
            signed: told.outcome.is_some(),
            stopped: told.why().map(str::to_owned),
        });
        let inputs = state.seal.as_ref().map_or(state.entries.len(), |seal| seal.inputs.len());
        let phase = phase(&state, inner.as_ref().map_or(0, |inner| inner.number));
        let progress = state.progress.clone().filter(|_| phase == Phase::Computing);
        View {
            id: self.id,
            draft: self.draft.clone(),
            asked: self.job.describe(&self.draft.draft),
            phase,
            progress,
            inputs: inputs as u64,
            members: members.collect(),
            equivocations: state.equivocations.clone(),
        }
    }
}

fn phase(state: &State, own: usize) -> Phase {
    if let Some(why) = state.told.get(own).and_then(Told::why) {
        return Phase::Stopped { why: why.to_owned() };
    }
    let signed = state.is_signed_by_all();
    match (&state.conclusion, signed) {
        (Some(Conclusion::TooFew { missing }), true) => Phase::TooFew { missing: *missing },
        (Some(Conclusion::Reached(_)), true) => Phase::Done,
        _ if state.attempt.is_some() || state.conclusion.is_some() => Phase::Computing,
        _ if state.told.get(own).is_some_and(|told| told.holdings.is_some()) => Phase::Sealing,
        _ => Phase::Collecting,
    }
}

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_crypto::SigningKey;
use ostrakon_field::Fp;
use ostrakon_party::PartyId;

use crate::fault::{Fault, FaultKind};
use crate::message::{Instance, Signed, StepId, bytes_of};

/// The messages that have come, one for each step and sender's position.
pub type Received = BTreeMap<(StepId, usize), Signed>;

/// What has come, and how much of it the current phase has seen.
pub(super) struct Inbox {
    instance: Arc<Instance>,
    me: usize,
    received: Received,
    /// What its phase has taken.
    seen: BTreeSet<(StepId, usize)>,
    own: BTreeMap<StepId, Vec<Fp>>,
    /// Phases before this one are over, and their messages gone.
    forgotten: usize,
}

impl Inbox {
    pub(super) fn new(instance: Arc<Instance>, me: usize) -> Inbox {
        Inbox {
            instance,
            me,
            received: BTreeMap::new(),
            seen: BTreeSet::new(),
            own: BTreeMap::new(),
            forgotten: 0,
        }
    }

    pub(super) fn received(&self) -> &Received {
        &self.received
    }

    /// Takes a message. One that is malformed is kept as its sender's only one of the step.
    pub(super) fn take(&mut self, from: PartyId, bytes: &[u8]) -> Result<(), Fault> {
        let fault = |kind| Err(Fault { from, kind });
        let me = self.instance.committee.members()[self.me];
        let message = match Signed::from_bytes(bytes) {
            Some(message)
                if message.from == from
                    && message.to == me
                    && from != me
                    && self.instance.vouches(&message) =>
            {
                message
            }
            _ => return fault(FaultKind::Unsigned),
        };
        let position = self.instance.committee.position(from).expect("only members' count");
        let Some(expected) = self.instance.expected(message.step, position, self.me) else {
            return fault(FaultKind::Malformed(Box::new(message)));
        };
        if usize::from(message.step.phase) < self.forgotten {
            return Ok(());
        }
        let well_formed = message.elements(expected).is_some();
        match self.received.entry((message.step, position)) {
            // The network may repeat a message; only a different one is the sender's doing.
            Entry::Occupied(first) => {
                if first.get().body == message.body {
                    return Ok(());
                }
                let both = [first.get().clone(), message];
                fault(FaultKind::Equivocation(Box::new(both)))
            }
            Entry::Vacant(place) => {
                let kept = place.insert(message);
                if well_formed {
                    return Ok(());
                }
                fault(FaultKind::Malformed(Box::new(kept.clone())))
            }
        }
    }

    /// Notes the own vector of a step.
    pub(super) fn own(&mut self, step: StepId, vector: Vec<Fp>) {
        self.own.insert(step, vector);
    }

    fn vector(&self, step: StepId, from: usize) -> Option<Vec<Fp>> {
        if from == self.me {
            return self.own.get(&step).cloned();
        }
        let expected = self.instance.expected(step, from, self.me)?;
        self.received.get(&(step, from))?.elements(expected)
    }

    /// What has come for a step since this was asked last; `None` stands for what is malformed.
    pub(super) fn fresh(&mut self, step: StepId) -> Vec<(usize, Option<Vec<Fp>>)> {
        let last = (step, self.instance.committee.size());
        let fresh: Vec<usize> = self
            .received
            .range((step, 0)..last)
            .map(|((_, from), _)| *from)
            .filter(|from| !self.seen.contains(&(step, *from)))
            .collect();
        fresh
            .into_iter()
            .map(|from| {
                self.seen.insert((step, from));
                (from, self.vector(step, from))
            })
            .collect()
    }

    /// The vectors of a step from all of `senders`, once they have come; `Err` if one is malformed.
    pub(super) fn all(&self, step: StepId, senders: &[usize]) -> Option<Result<Vec<Vec<Fp>>, ()>> {
        let here = |from: &usize| *from == self.me || self.received.contains_key(&(step, *from));
        let spoilt =
            |from: &usize| *from != self.me && here(from) && self.vector(step, *from).is_none();
        if senders.iter().any(spoilt) {
            return Some(Err(()));
        }
        if !senders.iter().all(here) {
            return None;
        }
        senders.iter().map(|&from| self.vector(step, from)).collect::<Option<_>>().map(Ok)
    }

    /// The fault of a member whose vector of a step is not on the polynomials of those who agree.
    pub(super) fn evidence(
        &self,
        step: StepId,
        liar: usize,
        agree: &[usize],
        key: &SigningKey,
    ) -> Option<Fault> {
        let committee = &self.instance.committee;
        let me = committee.members()[self.me];
        let vector = Box::new(self.received.get(&(step, liar))?.clone());
        let signed = agree.iter().take(committee.agreeing()).map(|&position| {
            if position == self.me {
                let own = bytes_of(self.own.get(&step)?);
                Some(self.instance.sign(key, step, [me, me], own))
            } else {
                self.received.get(&(step, position)).cloned()
            }
        });
        let agreeing = signed.collect::<Option<Vec<_>>>()?;
        let from = committee.members()[liar];
        Some(Fault { from, kind: FaultKind::Wrong { vector, agreeing } })
    }

    /// Drops the messages of phases up to this one.
    pub(super) fn forget(&mut self, phase: usize) {
        self.forgotten = phase + 1;
        self.received.retain(|(step, _), _| usize::from(step.phase) > phase);
        self.seen.retain(|(step, _)| usize::from(step.phase) > phase);
        self.own.retain(|step, _| usize::from(step.phase) > phase);
    }
}

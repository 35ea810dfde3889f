use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_crypto::SigningKey;
use ostrakon_field::Fp;
use ostrakon_party::{PartyId, PartySet};

use crate::fault::{Fault, FaultKind};
use crate::message::{Header, Instance, Signed, StepId, bytes_of, elements};

/// What counts as a member's message of a step.
struct Kept {
    header: Header,
    body: Body,
}

enum Body {
    Here(Vec<u8>),
    /// Its phase is over; of what is shown of it the header has the digest.
    Gone,
    /// A malformed one. Its length is the sender's choice, so it is not kept.
    Malformed,
}

/// What has come, and how much of it the current phase has seen.
pub(super) struct Inbox {
    instance: Arc<Instance>,
    me: usize,
    /// One for each step and sender's position.
    received: BTreeMap<(StepId, usize), Kept>,
    /// Of whom each kind of fault has been told: nobody fills a list of evidence.
    told: [PartySet; 3],
    /// What its phase has taken.
    seen: BTreeSet<(StepId, usize)>,
    own: BTreeMap<StepId, Vec<Fp>>,
    /// Phases before this one are over, and the bodies of their messages gone.
    over: usize,
    /// Phases before this one are over, and their messages gone.
    forgotten: usize,
}

impl Inbox {
    pub(super) fn new(instance: Arc<Instance>, me: usize) -> Inbox {
        Inbox {
            instance,
            me,
            received: BTreeMap::new(),
            told: Default::default(),
            seen: BTreeSet::new(),
            own: BTreeMap::new(),
            over: 0,
            forgotten: 0,
        }
    }

    pub(super) fn received(&self) -> impl Iterator<Item = Header> {
        self.received.values().map(|kept| kept.header)
    }

    /// Takes a message. One that is malformed counts as its sender's only one of the step. What is
    /// wrong with it is told once of each sender and kind.
    pub(super) fn take(&mut self, from: PartyId, bytes: &[u8]) -> Option<Fault> {
        let kind = self.keep(from, bytes).err()?;
        let told = match kind {
            FaultKind::Unsigned => 0,
            FaultKind::Malformed(_) => 1,
            FaultKind::Equivocation(_) | FaultKind::Wrong { .. } => 2,
        };
        self.told[told].insert(from).then_some(Fault { from, kind })
    }

    fn keep(&mut self, from: PartyId, bytes: &[u8]) -> Result<(), FaultKind> {
        let me = self.instance.committee.members()[self.me];
        let message = Signed::from_bytes(bytes);
        // Of a phase that is over nothing is examined: its sender was late, and a third of all
        // messages are where 2t + 1 of 3t + 1 suffice. Signatures are what a message costs.
        if message.as_ref().is_some_and(|of| usize::from(of.step.phase) < self.forgotten) {
            return Ok(());
        }
        let message = message.filter(|of| of.from == from && of.to == me && from != me);
        let message = message.map(|message| (message.header(), message));
        let message = message.filter(|(header, _)| self.instance.vouches(header));
        let (header, message) = message.ok_or(FaultKind::Unsigned)?;
        let position = self.instance.committee.position(from).expect("only members' count");
        let Some(expected) = self.instance.expected(message.step, position, self.me) else {
            return Err(FaultKind::Malformed(Box::new(message)));
        };
        match self.received.entry((message.step, position)) {
            // The network may repeat a message; only a different one is the sender's doing.
            Entry::Occupied(first) => {
                let both = [first.get().header, header];
                if both[0].body == both[1].body {
                    return Ok(());
                }
                Err(FaultKind::Equivocation(Box::new(both)))
            }
            Entry::Vacant(place) if message.has_elements(expected) => {
                let late = usize::from(header.step.phase) < self.over;
                let body = if late { Body::Gone } else { Body::Here(message.body) };
                place.insert(Kept { header, body });
                Ok(())
            }
            Entry::Vacant(place) => {
                place.insert(Kept { header, body: Body::Malformed });
                Err(FaultKind::Malformed(Box::new(message)))
            }
        }
    }

    /// A member's message of a step that is not malformed, and whose phase is not over.
    fn right(&self, step: StepId, from: usize) -> Option<(Header, &[u8])> {
        let Kept { header, body } = self.received.get(&(step, from))?;
        match body {
            Body::Here(body) => Some((*header, body)),
            Body::Gone | Body::Malformed => None,
        }
    }

    /// The same with its body, as evidence.
    fn signed(&self, step: StepId, from: usize) -> Option<Signed> {
        let (Header { from, to, signature, .. }, body) = self.right(step, from)?;
        Some(Signed { step, from, to, body: body.to_vec(), signature })
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
        elements(self.right(step, from)?.1, expected)
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

    /// Whether a step's vectors from all of `senders` have come; `Err` if one is malformed.
    pub(super) fn complete(&self, step: StepId, senders: &[usize]) -> Option<Result<(), ()>> {
        let others = || senders.iter().filter(|from| **from != self.me);
        let of = |from: &usize| self.received.get(&(step, *from));
        if others().filter_map(of).any(|kept| matches!(kept.body, Body::Malformed)) {
            return Some(Err(()));
        }
        others().all(|from| of(from).is_some()).then_some(Ok(()))
    }

    /// The vectors of a step of the current phase from all of `senders`, which have come.
    pub(super) fn vectors(&self, step: StepId, senders: &[usize]) -> Vec<Vec<Fp>> {
        senders.iter().filter_map(|&from| self.vector(step, from)).collect()
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
        let vector = Box::new(self.signed(step, liar)?);
        let signed = agree.iter().take(committee.agreeing()).map(|&position| {
            if position == self.me {
                let own = bytes_of(self.own.get(&step)?);
                Some(self.instance.sign(key, step, [me, me], own))
            } else {
                self.signed(step, position)
            }
        });
        let agreeing = signed.collect::<Option<Vec<_>>>()?;
        let from = committee.members()[liar];
        Some(Fault { from, kind: FaultKind::Wrong { vector, agreeing } })
    }

    /// Drops the bodies of what came in phases up to this one, and the own vectors.
    pub(super) fn close(&mut self, phase: usize) {
        self.over = phase + 1;
        let of_phase = |step: &StepId| usize::from(step.phase) <= phase;
        for ((step, _), kept) in &mut self.received {
            if of_phase(step) && matches!(kept.body, Body::Here(_)) {
                kept.body = Body::Gone;
            }
        }
        self.own.retain(|step, _| !of_phase(step));
    }

    /// Drops the messages of phases up to this one.
    pub(super) fn forget(&mut self, phase: usize) {
        self.forgotten = phase + 1;
        self.received.retain(|(step, _), _| usize::from(step.phase) > phase);
        self.seen.retain(|(step, _)| usize::from(step.phase) > phase);
        self.own.retain(|step, _| usize::from(step.phase) > phase);
    }
}

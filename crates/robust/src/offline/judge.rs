//! Who deviated in a burnt batch (spec 7): all members' parts are recomputed from their seeds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_party::PartyId;

use super::{Complaint, Recipe, Reveal, Subject};
use crate::machine::{Machine, Outcome};
use crate::message::{Header, Instance, Part, Signed, StepId};
use crate::tape::Tape;

/// Digests of what every member sends if all follow the protocol with their seeds, by step, sender,
/// receiver.
struct Truth {
    bodies: BTreeMap<(StepId, PartyId, PartyId), Digest>,
    /// Whether every member comes to an end with its material. An unlucky batch (of probability
    /// about 2^-64) does not, and is nobody's fault.
    ends_well: bool,
}

/// How a member deviated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// It showed another seed than it had committed to.
    Seed,
    /// What it dealt to a member is not what its seed gives.
    Dealt(StepId, PartyId),
    /// What it sent the complainer is not what follows from all dealings.
    Sent(StepId, PartyId),
    /// It complained although nothing that it shows is false.
    Groundless,
}

/// Who deviated in a burnt batch, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Who.
    pub culprit: PartyId,
    /// How.
    pub deviation: Deviation,
}

/// All that the ledger has of a burnt batch.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// Members' commitments to their seeds, by position.
    pub commitments: &'a [Digest],
    /// Whose complaint burnt it.
    pub complainer: PartyId,
    /// The complaint.
    pub complaint: &'a Complaint,
    /// What members have shown, by position.
    pub reveals: &'a BTreeMap<usize, Reveal>,
}

impl Subject {
    /// Who deviated, as everybody finds who has these records; nobody while members have not shown
    /// theirs, or if the batch failed by bad luck.
    ///
    /// A seed that was not committed to convicts by itself. Then the dealings: the first that
    /// somebody shows under its dealer's signature and that is not what the dealer's seed
    /// prescribes. If there is none, then whoever sent the complainer something false did so on
    /// true dealings. If nothing that the complainer shows is false, it complained without a
    /// reason.
    pub fn judge<R: Recipe>(&self, recipe: &R, case: &Case<'_>) -> Option<Verdict> {
        let members = self.committee.members();
        let size = self.committee.size();
        if case.commitments.len() != size || case.reveals.keys().any(|at| *at >= size) {
            return None;
        }
        let false_seed = case.reveals.iter().find(|(at, reveal)| {
            self.commitment(members[**at], &reveal.seed) != case.commitments[**at]
        });
        if let Some((&at, _)) = false_seed {
            return Some(Verdict { culprit: members[at], deviation: Deviation::Seed });
        }
        if case.reveals.len() < size {
            return None;
        }
        let instance = Arc::new(self.instance(recipe, case.commitments));
        first_deviation(&instance, &recompute(&instance, recipe, case.reveals), case)
    }
}

fn first_deviation(instance: &Instance, truth: &Truth, case: &Case<'_>) -> Option<Verdict> {
    let members = instance.committee.members();
    let shown = case.reveals.iter().flat_map(|(&position, reveal)| {
        let to = members[position];
        reveal.deals.iter().filter(move |m| m.to == to && m.step.part == Part::Deal)
    });
    let mut false_deals: Vec<&Header> =
        shown.filter(|m| instance.vouches(m) && truth.contradicts(m)).collect();
    false_deals.sort_by_key(|m| (m.step, m.from));
    if let Some(deal) = false_deals.first() {
        let deviation = Deviation::Dealt(deal.step, deal.to);
        return Some(Verdict { culprit: deal.from, deviation });
    }
    let Case { complainer, complaint, .. } = *case;
    let relevant =
        |m: &&Header| m.to == complainer && m.step == complaint.step && m.from != complainer;
    let mut sent = complaint.messages.iter().filter(relevant);
    match sent.find(|m| instance.vouches(m) && truth.contradicts(m)) {
        Some(m) => {
            Some(Verdict { culprit: m.from, deviation: Deviation::Sent(m.step, complainer) })
        }
        None => {
            let verdict = Verdict { culprit: complainer, deviation: Deviation::Groundless };
            truth.ends_well.then_some(verdict)
        }
    }
}

impl Truth {
    fn contradicts(&self, message: &Header) -> bool {
        self.bodies.get(&(message.step, message.from, message.to)) != Some(&message.body)
    }
}

fn recompute<R: Recipe>(
    instance: &Arc<Instance>,
    recipe: &R,
    reveals: &BTreeMap<usize, Reveal>,
) -> Truth {
    let members = instance.committee.members();
    // Signatures do not matter here: a replay has keys of its own, that anybody knows.
    let keys: Vec<Arc<SigningKey>> =
        members.iter().map(|m| Arc::new(SigningKey::from_seed(&[m.0; 32]))).collect();
    let mut replay = (**instance).clone();
    replay.keys = keys.iter().map(|key| key.verifying_key()).collect();
    let replay = Arc::new(replay);
    // Private checks decide nothing in an honest run; any weights will do.
    let mut weights = Tape::new(&Secret::new([0; 32]));
    let mut machines: Vec<_> = reveals
        .iter()
        .map(|(&me, reveal)| {
            let program = recipe.program(&replay.committee, me);
            let tape = Tape::new(&reveal.seed);
            Machine::new(Arc::clone(&replay), me, Arc::clone(&keys[me]), program, tape)
        })
        .collect();
    let mut truth = Truth { bodies: BTreeMap::new(), ends_well: true };
    let mut done = 0;
    let mut queue: VecDeque<(usize, PartyId, Vec<u8>)> = VecDeque::new();
    let mut post =
        |from: usize, step: crate::machine::Step<Outcome<_>>, queue: &mut VecDeque<_>| {
            done += step.outputs.iter().filter(|o| matches!(o, Outcome::Done(_))).count();
            for (to, bytes) in step.sends {
                let message = Signed::from_bytes(&bytes).expect("machines send messages");
                let header = message.header();
                truth.bodies.insert((header.step, header.from, to), header.body);
                queue.push_back((from, to, bytes));
            }
        };
    for (me, machine) in machines.iter_mut().enumerate() {
        post(me, machine.start(&mut weights), &mut queue);
    }
    while let Some((from, to, bytes)) = queue.pop_front() {
        let receiver = instance.committee.position(to).expect("members send to members");
        let step = machines[receiver].handle(members[from], &bytes, &mut weights);
        post(receiver, step, &mut queue);
    }
    truth.ends_well = done == members.len();
    truth
}

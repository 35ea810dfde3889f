//! What is noted about peers (spec 9). A peer's fault is data: it stops nothing.

use ostrakon_field::Fp;
use ostrakon_party::PartyId;

use crate::algebra::interpolation::lagrange;
use crate::message::{Header, Instance, Signed};

/// Something wrong that came from a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The peer it came from.
    pub from: PartyId,
    /// What it was.
    pub kind: FaultKind,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Bytes without the peer's signature over this run. Convicts nobody.
    Unsigned,
    /// A signed message that no honest member sends: in no step of the run, of another length, or
    /// with an element that is none.
    Malformed(Box<Signed>),
    /// Two signed messages where there is one.
    Equivocation(Box<[Header; 2]>),
    /// A signed vector that is not on the polynomials of 2t + 1 signed ones.
    Wrong {
        /// The vector.
        vector: Box<Signed>,
        /// Vectors of the same step to the same receiver that agree.
        agreeing: Vec<Signed>,
    },
}

impl Fault {
    /// Whether the fault proves its sender's guilt to a third person who knows the run. Silence and
    /// unsigned bytes are no faults in this sense; [`FaultKind::Wrong`] counts only where the
    /// opened sharings were of degree t, that is with checked material.
    #[must_use]
    pub fn convicts(&self, instance: &Instance) -> bool {
        let by_culprit = |m: &Header| m.from == self.from && instance.vouches(m);
        match &self.kind {
            FaultKind::Unsigned => false,
            FaultKind::Malformed(message) => {
                by_culprit(&message.header()) && !well_formed(message, instance)
            }
            FaultKind::Equivocation(messages) => {
                let [a, b] = &**messages;
                by_culprit(a)
                    && by_culprit(b)
                    && a.to == b.to
                    && a.step == b.step
                    && a.body != b.body
            }
            FaultKind::Wrong { vector, agreeing } => {
                by_culprit(&vector.header()) && off_polynomial(vector, agreeing, instance)
            }
        }
    }
}

fn expected(message: &Signed, instance: &Instance) -> Option<usize> {
    let from = instance.committee.position(message.from)?;
    let to = instance.committee.position(message.to)?;
    instance.expected(message.step, from, to)
}

fn well_formed(message: &Signed, instance: &Instance) -> bool {
    expected(message, instance).is_some_and(|count| message.has_elements(count))
}

/// Whether `agreeing` are 2t + 1 members' vectors on polynomials of degree t, and `vector` is not.
fn off_polynomial(vector: &Signed, agreeing: &[Signed], instance: &Instance) -> bool {
    let committee = &instance.committee;
    let phase = instance.phases.get(usize::from(vector.step.phase));
    let alike =
        |m: &Signed| m.step == vector.step && m.to == vector.to && instance.vouches(&m.header());
    // The receiver's own vector may be among them, signed by itself: of 2t + 1 distinct senders at
    // least t + 1 are honest, whoever the receiver is.
    if !phase.is_some_and(|phase| phase.is_robust())
        || agreeing.len() != committee.agreeing()
        || !agreeing.is_sorted_by(|a, b| a.from < b.from)
        || !agreeing.iter().all(alike)
    {
        return false;
    }
    let read =
        |m: &Signed| Some((committee.position(m.from)?, m.elements(expected(m, instance)?)?));
    let Some((culprit, values)) = read(vector) else {
        return false;
    };
    let Some(right) = agreeing.iter().map(read).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let (base, rest) = right.split_at(committee.corrupt() + 1);
    let points: Vec<Fp> = base.iter().map(|(i, _)| committee.point(*i)).collect();
    let vectors: Vec<&[Fp]> = base.iter().map(|(_, vector)| &vector[..]).collect();
    let at = |i: usize| {
        crate::algebra::vectors::combine(&lagrange(&points, committee.point(i)), &vectors)
    };
    rest.iter().all(|(i, vector)| at(*i) == *vector) && at(culprit) != values
}

//! What members say on a computation, signed, and what all of it amounts to
//! (`docs/spec/committee.md`, section 2).

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::GENERATIONS;
use crate::draft::{CONTRIBUTORS, Cancellation, ComputationId};
use crate::input::Entry;

/// Longest reason of a stop in bytes of UTF-8.
const WHY_BYTES: usize = 300;

/// Most inputs that a member can hold: two of each contributor, which are evidence.
const MOST_HELD: usize = 2 * CONTRIBUTORS;

/// What answers have told of contributors, by one member's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The most that all answers together, this one included, tell of any one contributor in the
    /// seal: thousandths of ε. None if one of them was exact: there is no measure of that.
    pub most: Option<u64>,
    /// How much the member lets them tell; none if it sets no limit.
    pub budget: Option<u64>,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// "I hold a contributor's input, and have written it down" (C4).
    Receipt {
        /// Whose.
        contributor: VerifyingKey,
        /// The digest of its body.
        body: Digest,
    },
    /// "I have closed, and these are the inputs that I hold", in ascending order (C6).
    Holdings(Vec<Entry>),
    /// "This is the list that counts, and I hold all that is in it" (C7).
    Sealed {
        /// The seal's digest.
        seal: Digest,
        /// "And this is what answers have told of those who are in it", if the job has a measure.
        spent: Option<Spent>,
    },
    /// "I am ready to compute on this seal, for the time of this number" (C8).
    Ready {
        /// The seal's digest.
        seal: Digest,
        /// How often the member has begun, from 1.
        generation: u32,
    },
    /// "This came out" (C10).
    Outcome {
        /// The seal's digest.
        seal: Digest,
        /// The digest of the result.
        result: Digest,
    },
    /// "I shall not go on with this", and why (C9).
    Stopped(String),
    /// "I have ended this, since its creator wants nothing to come out" (C13); in place of
    /// [`Said::Outcome`].
    Cancelled {
        /// The creator's word.
        order: Cancellation,
        /// "But I had begun to open what was asked for".
        opened: bool,
    },
}

/// What a member says on a computation, with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What it is about.
    pub computation: ComputationId,
    /// What is said.
    pub said: Said,
    /// The member's signature.
    pub signature: Signature,
}

impl Statement {
    fn digest(computation: &ComputationId, said: &Said) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/committee/statement");
        transcript.field(&computation.0.0).bulk_field(&wire::encode(said));
        transcript.finish()
    }

    /// Signs what a member says.
    pub fn sign(computation: ComputationId, said: Said, member: &SigningKey) -> Self {
        let signature = member.sign(&Self::digest(&computation, &said));
        Self { computation, said, signature }
    }

    /// Whether the member with this key has said it, in the form that it must have.
    #[must_use]
    pub fn verifies(&self, member: &VerifyingKey) -> bool {
        let formed = match &self.said {
            Said::Holdings(entries) => {
                entries.len() <= MOST_HELD && entries.windows(2).all(|pair| pair[0] < pair[1])
            }
            Said::Ready { generation, .. } => (1..=GENERATIONS).contains(generation),
            Said::Stopped(why) => why.len() <= WHY_BYTES && !why.contains(char::is_control),
            Said::Cancelled { order, .. } => order.computation == self.computation,
            Said::Receipt { .. } | Said::Sealed { .. } | Said::Outcome { .. } => true,
        };
        formed && member.verifies(&Self::digest(&self.computation, &self.said), &self.signature)
    }
}

/// A reason cut to the length that a statement may have, without what would move a terminal.
pub(crate) fn reason(why: &str) -> String {
    let why = why.replace(char::is_control, " ");
    let mut end = why.len().min(WHY_BYTES);
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    why[..end].to_owned()
}

impl Said {
    /// "I shall not go on", with a reason of any length.
    pub fn stopped(why: &str) -> Self {
        Said::Stopped(reason(why))
    }
}

/// Two statements of one member that cannot both be honest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Equivocation {
    /// The member's number.
    pub member: usize,
    /// What it said first.
    pub one: Statement,
    /// What it said besides.
    pub other: Statement,
}

impl Equivocation {
    /// Whether the two contradict each other, and both are of the member with this key.
    #[must_use]
    pub fn convicts(&self, member: &VerifyingKey) -> bool {
        let (one, other) = (&self.one, &self.other);
        one.computation == other.computation
            && one.said != other.said
            && one.said.place() == other.said.place()
            && one.verifies(member)
            && other.verifies(member)
    }
}

/// Where one statement of a member stands: it makes no two different ones at one place.
#[derive(PartialEq, Eq)]
enum Place {
    Receipt(VerifyingKey, Digest),
    Holdings,
    Sealed,
    Ready(u32),
    Outcome,
    Stopped,
}

impl Said {
    fn place(&self) -> Place {
        match self {
            Said::Receipt { contributor, body } => Place::Receipt(*contributor, *body),
            Said::Holdings(_) => Place::Holdings,
            Said::Sealed { .. } => Place::Sealed,
            Said::Ready { generation, .. } => Place::Ready(*generation),
            Said::Outcome { .. } | Said::Cancelled { .. } => Place::Outcome,
            Said::Stopped(_) => Place::Stopped,
        }
    }
}

/// What one member has said on one computation, receipts apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// [`Said::Holdings`].
    pub holdings: Option<Statement>,
    /// [`Said::Sealed`].
    pub sealed: Option<Statement>,
    /// [`Said::Ready`] of the highest generation.
    pub ready: Option<Statement>,
    /// [`Said::Outcome`], or [`Said::Cancelled`] in its place: no member ends a computation in both
    /// ways.
    pub outcome: Option<Statement>,
    /// [`Said::Stopped`].
    pub stopped: Option<Statement>,
}

impl Told {
    /// All statements.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        [&self.holdings, &self.sealed, &self.ready, &self.outcome, &self.stopped]
            .into_iter()
            .flatten()
    }

    /// Takes in a statement that has been verified; returns whether it is news.
    ///
    /// # Errors
    /// The statement that it contradicts.
    pub fn take(&mut self, statement: Statement) -> Result<bool, Box<Statement>> {
        let generation = |statement: &Statement| match statement.said {
            Said::Ready { generation, .. } => generation,
            _ => 0,
        };
        let place = match &statement.said {
            Said::Receipt { .. } => return Ok(false),
            Said::Holdings(_) => &mut self.holdings,
            Said::Sealed { .. } => &mut self.sealed,
            Said::Ready { .. } => &mut self.ready,
            Said::Outcome { .. } | Said::Cancelled { .. } => &mut self.outcome,
            Said::Stopped(_) => &mut self.stopped,
        };
        match place {
            None => {}
            Some(known) if known.said == statement.said => return Ok(false),
            Some(known) if generation(known) > generation(&statement) => return Ok(false),
            Some(known) if generation(known) < generation(&statement) => {}
            Some(known) => return Err(Box::new(known.clone())),
        }
        *place = Some(statement);
        Ok(true)
    }

    /// What it holds.
    pub fn held(&self) -> Option<&[Entry]> {
        match &self.holdings.as_ref()?.said {
            Said::Holdings(entries) => Some(entries),
            _ => None,
        }
    }

    /// Which seal it has signed.
    pub fn seal(&self) -> Option<Digest> {
        match &self.sealed.as_ref()?.said {
            Said::Sealed { seal, .. } => Some(*seal),
            _ => None,
        }
    }

    /// What answers have told of those in the seal that it has signed.
    pub fn spent(&self) -> Option<Spent> {
        match &self.sealed.as_ref()?.said {
            Said::Sealed { spent, .. } => *spent,
            _ => None,
        }
    }

    /// For which seal it is ready, for the how manieth time.
    pub fn generation(&self) -> Option<(Digest, u32)> {
        match &self.ready.as_ref()?.said {
            Said::Ready { seal, generation } => Some((*seal, *generation)),
            _ => None,
        }
    }

    /// What came out at it, of which seal.
    pub fn result(&self) -> Option<(Digest, Digest)> {
        match &self.outcome.as_ref()?.said {
            Said::Outcome { seal, result } => Some((*seal, *result)),
            _ => None,
        }
    }

    /// The creator's word by which it has ended the computation, and whether it had begun to open.
    pub fn cancelled(&self) -> Option<(Cancellation, bool)> {
        match &self.outcome.as_ref()?.said {
            Said::Cancelled { order, opened } => Some((*order, *opened)),
            _ => None,
        }
    }

    /// Why it has stopped.
    pub fn why(&self) -> Option<&str> {
        match &self.stopped.as_ref()?.said {
            Said::Stopped(why) => Some(why),
            _ => None,
        }
    }
}

/// Whether a list in ascending order names no key more often than twice: two inputs are evidence,
/// more are none.
pub(crate) fn at_most_two(entries: &[Entry]) -> bool {
    let same = |three: &[Entry]| three[0].contributor == three[2].contributor;
    !entries.windows(3).any(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::committee::tests::key;

    const ID: ComputationId = ComputationId(Digest([1; 32]));

    fn said(said: Said) -> Statement {
        Statement::sign(ID, said, &key(9))
    }

    #[test]
    fn a_member_contradicts_itself_by_two_statements_where_one_is_allowed() {
        let seal = Digest([2; 32]);
        let ready = |generation| said(Said::Ready { seal, generation });
        let mut told = Told::default();
        let sealed = |seal| said(Said::Sealed { seal, spent: None });
        assert_eq!(told.take(sealed(seal)), Ok(true));
        assert_eq!(told.take(sealed(seal)), Ok(false), "no news");
        let other = sealed(Digest([3; 32]));
        let one = *told.take(other.clone()).unwrap_err();
        let evidence = Equivocation { member: 0, one, other };
        assert!(evidence.convicts(&key(9).verifying_key()));
        assert!(!evidence.convicts(&key(8).verifying_key()));
        // Generations rise, and an old one that arrives late is no contradiction.
        for (generation, news) in [(1, true), (3, true), (2, false), (3, false)] {
            assert_eq!(told.take(ready(generation)), Ok(news), "{generation}");
        }
        assert_eq!(told.generation(), Some((seal, 3)));
        let honest = Equivocation { member: 0, one: ready(1), other: ready(2) };
        assert!(!honest.convicts(&key(9).verifying_key()), "two generations are no contradiction");
        // Attack: a member signs a result, and says elsewhere that there is to be none.
        let order = Cancellation::sign(ID, &key(50));
        let cancelled = said(Said::Cancelled { order, opened: false });
        assert_eq!(told.take(said(Said::Outcome { seal, result: seal })), Ok(true));
        let one = *told.take(cancelled.clone()).unwrap_err();
        assert_eq!((told.result(), told.cancelled()), (Some((seal, seal)), None));
        assert!(
            Equivocation { member: 0, one, other: cancelled }.convicts(&key(9).verifying_key())
        );
        let same = Equivocation { member: 0, one: ready(1), other: ready(1) };
        assert!(!same.convicts(&key(9).verifying_key()));
    }

    /// Attack: a member lists so much that others run out of memory and disk.
    #[test]
    fn a_list_longer_than_any_honest_one_is_no_statement() {
        let honest = crate::Input::sign(&ID, vec![1], &key(1)).entry;
        let entry = |i: usize| {
            let mut body = [0; 32];
            body[..8].copy_from_slice(&(i as u64).to_be_bytes());
            Entry { body: Digest(body), ..honest }
        };
        let of = |count| said(Said::Holdings((0..count).map(entry).collect()));
        assert!(of(MOST_HELD).verifies(&key(9).verifying_key()));
        assert!(!of(MOST_HELD + 1).verifies(&key(9).verifying_key()));
    }

    #[test]
    fn statements_are_of_one_member_on_one_computation_in_one_form() {
        let member = key(9).verifying_key();
        let good = said(Said::Sealed { seal: Digest([2; 32]), spent: None });
        assert!(good.verifies(&member));
        assert!(!good.verifies(&key(8).verifying_key()));
        let elsewhere = Statement { computation: ComputationId(Digest([5; 32])), ..good };
        assert!(!elsewhere.verifies(&member));
        for generation in [0, GENERATIONS + 1] {
            let ready = said(Said::Ready { seal: Digest([2; 32]), generation });
            assert!(!ready.verifies(&member), "{generation}");
        }
        let of_another = Cancellation::sign(ComputationId(Digest([5; 32])), &key(50));
        let cancelled = said(Said::Cancelled { order: of_another, opened: false });
        assert!(!cancelled.verifies(&member));
        assert!(!said(Said::Stopped("x".repeat(WHY_BYTES + 1))).verifies(&member));
        assert!(said(Said::stopped(&"é".repeat(WHY_BYTES))).verifies(&member));
        // Attack: a reason that rewrites what the reader's terminal shows.
        let escape = "\u{1b}[2Jmedian: 4711";
        assert!(!said(Said::Stopped(escape.into())).verifies(&member));
        assert!(said(Said::stopped(escape)).verifies(&member));
    }
}

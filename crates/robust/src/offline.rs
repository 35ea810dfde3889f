//! Preparing material (spec 6 to 8): one batch is one run of a recipe by 3t + 1 members, which is
//! used only once all of them have said that it is right.
//!
//! The ledger (not part of this crate) gives records to all members in one order. Everything that
//! decides about a batch is decided by that order.

pub mod clos;
mod judge;
pub mod proof;
pub mod recipes;
mod record;
mod roots;
mod shuffle_stock;
pub mod switches;

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_crypto::{Digest, Secret, SigningKey, Transcript, VerifyingKey};
use ostrakon_party::PartyId;
use rand_core::Rng;

use crate::committee::Committee;
use crate::machine::{Machine, Outcome, Step};
use crate::message::{Instance, Part};
use crate::program::Program;
use crate::tape::Tape;

pub use self::judge::{Case, Deviation, Verdict};
pub use self::record::{Complaint, Record, Reveal};
pub(crate) use self::shuffle_stock::apply;
pub use self::shuffle_stock::{Shuffle, ShufflePreparation, ShuffleStock, Stage};

/// What a batch makes.
pub trait Recipe: Clone {
    /// The program by which members make it.
    type Program: Program;

    /// The part of the member at a position.
    fn program(&self, committee: &Arc<Committee>, me: usize) -> Self::Program;

    /// Adds what the recipe says to the batch's name.
    fn describe(&self, transcript: &mut Transcript);
}

/// Which batch, among whom.
#[derive(Clone)]
pub struct Subject {
    /// The deployment.
    pub session: Digest,
    /// The batch's number, which is never used twice, by a restarted server neither.
    pub number: u64,
    /// The members, 3t + 1 of them.
    pub committee: Arc<Committee>,
    /// Their identity keys, by position.
    pub keys: Vec<VerifyingKey>,
}

impl Subject {
    /// The batch's name, to which all members' commitments bind it.
    pub fn name<R: Recipe>(&self, recipe: &R, commitments: &[Digest]) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/robust/batch");
        transcript.field(&self.session.0).number(self.number);
        transcript.number(self.committee.corrupt() as u64);
        for (member, commitment) in self.committee.members().iter().zip(commitments) {
            transcript.field(&[member.0]).field(&commitment.0);
        }
        recipe.describe(&mut transcript);
        transcript.finish()
    }

    /// The run by which the batch is prepared.
    pub fn instance<R: Recipe>(&self, recipe: &R, commitments: &[Digest]) -> Instance {
        Instance {
            name: self.name(recipe, commitments),
            committee: Arc::clone(&self.committee),
            keys: self.keys.clone(),
            phases: recipe.program(&self.committee, 0).phases(),
        }
    }

    fn commitment(&self, author: PartyId, seed: &Secret) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/robust/seed");
        transcript.field(&self.session.0).number(self.number).field(&[author.0]);
        transcript.field(seed.expose());
        transcript.finish()
    }
}

/// Material of a batch that all members have found right. The only way to it is [`Batch`].
#[must_use]
pub struct Checked<T> {
    batch: Digest,
    committee: Arc<Committee>,
    stock: T,
}

/// Where a server writes down what it spends material on, before anything depends on it.
pub trait Journal {
    /// Writes durably that `batch` is spent on `purpose`; false if it is spent on something else.
    fn spend(&mut self, batch: Digest, purpose: Digest) -> bool;
}

/// The batch has been spent on something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch has been spent on something else")]
pub struct AlreadySpent;

/// Checked material that is written down to be spent on one purpose.
#[must_use]
pub struct Spent<T> {
    name: Digest,
    committee: Arc<Committee>,
    stock: T,
}

impl<T> Checked<T> {
    /// Material from this server's own disk, which was written there before the server said that it
    /// was right ([`Batch::finished`]), of a batch that every member has said to be right in the
    /// ledger. Nothing here can check either.
    pub fn restore(batch: Digest, committee: Arc<Committee>, stock: T) -> Self {
        Self { batch, committee, stock }
    }

    /// The batch's name.
    pub fn batch(&self) -> Digest {
        self.batch
    }

    /// The material, for what is given out share by share before it is spent (clients' masks).
    pub fn stock(&self) -> &T {
        &self.stock
    }

    /// The same material in another form, computed before it is known what it is spent on.
    pub fn map<U>(self, form: impl FnOnce(T) -> U) -> Checked<U> {
        Checked { batch: self.batch, committee: self.committee, stock: form(self.stock) }
    }

    /// Takes the material into use for one purpose: a digest of everything public that decides what
    /// is computed (the sealed submissions, the program).
    ///
    /// # Errors
    /// [`AlreadySpent`]: matrices and masks are for one table.
    pub fn spend(
        self,
        purpose: Digest,
        journal: &mut impl Journal,
    ) -> Result<Spent<T>, AlreadySpent> {
        if !journal.spend(self.batch, purpose) {
            return Err(AlreadySpent);
        }
        let mut transcript = Transcript::new("ostrakon/v1/robust/online");
        transcript.field(&self.batch.0).field(&purpose.0);
        let name = transcript.finish();
        Ok(Spent { name, committee: self.committee, stock: self.stock })
    }
}

impl<T> Spent<T> {
    /// The run of a program on this material: its messages are signed for this batch and purpose.
    #[must_use]
    pub fn instance(&self, keys: &[VerifyingKey], program: &impl Program) -> Instance {
        Instance {
            name: self.name,
            committee: Arc::clone(&self.committee),
            keys: keys.to_vec(),
            phases: program.phases(),
        }
    }

    /// Names the run in which it is spent.
    pub fn name(&self) -> Digest {
        self.name
    }

    /// The material, to be looked at.
    pub fn stock(&self) -> &T {
        &self.stock
    }

    /// The material, for a program.
    pub fn into_stock(self) -> T {
        self.stock
    }
}

/// What a batch tells its server.
pub enum Event<T> {
    /// Put this before the ledger.
    Propose(Record),
    /// The material is ready: every member has said in the ledger that it is right.
    Ready(Checked<T>),
    /// A member has complained before: the batch is thrown away, and being opened.
    Burned,
    /// A burnt batch has been recomputed; the member that deviated, or nobody.
    Judged(Option<PartyId>),
}

enum State<P: Program> {
    Committing,
    Running(Box<Machine<P>>),
    /// The own part is done; the output waits for the others' words.
    Finished(Box<Machine<P>>, P::Output),
    Complained(Box<Machine<P>>),
    Burned {
        complaint: Complaint,
        complainer: PartyId,
    },
    Over,
}

/// Messages kept of a member before all commitments are known: an honest one has sent its dealing.
const EARLY: usize = 2;

/// A server's part in preparing one batch.
pub struct Batch<R: Recipe> {
    subject: Subject,
    recipe: R,
    me: usize,
    key: Arc<SigningKey>,
    seed: Secret,
    commitments: BTreeMap<usize, Digest>,
    early: Vec<Vec<Vec<u8>>>,
    instance: Option<Arc<Instance>>,
    state: State<R::Program>,
    agreed: Vec<bool>,
    reveals: BTreeMap<usize, Reveal>,
}

type Output<R> = <<R as Recipe>::Program as Program>::Output;

impl<R: Recipe> Batch<R> {
    /// Begins with a uniform seed, and proposes the commitment to it. The number is written down
    /// before the proposal leaves: a server that restarts takes no further part in a batch that it
    /// had begun, because what it received is gone, and what it said depended on that.
    ///
    /// # Panics
    /// If the committee is not of 3t + 1 members, or the position or the keys are not its.
    pub fn new(
        subject: Subject,
        recipe: R,
        me: usize,
        key: Arc<SigningKey>,
        seed: Secret,
    ) -> (Batch<R>, Record) {
        assert!(subject.committee.prepares(), "material is prepared by 3t + 1 members");
        assert!(me < subject.committee.size() && subject.keys.len() == subject.committee.size());
        let commitment = subject.commitment(subject.committee.members()[me], &seed);
        let size = subject.committee.size();
        let batch = Batch {
            subject,
            recipe,
            me,
            key,
            seed,
            commitments: BTreeMap::new(),
            early: vec![Vec::new(); size],
            instance: None,
            state: State::Committing,
            agreed: vec![false; size],
            reveals: BTreeMap::new(),
        };
        (batch, Record::Commit(commitment))
    }

    /// The run, once all commitments are ordered.
    #[must_use]
    pub fn instance(&self) -> Option<&Arc<Instance>> {
        self.instance.as_ref()
    }

    /// The batch's name and the own material, between the proposal to say that it is right and the
    /// others' words: what is to be durable before that proposal leaves, so that a restart does not
    /// cost it.
    pub fn finished(&self) -> Option<(Digest, &Output<R>)> {
        match &self.state {
            State::Finished(machine, output) => Some((machine.instance().name, output)),
            _ => None,
        }
    }

    /// Takes a member's message.
    pub fn handle(
        &mut self,
        from: PartyId,
        bytes: &[u8],
        rng: &mut impl Rng,
    ) -> Step<Event<Output<R>>> {
        match &mut self.state {
            State::Committing => {
                if let Some(position) = self.subject.committee.position(from)
                    && self.early[position].len() < EARLY
                {
                    self.early[position].push(bytes.to_vec());
                }
                Step::default()
            }
            State::Running(machine) => {
                let step = machine.handle(from, bytes, rng);
                self.moved(step)
            }
            _ => Step::default(),
        }
    }

    /// Takes the next record of the ledger. Records of others than members count for nothing.
    pub fn ordered(
        &mut self,
        author: PartyId,
        record: Record,
        rng: &mut impl Rng,
    ) -> Step<Event<Output<R>>> {
        let Some(position) = self.subject.committee.position(author) else {
            return Step::default();
        };
        match record {
            Record::Commit(digest) => self.committed(position, digest, rng),
            Record::Right => self.said_right(position),
            Record::Complaint(complaint) => self.burn(author, complaint),
            Record::Reveal(reveal) => self.revealed(position, reveal),
        }
    }

    fn committed(
        &mut self,
        position: usize,
        digest: Digest,
        rng: &mut impl Rng,
    ) -> Step<Event<Output<R>>> {
        let first = *self.commitments.entry(position).or_insert(digest);
        let me = self.subject.committee.members()[self.me];
        if position == self.me && first != self.subject.commitment(me, &self.seed) {
            // This server has committed to another seed, in an earlier life. What it would deal now
            // would convict it; silence names nobody.
            self.state = State::Over;
        }
        if !matches!(self.state, State::Committing)
            || self.commitments.len() < self.subject.committee.size()
        {
            return Step::default();
        }
        // Nobody deals before everybody is bound to a seed.
        let commitments: Vec<Digest> = self.commitments.values().copied().collect();
        let instance = Arc::new(self.subject.instance(&self.recipe, &commitments));
        let program = self.recipe.program(&self.subject.committee, self.me);
        let tape = Tape::new(&self.seed);
        let key = Arc::clone(&self.key);
        let mut machine = Machine::new(Arc::clone(&instance), self.me, key, program, tape);
        let mut step = machine.start(rng);
        for (position, messages) in std::mem::take(&mut self.early).into_iter().enumerate() {
            let from = self.subject.committee.members()[position];
            for bytes in messages {
                let more = machine.handle(from, &bytes, rng);
                step.outputs.extend(more.outputs);
                step.sends.extend(more.sends);
                step.faults.extend(more.faults);
            }
        }
        self.instance = Some(instance);
        self.state = State::Running(Box::new(machine));
        self.moved(step)
    }

    /// Says in the ledger how the own part ended.
    fn moved(&mut self, step: Step<Outcome<Output<R>>>) -> Step<Event<Output<R>>> {
        let mut events = Step { outputs: Vec::new(), sends: step.sends, faults: step.faults };
        for outcome in step.outputs {
            let State::Running(machine) = std::mem::replace(&mut self.state, State::Over) else {
                unreachable!("only a running machine has outputs, and only one")
            };
            match outcome {
                Outcome::Done(output) => {
                    self.state = State::Finished(machine, output);
                    events.outputs.push(Event::Propose(Record::Right));
                }
                Outcome::Spoilt(id) => {
                    let messages = machine.received().filter(|m| m.step == id).collect();
                    self.state = State::Complained(machine);
                    let complaint = Complaint { step: id, messages };
                    events.outputs.push(Event::Propose(Record::Complaint(complaint)));
                }
            }
        }
        events
    }

    fn said_right(&mut self, position: usize) -> Step<Event<Output<R>>> {
        let mut step = Step::default();
        if matches!(self.state, State::Burned { .. } | State::Over | State::Committing) {
            return step;
        }
        self.agreed[position] = true;
        // t + 1 would do for a robust opening; here one honest member that found an error in its
        // own check must be heard, and any member may be that one: all 3t + 1.
        if !self.agreed.iter().all(|&agreed| agreed) {
            return step;
        }
        if let State::Finished(machine, stock) = std::mem::replace(&mut self.state, State::Over) {
            let batch = machine.instance().name;
            let committee = Arc::clone(&self.subject.committee);
            step.outputs.push(Event::Ready(Checked { batch, committee, stock }));
        }
        step
    }

    /// The first complaint before "ready" burns the batch; afterwards complaints are void.
    fn burn(&mut self, complainer: PartyId, complaint: Complaint) -> Step<Event<Output<R>>> {
        let mut step = Step::default();
        if matches!(self.state, State::Burned { .. } | State::Over | State::Committing) {
            return step;
        }
        let burned = State::Burned { complaint, complainer };
        let state = std::mem::replace(&mut self.state, burned);
        let (State::Running(machine) | State::Finished(machine, _) | State::Complained(machine)) =
            state
        else {
            unreachable!("the other states have returned")
        };
        let deals = machine.received().filter(|m| m.step.part == Part::Deal).collect();
        let reveal = Reveal { seed: self.seed.clone(), deals };
        step.outputs.push(Event::Burned);
        step.outputs.push(Event::Propose(Record::Reveal(reveal)));
        step
    }

    /// Notes what a member shows of a burnt batch; when all have, the batch is recomputed.
    fn revealed(&mut self, position: usize, reveal: Reveal) -> Step<Event<Output<R>>> {
        let mut step = Step::default();
        let State::Burned { complaint, complainer } = &self.state else { return step };
        self.reveals.entry(position).or_insert(reveal);
        let commitments: Vec<Digest> = self.commitments.values().copied().collect();
        let case = Case {
            commitments: &commitments,
            complainer: *complainer,
            complaint,
            reveals: &self.reveals,
        };
        let verdict = self.subject.judge(&self.recipe, &case);
        if verdict.is_some() || self.reveals.len() == self.subject.committee.size() {
            step.outputs.push(Event::Judged(verdict.map(|verdict| verdict.culprit)));
            self.state = State::Over;
        }
        step
    }
}

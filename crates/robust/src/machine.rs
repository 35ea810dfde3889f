//! The state machine that runs a program among the members of a committee (spec 3 to 6).
//!
//! Messages go in; messages, the program's output and faults come out. Nothing here waits, looks at
//! a clock or fails because of a peer. Messages for later phases are kept, at most one of each
//! member for each step; their lengths are fixed beforehand.

mod inbox;
mod random;

use std::sync::Arc;

use ostrakon_crypto::SigningKey;
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use rand_core::Rng;

use crate::fault::Fault;
use crate::message::{Header, Instance, Part, StepId, bytes_of};
use crate::opening::{Opening, Verdict};
use crate::phase::Phase;
use crate::program::{Given, Program, Turn};
use crate::tape::Tape;

use self::inbox::Inbox;
use self::random::Random;

/// What a state machine has to say after an input.
#[must_use]
pub struct Step<O> {
    /// Outputs, in order.
    pub outputs: Vec<O>,
    /// Messages to send, with their receivers.
    pub sends: Vec<(PartyId, Vec<u8>)>,
    /// What was wrong with what came.
    pub faults: Vec<Fault>,
}

impl<O> Default for Step<O> {
    fn default() -> Self {
        Step { outputs: Vec::new(), sends: Vec::new(), faults: Vec::new() }
    }
}

/// How a run ends at this server.
pub enum Outcome<O> {
    /// With the program's output. The server has sent all that others need of it.
    Done(O),
    /// What came in this step does not fit together, although nothing is wrong with this server.
    /// Never with [`crate::opening::Mode::Robust`] openings only.
    Spoilt(StepId),
}

/// Where the current phase stands.
enum State {
    /// The program is to say what comes next.
    Between(Given),
    Drawing(Random),
    Dealing {
        acknowledged: bool,
    },
    Opening(Box<Opening>),
    Over,
}

/// A server's part in one run.
pub struct Machine<P: Program> {
    instance: Arc<Instance>,
    me: usize,
    key: Arc<SigningKey>,
    program: P,
    tape: Tape,
    phase: usize,
    state: State,
    inbox: Inbox,
}

impl<P: Program> Machine<P> {
    /// Prepares the part of the member at position `me`; `tape` is what it deals from.
    ///
    /// # Panics
    /// If the instance's phases are not the program's.
    pub fn new(
        instance: Arc<Instance>,
        me: usize,
        key: Arc<SigningKey>,
        program: P,
        tape: Tape,
    ) -> Machine<P> {
        assert_eq!(instance.phases, program.phases(), "the instance is of this program");
        let inbox = Inbox::new(Arc::clone(&instance), me);
        let state = State::Between(Given::Nothing);
        Machine { instance, me, key, program, tape, phase: 0, state, inbox }
    }

    /// Begins. `rng` is for private checks, here and below, and need not be reproducible.
    pub fn start(&mut self, rng: &mut impl Rng) -> Step<Outcome<P::Output>> {
        let mut step = Step::default();
        self.advance(&mut step, rng);
        step
    }

    /// Takes a message from `from`, as whoever carries messages says; the signature decides.
    pub fn handle(
        &mut self,
        from: PartyId,
        bytes: &[u8],
        rng: &mut impl Rng,
    ) -> Step<Outcome<P::Output>> {
        let mut step = Step::default();
        step.faults.extend(self.inbox.take(from, bytes));
        if !matches!(self.state, State::Over | State::Between(_)) {
            self.advance(&mut step, rng);
        }
        step
    }

    /// What has been received so far, for evidence.
    pub fn received(&self) -> impl Iterator<Item = Header> {
        self.inbox.received()
    }

    /// The committee and its run.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    fn advance(&mut self, step: &mut Step<Outcome<P::Output>>, rng: &mut impl Rng) {
        loop {
            let state = std::mem::replace(&mut self.state, State::Over);
            let next = match state {
                State::Over => return,
                State::Between(given) => self.begin(given, step),
                State::Drawing(random) => self.draw(random, step, rng),
                State::Dealing { acknowledged } => self.deal(acknowledged, step),
                State::Opening(opening) => self.open(opening, step, rng),
            };
            match next {
                Next::Moved(state) => self.state = state,
                Next::Waits(state) => {
                    self.state = state;
                    return;
                }
            }
        }
    }

    /// Lets the program say what comes next, and sends what begins that phase.
    fn begin(&mut self, given: Given, step: &mut Step<Outcome<P::Output>>) -> Next {
        if !matches!(given, Given::Nothing) {
            self.inbox.close(self.phase);
            self.phase += 1;
        }
        let turn = self.program.next(given, &mut self.tape);
        let phase = self.instance.phases.get(self.phase).cloned();
        match (turn, phase) {
            (Turn::Done(output), None) => {
                step.outputs.push(Outcome::Done(output));
                Next::Waits(State::Over)
            }
            (Turn::Refuse, _) => self.spoilt(self.phase - 1, Part::Tell, step),
            (Turn::Draw, Some(Phase::Random { singles, doubles })) => {
                let committee = Arc::clone(&self.instance.committee);
                let (random, vectors) =
                    Random::start(committee, self.me, singles, doubles, &mut self.tape);
                self.send_each(Part::Deal, vectors, step);
                Next::Moved(State::Drawing(random))
            }
            (Turn::Deal(secrets), Some(Phase::Deal { dealers, count })) => {
                assert_eq!(secrets.is_some(), dealers.contains(&self.me), "dealers deal");
                if let Some(secrets) = secrets {
                    assert_eq!(secrets.len(), count, "as many as the phase says");
                    let committee = &self.instance.committee;
                    let vectors = crate::algebra::vectors::share(
                        &secrets,
                        committee.corrupt(),
                        committee,
                        &mut self.tape,
                    );
                    let own = vectors[self.me].clone();
                    self.inbox.own(self.step(Part::Deal), own);
                    self.send_each(Part::Deal, vectors, step);
                }
                Next::Moved(State::Dealing { acknowledged: false })
            }
            (Turn::Open(shares), Some(Phase::Open { count, mode })) => {
                assert_eq!(shares.len(), count, "as many as the phase says");
                let committee = Arc::clone(&self.instance.committee);
                let (opening, vectors) = Opening::start(committee, self.me, &shares, mode);
                self.inbox.own(self.step(Part::Encode), vectors[self.me].clone());
                self.send_each(Part::Encode, vectors, step);
                Next::Moved(State::Opening(Box::new(opening)))
            }
            _ => panic!("a program does what its phases say"),
        }
    }

    fn step(&self, part: Part) -> StepId {
        let phase = u16::try_from(self.phase).expect("a run has fewer than 2^16 phases");
        StepId { phase, part }
    }

    fn spoilt(&self, phase: usize, part: Part, step: &mut Step<Outcome<P::Output>>) -> Next {
        let phase = u16::try_from(phase).expect("a run has fewer than 2^16 phases");
        step.outputs.push(Outcome::Spoilt(StepId { phase, part }));
        Next::Waits(State::Over)
    }

    /// Sends each other member its vector.
    fn send_each(&self, part: Part, vectors: Vec<Vec<Fp>>, step: &mut Step<Outcome<P::Output>>) {
        let id = self.step(part);
        for (to, vector) in vectors.into_iter().enumerate().filter(|(to, _)| *to != self.me) {
            self.send(id, to, &vector, step);
        }
    }

    fn send(&self, id: StepId, to: usize, vector: &[Fp], step: &mut Step<Outcome<P::Output>>) {
        let members = self.instance.committee.members();
        let ends = [members[self.me], members[to]];
        let message = self.instance.sign(&self.key, id, ends, bytes_of(vector));
        step.sends.push((members[to], message.to_bytes()));
    }

    fn draw(
        &mut self,
        mut random: Random,
        step: &mut Step<Outcome<P::Output>>,
        rng: &mut impl Rng,
    ) -> Next {
        for part in [Part::Deal, Part::Check] {
            for (from, vector) in self.inbox.fresh(self.step(part)) {
                random.receive(part, from, vector);
            }
        }
        for (checker, vector) in random.checks() {
            self.send(self.step(Part::Check), checker, &vector, step);
        }
        match random.poll(rng) {
            None => Next::Waits(State::Drawing(random)),
            Some(Ok(given)) => Next::Moved(State::Between(given)),
            Some(Err(part)) => self.spoilt(self.phase, part, step),
        }
    }

    /// Waits for all dealings, says so, and waits until everybody has said so: from then on nothing
    /// that was dealt can depend on what is drawn or opened next.
    fn deal(&mut self, acknowledged: bool, step: &mut Step<Outcome<P::Output>>) -> Next {
        let Some(Phase::Deal { dealers, .. }) = self.instance.phases.get(self.phase) else {
            unreachable!("dealing is in its phase")
        };
        let deal = self.step(Part::Deal);
        match self.inbox.complete(deal, dealers) {
            Some(Ok(())) => {}
            Some(Err(())) => return self.spoilt(self.phase, Part::Deal, step),
            None => return Next::Waits(State::Dealing { acknowledged }),
        }
        if !acknowledged {
            let nothing = vec![Vec::new(); self.instance.committee.size()];
            self.send_each(Part::Acknowledge, nothing, step);
        }
        let others: Vec<usize> =
            (0..self.instance.committee.size()).filter(|i| *i != self.me).collect();
        match self.inbox.complete(self.step(Part::Acknowledge), &others) {
            Some(Ok(())) => {
                let dealt = self.inbox.vectors(deal, dealers);
                Next::Moved(State::Between(Given::Dealt(dealt)))
            }
            Some(Err(())) => self.spoilt(self.phase, Part::Acknowledge, step),
            None => Next::Waits(State::Dealing { acknowledged: true }),
        }
    }

    fn open(
        &mut self,
        mut opening: Box<Opening>,
        step: &mut Step<Outcome<P::Output>>,
        rng: &mut impl Rng,
    ) -> Next {
        let parts = [Part::Encode, Part::Tell];
        for (hop, part) in parts.into_iter().enumerate() {
            for (from, vector) in self.inbox.fresh(self.step(part)) {
                opening.receive(hop, from, vector);
            }
        }
        let mut progress = opening.poll(rng);
        if let Some(told) = progress.tell.take() {
            self.inbox.own(self.step(Part::Tell), told.clone());
            self.send_each(Part::Tell, vec![told; self.instance.committee.size()], step);
        }
        for &(hop, liar) in &progress.liars {
            let id = self.step(parts[hop]);
            step.faults.extend(self.inbox.evidence(id, liar, &progress.agree[hop], &self.key));
        }
        match opening.verdict() {
            None => Next::Waits(State::Opening(opening)),
            Some(Verdict::Mismatch) => self.spoilt(self.phase, Part::Encode, step),
            Some(Verdict::Open(values)) => {
                let values = values.clone();
                if self.instance.phases[self.phase].is_robust() {
                    self.inbox.forget(self.phase);
                }
                Next::Moved(State::Between(Given::Opened(values)))
            }
        }
    }
}

/// What a phase's turn has come to.
enum Next {
    /// On at once, from here.
    Moved(State),
    /// Nothing to do before the next message.
    Waits(State),
}

//! The state machine: events in; writes, sends, outputs and faults out.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, PartySet, wire};

use crate::block::{Certificate, CheckedBlock, Reference, Slot, Vote};
use crate::fault::Fault;
use crate::keys::Keys;
use crate::message::Message;
use crate::params::{MAX_QUEUE, MAX_RECORD, Params, Round, WINDOW, coin_of};

use super::agreed::{Agreed, Commit, Incarnation, Settled};
use super::author::Author;
use super::checkpoint::Checkpoints;
use super::coins::Coins;
use super::disk::{Disk, Key, Write};
use super::graph::{Graph, Held};
use super::order::next_leaders;
use super::readmission::Lost;
use super::sync::Sync;

/// What happens to a ledger.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A message has arrived from another server.
    Receive(PartyId, &'a [u8]),
    /// Some time has passed. Ticks pace what is said again; they decide nothing.
    Tick,
    /// The application's state after the commit that [`Output::CheckpointDue`] named.
    State {
        /// After how many commits.
        commits: u64,
        /// The digest of the application's state.
        digest: Digest,
    },
    /// The application has committed what the beacon of this name checks: its share may leave.
    Beacon(Digest),
    /// This server's data were lost, or a copy was restored: take part again only as one that
    /// remembers nothing. The nonce is fresh.
    Readmit([u8; 32]),
}

/// What a ledger tells its application.
#[derive(Clone, Debug)]
pub enum Output {
    /// The next commit. After a restart commits since the last checkpoint come again, with their
    /// numbers.
    Commit(Commit),
    /// The application's state after this commit is to be told ([`Event::State`]).
    CheckpointDue(u64),
    /// The ledger went on from a checkpoint: commits up to this number are not told. The
    /// application's state has this digest and comes from another server; own records that were
    /// under way may come in twice. After a restart it is told of the checkpoint on the disk,
    /// whether the application has its state or not.
    Adopted {
        /// Commits up to here are in the state.
        commits: u64,
        /// The digest of the application's state.
        state: Digest,
    },
    /// A beacon's value.
    Beacon(Digest, Digest),
    /// A server takes part again without its data: nothing that it held before is to be used.
    Readmitted(PartyId, Incarnation),
    /// This server's data are older than what others have heard of it. It is silent until
    /// [`Event::Readmit`].
    DataLost,
    /// This server takes part.
    Started,
}

/// A message to another server. Whoever carries it may lose it: ticks have it said again.
#[derive(Clone, Debug)]
pub struct Send {
    /// The receiver.
    pub to: PartyId,
    /// The encoded [`Message`].
    pub bytes: std::sync::Arc<[u8]>,
}

/// What an event leads to. The writes are made durable, in order, before a send leaves or an
/// output is acted upon.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Step {
    /// What must be durable first.
    pub writes: Vec<Write>,
    /// What is then sent.
    pub sends: Vec<Send>,
    /// What the application is told.
    pub outputs: Vec<Output>,
    /// What others did wrong.
    pub faults: Vec<Fault>,
}

/// Whether a server takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has started from its disk and hears first what others know of it.
    Starting,
    /// It takes part.
    Running,
    /// Its data are lost; it follows, and asks to be readmitted once it has a nonce.
    Lost,
}

/// A record that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is longer than [`MAX_RECORD`].
    #[error("a record has at most {MAX_RECORD} bytes")]
    TooLong,
    /// [`MAX_QUEUE`] bytes wait already.
    #[error("{MAX_QUEUE} bytes of records wait already")]
    Full,
}

/// One server's end of the ledger.
pub struct Ledger<K> {
    pub(super) params: Params,
    pub(super) keys: K,
    pub(super) me: PartyId,
    pub(super) phase: Phase,
    pub(super) graph: Graph,
    /// Blocks that are not certified, or whose references are not here.
    pub(super) pending: BTreeMap<Slot, CheckedBlock>,
    /// Certificates whose blocks, or what those name, are not here.
    pub(super) waiting: BTreeMap<Slot, Certificate>,
    /// What this server voted for.
    pub(super) voted: BTreeMap<Slot, Digest>,
    pub(super) coins: Coins,
    pub(super) agreed: Agreed,
    /// Certified blocks with payload that are not ordered yet.
    pub(super) unordered: BTreeSet<Slot>,
    pub(super) author: Author,
    pub(super) incarnation: Incarnation,
    pub(super) checkpoints: Checkpoints,
    pub(super) sync: Sync,
    pub(super) lost: Lost,
    /// Whose faults have been reported with evidence.
    pub(super) convicted: PartySet,
}

impl<K: Keys> Ledger<K> {
    fn empty(params: Params, keys: K, phase: Phase) -> Self {
        Self {
            me: keys.party(),
            phase,
            graph: Graph::new(params.parties()),
            pending: BTreeMap::new(),
            waiting: BTreeMap::new(),
            voted: BTreeMap::new(),
            coins: Coins::default(),
            agreed: Agreed::new(&params),
            unordered: BTreeSet::new(),
            author: Author::default(),
            incarnation: Incarnation::default(),
            checkpoints: Checkpoints::new(params.parties()),
            sync: Sync::new(params.parties()),
            lost: Lost::default(),
            convicted: PartySet::default(),
            params,
            keys,
        }
    }

    /// A server that is there when the ledger is founded.
    pub fn found(params: Params, keys: K) -> (Self, Step) {
        let mut step = Step::default();
        step.writes.push(Write::Put(Key::Founded, Vec::new()));
        step.outputs.push(Output::Started);
        (Self::empty(params, keys, Phase::Running), step)
    }

    /// A server that starts with what is on its disk. `nonce` is fresh.
    ///
    /// It asks n − t − 1 others what they have heard of it before it says anything of its own. What
    /// was committed since the last checkpoint is committed again.
    pub fn restore(params: Params, keys: K, disk: &Disk, nonce: [u8; 32]) -> (Self, Step) {
        let mut ledger = Self::empty(params, keys, Phase::Starting);
        let mut step = Step::default();
        ledger.sync.nonce = nonce;
        ledger.load(disk);
        // It may have been written, and the application not told.
        if let Some(stable) = &ledger.checkpoints.stable {
            let (commits, state) = (stable.agreed.commits, stable.state);
            step.outputs.push(Output::Adopted { commits, state });
        }
        ledger.advance(&mut step);
        if ledger.lost.asked.is_some() || !disk.0.contains_key(&Key::Founded) {
            ledger.lose(&mut step);
        }
        ledger.start_if_welcome(&mut step);
        ledger.tick(&mut step);
        (ledger, step)
    }

    /// Takes over what is on the disk. What does not decode is as if it were not there: only this
    /// server writes there, so the data are lost then, which the others' welcome shows.
    fn load(&mut self, disk: &Disk) {
        for (key, value) in &disk.0 {
            match *key {
                Key::Founded => {}
                Key::Lost => self.lost.asked = Some(wire::decode(value).unwrap_or_default()),
                Key::Incarnation => self.incarnation = wire::decode(value).unwrap_or_default(),
                Key::Checkpoint => {
                    if let Ok(checkpoint) = wire::decode(value) {
                        self.restore_checkpoint(checkpoint);
                    }
                }
                Key::Record(number) => self.author.load_record(number, value.clone()),
                Key::Block(..) => {
                    let checked = wire::decode(value).ok().and_then(|signed| {
                        CheckedBlock::check(signed, &self.params, &self.keys).ok()
                    });
                    if let Some(block) = checked {
                        self.take_block(block);
                    }
                }
                Key::Voted(round, author) => {
                    if let Ok(digest) = wire::decode(value) {
                        self.voted.insert((round, author), digest);
                    }
                }
                Key::Certificate(round, author) => {
                    if let Ok(certificate) = wire::decode::<Certificate>(value) {
                        self.note_votes(&certificate);
                        self.waiting.insert((round, author), certificate);
                    }
                }
            }
        }
        self.load_own_blocks();
    }

    /// Handles one event.
    pub fn handle(&mut self, event: Event<'_>) -> Step {
        let mut step = Step::default();
        match event {
            Event::Receive(from, bytes) => self.receive(from, bytes, &mut step),
            Event::Tick => self.tick(&mut step),
            Event::State { commits, digest } => self.sign_checkpoint(commits, digest, &mut step),
            Event::Beacon(name) => self.author.owe_beacon(name),
            Event::Readmit(nonce) => self.ask_readmission(nonce, &mut step),
        }
        self.advance(&mut step);
        step
    }

    /// Takes a record that is to come into the order. It is kept until it is ordered; after a loss
    /// of this server's data, or an adopted checkpoint, it may come in twice or not at all.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn propose(&mut self, record: Vec<u8>) -> Result<Step, Refused> {
        let mut step = Step::default();
        self.author.take_record(record, &mut step)?;
        self.advance(&mut step);
        Ok(step)
    }

    /// Whether this server takes part.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The state after the last commit.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// The highest round of which this server holds a certified block, or that was committed.
    pub fn top(&self) -> Round {
        self.graph.top().max(self.agreed.last)
    }

    /// How many blocks and certificates are held in memory, ordered or not.
    pub fn held(&self) -> usize {
        self.graph.above(0).count() + self.pending.len() + self.waiting.len()
    }

    /// Whether this server still has something to say or to see ordered.
    pub fn is_busy(&self) -> bool {
        self.author.is_in_flight() || self.owes_block()
    }

    fn receive(&mut self, from: PartyId, bytes: &[u8], step: &mut Step) {
        if !self.params.has(from) || from == self.me {
            return;
        }
        let Ok(message) = Message::decode(bytes, &self.params) else {
            step.faults.push(Fault::Malformed(from));
            return;
        };
        match message {
            Message::Block(signed) => self.receive_block(from, *signed, step),
            Message::Vote(vote) => self.receive_vote(from, vote, step),
            Message::Certificate(certificate) => {
                self.receive_certificate(from, certificate, step);
            }
            Message::Item(signed, certificate) => {
                self.receive_item(from, *signed, certificate, step);
            }
            Message::Status(status) => self.receive_status(from, &status, step),
            Message::Checkpoint(checkpoint) => self.receive_checkpoint(from, *checkpoint, step),
            Message::Hello(nonce) => self.welcome(from, nonce, step),
            Message::Welcome(welcome) => self.receive_welcome(from, &welcome, step),
            Message::Ask(ask) => self.answer(from, ask, step),
            Message::Answer(answer) => self.receive_answer(from, answer, step),
            Message::Petition(petition) => self.receive_petition(from, &petition),
        }
    }

    /// Does what has become possible, until nothing more is.
    pub(super) fn advance(&mut self, step: &mut Step) {
        loop {
            let accepted = self.accept(step);
            self.vote(step);
            let committed = self.commit(step);
            let made = self.make_block(step);
            self.stabilise(step);
            if !(accepted || committed || made) {
                return;
            }
        }
    }

    /// Whether a block of `round` is worth keeping: above what was dropped, and not further ahead
    /// than the window.
    pub(super) fn in_window(&self, round: Round) -> bool {
        round > self.graph.floor() && round <= self.top().saturating_add(WINDOW)
    }

    /// Whether a named block needs no waiting for: it is here, or was ordered, or will never be.
    pub(super) fn is_settled(&self, reference: &Reference) -> bool {
        self.is_known(reference) || reference.round <= self.agreed.line(&self.params)
    }

    /// Whether a named block is here, or was ordered.
    pub(super) fn is_known(&self, reference: &Reference) -> bool {
        self.graph.has(reference) || self.agreed.has_ordered(reference)
    }

    /// Moves certified blocks into the graph whose references are settled.
    fn accept(&mut self, step: &mut Step) -> bool {
        let mut any = false;
        let slots: Vec<_> = self.waiting.keys().copied().collect();
        for slot in slots {
            if self.graph.get(slot).is_some() || slot.0 <= self.graph.floor() {
                self.waiting.remove(&slot);
                continue;
            }
            let certificate = &self.waiting[&slot];
            let Some(block) = self.pending.get(&slot) else { continue };
            let right = block.digest() == certificate.block.digest;
            if right && block.block().references().all(|reference| self.is_settled(&reference)) {
                let certificate = self.waiting.remove(&slot).expect("it was just there");
                let block = self.pending.remove(&slot).expect("it was just there");
                self.hold(block, certificate, step);
                any = true;
            }
        }
        any
    }

    fn hold(&mut self, block: CheckedBlock, certificate: Certificate, step: &mut Step) {
        let slot @ (round, author) = block.block().slot();
        step.writes.push(Write::Put(Key::Block(round, author), wire::encode(block.signed())));
        step.writes.push(Write::Put(Key::Certificate(round, author), wire::encode(&certificate)));
        let ordered = self.agreed.has_ordered(&block.reference());
        if block.block().has_payload() && !ordered && round > self.agreed.line(&self.params) {
            self.unordered.insert(slot);
        }
        let current = round >= self.incarnation.from;
        if author == self.me && current && self.voted.get(&slot) != Some(&block.digest()) {
            self.lose(step);
        }
        self.graph.insert(Held { block: block.into(), certificate });
    }

    /// Takes the shares of a checked block and keeps the block; certificates decide between two.
    pub(super) fn take_block(&mut self, block: CheckedBlock) {
        let (round, author) = block.block().slot();
        if let (Some(leader), Some(share)) = (coin_of(round), block.block().coin)
            && leader > self.agreed.last
        {
            self.coins.add(leader, author, share, &self.params, &self.keys);
        }
        if let Some(signature) = block.block().checkpoint {
            self.checkpoints.note(author, signature);
        }
        self.pending.insert((round, author), block);
    }

    fn commit(&mut self, step: &mut Step) -> bool {
        let leaders = next_leaders(&self.graph, self.agreed.last, &self.params, |round| {
            self.coins.leader(round)
        });
        for leader in &leaders {
            self.commit_leader(leader, step);
        }
        !leaders.is_empty()
    }

    /// Orders what a leader has below it, down to its horizon.
    fn commit_leader(&mut self, leader: &Reference, step: &mut Step) {
        let horizon = leader.round.saturating_sub(self.params.horizon());
        let blocks = self.graph.history(leader, |reference| {
            reference.round <= horizon || self.agreed.has_ordered(reference)
        });
        let settled = self.agreed.commit(leader, &blocks, &self.params);
        self.coins.forget(leader.round);
        for block in &blocks {
            self.unordered.remove(&block.block().slot());
            if block.block().author == self.me {
                self.author.ordered(block.block().round, step);
            }
        }
        let number = self.agreed.commits;
        step.outputs.push(Output::Commit(Commit { number, leader: *leader, blocks }));
        for settled in settled {
            self.settle(settled, step);
        }
        self.expire(step);
        if number.is_multiple_of(self.params.interval()) {
            self.checkpoints.due(self.agreed.clone());
            step.outputs.push(Output::CheckpointDue(number));
        }
    }

    fn settle(&mut self, settled: Settled, step: &mut Step) {
        match settled {
            Settled::Beacon(name, shares) => {
                let label = self.params.beacon_label(&name);
                if let Some(value) = self.keys.combine(&label, &shares) {
                    step.outputs.push(Output::Beacon(name, value));
                }
            }
            Settled::Readmitted(party, incarnation) => {
                step.outputs.push(Output::Readmitted(party, incarnation));
            }
        }
        self.heed_incarnation(step);
    }

    /// Lets go of what no leader to come can order; own payload is proposed anew.
    pub(super) fn expire(&mut self, step: &mut Step) {
        let line = self.agreed.line(&self.params);
        self.unordered.retain(|(round, _)| *round > line);
        self.pending.retain(|(round, _), _| *round > line);
        self.waiting.retain(|(round, _), _| *round > line);
        self.author.expire(line);
        self.heed_incarnation(step);
    }

    /// Reports a fault that convicts, once for each culprit.
    pub(super) fn convict(&mut self, fault: Fault, step: &mut Step) {
        if self.convicted.insert(fault.culprit()) {
            step.faults.push(fault);
        }
    }

    pub(super) fn send(&self, to: PartyId, message: &Message, step: &mut Step) {
        step.sends.push(Send { to, bytes: message.encode().into() });
    }

    pub(super) fn send_all(&self, message: &Message, step: &mut Step) {
        let bytes: std::sync::Arc<[u8]> = message.encode().into();
        for to in PartySet::all(self.params.parties()).iter().filter(|to| *to != self.me) {
            step.sends.push(Send { to, bytes: bytes.clone() });
        }
    }

    /// This server's vote for a block, which it has written down.
    pub(super) fn own_vote(&self, block: Reference) -> Vote {
        Vote::sign(&self.params, &self.keys, block)
    }
}

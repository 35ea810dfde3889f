//! One server: events in; writes, messages and news out (spec, section 17).

mod catching_up;
mod collecting;
mod effects;
mod mixing;
mod preparing;
mod visiting;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use ostrakon_agreement::dag::{self, Commit, Output, Phase, SignedCheckpoint};
use ostrakon_agreement::{Fault, Keys, Ledger, Params};
use ostrakon_crypto::{Digest, Secret, SigningKey, Stream};
use ostrakon_party::{PartyId, PartySet, wire};
use ostrakon_robust::Committee;
use ostrakon_robust::message::{ELEMENT, HEADER};
use ostrakon_robust::offline::{Checked, ShuffleStock};

use crate::delivery::{Delivery, step_of};
use crate::disk::{Disk, Key, Write};
use crate::message::{Message, RunId, ToServer};
use crate::room::Room;
use crate::state::{Change, State};
use crate::word::Word;

pub use self::effects::{Effects, Told};

use self::catching_up::CatchingUp;
use self::collecting::Collected;
use self::mixing::Mixing;
use self::preparing::Preparing;

/// Steps of a run at most, with room to spare: each phase has two.
const STEPS: usize = 1 << 10;

/// What happens to a server.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A message of another server.
    Server(PartyId, &'a [u8]),
    /// A message of a participant.
    Client(&'a [u8]),
    /// Some time has passed. Ticks pace what is said again, and when an epoch is to close; they
    /// decide nothing that must be alike.
    Tick,
    /// This server's data were lost, or a copy was restored: take part again as one that remembers
    /// nothing. The nonce is fresh.
    Readmit([u8; 32]),
}

/// One server's end.
pub struct Service<K> {
    room: Arc<Room>,
    me: PartyId,
    signing: Arc<SigningKey>,
    ledger: Ledger<K>,
    longest: usize,
    state: State,
    /// How many commits are in the state.
    applied: u64,
    /// Outputs of the ledger that are not acted upon yet.
    outputs: VecDeque<Output>,
    /// Words that are to be proposed.
    backlog: VecDeque<Word>,
    /// Words of which one is enough, so far as this life has said them.
    said: BTreeSet<(&'static str, u64)>,
    /// Whether something may have become possible.
    stirred: bool,
    rng: Stream,
    delivery: Delivery,
    preparing: Preparing,
    stock: BTreeMap<u64, Checked<ShuffleStock>>,
    collected: Collected,
    mixing: Mixing,
    catching: CatchingUp,
    faults: BTreeSet<(PartyId, &'static str)>,
    /// Who was told to be convicted.
    convicted: BTreeSet<PartyId>,
}

/// What a server is made from.
pub struct Parts<K> {
    /// The room.
    pub room: Arc<Room>,
    /// The ledger's parameters: they follow from room and coin ([`crate::founding`]).
    pub params: Params,
    /// The ledger's keys.
    pub keys: K,
    /// The identity key.
    pub signing: Arc<SigningKey>,
    /// 32 fresh random bytes, at every start.
    pub randomness: Secret,
}

impl<K: Keys> Service<K> {
    /// A server that is there when the ledger is founded.
    pub fn found(parts: Parts<K>) -> (Self, Effects) {
        Self::begin(parts, &Disk::default(), |params, keys, _| Ledger::found(params, keys))
    }

    /// A server that starts with what is on its disk.
    pub fn restore(parts: Parts<K>, disk: &Disk) -> (Self, Effects) {
        let ledger = disk.ledger();
        Self::begin(parts, disk, |params, keys, nonce| {
            Ledger::restore(params, keys, &ledger, nonce)
        })
    }

    fn begin(
        parts: Parts<K>,
        disk: &Disk,
        ledger: impl FnOnce(Params, K, [u8; 32]) -> (Ledger<K>, dag::Step),
    ) -> (Self, Effects) {
        let Parts { room, params, keys, signing, randomness } = parts;
        let me = keys.party();
        let nonce = *randomness.derive("ostrakon/v1/asynchromix/start", &[]).expose();
        let (ledger, step) = ledger(params, keys, nonce);
        let longest = room.longest().max(params.max_message()) + 64;
        let mut service = Self {
            state: State::new(&room),
            me,
            signing,
            ledger,
            longest,
            applied: 0,
            outputs: VecDeque::new(),
            backlog: VecDeque::new(),
            said: BTreeSet::new(),
            stirred: true,
            rng: Stream::of(randomness, "ostrakon/v1/asynchromix/randomness"),
            delivery: Delivery::default(),
            preparing: Preparing::load(disk),
            stock: BTreeMap::new(),
            collected: Collected::load(disk),
            mixing: Mixing::load(disk),
            catching: CatchingUp::load(disk),
            faults: BTreeSet::new(),
            convicted: BTreeSet::new(),
            room,
        };
        let mut effects = Effects::default();
        service.catching.drop_entries(disk, &mut effects.writes);
        service.absorb(step, &mut effects);
        service.settle(&mut effects);
        (service, effects)
    }

    /// Handles one event.
    pub fn handle(&mut self, event: Event<'_>) -> Effects {
        let mut effects = Effects::default();
        match event {
            Event::Server(from, bytes) => self.receive(from, bytes, &mut effects),
            Event::Client(bytes) => {
                if let Ok(message) = ToServer::decode(bytes, &self.room) {
                    self.serve(message, &mut effects);
                }
            }
            Event::Tick => self.tick(&mut effects),
            Event::Readmit(nonce) => {
                let step = self.ledger.handle(ostrakon_agreement::Event::Readmit(nonce));
                self.forget_material(&mut effects);
                self.absorb(step, &mut effects);
            }
        }
        self.settle(&mut effects);
        effects
    }

    /// The agreed state after the commits that were acted upon.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The room.
    #[must_use]
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Whether this server takes part.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.ledger.phase() == Phase::Running && !self.catching.lacks_state()
    }

    /// Entries that this server has of the board, the newest ones.
    pub fn board(&self) -> impl Iterator<Item = &crate::board::SignedEntry> {
        self.catching.board.values().map(|entry| &**entry)
    }

    /// Bytes of messages that are kept for others, and batches whose shares are held: what grows if
    /// something is never let go of.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        (self.delivery.bytes(), self.stock.len() + self.preparing.len())
    }

    /// How many leaders the ledger has committed.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.ledger.agreed().commits
    }

    /// How many another server has committed, as it said last.
    #[must_use]
    pub fn commits_of(&self, party: PartyId) -> Option<u64> {
        self.ledger.commits_of(party)
    }

    fn receive(&mut self, from: PartyId, bytes: &[u8], effects: &mut Effects) {
        if from == self.me || self.room.identities().get(from).is_none() {
            return;
        }
        let Ok(message) = Message::decode(bytes, self.longest) else {
            return self.fault(from, "malformed message", effects);
        };
        match message {
            // Those who are not founded yet are told by the founding's machine.
            Message::Dkg(_) | Message::Coin { .. } => {}
            Message::Ledger(bytes) => {
                let event = ostrakon_agreement::Event::Receive(from, &bytes);
                let step = self.ledger.handle(event);
                self.absorb(step, effects);
            }
            Message::Run(run, bytes) => self.run_message(run, from, &bytes, effects),
            Message::Again(_, have) if have.len() > STEPS => {
                self.fault(from, "malformed message", effects);
            }
            Message::Again(run, have) => {
                let bytes = self.delivery.again(run, from, &have);
                effects.sends.extend(bytes.into_iter().map(|bytes| (from, bytes)));
            }
            other => self.catch_up(from, other, effects),
        }
    }

    fn run_message(&mut self, run: RunId, from: PartyId, bytes: &[u8], effects: &mut Effects) {
        // What comes before this server has begun is asked for when it begins.
        if !self.delivery.has(run) {
            return;
        }
        match run {
            RunId::Batch(number) => self.batch_message(number, from, bytes, effects),
            RunId::Epoch(epoch) => self.shuffle_message(epoch, from, bytes, effects),
        }
    }

    /// Sends a run's messages and keeps them for who asks again.
    fn send_run(&mut self, run: RunId, sends: Vec<(PartyId, Vec<u8>)>, effects: &mut Effects) {
        for (to, bytes) in sends {
            let Some(step) = step_of(&bytes) else { continue };
            let elements = (bytes.len() - HEADER.min(bytes.len())) / ELEMENT;
            let bytes: Arc<[u8]> = Message::Run(run, bytes.into()).encode().into();
            self.delivery.sent(run, to, (step, elements), &bytes);
            effects.sends.push((to, bytes));
        }
    }

    /// Asks the other members for what this server lacks of a run.
    fn ask_again(&mut self, run: RunId, effects: &mut Effects) {
        let Some(committee) = self.committee_of(run) else { return };
        for member in committee.members().iter().filter(|member| **member != self.me) {
            let have = self.delivery.have(run, *member);
            effects.send(*member, &Message::Again(run, have));
        }
    }

    fn committee_of(&self, run: RunId) -> Option<Arc<Committee>> {
        let batch = match run {
            RunId::Batch(number) => number,
            RunId::Epoch(epoch) => self.state.epochs.get(&epoch)?.batch,
        };
        Some(Arc::clone(self.room.committee_of(batch)))
    }

    /// Says something again.
    fn tick(&mut self, effects: &mut Effects) {
        let step = self.ledger.handle(ostrakon_agreement::Event::Tick);
        self.absorb(step, effects);
        for run in self.delivery.tick() {
            self.ask_again(run, effects);
        }
        let collecting = self.state.collecting();
        let has_rows = collecting.is_some_and(|(_, epoch)| epoch.has_rows(&self.room));
        self.collected.tick(collecting.map(|(number, _)| number), has_rows);
        self.preparing.tick();
        self.ask_others(effects);
        self.stirred = true;
    }

    /// Takes over a step of the ledger.
    fn absorb(&mut self, step: dag::Step, effects: &mut Effects) {
        for write in step.writes {
            if let dag::Write::Put(dag::Key::Checkpoint, bytes) = &write
                && let Ok(checkpoint) = wire::decode::<SignedCheckpoint>(bytes)
            {
                let commits = checkpoint.agreed.commits;
                self.catching.drop_states(commits, &mut effects.writes);
                self.catching.checkpoint = Some((commits, Bytes::copy_from_slice(bytes)));
            }
            effects.writes.push(write.into());
        }
        for send in step.sends {
            effects.send(send.to, &Message::Ledger(Bytes::copy_from_slice(&send.bytes)));
        }
        for fault in step.faults {
            let what = match &fault {
                Fault::Malformed(_) => "malformed block or message of the ledger",
                Fault::TwoBlocks(..) => "two blocks in one place",
                Fault::TwoVotes(..) => "two votes in one place",
                Fault::Share(_) => "a false share of the coin",
            };
            self.fault(fault.culprit(), what, effects);
        }
        self.outputs.extend(step.outputs);
    }

    /// Does what has become possible, until nothing more is.
    fn settle(&mut self, effects: &mut Effects) {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                self.output(output, effects);
            } else if self.propose_next(effects) {
                self.stirred = true;
            } else if std::mem::take(&mut self.stirred) {
                self.go_on(effects);
            } else {
                return;
            }
        }
    }

    /// Proposes the oldest word of the backlog.
    fn propose_next(&mut self, effects: &mut Effects) -> bool {
        if !self.runs() {
            return false;
        }
        let Some(word) = self.backlog.front() else { return false };
        let Ok(step) = self.ledger.propose(word.encode()) else { return false };
        self.backlog.pop_front();
        self.absorb(step, effects);
        true
    }

    /// Says a word of which one is enough.
    fn say_once(&mut self, kind: &'static str, about: u64, word: Word) {
        if self.said.insert((kind, about)) {
            self.backlog.push_back(word);
        }
    }

    /// What follows from the state for this server.
    fn go_on(&mut self, effects: &mut Effects) {
        if !self.runs() {
            return;
        }
        self.tell_convicted(effects);
        self.prepare(effects);
        self.collect();
        self.mix(effects);
    }

    fn output(&mut self, output: Output, effects: &mut Effects) {
        match output {
            Output::Adopted { commits, state } => self.adopt(commits, state, effects),
            Output::DataLost => {
                self.forget_material(effects);
                effects.told.push(Told::DataLost);
            }
            Output::Started => {
                self.stirred = true;
                effects.told.push(Told::Started);
            }
            output if self.catching.lacks_state() => self.catching.waiting.push_back(output),
            Output::Commit(commit) => self.commit(&commit, effects),
            Output::CheckpointDue(commits) => self.checkpoint(commits, effects),
            Output::Readmitted(party, _) => {
                let changes = self.state.readmitted(&self.room, party);
                self.changed(changes, effects);
            }
            Output::Beacon(..) => {}
        }
    }

    fn commit(&mut self, commit: &Commit, effects: &mut Effects) {
        if commit.number != self.applied + 1 {
            return;
        }
        self.applied = commit.number;
        for (author, record) in commit.records() {
            let Some(word) = Word::decode(record) else { continue };
            if let Word::Batch(number, record) = &word {
                self.batch_record(*number, author, record, effects);
            }
            if let Word::Assign(_, assigned) = &word
                && author == self.me
            {
                self.collected.ordered(assigned);
            }
            let changes = self.state.apply(&self.room, author, &word);
            self.changed(changes, effects);
        }
        self.stirred = true;
    }

    /// Tells who was convicted, once in a life.
    fn tell_convicted(&mut self, effects: &mut Effects) {
        for (party, of) in self.state.stock.convicted() {
            if self.convicted.insert(*party) {
                effects.told.push(Told::Convicted(*party, of.deed));
            }
        }
    }

    /// Takes note of what the order has changed.
    fn changed(&mut self, changes: Vec<Change>, effects: &mut Effects) {
        for change in changes {
            self.stirred = true;
            match change {
                Change::Begun(number) => effects.told.push(Told::Begun(number)),
                Change::Ready(number) => {
                    self.ready(number);
                    effects.told.push(Told::Ready(number));
                }
                Change::Dropped(number) => {
                    self.drop_batch(number, effects);
                    effects.told.push(Told::Dropped(number));
                }
                Change::Burnt(number) => {
                    self.burnt(number, effects);
                    effects.told.push(Told::Burnt(number));
                }
                // Who was convicted is told from the state, after a start, too.
                Change::Judged(..) => {}
                Change::Opened(epoch) => effects.told.push(Told::Opened(epoch)),
                Change::Closed(epoch) => effects.told.push(Told::Closed(epoch)),
                Change::Sealed(epoch) => self.sealed(epoch, effects),
                Change::Published { epoch, batch, entry, signatures } => {
                    self.published(epoch, entry, signatures, effects);
                    self.drop_epoch(epoch, Some(batch), effects);
                    effects.told.push(Told::Published(epoch));
                }
            }
        }
    }

    /// Tells the ledger the state's digest, after writing the state down.
    fn checkpoint(&mut self, commits: u64, effects: &mut Effects) {
        if commits != self.applied {
            return;
        }
        let bytes = self.state.encode();
        let digest = State::digest(&bytes);
        effects.writes.push(Write::Put(Key::State(commits), bytes.clone()));
        self.catching.states.insert(commits, bytes.into());
        let step = self.ledger.handle(ostrakon_agreement::Event::State { commits, digest });
        self.absorb(step, effects);
    }

    fn others(&self) -> impl Iterator<Item = PartyId> + use<K> {
        let me = self.me;
        PartySet::all(self.room.servers()).iter().filter(move |party| *party != me)
    }

    /// Tells of a fault, once of each kind and server.
    fn fault(&mut self, party: PartyId, what: &'static str, effects: &mut Effects) {
        if self.faults.insert((party, what)) {
            effects.told.push(Told::Fault(party, what));
        }
    }

    /// Notes what a run says that members did wrong.
    fn run_faults(&mut self, faults: Vec<ostrakon_robust::fault::Fault>, effects: &mut Effects) {
        use ostrakon_robust::fault::FaultKind;
        for fault in faults {
            let what = match fault.kind {
                FaultKind::Unsigned => "an unsigned message of a run",
                FaultKind::Malformed(_) => "a malformed message of a run",
                FaultKind::Equivocation(_) => "two messages in one step of a run",
                FaultKind::Wrong { .. } => "wrong shares",
            };
            self.fault(fault.from, what, effects);
        }
    }

    /// The digest of a board's entry, as this room has it.
    fn digest_of(&self, entry: &crate::board::Entry) -> Digest {
        entry.digest(&self.room.digest())
    }
}

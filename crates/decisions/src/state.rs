//! What the servers agree on of decisions.
//!
//! A decision's chain comes from the scheduler's log alone, and a record is accepted by
//! [`Chain::check`], the same rule as on people's devices. So it holds or fails alike at every
//! server. What a server opens comes from its own log, and is judged by how much of the scheduler's
//! log its author knew, which is part of its word: so that, too, is judged alike.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_crypto::Digest;
use ostrakon_decide::{
    Chain, Content, Date, DecisionId, Ended, Held, KeyName, Opening, Operators, Refused,
    SignedRecord, Stage, Unvouched, Vouching, shortage,
};
use ostrakon_job::{Deed, Filed, Invalid, SCHEDULER, Said, State, Subject};
use ostrakon_party::{PartyId, Servers, wire};
use ostrakon_protocol::decisions::{DecisionInfo, DecisionStage};
use serde::{Deserialize, Serialize};

use crate::word::{Word, is_opening, read_record};

/// Decisions that a deployment keeps at most: of 200 people each they take some hundred megabytes
/// of memory while they are under way, and a tenth of that when they are over.
pub(crate) const MOST_DECISIONS: usize = 2_000;

/// What a record or an opening asks of every server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Examine a decision that was closed, and open it.
    Open,
    /// Take in what other servers hold.
    TakeHeld,
    /// A server has opened without parts for all who stayed away, although it has signed for a
    /// share of each one's key: put that on record.
    Lacking(PartyId),
    /// Erase what was kept for a decision that ended without a result.
    Erase,
}

impl Task {
    fn of(self, id: &DecisionId) -> Deed {
        Deed { subject: id.0, what: wire::encode(&self) }
    }
}

/// How far a decision has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// What its records amount to, all of it.
    UnderWay(Chain),
    /// What is left to know once it has lapsed, was cancelled, or is opened by all servers.
    Ended(Ended),
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// How far it has come.
    pub course: Course,
    /// What the servers say of who is left out.
    pub vouching: Vouching,
    /// The number of the scheduler's announcement that closed it.
    pub closed: Option<u64>,
    /// The servers that have opened it.
    pub opened: BTreeSet<PartyId>,
    /// What they opened, unverified, until all have. The disk keeps it.
    openings: Vec<(PartyId, Opening)>,
    /// Why it will have no result although it was closed, if that is certain by the openings.
    pub shortage: Option<String>,
    /// How many servers there are.
    servers: usize,
}

/// The decisions of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decisions {
    /// The servers; `None` if they are not three.
    pub operators: Option<Operators>,
    /// How many servers there are.
    servers: usize,
    /// By id.
    pub kept: BTreeMap<DecisionId, Arc<Decision>>,
    /// The one-time keys that stand in them.
    pub spent: BTreeSet<KeyName>,
    /// Decisions of earlier generations, which ended with those. A server that has lost its data
    /// does not know of them, so nothing but this server's own part in a decision may depend on
    /// this.
    pub ended: BTreeSet<DecisionId>,
}

impl Decisions {
    /// None yet. Those that this server knows of `ended` with earlier generations, unless they
    /// begin now.
    pub fn new(servers: &Servers, ended: BTreeSet<DecisionId>) -> Self {
        let operators = Operators::new(servers);
        let (kept, spent) = Default::default();
        Self { operators, servers: servers.keys.len(), kept, spent, ended }
    }

    /// A decision that is kept.
    pub fn get(&self, id: &DecisionId) -> Option<&Decision> {
        self.kept.get(id).map(|decision| &**decision)
    }

    /// Those that are kept.
    pub fn all(&self) -> impl Iterator<Item = (&DecisionId, &Decision)> {
        self.kept.iter().map(|(id, decision)| (id, &**decision))
    }

    fn change(&mut self, id: &DecisionId) -> Option<&mut Decision> {
        self.kept.get_mut(id).map(Arc::make_mut)
    }

    /// Whether a decision is over, or there is none.
    pub fn is_over(&self, id: &DecisionId) -> bool {
        self.get(id).is_none_or(|decision| decision.chain().is_none())
    }

    /// How a decision stands.
    pub fn info(&self, id: &DecisionId) -> Option<DecisionInfo> {
        let decision = self.get(id)?;
        let (people, answered, verified, deadline) = match &decision.course {
            Course::UnderWay(chain) => {
                (chain.remaining(), chain.answered(), chain.verified(), chain.draft().deadline)
            }
            Course::Ended(ended) => {
                (ended.remaining(), ended.answered(), ended.verified(), ended.deadline())
            }
        };
        Some(DecisionInfo {
            id: id.to_hex(),
            records: decision.length(),
            head: decision.head().to_hex(),
            stage: DecisionStage::of(decision.stage(), decision.is_opened()),
            people,
            answered,
            verified,
            deadline,
            openings: decision.opened.iter().map(|party| party.0).collect(),
            refusal: decision.shortage.clone(),
        })
    }
}

impl Decision {
    fn new(chain: Chain, servers: usize) -> Self {
        let course = Course::UnderWay(chain);
        let (closed, shortage, vouching) = Default::default();
        let (opened, openings) = Default::default();
        Self { course, vouching, closed, opened, openings, shortage, servers }
    }

    /// What its records amount to, unless it is over.
    pub fn chain(&self) -> Option<&Chain> {
        match &self.course {
            Course::UnderWay(chain) => Some(chain),
            Course::Ended(_) => None,
        }
    }

    /// Whether the record may follow.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check(&self, signed: &SignedRecord) -> Result<(), Refused> {
        match &self.course {
            Course::UnderWay(chain) => chain.check(signed),
            Course::Ended(ended) => ended.check(signed),
        }
    }

    /// How far it has come.
    pub fn stage(&self) -> Stage {
        match &self.course {
            Course::UnderWay(chain) => chain.stage(),
            Course::Ended(ended) => ended.stage(),
        }
    }

    /// The number of the next record.
    pub fn length(&self) -> u32 {
        match &self.course {
            Course::UnderWay(chain) => chain.length(),
            Course::Ended(ended) => ended.length(),
        }
    }

    /// The digest of the last record.
    pub fn head(&self) -> Digest {
        match &self.course {
            Course::UnderWay(chain) => chain.head(),
            Course::Ended(ended) => ended.head(),
        }
    }

    /// Whether everything is there that the result is computed from.
    pub fn is_opened(&self) -> bool {
        self.opened.len() == self.servers
    }

    /// Whether the others vouch for a record, which was checked, if it leaves somebody out.
    fn is_vouched_for(
        &self,
        signed: &SignedRecord,
        after: &[u64],
        spent: &BTreeSet<KeyName>,
    ) -> Result<(), Invalid> {
        let Some(chain) = self.chain() else { return Ok(()) };
        let takeable = |held: &Held| is_takeable(held, spent);
        self.vouching.check(chain, signed, after, takeable).map_err(|unvouched| match unvouched {
            Unvouched::Early(_) => {
                Invalid("somebody is left out when the date has passed by every server's clock")
            }
            Unvouched::Hides { .. } => {
                Invalid("nobody is left out whose record another server holds")
            }
        })
    }

    /// Takes a record that was checked.
    fn apply_checked(&mut self, signed: &SignedRecord) -> Result<(), Refused> {
        match &mut self.course {
            Course::UnderWay(chain) => chain.apply_checked(signed)?,
            Course::Ended(ended) => ended.apply_checked(signed)?,
        }
        self.vouching.moved();
        self.forget_what_is_over();
        Ok(())
    }

    /// Takes what a server opened, once, which is well formed.
    fn take_opening(&mut self, party: PartyId, opening: &[u8]) {
        let (Some(chain), Ok(opening)) = (self.chain(), Opening::decode(opening)) else { return };
        let mut openings = self.openings.clone();
        openings.push((party, opening));
        let shortage = shortage(chain, &openings);
        if self.opened.insert(party) {
            (self.openings, self.shortage) = (openings, shortage);
        }
        self.forget_what_is_over();
    }

    /// Whether an opening, which is well formed, has no part for somebody who stayed away.
    fn lacks_parts(&self, opening: &[u8]) -> bool {
        let absent = self.chain().and_then(Chain::close).map_or(0, |(_, absent)| absent.len());
        Opening::decode(opening).is_ok_and(|opening| opening.absent.len() < absent)
    }

    /// Keeps of a decision that is over what is still asked for.
    fn forget_what_is_over(&mut self) {
        let over = matches!(self.stage(), Stage::Lapsed | Stage::Cancelled) || self.is_opened();
        if let Some(ended) = self.chain().filter(|_| over).and_then(Chain::ended) {
            self.course = Course::Ended(ended);
            self.openings = Vec::new();
            self.vouching = Vouching::default();
        }
    }
}

/// Whether the scheduler can take what is held: not if its one-time key stands in a decision by
/// now.
/// Which keys do is what the scheduler's log has said so far, so whatever it announces is judged
/// alike by that.
pub(crate) fn is_takeable(held: &Held, spent: &BTreeSet<KeyName>) -> bool {
    held.spends().is_none_or(|name| !spent.contains(&name))
}

/// Judging words.
impl Decisions {
    /// Whether a record may stand that the scheduler announced.
    fn judge_record(
        &self,
        said: &Said<'_>,
        id: &DecisionId,
        bytes: &[u8],
    ) -> Result<bool, Invalid> {
        if said.author != SCHEDULER {
            return Err(Invalid("only the scheduler puts the records of decisions into order"));
        }
        let signed = read_record(id, bytes)
            .ok_or(Invalid("a record is well formed and announced for its own decision"))?;
        if self.ended.contains(id) {
            return Ok(false);
        }
        let refused = |_| {
            Invalid(
                "a record is the next of its decision's chain, and follows the rules of decisions",
            )
        };
        match self.get(id) {
            Some(decision) => {
                decision.check(&signed).map_err(refused)?;
                decision.is_vouched_for(&signed, said.after, &self.spent)?;
            }
            None if self.kept.len() >= MOST_DECISIONS => {
                return Err(Invalid("a deployment keeps a limited number of decisions"));
            }
            None => {
                let three = self.operators;
                let operators = three.ok_or(Invalid("decisions are made with three servers"))?;
                drop(Chain::begin(operators, &signed).map_err(refused)?);
            }
        }
        if signed.record.spends().is_some_and(|name| self.spent.contains(&name)) {
            return Err(Invalid("a one-time key stands in one decision only"));
        }
        Ok(true)
    }

    /// Whether a server's word that a date has passed is news.
    fn judge_date(&self, author: PartyId, id: &DecisionId, date: Date) -> bool {
        self.get(id).is_some_and(|decision| {
            decision.chain().is_some() && !decision.vouching.is_due(author, date)
        })
    }

    /// Whether a server's word that it holds a record is news.
    fn judge_held(&self, said: &Said<'_>, id: &DecisionId, bytes: &[u8]) -> Result<bool, Invalid> {
        let signed = read_record(id, bytes)
            .ok_or(Invalid("a record that a server holds is well formed and of its decision"))?;
        let by = (said.author, said.number);
        let held = |decision: &Decision| decision.vouching.held(decision.chain()?, by, &signed);
        Ok(self.get(id).and_then(held).is_some())
    }

    /// Whether an opening changes anything.
    fn judge_opening(
        &self,
        said: &Said<'_>,
        id: &DecisionId,
        opening: &[u8],
    ) -> Result<bool, Invalid> {
        let known = said.after[SCHEDULER.index()];
        let decision = self.get(id);
        // Whoever delivers this has delivered as much of the scheduler's log as its author had.
        let decision =
            decision.filter(|decision| decision.closed.is_some_and(|closed| closed < known));
        let decision =
            decision.ok_or(Invalid("a server opens decisions of whose close it knows"))?;
        if !is_opening(opening) {
            return Err(Invalid("an opening must be well formed"));
        }
        Ok(!decision.opened.contains(&said.author))
    }
}

/// Taking what was judged.
impl Decisions {
    /// Takes a word, announcement `number` of its author. It is valid if it was judged and nothing
    /// has changed it since.
    fn take(
        &mut self,
        (author, number): (PartyId, u64),
        id: &DecisionId,
        word: &[u8],
    ) -> Result<Vec<Deed>, Invalid> {
        match Word::read(word)? {
            Word::Record(record) => self.take_record(id, number, &record),
            Word::Due(date) => {
                if let Some(decision) = self.change(id) {
                    decision.vouching.note_due(author, date, number);
                }
                Ok(Vec::new())
            }
            Word::Held(record) => {
                self.take_held(id, (author, number), record)?;
                Ok(vec![Task::TakeHeld.of(id)])
            }
            Word::Opened(opening) => Ok(self.take_opening(id, author, &opening)),
        }
    }

    /// Takes a record, announcement `number` of the scheduler.
    fn take_record(
        &mut self,
        id: &DecisionId,
        number: u64,
        bytes: &[u8],
    ) -> Result<Vec<Deed>, Invalid> {
        let signed = read_record(id, bytes).ok_or(Invalid("a record is well formed"))?;
        let follows = self.extend(&signed);
        follows.map_err(|_| Invalid("a record follows those before it in its decision"))?;
        let closes = matches!(signed.record.content, Content::Close { .. });
        if let (true, Some(decision)) = (closes, self.change(id)) {
            decision.closed = Some(number);
        }
        Ok(match (closes, self.get(id).map(Decision::stage)) {
            (true, _) => vec![Task::Open.of(id)],
            (false, Some(Stage::Lapsed | Stage::Cancelled)) => vec![Task::Erase.of(id)],
            (false, _) => Vec::new(),
        })
    }

    /// Puts a record at the end of its decision's chain, or begins the decision. It was judged
    /// here, or before a restart: its signatures and proofs are not verified again.
    fn extend(&mut self, signed: &SignedRecord) -> Result<(), Refused> {
        let id = signed.record.decision;
        match self.change(&id) {
            Some(decision) => decision.apply_checked(signed)?,
            None => {
                let operators = self.operators.ok_or(Refused::Form)?;
                let chain = Chain::begin_checked(operators, signed)?;
                self.kept.insert(id, Arc::new(Decision::new(chain, self.servers)));
                self.ended.remove(&id);
            }
        }
        self.spent.extend(signed.record.spends());
        Ok(())
    }

    /// Takes a server's word that it holds a record.
    fn take_held(
        &mut self,
        id: &DecisionId,
        (by, announcement): (PartyId, u64),
        record: Vec<u8>,
    ) -> Result<(), Invalid> {
        let signed = read_record(id, &record).ok_or(Invalid("a record is well formed"))?;
        let (previous, person) = (signed.record.previous, signed.record.speaks_for());
        if let (Some(decision), Some(person)) = (self.change(id), person) {
            decision.vouching.hold(Held { by, announcement, person, previous, record });
        }
        Ok(())
    }

    /// Takes what a server opened.
    fn take_opening(&mut self, id: &DecisionId, party: PartyId, opening: &[u8]) -> Vec<Deed> {
        let Some(decision) = self.change(id) else { return Vec::new() };
        let lacks = decision.lacks_parts(opening);
        decision.take_opening(party, opening);
        if lacks { vec![Task::Lacking(party).of(id)] } else { Vec::new() }
    }
}

impl State for Decisions {
    fn judge(&self, said: &Said<'_>, subject: &Subject, word: &[u8]) -> Result<bool, Invalid> {
        let id = DecisionId(*subject);
        match Word::read(word)? {
            Word::Record(record) => self.judge_record(said, &id, &record),
            Word::Due(date) => Ok(self.judge_date(said.author, &id, date)),
            Word::Held(record) => self.judge_held(said, &id, &record),
            Word::Opened(opening) => self.judge_opening(said, &id, &opening),
        }
    }

    fn filed(&self, author: PartyId, subject: &Subject, word: &[u8]) -> Filed {
        let word = Word::read(word).expect("well formed when it was judged");
        word.filed(author, &DecisionId(*subject))
    }

    fn apply(&mut self, by: (PartyId, u64), subject: &Subject, word: &[u8]) -> Vec<Deed> {
        self.take(by, &DecisionId(*subject), word).expect("valid when it was judged")
    }

    fn replay(
        &mut self,
        by: (PartyId, u64),
        subject: &Subject,
        word: &[u8],
    ) -> Result<(), Invalid> {
        self.take(by, &DecisionId(*subject), word).map(drop)
    }

    fn undone(&self, me: PartyId) -> Vec<Deed> {
        let unopened =
            self.all().filter(|(_, decision)| decision.closed.is_some() && !decision.is_opened());
        let open = unopened.map(|(id, _)| Task::Open.of(id));
        let under_way =
            self.all().filter(|(_, decision)| me == SCHEDULER && decision.chain().is_some());
        open.chain(under_way.map(|(id, _)| Task::TakeHeld.of(id))).collect()
    }

    fn view(&self, subject: &Subject) -> Option<serde_json::Value> {
        serde_json::to_value(self.info(&DecisionId(*subject))?).ok()
    }
}

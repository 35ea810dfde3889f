//! Private decisions in the state that the servers agree on. `docs/spec/decide.md` is the
//! specification; its steps are named here.
//!
//! A decision's chain comes from the scheduler's log alone, and a record is accepted by
//! [`Chain::check`], the same rule as on people's devices. So it holds or fails alike at every
//! server. What a server opens comes from its own log, and is judged by how much of the scheduler's
//! log its author knew, which is part of its word: so that, too, is judged alike.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_crypto::Digest;
use ostrakon_decide::{
    Chain, Content, Date, DecisionId, Ended, Held, KeyName, Opening, Operators, Refused,
    SignedRecord, Stage, Unvouched, Vouching, shortage,
};
use ostrakon_party::PartyId;
use ostrakon_store::{Change, DecisionKey, HeldRecord, NewRecord};

use crate::state::{Effect, Invalid, SCHEDULER, World};

/// Decisions that a deployment keeps at most: of 200 people each they take some hundred megabytes
/// of memory while they are under way, and a tenth of that when they are over.
pub const MOST_DECISIONS: usize = 2_000;
/// Bytes of an encoded opening at most. The tables' limit of 900 entries bounds people times
/// ballots, so the elements for all who are absent take 28,800 bytes, and proofs and names of 200
/// people 14,000.
pub(crate) const OPENING_BYTES: usize = 48_000;

/// How far a decision has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// What its records amount to, all of it.
    UnderWay(Chain),
    /// What is left to know once it has lapsed, was cancelled, or is opened by all servers.
    Ended(Ended),
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// By id.
    pub kept: BTreeMap<DecisionId, Decision>,
    /// The one-time keys that stand in them.
    pub spent: BTreeSet<KeyName>,
    /// Decisions of earlier generations, which ended with those. A server that has lost its data
    /// does not know of them, so nothing but this server's own part in a decision may depend on
    /// this.
    pub ended: BTreeSet<DecisionId>,
}

impl Decisions {
    /// Whether a decision is over, or there is none.
    pub fn is_over(&self, id: &DecisionId) -> bool {
        self.kept.get(id).is_none_or(|decision| decision.chain().is_none())
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
    pub(crate) fn take_opening(&mut self, party: PartyId, opening: &[u8]) {
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

fn read_record(id: &DecisionId, bytes: &[u8]) -> Option<SignedRecord> {
    SignedRecord::decode(bytes).ok().filter(|signed| signed.record.decision == *id)
}

/// Whether these bytes are a record of the decision, whatever it says.
pub(crate) fn is_record_of(id: &DecisionId, bytes: &[u8]) -> bool {
    read_record(id, bytes).is_some()
}

/// Whether these bytes are an opening, whatever it says.
pub(crate) fn is_opening(bytes: &[u8]) -> bool {
    bytes.len() <= OPENING_BYTES && Opening::decode(bytes).is_ok()
}

impl World {
    /// The servers as decisions know them; `None` if they are not three.
    pub fn operators(&self) -> Option<Operators> {
        Operators::new(&self.servers)
    }

    /// What a record changes that the scheduler announced under `announcement`.
    pub(crate) fn judge_record(
        &self,
        author: PartyId,
        after: &[u64],
        id: &DecisionId,
        bytes: &[u8],
    ) -> Result<Option<Change>, Invalid> {
        let announcement = after[author.index()];
        if author != SCHEDULER {
            return Err(Invalid("only the scheduler puts the records of decisions into order"));
        }
        let signed = read_record(id, bytes)
            .ok_or(Invalid("a record is well formed and announced for its own decision"))?;
        if self.decisions.ended.contains(id) {
            return Ok(None);
        }
        let refused = |_| {
            Invalid(
                "a record is the next of its decision's chain, and follows the rules of decisions",
            )
        };
        match self.decisions.kept.get(id) {
            Some(decision) => {
                decision.check(&signed).map_err(refused)?;
                decision.is_vouched_for(&signed, after, &self.decisions.spent)?;
            }
            None if self.decisions.kept.len() >= MOST_DECISIONS => {
                return Err(Invalid("a deployment keeps a limited number of decisions"));
            }
            None => {
                let three = self.operators();
                let operators = three.ok_or(Invalid("decisions are made with three servers"))?;
                drop(Chain::begin(operators, &signed).map_err(refused)?);
            }
        }
        let spends = signed.record.spends();
        if spends.is_some_and(|name| self.decisions.spent.contains(&name)) {
            return Err(Invalid("a one-time key stands in one decision only"));
        }
        Ok(Some(Change::DecisionRecord(NewRecord {
            decision: id.0,
            number: signed.record.number,
            announcement,
            closes: matches!(signed.record.content, Content::Close { .. }),
            spends: spends.map(|name| (name.owner.0, name.serial.0)),
            body: bytes.to_vec(),
        })))
    }

    /// What a server's word changes that a date has passed.
    pub(crate) fn judge_date(
        &self,
        author: PartyId,
        id: &DecisionId,
        date: Date,
    ) -> Result<Option<Change>, Invalid> {
        let decision = self.decisions.kept.get(id);
        let new = decision.is_some_and(|decision| {
            decision.chain().is_some() && !decision.vouching.is_due(author, date)
        });
        let change = Change::DecisionDue { decision: id.0, date: date.number(), party: author };
        Ok(new.then_some(change))
    }

    /// What a server's word changes that it holds a record.
    pub(crate) fn judge_held(
        &self,
        author: PartyId,
        announcement: u64,
        id: &DecisionId,
        bytes: &[u8],
    ) -> Result<Option<Change>, Invalid> {
        let signed = read_record(id, bytes)
            .ok_or(Invalid("a record that a server holds is well formed and of its decision"))?;
        let decision = self.decisions.kept.get(id);
        let held = decision.and_then(|decision| {
            let chain = decision.chain()?;
            decision.vouching.held(chain, (author, announcement), &signed)
        });
        let change = |held: Held| {
            Change::DecisionHeld(HeldRecord {
                decision: id.0,
                party: held.by,
                announcement: held.announcement,
                person: held.person,
                previous: held.previous.0,
                body: held.record,
            })
        };
        Ok(held.map(change))
    }

    /// Takes a server's word that a date has passed.
    fn take_due(
        &mut self,
        id: &DecisionKey,
        (date, party): (u8, PartyId),
        announcement: u64,
    ) -> Vec<Effect> {
        let decision = self.decisions.kept.get_mut(&DecisionId(*id));
        if let (Some(decision), Some(date)) = (decision, Date::of(date)) {
            decision.vouching.note_due(party, date, announcement);
        }
        self.version += 1;
        Vec::new()
    }

    /// Takes a server's word that it holds a record.
    fn take_held(&mut self, held: &HeldRecord) -> Vec<Effect> {
        let id = DecisionId(held.decision);
        if let Some(decision) = self.decisions.kept.get_mut(&id) {
            decision.vouching.hold(Held {
                by: held.party,
                announcement: held.announcement,
                person: held.person,
                previous: Digest(held.previous),
                record: held.body.clone(),
            });
        }
        self.version += 1;
        vec![Effect::TakeHeld(id)]
    }

    /// What an opening changes that its server announced after so many announcements of each
    /// server.
    pub(crate) fn judge_decryption(
        &self,
        author: PartyId,
        after: &[u64],
        id: &DecisionId,
        opening: &[u8],
    ) -> Result<Option<Change>, Invalid> {
        let known = after[SCHEDULER.index()];
        let decision = self.decisions.kept.get(id);
        // Whoever delivers this has delivered as much of the scheduler's log as its author had.
        let decision =
            decision.filter(|decision| decision.closed.is_some_and(|closed| closed < known));
        let decision =
            decision.ok_or(Invalid("a server opens decisions of whose close it knows"))?;
        if !is_opening(opening) {
            return Err(Invalid("an opening must be well formed"));
        }
        if decision.opened.contains(&author) {
            return Ok(None);
        }
        Ok(Some(Change::DecisionOpening { decision: id.0, party: author, body: opening.to_vec() }))
    }

    /// Takes what was judged of decisions.
    pub(crate) fn apply_to_decisions(&mut self, number: u64, change: &Change) -> Vec<Effect> {
        match change {
            Change::DecisionRecord(record) => self.take_record(record),
            Change::DecisionDue { decision, date, party } => {
                self.take_due(decision, (*date, *party), number)
            }
            Change::DecisionHeld(held) => self.take_held(held),
            Change::DecisionOpening { decision, party, body } => {
                self.take_opening(decision, *party, body)
            }
            _ => Vec::new(),
        }
    }

    /// Takes a record that was judged.
    fn take_record(&mut self, new: &NewRecord) -> Vec<Effect> {
        let id = DecisionId(new.decision);
        let signed = SignedRecord::decode(&new.body).expect("well formed when it was judged");
        self.extend_decision(&signed).expect("checked when it was judged");
        if let (true, Some(decision)) = (new.closes, self.decisions.kept.get_mut(&id)) {
            decision.closed = Some(new.announcement);
        }
        self.version += 1;
        let stage = self.decisions.kept.get(&id).map(Decision::stage);
        match (new.closes, stage) {
            (true, _) => vec![Effect::Open(id)],
            (false, Some(Stage::Lapsed | Stage::Cancelled)) => vec![Effect::Erase(id)],
            (false, _) => Vec::new(),
        }
    }

    /// Puts a record at the end of its decision's chain, or begins the decision. It was judged
    /// here, or before a restart: its signatures and proofs are not verified again.
    pub(crate) fn extend_decision(&mut self, signed: &SignedRecord) -> Result<(), Refused> {
        let id = signed.record.decision;
        match self.decisions.kept.get_mut(&id) {
            Some(decision) => decision.apply_checked(signed)?,
            None => {
                let operators = self.operators().ok_or(Refused::Form)?;
                let chain = Chain::begin_checked(operators, signed)?;
                self.decisions.kept.insert(id, Decision::new(chain, self.trusts.parties()));
            }
        }
        self.decisions.spent.extend(signed.record.spends());
        Ok(())
    }

    /// Takes an opening that was judged.
    fn take_opening(&mut self, id: &DecisionKey, party: PartyId, opening: &[u8]) -> Vec<Effect> {
        let id = DecisionId(*id);
        let mut lacks = false;
        if let Some(decision) = self.decisions.kept.get_mut(&id) {
            lacks = decision.lacks_parts(opening);
            decision.take_opening(party, opening);
        }
        self.version += 1;
        if lacks { vec![Effect::Lacking(id, party)] } else { Vec::new() }
    }
}

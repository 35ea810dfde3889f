//! Private decisions in the state that the servers agree on. `docs/spec/decide.md` is the specification; its steps are named here.
//!
//! A decision's chain comes from the scheduler's log alone, and a record is accepted by [`Chain::check`], the same rule as on
//! people's devices. So it holds or fails alike at every server. What a server opens comes from its own log, and is judged by how
//! much of the scheduler's log its author knew, which is part of its word: so that, too, is judged alike.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_decide::{Chain, Content, DecisionId, KeyName, Opening, Operators, Refused, SignedRecord, Stage};
use ostrakon_party::PartyId;
use ostrakon_store::{Change, DecisionKey, NewRecord};

use crate::config::SERVERS;
use crate::rooms::{Effect, Invalid, SCHEDULER, World};

/// Decisions that a deployment keeps at most: of 200 people each they take some hundred megabytes of memory.
pub const MOST_DECISIONS: usize = 2_000;
/// Bytes of an encoded opening at most: two partial decryptions of twenty ballots, and some more.
const OPENING_BYTES: usize = 4096;

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What its records amount to.
    pub chain: Chain,
    /// The number of the scheduler's announcement that closed it.
    pub closed: Option<u64>,
    /// What each server opened. That it holds was not verified.
    pub openings: BTreeMap<PartyId, Vec<u8>>,
}

/// The decisions of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// By id.
    pub kept: BTreeMap<DecisionId, Decision>,
    /// The one-time keys that stand in them.
    pub spent: BTreeSet<KeyName>,
    /// Decisions of earlier generations, which ended with those. A server that has lost its data does not know of them, so
    /// nothing but this server's own part in a decision may depend on this.
    pub ended: BTreeSet<DecisionId>,
}

impl Decision {
    /// Whether everything is there that the result is computed from.
    pub fn is_opened(&self) -> bool {
        self.openings.len() == SERVERS
    }

    /// Whether the scheduler may have to add something.
    pub fn is_under_way(&self) -> bool {
        matches!(self.chain.stage(), Stage::Accepting | Stage::Answering)
    }
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
    /// The servers as decisions know them.
    pub fn operators(&self) -> Operators {
        Operators::new(&self.servers).expect("a deployment has three servers")
    }

    /// What a record changes that the scheduler announced under `announcement`.
    pub(crate) fn judge_record(
        &self,
        author: PartyId,
        announcement: u64,
        id: &DecisionId,
        bytes: &[u8],
    ) -> Result<Option<Change>, Invalid> {
        if author != SCHEDULER {
            return Err(Invalid("only the scheduler puts the records of decisions into order"));
        }
        let signed =
            read_record(id, bytes).ok_or(Invalid("a record is well formed and announced for its own decision"))?;
        if self.decisions.ended.contains(id) {
            return Ok(None);
        }
        let refused = |_| Invalid("a record is the next of its decision's chain, and follows the rules of decisions");
        match self.decisions.kept.get(id) {
            Some(decision) => decision.chain.check(&signed).map_err(refused)?,
            None if self.decisions.kept.len() >= MOST_DECISIONS => {
                return Err(Invalid("a deployment keeps a limited number of decisions"));
            }
            None => drop(Chain::begin(self.operators(), &signed).map_err(refused)?),
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

    /// What an opening changes that its server announced after so many announcements of each server.
    pub(crate) fn judge_decryption(
        &self,
        author: PartyId,
        after: &[u64; SERVERS],
        id: &DecisionId,
        opening: &[u8],
    ) -> Result<Option<Change>, Invalid> {
        let known = after[SCHEDULER.index()];
        let decision = self.decisions.kept.get(id);
        // Whoever delivers this has delivered as much of the scheduler's log as its author had.
        let decision = decision.filter(|decision| decision.closed.is_some_and(|closed| closed < known));
        let decision = decision.ok_or(Invalid("a server opens decisions of whose close it knows"))?;
        if !is_opening(opening) {
            return Err(Invalid("an opening must be well formed"));
        }
        if decision.openings.contains_key(&author) {
            return Ok(None);
        }
        Ok(Some(Change::DecisionOpening { decision: id.0, party: author, body: opening.to_vec() }))
    }

    /// Takes a record that was judged.
    pub(crate) fn take_record(&mut self, new: &NewRecord) -> Vec<Effect> {
        let id = DecisionId(new.decision);
        let signed = SignedRecord::decode(&new.body).expect("well formed when it was judged");
        self.extend_decision(&signed).expect("checked when it was judged");
        if let (true, Some(decision)) = (new.closes, self.decisions.kept.get_mut(&id)) {
            decision.closed = Some(new.announcement);
        }
        self.version += 1;
        if new.closes { vec![Effect::Open(id)] } else { Vec::new() }
    }

    /// Puts a record at the end of its decision's chain, or begins the decision.
    pub(crate) fn extend_decision(&mut self, signed: &SignedRecord) -> Result<(), Refused> {
        let id = signed.record.decision;
        match self.decisions.kept.get_mut(&id) {
            Some(decision) => decision.chain.apply(signed)?,
            None => {
                let chain = Chain::begin(self.operators(), signed)?;
                self.decisions.kept.insert(id, Decision { chain, closed: None, openings: BTreeMap::new() });
            }
        }
        self.decisions.spent.extend(signed.record.spends());
        Ok(())
    }

    /// Takes an opening that was judged.
    pub(crate) fn take_opening(&mut self, id: &DecisionKey, party: PartyId, opening: &[u8]) -> Vec<Effect> {
        if let Some(decision) = self.decisions.kept.get_mut(&DecisionId(*id)) {
            decision.openings.entry(party).or_insert_with(|| opening.to_vec());
        }
        self.version += 1;
        Vec::new()
    }
}

//! The state that all honest servers have after the same number of commits.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::block::{Block, CheckedBlock, ReadmissionVote, Reference, Slot};
use crate::coin::CoinShare;
use crate::params::{MAX_OPEN_BEACONS, Params, Round};

/// How often a server has lost its data, and since when it takes part again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incarnation {
    /// How often.
    pub number: u32,
    /// The first round of this incarnation.
    pub from: Round,
    /// The nonce of its petition.
    pub nonce: [u8; 32],
}

/// A function of the common order, the same at every honest server after the same number of
/// commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// How many leaders have been committed.
    pub commits: u64,
    /// The round of the last one; 0 before any.
    pub last: Round,
    /// A digest of everything that was ordered.
    pub chain: Digest,
    /// What was ordered above the horizon of the last leader.
    pub ordered: BTreeMap<Slot, Digest>,
    /// By server.
    pub incarnations: Vec<Incarnation>,
    /// The newest vote of each voter for each server that is to be readmitted.
    pub readmissions: BTreeMap<(PartyId, PartyId), ReadmissionVote>,
    /// Shares of unfinished beacons, oldest first.
    pub beacons: Vec<(Digest, PartyId, CoinShare)>,
    /// The last beacons that were finished.
    pub finished: Vec<Digest>,
}

/// A committed leader with the blocks that it orders.
#[derive(Clone, Debug)]
pub struct Commit {
    /// How many leaders have been committed with this one.
    pub number: u64,
    /// The leader.
    pub leader: Reference,
    /// The blocks that it orders, in the common order; the leader is the last one.
    pub blocks: Vec<Arc<CheckedBlock>>,
}

impl Commit {
    /// The records of the commit with their authors, in the common order.
    pub fn records(&self) -> impl Iterator<Item = (PartyId, &[u8])> {
        self.blocks.iter().flat_map(|block| {
            let author = block.block().author;
            block.block().records.iter().map(move |record| (author, record.as_slice()))
        })
    }
}

/// What a commit settled besides records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// A server begins a new incarnation.
    Readmitted(PartyId, Incarnation),
    /// A beacon has t + 1 shares.
    Beacon(Digest, Vec<(PartyId, CoinShare)>),
}

impl Agreed {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            commits: 0,
            last: 0,
            chain: Digest([0; 32]),
            ordered: BTreeMap::new(),
            incarnations: vec![Incarnation::default(); params.parties()],
            readmissions: BTreeMap::new(),
            beacons: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Whether the state has the form that it takes in this ledger.
    pub(super) fn is_well_formed(&self, params: &Params) -> bool {
        self.incarnations.len() == params.parties()
            && self.ordered.keys().all(|(_, author)| params.has(*author))
    }

    /// No leader to come orders anything of this round or below.
    pub(super) fn line(&self, params: &Params) -> Round {
        self.last.saturating_sub(params.horizon())
    }

    pub(super) fn has_ordered(&self, reference: &Reference) -> bool {
        self.ordered.get(&reference.slot()) == Some(&reference.digest)
    }

    /// Commits `leader`, which orders `blocks`.
    pub(super) fn commit(
        &mut self,
        leader: &Reference,
        blocks: &[Arc<CheckedBlock>],
        params: &Params,
    ) -> Vec<Settled> {
        let mut settled = Vec::new();
        let mut transcript = Transcript::new("ostrakon/v1/agreement/order");
        transcript.field(&self.chain.0).field(&wire::encode(leader));
        for block in blocks {
            transcript.field(&block.digest().0);
            self.ordered.insert(block.reference().slot(), block.digest());
            settled.extend(self.count_readmissions(block.block(), params));
            settled.extend(self.count_beacons(block.block(), params));
        }
        self.chain = transcript.finish();
        self.commits += 1;
        self.last = leader.round;
        let line = self.line(params);
        self.ordered.retain(|(round, _), _| *round > line);
        settled
    }

    /// Counts votes to readmit servers: t + 1 alike begin an incarnation.
    fn count_readmissions(&mut self, block: &Block, params: &Params) -> Vec<Settled> {
        let mut settled = Vec::new();
        for vote in &block.readmissions {
            let now = &mut self.incarnations[vote.party.index()];
            if Some(vote.incarnation) != now.number.checked_add(1) {
                continue;
            }
            self.readmissions.insert((vote.party, block.author), *vote);
            let alike = self.readmissions.values().filter(|other| *other == vote).count();
            if alike >= params.believed() {
                *now = Incarnation { number: vote.incarnation, from: vote.from, nonce: vote.nonce };
                settled.push(Settled::Readmitted(vote.party, *now));
                self.readmissions.retain(|(party, _), _| *party != vote.party);
            }
        }
        settled
    }

    /// Counts shares of beacons: t + 1 finish one.
    fn count_beacons(&mut self, block: &Block, params: &Params) -> Vec<Settled> {
        let mut settled = Vec::new();
        for (name, share) in &block.beacons {
            let known = self
                .beacons
                .iter()
                .any(|(other, author, _)| (other, *author) == (name, block.author));
            if known || self.finished.contains(name) {
                continue;
            }
            self.beacons.push((*name, block.author, *share));
            let own = self.beacons.iter().filter(|(_, author, _)| *author == block.author).count();
            if own > MAX_OPEN_BEACONS
                && let Some(oldest) =
                    self.beacons.iter().position(|(_, author, _)| *author == block.author)
            {
                self.beacons.remove(oldest);
            }
            let of_name = self.beacons.iter().filter(|(other, ..)| other == name);
            let shares: Vec<_> = of_name.map(|(_, author, share)| (*author, *share)).collect();
            if shares.len() >= params.believed() {
                self.beacons.retain(|(other, ..)| other != name);
                self.finished.push(*name);
                if self.finished.len() > MAX_OPEN_BEACONS {
                    self.finished.remove(0);
                }
                settled.push(Settled::Beacon(*name, shares));
            }
        }
        settled
    }
}

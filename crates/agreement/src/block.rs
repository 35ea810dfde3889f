//! Blocks, votes and certificates (spec 1 and 2).

use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::coin::CoinShare;
use crate::keys::Keys;
use crate::params::{
    MAX_BEACONS, MAX_BLOCK, MAX_READMISSIONS, MAX_RECORD, MAX_RECORD_COUNT, Params, Round, coin_of,
};

/// A place in the ledger: one author has one certified block in a round.
pub type Slot = (Round, PartyId);

/// A block that another one names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reference {
    /// Its round.
    pub round: Round,
    /// Its author.
    pub author: PartyId,
    /// Its digest.
    pub digest: Digest,
}

impl Reference {
    /// Where the block stands.
    #[must_use]
    pub fn slot(&self) -> Slot {
        (self.round, self.author)
    }
}

/// A signature on the state after a number of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointSignature {
    /// After how many commits.
    pub commits: u64,
    /// The digest of the state.
    pub digest: Digest,
    /// The signature on both.
    pub signature: Signature,
}

/// A vote to let a server that lost its data take part again (spec 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReadmissionVote {
    /// Who lost its data.
    pub party: PartyId,
    /// Which incarnation it begins.
    pub incarnation: u32,
    /// R₀: the first round in which it votes and makes blocks again.
    pub from: Round,
    /// The nonce under which it asked.
    pub nonce: [u8; 32],
}

/// What an author says in one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// How often the author has lost its data.
    pub incarnation: u32,
    /// Who says it.
    pub author: PartyId,
    /// In which round.
    pub round: Round,
    /// Certified blocks of the round before, by ascending author: at least q. In round 1 these are
    /// all authors, with digests of zeros.
    pub parents: Vec<(PartyId, Digest)>,
    /// The newest certified block of every author that is not among the parents, the author's own
    /// included, by ascending author.
    pub older: Vec<Reference>,
    /// What the application says.
    pub records: Vec<Vec<u8>>,
    /// The share of the coin for the leader two rounds before.
    pub coin: Option<CoinShare>,
    /// Shares of beacons, by name.
    pub beacons: Vec<(Digest, CoinShare)>,
    /// A signature on the newest checkpoint.
    pub checkpoint: Option<CheckpointSignature>,
    /// Votes to readmit servers.
    pub readmissions: Vec<ReadmissionVote>,
}

impl Block {
    /// Where the block stands.
    #[must_use]
    pub fn slot(&self) -> Slot {
        (self.round, self.author)
    }

    /// Whether it says anything that has to be ordered.
    #[must_use]
    pub fn has_payload(&self) -> bool {
        !(self.records.is_empty() && self.beacons.is_empty() && self.readmissions.is_empty())
    }

    /// The blocks that it names, parents first; none in round 1.
    pub fn references(&self) -> impl Iterator<Item = Reference> + '_ {
        let round = self.round - 1;
        let parents = self.parents.iter().filter(move |_| round > 0);
        parents
            .map(move |&(author, digest)| Reference { round, author, digest })
            .chain(self.older.iter().copied())
    }

    /// Whether it has the form that every author can be held to, whatever blocks there are.
    #[must_use]
    pub fn is_well_formed(&self, params: &Params) -> bool {
        let ascending = |authors: Vec<PartyId>| {
            authors.is_sorted_by(|a, b| a < b) && authors.into_iter().all(|id| params.has(id))
        };
        let parents = self.parents.iter().map(|(author, _)| *author).collect();
        let older = self.older.iter().map(|reference| reference.author).collect();
        let named = |author: PartyId| self.parents.binary_search_by_key(&author, |p| p.0).is_ok();
        params.has(self.author)
            && self.round >= 1
            && ascending(parents)
            && ascending(older)
            && self.parents.len() >= params.quorum()
            && self.older.iter().all(|older| {
                let depth = self.round.saturating_sub(older.round);
                let deep = older.round >= 1 && depth >= 2 && depth < params.horizon();
                deep && !named(older.author)
            })
            && (self.round > 1 || self.parents == genesis(params))
            && (self.coin.is_none() || coin_of(self.round).is_some())
            && self.records.len() <= MAX_RECORD_COUNT
            && self.records.iter().all(|record| record.len() <= MAX_RECORD)
            && self.beacons.len() <= MAX_BEACONS
            && self.readmissions.len() <= MAX_READMISSIONS
            && self.readmissions.iter().all(|vote| params.has(vote.party))
    }

    /// Signs the block. Its author must be the keys' party.
    pub fn sign(self, params: &Params, keys: &impl Keys) -> SignedBlock {
        let digest = self.digest();
        let header = Header {
            incarnation: self.incarnation,
            author: self.author,
            round: self.round,
            digest,
        };
        let signature = keys.sign(&header.statement(params));
        SignedBlock { block: self, signature }
    }

    /// The digest by which others name it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        ostrakon_crypto::hash::digest("ostrakon/v1/agreement/block", &wire::encode(self))
    }
}

/// The parents of a block of round 1.
pub(crate) fn genesis(params: &Params) -> Vec<(PartyId, Digest)> {
    let all = ostrakon_party::PartySet::all(params.parties());
    all.iter().map(|party| (party, Digest([0; 32]))).collect()
}

/// What an author signs of a block: enough to convict it of two blocks in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The author's incarnation.
    pub incarnation: u32,
    /// The author.
    pub author: PartyId,
    /// The round.
    pub round: Round,
    /// The block's digest.
    pub digest: Digest,
}

impl Header {
    pub(crate) fn statement(&self, params: &Params) -> Digest {
        let mut transcript = params.transcript("ostrakon/v1/agreement/block header");
        transcript
            .number(u64::from(self.incarnation))
            .number(u64::from(self.author.0))
            .number(self.round)
            .field(&self.digest.0);
        transcript.finish()
    }
}

/// A header with its author's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedHeader {
    /// The header.
    pub header: Header,
    /// The author's signature.
    pub signature: Signature,
}

impl SignedHeader {
    /// Whether the author signed it.
    #[must_use]
    pub fn verifies(&self, params: &Params, keys: &impl Keys) -> bool {
        keys.verifies(self.header.author, &self.header.statement(params), &self.signature)
    }
}

/// A block as its author sends it. Nothing of it has been checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedBlock {
    /// The block.
    pub block: Block,
    /// The author's signature on its header.
    pub signature: Signature,
}

impl SignedBlock {
    /// The signed header.
    #[must_use]
    pub fn header(&self) -> SignedHeader {
        let Block { incarnation, author, round, .. } = self.block;
        let header = Header { incarnation, author, round, digest: self.block.digest() };
        SignedHeader { header, signature: self.signature }
    }
}

/// A block of the right form, signed by its author, whose shares hold. It may name anything.
#[derive(Clone, Debug)]
pub struct CheckedBlock {
    signed: SignedBlock,
    digest: Digest,
}

/// Why a block is as if it had never arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadBlock {
    /// Its form or its signature is wrong: nobody is convicted.
    Malformed,
    /// Its author signed a share whose proof fails.
    Share,
}

impl CheckedBlock {
    /// Checks everything that does not depend on other blocks.
    ///
    /// # Errors
    /// [`BadBlock`].
    pub fn check(signed: SignedBlock, params: &Params, keys: &impl Keys) -> Result<Self, BadBlock> {
        let block = &signed.block;
        if !block.is_well_formed(params) || wire::encode(&signed).len() > MAX_BLOCK {
            return Err(BadBlock::Malformed);
        }
        let header = signed.header();
        if !header.verifies(params, keys) {
            return Err(BadBlock::Malformed);
        }
        if !shares_hold(block, params, keys) {
            return Err(BadBlock::Share);
        }
        Ok(Self { digest: header.header.digest, signed })
    }

    /// A block whose digest is what the test says.
    #[cfg(test)]
    pub(crate) fn assumed(block: Block, digest: Digest) -> Self {
        Self { signed: SignedBlock { block, signature: Signature([0; 64]) }, digest }
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.signed.block
    }

    /// The block with its author's signature.
    pub fn signed(&self) -> &SignedBlock {
        &self.signed
    }

    /// The block's digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The block as others name it.
    pub fn reference(&self) -> Reference {
        let block = self.block();
        Reference { round: block.round, author: block.author, digest: self.digest }
    }
}

/// Whether every coin share, beacon share and checkpoint signature of a block is its author's.
pub(crate) fn shares_hold(block: &Block, params: &Params, keys: &impl Keys) -> bool {
    let holds = |label: &Digest, share| keys.share_verifies(block.author, label, share);
    let coin = match (&block.coin, coin_of(block.round)) {
        (Some(share), Some(round)) => holds(&params.coin_label(round), share),
        (Some(_), None) => false,
        (None, _) => true,
    };
    coin && block.beacons.iter().all(|(name, share)| holds(&params.beacon_label(name), share))
        && block.checkpoint.iter().all(|checkpoint| {
            let statement = checkpoint_statement(params, checkpoint.commits, &checkpoint.digest);
            keys.verifies(block.author, &statement, &checkpoint.signature)
        })
}

/// What is signed of a checkpoint.
pub(crate) fn checkpoint_statement(params: &Params, commits: u64, digest: &Digest) -> Digest {
    let mut transcript = params.transcript("ostrakon/v1/agreement/checkpoint");
    transcript.number(commits).field(&digest.0);
    transcript.finish()
}

/// A server's word that it has a block and all that the block names, and voted for nothing else in
/// its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Who votes.
    pub voter: PartyId,
    /// For what.
    pub block: Reference,
    /// The voter's signature.
    pub signature: Signature,
}

impl Vote {
    /// What voters sign.
    pub(crate) fn statement(params: &Params, block: &Reference) -> Digest {
        let mut transcript = params.transcript("ostrakon/v1/agreement/vote");
        transcript.number(block.round).number(u64::from(block.author.0)).field(&block.digest.0);
        transcript.finish()
    }

    /// This server's vote.
    #[must_use]
    pub fn sign(params: &Params, keys: &impl Keys, block: Reference) -> Self {
        let signature = keys.sign(&Self::statement(params, &block));
        Self { voter: keys.party(), block, signature }
    }

    /// Whether the voter signed it.
    #[must_use]
    pub fn verifies(&self, params: &Params, keys: &impl Keys) -> bool {
        keys.verifies(self.voter, &Self::statement(params, &self.block), &self.signature)
    }
}

/// q votes for one block. Two certificates for different blocks of one place would need an honest
/// server's two votes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The block.
    pub block: Reference,
    /// Voters in ascending order, with their signatures.
    pub votes: Vec<(PartyId, Signature)>,
}

impl Certificate {
    /// Whether at least q distinct servers signed it.
    #[must_use]
    pub fn verifies(&self, params: &Params, keys: &impl Keys) -> bool {
        let statement = Vote::statement(params, &self.block);
        params.has(self.block.author)
            && self.block.round >= 1
            && is_quorum_of(&self.votes, params.quorum(), params, keys, &statement)
    }
}

/// Whether at least `needed` distinct servers, in ascending order, signed `statement`, and nobody
/// else is named.
pub(crate) fn is_quorum_of(
    votes: &[(PartyId, Signature)],
    needed: usize,
    params: &Params,
    keys: &impl Keys,
    statement: &Digest,
) -> bool {
    votes.len() >= needed
        && votes.len() <= params.parties()
        && votes.is_sorted_by(|a, b| a.0 < b.0)
        && votes.iter().all(|(voter, signature)| keys.verifies(*voter, statement, signature))
}

//! Checkpoints: what lets blocks be dropped, and who was away catch up (spec 4).

use std::collections::BTreeMap;

use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::{ByParty, PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::block::{CheckpointSignature, checkpoint_statement, is_quorum_of};
use crate::fault::Fault;
use crate::keys::Keys;
use crate::params::{MAX_SIGNATURES, Params};

use super::agreed::Agreed;
use super::disk::{Key, Write};
use super::ledger::{Ledger, Output, Phase, Step};

/// The state after a number of commits, with signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedCheckpoint {
    /// The state of the ledger.
    pub agreed: Agreed,
    /// The digest of the application's state.
    pub state: Digest,
    /// Signatures, by ascending server.
    pub signatures: Vec<(PartyId, Signature)>,
}

fn digest(agreed: &Agreed, state: &Digest) -> Digest {
    let mut transcript = ostrakon_crypto::Transcript::new("ostrakon/v1/agreement/checkpoint state");
    transcript.field(&wire::encode(agreed)).field(&state.0);
    transcript.finish()
}

impl SignedCheckpoint {
    /// Whether at least `needed` servers signed it. With t + 1 one of them is honest, and signed
    /// what it had computed.
    #[must_use]
    pub fn is_signed_by(&self, needed: usize, params: &Params, keys: &impl Keys) -> bool {
        let digest = digest(&self.agreed, &self.state);
        let statement = checkpoint_statement(params, self.agreed.commits, &digest);
        self.agreed.is_well_formed(params)
            && is_quorum_of(&self.signatures, needed, params, keys, &statement)
    }
}

/// Checkpoints under way and the newest one that a quorum signed.
#[derive(Clone, Debug)]
pub(super) struct Checkpoints {
    /// States whose application digest is awaited.
    due: BTreeMap<u64, Agreed>,
    /// States that this server signed, above the newest stable one.
    mine: BTreeMap<u64, (Agreed, Digest, CheckpointSignature)>,
    /// Signatures of others, the newest few of each.
    signatures: ByParty<BTreeMap<u64, CheckpointSignature>>,
    /// The newest checkpoint with q signatures, or one that was adopted with t + 1.
    pub stable: Option<SignedCheckpoint>,
}

impl Checkpoints {
    pub fn new(parties: usize) -> Self {
        Self {
            due: BTreeMap::new(),
            mine: BTreeMap::new(),
            signatures: ByParty::new(parties, |_| BTreeMap::new()),
            stable: None,
        }
    }

    pub fn due(&mut self, agreed: Agreed) {
        self.due.insert(agreed.commits, agreed);
        if self.due.len() > MAX_SIGNATURES {
            self.due.pop_first();
        }
    }

    fn stable_commits(&self) -> u64 {
        self.stable.as_ref().map_or(0, |stable| stable.agreed.commits)
    }

    /// Remembers a verified signature. Of signatures far ahead only the newest matter, of those
    /// that this server has passed none.
    pub fn note(&mut self, party: PartyId, signature: CheckpointSignature) {
        if signature.commits > self.stable_commits() {
            let of_party = &mut self.signatures[party];
            of_party.insert(signature.commits, signature);
            if of_party.len() > MAX_SIGNATURES {
                of_party.pop_first();
            }
        }
    }

    /// After how many commits the newest state is that this server signed.
    pub fn signed(&self) -> u64 {
        self.mine.last_key_value().map_or(0, |(commits, _)| *commits)
    }

    /// The newest own signature.
    pub fn newest_signature(&self) -> Option<CheckpointSignature> {
        self.mine.last_key_value().map(|(_, (_, _, signature))| *signature)
    }

    /// The newest own state that `needed` servers signed.
    fn signed_by(&self, needed: usize, me: PartyId) -> Option<SignedCheckpoint> {
        self.mine.iter().rev().find_map(|(commits, (agreed, state, own))| {
            let alike = |(party, signatures): (PartyId, &BTreeMap<u64, CheckpointSignature>)| {
                let other = if party == me { Some(own) } else { signatures.get(commits) };
                other.filter(|s| s.digest == own.digest).map(|s| (party, s.signature))
            };
            let signatures: Vec<_> = self.signatures.iter().filter_map(alike).collect();
            (signatures.len() >= needed).then(|| SignedCheckpoint {
                agreed: agreed.clone(),
                state: *state,
                signatures,
            })
        })
    }

    fn settle(&mut self, stable: SignedCheckpoint) {
        let commits = stable.agreed.commits;
        self.due = self.due.split_off(&(commits + 1));
        // The newest own signature stays: others may still lack it.
        let newest = self.signed();
        self.mine.retain(|own, _| *own > commits || *own == newest);
        for party in 0..self.signatures.parties() {
            let party = PartyId(u8::try_from(party).expect("parties are numbered by bytes"));
            self.signatures[party].retain(|theirs, _| *theirs > commits);
        }
        self.stable = Some(stable);
    }
}

impl<K: Keys> Ledger<K> {
    /// Whether t + 1 servers signed a checkpoint: one of them is honest.
    #[must_use]
    pub fn believes(&self, checkpoint: &SignedCheckpoint) -> bool {
        checkpoint.is_signed_by(self.params.believed(), &self.params, &self.keys)
    }

    /// Signs the state after `commits`, now that the application's is known. The signature leaves
    /// with the next block.
    pub(super) fn sign_checkpoint(&mut self, commits: u64, state: Digest, step: &mut Step) {
        let Some(agreed) = self.checkpoints.due.remove(&commits) else { return };
        if self.phase == Phase::Lost {
            return;
        }
        let digest = digest(&agreed, &state);
        let signature = self.keys.sign(&checkpoint_statement(&self.params, commits, &digest));
        let own = CheckpointSignature { commits, digest, signature };
        self.checkpoints.mine.insert(commits, (agreed, state, own));
        self.stabilise(step);
    }

    /// Drops what lies below the horizon of a checkpoint once q servers signed it: t + 1 honest
    /// ones can then show it to whoever lacks what was dropped.
    pub(super) fn stabilise(&mut self, step: &mut Step) {
        let Some(stable) = self.checkpoints.signed_by(self.params.quorum(), self.me) else {
            return;
        };
        if stable.agreed.commits > self.checkpoints.stable_commits() {
            self.drop_below(stable, step);
        }
    }

    fn drop_below(&mut self, stable: SignedCheckpoint, step: &mut Step) {
        let floor = stable.agreed.line(&self.params);
        step.writes.push(Write::Put(Key::Checkpoint, wire::encode(&stable)));
        step.writes.push(Write::DropThrough(floor));
        self.checkpoints.settle(stable);
        self.graph.drop_through(floor);
        self.voted.retain(|(round, _), _| *round > floor);
        self.waiting.retain(|(round, _), _| *round > floor);
        self.pending.retain(|(round, _), _| *round > floor);
    }

    /// Goes on from a checkpoint that t + 1 servers signed, if it is ahead of this server.
    pub(super) fn receive_checkpoint(
        &mut self,
        from: PartyId,
        checkpoint: SignedCheckpoint,
        step: &mut Step,
    ) {
        if checkpoint.agreed.commits <= self.agreed.commits {
            return;
        }
        if !checkpoint.is_signed_by(self.params.believed(), &self.params, &self.keys) {
            step.faults.push(Fault::Malformed(from));
            return;
        }
        let (commits, state) = (checkpoint.agreed.commits, checkpoint.state);
        self.agreed = checkpoint.agreed.clone();
        self.coins.forget(self.agreed.last);
        self.unordered.retain(|slot| !self.agreed.ordered.contains_key(slot));
        let own = |(round, author): &(u64, PartyId)| (*author == self.me).then_some(*round);
        let ordered: Vec<_> = self.agreed.ordered.keys().filter_map(own).collect();
        for round in ordered {
            self.author.ordered(round, step);
        }
        self.drop_below(checkpoint, step);
        step.outputs.push(Output::Adopted { commits, state });
        self.expire(step);
    }

    /// Takes over the checkpoint of the disk.
    pub(super) fn restore_checkpoint(&mut self, checkpoint: SignedCheckpoint) {
        self.agreed = checkpoint.agreed.clone();
        self.graph.drop_through(self.agreed.line(&self.params));
        self.checkpoints.settle(checkpoint);
    }
}

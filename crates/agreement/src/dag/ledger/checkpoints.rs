//! A server signs checkpoints, drops what lies below them, and goes on from another's (spec 4).

use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, wire};

use crate::block::{CheckpointSignature, checkpoint_statement};
use crate::fault::Fault;
use crate::keys::Keys;

use super::Ledger;
use crate::dag::checkpoint::{SignedCheckpoint, digest};
use crate::dag::disk::{Key, Write};
use crate::dag::step::{Output, Phase, Step};

impl<K: Keys> Ledger<K> {
    /// Whether t + 1 servers signed a checkpoint: one of them is honest.
    #[must_use]
    pub fn believes(&self, checkpoint: &SignedCheckpoint) -> bool {
        checkpoint.is_signed_by(self.params.believed(), &self.params, &self.keys)
    }

    /// Signs the state after `commits`, now that the application's is known. The signature leaves
    /// with the next block.
    pub(super) fn sign_checkpoint(&mut self, commits: u64, state: Digest, step: &mut Step) {
        let Some(agreed) = self.checkpoints.take_due(commits) else { return };
        if self.phase == Phase::Lost {
            return;
        }
        let digest = digest(&agreed, &state);
        let signature = self.keys.sign(&checkpoint_statement(&self.params, commits, &digest));
        let own = CheckpointSignature { commits, digest, signature };
        self.checkpoints.keep(agreed, state, own);
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

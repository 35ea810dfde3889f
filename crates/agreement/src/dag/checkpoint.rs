//! Checkpoints: what lets blocks be dropped, and who was away catch up (spec 4).

use std::collections::BTreeMap;

use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::{ByParty, PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::block::{CheckpointSignature, checkpoint_statement, is_quorum_of};
use crate::keys::Keys;
use crate::params::{MAX_SIGNATURES, Params};

use super::agreed::Agreed;

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

pub(super) fn digest(agreed: &Agreed, state: &Digest) -> Digest {
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

    /// The state after `commits`, if the application's is still awaited.
    pub fn take_due(&mut self, commits: u64) -> Option<Agreed> {
        self.due.remove(&commits)
    }

    /// Keeps a state that this server signed.
    pub fn keep(&mut self, agreed: Agreed, state: Digest, own: CheckpointSignature) {
        self.mine.insert(own.commits, (agreed, state, own));
    }

    pub fn stable_commits(&self) -> u64 {
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
    pub fn signed_by(&self, needed: usize, me: PartyId) -> Option<SignedCheckpoint> {
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

    /// Goes on from a stable checkpoint: what lies below it is not needed any more.
    pub fn settle(&mut self, stable: SignedCheckpoint) {
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

//! What must happen once: kept over all restarts of a run, outside of the servers. Whoever does a
//! thing for the second time, otherwise than the first, ends the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::{Digest, Transcript, VerifyingKey, hash};
use ostrakon_job::Job;
use ostrakon_mixing::engine::{
    Fault, Journal, Mixed, Opened, Rejected, Shape, SlotState, Stopped, context_digest,
};
use ostrakon_mixing::room::Servers;
use ostrakon_mixing::{Batch, Engine, EpochContext};
use ostrakon_node::{EngineProvider, Engines, SetUp, Trusts};
use ostrakon_party::{Party, PartyId, SessionId};

#[derive(Default)]
struct Pages {
    prepared: BTreeSet<(PartyId, u64)>,
    /// What each server mixed with a batch.
    mixed: BTreeMap<(PartyId, u64), Digest>,
    /// The epoch that a batch was used for.
    contexts: BTreeMap<u64, Digest>,
    /// What came out of a batch.
    opened: BTreeMap<u64, Digest>,
    /// How many epochs are still to be kept from their boards.
    withholding: u64,
    /// Batches whose tables were kept from their boards.
    withheld: BTreeSet<u64>,
    /// What was put under a slot's masks.
    submitted: BTreeMap<(u64, u32), Digest>,
    /// What hosts have signed.
    signed: BTreeSet<Digest>,
    /// What hosts were told that it was taken, by its place.
    actions: BTreeMap<u64, Digest>,
    /// Devices that were told that an invitation is theirs.
    claims: BTreeMap<VerifyingKey, VerifyingKey>,
    /// The options that were chosen, by poll.
    votes: BTreeMap<u64, Vec<u8>>,
}

/// The record of what was done.
#[derive(Default)]
pub struct Ledger(Mutex<Pages>);

fn once<K: Ord>(map: &mut BTreeMap<K, Digest>, key: K, value: Digest, rule: &str) {
    assert_eq!(*map.entry(key).or_insert(value), value, "{rule}");
}

impl Ledger {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap()
    }

    /// An honest participant hands in a submission.
    pub fn submits(&self, batch: u64, slot: u32, body: &[u8]) {
        let digest = hash::digest("test/submission", body);
        once(
            &mut self.pages().submitted,
            (batch, slot),
            digest,
            "two rows under the masks of one slot",
        );
    }

    /// A host signs an action.
    pub fn signs(&self, digest: Digest) {
        self.pages().signed.insert(digest);
    }

    /// Whether a host has signed an action.
    pub fn was_signed(&self, digest: &Digest) -> bool {
        self.pages().signed.contains(digest)
    }

    /// A host is told that an action was taken.
    pub fn takes_action(&self, number: u64, digest: Digest) {
        once(&mut self.pages().actions, number, digest, "two actions were taken for one place");
    }

    /// A device is told that an invitation is its own.
    pub fn takes_claim(&self, invitation: VerifyingKey, key: VerifyingKey) {
        let known = *self.pages().claims.entry(invitation).or_insert(key);
        assert_eq!(known, key, "two devices were given one invitation");
    }

    /// A participant answers a poll.
    pub fn answers(&self, poll: u64, option: u8) {
        self.pages().votes.entry(poll).or_default().push(option);
    }

    /// The options that were chosen, by poll.
    pub fn votes(&self) -> BTreeMap<u64, Vec<u8>> {
        self.pages().votes.clone()
    }

    /// What hosts were told that it was taken, by its place.
    pub fn actions(&self) -> BTreeMap<u64, Digest> {
        self.pages().actions.clone()
    }

    /// Devices that were told that an invitation is theirs.
    pub fn claims(&self) -> BTreeMap<VerifyingKey, VerifyingKey> {
        self.pages().claims.clone()
    }

    fn prepares(&self, party: PartyId, batch: u64) {
        assert!(
            self.pages().prepared.insert((party, batch)),
            "{party} prepares batch {batch} for the second time"
        );
    }

    fn mixes(
        &self,
        party: PartyId,
        session: &SessionId,
        context: &EpochContext,
        slots: &[SlotState],
    ) {
        let epoch = context_digest(session, context);
        let mut transcript = Transcript::new("test/mixed");
        transcript.field(&epoch.0);
        for slot in slots {
            transcript.number(slot.slot.into()).field(&slot.owner.0);
            transcript
                .number(slot.submission.is_some().into())
                .field(slot.submission.as_deref().unwrap_or_default());
        }
        let mut pages = self.pages();
        once(&mut pages.contexts, context.batch, epoch, "one batch for two epochs");
        once(
            &mut pages.mixed,
            (party, context.batch),
            transcript.finish(),
            "one batch for two tables",
        );
    }

    /// The epochs that are opened next are read by every server and published by none: all but the
    /// first one say that they were stopped.
    pub fn withhold(&self, epochs: u64) {
        self.pages().withholding = epochs;
    }

    /// How many epochs were read and kept from their boards.
    pub fn withheld(&self) -> usize {
        self.pages().withheld.len()
    }

    /// Whether what a server has opened is kept from the board. All do the same with one batch,
    /// also those who open it again.
    fn opens(&self, batch: u64, opened: &Opened) -> bool {
        let digest = hash::digest("test/opened", &opened.table);
        let mut pages = self.pages();
        let first = !pages.opened.contains_key(&batch);
        once(&mut pages.opened, batch, digest, "two tables came out of one batch");
        if first && pages.withholding > 0 {
            pages.withholding -= 1;
            pages.withheld.insert(batch);
        }
        pages.withheld.contains(&batch)
    }
}

/// Makes engines whose deeds are recorded.
pub struct Watched {
    pub inner: Arc<dyn EngineProvider>,
    pub ledger: Arc<Ledger>,
}

impl EngineProvider for Watched {
    fn trusts(&self, parties: usize) -> Result<Trusts, String> {
        self.inner.trusts(parties)
    }

    fn setup_session(&self, keys: &[VerifyingKey]) -> SessionId {
        self.inner.setup_session(keys)
    }

    fn set_up(
        &self,
        party: Party,
        seed: [u8; 32],
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<SetUp, String>> {
        self.inner.set_up(party, seed, journal)
    }

    fn engines(&self, party: &Party, secret: &[u8]) -> Result<Engines, String> {
        let watched = |inner| {
            Arc::new(WatchedEngine { inner, ledger: Arc::clone(&self.ledger) }) as Arc<dyn Engine>
        };
        let inner = self.inner.engines(party, secret)?;
        Ok(inner.into_iter().map(|(kind, inner)| (kind, watched(inner))).collect())
    }

    fn jobs(&self) -> Vec<Arc<dyn Job>> {
        self.inner.jobs()
    }

    fn check(
        &self,
        session: &SessionId,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        body: &[u8],
    ) -> Result<(), Rejected> {
        self.inner.check(session, context, slot, owner, body)
    }
}

struct WatchedEngine {
    inner: Arc<dyn Engine>,
    ledger: Arc<Ledger>,
}

impl Engine for WatchedEngine {
    fn prepare(
        &self,
        number: u64,
        shape: Shape,
        seed: [u8; 32],
    ) -> BoxFuture<'static, Result<Vec<u8>, Fault>> {
        self.ledger.prepares(self.party().id, number);
        self.inner.prepare(number, shape, seed)
    }

    fn load(&self, number: u64, shape: Shape, stored: &[u8]) -> Result<Box<dyn Batch>, String> {
        let inner = self.inner.load(number, shape, stored)?;
        let (party, session) = (self.party().id, self.party().roster.session);
        Ok(Box::new(WatchedBatch { inner, party, session, ledger: Arc::clone(&self.ledger) }))
    }

    fn verify_evidence(&self, servers: &Servers, fault: &Fault) -> bool {
        self.inner.verify_evidence(servers, fault)
    }

    fn party(&self) -> &Party {
        self.inner.party()
    }

    fn retire_batch(&self, number: u64, shape: Shape) {
        self.inner.retire_batch(number, shape);
    }

    fn retire_epoch(&self, context: &EpochContext) {
        self.inner.retire_epoch(context);
    }
}

struct WatchedBatch {
    inner: Box<dyn Batch>,
    party: PartyId,
    session: SessionId,
    ledger: Arc<Ledger>,
}

impl Batch for WatchedBatch {
    fn issue(&self, slot: u32) -> Vec<u8> {
        self.inner.issue(slot)
    }

    fn check(
        &self,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        body: &[u8],
    ) -> Result<(), Rejected> {
        self.inner.check(context, slot, owner, body)
    }

    fn mix(
        self: Box<Self>,
        context: EpochContext,
        slots: Vec<SlotState>,
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<Box<dyn Mixed>, Stopped>> {
        self.ledger.mixes(self.party, &self.session, &context, &slots);
        let (batch, party, ledger) = (context.batch, self.party, self.ledger);
        let mix = self.inner.mix(context, slots, journal);
        async move {
            let inner = mix.await?;
            Ok(Box::new(WatchedMixed { inner, batch, party, ledger }) as Box<dyn Mixed>)
        }
        .boxed()
    }
}

struct WatchedMixed {
    inner: Box<dyn Mixed>,
    batch: u64,
    party: PartyId,
    ledger: Arc<Ledger>,
}

impl Mixed for WatchedMixed {
    fn open(self: Box<Self>) -> BoxFuture<'static, Result<Opened, Stopped>> {
        async move {
            let opened = self.inner.open().await?;
            if self.ledger.opens(self.batch, &opened) && self.party != PartyId(0) {
                return Err(Stopped::Aborted { by: self.party, pair: None });
            }
            Ok(opened)
        }
        .boxed()
    }
}

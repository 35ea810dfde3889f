//! The engines that mix, of which openings can be held.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::VerifyingKey;
use ostrakon_job::Job;
use ostrakon_mixing::engine::{Fault, Journal, Mixed, Opened, Rejected, Shape, SlotState, Stopped};
use ostrakon_mixing::room::Servers;
use ostrakon_mixing::{Batch, Engine, EpochContext};
use ostrakon_node::{EngineProvider, Engines, SetUp, ThreeServers, Trusts};
use ostrakon_party::{Party, SessionId};

use crate::common::engine::Controls;

/// Makes them.
pub struct HeldProvider(pub Arc<Controls>);

/// A part of an engine, with what a test does to it.
struct Held<T> {
    inner: T,
    party: Party,
    controls: Arc<Controls>,
}

impl EngineProvider for HeldProvider {
    fn trusts(&self, parties: usize) -> Result<Trusts, String> {
        ThreeServers.trusts(parties)
    }

    fn setup_session(&self, keys: &[VerifyingKey]) -> SessionId {
        ThreeServers.setup_session(keys)
    }

    fn set_up(
        &self,
        party: Party,
        seed: [u8; 32],
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<SetUp, String>> {
        ThreeServers.set_up(party, seed, journal)
    }

    fn engines(&self, party: &Party, secret: &[u8]) -> Result<Engines, String> {
        let held = |(kind, inner)| {
            let (party, controls) = (party.clone(), Arc::clone(&self.0));
            (kind, Arc::new(Held { inner, party, controls }) as Arc<dyn Engine>)
        };
        Ok(ThreeServers.engines(party, secret)?.into_iter().map(held).collect())
    }

    fn jobs(&self) -> Vec<Arc<dyn Job>> {
        ThreeServers.jobs()
    }

    fn may_have_opened(
        &self,
        session: &SessionId,
        context: &EpochContext,
        marks: &[(String, Vec<u8>)],
    ) -> bool {
        ThreeServers.may_have_opened(session, context, marks)
    }
}

impl Engine for Held<Arc<dyn Engine>> {
    fn prepare(
        &self,
        number: u64,
        shape: Shape,
        seed: [u8; 32],
    ) -> BoxFuture<'static, Result<Vec<u8>, Fault>> {
        self.inner.prepare(number, shape, seed)
    }

    fn load(&self, number: u64, shape: Shape, stored: &[u8]) -> Result<Box<dyn Batch>, String> {
        let inner = self.inner.load(number, shape, stored)?;
        let (party, controls) = (self.party.clone(), Arc::clone(&self.controls));
        Ok(Box::new(Held { inner, party, controls }))
    }

    fn retire_batch(&self, number: u64, shape: Shape) {
        self.inner.retire_batch(number, shape);
    }

    fn retire_epoch(&self, context: &EpochContext) {
        self.inner.retire_epoch(context);
    }

    fn verify_evidence(&self, servers: &Servers, fault: &Fault) -> bool {
        self.inner.verify_evidence(servers, fault)
    }

    fn party(&self) -> &Party {
        self.inner.party()
    }
}

impl Batch for Held<Box<dyn Batch>> {
    fn issue(&self, slot: u32) -> Vec<u8> {
        self.inner.issue(slot)
    }

    fn check(
        &self,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        submission: &[u8],
    ) -> Result<(), Rejected> {
        self.inner.check(context, slot, owner, submission)
    }

    fn mix(
        self: Box<Self>,
        context: EpochContext,
        slots: Vec<SlotState>,
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<Box<dyn Mixed>, Stopped>> {
        async move {
            let Self { inner, party, controls } = *self;
            let inner = inner.mix(context, slots, journal).await?;
            Ok(Box::new(Held { inner, party, controls }) as Box<dyn Mixed>)
        }
        .boxed()
    }
}

impl Mixed for Held<Box<dyn Mixed>> {
    fn open(self: Box<Self>) -> BoxFuture<'static, Result<Opened, Stopped>> {
        async move {
            self.controls.opens(&self.party).await;
            self.inner.open().await
        }
        .boxed()
    }
}

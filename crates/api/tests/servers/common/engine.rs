//! An engine without any secrecy, for testing what is around it: submissions are rows in the clear,
//! mixing sorts them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::{Transcript, VerifyingKey};
use ostrakon_decisions::PrivateDecisions;
use ostrakon_job::Job;
use ostrakon_mixing::engine::{
    Fault, Journal, Mixed, Opened, Rejected, Shape, SlotState, Stopped, slot_class,
};
use ostrakon_mixing::room::Servers;
use ostrakon_mixing::{Batch, Engine, EngineKind, EpochContext};
use ostrakon_node::{EngineProvider, Engines, SetUp, Trusts};
use ostrakon_party::{
    ByParty, Delivery, Instance, InstanceKind, Length, Party, PartyId, SessionId, Step, Tag, Trust,
    wire,
};

use crate::toy::RaisedHands;

/// What a test does to one server's engine.
#[derive(Default)]
pub struct Controls {
    /// Computations stand still before they open, while this is set.
    pub hold_opening: AtomicBool,
    /// Computations stand still once they have opened, while this is set.
    pub hold_opened: AtomicBool,
    /// The release that is started next knows no jobs.
    pub knows_no_job: AtomicBool,
    /// Computations that came so far as to open.
    pub mixed: AtomicUsize,
    /// The next computations are stopped: P2 is said to have cheated.
    pub accuse: AtomicBool,
    /// The next computations are stopped: P1 or P2 is said to be at fault.
    pub disagree: AtomicBool,
}

pub struct PlainProvider(pub Arc<Controls>);

fn tag(instance: Instance, step: u16) -> Tag {
    Tag { instance, step: Step(step), sequence: 0 }
}

async fn exchange(party: &Party, tag: Tag, own: Vec<u8>) -> Vec<Vec<u8>> {
    party.send_all(tag, own.clone());
    let mut all = Vec::new();
    for id in party.roster.parties() {
        all.push(match id == party.id {
            true => own.clone(),
            false => {
                party.receive(id, tag, Length::AtMost(1 << 20)).await.expect("honest").body.to_vec()
            }
        });
    }
    all
}

/// As many of so many servers may be corrupt as are fewer than half; one of two.
pub fn trust(parties: usize) -> Trust {
    let corrupt = (parties.saturating_sub(1) / 2).max(1);
    Trust::new(parties, corrupt, Delivery::Stoppable).expect("there are two servers")
}

impl EngineProvider for PlainProvider {
    fn trusts(&self, parties: usize) -> Result<Trusts, String> {
        Trusts::new(parties, [(EngineKind::Ruffle, trust(parties))])
    }

    fn setup_session(&self, keys: &[VerifyingKey]) -> SessionId {
        let mut transcript = Transcript::new("test/session");
        for key in keys {
            transcript.field(&key.0);
        }
        SessionId(transcript.finish())
    }

    fn set_up(
        &self,
        party: Party,
        seed: [u8; 32],
        _: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<SetUp, String>> {
        async move {
            let instance = Instance { kind: InstanceKind::Setup, scope: [0; 16], number: 0 };
            let all = exchange(&party, tag(instance, 1), seed.to_vec()).await;
            let mut transcript = Transcript::new("test/joint session");
            for part in &all {
                transcript.field(part);
            }
            Ok(SetUp { session: SessionId(transcript.finish()), secret: seed.to_vec() })
        }
        .boxed()
    }

    fn engines(&self, party: &Party, secret: &[u8]) -> Result<Engines, String> {
        assert_eq!(secret.len(), 32);
        let plain = PlainEngine { party: party.clone(), controls: Arc::clone(&self.0) };
        Ok(Engines::from([(EngineKind::Ruffle, Arc::new(plain) as _)]))
    }

    fn jobs(&self) -> Vec<Arc<dyn Job>> {
        if self.0.knows_no_job.load(Ordering::SeqCst) {
            return Vec::new();
        }
        vec![Arc::new(RaisedHands), Arc::new(PrivateDecisions)]
    }

    fn check(
        &self,
        _: &SessionId,
        context: &EpochContext,
        _: u32,
        _: &VerifyingKey,
        submission: &[u8],
    ) -> Result<(), Rejected> {
        is_row(context, submission)
    }
}

fn is_row(context: &EpochContext, submission: &[u8]) -> Result<(), Rejected> {
    let fits = submission.len() == context.shape.width as usize;
    if fits { Ok(()) } else { Err(Rejected("not a row")) }
}

struct PlainEngine {
    party: Party,
    controls: Arc<Controls>,
}

impl Engine for PlainEngine {
    fn prepare(
        &self,
        number: u64,
        shape: Shape,
        _: [u8; 32],
    ) -> BoxFuture<'static, Result<Vec<u8>, Fault>> {
        let party = self.party.clone();
        async move {
            let instance = Instance { kind: InstanceKind::Batch, scope: [0; 16], number };
            let all = exchange(&party, tag(instance, 1), wire::encode(&(number, shape))).await;
            assert!(all.iter().all(|one| *one == all[0]));
            Ok(all.concat())
        }
        .boxed()
    }

    fn load(&self, number: u64, shape: Shape, stored: &[u8]) -> Result<Box<dyn Batch>, String> {
        let parts = self.party.roster.parties().map(|_| wire::encode(&(number, shape)));
        if stored != parts.collect::<Vec<_>>().concat() {
            return Err("another batch".into());
        }
        Ok(Box::new(PlainBatch {
            number,
            party: self.party.clone(),
            controls: Arc::clone(&self.controls),
        }))
    }

    fn retire_batch(&self, number: u64, _: Shape) {
        self.party.retire(Instance { kind: InstanceKind::Batch, scope: [0; 16], number });
    }

    fn retire_epoch(&self, context: &EpochContext) {
        let (scope, number) = (context.epoch.room.0, context.epoch.number);
        self.party.retire(Instance { kind: InstanceKind::Epoch, scope, number });
    }

    fn verify_evidence(&self, _: &Servers, _: &Fault) -> bool {
        false
    }

    fn party(&self) -> &Party {
        &self.party
    }
}

struct PlainBatch {
    number: u64,
    party: Party,
    controls: Arc<Controls>,
}

impl Batch for PlainBatch {
    fn issue(&self, slot: u32) -> Vec<u8> {
        wire::encode(&(self.number, slot))
    }

    fn check(
        &self,
        context: &EpochContext,
        _: u32,
        _: &VerifyingKey,
        submission: &[u8],
    ) -> Result<(), Rejected> {
        is_row(context, submission)
    }

    fn mix(
        self: Box<Self>,
        context: EpochContext,
        slots: Vec<SlotState>,
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<Box<dyn Mixed>, Stopped>> {
        async move {
            if self.controls.accuse.load(Ordering::SeqCst) {
                let culprit = PartyId(2);
                return Err(Stopped::Cheated(Fault {
                    culprit,
                    what: "test".into(),
                    evidence: vec![1],
                }));
            }
            if self.controls.disagree.load(Ordering::SeqCst) {
                let pair = Some([PartyId(1), PartyId(2)]);
                return Err(Stopped::Aborted { by: self.party.id, pair });
            }
            let (scope, number) = (context.epoch.room.0, context.epoch.number);
            let instance = Instance { kind: InstanceKind::Epoch, scope, number };
            let owners: Vec<_> = slots.iter().map(|slot| (slot.slot, slot.owner)).collect();
            let rosters = exchange(&self.party, tag(instance, 1), wire::encode(&owners)).await;
            assert!(
                rosters.iter().all(|roster| *roster == rosters[0]),
                "the servers agree on who owns which slot"
            );
            let own: Vec<_> =
                slots.into_iter().filter_map(|slot| Some((slot.slot, slot.submission?))).collect();
            let value = wire::encode(&own);
            let name = format!("batch {}", self.number);
            if journal.record_spent(&name, &value).map_err(Stopped::Journal)? != value {
                return Err(Stopped::Spent { batch: self.number });
            }
            let all = exchange(&self.party, tag(instance, 2), value).await;
            let mut rows = std::collections::BTreeMap::new();
            for held in &all {
                rows.extend(wire::decode::<Vec<(u32, Vec<u8>)>>(held).expect("honest"));
            }
            // An owner of several slots has one message: that of the first for which there is one.
            let owners: std::collections::BTreeMap<_, _> = owners.into_iter().collect();
            let mut heard = std::collections::BTreeSet::new();
            rows.retain(|slot, _| heard.insert(owners[slot]));
            let parties = self.party.roster.keys.len();
            let mut classes = ByParty::new(parties, |_| 0);
            rows.keys().for_each(|slot| classes[slot_class(*slot, parties)] += 1);
            let accepted = u32::try_from(trust(parties).anonymity(&classes)).unwrap();
            if accepted < context.minimum {
                return Err(Stopped::TooFew { accepted, minimum: context.minimum });
            }
            let table: Vec<Vec<u8>> = rows.into_values().collect();
            let mixed =
                PlainMixed { party: self.party.clone(), instance, table, controls: self.controls };
            Ok(Box::new(mixed) as Box<dyn Mixed>)
        }
        .boxed()
    }
}

struct PlainMixed {
    party: Party,
    instance: Instance,
    table: Vec<Vec<u8>>,
    controls: Arc<Controls>,
}

impl Controls {
    /// A computation has come so far as to open, and waits while openings are held.
    pub async fn opens(&self, party: &Party) {
        self.mixed.fetch_add(1, Ordering::SeqCst);
        while self.hold_opening.load(Ordering::SeqCst) {
            party.patience().await;
        }
    }
}

impl Mixed for PlainMixed {
    fn open(mut self: Box<Self>) -> BoxFuture<'static, Result<Opened, Stopped>> {
        async move {
            self.controls.opens(&self.party).await;
            exchange(&self.party, tag(self.instance, 3), b"open".to_vec()).await;
            while self.controls.hold_opened.load(Ordering::SeqCst) {
                self.party.patience().await;
            }
            self.table.sort();
            let accepted = self.table.len() as u32;
            Ok(Opened { table: self.table.concat(), accepted, trusted: None, fault: None })
        }
        .boxed()
    }
}

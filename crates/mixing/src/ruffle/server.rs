//! A server of Ruffle rooms.

use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::merkle::Tree;
use ostrakon_crypto::{Secret, VerifyingKey};
use ostrakon_party::{Party, PartyId, Roster, SessionId, wire};
use ostrakon_replicated::Stock;
use ostrakon_replicated::client::{Submission, verify_submission};
use ostrakon_replicated::epoch::{self, Unmixed};
use ostrakon_replicated::fault::{self, Stop};
use ostrakon_replicated::messages::{self, BatchSpec, EpochSpec, Inputs};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::preprocessing;
use ostrakon_replicated::seal::Slot;
use ostrakon_replicated::seeds::Purpose;
use ostrakon_replicated::setup::SharedKeys;
use ostrakon_replicated::slots::{self, Issue, SlotSeeds};

use crate::engine::{
    Batch, Engine, EpochContext, Fault, Journal, Mixed, Opened, Rejected, Shape, SlotState,
    Stopped, context_digest,
};
use crate::journal::Marks;
use crate::room::{Mode, Servers};

/// One of the three servers.
pub struct RuffleEngine {
    party: Party,
    keys: Arc<SharedKeys>,
}

impl RuffleEngine {
    /// A server with the keys of its set-up. `party` must be of the session that the set-up made
    /// ([`SharedKeys::session`]).
    pub fn new(party: Party, keys: SharedKeys) -> Self {
        Self { party, keys: Arc::new(keys) }
    }

    /// The same, with keys as [`SharedKeys::to_bytes`] wrote them.
    ///
    /// # Errors
    /// A description if they are damaged.
    pub fn of(party: Party, keys: &[u8]) -> Result<Self, String> {
        let keys = SharedKeys::from_bytes(keys)
            .map_err(|_| "the servers' shared keys are damaged".to_owned())?;
        Ok(Self::new(party, keys))
    }
}

fn batch_spec(number: u64, shape: Shape) -> BatchSpec {
    let shape = messages::Shape { rows: shape.rows, width: shape.width };
    BatchSpec { number, shape, inputs: Inputs::Slots }
}

fn epoch_spec(session: &SessionId, context: &EpochContext) -> EpochSpec {
    EpochSpec {
        context: context_digest(session, context),
        number: context.epoch.number,
        batch: batch_spec(context.batch, context.shape),
        minimum: context.minimum,
        robust: context.mode == Mode::Robust,
    }
}

/// Whether, by its marks, this server may have let somebody read messages of an epoch
/// ([`ostrakon_replicated::epoch::may_have_opened`]).
pub fn may_have_opened(
    session: &SessionId,
    context: &EpochContext,
    marks: &[(String, Vec<u8>)],
) -> bool {
    epoch::may_have_opened(&epoch_spec(session, context), marks)
}

/// A protocol's fault as the interface shows it.
fn fault(fault: &fault::Fault) -> Fault {
    Fault { culprit: fault.culprit, what: fault.what().to_owned(), evidence: fault.encode() }
}

impl Engine for RuffleEngine {
    fn prepare(
        &self,
        number: u64,
        shape: Shape,
        seed: [u8; 32],
    ) -> BoxFuture<'static, Result<Vec<u8>, Fault>> {
        let (party, keys) = (self.party.clone(), self.keys.clone());
        async move {
            match preprocessing::prepare(&party, &keys, batch_spec(number, shape), seed).await {
                Ok(stock) => Ok(stock.to_bytes()),
                Err(Stop::Fault(found)) => Err(fault(&found)),
                // Nobody can be convicted, and the batch cannot be had: it stays unfinished, like a
                // silent server's. Nothing is marked here.
                Err(Stop::Disagreement(_) | Stop::Marks(_)) => futures::future::pending().await,
            }
        }
        .boxed()
    }

    fn load(&self, number: u64, shape: Shape, stored: &[u8]) -> Result<Box<dyn Batch>, String> {
        let stock = Stock::from_bytes(stored, &self.party.roster).map_err(|_| {
            format!("the file of batch {number} is damaged; the batch cannot be used")
        })?;
        if stock.spec != batch_spec(number, shape) {
            return Err(format!("the file of batch {number} holds another batch"));
        }
        // A batch is loaded while its epoch collects; nothing waits for it yet.
        stock.warm();
        Ok(Box::new(RuffleBatch { party: self.party.clone(), stock, trees: OnceLock::new() }))
    }

    fn verify_evidence(&self, servers: &Servers, fault: &Fault) -> bool {
        verify_evidence(servers, fault)
    }

    fn party(&self) -> &Party {
        &self.party
    }

    fn retire_batch(&self, number: u64, shape: Shape) {
        self.party.retire(batch_spec(number, shape).instance());
    }

    fn retire_epoch(&self, context: &EpochContext) {
        self.party.retire(epoch_spec(&self.party.roster.session, context).instance());
    }
}

/// Whether a fault's evidence convicts its culprit before somebody who knows the servers' keys
/// only.
#[must_use]
pub fn verify_evidence(servers: &Servers, fault: &Fault) -> bool {
    let roster = Roster { session: servers.session, keys: servers.keys.clone() };
    fault::Fault::decode(&fault.evidence)
        .is_ok_and(|found| found.culprit == fault.culprit && found.verify(&roster))
}

/// A prepared batch in use.
struct RuffleBatch {
    party: Party,
    stock: Stock,
    trees: OnceLock<[Tree; 2]>,
}

impl RuffleBatch {
    fn pairs(&self) -> [Pair; 2] {
        Pair::of_party(self.party.id.0)
    }

    /// The Merkle trees of the own pairs' slots, built when the first slot is asked for.
    fn trees(&self) -> &[Tree; 2] {
        self.trees.get_or_init(|| {
            let session = self.party.roster.session.0;
            self.pairs().map(|pair| {
                let seed = self.stock.seeds.of(pair);
                Tree::new(preprocessing::slot_leaves(&self.stock.spec, &session, pair, seed))
            })
        })
    }
}

impl Batch for RuffleBatch {
    fn issue(&self, slot: u32) -> Vec<u8> {
        let trees = self.trees();
        let seeds = [0, 1].map(|place: usize| {
            let secret: Secret = self.stock.seeds.of(self.pairs()[place]).purpose(Purpose::Inputs);
            let seeds = SlotSeeds::derive(&slots::slots_prg(&secret), slot);
            (seeds, trees[place].path(slot as usize))
        });
        wire::encode(&Issue { roots: Pair::ALL.map(|pair| self.stock.stated(pair).slots), seeds })
    }

    fn check(
        &self,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        submission: &[u8],
    ) -> Result<(), Rejected> {
        check_submission(&self.party.roster.session, context, slot, owner, submission)
    }

    fn mix(
        self: Box<Self>,
        context: EpochContext,
        slots: Vec<SlotState>,
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<Box<dyn Mixed>, Stopped>> {
        async move {
            if self.stock.spec != batch_spec(context.batch, context.shape) {
                return Err(Stopped::Spent { batch: context.batch });
            }
            // Signatures were verified when submissions were accepted: to do it again would take
            // longer than the mix. Slots of this form lie where those of the other one lay.
            let slot = |state: SlotState| Slot {
                slot: state.slot,
                owner: state.owner,
                submission: state.submission.and_then(|body| submission(&context, body).ok()),
            };
            let slots = slots.into_iter().map(slot).collect();
            let spec = epoch_spec(&self.party.roster.session, &context);
            // Derived from the batch's own secret: the same on every attempt at this epoch, and
            // unknown to the culprit, who is one of the two others only for one of the pairs.
            let randomness = trusted_randomness(&self.stock, self.pairs());
            let marks = Marks(journal);
            let mixed = epoch::mix(&self.party, self.stock, spec, slots, &marks, randomness).await;
            match mixed {
                Ok(mixed) => Ok(Box::new(RuffleMixed(mixed)) as Box<dyn Mixed>),
                Err(unmixed) => Err(stopped(unmixed, &context)),
            }
        }
        .boxed()
    }
}

/// Randomness of a trusted server's permutation: from the seeds of both its pairs, so that no
/// single other server knows it.
fn trusted_randomness(stock: &Stock, pairs: [Pair; 2]) -> [u8; 32] {
    let [a, b] = pairs.map(|pair| stock.seeds.of(pair).expose());
    *Secret::new(*a).derive("ostrakon/v1/ruffle/trusted randomness", &[b]).expose()
}

/// Whether a submission is acceptable as far as one server can tell. It takes no secret, and no
/// batch.
///
/// # Errors
/// Why it is not.
pub fn check_submission(
    session: &SessionId,
    context: &EpochContext,
    slot: u32,
    owner: &VerifyingKey,
    body: &[u8],
) -> Result<(), Rejected> {
    let submission = submission(context, body)?;
    if !verify_submission(&context_digest(session, context), slot, owner, &submission) {
        return Err(Rejected(
            "the submission is not signed by the owner of this slot for this epoch",
        ));
    }
    Ok(())
}

fn submission<B: AsRef<[u8]>>(context: &EpochContext, body: B) -> Result<Submission<B>, Rejected> {
    let submission = Submission::of(body)
        .ok_or(Rejected("the submission is not in the form that this room's engine uses"))?;
    if submission.masked().len() != context.shape.width as usize {
        return Err(Rejected("the submission is not as wide as this room's rows"));
    }
    Ok(submission)
}

fn stopped(unmixed: Unmixed, context: &EpochContext) -> Stopped {
    match unmixed {
        Unmixed::Fault(found) => Stopped::Cheated(fault(&found)),
        Unmixed::TooFew(accepted) => Stopped::TooFew { accepted, minimum: context.minimum },
        Unmixed::Spent => Stopped::Spent { batch: context.batch },
        Unmixed::Marks(why) => Stopped::Journal(why),
    }
}

struct RuffleMixed(epoch::Mixed);

impl Mixed for RuffleMixed {
    fn open(self: Box<Self>) -> BoxFuture<'static, Result<Opened, Stopped>> {
        async move {
            let opened = self.0.open().await;
            Ok(Opened {
                table: opened.table,
                accepted: opened.accepted,
                trusted: opened.trusted.map(PartyId),
                fault: opened.faults.first().map(fault),
            })
        }
        .boxed()
    }
}

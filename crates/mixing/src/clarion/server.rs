//! A server of Clarion rooms.

use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_additive::client::{
    REGISTRATION_BYTES, Registration, SUBMISSION_OVERHEAD, Submission,
};
use ostrakon_additive::three::epoch::{
    self, Joint, Looking, Participants, Prints, Registering, Seen, Unmixed,
};
use ostrakon_additive::three::fault;
use ostrakon_additive::three::keys::BatchKeys;
use ostrakon_additive::three::messages::{EpochSpec, RegistrationSpec, Subject};
use ostrakon_additive::three::registration::{self, RegistrationKey};
use ostrakon_crypto::{Secret, VerifyingKey};
use ostrakon_kernels::with_room;
use ostrakon_party::{Party, PartyId, Roster, SessionId, wire};
use ostrakon_threeparty::Stop;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::seal::Slot;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::engine::{
    Batch, Engine, EpochContext, Fault, Journal, Mixed, Opened, Rejected, Shape, SlotState,
    Stopped, context_digest,
};
use crate::journal::Marks;
use crate::room::Servers;

/// One of the three servers.
pub struct ClarionEngine {
    party: Party,
}

impl ClarionEngine {
    /// A server, in the session of its deployment.
    pub fn new(party: Party) -> Self {
        Self { party }
    }
}

/// What a prepared batch has on disk.
#[derive(Serialize, Deserialize)]
struct Stored {
    shape: Shape,
    keys: Vec<u8>,
    /// All servers' public registration keys.
    registration: [[u8; 32]; 3],
    /// From which the batch's registration key and contribution to the coin grow.
    secret: [u8; 32],
}

fn registration_key(secret: &Secret) -> RegistrationKey {
    RegistrationKey::new(&secret.derive("ostrakon/v1/clarion/batch registration", &[]))
}

/// Keys of a batch, of the shuffle and of registrations, made and told in the batch's run.
async fn keys(
    party: &Party,
    number: u64,
    randomness: [u8; 32],
    secret: &Secret,
) -> Result<(BatchKeys, [[u8; 32]; 3]), Stop<fault::Fault>> {
    let keys = BatchKeys::agree(party, number, randomness).await?;
    let told = registration::exchange_keys(party, number, &registration_key(secret)).await?;
    Ok((keys, told))
}

fn epoch_spec(session: &SessionId, context: &EpochContext) -> EpochSpec {
    EpochSpec {
        context: context_digest(session, context),
        number: context.epoch.number,
        batch: context.batch,
        // Who registers with every epoch anew is at the first round of its seeds.
        round: 0,
        slots: context.shape.rows,
        width: context.shape.width,
        minimum: context.minimum,
    }
}

fn registration_spec(
    session: &SessionId,
    context: &EpochContext,
    keys: [[u8; 32]; 3],
) -> RegistrationSpec {
    RegistrationSpec {
        context: context_digest(session, context),
        number: context.epoch.number,
        slots: context.shape.rows,
        keys,
    }
}

/// Whether, by its marks, this server may have let somebody read messages of an epoch
/// ([`ostrakon_additive::three::epoch::may_have_opened`]).
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

/// Whether a fault's evidence convicts its culprit before somebody who knows the servers' keys
/// only.
#[must_use]
pub fn verify_evidence(servers: &Servers, fault: &Fault) -> bool {
    let roster = Roster { session: servers.session, keys: servers.keys.clone() };
    fault::Fault::decode(&fault.evidence)
        .is_ok_and(|found| found.culprit == fault.culprit && found.verify(&roster))
}

impl Engine for ClarionEngine {
    fn prepare(
        &self,
        number: u64,
        shape: Shape,
        seed: [u8; 32],
    ) -> BoxFuture<'static, Result<Vec<u8>, Fault>> {
        let party = self.party.clone();
        async move {
            let seed = Secret::new(seed);
            let draw =
                |what| *seed.derive("ostrakon/v1/clarion/batch randomness", &[what]).expose();
            let secret = Secret::new(draw(b"kept"));
            match keys(&party, number, draw(b"keys"), &secret).await {
                Ok((keys, registration)) => {
                    let (keys, secret) = (keys.to_bytes(), *secret.expose());
                    Ok(wire::encode(&Stored { shape, keys, registration, secret }))
                }
                Err(Stop::Fault(found)) => Err(fault(&found)),
                // Nobody can be convicted, and the batch cannot be had: it stays unfinished, like a
                // silent server's. Nothing is marked here.
                Err(Stop::Disagreement(_) | Stop::Marks(_)) => futures::future::pending().await,
            }
        }
        .boxed()
    }

    fn load(&self, number: u64, shape: Shape, stored: &[u8]) -> Result<Box<dyn Batch>, String> {
        let damaged =
            |_| format!("the file of batch {number} is damaged; the batch cannot be used");
        let stored: Stored = wire::decode(stored).map_err(damaged)?;
        let keys = BatchKeys::from_bytes(&stored.keys).map_err(damaged)?;
        if (keys.number(), stored.shape) != (number, shape) {
            return Err(format!("the file of batch {number} holds another batch"));
        }
        let secret = Secret::new(stored.secret);
        let (party, told) = (self.party.clone(), stored.registration);
        let registration = registration_key(&secret);
        let looked = (0..shape.rows).map(|_| OnceLock::new()).collect();
        let most = REGISTRATION_BYTES + SUBMISSION_OVERHEAD + shape.width as usize;
        let prints = Prints::new(&secret.derive("ostrakon/v1/clarion/batch prints", &[]), most);
        Ok(Box::new(ClarionBatch { party, keys, secret, registration, told, looked, prints }))
    }

    fn verify_evidence(&self, servers: &Servers, fault: &Fault) -> bool {
        verify_evidence(servers, fault)
    }

    fn party(&self) -> &Party {
        &self.party
    }

    fn retire_batch(&self, number: u64, _: Shape) {
        self.party.retire(ostrakon_threeparty::Protocol::instance(&Subject::Keys(number)));
    }

    fn retire_epoch(&self, context: &EpochContext) {
        self.party.retire(epoch_spec(&self.party.roster.session, context).instance());
    }
}

/// A prepared batch in use: keys of one epoch, and of the boxes of those who take part in it.
struct ClarionBatch {
    party: Party,
    keys: BatchKeys,
    secret: Secret,
    registration: RegistrationKey,
    /// All servers' public registration keys.
    told: [[u8; 32]; 3],
    /// What was found of what was handed in, as it came in, by slot.
    looked: Vec<OnceLock<Box<Seen>>>,
    /// By which it is known whether the same bytes are to be mixed.
    prints: Prints,
}

impl ClarionBatch {
    fn looking(&self, context: &EpochContext) -> Looking<'_> {
        let session = &self.party.roster.session;
        let registration = registration_spec(session, context, self.told);
        let epoch = epoch_spec(session, context);
        Looking::new(&self.party, &epoch, registration, &self.registration, &self.prints)
    }
}

impl Batch for ClarionBatch {
    fn issue(&self, _: u32) -> Vec<u8> {
        self.registration.public().to_vec()
    }

    fn check(
        &self,
        context: &EpochContext,
        slot: u32,
        owner: &VerifyingKey,
        submission: &[u8],
    ) -> Result<(), Rejected> {
        check_submission(&self.party.roster.session, context, slot, owner, submission)?;
        let seen = self.looking(context).at(slot, owner, submission).ok_or(Rejected(
            "the registration is not signed by the owner of this slot for these servers' keys",
        ))?;
        // The one that is handed in first is the one that is kept.
        if let Some(place) = self.looked.get(slot as usize) {
            let _ = place.set(seen);
        }
        Ok(())
    }

    fn mix(
        mut self: Box<Self>,
        context: EpochContext,
        slots: Vec<SlotState>,
        journal: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<Box<dyn Mixed>, Stopped>> {
        async move {
            if self.keys.number() != context.batch {
                return Err(Stopped::Spent { batch: context.batch });
            }
            let looked = std::mem::take(&mut self.looked);
            let joined = joined(&context, &slots, looked, &self.looking(&context));
            let (party, key) = (&self.party, &self.registration);
            let session = party.roster.session;
            let spec = registration_spec(&session, &context, self.told);
            let registering = Registering { spec, key, slots: joined };
            let (marks, coin) =
                (Marks(journal), self.secret.derive("ostrakon/v1/clarion/batch coin", &[]));
            let mixing = epoch::mix(
                party,
                self.keys,
                epoch_spec(&session, &context),
                Participants::Registering(registering),
                &marks,
                *coin.expose(),
            );
            match mixing.await {
                Ok(mixed) => Ok(Box::new(ClarionMixed(mixed)) as Box<dyn Mixed>),
                Err(unmixed) => Err(stopped(unmixed, &context)),
            }
        }
        .boxed()
    }
}

/// What was handed in for the slots, with what was found of it as it came in.
fn joined<'b>(
    context: &EpochContext,
    slots: &'b [SlotState],
    seen: Vec<OnceLock<Box<Seen>>>,
    looking: &Looking<'_>,
) -> Vec<Slot<Joint<'b>>> {
    let mut seen: Vec<Option<Box<Seen>>> = seen.into_iter().map(OnceLock::into_inner).collect();
    let seen: Vec<Option<Box<Seen>>> =
        slots.iter().map(|slot| seen.get_mut(slot.slot as usize)?.take()).collect();
    let of_slot = |(state, seen): (&'b SlotState, Option<Box<Seen>>)| {
        let (slot, owner) = (state.slot, state.owner);
        // The submission's signature was verified when it was accepted.
        let handed_in = state.submission.as_deref().filter(|body| parts(context, body).is_ok());
        let submission = handed_in.and_then(|body| looking.again(seen, slot, &owner, body));
        Slot { slot, owner, submission }
    };
    let mut joined = with_room(slots.len());
    slots.par_iter().zip(seen).with_min_len(256).map(of_slot).collect_into_vec(&mut joined);
    joined
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
    let (registration, bytes) = parts(context, body)?;
    let submission = Submission::from_bytes(bytes).ok_or(FORM)?;
    // The registration's own signature is for the servers' keys, which only a batch knows: it is
    // looked at before the servers list it. That of the submission covers all of it: otherwise a
    // copy with another one would take the owner's place here, and be nothing later.
    let covered = submission.registration == Registration::name_of(registration);
    let spec = epoch_spec(session, context);
    if covered && epoch::verify_signature(&spec, slot, owner, &submission) {
        return Ok(());
    }
    Err(Rejected("the submission is not signed by the owner of this slot for this epoch"))
}

/// What a participant hands in: the bytes of the registration, and those of the submission.
type HandedIn<'b> = (&'b [u8; REGISTRATION_BYTES], &'b [u8]);

const FORM: Rejected = Rejected("the submission is not in the form that this room's engine uses");

/// Both parts, one after the other ([`super::client`]).
fn parts<'b>(context: &EpochContext, body: &'b [u8]) -> Result<HandedIn<'b>, Rejected> {
    let (registration, submission) = body.split_first_chunk().ok_or(FORM)?;
    let padded = submission.len().checked_sub(SUBMISSION_OVERHEAD).ok_or(FORM)?;
    if padded != context.shape.width as usize {
        return Err(Rejected("the submission is not as wide as this room's rows"));
    }
    Ok((registration, submission))
}

fn parties(pair: Pair) -> [PartyId; 2] {
    pair.members().map(PartyId)
}

fn stopped(unmixed: Unmixed, context: &EpochContext) -> Stopped {
    match unmixed {
        Unmixed::Fault(found) => Stopped::Cheated(fault(&found)),
        Unmixed::Aborted { by, pair } => Stopped::Aborted { by, pair: pair.map(parties) },
        Unmixed::TooFew(accepted) => Stopped::TooFew { accepted, minimum: context.minimum },
        Unmixed::Spent => Stopped::Spent { batch: context.batch },
        Unmixed::Marks(why) => Stopped::Journal(why),
        Unmixed::Unfit(why) => Stopped::Journal(why.to_owned()),
    }
}

struct ClarionMixed(epoch::Mixed);

impl Mixed for ClarionMixed {
    fn open(self: Box<Self>) -> BoxFuture<'static, Result<Opened, Stopped>> {
        async move {
            let opened = self.0.open().await;
            Ok(Opened {
                table: opened.table,
                accepted: opened.accepted,
                trusted: None,
                fault: opened.faults.first().map(fault),
            })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::{Digest, SigningKey};

    use crate::clarion::client::ClarionClient;
    use crate::engine::ClientEngine;
    use crate::room::{EngineKind, EpochId, RoomDescriptor};

    use super::*;

    const SLOT: u32 = 2;

    fn epoch() -> (Servers, EpochContext) {
        let engine = EngineKind::Clarion;
        let room = RoomDescriptor { payload: 64, engine, ..RoomDescriptor::new("a room") };
        let keys = [1, 2, 3].map(|seed| SigningKey::from_seed(&[seed; 32]).verifying_key());
        let servers = Servers { session: SessionId(Digest([7; 32])), keys: keys.to_vec() };
        let context = EpochContext {
            epoch: EpochId { room: room.id(), number: 3 },
            batch: 4,
            engine,
            shape: Shape::of(&room),
            mode: room.mode,
            minimum: 1,
        };
        (servers, context)
    }

    /// Attack: a server that was handed something in copies it with a bit changed in the
    /// registration's own signature, for an intake that knows no server's keys. There it would take
    /// the place of its owner's, and be nothing later. Of what is handed in only the MACs may be
    /// changed, which nobody looks at: the entry is the same.
    #[test]
    fn a_copy_that_was_changed_takes_nobodys_place() {
        let (servers, context) = epoch();
        let key = SigningKey::from_seed(&[9; 32]);
        let owner = key.verifying_key();
        let issues = [5, 6, 7].map(|of| {
            let key = RegistrationKey::new(&Secret::new([of; 32]));
            Some(key.public().to_vec())
        });
        let row = vec![3; context.shape.width as usize];
        let body = ClarionClient.submit(&servers, &context, SLOT, &issues, &row, &key).unwrap();
        let check =
            |body: &[u8]| check_submission(&servers.session, &context, SLOT, &owner, body).is_ok();
        assert!(check(&body));
        let macs = REGISTRATION_BYTES + 32..REGISTRATION_BYTES + SUBMISSION_OVERHEAD - 64;
        for at in 0..body.len() {
            let mut copy = body.clone();
            copy[at] ^= 1;
            assert_eq!(check(&copy), macs.contains(&at), "byte {at}");
        }
    }
}

//! What participants ask of a server: to note that they are there, what it gives for their slots,
//! and to take what they submit. It is answered in one way, by an engine's process out of its
//! memory, and by an intake process out of what the engine has laid out in PostgreSQL ([`Source`]).
//!
//! Order of the checks: room, bounds, epoch, signature, and then alone what depends on who signed.
//! What a participant is told was done is on disk: the mark that an issue left, before the issue
//! does; a submission, before it is acknowledged.

use ostrakon_crypto::VerifyingKey;
use ostrakon_mixing::EpochContext;
use ostrakon_mixing::envelope::{self, IssueName};
use ostrakon_mixing::link::{PRESENCE_SECONDS, presence_digest};
use ostrakon_mixing::room::{RoomId, Servers};
use ostrakon_protocol::{
    Accepted, Issue, IssueRequest, Presence, PresenceAnswer, ServiceError, SubmissionRequest,
};
use ostrakon_store::{Intake, SubmissionRow, Taken};
use tokio::sync::mpsc;

use crate::answers::{SUBMISSION_OVERHEAD, epoch_over};
use crate::config::Config;
use crate::intake::{self, Pending};
use crate::memory::presence::{Bound, Visitor};
use crate::platform::Platform;

/// What participants are answered from.
pub(crate) trait Source: Sync {
    /// What this server gives for a slot, or what that is made of.
    type Given: Send;

    /// Clock and randomness.
    fn platform(&self) -> &dyn Platform;

    /// How the server is configured.
    fn config(&self) -> &Config;

    /// What is to be recorded goes here.
    fn intake(&self) -> &mpsc::Sender<Pending>;

    /// The servers of the deployment.
    fn servers(&self) -> Result<Servers, ServiceError>;

    /// The places of a room; none if it is closed.
    fn places(&self, room: &RoomId) -> Result<Option<u32>, ServiceError>;

    /// Whether a key may take part in a room.
    fn admits(
        &self,
        room: &RoomId,
        key: &VerifyingKey,
    ) -> impl Future<Output = Result<bool, ServiceError>> + Send;

    /// Notes that somebody is there now, if there is room.
    fn note(
        &self,
        room: RoomId,
        visitor: Visitor,
        now: u64,
        bound: Bound,
    ) -> impl Future<Output = Result<(), ServiceError>> + Send;

    /// That an epoch collects in a room.
    fn collects(&self, room: &RoomId, epoch: u64) -> Result<(), ServiceError>;

    /// The same, and what the epoch is made for.
    fn context(&self, room: &RoomId, epoch: u64) -> Result<EpochContext, ServiceError>;

    /// The slot that a key has in an epoch that collects, and what the server gives for it.
    fn slot_of(
        &self,
        name: &IssueName,
        key: &VerifyingKey,
    ) -> impl Future<Output = Result<(u32, Self::Given), ServiceError>> + Send;

    /// What the server gives for a slot, signed, once it is written down that it does.
    fn offer(
        &self,
        name: &IssueName,
        key: &VerifyingKey,
        slot: u32,
        given: Self::Given,
    ) -> Result<Vec<u8>, ServiceError>;

    /// Checks a submission, and lets it through.
    fn check(
        &self,
        room: &RoomId,
        context: EpochContext,
        row: SubmissionRow,
    ) -> impl Future<Output = Result<SubmissionRow, ServiceError>> + Send;
}

/// Notes that a participant is there, who comes from this address.
pub(crate) async fn presence(
    source: &impl Source,
    room: RoomId,
    said: &Presence,
    origin: Option<u64>,
) -> Result<PresenceAnswer, ServiceError> {
    let closed = || ServiceError::Conflict("the room is closed".into());
    let places = source.places(&room)?.ok_or_else(closed)?;
    let (now, config) = (source.platform().now_ms(), source.config());
    if (now / 1000).abs_diff(said.time) > PRESENCE_SECONDS {
        return Err(ServiceError::Forbidden(
            "the time is off by more than two minutes: set the clock".into(),
        ));
    }
    if !said.key.verifies(&presence_digest(&room, said.time, config.id()), &said.signature) {
        return Err(ServiceError::Forbidden(
            "the signature is not the key's on this room, time and server".into(),
        ));
    }
    // Only now: who is a member is nobody's business who does not hold a key.
    if !source.admits(&room, &said.key).await? {
        return Err(ServiceError::Forbidden(
            "the room is for members: claim your invitation, or ask the host to admit your key"
                .into(),
        ));
    }
    let of_origin = config.limits.share(places, config.servers.len());
    let visitor = Visitor { key: said.key, origin };
    source.note(room, visitor, now, Bound { all: places, of_origin }).await?;
    Ok(PresenceAnswer { home: true })
}

/// What the server gives for a participant's slot, closed for it.
pub(crate) async fn issue(
    source: &impl Source,
    room: RoomId,
    epoch: u64,
    request: IssueRequest,
) -> Result<Issue, ServiceError> {
    let IssueRequest { key, exchange, signature } = request;
    source.collects(&room, epoch)?;
    let name = IssueName { room, number: epoch, party: source.config().id() };
    if !key.verifies(&envelope::request_digest(&name, &exchange), &signature) {
        return Err(ServiceError::Forbidden(
            "the signature is not the key's on this room, epoch, server and exchange key".into(),
        ));
    }
    // Only now: who has a slot is nobody's business who does not hold a key.
    let (slot, given) = source.slot_of(&name, &key).await?;
    let mark = Intake::Issue { room: room.0, epoch, slot, key };
    match intake::take_in(source.intake(), mark).await? {
        Taken::Recorded => {}
        Taken::Different | Taken::TooLate => return Err(epoch_over(epoch)),
    }
    let offer = source.offer(&name, &key, slot, given)?;
    let (servers, randomness) = (source.servers()?, source.platform().random());
    Ok(Issue { issue: envelope::close(&servers, &name, &key, &exchange, &offer, randomness) })
}

/// Takes what a participant submits.
pub(crate) async fn submit(
    source: &impl Source,
    room: RoomId,
    epoch: u64,
    request: SubmissionRequest,
) -> Result<Accepted, ServiceError> {
    let SubmissionRequest { key, slot, body } = request;
    let context = source.context(&room, epoch)?;
    let limit = context.shape.width as usize + SUBMISSION_OVERHEAD;
    if body.len() > limit {
        return Err(ServiceError::TooLarge { limit });
    }
    let row = source.check(&room, context, SubmissionRow { slot, key, body }).await?;
    match intake::take_in(source.intake(), Intake::Submission { room: room.0, epoch, row }).await? {
        Taken::Recorded => Ok(Accepted { accepted: true }),
        Taken::Different => {
            Err(ServiceError::Conflict("the slot has another submission already".into()))
        }
        Taken::TooLate => Err(ServiceError::Conflict(format!(
            "epoch {epoch} is closed, or slot {slot} is not the key's; take part in the next one"
        ))),
    }
}

//! Join links: people ask to take part, and the creator reads that and answers (spec, steps 4a to
//! 4d). Each server keeps what it is given for itself; devices ask all of them.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::Signature;
use ostrakon_decide::draft::gathering::{
    MOST_WAITING, Request, SignedGathering, SignedWord, decode, reading_digest,
};
use ostrakon_decide::{GatheringId, InvalidDraft};

use super::records::CLOCK_SECONDS;
use crate::answers::internal;
use crate::core::Core;
use crate::ledger::agree::AnnounceError;
use crate::ledger::freshness;
use crate::memory::creations::Creator;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::{GatheringInfo, GatheringMade, RequestsInfo};

/// Join links that a server keeps at most.
const MOST_GATHERINGS: u32 = 2_000;
/// How long a join link is kept after its time, in seconds: whoever asked late sees the answer.
const AFTER: u64 = 7 * 24 * 3600;

fn refused(error: InvalidDraft) -> ServiceError {
    ServiceError::Refused(error.0)
}

impl Core {
    /// Step 4a.
    pub(crate) async fn gather(
        &self,
        creator: Creator,
        bytes: &[u8],
    ) -> Result<GatheringMade, ServiceError> {
        freshness::allowed(&self.standing).await.map_err(AnnounceError::Silent)?;
        let operators = self.operators()?;
        let signed: SignedGathering = decode(bytes).map_err(refused)?;
        signed.verify(&operators).map_err(refused)?;
        let id = signed.gathering.id(&operators);
        let made = Ok(GatheringMade { id: id.to_hex() });
        if self.store.gathering(&id.0).await.map_err(internal)?.is_some() {
            return made;
        }
        let now = self.platform.now_ms();
        signed.check_time(now / 1000).map_err(refused)?;
        if let Creator::Guest(origin) = creator {
            let mut creations = self.desk.creations.lock().expect("no panic while held");
            creations.note(&self.config.rooms, origin, now)?;
        }
        let until = signed.gathering.until + AFTER;
        let kept = self.store.keep_gathering(&id.0, bytes, until, MOST_GATHERINGS).await;
        if kept.map_err(internal)? {
            return made;
        }
        Err(ServiceError::Busy(format!(
            "this server keeps {MOST_GATHERINGS} join links and takes no more: try again in some days, or use another deployment"
        )))
    }

    /// The link, and what its creator has said.
    pub(crate) async fn gathering(&self, id: GatheringId) -> Result<GatheringInfo, ServiceError> {
        let (body, word) = self.kept(id).await?;
        let word = word.map(|word| BASE64URL_NOPAD.encode(&word));
        Ok(GatheringInfo { gathering: BASE64URL_NOPAD.encode(&body), word })
    }

    /// Step 4b.
    pub(crate) async fn ask_to_join(
        &self,
        id: GatheringId,
        bytes: &[u8],
    ) -> Result<(), ServiceError> {
        freshness::allowed(&self.standing).await.map_err(AnnounceError::Silent)?;
        let (signed, word) = self.read_gathering(id).await?;
        let operators = self.operators()?;
        let request: Request = decode(bytes).map_err(refused)?;
        signed.gathering.check_request(&operators, &request).map_err(refused)?;
        let said = word.map(|signed| signed.word);
        if said.as_ref().is_some_and(|word| word.decision.is_some()) {
            return Err(ServiceError::Conflict(
                "the decision has begun: nobody can join any more".into(),
            ));
        }
        if said.is_some_and(|word| word.refused.contains(&request.account)) {
            return Err(ServiceError::Conflict(
                "the creator has refused this request: ask again only if you agreed on it".into(),
            ));
        }
        signed.check_time(self.platform.now_ms() / 1000).map_err(refused)?;
        let most = u32::try_from(MOST_WAITING).unwrap_or(u32::MAX);
        let kept = self.store.keep_request(&id.0, &request.account.0, bytes, most).await;
        if kept.map_err(internal)? {
            return Ok(());
        }
        Err(ServiceError::Busy(format!(
            "{MOST_WAITING} requests wait for the creator: tell the creator, who can refuse those that nobody knows"
        )))
    }

    /// Step 4c: to the creator alone.
    pub(crate) async fn requests_to_join(
        &self,
        id: GatheringId,
        (time, signature): (u64, Signature),
    ) -> Result<RequestsInfo, ServiceError> {
        let (signed, _) = self.read_gathering(id).await?;
        let digest = reading_digest(&self.operators()?, &id, time);
        let fresh = time.abs_diff(self.platform.now_ms() / 1000) <= CLOCK_SECONDS;
        if !fresh || !signed.gathering.creator.verifies(&digest, &signature) {
            return Err(ServiceError::Forbidden(
                "requests are shown to who made the join link, who signs the time; is this device's clock right?".into(),
            ));
        }
        let requests = self.store.gathering_requests(&id.0).await.map_err(internal)?;
        let requests = requests.iter().map(|body| BASE64URL_NOPAD.encode(body)).collect();
        Ok(RequestsInfo { requests })
    }

    /// Step 4d.
    pub(crate) async fn answer_requests(
        &self,
        id: GatheringId,
        bytes: &[u8],
    ) -> Result<(), ServiceError> {
        freshness::allowed(&self.standing).await.map_err(AnnounceError::Silent)?;
        let (gathering, before) = self.read_gathering(id).await?;
        let signed: SignedWord = decode(bytes).map_err(refused)?;
        gathering.gathering.check_word(&self.operators()?, &signed).map_err(refused)?;
        if before.as_ref() == Some(&signed) {
            return Ok(());
        }
        let dropped: Vec<_> = signed.word.refused.iter().map(|account| account.0).collect();
        let kept = self.store.keep_word(&id.0, (signed.word.number, bytes), &dropped).await;
        if kept.map_err(internal)? {
            return Ok(());
        }
        Err(ServiceError::Conflict(
            "something later was said of this join link: read it, and answer again".into(),
        ))
    }

    async fn kept(&self, id: GatheringId) -> Result<(Vec<u8>, Option<Vec<u8>>), ServiceError> {
        let kept = self.store.gathering(&id.0).await.map_err(internal)?;
        kept.ok_or_else(|| {
            ServiceError::NotFound(
                "there is no such join link here; it is deleted a week after its time".into(),
            )
        })
    }

    async fn read_gathering(
        &self,
        id: GatheringId,
    ) -> Result<(SignedGathering, Option<SignedWord>), ServiceError> {
        let (body, word) = self.kept(id).await?;
        let word = word.map(|word| decode(&word)).transpose();
        match (decode(&body), word) {
            (Ok(signed), Ok(word)) => Ok((signed, word)),
            _ => Err(ServiceError::Internal),
        }
    }
}

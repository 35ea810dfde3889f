//! Join links: people ask to take part, and the creator reads that and answers (spec, steps 4a to
//! 4d). Each server keeps what it is given for itself; devices ask all of them.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::Signature;
use ostrakon_decide::GatheringId;
use ostrakon_decide::draft::gathering::{
    InvalidGathering, MOST_WAITING, Request, SignedGathering, SignedWord, decode, reading_digest,
};
use ostrakon_job::Creator;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::{GatheringInfo, GatheringMade, RequestsInfo};

use crate::records::CLOCK_SECONDS;
use crate::server::DecisionServer;

/// Join links that a server keeps at most.
const MOST_GATHERINGS: u64 = 2_000;
/// How long a join link is kept after its time, in seconds: whoever asked late sees the answer.
const AFTER: u64 = 7 * 24 * 3600;

/// Until when a join link is kept, and what belongs to it, in seconds since 1970.
fn kept_until(signed: &SignedGathering) -> u64 {
    signed.gathering.until.saturating_add(AFTER)
}

fn refused(error: InvalidGathering) -> ServiceError {
    ServiceError::Refused(error.0)
}

impl DecisionServer {
    /// Step 4a: keeps a join link ([`SignedGathering`], encoded). The same one again is accepted
    /// again.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Busy` names a quota; `Unavailable`.
    pub async fn gather(
        &self,
        creator: Creator,
        bytes: &[u8],
    ) -> Result<GatheringMade, ServiceError> {
        self.port.may_speak().await?;
        let operators = self.operators()?;
        let signed: SignedGathering = decode(bytes).map_err(refused)?;
        signed.verify(&operators).map_err(refused)?;
        let id = signed.gathering.id(&operators);
        let made = Ok(GatheringMade { id: id.to_hex() });
        if self.keep().link(&id).await?.is_some() {
            return made;
        }
        signed.check_time(self.now()).map_err(refused)?;
        self.port.count_creation(creator)?;
        if self.keep().keep_link(&id, bytes, kept_until(&signed), MOST_GATHERINGS).await? {
            return made;
        }
        Err(ServiceError::Busy(format!(
            "this server keeps {MOST_GATHERINGS} join links and takes no more: try again in some days, or use another deployment"
        )))
    }

    /// A join link, and what its creator has said.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn gathering(&self, id: GatheringId) -> Result<GatheringInfo, ServiceError> {
        let (body, word) = self.kept(id).await?;
        let word = word.map(|word| BASE64URL_NOPAD.encode(&word));
        Ok(GatheringInfo { gathering: BASE64URL_NOPAD.encode(&body), word })
    }

    /// Step 4b: keeps somebody's request to take part ([`Request`], encoded). It is on disk when
    /// this returns.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Conflict` if the decision has begun, or the creator
    /// has refused it; `Busy` if too many wait; `NotFound`, `Unavailable`.
    pub async fn ask_to_join(&self, id: GatheringId, bytes: &[u8]) -> Result<(), ServiceError> {
        self.port.may_speak().await?;
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
        signed.check_time(self.now()).map_err(refused)?;
        let kept = (bytes, kept_until(&signed));
        if self.keep().keep_request(&id, &request.account, kept, MOST_WAITING as u64).await? {
            return Ok(());
        }
        Err(ServiceError::Busy(format!(
            "{MOST_WAITING} requests wait for the creator: tell the creator, who can refuse those that nobody knows"
        )))
    }

    /// Step 4c: the requests, to the creator of the link alone, who signs the time
    /// ([`reading_digest`]).
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`.
    pub async fn requests_to_join(
        &self,
        id: GatheringId,
        (time, signature): (u64, Signature),
    ) -> Result<RequestsInfo, ServiceError> {
        let (signed, _) = self.read_gathering(id).await?;
        let digest = reading_digest(&self.operators()?, &id, time);
        let fresh = time.abs_diff(self.now()) <= CLOCK_SECONDS;
        if !fresh || !signed.gathering.creator.verifies(&digest, &signature) {
            return Err(ServiceError::Forbidden(
                "requests are shown to who made the join link, who signs the time; is this device's clock right?".into(),
            ));
        }
        let requests = self.keep().requests(&id).await?;
        let requests = requests.iter().map(|body| BASE64URL_NOPAD.encode(body)).collect();
        Ok(RequestsInfo { requests })
    }

    /// Step 4d: keeps what the creator of a join link says of the requests ([`SignedWord`],
    /// encoded), and drops those that it refuses.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Conflict` if something later was said; `NotFound`,
    /// `Unavailable`.
    pub async fn answer_requests(&self, id: GatheringId, bytes: &[u8]) -> Result<(), ServiceError> {
        self.port.may_speak().await?;
        let (gathering, before) = self.read_gathering(id).await?;
        let signed: SignedWord = decode(bytes).map_err(refused)?;
        gathering.gathering.check_word(&self.operators()?, &signed).map_err(refused)?;
        if before.as_ref() == Some(&signed) {
            return Ok(());
        }
        let dropped: Vec<_> = signed.word.refused.iter().copied().collect();
        if self.keep().keep_answer(&id, (signed.word.number, bytes), &dropped).await? {
            return Ok(());
        }
        Err(ServiceError::Conflict(
            "something later was said of this join link: read it, and answer again".into(),
        ))
    }

    async fn kept(&self, id: GatheringId) -> Result<(Vec<u8>, Option<Vec<u8>>), ServiceError> {
        self.keep().link(&id).await?.ok_or_else(|| {
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

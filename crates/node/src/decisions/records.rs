//! How a record gets into the chain of a decision (`docs/spec/decide.md`, whose steps are named
//! here).

use std::sync::Arc;

use ostrakon_crypto::{Digest, Generator};
use ostrakon_decide::{Chain, Content, DecisionId, KeyName, Operators, Refused, SignedRecord};

use crate::answers::internal;
use crate::core::Core;
use crate::ledger::agree::NOTICE;
use crate::platform::Platform;
use crate::state::SCHEDULER;
use crate::state::announcement::Body;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::RecordTaken;

/// How far a clock may be off that reads what is told to an account alone, in seconds.
pub(crate) const CLOCK_SECONDS: u64 = 300;
/// A platform's randomness, as a generator.
pub(crate) fn randomness(platform: &Arc<dyn Platform>) -> Generator<impl FnMut(&mut [u8]) + use<>> {
    let platform = Arc::clone(platform);
    Generator(move |out: &mut [u8]| platform.fill(out))
}

pub(crate) fn no_decision() -> ServiceError {
    ServiceError::NotFound(
        "there is no such decision here; if it was just created, try again in a moment".into(),
    )
}

pub(crate) fn busy() -> ServiceError {
    ServiceError::Busy(
        "too many records of decisions are being looked at; try again in a moment".into(),
    )
}

impl Core {
    pub(crate) fn sequencer_only(&self) -> Result<(), ServiceError> {
        if self.me() == SCHEDULER { Ok(()) } else { Err(self.elsewhere()) }
    }

    pub(crate) fn elsewhere(&self) -> ServiceError {
        let url = &self.config.servers[SCHEDULER.index()].url;
        ServiceError::Elsewhere(format!(
            "decisions are put into order by the first server: send this to {url}"
        ))
    }

    /// The servers as decisions know them.
    pub(crate) fn operators(&self) -> Result<Operators, ServiceError> {
        let few = || ServiceError::Refused("decisions are made with three servers".into());
        self.world().operators().ok_or_else(few)
    }

    /// P0 takes a record; what another server holds also after the date.
    pub(crate) async fn take_record_in(
        self: &Arc<Self>,
        id: DecisionId,
        bytes: &[u8],
        is_held: bool,
    ) -> Result<RecordTaken, ServiceError> {
        let _place = self.decisions.appending.try_acquire().map_err(|_| busy())?;
        let signed = SignedRecord::decode(bytes)?;
        let taken = RecordTaken { number: signed.record.number, held: false };
        let (checked, chain) = {
            let world = self.world();
            let decision = world.decisions.kept.get(&id).ok_or_else(no_decision)?;
            (decision.check(&signed), decision.chain().cloned())
        };
        match checked {
            Ok(()) => {}
            // The answer to the first attempt was lost.
            Err(Refused::NotNext { .. }) if self.holds_record(&id, taken.number, bytes).await? => {
                return Ok(taken);
            }
            Err(refused) => return Err(refused.into()),
        }
        if let Some(name) = signed.record.spends() {
            self.is_fresh(&name)?;
        }
        let previous = signed.record.previous;
        if let (Some(chain), Content::Step { .. }) = (chain, &signed.record.content) {
            if !is_held && self.platform.now_ms() / 1000 >= chain.draft().deadline {
                return Err(ServiceError::Conflict(
                    "the deadline has passed: no more answers are taken".into(),
                ));
            }
            self.verify_step(chain, signed).await?;
        }
        let announced = self.announce_record(id, bytes.to_vec()).await;
        if announced.is_err() {
            // Another record may have come in between.
            self.ends_with(&id, &previous)?;
        }
        announced.map(|()| taken)
    }

    /// That the chain still ends with this record.
    pub(crate) fn ends_with(&self, id: &DecisionId, head: &Digest) -> Result<(), ServiceError> {
        let world = self.world();
        let decision = world.decisions.kept.get(id).ok_or_else(no_decision)?;
        if decision.head() == *head {
            Ok(())
        } else {
            Err(Refused::NotNext { next: decision.length() }.into())
        }
    }

    pub(crate) fn is_fresh(&self, name: &KeyName) -> Result<(), ServiceError> {
        if self.world().decisions.spent.contains(name) {
            return Err(ServiceError::Refused(
                "this one-time key stands in another decision: take a fresh one".into(),
            ));
        }
        Ok(())
    }

    /// Step 13: verifies a step against the tables before it, on a thread of its own.
    pub(crate) async fn verify_step(
        &self,
        chain: Chain,
        signed: SignedRecord,
    ) -> Result<(), ServiceError> {
        let before = match chain.last_step() {
            Some(number) => Some(self.record(&chain.id(), number).await?),
            None => None,
        };
        let _turn = self.decisions.verifying.acquire().await.map_err(|_| busy())?;
        // Who waited for the turn may have been overtaken.
        self.ends_with(&chain.id(), &signed.record.previous)?;
        let mut randomness = randomness(&self.platform);
        let verify = move || chain.verify_step(before.as_ref(), &signed, &mut randomness);
        Ok(self.platform.blocking(verify).await.ok_or(ServiceError::Internal)??)
    }

    /// Puts a record, which was checked, at the end of its chain.
    pub(crate) async fn announce_record(
        self: &Arc<Self>,
        id: DecisionId,
        record: Vec<u8>,
    ) -> Result<(), ServiceError> {
        self.announce_about_decision(Body::Decided { decision: id, record }).await
    }

    /// Announces something about a decision, if the others answer in time.
    pub(crate) async fn announce_about_decision(
        self: &Arc<Self>,
        body: Body,
    ) -> Result<(), ServiceError> {
        let late = || {
            ServiceError::Unavailable(
                "the other servers do not answer; try again when they do".into(),
            )
        };
        let announce = async {
            let _turn = self.decisions.announcing.acquire().await.map_err(|_| busy())?;
            self.announce(body).await.map_err(ServiceError::from)
        };
        self.platform.timeout(NOTICE, announce).await.ok_or_else(late)??;
        Ok(())
    }

    /// The chain of a decision, unless it is over.
    pub(crate) fn chain(&self, id: &DecisionId) -> Result<Option<Chain>, ServiceError> {
        Ok(self.world().decisions.kept.get(id).ok_or_else(no_decision)?.chain().cloned())
    }

    pub(crate) async fn record(
        &self,
        id: &DecisionId,
        number: u32,
    ) -> Result<SignedRecord, ServiceError> {
        let rows = self.store.decision_records(&id.0, number, 1).await.map_err(internal)?;
        let row = rows.first().ok_or(ServiceError::Internal)?;
        SignedRecord::decode(row)
            .map_err(|_| internal(ostrakon_store::Error::Corrupt("decision_records.body")))
    }

    /// Whether exactly this record is in the chain already.
    pub(crate) async fn holds_record(
        &self,
        id: &DecisionId,
        number: u32,
        bytes: &[u8],
    ) -> Result<bool, ServiceError> {
        let rows = self.store.decision_records(&id.0, number, 1).await.map_err(internal)?;
        Ok(rows.first().is_some_and(|row| row == bytes))
    }
}

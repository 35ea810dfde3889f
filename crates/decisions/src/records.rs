//! How a record gets into the chain of a decision.

use std::time::Duration;

use ostrakon_crypto::Digest;
use ostrakon_decide::{Chain, Content, DecisionId, KeyName, Refused, SignedRecord};
use ostrakon_job::Failed;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::RecordTaken;

use crate::server::{DecisionServer, no_decision};
use crate::word::{RECORDS, Word};

/// How far a clock may be off that reads what is told to an account alone, in seconds.
pub(crate) const CLOCK_SECONDS: u64 = 300;
/// How long the other servers may take to answer.
const NOTICE: Duration = Duration::from_secs(10);

pub(crate) fn busy() -> ServiceError {
    ServiceError::Busy(
        "too many records of decisions are being looked at; try again in a moment".into(),
    )
}

impl DecisionServer {
    /// P0 takes a record; what another server holds also after the date.
    pub(crate) async fn take_record_in(
        &self,
        id: DecisionId,
        bytes: &[u8],
        is_held: bool,
    ) -> Result<RecordTaken, ServiceError> {
        let _place = self.limits.appending.try_acquire().map_err(|_| busy())?;
        let signed = SignedRecord::decode(bytes)?;
        let taken = RecordTaken { number: signed.record.number, held: false };
        let seen = self.read(|decisions| {
            let decision = decisions.get(&id)?;
            Some((decision.check(&signed), decision.chain().cloned()))
        });
        let (checked, chain) = seen.ok_or_else(no_decision)?;
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
            if !is_held && self.now() >= chain.draft().deadline {
                return Err(ServiceError::Conflict(
                    "the deadline has passed: no more answers are taken".into(),
                ));
            }
            self.verify_step(chain, signed).await?;
        }
        let announced = self.say(id, Word::Record(bytes.to_vec())).await;
        if announced.is_err() {
            // Another record may have come in between.
            self.ends_with(&id, &previous)?;
        }
        announced.map(|()| taken)
    }

    /// That the chain still ends with this record.
    fn ends_with(&self, id: &DecisionId, head: &Digest) -> Result<(), ServiceError> {
        self.read(|decisions| {
            let decision = decisions.get(id).ok_or_else(no_decision)?;
            if decision.head() == *head {
                Ok(())
            } else {
                Err(Refused::NotNext { next: decision.length() }.into())
            }
        })
    }

    pub(crate) fn is_fresh(&self, name: &KeyName) -> Result<(), ServiceError> {
        if self.read(|decisions| decisions.spent.contains(name)) {
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
        let _turn = self.limits.verifying.acquire().await.map_err(|_| busy())?;
        // Who waited for the turn may have been overtaken.
        self.ends_with(&chain.id(), &signed.record.previous)?;
        let mut randomness = self.randomness();
        let verify = move || chain.verify_step(before.as_ref(), &signed, &mut randomness);
        Ok(self.port.blocking(verify).await.ok_or(ServiceError::Internal)??)
    }

    /// Says something of a decision, if the other servers answer in time.
    pub(crate) async fn say(&self, id: DecisionId, word: Word) -> Result<(), ServiceError> {
        let late = || {
            ServiceError::Unavailable(
                "the other servers do not answer; try again when they do".into(),
            )
        };
        let say = async {
            let _turn = self.limits.announcing.acquire().await.map_err(|_| busy())?;
            self.port.say(id.0, word.encode()).await
        };
        self.port.timeout(NOTICE, say).await.ok_or_else(late)?
    }

    /// What was said of a decision in words of a kind, from a place on, and by whom.
    pub(crate) async fn filed(
        &self,
        id: &DecisionId,
        kind: u8,
        pages: (u64, u32),
    ) -> Result<Vec<(PartyId, Vec<u8>)>, Failed> {
        let words = self.port.words(&id.0, kind, pages).await?;
        let body = |(author, word): (PartyId, Vec<u8>)| Some((author, Word::body(&word)?));
        let damaged = || Failed("a word about a decision is damaged on the disk".into());
        words.into_iter().map(|word| body(word).ok_or_else(damaged)).collect()
    }

    async fn record(&self, id: &DecisionId, number: u32) -> Result<SignedRecord, ServiceError> {
        let rows = self.filed(id, RECORDS, (number.into(), 1)).await?;
        let (_, row) = rows.first().ok_or(ServiceError::Internal)?;
        SignedRecord::decode(row)
            .map_err(|_| Failed("a record of a decision is damaged on the disk".into()).into())
    }

    /// Whether exactly this record is in the chain already.
    pub(crate) async fn holds_record(
        &self,
        id: &DecisionId,
        number: u32,
        bytes: &[u8],
    ) -> Result<bool, ServiceError> {
        let rows = self.filed(id, RECORDS, (number.into(), 1)).await?;
        Ok(rows.first().is_some_and(|(_, row)| row == bytes))
    }
}

//! The requests about private decisions.

use std::time::Duration;

use ostrakon_crypto::{Signature, VerifyingKey};
use ostrakon_decide::{Acknowledgement, DecisionId, GatheringId, HelperKey};

use super::{LONGEST_WAIT, Service};
use crate::memory::creations::Creator;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::{
    DecisionInfo, DecisionMade, DepositReceipt, GatheringInfo, GatheringMade, LayerInfo,
    MailRequest, RecordTaken, RecordsPage, RequestsInfo, StockLevel,
};

impl Service {
    /// The key to which shares of one-time keys are sealed for this server.
    ///
    /// # Errors
    /// `Unavailable`; `Elsewhere` from an intake process, as for everything about decisions.
    pub fn helper_key(&self) -> Result<HelperKey, ServiceError> {
        self.0.core()?.helper_key()
    }

    /// Takes a share of a one-time key ([`ostrakon_decide::Deposit`], encoded). It is on disk when
    /// this returns. The same one again has the same receipt. `origin` stands for the address that
    /// it came from, if limits by address hold.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Conflict` if another key has this serial; `Busy`;
    /// `Unavailable`.
    pub async fn deposit(
        &self,
        origin: Option<u64>,
        deposit: &[u8],
    ) -> Result<DepositReceipt, ServiceError> {
        self.0.core()?.deposit(origin, deposit).await
    }

    /// Adds certified one-time keys (a list of [`ostrakon_decide::CertifiedKey`], encoded) to an
    /// account's stock.
    ///
    /// # Errors
    /// `Refused` says what is wrong with one; `Elsewhere` names the first server if this is
    /// another; `Unavailable`.
    pub async fn add_to_stock(
        &self,
        account: VerifyingKey,
        keys: &[u8],
    ) -> Result<StockLevel, ServiceError> {
        self.0.core()?.add_to_stock(account, keys).await
    }

    /// How many one-time keys an account has in stock, for its owner, who signs the time
    /// ([`ostrakon_decide::keys::stock_digest`]).
    ///
    /// # Errors
    /// `Elsewhere`, `Unavailable`.
    pub async fn stock_level(
        &self,
        account: VerifyingKey,
        signed: (u64, Signature),
    ) -> Result<StockLevel, ServiceError> {
        self.0.core()?.stock_level(account, signed).await
    }

    /// This operator's layer key for a draft ([`ostrakon_decide::Draft`], encoded).
    ///
    /// # Errors
    /// `Refused` says what is wrong with the draft; `Busy` if the address (`origin`) has asked for
    /// too many; `Unavailable`.
    pub async fn layer(
        &self,
        origin: Option<u64>,
        draft: &[u8],
    ) -> Result<LayerInfo, ServiceError> {
        self.0.core()?.layer(origin, draft).await
    }

    /// Keeps a join link ([`ostrakon_decide::gathering::SignedGathering`], encoded). The same one
    /// again is accepted again.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Busy` names a quota; `Elsewhere`, `Unavailable`.
    pub async fn gather(
        &self,
        creator: Creator,
        gathering: &[u8],
    ) -> Result<GatheringMade, ServiceError> {
        self.0.core()?.gather(creator, gathering).await
    }

    /// A join link, and what its creator has said.
    ///
    /// # Errors
    /// `NotFound`, `Elsewhere`, `Unavailable`.
    pub async fn gathering(&self, id: GatheringId) -> Result<GatheringInfo, ServiceError> {
        self.0.core()?.gathering(id).await
    }

    /// Keeps somebody's request to take part ([`ostrakon_decide::gathering::Request`], encoded).
    /// It is on disk when this returns.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Conflict` if the decision has begun, or the creator
    /// has refused it; `Busy` if too many wait; `NotFound`, `Elsewhere`, `Unavailable`.
    pub async fn ask_to_join(&self, id: GatheringId, request: &[u8]) -> Result<(), ServiceError> {
        self.0.core()?.ask_to_join(id, request).await
    }

    /// The requests, for the creator of the link, who signs the time
    /// ([`ostrakon_decide::gathering::reading_digest`]).
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`, `Elsewhere`, `Unavailable`.
    pub async fn requests_to_join(
        &self,
        id: GatheringId,
        signed: (u64, Signature),
    ) -> Result<RequestsInfo, ServiceError> {
        self.0.core()?.requests_to_join(id, signed).await
    }

    /// Keeps what the creator of a join link says of the requests
    /// ([`ostrakon_decide::gathering::SignedWord`], encoded), and drops those that it refuses.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Conflict` if something later was said; `NotFound`,
    /// `Elsewhere`, `Unavailable`.
    pub async fn answer_requests(&self, id: GatheringId, word: &[u8]) -> Result<(), ServiceError> {
        self.0.core()?.answer_requests(id, word).await
    }

    /// Begins a decision with its first record. The same one again is accepted again.
    ///
    /// # Errors
    /// `Refused` says what is wrong with it; `Busy` names a quota; `Elsewhere`, `Unavailable`.
    pub async fn create_decision(
        &self,
        creator: Creator,
        record: &[u8],
    ) -> Result<DecisionMade, ServiceError> {
        self.0.core()?.create_decision(creator, record).await
    }

    /// Takes the next record of a decision; it is on disk when this returns. The same one again is
    /// accepted again.
    ///
    /// # Errors
    /// `Conflict` if another record came first; `Refused` says what is wrong with it; `NotFound`,
    /// `Busy`, `Elsewhere`, `Unavailable`.
    pub async fn append_record(
        &self,
        decision: DecisionId,
        record: &[u8],
    ) -> Result<RecordTaken, ServiceError> {
        self.0.core()?.append_record(decision, record).await
    }

    /// This server's signature that a record stands in the chain that it has
    /// ([`ostrakon_decide::Receipt`]).
    ///
    /// # Errors
    /// `NotFound` if it does not, `Unavailable`.
    pub async fn acknowledge(
        &self,
        decision: DecisionId,
        number: u32,
    ) -> Result<Acknowledgement, ServiceError> {
        self.0.core()?.acknowledge(decision, number).await
    }

    /// How a decision stands here.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub fn decision(&self, decision: DecisionId) -> Result<DecisionInfo, ServiceError> {
        self.0.core()?.decision(&decision)
    }

    /// Returns as soon as a decision has record `from`, or more than `opened` servers have opened
    /// it, and after `wait` (at most [`LONGEST_WAIT`]) anyway.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn records_reach(
        &self,
        decision: DecisionId,
        (from, opened): (u32, usize),
        wait: Duration,
    ) -> Result<(), ServiceError> {
        self.0.core()?.records_reach(decision, (from, opened), wait.min(LONGEST_WAIT)).await
    }

    /// The records of a decision from number `from` on, and what the servers have opened.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn records(
        &self,
        decision: DecisionId,
        from: u32,
    ) -> Result<RecordsPage, ServiceError> {
        self.0.core()?.records(decision, from).await
    }

    /// Has the mail server send somebody who is asked the link. Returns when it has taken the
    /// message.
    ///
    /// # Errors
    /// `NotFound` if this server sends no e-mail or there is no such decision; `Forbidden` if the
    /// creator did not sign it; `Refused` if the link is not the person's or too many were sent;
    /// `Busy`, `Unavailable`.
    pub async fn mail(
        &self,
        decision: DecisionId,
        request: MailRequest,
    ) -> Result<(), ServiceError> {
        self.0.core()?.mail(decision, request).await
    }
}

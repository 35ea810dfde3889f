//! What the tests ask of decisions at a server, through its job's driver as its HTTP paths do.

use std::sync::Arc;

use ostrakon_crypto::{Signature, VerifyingKey};
use ostrakon_decide::{Acknowledgement, DecisionId, GatheringId, HelperKey};
use ostrakon_decisions::DecisionServer;
use ostrakon_node::Creator;
use ostrakon_node::Service;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::{
    DecisionInfo, DecisionMade, DepositReceipt, GatheringMade, LayerInfo, MailRequest, RecordTaken,
    RecordsPage, RequestsInfo, StockLevel,
};

type Answer<T> = Result<T, ServiceError>;

/// The requests, by the names that they have at the driver.
pub trait Asking {
    fn decisions(&self) -> Answer<Arc<DecisionServer>>;

    fn helper_key(&self) -> Answer<HelperKey> {
        self.decisions()?.helper_key()
    }

    fn decision(&self, id: DecisionId) -> Answer<DecisionInfo> {
        self.decisions()?.decision(id)
    }

    async fn deposit(&self, origin: Option<u64>, bytes: &[u8]) -> Answer<DepositReceipt> {
        self.decisions()?.deposit(origin, bytes).await
    }

    async fn add_to_stock(&self, owner: VerifyingKey, keys: &[u8]) -> Answer<StockLevel> {
        self.decisions()?.add_to_stock(owner, keys).await
    }

    async fn stock_level(
        &self,
        owner: VerifyingKey,
        signed: (u64, Signature),
    ) -> Answer<StockLevel> {
        self.decisions()?.stock_level(owner, signed).await
    }

    async fn layer(&self, origin: Option<u64>, draft: &[u8]) -> Answer<LayerInfo> {
        self.decisions()?.layer(origin, draft).await
    }

    async fn create_decision(&self, creator: Creator, record: &[u8]) -> Answer<DecisionMade> {
        self.decisions()?.create_decision(creator, record).await
    }

    async fn append_record(&self, id: DecisionId, record: &[u8]) -> Answer<RecordTaken> {
        self.decisions()?.append_record(id, record).await
    }

    async fn acknowledge(&self, id: DecisionId, number: u32) -> Answer<Acknowledgement> {
        self.decisions()?.acknowledge(id, number).await
    }

    async fn records(&self, id: DecisionId, from: u32) -> Answer<RecordsPage> {
        self.decisions()?.records(id, from).await
    }

    async fn mail(&self, id: DecisionId, request: MailRequest) -> Answer<()> {
        self.decisions()?.mail(id, request).await
    }

    async fn gather(&self, creator: Creator, gathering: &[u8]) -> Answer<GatheringMade> {
        self.decisions()?.gather(creator, gathering).await
    }

    async fn ask_to_join(&self, id: GatheringId, request: &[u8]) -> Answer<()> {
        self.decisions()?.ask_to_join(id, request).await
    }

    async fn requests_to_join(
        &self,
        id: GatheringId,
        signed: (u64, Signature),
    ) -> Answer<RequestsInfo> {
        self.decisions()?.requests_to_join(id, signed).await
    }

    async fn answer_requests(&self, id: GatheringId, word: &[u8]) -> Answer<()> {
        self.decisions()?.answer_requests(id, word).await
    }
}

impl Asking for Service {
    fn decisions(&self) -> Answer<Arc<DecisionServer>> {
        self.driver()
    }
}

//! What goes in and out of a server for private decisions.

use ostrakon_crypto::Signature;
pub use ostrakon_decide::HelperKey;
use ostrakon_decide::{DecisionId, GatheringId, Stage};
use serde::{Deserialize, Serialize};

use crate::ServiceError;

/// A helper's receipt for a deposit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DepositReceipt {
    /// The server's signature on the deposited key, hexadecimal, 128 characters.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub receipt: Signature,
}

/// A server's signature that a record stands in the chain that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Acknowledged {
    /// The server.
    pub party: u8,
    /// On decision, number and digest of the record
    /// (`ostrakon_decide::device::receipt::acknowledged`); hexadecimal, 128 characters.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub signature: Signature,
}

/// How many one-time keys an account has in stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StockLevel {
    /// Keys in stock.
    pub stock: u64,
    /// How many the server would like to have.
    pub wanted: u64,
}

/// An operator's layer key for a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LayerInfo {
    /// The operator.
    pub party: u8,
    /// The signed layer key, encoded; base64url.
    pub layer: String,
}

/// The answer to a new decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionMade {
    /// Its id, hexadecimal, 32 characters.
    pub id: String,
}

/// The answer to a record: it is in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordTaken {
    /// Its number.
    pub number: u32,
    /// Whether it is not in the chain yet: this server holds it, and has asked the first one to
    /// take it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// How far a decision has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DecisionStage {
    /// Somebody has not accepted yet.
    Accepting,
    /// Answers are taken.
    Answering,
    /// No more answers are taken; the servers open it.
    Closed,
    /// All servers have opened it.
    Done,
    /// It ended without a result.
    Lapsed,
    /// The creator called it off.
    Cancelled,
}

impl DecisionStage {
    /// What a decision in this stage is said to be in; `opened` if all servers have opened it.
    pub fn of(stage: Stage, opened: bool) -> Self {
        match stage {
            Stage::Accepting => Self::Accepting,
            Stage::Answering => Self::Answering,
            Stage::Closed if opened => Self::Done,
            Stage::Closed => Self::Closed,
            Stage::Lapsed => Self::Lapsed,
            Stage::Cancelled => Self::Cancelled,
        }
    }
}

/// How a decision stands at the server that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionInfo {
    /// Its id, hexadecimal, 32 characters.
    pub id: String,
    /// Records in its chain.
    pub records: u32,
    /// The digest of the last one, hexadecimal, 64 characters. Who has the same one has seen the
    /// same history.
    pub head: String,
    /// How far it has come.
    pub stage: DecisionStage,
    /// Who is asked, those removed not counted.
    pub people: usize,
    /// How many have answered.
    pub answered: usize,
    /// How many people have rechecked everything.
    pub verified: usize,
    /// The deadline, in seconds since 1970.
    pub deadline: u64,
    /// The servers that have opened it.
    pub openings: Vec<u8>,
    /// Why there is no result though it is closed: what in its history does not hold, and who
    /// signed it, so that this server does not open it; or for whom of the absent too few servers
    /// can stand in, and which can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// A request to send somebody who is asked the link by e-mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MailRequest {
    /// The person's place in the draft, from 0.
    pub person: u16,
    /// The address. It is used for this message and not kept.
    pub address: String,
    /// The person's link to the decision.
    pub link: String,
    /// The language of the message: `en` or `de`; English for any other.
    pub locale: String,
    /// By the creator's key, on all of this (`ostrakon_decide::record::mail_digest`); hexadecimal,
    /// 128 characters.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub signature: Signature,
}

/// What a server opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OpeningInfo {
    /// The server.
    pub party: u8,
    /// The opening, encoded; base64url.
    pub opening: String,
}

/// A part of a decision's chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordsPage {
    /// Signed records from the asked-for one on, each encoded; base64url. Not necessarily all: ask
    /// again from the next one.
    pub records: Vec<String>,
    /// What the servers have opened.
    pub openings: Vec<OpeningInfo>,
}

/// The answer to a new join link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GatheringMade {
    /// Its id, hexadecimal, 32 characters.
    pub id: String,
}

/// A join link, as this server keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GatheringInfo {
    /// What it is for, signed by its creator, encoded; base64url.
    pub gathering: String,
    /// What the creator said last of the requests, signed, encoded; base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
}

/// Who asks by a join link to take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestsInfo {
    /// Signed requests, each encoded; base64url. In no order.
    pub requests: Vec<String>,
}

/// Reads a join link's id in a path.
///
/// # Errors
/// `NotFound`.
pub fn parse_gathering(text: &str) -> Result<GatheringId, ServiceError> {
    let malformed = || ServiceError::NotFound("a join link's id has 32 hexadecimal digits".into());
    GatheringId::from_hex(text).ok_or_else(malformed)
}

/// Reads a decision's id in a path.
///
/// # Errors
/// `NotFound`.
pub fn parse_decision(text: &str) -> Result<DecisionId, ServiceError> {
    let malformed = || ServiceError::NotFound("a decision's id has 32 hexadecimal digits".into());
    DecisionId::from_hex(text).ok_or_else(malformed)
}

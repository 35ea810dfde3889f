//! What a visitor of a decision asks of a server, as it travels, and what may come back.

use ostrakon_crypto::{Signature, VerifyingKey};
use ostrakon_decide::{DecisionId, HelperKey};
use ostrakon_party::PartyId;
use ostrakon_protocol::decisions::{
    Acknowledged, DecisionInfo, DepositReceipt, RecordTaken, RecordsPage, StockLevel,
};
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;
use crate::request::{Body, Http, PATIENCE, Sending, WAIT};
use crate::time::Millis;

/// How long a server may take for a page of records, or to verify what it is given.
pub(crate) const WORK: Millis = 60_000;

/// A request to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What its answer is told by.
    pub id: u64,
    /// The server.
    pub party: PartyId,
    /// What is asked.
    pub call: Call,
}

/// What is asked of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// How the decision stands.
    Info(DecisionId),
    /// Records, and what the servers have opened.
    Records {
        /// Of which decision.
        decision: DecisionId,
        /// The number of the first one.
        from: u32,
    },
    /// The same, as soon as there is record `from`, or more than `opened` openings.
    News {
        /// Of which decision.
        decision: DecisionId,
        /// Records that are known.
        from: u32,
        /// Openings that are known.
        opened: usize,
    },
    /// To take a signed record, or to hold it.
    Append {
        /// Of which decision.
        decision: DecisionId,
        /// The record.
        record: Vec<u8>,
    },
    /// The server's signature that it has a record.
    Receipt {
        /// Of which decision.
        decision: DecisionId,
        /// The record's number.
        number: u32,
    },
    /// The server's key for shares.
    Helper,
    /// To keep a share of a one-time key.
    Deposit(Vec<u8>),
    /// How many keys an account has in stock.
    Level {
        /// The account.
        owner: VerifyingKey,
        /// The owner's clock, in seconds since 1970.
        time: u64,
        /// The owner's signature on it.
        signature: Signature,
    },
    /// To take certified keys into an account's stock.
    Stock {
        /// The account.
        owner: VerifyingKey,
        /// The keys.
        keys: Vec<u8>,
    },
}

/// What came of a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// How the decision stands there.
    Info(Box<DecisionInfo>),
    /// Records and openings, nothing of which is verified.
    Records(RecordsPage),
    /// The record is in the chain or, by another server than the first one, held.
    Taken,
    /// A signature, which is not verified.
    Acknowledged(Acknowledged),
    /// The server's key, which is not verified.
    Helper(HelperKey),
    /// The receipt for a share, which is not verified.
    Deposited(Signature),
    /// Keys in stock, and keys that are wanted.
    Level(StockLevel),
    /// The server said no.
    Refused(Refusal),
    /// No answer, or one that nobody can read.
    Nothing,
}

impl Request {
    /// On its way.
    pub fn sending(&self) -> Sending {
        let (id, party, patience) = (self.id, self.party, self.patience());
        Sending { id, party, http: self.call.http(), patience }
    }

    /// How long the server may take: then there is no answer.
    pub fn patience(&self) -> Millis {
        match self.call {
            Call::Info(_) | Call::Receipt { .. } | Call::Helper | Call::Level { .. } => PATIENCE,
            Call::News { .. } => PATIENCE + WAIT * 1_000,
            Call::Records { .. } | Call::Append { .. } => WORK,
            Call::Deposit(_) | Call::Stock { .. } => WORK,
        }
    }
}

impl Call {
    /// As it travels.
    pub fn http(&self) -> Http {
        let got = |path| Http { path, body: None };
        let posted = |path, bytes: &[u8]| Http { path, body: Some(Body::Bytes(bytes.to_vec())) };
        let of = |id: &DecisionId| format!("decisions/{}", id.to_hex());
        match self {
            Self::Info(id) => got(of(id)),
            Self::Records { decision, from } => {
                got(format!("{}/records?from={from}", of(decision)))
            }
            Self::News { decision, from, opened } => {
                let query = format!("from={from}&opened={opened}&wait={WAIT}");
                got(format!("{}/records?{query}", of(decision)))
            }
            Self::Append { decision, record } => {
                posted(format!("{}/records", of(decision)), record)
            }
            Self::Receipt { decision, number } => {
                got(format!("{}/receipts/{number}", of(decision)))
            }
            Self::Helper => got("helper".into()),
            Self::Deposit(deposit) => posted("shares".into(), deposit),
            Self::Level { owner, time, signature } => {
                let signature = data_encoding::HEXLOWER.encode(&signature.0);
                let owner = owner.to_hex();
                got(format!("accounts/{owner}?time={time}&signature={signature}"))
            }
            Self::Stock { owner, keys } => {
                posted(format!("accounts/{}/keys", owner.to_hex()), keys)
            }
        }
    }

    /// What its answer is read as.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Info(_) => Kind::Info,
            Self::Records { .. } | Self::News { .. } => Kind::Records,
            Self::Append { .. } => Kind::Taken,
            Self::Receipt { .. } => Kind::Acknowledged,
            Self::Helper => Kind::Helper,
            Self::Deposit(_) => Kind::Deposited,
            Self::Level { .. } | Self::Stock { .. } => Kind::Level,
        }
    }
}

/// What an answer is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Info,
    Records,
    Taken,
    Acknowledged,
    Helper,
    Deposited,
    Level,
}

impl Answer {
    /// Reads an answer with its HTTP status, which is 0 if none came.
    pub(crate) fn read(kind: Kind, status: u16, body: &[u8]) -> Self {
        fn of<T: DeserializeOwned>(body: &[u8], answer: impl FnOnce(T) -> Answer) -> Answer {
            serde_json::from_slice(body).map_or(Answer::Nothing, answer)
        }
        match (status, kind) {
            (200..300, Kind::Info) => of(body, |info| Self::Info(Box::new(info))),
            (200..300, Kind::Records) => of(body, Self::Records),
            (200..300, Kind::Taken) => of(body, |_: RecordTaken| Self::Taken),
            (200..300, Kind::Acknowledged) => of(body, Self::Acknowledged),
            (200..300, Kind::Helper) => of(body, Self::Helper),
            (200..300, Kind::Deposited) => {
                of(body, |given: DepositReceipt| Self::Deposited(given.receipt))
            }
            (200..300, Kind::Level) => of(body, Self::Level),
            (400..600, _) => Self::Refused(Refusal::read(status, body)),
            _ => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_none_counts_as_silence_and_a_refusal_has_its_reason() {
        let read = |kind, status, body: &str| Answer::read(kind, status, body.as_bytes());
        assert!(matches!(read(Kind::Taken, 201, r#"{"number":3}"#), Answer::Taken));
        let refused = read(Kind::Taken, 422, r#"{"detail":"a wrong step","status":422}"#);
        let expected = Refusal { status: 422, detail: "a wrong step".into() };
        assert!(matches!(refused, Answer::Refused(refusal) if refusal == expected));
        let bare = Refusal { status: 502, detail: String::new() };
        assert!(bare.passes() && !expected.passes());
        for (kind, status, body) in [
            (Kind::Info, 200, "{}"),
            (Kind::Records, 200, "<html>"),
            (Kind::Taken, 0, ""),
            (Kind::Taken, 302, r#"{"number":3}"#),
            (Kind::Deposited, 200, r#"{"receipt":"zz"}"#),
        ] {
            assert!(matches!(read(kind, status, body), Answer::Nothing), "{status} {body}");
        }
    }

    #[test]
    fn what_is_asked_is_asked_where_the_specification_says() {
        let decision = DecisionId([7; 16]);
        let id = decision.to_hex();
        let path = |call: Call| call.http().path;
        assert_eq!(path(Call::Info(decision)), format!("decisions/{id}"));
        let news = Call::News { decision, from: 3, opened: 1 };
        assert_eq!(path(news), format!("decisions/{id}/records?from=3&opened=1&wait=20"));
        let append = Call::Append { decision, record: vec![0, 1] };
        let body = Some(Body::Bytes(vec![0, 1]));
        assert_eq!(append.http(), Http { path: format!("decisions/{id}/records"), body });
        let receipt = Call::Receipt { decision, number: 5 };
        assert_eq!(path(receipt), format!("decisions/{id}/receipts/5"));
    }
}

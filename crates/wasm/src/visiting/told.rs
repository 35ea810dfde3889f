//! What the page is told of a visit, as JSON.

use ostrakon_client::visitor::{Deed, Doubt, Failure, News, Refusal, Visitor};
use ostrakon_decide::Refused;
use serde::Serialize;

/// What was found in a history that does not hold, for a page that has its own sentence for each
/// kind. Records are counted from 0.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// A record belongs to another decision.
    Decision { number: u32 },
    /// A record was changed by whoever shows it.
    Signature { number: u32 },
    /// A record is not allowed at its place.
    Rule { number: u32 },
    /// A key in a record does not hold.
    Key { number: u32, whose: String },
    /// An answer in a record does not hold; a person signed it.
    Step { number: u32, name: String },
    /// Less is shown than before.
    Shorter { shown: u32, seen: u32 },
    /// Something else is shown than before.
    Forked { number: u32 },
    /// What a server has opened does not hold.
    Opening { party: u8 },
    /// The servers show different histories.
    Different,
    /// Everything holds, but there is no result: nobody's fault.
    NoResult,
    /// Only the sentence says it.
    Other,
}

/// Why a history is not believed.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct DoubtJson {
    pub finding: Finding,
    /// A sentence.
    pub detail: String,
}

impl From<&Refused> for DoubtJson {
    fn from(refused: &Refused) -> Self {
        let detail = refused.to_string();
        let finding = match refused.clone() {
            Refused::Decision { number } => Finding::Decision { number },
            Refused::Signature { number } => Finding::Signature { number },
            Refused::Rule { number, .. } => Finding::Rule { number },
            Refused::Key { number, whose, .. } => Finding::Key { number, whose },
            Refused::Step { number, name, .. } => Finding::Step { number, name },
            Refused::Shorter { shown, seen } => Finding::Shorter { shown, seen },
            Refused::Forked { number } => Finding::Forked { number },
            Refused::Opening { party, .. } => Finding::Opening { party },
            Refused::NoResult(_) => Finding::NoResult,
            _ => Finding::Other,
        };
        Self { finding, detail }
    }
}

impl From<&Doubt> for DoubtJson {
    fn from(doubt: &Doubt) -> Self {
        match doubt {
            Doubt::Refused(refused) => refused.into(),
            Doubt::Different | Doubt::Alone { .. } => {
                Self { finding: Finding::Different, detail: doubt.to_string() }
            }
        }
    }
}

/// What a server said that refuses.
#[derive(Serialize)]
pub struct RefusalJson {
    status: u16,
    detail: String,
}

impl From<&Refusal> for RefusalJson {
    fn from(Refusal { status, detail }: &Refusal) -> Self {
        Self { status: *status, detail: detail.clone() }
    }
}

/// The kind of a deed.
pub fn deed(deed: Deed) -> &'static str {
    match deed {
        Deed::Accept => "accept",
        Deed::Answer => "answer",
        Deed::Remove(_) => "remove",
        Deed::Cancel => "cancel",
        Deed::Verified => "verified",
    }
}

/// Why something is not done.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FailureJson {
    /// The device may not, or the rules do not allow it, or a key is not genuine.
    Refused { detail: String },
    /// A server refuses.
    Server(RefusalJson),
    /// A server that is needed does not answer.
    Away,
    /// Other people's records always came first.
    Busy,
    /// The device cannot write down what must be.
    NotKept,
}

impl From<&Failure> for FailureJson {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Refused(refused) => Self::Refused { detail: refused.to_string() },
            Failure::Key(invalid) => Self::Refused { detail: invalid.to_string() },
            Failure::Server { refusal, .. } => Self::Server(refusal.into()),
            Failure::Away(_) => Self::Away,
            Failure::Busy => Self::Busy,
            Failure::NotKept => Self::NotKept,
        }
    }
}

/// How the visit gets on.
#[derive(Serialize)]
#[serde(tag = "at", rename_all = "kebab-case")]
pub enum NewsJson {
    Verifying { done: u32, all: u32 },
    Away { said: Option<RefusalJson> },
    Alone,
    Read,
    NotKept,
    Refused { doubt: DoubtJson },
    Done { deed: &'static str },
    Failed { deed: &'static str, failure: FailureJson },
    Signed,
}

impl NewsJson {
    /// Of what the page shows; `None` of the rest.
    pub fn of(news: &News, visitor: &Visitor, servers: usize) -> Option<Self> {
        Some(match news {
            News::Verifying { done, all } => Self::Verifying { done: *done, all: *all },
            News::Away => Self::Away { said: silence(visitor, servers) },
            News::Alone => Self::Alone,
            News::Read => Self::Read,
            News::NotKept => Self::NotKept,
            News::Refused(doubt) => Self::Refused { doubt: doubt.into() },
            News::Done(done) => Self::Done { deed: deed(*done) },
            News::Failed(failed, failure) => {
                Self::Failed { deed: deed(*failed), failure: failure.into() }
            }
            News::Signed => Self::Signed,
            // It is on its way, and goes on.
            News::Held(_) | News::NotTaken(_) => return None,
        })
    }
}

/// What is told where no server shows the decision: that one does not know it or, otherwise, what
/// the first one says, which may be nothing.
fn silence(visitor: &Visitor, servers: usize) -> Option<RefusalJson> {
    let said = visitor.silence();
    if said.len() < servers {
        return None;
    }
    let unknown = said.values().flatten().find(|refusal| refusal.status == 404);
    unknown.or(said.values().next()?.as_ref()).map(RefusalJson::from)
}

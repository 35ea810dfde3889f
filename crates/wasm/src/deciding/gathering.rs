//! Join links for the page: the creator's side, and that of whoever asks.

use ostrakon_client::{Joining, JoiningPlan};
use ostrakon_crypto::VerifyingKey;
use ostrakon_decide::draft::gathering::{self, Gathering, Request, Word};
use ostrakon_decide::{DecisionId, GatheringId, Invitation, Operators};
use ostrakon_party::wire;
use ostrakon_protocol::decisions::RequestsInfo;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use super::Deployment;
use crate::{DeviceKey, shown};

/// A join link that holds.
#[wasm_bindgen]
pub struct JoinLink {
    operators: Operators,
    joining: Joining,
}

#[derive(Serialize)]
struct About<'a> {
    question: &'a str,
    creator: VerifyingKey,
    until: u64,
}

#[derive(Serialize)]
struct Asking {
    name: String,
    account: VerifyingKey,
    time: u64,
    digits: String,
}

/// As [`Word`], without the link's name.
#[derive(Serialize)]
struct Said<'a> {
    number: u32,
    admitted: Vec<&'a VerifyingKey>,
    refused: Vec<&'a VerifyingKey>,
    decision: Option<DecisionId>,
}

impl<'a> From<&'a Word> for Said<'a> {
    fn from(word: &'a Word) -> Self {
        let (admitted, refused) = (word.admitted.iter().collect(), word.refused.iter().collect());
        Self { number: word.number, admitted, refused, decision: word.decision }
    }
}

/// What the creator says anew.
#[derive(Deserialize)]
struct Saying {
    /// Under this number it has said something before.
    kept: u32,
    admitted: Vec<VerifyingKey>,
    refused: Vec<VerifyingKey>,
    decision: Option<DecisionId>,
}

#[wasm_bindgen]
impl JoinLink {
    /// A new one. `link` is the key whose secret stands in the link; `until` and `now` in seconds
    /// since 1970; `nonce` 16 random bytes.
    ///
    /// # Errors
    /// If it breaks a limit; the sentence says which.
    pub fn make(
        deployment: &Deployment,
        creator: &DeviceKey,
        link: &DeviceKey,
        question: &str,
        until: u64,
        nonce: &[u8],
        now: u64,
    ) -> Result<JoinLink, JsError> {
        let nonce = nonce.try_into().map_err(|_| shown("a nonce has 16 bytes"))?;
        let (question, link) = (question.to_owned(), link.key.verifying_key());
        let plan = JoiningPlan { question, link, until, nonce };
        let joining = Joining::make(deployment.0, &creator.key, plan, now).map_err(shown)?;
        Ok(Self { operators: deployment.0, joining })
    }

    /// The one of the address, of what servers show: a JSON list of their answers.
    ///
    /// # Errors
    /// If none shows it, signed by its creator.
    pub fn read(deployment: &Deployment, id: &str, all: &str) -> Result<JoinLink, JsError> {
        let id = GatheringId::from_hex(id)
            .ok_or_else(|| shown("a join link's id has 32 hexadecimal digits"))?;
        let all: Vec<_> = serde_json::from_str(all).map_err(shown)?;
        let other = || shown("the servers show another join link");
        let joining = Joining::read(deployment.0, id, &all).ok_or_else(other)?;
        Ok(Self { operators: deployment.0, joining })
    }

    /// Whether a secret is the link's. One that was copied in part is not.
    #[wasm_bindgen(js_name = isOpenedBy)]
    pub fn is_opened_by(&self, secret: &str) -> bool {
        Invitation::from_text(secret).is_some_and(|secret| self.joining.is_opened_by(&secret))
    }

    /// As `POST /api/v1/gatherings` takes it.
    pub fn bytes(&self) -> Vec<u8> {
        self.joining.bytes()
    }

    /// Its id: 32 hexadecimal digits.
    pub fn id(&self) -> String {
        self.joining.id().to_hex()
    }

    /// JSON `{question, creator, until}`.
    pub fn about(&self) -> String {
        let Gathering { question, creator, until, .. } = self.joining.gathering();
        crate::inner::json(&About { question, creator: *creator, until: *until })
    }

    /// The account under which a device asks by this link.
    pub fn account(&self, device: &DeviceKey) -> DeviceKey {
        device.joining(&self.operators, &self.joining.id())
    }

    /// The digits by which an account is compared.
    pub fn digits(&self, account: &DeviceKey) -> String {
        gathering::digits(&self.operators, &self.joining.id(), &account.key.verifying_key())
    }

    /// The request of an account, with the secret of the link, as
    /// `POST /api/v1/gatherings/ID/requests` takes it.
    ///
    /// # Errors
    /// If the link's secret is another one's, or the name breaks a limit.
    pub fn ask(
        &self,
        account: &DeviceKey,
        secret: &str,
        name: &str,
        time: u64,
    ) -> Result<Vec<u8>, JsError> {
        let secret = Invitation::from_text(secret)
            .ok_or_else(|| shown("the join link is incomplete: copy the whole link"))?;
        let request = self.joining.ask(&account.key, &secret, name, time).map_err(shown)?;
        Ok(wire::encode(&request))
    }

    /// The creator's signature under a request for the requests: 128 hexadecimal digits.
    #[wasm_bindgen(js_name = signReading)]
    pub fn sign_reading(&self, creator: &DeviceKey, time: u64) -> String {
        data_encoding::HEXLOWER.encode(&self.joining.sign_reading(&creator.key, time).0)
    }

    /// Those requests that hold, of all that servers show (a JSON list of base64url texts): JSON
    /// `[{name, account, time, digits}]`, the earliest first.
    ///
    /// # Errors
    /// If the list is malformed.
    pub fn requests(&self, all: &str) -> Result<String, JsError> {
        let requests = serde_json::from_str(all).map_err(shown)?;
        let asking = |request: Request| {
            let digits = request.digits(&self.operators);
            Asking { name: request.name, account: request.account, time: request.time, digits }
        };
        let found = self.joining.requests(&[RequestsInfo { requests }]);
        Ok(crate::inner::json(&found.into_iter().map(asking).collect::<Vec<_>>()))
    }

    /// The number of what the creator says next, who has said something under the number `kept`.
    ///
    /// # Errors
    /// If no more can be said.
    #[wasm_bindgen(js_name = nextNumber)]
    pub fn next_number(&self, kept: u32) -> Result<u32, JsError> {
        self.joining.next_number(kept).map_err(shown)
    }

    /// What the creator says of the requests, as `POST /api/v1/gatherings/ID/word` takes it:
    /// `saying` is JSON `{kept, admitted, refused, decision}`, with `kept` as for
    /// [`JoinLink::next_number`].
    ///
    /// # Errors
    /// If it is malformed or too long.
    pub fn say(&self, creator: &DeviceKey, saying: &str) -> Result<Vec<u8>, JsError> {
        let Saying { kept, admitted, refused, decision } =
            serde_json::from_str(saying).map_err(shown)?;
        let change = |word: &mut Word| {
            word.admitted = admitted.into_iter().collect();
            word.refused = refused.into_iter().collect();
            word.decision = decision;
        };
        Ok(wire::encode(&self.joining.say(&creator.key, kept, change).map_err(shown)?))
    }

    /// The latest that the creator has said, of all that was heard and of these words, as servers
    /// show them (a JSON list of base64url texts): JSON `{number, admitted, refused, decision}`;
    /// `undefined` if there is none.
    ///
    /// # Errors
    /// If the list is malformed.
    pub fn hear(&mut self, words: &str) -> Result<Option<String>, JsError> {
        let words: Vec<String> = serde_json::from_str(words).map_err(shown)?;
        self.joining.hear(words.iter().map(String::as_str));
        Ok(self.joining.word().map(|word| crate::inner::json(&Said::from(word))))
    }
}

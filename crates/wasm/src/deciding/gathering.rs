//! Join links for the page: the creator's side, and that of whoever asks.

use ostrakon_crypto::VerifyingKey;
use ostrakon_decide::draft::gathering::{
    self, Gathering, Request, SignedGathering, SignedWord, Word, decode,
};
use ostrakon_decide::{DecisionId, GatheringId, Invitation, Operators};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use super::{Deployment, inner};
use crate::{DeviceKey, shown};

/// A join link that holds.
#[wasm_bindgen]
pub struct JoinLink {
    operators: Operators,
    id: GatheringId,
    signed: SignedGathering,
}

#[derive(Serialize)]
struct About<'a> {
    question: &'a str,
    creator: VerifyingKey,
    link: VerifyingKey,
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
#[derive(Serialize, Deserialize)]
struct Said {
    number: u32,
    admitted: Vec<VerifyingKey>,
    refused: Vec<VerifyingKey>,
    decision: Option<DecisionId>,
}

#[wasm_bindgen]
impl JoinLink {
    /// A new one. `link` is the key whose secret stands in the link; `until` in seconds since 1970;
    /// `nonce` 16 random bytes.
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
    ) -> Result<JoinLink, JsError> {
        let nonce = nonce.try_into().map_err(|_| shown("a nonce has 16 bytes"))?;
        let gathering = Gathering {
            question: question.to_owned(),
            creator: creator.key.verifying_key(),
            link: link.key.verifying_key(),
            until,
            nonce,
            servers: deployment.0.digest,
        };
        Self::of(deployment, gathering.sign(&deployment.0, &creator.key))
    }

    /// The one of the address, as a server shows it (base64url).
    ///
    /// # Errors
    /// If it is another one, or not signed by its creator.
    pub fn read(deployment: &Deployment, id: &str, shown_as: &str) -> Result<JoinLink, JsError> {
        let bytes = inner::base64(shown_as).map_err(shown)?;
        let read = Self::of(deployment, decode(&bytes).map_err(shown)?)?;
        if read.id() == id { Ok(read) } else { Err(shown("the server shows another join link")) }
    }

    fn of(deployment: &Deployment, signed: SignedGathering) -> Result<JoinLink, JsError> {
        let operators = deployment.0;
        signed.verify(&operators).map_err(shown)?;
        Ok(Self { operators, id: signed.gathering.id(&operators), signed })
    }

    /// As `POST /api/v1/gatherings` takes it.
    pub fn bytes(&self) -> Vec<u8> {
        wire::encode(&self.signed)
    }

    /// Its id: 32 hexadecimal digits.
    pub fn id(&self) -> String {
        self.id.to_hex()
    }

    /// JSON `{question, creator, link, until}`.
    pub fn about(&self) -> String {
        let Gathering { question, creator, link, until, .. } = &self.signed.gathering;
        let (creator, link, until) = (*creator, *link, *until);
        crate::inner::json(&About { question, creator, link, until })
    }

    /// The account under which a device asks by this link.
    pub fn account(&self, device: &DeviceKey) -> DeviceKey {
        device.joining(&self.operators, &self.id)
    }

    /// The digits by which an account is compared.
    pub fn digits(&self, account: &DeviceKey) -> String {
        gathering::digits(&self.operators, &self.id, &account.key.verifying_key())
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
        let link = (self.id, &secret);
        let request = Request::new(&self.operators, link, &account.key, name, time);
        self.signed.gathering.check_request(&self.operators, &request).map_err(shown)?;
        Ok(wire::encode(&request))
    }

    /// The creator's signature under a request for the requests: 128 hexadecimal digits.
    #[wasm_bindgen(js_name = signReading)]
    pub fn sign_reading(&self, creator: &DeviceKey, time: u64) -> String {
        let digest = gathering::reading_digest(&self.operators, &self.id, time);
        data_encoding::HEXLOWER.encode(&creator.key.sign(&digest).0)
    }

    /// Those requests that hold, of all that servers show (a JSON list of base64url texts): JSON
    /// `[{name, account, time, digits}]`, the earliest first.
    ///
    /// # Errors
    /// If the list is malformed.
    pub fn requests(&self, all: &str) -> Result<String, JsError> {
        let texts: Vec<String> = serde_json::from_str(all).map_err(shown)?;
        let bytes: Vec<_> = texts.iter().filter_map(|text| inner::base64(text).ok()).collect();
        let found =
            self.signed.gathering.requests(&self.operators, bytes.iter().map(Vec::as_slice));
        let asking = |request: Request| {
            let digits = request.digits(&self.operators);
            Asking { name: request.name, account: request.account, time: request.time, digits }
        };
        Ok(crate::inner::json(&found.into_iter().map(asking).collect::<Vec<_>>()))
    }

    /// What the creator says of the requests: `said` is JSON `{number, admitted, refused,
    /// decision}`.
    ///
    /// # Errors
    /// If it is malformed or too long.
    pub fn say(&self, creator: &DeviceKey, said: &str) -> Result<Vec<u8>, JsError> {
        let Said { number, admitted, refused, decision } =
            serde_json::from_str(said).map_err(shown)?;
        let (admitted, refused) = (admitted.into_iter().collect(), refused.into_iter().collect());
        let word = Word { gathering: self.id, number, admitted, refused, decision };
        let signed = word.sign(&self.operators, &creator.key);
        self.signed.gathering.check_word(&self.operators, &signed).map_err(shown)?;
        Ok(wire::encode(&signed))
    }

    /// What the creator has said, as a server shows it (base64url): JSON as for
    /// [`JoinLink::say`].
    ///
    /// # Errors
    /// If the creator has not signed it.
    pub fn said(&self, word: &str) -> Result<String, JsError> {
        let bytes = inner::base64(word).map_err(shown)?;
        let signed: SignedWord = decode(&bytes).map_err(shown)?;
        self.signed.gathering.check_word(&self.operators, &signed).map_err(shown)?;
        let Word { number, admitted, refused, decision, .. } = signed.word;
        let (admitted, refused) = (admitted.into_iter().collect(), refused.into_iter().collect());
        Ok(crate::inner::json(&Said { number, admitted, refused, decision }))
    }
}

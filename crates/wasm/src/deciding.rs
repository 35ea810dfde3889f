//! Private decisions for the page: one-time keys, drafts, the verification of a decision's whole
//! history, answers, results, archives.
//!
//! An account is a [`DeviceKey`]; an invitation's secret has the form of [`DeviceKey::invitation`].
//! Binary things are the bytes of the HTTP API; lists of them come in as JSON lists of base64url
//! texts, as `GET …/records` answers.

mod gathering;
mod inner;

use ostrakon_decide::{self as decide, Content, DecisionId, Invitation, Operators};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::{DeviceKey, shown};

/// The three servers of a deployment.
#[wasm_bindgen]
pub struct Deployment(Operators);

#[wasm_bindgen]
impl Deployment {
    /// From the answer of `GET /api/v1/servers`, which the caller has compared with the link.
    ///
    /// # Errors
    /// If it is malformed or does not name three servers.
    #[wasm_bindgen(constructor)]
    pub fn new(servers: &str) -> Result<Deployment, JsError> {
        let servers = crate::inner::servers(servers).map_err(shown)?;
        Operators::new(&servers).map(Self).ok_or_else(|| shown("a deployment has three servers"))
    }

    /// How many of the servers must say the same for it to be believed though no signature proves
    /// it.
    pub fn believed(&self) -> usize {
        decide::operators::trust().believed()
    }
}

/// A one-time key that this device has made, to be handed in at the servers and certified.
#[wasm_bindgen]
pub struct NewDecisionKey {
    operators: Operators,
    key: decide::NewKey,
}

#[wasm_bindgen]
impl NewDecisionKey {
    /// A fresh key of the account, that `threshold` servers (0, 2 or 3) can stand in for and whose
    /// shares they keep until `expires` (seconds since 1970) if it is not used. `helpers` is a JSON
    /// list of the three answers of `GET /api/v1/helper`, by party; `[]` with threshold 0.
    ///
    /// # Errors
    /// If a server's key is not signed by it, or the browser has no randomness.
    #[wasm_bindgen(constructor)]
    pub fn new(
        deployment: &Deployment,
        account: &DeviceKey,
        threshold: u8,
        expires: u64,
        helpers: &str,
    ) -> Result<NewDecisionKey, JsError> {
        let (operators, terms) = (deployment.0, (threshold, expires));
        let key = inner::new_key(&operators, &account.key, terms, helpers).map_err(shown)?;
        Ok(Self { operators, key })
    }

    /// What server `party` is to be given (`POST /api/v1/shares`); `undefined` with threshold 0.
    pub fn deposit(&self, party: u8) -> Option<Vec<u8>> {
        self.key.deposits.get(usize::from(party)).map(ostrakon_party::wire::encode)
    }

    /// The certified key. `receipts` is a JSON list of the three servers' receipts in hexadecimal
    /// digits, by party; `[]` with threshold 0.
    ///
    /// # Errors
    /// If a receipt does not hold.
    pub fn certify(&self, account: &DeviceKey, receipts: &str) -> Result<Vec<u8>, JsError> {
        inner::certify(&self.operators, &account.key, &self.key, receipts).map_err(shown)
    }
}

/// Certified keys for the stock, as `POST /api/v1/accounts/KEY/keys` takes them: `keys` is a JSON
/// list of base64url texts.
///
/// # Errors
/// If one of them is no certified key.
#[wasm_bindgen(js_name = stockOfKeys)]
pub fn stock_of_keys(keys: &str) -> Result<Vec<u8>, JsError> {
    inner::stock(keys).map_err(shown)
}

/// The owner's signature under a request for the level of the account's stock: 128 hexadecimal
/// digits. `time` in seconds since 1970.
#[wasm_bindgen(js_name = signStockRequest)]
pub fn sign_stock_request(deployment: &Deployment, account: &DeviceKey, time: u64) -> String {
    let owner = account.key.verifying_key();
    let digest = decide::keys::stock_digest(&deployment.0, &owner, time);
    data_encoding::HEXLOWER.encode(&account.key.sign(&digest).0)
}

/// How many must answer of so many people unless somebody wants another number, and how many at
/// least: `[usual, least]`.
#[wasm_bindgen(js_name = quorums)]
pub fn quorums(people: usize) -> Vec<usize> {
    vec![decide::draft::usual_quorum(people), decide::draft::least_quorum(people)]
}

/// Until when the shares of a key must be kept for a decision with this deadline, and of a key for
/// the stock made now; both in seconds since 1970.
#[wasm_bindgen(js_name = keyExpiry)]
pub fn key_expiry(deadline: Option<u64>, now: u64) -> u64 {
    match deadline {
        Some(deadline) => deadline.saturating_add(2 * decide::keys::GRACE),
        // An hour less than the longest, for clocks that differ.
        None => now.saturating_add(decide::keys::MOST_LIFETIME - 3600),
    }
}

/// The bytes of a draft (JSON), as `POST /api/v1/layers` takes them.
///
/// # Errors
/// If the draft breaks a limit; the sentence says which.
#[wasm_bindgen(js_name = draftBytes)]
pub fn draft_bytes(draft: &str) -> Result<Vec<u8>, JsError> {
    Ok(ostrakon_party::wire::encode(&inner::draft(draft).map_err(shown)?))
}

/// The decision's id for a draft (JSON): 32 hexadecimal digits.
///
/// # Errors
/// As [`draft_bytes`].
#[wasm_bindgen(js_name = decisionId)]
pub fn decision_id(draft: &str) -> Result<String, JsError> {
    Ok(inner::draft(draft).map_err(shown)?.id().to_hex())
}

/// The compositions of `people` answers over `options` options, in the order of a custom table's
/// outputs: a JSON list of lists of counts.
///
/// # Errors
/// If the table would be too large.
#[wasm_bindgen(js_name = tableRows)]
pub fn table_rows(people: u16, options: u16) -> Result<String, JsError> {
    inner::table_rows(people, options).map_err(shown)
}

/// The record that begins a decision, for `POST /api/v1/decisions`. `layers` is a JSON list of the
/// three servers' layers in base64url, by party; `time` in seconds since 1970.
///
/// # Errors
/// If the draft breaks a limit or a layer is not genuine.
#[wasm_bindgen(js_name = createDecision)]
pub fn create_decision(
    deployment: &Deployment,
    creator: &DeviceKey,
    draft: &str,
    layers: &str,
    time: u64,
) -> Result<Vec<u8>, JsError> {
    inner::create(&deployment.0, &creator.key, draft, layers, time).map_err(shown)
}

/// The creator's signature under a request to send an invitation: 128 hexadecimal digits.
///
/// # Errors
/// If `decision` is no decision's id.
#[wasm_bindgen(js_name = signMail)]
pub fn sign_mail(
    deployment: &Deployment,
    creator: &DeviceKey,
    decision: &str,
    person: u16,
    address: &str,
    link: &str,
    locale: &str,
) -> Result<String, JsError> {
    let id = inner::decision_id(decision).map_err(shown)?;
    let digest = decide::record::mail_digest(&deployment.0, &id, person, address, link, locale);
    Ok(data_encoding::HEXLOWER.encode(&creator.key.sign(&digest).0))
}

/// What this device remembers of decisions. [`DecisionMemory::save`] must be kept before anything
/// computed with it leaves the device.
#[wasm_bindgen]
#[derive(Default)]
pub struct DecisionMemory(decide::Memory);

#[wasm_bindgen]
impl DecisionMemory {
    /// Of none.
    #[wasm_bindgen(constructor)]
    pub fn new() -> DecisionMemory {
        Self::default()
    }

    /// As it was when it was saved.
    ///
    /// # Errors
    /// If `saved` is something else.
    pub fn restore(saved: &str) -> Result<DecisionMemory, JsError> {
        serde_json::from_str(saved)
            .map(Self)
            .map_err(|_| shown("what this device remembers cannot be read"))
    }

    /// Takes in what another copy knows, for example one that was exported with the account:
    /// nothing that either knows is forgotten.
    ///
    /// # Errors
    /// If `saved` is something else.
    pub fn merge(&mut self, saved: &str) -> Result<(), JsError> {
        let other = Self::restore(saved)?;
        self.0.merge(other.0);
        Ok(())
    }

    /// Its state.
    pub fn save(&self) -> String {
        crate::inner::json(&self.0)
    }

    /// Whether a step may have left this device.
    #[wasm_bindgen(js_name = hasAnswered)]
    pub fn has_answered(&self, decision: &str) -> bool {
        DecisionId::from_hex(decision).is_some_and(|id| self.0.has_answered(&id))
    }

    /// The answers that a step may have left with and that are not known to have arrived;
    /// `undefined` otherwise.
    pub fn pending(&self, decision: &str) -> Option<Vec<u8>> {
        DecisionId::from_hex(decision).and_then(|id| self.0.pending(&id).map(<[u8]>::to_vec))
    }
}

/// A visit to a decision: everything is read and verified here before anything is believed or
/// answered.
#[wasm_bindgen]
pub struct DecisionVisit {
    visit: decide::Visit,
    finding: Option<inner::Finding>,
}

#[wasm_bindgen]
impl DecisionVisit {
    /// Nothing read yet.
    ///
    /// # Errors
    /// If `decision` is no decision's id.
    #[wasm_bindgen(constructor)]
    pub fn new(deployment: &Deployment, decision: &str) -> Result<DecisionVisit, JsError> {
        let id = inner::decision_id(decision).map_err(shown)?;
        Ok(Self { visit: decide::Visit::new(deployment.0, id), finding: None })
    }

    /// Reads the next record (base64url). To be called record by record, so that the page can show
    /// progress.
    ///
    /// # Errors
    /// The sentence names the record and the person. It was not taken in.
    pub fn read(&mut self, record: &str) -> Result<(), JsError> {
        let read = inner::read(&mut self.visit, record);
        self.note(read)
    }

    /// Verifies the proofs of all steps that were read since, together. Called every few records,
    /// it leaves time to repaint in between.
    ///
    /// # Errors
    /// The sentence names the first step that does not hold, and who signed it.
    pub fn verify(&mut self) -> Result<(), JsError> {
        let verified = inner::verify(&mut self.visit);
        self.note(verified)
    }

    /// What the last error of [`DecisionVisit::read`], `verify`, `remember` or `result` found, as
    /// JSON `{kind, …}` with `kind` one of `decision`, `signature`, `rule`, `forked` (with
    /// `number`), `key` (`number`, `whose`), `step` (`number`, `name`), `shorter` (`shown`,
    /// `seen`), `opening` (`party`), `no-result`, `other`; `undefined` before.
    pub fn finding(&self) -> Option<String> {
        self.finding.as_ref().map(crate::inner::json)
    }

    /// Records read so far.
    pub fn length(&self) -> u32 {
        self.visit.chain().map_or(0, decide::Chain::length)
    }

    /// The digest of record `number`, 64 hexadecimal digits, to be compared with another server's.
    pub fn digest(&self, number: u32) -> Option<String> {
        self.visit.digest(number).map(|digest| digest.to_hex())
    }

    /// What was read, as JSON: the report of an archive, with `missing`, `answered`, `remaining`,
    /// `creator`, `owners` (by person, key or null) and `seats` (by person, as in the draft)
    /// besides. `undefined` before the first record. Show it after [`DecisionVisit::verify`] only.
    pub fn view(&self) -> Option<String> {
        self.visit.chain().map(inner::view)
    }

    /// The account under which the owner of this device account takes part: that one if the draft
    /// names it, otherwise one that it has for this decision alone. `undefined` before the first
    /// record.
    pub fn account(&self, device: &DeviceKey) -> Option<DeviceKey> {
        let chain = self.visit.chain()?;
        Some(device.in_decision(chain))
    }

    /// The account's place among the people; `undefined` if it has none yet.
    pub fn person(&self, account: &DeviceKey) -> Option<u16> {
        self.visit.chain()?.person(&account.key.verifying_key())
    }

    /// Checks that the history continues what this device has seen, and takes note of it.
    ///
    /// # Errors
    /// If the servers show an older or another history than before.
    pub fn remember(
        &mut self,
        account: &DeviceKey,
        memory: &mut DecisionMemory,
    ) -> Result<(), JsError> {
        let remembered = self.visit.remember(&account.key.verifying_key(), &mut memory.0);
        self.note(remembered.map_err(Into::into))
    }

    /// The record by which the account takes part, with a certified key, and the invitation of the
    /// link if it has one.
    ///
    /// # Errors
    /// If there is no place for it, or the link was used before.
    pub fn accept(
        &self,
        account: &DeviceKey,
        key: &[u8],
        invitation: Option<String>,
        time: u64,
    ) -> Result<Vec<u8>, JsError> {
        let key = ostrakon_party::wire::decode(key).map_err(shown)?;
        let incomplete = || shown("the invitation is incomplete: copy the whole link");
        let invitation = invitation
            .map(|text| Invitation::from_text(&text).ok_or_else(incomplete))
            .transpose()?;
        Ok(self.visit.accept(&account.key, key, invitation.as_ref(), time).map_err(shown)?.encode())
    }

    /// The record with the answers, one option for each ballot. `memory` must be kept before it
    /// leaves the device. If another record came first, read on, verify, and ask again with the
    /// same answers.
    ///
    /// # Errors
    /// The sentence says why this device does not answer.
    pub fn answer(
        &self,
        account: &DeviceKey,
        answers: &[u8],
        memory: &mut DecisionMemory,
        time: u64,
    ) -> Result<Vec<u8>, JsError> {
        inner::answer(&self.visit, &account.key, answers, &mut memory.0, time).map_err(shown)
    }

    /// The receipt as JSON `{decision, servers, person, number, digest, signatures}`, to which
    /// servers have to add their signatures ([`add_to_receipt`]), once the answers are in
    /// what was read (from another server than the one that took them) and verified; `undefined`
    /// before.
    pub fn confirmed(&self, account: &DeviceKey, memory: &mut DecisionMemory) -> Option<String> {
        let receipt = self.visit.confirmed(&account.key.verifying_key(), &mut memory.0)?;
        Some(crate::inner::json(&receipt))
    }

    /// What could be learned of a person's answers by those who come later, as JSON `{before,
    /// after, results, everything}`.
    pub fn residual(&self, person: u16) -> Option<String> {
        self.visit.chain().map(|chain| crate::inner::json(&decide::residual(chain, person)))
    }

    /// The creator's record that removes a person.
    ///
    /// # Errors
    /// If that is not allowed; the sentence says why.
    pub fn remove(&self, creator: &DeviceKey, person: u16, time: u64) -> Result<Vec<u8>, JsError> {
        self.say(creator, Content::Remove { person }, time)
    }

    /// The creator's record that calls the decision off.
    ///
    /// # Errors
    /// As [`DecisionVisit::remove`].
    pub fn cancel(&self, creator: &DeviceKey, time: u64) -> Result<Vec<u8>, JsError> {
        self.say(creator, Content::Cancel, time)
    }

    /// The account's record that it has checked everything.
    ///
    /// # Errors
    /// As [`DecisionVisit::remove`].
    #[wasm_bindgen(js_name = sayVerified)]
    pub fn say_verified(&self, account: &DeviceKey, time: u64) -> Result<Vec<u8>, JsError> {
        self.say(account, Content::Verified, time)
    }

    /// The result as JSON `{outputs, meanings}`, from the servers' openings (JSON `[{party,
    /// opening}]`, as `GET …/records` answers).
    ///
    /// # Errors
    /// If one is missing or wrong; the sentence names the server.
    pub fn result(&mut self, openings: &str) -> Result<String, JsError> {
        let result = inner::result(&self.visit, openings);
        self.note(result)
    }
}

impl DecisionVisit {
    fn note<T>(&mut self, done: Result<T, inner::Doubt>) -> Result<T, JsError> {
        done.map_err(|doubt| {
            self.finding = Some(doubt.finding);
            shown(doubt.sentence)
        })
    }

    fn say(&self, key: &DeviceKey, content: Content, time: u64) -> Result<Vec<u8>, JsError> {
        let chain =
            self.visit.chain().ok_or_else(|| shown("nothing was read of the decision yet"))?;
        let signed = chain.next(&key.key, time, content);
        chain.check(&signed).map_err(shown)?;
        Ok(signed.encode())
    }
}

/// A receipt (JSON) with one more server's signature: `word` is the answer of
/// `GET …/receipts/NUMBER`.
///
/// # Errors
/// If the signature is not the server's on this record.
#[wasm_bindgen(js_name = addToReceipt)]
pub fn add_to_receipt(
    deployment: &Deployment,
    receipt: &str,
    word: &str,
) -> Result<String, JsError> {
    inner::add_to_receipt(&deployment.0, receipt, word).map_err(shown)
}

/// The text of an archive. `servers` is the answer of `GET /api/v1/servers`, `records` and
/// `openings` those of `GET …/records`.
///
/// # Errors
/// If one of them is malformed.
#[wasm_bindgen(js_name = decisionArchive)]
pub fn decision_archive(servers: &str, records: &str, openings: &str) -> Result<String, JsError> {
    inner::archive(servers, records, openings).map_err(shown)
}

/// Verifies an archive and returns its report as JSON, `{"report": …}`; or `{"version": FORMAT}` if
/// another release wrote it. `pinned` is the digest of the servers from the link.
///
/// # Errors
/// The sentence says what does not hold.
#[wasm_bindgen(js_name = verifyDecisionArchive)]
pub fn verify_decision_archive(text: &str, pinned: Option<String>) -> Result<String, JsError> {
    inner::verify_archive(text, pinned.as_deref()).map_err(shown)
}

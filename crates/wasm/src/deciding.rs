//! Private decisions for the page: drafts, what a device remembers, and saved records. A visit to a
//! decision is in `visiting`.
//!
//! An account is a [`DeviceKey`]; an invitation's secret has the form of [`DeviceKey::invitation`].
//! Binary things are the bytes of the HTTP API; lists of them come in as JSON lists of base64url
//! texts, as `GET …/records` answers.

mod canvassing;
mod drafting;
mod gathering;
pub(crate) mod inner;

use ostrakon_decide::{self as decide, DecisionId, Operators};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::{DeviceKey, shown};

/// The three servers of a deployment.
#[wasm_bindgen]
pub struct Deployment(pub(crate) Operators);

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

    /// So many servers say what is believed though no signature proves it: then one of them is
    /// honest.
    pub fn believed(&self) -> usize {
        decide::operators::trust().believed()
    }
}

/// How many must answer of so many people unless somebody wants another number, and how many at
/// least: `[usual, least]`.
#[wasm_bindgen(js_name = quorums)]
pub fn quorums(people: usize) -> Vec<usize> {
    vec![decide::draft::usual_quorum(people), decide::draft::least_quorum(people)]
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
pub struct DecisionMemory(pub(crate) decide::Memory);

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

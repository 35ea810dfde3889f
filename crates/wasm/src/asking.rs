//! Computations by a committee for the page: questions, reports, lists of edges, and the
//! verification of results.
//!
//! Documents are the JSON of the HTTP API; a creator, and an invited reporter, are a [`DeviceKey`].

mod graph;
mod inner;

use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::{DeviceKey, shown};

/// A committee that is asked for statistics, checked.
#[wasm_bindgen]
pub struct AskedCommittee(inner::AskedCommittee);

#[wasm_bindgen]
impl AskedCommittee {
    /// From the answer of `GET /api/v1/committee`; `digest` is the link's, or undefined if the
    /// member is believed.
    ///
    /// # Errors
    /// If it is malformed, or another committee.
    #[wasm_bindgen(constructor)]
    pub fn new(committee: &str, digest: Option<String>) -> Result<AskedCommittee, JsError> {
        inner::AskedCommittee::new(committee, digest.as_deref()).map(Self).map_err(shown)
    }

    /// The committee's digest: 64 hexadecimal digits.
    pub fn digest(&self) -> String {
        self.0.digest()
    }

    /// A question, drafted and signed: JSON of `{id, draft}`, of which the draft is for
    /// `POST /api/v1/computations`. `terms` is JSON of `{text, largest, groups, things,
    /// minimum, statistics, epsilon, closes, invited}`: how many groups or null, whether lists of
    /// things are asked for, thousandths of ε or null without noise, seconds since 1970 or null,
    /// and a list of keys or null for everybody.
    ///
    /// # Errors
    /// If the question cannot be asked, or the browser has no randomness.
    pub fn ask(&self, terms: &str, creator: &DeviceKey) -> Result<String, JsError> {
        self.0.ask(terms, &creator.key).map_err(shown)
    }

    /// What a draft asks: JSON of `{text, largest, groups, things, minimum, statistics, at_once,
    /// epsilon, delta_bits, closes, anyone, creator}`. `view` is the answer of `GET
    /// /api/v1/computations/ID`.
    ///
    /// # Errors
    /// If the draft is not the link's.
    pub fn read(&mut self, view: &str, computation: &str) -> Result<String, JsError> {
        self.0.read(view, computation).map_err(shown)
    }

    /// Whether the key may report.
    pub fn admits(&self, reporter: &DeviceKey) -> bool {
        self.0.admits(&reporter.key)
    }

    /// A report of a number, and of the reporter's group where there are some, for
    /// `POST …/inputs` at every member: the same bytes.
    ///
    /// # Errors
    /// If the number is not one that is asked for, or the browser has no randomness.
    pub fn report(
        &self,
        number: u64,
        group: Option<u16>,
        reporter: &DeviceKey,
    ) -> Result<Vec<u8>, JsError> {
        self.0.report(number, group, &reporter.key).map_err(shown)
    }

    /// A report of a list of things, the same way. `views` are the answers of `GET
    /// /api/v1/computations/ID` of all members in their order.
    ///
    /// # Errors
    /// If lists are not asked for, a member does not show its part of where things fall, or the
    /// browser has no randomness.
    #[wasm_bindgen(js_name = reportThings)]
    pub fn report_things(
        &self,
        things: Vec<String>,
        views: Vec<String>,
        reporter: &DeviceKey,
    ) -> Result<Vec<u8>, JsError> {
        self.0.report_things(things, &views, &reporter.key).map_err(shown)
    }

    /// Whether a member's answer to `POST …/inputs` is its receipt for this report.
    #[wasm_bindgen(js_name = isReceipt)]
    pub fn is_receipt(&self, report: &[u8], member: usize, answer: &str) -> bool {
        self.0.is_receipt(report, member, answer)
    }

    /// The creator's order to close, for `POST …/order`.
    pub fn order(&self, creator: &DeviceKey) -> String {
        self.0.order(&creator.key)
    }

    /// The creator's word that nothing is to come out, for `POST …/cancellation`.
    pub fn cancellation(&self, creator: &DeviceKey) -> String {
        self.0.cancellation(&creator.key)
    }

    /// What members have signed of the end of the computation, if there is no result: JSON of
    /// `{cancelled, ended, opened, stopped}`, of which the last are pairs of a member and its
    /// reason. `statements` are the answers of `GET …/statements` of all members in their order,
    /// empty of who does not answer.
    ///
    /// # Errors
    /// If the question has not been read.
    pub fn heard(&self, statements: Vec<String>) -> Result<String, JsError> {
        self.0.heard(&statements).map_err(shown)
    }

    /// Checks an archive (JSON), and returns what came out: JSON of `{reports, out, missing, spent,
    /// answers}`, of which the answers are null if too few had reported, and `spent`, of `{most,
    /// budget}` in thousandths of ε, if nobody counts.
    ///
    /// # Errors
    /// If it does not prove the result of this question.
    pub fn verify(&self, archive: &str) -> Result<String, JsError> {
        self.0.verify(archive).map_err(shown)
    }
}

/// The job of the draft in the answer of `GET /api/v1/computations/ID`: `stats` or `graph`.
///
/// # Errors
/// If it is malformed.
#[wasm_bindgen(js_name = jobOf)]
pub fn job_of(view: &str) -> Result<String, JsError> {
    graph::job(view).map_err(shown)
}

/// What is told each member of an input that is handed in piece by piece, for `POST …/uploads`:
/// JSON for each, in their order. The input's body begins at byte 96. `committee` is the answer of
/// `GET /api/v1/committee`, `contributor` whose input it is.
///
/// # Errors
/// If the input is too short to be one, or something is malformed.
#[wasm_bindgen(js_name = announcementsOf)]
pub fn announcements_of(
    committee: &str,
    computation: &str,
    input: &[u8],
    contributor: &DeviceKey,
) -> Result<Vec<String>, JsError> {
    inner::announcements(committee, computation, input, &contributor.key).map_err(shown)
}

/// A question for connections, drafted and signed: JSON of `{id, committee, draft,
/// named_elsewhere}`, of which the draft is for `POST /api/v1/computations`. `committee` is the
/// answer of `GET /api/v1/committee`; `asking` is JSON of `{text, names, vertices, edges,
/// undirected, weighted, program, shown, noise, for_me, keep, minimum, closes, invited}`: `keep` is
/// `{questions, days}`, or null if contributions are erased when the result is there.
///
/// # Errors
/// If it cannot be asked, or the browser has no randomness.
#[wasm_bindgen(js_name = askGraph)]
pub fn ask_graph(committee: &str, asking: &str, creator: &DeviceKey) -> Result<String, JsError> {
    graph::ask(committee, asking, &creator.seed).map_err(shown)
}

/// A graph that a committee was asked about, with a file of edges that is read piece by piece.
#[wasm_bindgen]
pub struct AskedGraph(graph::AskedGraph);

#[wasm_bindgen]
impl AskedGraph {
    /// From the answers of `GET /api/v1/committee` and `GET /api/v1/computations/ID`; `digest` is
    /// the link's, or undefined if the member is believed, `computation` the link's.
    ///
    /// # Errors
    /// If something is malformed, or not the link's.
    #[wasm_bindgen(constructor)]
    pub fn new(
        committee: &str,
        digest: Option<String>,
        view: &str,
        computation: &str,
    ) -> Result<AskedGraph, JsError> {
        let graph = graph::AskedGraph::new(committee, digest.as_deref(), view, computation);
        graph.map(Self).map_err(shown)
    }

    /// What is asked: JSON of `{text, vertices, edges, undirected, program, shown, minimum, closes,
    /// anyone, creator, named_elsewhere, bytes, from}`.
    ///
    /// # Errors
    /// Never, as far as known.
    pub fn read(&self) -> Result<String, JsError> {
        self.0.read().map_err(shown)
    }

    /// Another question of who asked this one, drafted and signed as by [`ask_graph`], about the
    /// contributions that are kept. `further` is JSON of `{text, program, shown, noise, for_me}`.
    ///
    /// # Errors
    /// If it cannot be asked of such lists, the names are lacking, or the browser has no
    /// randomness.
    pub fn further(&self, further: &str, creator: &DeviceKey) -> Result<String, JsError> {
        self.0.further(further, &creator.seed).map_err(shown)
    }

    /// Whether there is a vertex of this name, as far as the names are known.
    #[wasm_bindgen(js_name = hasVertex)]
    pub fn has_vertex(&self, name: &str) -> bool {
        self.0.has_vertex(name)
    }

    /// Takes the file of the vertices' names, if they are named elsewhere.
    ///
    /// # Errors
    /// If these are other names.
    pub fn name(&mut self, text: &str) -> Result<(), JsError> {
        self.0.name(text).map_err(shown)
    }

    /// Begins to read another file.
    pub fn begin(&mut self) {
        self.0.begin();
    }

    /// Takes the next piece of the file: JSON of `{edges, wrong}`.
    ///
    /// # Errors
    /// If there are more edges than one contributor may have.
    pub fn take(&mut self, piece: &str) -> Result<String, JsError> {
        self.0.take(piece).map_err(shown)
    }

    /// The file has ended: JSON of `{edges, wrong, errors}`, of which the last are the first bad
    /// lines.
    ///
    /// # Errors
    /// If the names are lacking.
    pub fn end(&mut self) -> Result<String, JsError> {
        self.0.end().map_err(shown)
    }

    /// A contribution of the file that was read, for `POST …/inputs` at every member: the same
    /// bytes.
    ///
    /// # Errors
    /// If there are bad lines or no edges, or the browser has no randomness.
    pub fn contribution(&mut self, owner: &DeviceKey) -> Result<Vec<u8>, JsError> {
        self.0.contribution(&owner.key).map_err(shown)
    }

    /// Whether the key may contribute.
    pub fn admits(&self, owner: &DeviceKey) -> bool {
        self.0.admits(&owner.key)
    }

    /// Whether a member's answer to `POST …/inputs` is its receipt for this contribution.
    #[wasm_bindgen(js_name = isReceipt)]
    pub fn is_receipt(&self, contribution: &[u8], member: usize, answer: &str) -> bool {
        self.0.is_receipt(contribution, member, answer)
    }

    /// The creator's order to close, for `POST …/order`.
    pub fn order(&self, creator: &DeviceKey) -> String {
        self.0.order(&creator.key)
    }

    /// The creator's word that nothing is to come out, for `POST …/cancellation`.
    pub fn cancellation(&self, creator: &DeviceKey) -> String {
        self.0.cancellation(&creator.key)
    }

    /// What members have signed of the end of the computation, if there is no result: JSON of
    /// `{cancelled, ended, opened, stopped}`, of which the last are pairs of a member and its
    /// reason. `statements` are the answers of `GET …/statements` of all members in their order,
    /// empty of who does not answer.
    ///
    /// # Errors
    /// Never, as far as known.
    pub fn heard(&self, statements: Vec<String>) -> Result<String, JsError> {
        self.0.heard(&statements).map_err(shown)
    }

    /// Checks an archive (JSON), and returns what came out: JSON of `{contributors, out, missing,
    /// counts, top, closed, liars}`, of which the counts are null if too few had contributed, or
    /// the result is for who asked.
    ///
    /// # Errors
    /// If it does not prove the result of this computation.
    pub fn verify(&self, archive: &str, top: usize) -> Result<String, JsError> {
        self.0.verify(archive, top, None).map_err(shown)
    }

    /// As [`AskedGraph::verify`], for who asked: also what nobody else can read.
    ///
    /// # Errors
    /// If it does not prove the result of this computation, or cannot be read with this key.
    pub fn open(&self, archive: &str, top: usize, creator: &DeviceKey) -> Result<String, JsError> {
        self.0.verify(archive, top, Some(&creator.seed)).map_err(shown)
    }
}

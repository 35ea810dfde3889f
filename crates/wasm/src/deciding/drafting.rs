//! From what a creator fills in to the draft, for the page.

use ostrakon_client::asking::look;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use super::{Deployment, inner};
use crate::taking_part::millis;
use crate::{DeviceKey, shown};

/// The limits of drafts that a form shows: JSON `{people: [least, most], options, ballots,
/// question, label}`; of the latter two the most bytes of UTF-8.
#[wasm_bindgen(js_name = draftLimits)]
pub fn draft_limits() -> String {
    inner::draft_limits()
}

/// What keeps a wish (JSON `{question, ballots, accept_by, all_needed, quorum, deadline,
/// threshold}`) from being a draft for these people (JSON `[{name, account}]`), and so many more
/// whom nobody knows yet: a word, as `question`, `names`, or `accept-by`; `undefined` if nothing
/// does. `now` in milliseconds since 1970.
///
/// # Errors
/// If it is malformed.
#[wasm_bindgen(js_name = draftFlaw)]
pub fn draft_flaw(
    wish: &str,
    guests: &str,
    more: usize,
    now: f64,
) -> Result<Option<String>, JsError> {
    inner::flaw(wish, guests, more, millis(now) / 1_000).map_err(shown)
}

/// The draft of a wish, with a fresh invitation for everybody who has no account; wish, people and
/// time as for [`draft_flaw`]. `gathering` is the id of the join link by which people have asked.
/// JSON `{id, draft, invitations}`: the decision's id, the draft as a text of JSON, and for each
/// person the invitation's secret, or `null`.
///
/// # Errors
/// If it is malformed or breaks a limit; the sentence says which.
#[wasm_bindgen(js_name = makeDraft)]
pub fn make_draft(
    deployment: &Deployment,
    creator: &DeviceKey,
    wish: &str,
    guests: &str,
    gathering: Option<String>,
    now: f64,
) -> Result<String, JsError> {
    let around = inner::around(&deployment.0, &creator.key, gathering.as_deref()).map_err(shown)?;
    inner::made_draft(wish, guests, around, millis(now) / 1_000).map_err(shown)
}

/// How a name looks: whose names have one look have one name.
#[wasm_bindgen(js_name = nameLook)]
pub fn name_look(name: &str) -> String {
    look(name)
}

/// What people of one name are called (JSON `[{name, code}]`; who has no code keeps the name): JSON
/// `[{code, called}]`, with the first digits of the code where they are needed, otherwise none.
///
/// # Errors
/// If it is malformed.
#[wasm_bindgen(js_name = toldApart)]
pub fn told_apart(bearers: &str) -> Result<String, JsError> {
    inner::told_apart(bearers).map_err(shown)
}

//! What hosts do, and where short codes lead.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ostrakon_broadcast::hosting::{Claim, SignedAction};
use ostrakon_node::Service;
use ostrakon_protocol::{Accepted, ActionTaken, ActionsPage, CodeInfo, parse_room};
use serde::Deserialize;

use crate::extract::{Json, Path, Query};
use crate::guard::Turn;
use crate::handlers::{Answer, seconds};
use crate::problem::Problem;

/// Parameters of a request for the host log.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ActionsQuery {
    /// The number of the first action asked for; 0 unless given.
    #[serde(default)]
    from: u64,
    /// Seconds to wait for it, at most 25; 0 unless given.
    #[serde(default)]
    wait: u32,
}

/// What the room's hosts did from action `from` on, as soon as there is one, or after `wait`
/// seconds.
#[utoipa::path(get, path = "/api/v1/rooms/{id}/actions", tag = "hosting",
    params(("id" = String, Path, description = "The room's id."), ActionsQuery),
    responses((status = 200, body = ActionsPage), (status = 404, description = "No such room.", body = Problem)))]
pub(crate) async fn actions(
    State(service): State<Service>,
    Extension(turn): Extension<Turn>,
    Path(id): Path<String>,
    Query(query): Query<ActionsQuery>,
) -> Result<Response, Problem> {
    let room = parse_room(&id)?;
    service.actions_reach(room, query.from, seconds(query.wait)).await?;
    // Who only waits does not keep others from having their answers made.
    let page = async { Ok(axum::Json(service.actions(room, query.from).await?).into_response()) };
    turn.make(page).await
}

/// Takes what a host of the room does: an action that it signed. It is on disk when this answers.
/// At the first server only, which puts the actions of all hosts into one order.
#[utoipa::path(post, path = "/api/v1/rooms/{id}/actions", tag = "hosting", request_body = Object,
    params(("id" = String, Path, description = "The room's id.")),
    responses(
        (status = 201, body = ActionTaken),
        (status = 403, description = "The signer is no host of the room, or may not do this.", body = Problem),
        (status = 404, description = "No such room.", body = Problem),
        (status = 409, description = "Another action came first: read the log and act again.", body = Problem),
        (status = 421, description = "Not the first server; the problem names it.", body = Problem),
        (status = 422, description = "A limit is passed.", body = Problem),
        (status = 429, description = "Too many hosts act at once.", body = Problem),
    ))]
pub(crate) async fn act(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(action): Json<SignedAction>,
) -> Result<(StatusCode, axum::Json<ActionTaken>), Problem> {
    Ok((StatusCode::CREATED, axum::Json(service.act(parse_room(&id)?, action).await?)))
}

/// Takes the claim of an invitation: from now on the key that claims takes part. It is on disk when
/// this answers. At the first server only, which puts claims and the actions of hosts into one
/// order.
#[utoipa::path(post, path = "/api/v1/rooms/{id}/claims", tag = "taking part", request_body = Object,
    params(("id" = String, Path, description = "The room's id.")),
    responses(
        (status = 201, body = Accepted),
        (status = 403, description = "There is no such invitation, or a signature is wrong.", body = Problem),
        (status = 404, description = "No such room.", body = Problem),
        (status = 409, description = "The invitation was used on another device, or the room is closed.", body = Problem),
        (status = 421, description = "Not the first server; the problem names it.", body = Problem),
        (status = 422, description = "The key takes part already.", body = Problem),
        (status = 429, description = "Too many claims at once.", body = Problem),
    ))]
pub(crate) async fn claim(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(claim): Json<Claim>,
) -> Result<(StatusCode, axum::Json<Accepted>), Problem> {
    Ok((StatusCode::CREATED, axum::Json(service.claim(parse_room(&id)?, claim).await?)))
}

/// Where a room's short code leads. Whoever types a code trusts this server to name the right room
/// and the right servers.
#[utoipa::path(get, path = "/api/v1/codes/{code}", tag = "rooms",
    params(("code" = String, Path, description = "Eight letters and digits, as in 4W7K-90XM.")),
    responses((status = 200, body = CodeInfo), (status = 404, description = "No room has this code.", body = Problem)))]
pub(crate) async fn code(
    State(service): State<Service>,
    Path(code): Path<String>,
) -> Answer<CodeInfo> {
    Ok(axum::Json(service.code(&code)?))
}

//! Join links of decisions to come. What is signed travels in its binary form.

use axum::extract::State;
use axum::http::StatusCode;
use ostrakon_crypto::Signature;
use ostrakon_node::Service;
use ostrakon_protocol::decisions::{GatheringInfo, GatheringMade, RequestsInfo, parse_gathering};
use serde::Deserialize;

use super::server;
use crate::extract::{Binary, MayCreate, Path, Query};
use crate::handlers::Answer;
use crate::problem::Problem;

/// Parameters of a request for what the creator alone is shown.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CreatorQuery {
    /// The creator's clock, in seconds since 1970.
    time: u64,
    /// The creator's signature on it (`ostrakon_decide::gathering::reading_digest`): 128
    /// hexadecimal digits.
    #[param(value_type = String)]
    signature: Signature,
}

/// Keeps a join link. To be sent to each server. Who may create rooms there may make join links.
#[utoipa::path(post, path = "/api/v1/gatherings", tag = "decisions",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    security(("administrator" = []), ("creation" = []), ()),
    responses(
        (status = 201, body = GatheringMade),
        (status = 401, description = "The token that this server asks for is missing or wrong.", body = Problem),
        (status = 422, description = "The link is refused; the problem says why.", body = Problem),
        (status = 429, description = "Too many were made of late.", body = Problem),
    ))]
pub(crate) async fn create(
    State(service): State<Service>,
    MayCreate(creator): MayCreate,
    Binary(body): Binary,
) -> Result<(StatusCode, axum::Json<GatheringMade>), Problem> {
    Ok((StatusCode::CREATED, axum::Json(server(&service)?.gather(creator, &body).await?)))
}

/// What a join link is for, and what its creator has said of the requests.
#[utoipa::path(get, path = "/api/v1/gatherings/{id}", tag = "decisions",
    params(("id" = String, Path, description = "The link's id: 32 hexadecimal digits.")),
    responses(
        (status = 200, body = GatheringInfo),
        (status = 404, description = "No such join link.", body = Problem),
    ))]
pub(crate) async fn gathering(
    State(service): State<Service>,
    Path(id): Path<String>,
) -> Answer<GatheringInfo> {
    let id = parse_gathering(&id)?;
    Ok(axum::Json(server(&service)?.gathering(id).await?))
}

/// Takes a request to take part; it is on disk when this answers. To be sent to each server.
#[utoipa::path(post, path = "/api/v1/gatherings/{id}/requests", tag = "decisions",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    params(("id" = String, Path, description = "The link's id.")),
    responses(
        (status = 204, description = "It is kept for the creator."),
        (status = 404, description = "No such join link.", body = Problem),
        (status = 409, description = "The decision has begun, or the creator has refused it.", body = Problem),
        (status = 422, description = "The request is refused; the problem says why.", body = Problem),
        (status = 429, description = "Too many requests wait for the creator.", body = Problem),
    ))]
pub(crate) async fn ask(
    State(service): State<Service>,
    Path(id): Path<String>,
    Binary(body): Binary,
) -> Result<StatusCode, Problem> {
    let id = parse_gathering(&id)?;
    server(&service)?.ask_to_join(id, &body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Who asks to take part, for the creator of the link.
#[utoipa::path(get, path = "/api/v1/gatherings/{id}/requests", tag = "decisions",
    params(("id" = String, Path, description = "The link's id."), CreatorQuery),
    responses(
        (status = 200, body = RequestsInfo),
        (status = 403, description = "Not signed by the creator, or at another time.", body = Problem),
        (status = 404, description = "No such join link.", body = Problem),
    ))]
pub(crate) async fn requests(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<CreatorQuery>,
) -> Answer<RequestsInfo> {
    let (id, signed) = (parse_gathering(&id)?, (query.time, query.signature));
    Ok(axum::Json(server(&service)?.requests_to_join(id, signed).await?))
}

/// Takes what the creator says of the requests. To be sent to each server.
#[utoipa::path(post, path = "/api/v1/gatherings/{id}/word", tag = "decisions",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    params(("id" = String, Path, description = "The link's id.")),
    responses(
        (status = 204, description = "It is kept."),
        (status = 404, description = "No such join link.", body = Problem),
        (status = 409, description = "Something later was said.", body = Problem),
        (status = 422, description = "It is refused; the problem says why.", body = Problem),
    ))]
pub(crate) async fn answer(
    State(service): State<Service>,
    Path(id): Path<String>,
    Binary(body): Binary,
) -> Result<StatusCode, Problem> {
    let id = parse_gathering(&id)?;
    server(&service)?.answer_requests(id, &body).await?;
    Ok(StatusCode::NO_CONTENT)
}

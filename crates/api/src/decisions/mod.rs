//! Private decisions. Bodies that are signed travel in their binary form.

mod gatherings;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use ostrakon_crypto::{Signature, VerifyingKey};
use ostrakon_decisions::DecisionServer;
use ostrakon_node::{LONGEST_WAIT, Service};
use ostrakon_protocol::decisions::{
    Acknowledged, DecisionInfo, DecisionMade, DepositReceipt, LayerInfo, MailRequest, RecordTaken,
    RecordsPage, StockLevel, parse_decision,
};
use serde::Deserialize;

use crate::extract::{Binary, Json, MayCreate, Path, Query};
use crate::guard::{Origin, Turn};
use crate::handlers::{Answer, seconds};
use crate::problem::Problem;

/// What is asked of the servers' part in decisions, in the description of the interface.
#[derive(utoipa::OpenApi)]
#[openapi(paths(
    helper,
    deposit,
    stock,
    add_to_stock,
    layer,
    gatherings::create,
    gatherings::gathering,
    gatherings::ask,
    gatherings::requests,
    gatherings::answer,
    create,
    decision,
    records,
    append,
    receipt,
    mail,
))]
pub(crate) struct Description;

/// Paths below `/api/v1/` to which a request costs the server proofs to check and a write.
pub(crate) const COSTLY: [&str; 4] = ["shares", "accounts/", "layers", "decisions"];

/// All paths.
pub(crate) fn routes() -> Router<Service> {
    Router::new()
        .route("/api/v1/helper", get(helper))
        .route("/api/v1/shares", post(deposit))
        .route("/api/v1/accounts/{key}", get(stock))
        .route("/api/v1/accounts/{key}/keys", post(add_to_stock))
        .route("/api/v1/layers", post(layer))
        .route("/api/v1/gatherings", post(gatherings::create))
        .route("/api/v1/gatherings/{id}", get(gatherings::gathering))
        .route("/api/v1/gatherings/{id}/requests", get(gatherings::requests).post(gatherings::ask))
        .route("/api/v1/gatherings/{id}/word", post(gatherings::answer))
        .route("/api/v1/decisions", post(create))
        .route("/api/v1/decisions/{id}", get(decision))
        .route("/api/v1/decisions/{id}/records", get(records).post(append))
        .route("/api/v1/decisions/{id}/receipts/{number}", get(receipt))
        .route("/api/v1/decisions/{id}/mail", post(mail))
}

/// This server's part in decisions.
fn server(service: &Service) -> Result<Arc<DecisionServer>, Problem> {
    Ok(service.driver()?)
}

/// Parameters of a request for a decision's records.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecordsQuery {
    /// The number of the first record asked for; 0 unless given.
    #[serde(default)]
    from: u32,
    /// How many servers' openings are known already; none unless given.
    #[serde(default)]
    opened: usize,
    /// Seconds to wait for a record or an opening more, at most 25; 0 unless given.
    #[serde(default)]
    wait: u32,
}

/// Parameters of a request for the level of a stock.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StockQuery {
    /// The owner's clock, in seconds since 1970.
    time: u64,
    /// The owner's signature on it (`ostrakon_decide::keys::stock_digest`): 128 hexadecimal digits.
    #[param(value_type = String)]
    signature: Signature,
}

fn account(text: &str) -> Result<VerifyingKey, Problem> {
    let malformed =
        || Problem::new(StatusCode::NOT_FOUND, "an account is a key of 64 hexadecimal digits");
    VerifyingKey::from_hex(text).ok_or_else(malformed)
}

/// The key to which shares of one-time keys are sealed for this server.
#[utoipa::path(get, path = "/api/v1/helper", tag = "decisions",
    responses((status = 200, body = Object, description = "Party number, exchange key, signature of the server.")))]
pub(crate) async fn helper(
    State(service): State<Service>,
) -> Answer<ostrakon_protocol::decisions::HelperKey> {
    Ok(axum::Json(server(&service)?.helper_key()?))
}

/// Takes a sealed share of a one-time key; it is on disk when this answers. To be sent to each
/// server, its own share.
#[utoipa::path(post, path = "/api/v1/shares", tag = "decisions",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 201, body = DepositReceipt),
        (status = 409, description = "Another key was deposited under this serial.", body = Problem),
        (status = 422, description = "The key or the share is wrong; the problem says how.", body = Problem),
        (status = 429, description = "Too many from this address of late.", body = Problem),
    ))]
pub(crate) async fn deposit(
    State(service): State<Service>,
    Extension(origin): Extension<Origin>,
    Binary(body): Binary,
) -> Result<(StatusCode, axum::Json<DepositReceipt>), Problem> {
    Ok((StatusCode::CREATED, axum::Json(server(&service)?.deposit(origin.0, &body).await?)))
}

/// Adds certified one-time keys to an account's stock. At the first server only.
#[utoipa::path(post, path = "/api/v1/accounts/{key}/keys", tag = "decisions",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    params(("key" = String, Path, description = "The account's key: 64 hexadecimal digits.")),
    responses(
        (status = 200, body = StockLevel),
        (status = 421, description = "Not the first server; the problem names it.", body = Problem),
        (status = 422, description = "A key is wrong; the problem says how.", body = Problem),
    ))]
pub(crate) async fn add_to_stock(
    State(service): State<Service>,
    Path(key): Path<String>,
    Binary(body): Binary,
) -> Answer<StockLevel> {
    let owner = account(&key)?;
    Ok(axum::Json(server(&service)?.add_to_stock(owner, &body).await?))
}

/// How many one-time keys an account has in stock, for its owner. At the first server only.
#[utoipa::path(get, path = "/api/v1/accounts/{key}", tag = "decisions",
    params(
        ("key" = String, Path, description = "The account's key: 64 hexadecimal digits."),
        StockQuery,
    ),
    responses(
        (status = 200, body = StockLevel),
        (status = 403, description = "Not signed by the owner, or at another time.", body = Problem),
        (status = 421, description = "Not the first server; the problem names it.", body = Problem),
    ))]
pub(crate) async fn stock(
    State(service): State<Service>,
    Path(key): Path<String>,
    Query(query): Query<StockQuery>,
) -> Answer<StockLevel> {
    let (owner, signed) = (account(&key)?, (query.time, query.signature));
    Ok(axum::Json(server(&service)?.stock_level(owner, signed).await?))
}

/// This operator's layer key for a draft. The same draft has the same key.
#[utoipa::path(post, path = "/api/v1/layers", tag = "decisions",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 200, body = LayerInfo),
        (status = 422, description = "The draft breaks a limit; the problem names it.", body = Problem),
        (status = 429, description = "Too many from this address of late.", body = Problem),
    ))]
pub(crate) async fn layer(
    State(service): State<Service>,
    Extension(origin): Extension<Origin>,
    Binary(body): Binary,
) -> Answer<LayerInfo> {
    Ok(axum::Json(server(&service)?.layer(origin.0, &body).await?))
}

/// Begins a decision with its first record. At the first server only. Who may create rooms there
/// may create decisions.
#[utoipa::path(post, path = "/api/v1/decisions", tag = "decisions",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    security(("administrator" = []), ("creation" = []), ()),
    responses(
        (status = 201, body = DecisionMade),
        (status = 401, description = "The token that this server asks for is missing or wrong.", body = Problem),
        (status = 421, description = "Not the first server; the problem names it.", body = Problem),
        (status = 422, description = "The record is refused; the problem says why.", body = Problem),
        (status = 429, description = "Too many were created of late.", body = Problem),
    ))]
pub(crate) async fn create(
    State(service): State<Service>,
    MayCreate(creator): MayCreate,
    Binary(body): Binary,
) -> Result<(StatusCode, axum::Json<DecisionMade>), Problem> {
    Ok((StatusCode::CREATED, axum::Json(server(&service)?.create_decision(creator, &body).await?)))
}

/// How a decision stands at this server.
#[utoipa::path(get, path = "/api/v1/decisions/{id}", tag = "decisions",
    params(("id" = String, Path, description = "The decision's id: 32 hexadecimal digits.")),
    responses((status = 200, body = DecisionInfo), (status = 404, description = "No such decision.", body = Problem)))]
pub(crate) async fn decision(
    State(service): State<Service>,
    Path(id): Path<String>,
) -> Answer<DecisionInfo> {
    let id = parse_decision(&id)?;
    Ok(axum::Json(server(&service)?.decision(id)?))
}

/// A decision's records from number `from` on and what the servers have opened, as soon as there is
/// more than is known, or after `wait` seconds.
#[utoipa::path(get, path = "/api/v1/decisions/{id}/records", tag = "decisions",
    params(("id" = String, Path, description = "The decision's id."), RecordsQuery),
    responses((status = 200, body = RecordsPage), (status = 404, description = "No such decision.", body = Problem)))]
pub(crate) async fn records(
    State(service): State<Service>,
    Extension(turn): Extension<Turn>,
    Path(id): Path<String>,
    Query(query): Query<RecordsQuery>,
) -> Result<Response, Problem> {
    let id = parse_decision(&id)?;
    let server = server(&service)?;
    let wait = seconds(query.wait).min(LONGEST_WAIT);
    server.records_reach(id, (query.from, query.opened), wait).await?;
    // Who only waits does not keep others from having their answers made.
    let page = async { Ok(axum::Json(server.records(id, query.from).await?).into_response()) };
    turn.make(page).await
}

/// This server's signature that record `number` stands in the chain that it has: of two servers
/// they make a receipt.
#[utoipa::path(get, path = "/api/v1/decisions/{id}/receipts/{number}", tag = "decisions",
    params(
        ("id" = String, Path, description = "The decision's id."),
        ("number" = u32, Path, description = "The record's number."),
    ),
    responses(
        (status = 200, body = Acknowledged),
        (status = 404, description = "This server has no such record.", body = Problem),
    ))]
pub(crate) async fn receipt(
    State(service): State<Service>,
    Path((id, number)): Path<(String, u32)>,
) -> Answer<Acknowledged> {
    let id = parse_decision(&id)?;
    let word = server(&service)?.acknowledge(id, number).await?;
    Ok(axum::Json(Acknowledged { party: word.party.0, signature: word.signature }))
}

/// Takes the next record of a decision; it is on disk when this answers. The first server puts all
/// records into one order. Another one holds what it is given and asks the first one to take it:
/// nobody is left out whose record a server holds.
#[utoipa::path(post, path = "/api/v1/decisions/{id}/records", tag = "decisions",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    params(("id" = String, Path, description = "The decision's id.")),
    responses(
        (status = 201, body = RecordTaken),
        (status = 404, description = "No such decision.", body = Problem),
        (status = 409, description = "Another record came first, or the deadline has passed: read on.", body = Problem),
        (status = 421, description = "Not the first server, which alone takes such a record; the problem names it.", body = Problem),
        (status = 422, description = "The record is refused; the problem says why.", body = Problem),
        (status = 429, description = "Too many records are being looked at.", body = Problem),
    ))]
pub(crate) async fn append(
    State(service): State<Service>,
    Path(id): Path<String>,
    Binary(body): Binary,
) -> Result<(StatusCode, axum::Json<RecordTaken>), Problem> {
    let id = parse_decision(&id)?;
    Ok((StatusCode::CREATED, axum::Json(server(&service)?.append_record(id, &body).await?)))
}

/// Sends somebody who is asked the link by e-mail, at the signed request of who created the
/// decision. The address is not kept.
#[utoipa::path(post, path = "/api/v1/decisions/{id}/mail", tag = "decisions", request_body = MailRequest,
    params(("id" = String, Path, description = "The decision's id.")),
    responses(
        (status = 202, description = "The mail server has taken the message."),
        (status = 403, description = "Not signed by who created the decision.", body = Problem),
        (status = 404, description = "No such decision, or this server sends no e-mail.", body = Problem),
        (status = 409, description = "The person is not awaited any more, or was sent as many as may be.", body = Problem),
        (status = 422, description = "The link is not this person's, or the address is none.", body = Problem),
        (status = 429, description = "Too much e-mail is being sent; try again in a moment.", body = Problem),
        (status = 503, description = "The mail server has not taken the message.", body = Problem),
    ))]
pub(crate) async fn mail(
    State(service): State<Service>,
    Path(id): Path<String>,
    Json(request): Json<MailRequest>,
) -> Result<StatusCode, Problem> {
    let id = parse_decision(&id)?;
    server(&service)?.mail(id, request).await?;
    Ok(StatusCode::ACCEPTED)
}

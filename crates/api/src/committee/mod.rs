//! The interface of a committee's member ([`ostrakon_committee::Service`]).

mod arriving;
mod leaving;

use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use ostrakon_committee::{PIECE_BYTES, Refused, Service, Uploaded, View};
use ostrakon_computation::{
    Announced, Cancellation, Committee, ComputationId, Input, Order, SignedDraft, Statement,
};
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_node::config::Limits;
use serde_json::{Value, json};

use crate::extract::OperatorToken;
use crate::guard::{Guard, limit};
use crate::problem::Problem;
use crate::router::{cors, in_time};
use crate::web::{self, METRICS};

/// The longest draft: ten thousand keys in hexadecimal digits.
const DRAFT_BYTES: usize = 1 << 20;

/// The whole HTTP interface of a committee's member.
///
/// `operating` is what its operator sees.
pub fn committee_router(service: Service, files: Option<PathBuf>, operating: Operating) -> Router {
    let missing = Arc::clone(&operating.missing);
    let origins: Vec<String> =
        service.committee().members.iter().map(|member| member.url.clone()).collect();
    let one = "/api/v1/computations/{id}";
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(async move || readiness(missing())))
        .route("/metrics", get(metrics))
        .route("/api/v1/committee", get(committee))
        .route(
            "/api/v1/operator/computations",
            get(async move |headers: HeaderMap, State(service): State<Service>| {
                operated(&operating, &headers, &service).await
            }),
        )
        .route("/api/v1/computations", post(create))
        .layer(DefaultBodyLimit::max(DRAFT_BYTES))
        .route(one, get(view))
        .route(&format!("{one}/order"), post(order))
        .route(&format!("{one}/cancellation"), post(cancel))
        .route(&format!("{one}/statements"), get(statements))
        .route(&format!("{one}/inputs"), post(submit))
        .route(&format!("{one}/uploads"), post(announce))
        .route(&format!("{one}/uploads/{{upload}}/{{at}}"), post(piece))
        .route(&format!("{one}/inputs/{{contributor}}/{{body}}"), get(input))
        .route(&format!("{one}/archive"), get(archive))
        .route("/api/{*rest}", axum::routing::any(web::no_such_path))
        .merge(web::files(files.as_deref()))
        .method_not_allowed_fallback(async || Problem::wrong_method().into_response())
        .with_state(service)
        .layer(middleware::from_fn_with_state(web::StartPage::of("committee"), web::to_start_page))
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn_with_state(Guard::without_rooms(Limits::default()), limit))
        .layer(middleware::from_fn_with_state(web::Finish::new(&origins), web::finish))
        .layer(cors())
}

/// Names the members that a member is not connected with.
pub type Missing = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// What a member's operator has.
#[derive(Clone)]
pub struct Operating {
    /// Whom the member is not connected with.
    pub missing: Missing,
    /// The operator's token.
    pub token: OperatorToken,
}

/// The member at a glance, for its operator.
async fn operated(
    operating: &Operating,
    headers: &HeaderMap,
    service: &Service,
) -> Answer<Json<Value>> {
    operating.token.check(headers)?;
    let computations = service.overview().await.map_err(Refused::from)?;
    let (members, number) = (&service.committee().members, service.number());
    Ok(Json(json!({
        "name": members[number].name,
        "number": number,
        "members": members.len(),
        "missing": (operating.missing)(),
        "computations": computations,
    })))
}

fn readiness(missing: Vec<String>) -> Response {
    let ready = missing.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let detail =
        if ready { String::new() } else { format!("no connection with {}", missing.join(", ")) };
    (status, Json(json!({ "ready": ready, "missing": missing, "detail": detail }))).into_response()
}

type Answer<T> = Result<T, Problem>;

async fn committee(State(service): State<Service>) -> Json<Committee> {
    Json(service.committee().clone())
}

async fn metrics(State(service): State<Service>) -> Response {
    ([(header::CONTENT_TYPE, METRICS)], service.metrics()).into_response()
}

async fn create(
    State(service): State<Service>,
    Json(draft): Json<SignedDraft>,
) -> Answer<(StatusCode, Json<Value>)> {
    let id = service.create(draft).await?;
    Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
}

async fn view(State(service): State<Service>, Path(id): Path<ComputationId>) -> Answer<Json<View>> {
    Ok(Json(service.view(&id)?))
}

async fn statements(
    State(service): State<Service>,
    Path(id): Path<ComputationId>,
) -> Answer<Json<Vec<Statement>>> {
    Ok(Json(service.statements(&id)?))
}

async fn submit(
    State(service): State<Service>,
    Path(id): Path<ComputationId>,
    body: Body,
) -> Answer<Json<Statement>> {
    // Each computation has its own limit.
    let limit = service.input_bytes(&id)?;
    let admits = |key: &VerifyingKey| Ok(service.admits(&id, key)?);
    let (body, _held) = arriving::read(body, limit, admits, &arriving::ROOM).await?;
    let malformed = || Problem::new(StatusCode::BAD_REQUEST, "this is too short to be an input");
    let input = Input::decode(&body).ok_or_else(malformed)?;
    Ok(Json(service.submit(&id, input).await?))
}

async fn announce(
    State(service): State<Service>,
    Path(id): Path<ComputationId>,
    Json(announced): Json<Announced>,
) -> Answer<Json<Uploaded>> {
    Ok(Json(service.announce(&id, announced).await?))
}

async fn piece(
    State(service): State<Service>,
    Path((id, upload, at)): Path<(ComputationId, Digest, u64)>,
    body: Body,
) -> Answer<Json<Value>> {
    // Nothing is read for a name that nobody has been given.
    service.awaits(&id, &upload).await?;
    let (piece, _held) = arriving::read(body, PIECE_BYTES, |_| Ok(()), &arriving::ROOM).await?;
    Ok(Json(json!({ "bytes": service.piece(&id, &upload, at, &piece).await? })))
}

async fn input(
    State(service): State<Service>,
    Path((id, contributor, body)): Path<(ComputationId, VerifyingKey, Digest)>,
) -> Answer<Response> {
    let limit = service.input_bytes(&id)?;
    let load = async { Ok(service.input(&id, &contributor, &body).await?) };
    leaving::send(limit, load, &leaving::ROOM).await
}

async fn order(
    State(service): State<Service>,
    Path(id): Path<ComputationId>,
    Json(order): Json<Order>,
) -> Answer<StatusCode> {
    if order.computation != id {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "the order is for something else"));
    }
    service.close(&order).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn cancel(
    State(service): State<Service>,
    Path(id): Path<ComputationId>,
    Json(order): Json<Cancellation>,
) -> Answer<StatusCode> {
    if order.computation != id {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "the order is for something else"));
    }
    service.cancel(&order).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn archive(
    State(service): State<Service>,
    Path(id): Path<ComputationId>,
) -> Answer<Json<Value>> {
    let archive = service.archived(&id).await?;
    let result = service.render(&archive);
    Ok(Json(json!({ "archive": archive, "result": result })))
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let status = match refused {
            Refused::NotFound(_) => StatusCode::NOT_FOUND,
            Refused::Conflict(_) => StatusCode::CONFLICT,
            Refused::Unsound(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Refused::Forbidden(_) => StatusCode::FORBIDDEN,
            Refused::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, refused.to_string())
    }
}

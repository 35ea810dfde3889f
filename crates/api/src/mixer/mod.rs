//! The interface of a server of a room without a clock ([`ostrakon_mixer::Visits`]).

use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use ostrakon_asynchromix::Description;
use ostrakon_asynchromix::visit::Ask;
use ostrakon_mixer::{Stands, Turned, Visits};
use serde_json::json;

use crate::problem::Problem;
use crate::router::{cors, in_time};
use crate::web;

#[derive(Clone)]
struct Served {
    visits: Visits,
    description: Arc<Description>,
}

/// The whole HTTP interface of a server of a room without a clock (its specification, step W1).
pub fn mixer_router(visits: Visits, description: Description, files: Option<PathBuf>) -> Router {
    let origins: Vec<String> = description.servers.iter().map(|card| card.url.clone()).collect();
    let longest = Ask::longest(visits.room());
    let served = Served { visits, description: Arc::new(description) };
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readiness))
        .route("/api/v1/mix", get(description_of))
        .route("/api/v1/mix", post(visit).layer(DefaultBodyLimit::max(longest)))
        .route("/api/{*rest}", axum::routing::any(web::no_such_path))
        .merge(web::files(files.as_deref()))
        .method_not_allowed_fallback(async || Problem::wrong_method().into_response())
        .with_state(served)
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn_with_state(web::Finish::new(&origins), web::finish))
        .layer(cors())
}

/// A server takes part while t others are away; that they are is said.
async fn readiness(State(served): State<Served>) -> Response {
    let health = served.visits.health();
    let names: Vec<&str> = health
        .missing
        .iter()
        .filter_map(|party| Some(served.description.servers.get(party.index())?.name.as_str()))
        .collect();
    let runs = health.stands == Stands::Runs;
    let stands = match health.stands {
        Stands::Founding => "the servers make their common key",
        Stands::Asking => "asks the other servers how they stand",
        Stands::DataLost => {
            "the data are older than what others have heard of this server; start it once with \
             --restored"
        }
        Stands::Runs => "takes part",
    };
    let detail = match (runs, names.is_empty()) {
        (true, true) => String::new(),
        (false, true) => stands.to_owned(),
        (_, false) => format!("{stands}; no connection with {}", names.join(", ")),
    };
    let status = if runs { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({ "ready": runs, "missing": names, "detail": detail });
    (status, Json(body)).into_response()
}

async fn description_of(State(served): State<Served>) -> Json<Description> {
    Json(Description::clone(&served.description))
}

async fn visit(State(served): State<Served>, body: Bytes) -> Result<Response, Problem> {
    let answer = served.visits.visit(&body).await?;
    let kind = HeaderValue::from_static("application/octet-stream");
    Ok(([(header::CONTENT_TYPE, kind)], answer).into_response())
}

impl From<Turned> for Problem {
    fn from(turned: Turned) -> Self {
        let status = match turned {
            Turned::Malformed => StatusCode::BAD_REQUEST,
            Turned::Busy | Turned::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, turned.to_string())
    }
}

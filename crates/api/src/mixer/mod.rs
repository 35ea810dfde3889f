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
use ostrakon_asynchromix::evidence::EvidenceFile;
use ostrakon_asynchromix::visit::Ask;
use ostrakon_asynchromix::visitor::SPOILT;
use ostrakon_mixer::{Stands, Turned, Visits};
use serde_json::json;

use crate::problem::Problem;
use crate::router::{cors, in_time};
use crate::web;

mod operating;

pub use operating::{Machine, MixerOperating};

#[derive(Clone)]
struct Served {
    visits: Visits,
    description: Arc<Description>,
    operating: MixerOperating,
}

impl Served {
    fn name_of(&self, server: usize) -> Option<&str> {
        self.description.servers.get(server).map(|card| card.name.as_str())
    }
}

/// The whole HTTP interface of a server of a room without a clock (its specification, step W1).
///
/// `operating` is what its operator sees.
pub fn mixer_router(
    visits: Visits,
    description: Description,
    files: Option<PathBuf>,
    operating: MixerOperating,
) -> Router {
    let front = web::StartPage::of(&format!("mix={}", visits.room().digest().to_hex()));
    let origins: Vec<String> = description.servers.iter().map(|card| card.url.clone()).collect();
    let longest = Ask::longest(visits.room());
    let served = Served { visits, description: Arc::new(description), operating };
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readiness))
        .route("/api/v1/mix", get(description_of))
        .route("/api/v1/mix/evidence", get(evidence))
        .route("/api/v1/operator/mix", get(operating::overview))
        .route("/api/v1/mix", post(visit).layer(DefaultBodyLimit::max(longest)))
        .route("/api/{*rest}", axum::routing::any(web::no_such_path))
        .merge(web::files(files.as_deref()))
        .method_not_allowed_fallback(async || Problem::wrong_method().into_response())
        .with_state(served)
        .layer(middleware::from_fn_with_state(front, web::to_start_page))
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn_with_state(web::Finish::new(&origins), web::finish))
        .layer(cors())
}

/// A server takes part while t others are away; that they are is said.
async fn readiness(State(served): State<Served>) -> Response {
    let health = served.visits.health();
    let missing = health.missing.iter().filter_map(|party| served.name_of(party.index()));
    let names: Vec<&str> = missing.collect();
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
    let mut told = Vec::new();
    if !names.is_empty() {
        told.push(format!("no connection with {}", names.join(", ")));
    }
    for (party, of) in &health.convicted {
        let name = served.name_of(party.index()).unwrap_or_default();
        let deed = of.deed.in_words();
        told.push(format!("{name} was convicted: it {deed}; nothing is prepared with it any more"));
    }
    if health.spoilt >= SPOILT {
        let lacking = health.lacking.iter().filter_map(|party| served.name_of(party.index()));
        let lacking = lacking.collect::<Vec<_>>().join(", ");
        told.push(format!(
            "{} preparations were spoilt one after another, and nobody could be convicted; of the \
             last one these servers have not shown their part: {lacking}",
            health.spoilt
        ));
    }
    if !runs || !told.is_empty() {
        told.insert(0, stands.to_owned());
    }
    let status = if runs { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let convicted: Vec<_> = health
        .convicted
        .iter()
        .map(|(party, of)| json!({ "name": served.name_of(party.index()), "deed": of.deed }))
        .collect();
    let body = json!({
        "ready": runs,
        "missing": names,
        "convicted": convicted,
        "rounds": health.ready,
        "detail": told.join("; "),
    });
    (status, Json(body)).into_response()
}

async fn description_of(State(served): State<Served>) -> Json<Description> {
    Json(Description::clone(&served.description))
}

/// What convicts servers, for whoever has the room's link to judge.
async fn evidence(State(served): State<Served>) -> Json<EvidenceFile> {
    let convicted = served.visits.health().convicted;
    let evidence = convicted.values().map(|of| &of.evidence);
    Json(EvidenceFile::new(Description::clone(&served.description), evidence))
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

//! All paths, and the layers around them.

use std::path::PathBuf;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use axum::{Extension, Router, middleware};
use ostrakon_node::{LONGEST_WAIT, Service};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate, SizeAbove};
use tower_http::cors::{Any, CorsLayer};

use crate::guard::{Guard, limit};
use crate::jobs::{self, registry};
use crate::log::LogControl;
use crate::problem::{BODY_BYTES, Problem};
use crate::{handlers, hosting, openapi, operator, web};

/// How long a request may take, from the end of its header: the longest wait that can be asked for,
/// and some more.
const REQUEST_TIME: Duration = LONGEST_WAIT.saturating_add(Duration::from_secs(15));

/// Answers of fewer bytes fit into one packet anyway.
const WORTH_COMPRESSING: u64 = 1200;

/// What may differ from server to server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The web client's files.
    pub web: Option<PathBuf>,
    /// Origins of all servers of the deployment (`https://HOST[:PORT]`): the page may talk to these
    /// and no others.
    pub origins: Vec<String>,
    /// What an administrator changes the log by.
    pub log: Option<LogControl>,
}

/// The whole HTTP interface of a server.
pub fn router(service: Service, options: &Options) -> Router {
    let guard = Guard::new(service.clone(), registry::costly().collect());
    let finish = web::Finish::new(&options.origins);
    api()
        .merge(registry::routes())
        .route("/healthz", get(handlers::healthz))
        .route("/readyz", get(handlers::readyz))
        .route("/metrics", get(handlers::metrics))
        .route("/api/{*rest}", axum::routing::any(web::no_such_path))
        .merge(web::files(options.web.as_deref()))
        .method_not_allowed_fallback(async || Problem::wrong_method().into_response())
        .with_state(service)
        .layer(Extension(options.log.clone()))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn_with_state(guard, limit))
        .layer(
            CompressionLayer::new()
                .compress_when(DefaultPredicate::new().and(SizeAbove::new(WORTH_COMPRESSING))),
        )
        .layer(middleware::from_fn_with_state(finish, web::finish))
        .layer(cors())
}

/// Ends what takes too long.
pub(crate) async fn in_time(request: Request, next: Next) -> Response {
    let late = |_| {
        Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "the request took too long; try again in a moment",
        )
        .into_response()
    };
    tokio::time::timeout(REQUEST_TIME, next.run(request)).await.unwrap_or_else(late)
}

fn api() -> Router<Service> {
    let document = || async { ([(header::CONTENT_TYPE, "application/json")], openapi::openapi()) };
    Router::new()
        .route("/api/v1/openapi.json", get(document))
        .route("/api/v1/servers", get(handlers::servers))
        .route("/api/v1/operator/overview", get(operator::overview))
        .route("/api/v1/operator/audit", get(operator::audit))
        .route("/api/v1/operator/faults", get(operator::faults))
        .route("/api/v1/operator/log", put(operator::set_log))
        .route("/api/v1/operator/rooms/{id}", delete(operator::delete_room))
        .route("/api/v1/rooms", get(handlers::rooms).post(handlers::create_room))
        .route("/api/v1/rooms/{id}", get(handlers::room).delete(handlers::close_room))
        .route("/api/v1/rooms/{id}/presence", post(handlers::presence))
        .route("/api/v1/codes/{code}", get(hosting::code))
        .route("/api/v1/rooms/{id}/actions", get(hosting::actions).post(hosting::act))
        .route("/api/v1/rooms/{id}/claims", post(hosting::claim))
        .route("/api/v1/jobs/{job}/{subject}", get(jobs::subject).post(jobs::say))
        .route("/api/v1/rooms/{id}/status", get(handlers::status))
        .route("/api/v1/rooms/{id}/epochs/{number}/issue", get(handlers::issue))
        .route("/api/v1/rooms/{id}/epochs/{number}/submission", post(handlers::submit))
        .route("/api/v1/rooms/{id}/board", get(handlers::board))
        .route("/api/v1/rooms/{id}/archive", get(handlers::archive))
}

/// Any page may ask: without cookies there is nothing that a foreign page could borrow.
pub(crate) fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([header::CONTENT_TYPE, header::AUTHORIZATION])
        .max_age(Duration::from_secs(3600))
}

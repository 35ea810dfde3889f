//! The jobs that have paths of their own: a line each.

use axum::Router;
use ostrakon_node::Service;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;

use crate::decisions;

/// Their paths.
pub(crate) fn routes() -> Router<Service> {
    Router::new().merge(decisions::routes())
}

/// Their descriptions.
pub(crate) fn descriptions() -> [Document; 1] {
    [decisions::Description::openapi()]
}

/// Paths below `/api/v1/` to which a request costs the server proofs to check and a write.
pub(crate) fn costly() -> impl Iterator<Item = &'static str> {
    decisions::COSTLY.into_iter().chain(["jobs/"])
}

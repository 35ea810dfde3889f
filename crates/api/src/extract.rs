//! Extractors that refuse with problem documents.

use axum::extract::{FromRequest, FromRequestParts};
use axum::http::header;
use axum::http::request::Parts;
use ostrakon_node::Service;

use crate::problem::Problem;

/// A JSON body.
#[derive(FromRequest)]
#[from_request(via(axum::Json), rejection(Problem))]
pub(crate) struct Json<T>(pub T);

/// The parameters in a path.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(crate) struct Path<T>(pub T);

/// The parameters after a path.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(crate) struct Query<T>(pub T);

/// Proof that the request bears the administrator's token.
pub(crate) struct Administrator;

impl FromRequestParts<Service> for Administrator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        let header = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.strip_prefix("Bearer ")).ok_or_else(Problem::not_administrator)?;
        if service.is_administrator(token.trim()) { Ok(Self) } else { Err(Problem::not_administrator()) }
    }
}

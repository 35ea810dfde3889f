//! Extractors that refuse with problem documents.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use ostrakon_crypto::Digest;
use ostrakon_node::Creator;
use ostrakon_node::Service;
use serde::de::DeserializeOwned;

use crate::guard::{Origin, Turn};
use crate::problem::Problem;

/// How long the body of a request may take to arrive: it is a few kilobytes.
const BODY_TIME: Duration = Duration::from_secs(10);

/// A JSON body.
pub(crate) struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let body = tokio::time::timeout(BODY_TIME, axum::Json::from_request(request, state));
        let axum::Json(value) = body.await.map_err(late)??;
        Ok(Self(value))
    }
}

/// A binary body, read whole.
pub(crate) struct Binary(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Binary {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let content_type = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        if content_type != Some(b"application/octet-stream") {
            let detail =
                "this takes bytes: send them with `Content-Type: application/octet-stream`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        let body = tokio::time::timeout(BODY_TIME, Bytes::from_request(request, state)).await;
        Ok(Self(body.map_err(late)??))
    }
}

fn late(_: tokio::time::error::Elapsed) -> Problem {
    let detail =
        format!("the body did not arrive within {} seconds; send it again", BODY_TIME.as_secs());
    Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
}

/// The parameters in a path.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(crate) struct Path<T>(pub T);

/// The parameters after a path.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(crate) struct Query<T>(pub T);

/// As whom the request creates rooms: the policy of the server admits it.
pub(crate) struct MayCreate(pub Creator);

impl FromRequestParts<Service> for MayCreate {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        if let Some(elsewhere) = service.elsewhere() {
            return Err(elsewhere.into());
        }
        let origin = parts.extensions.get::<Origin>().and_then(|origin| origin.0);
        let Some(token) = bearer(&parts.headers) else {
            return service.creator(None, origin).map(Self).ok_or_else(Problem::may_not_create);
        };
        let turn = parts.extensions.get::<Turn>();
        if turn.is_some_and(|turn| !turn.may_try_token()) {
            return Err(Problem::too_many_tokens());
        }
        let creator = service.creator(Some(token), origin);
        if creator.is_none() {
            turn.inspect(|turn| turn.tried_wrong_token());
        }
        creator.map(Self).ok_or_else(Problem::may_not_create)
    }
}

/// The token that a request bears.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    header.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim)
}

/// The token of the operator of a server that has one alone, as its digest: how far a wrong one is
/// right takes no time to tell.
#[derive(Clone, Copy)]
pub struct OperatorToken(Digest);

impl OperatorToken {
    /// The token that reads so.
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self(ostrakon_crypto::hash::digest("ostrakon/v1/api/operator's token", token.as_bytes()))
    }

    /// Refuses a request that does not bear it.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let right = bearer(headers).is_some_and(|token| Self::new(token).0 == self.0);
        if right { Ok(()) } else { Err(Problem::not_administrator()) }
    }
}

/// Proof that the request bears the administrator's token.
pub(crate) struct Administrator;

impl FromRequestParts<Service> for Administrator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Self, Problem> {
        if let Some(elsewhere) = service.elsewhere() {
            return Err(elsewhere.into());
        }
        let token = bearer(&parts.headers).ok_or_else(Problem::not_administrator)?;
        let turn = parts.extensions.get::<Turn>();
        // Refused without a look at the token: otherwise the right one could still be found by
        // trying.
        if turn.is_some_and(|turn| !turn.may_try_token()) {
            return Err(Problem::too_many_tokens());
        }
        if service.is_administrator(token) {
            return Ok(Self);
        }
        turn.inspect(|turn| turn.tried_wrong_token());
        Err(Problem::not_administrator())
    }
}

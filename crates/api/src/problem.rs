//! Errors as problem documents (RFC 9457).

use axum::Json;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostrakon_protocol::ServiceError;
use serde::{Deserialize, Serialize};

/// The media type of problem documents.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// The longest body of a request that is read. The largest submission, a row of 4 KiB, needs a
/// third of it.
pub(crate) const BODY_BYTES: usize = 64 << 10;

/// A problem document: why a request was not carried out, and what would help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// Names the kind of problem; always `about:blank`, which says that `status` does.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of problem in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The cause and the remedy, for people.
    pub detail: String,
}

impl Problem {
    /// A problem of this HTTP status; `detail` names the cause and the remedy.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or("Problem").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
        }
    }

    pub(crate) fn no_such_path() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "there is nothing at this path; /api/v1/openapi.json describes what there is",
        )
    }

    pub(crate) fn wrong_method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this path takes other methods; the `allow` header and /api/v1/openapi.json say which",
        )
    }

    pub(crate) fn not_administrator() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "this takes the server's administrator token: send `Authorization: Bearer TOKEN`",
        )
    }
}

impl Problem {
    pub(crate) fn too_many_tokens() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too many wrong tokens came from this address; wait a moment",
        )
    }

    pub(crate) fn may_not_create() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "rooms are created here with a token of the server's operator: send `Authorization: Bearer TOKEN`; a wrong \
             token is refused also where none is needed",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let status = StatusCode::from_u16(error.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, error.to_string())
    }
}

/// A body that was not taken.
fn refused_body(status: StatusCode, text: String) -> Problem {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::new(
            status,
            format!("the body is too large: at most {BODY_BYTES} bytes are taken"),
        );
    }
    Problem::new(status, text)
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        refused_body(rejection.status(), rejection.body_text())
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        refused_body(rejection.status(), rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(_: PathRejection) -> Self {
        Self::no_such_path()
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(StatusCode::BAD_REQUEST, rejection.body_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_error_of_the_service_is_a_problem_document() {
        let text = || "why".to_owned();
        for (error, status) in [
            (ServiceError::NotFound(text()), 404),
            (ServiceError::Conflict(text()), 409),
            (ServiceError::Refused(text()), 422),
            (ServiceError::Forbidden(text()), 403),
            (ServiceError::Elsewhere(text()), 421),
            (ServiceError::TooLarge { limit: 9 }, 413),
            (ServiceError::Busy(text()), 429),
            (ServiceError::Unavailable(text()), 503),
            (ServiceError::Internal, 500),
        ] {
            let detail = error.to_string();
            let response = Problem::from(error).into_response();
            assert_eq!(response.status().as_u16(), status);
            assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
            assert_eq!(
                response.headers().contains_key(header::RETRY_AFTER),
                status == 503 || status == 429
            );
            let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
            let problem: Problem = serde_json::from_slice(&body).unwrap();
            assert_eq!((problem.status, problem.detail), (status, detail));
        }
    }
}

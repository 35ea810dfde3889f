//! The requests about jobs: their paths are alike, and what they hold is the job's.

pub(crate) mod registry;

use axum::extract::State;
use axum::http::StatusCode;
use ostrakon_node::Service;
use ostrakon_protocol::{Accepted, JobView, parse_subject};

use crate::extract::{Binary, Path, Query};
use crate::handlers::{Answer, StatusQuery, seconds};
use crate::problem::Problem;

/// What this server shows of a subject of a job, as soon as its version is above `after`, or after
/// `wait` seconds.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/{subject}", tag = "jobs",
    params(
        ("job" = String, Path, description = "The job's name."),
        ("subject" = String, Path, description = "What it is about: 32 hexadecimal digits."),
        StatusQuery,
    ),
    responses(
        (status = 200, body = JobView),
        (status = 404, description = "No such job, or nothing to show there.", body = Problem),
    ))]
pub(crate) async fn subject(
    State(service): State<Service>,
    Path((job, subject)): Path<(String, String)>,
    Query(query): Query<StatusQuery>,
) -> Answer<JobView> {
    let subject = parse_subject(&subject)?;
    let (after, wait) = (query.after, seconds(query.wait));
    Ok(axum::Json(service.job_view(&job, subject, after, wait).await?))
}

/// Has this server say something of a job: what the request holds, as the job reads it. It is on
/// disk when this answers.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/{subject}", tag = "jobs",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    params(
        ("job" = String, Path, description = "The job's name."),
        ("subject" = String, Path, description = "What it is about: 32 hexadecimal digits."),
    ),
    responses(
        (status = 201, body = Accepted),
        (status = 403, description = "A signature is wrong.", body = Problem),
        (status = 404, description = "No such job.", body = Problem),
        (status = 409, description = "Something else was said before.", body = Problem),
        (status = 422, description = "The job does not take it; the problem says why.", body = Problem),
        (status = 429, description = "Too much is being said.", body = Problem),
    ))]
pub(crate) async fn say(
    State(service): State<Service>,
    Path((job, subject)): Path<(String, String)>,
    Binary(body): Binary,
) -> Result<(StatusCode, axum::Json<Accepted>), Problem> {
    let subject = parse_subject(&subject)?;
    Ok((StatusCode::CREATED, axum::Json(service.job_say(&job, subject, &body).await?)))
}

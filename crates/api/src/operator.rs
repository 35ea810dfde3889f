//! What operators ask of their own server, and tell it. Everything here takes the administrator's
//! token.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use ostrakon_node::Service;
use ostrakon_node::audit::AuditInfo;
use ostrakon_node::evidence::FaultFile;
use ostrakon_node::operator::Overview;
use ostrakon_protocol::parse_room;
use serde::{Deserialize, Serialize};

use crate::extract::{Administrator, Json, Path, Query};
use crate::handlers::Answer;
use crate::log::LogControl;
use crate::problem::Problem;

/// What is logged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogFilter {
    /// A level (`error`, `warn`, `info`, `debug`, `trace`), or levels by part:
    /// `info,ostrakon_net=debug`.
    filter: String,
}

/// Characters of a filter.
const LONGEST_FILTER: usize = 500;

/// The server at a glance: peers, stock, rooms, epochs, disk, clocks, and what needs attention.
#[utoipa::path(get, path = "/api/v1/operator/overview", tag = "operation", security(("administrator" = [])), responses(
    (status = 200, body = Overview),
    (status = 401, description = "The administrator token is missing or wrong.", body = Problem),
    (status = 429, description = "Too many wrong tokens from this address.", body = Problem),
))]
pub(crate) async fn overview(State(service): State<Service>, _: Administrator) -> Answer<Overview> {
    Ok(axum::Json(service.overview().await?))
}

/// What misbehaving servers left behind, each as a file that `ostrakon fault verify` checks.
#[utoipa::path(get, path = "/api/v1/operator/faults", tag = "operation", security(("administrator" = [])), responses(
    (status = 200, body = Vec<FaultFile>),
    (status = 401, description = "The administrator token is missing or wrong.", body = Problem),
    (status = 503, description = "The servers have not set up their session yet.", body = Problem),
))]
pub(crate) async fn faults(
    State(service): State<Service>,
    _: Administrator,
) -> Answer<Vec<FaultFile>> {
    Ok(axum::Json(service.fault_files().await?))
}

/// Deletes a room at this server, for good: it is closed at all servers, and this one shows it no
/// more and erases its messages. What the other servers have is up to their operators.
#[utoipa::path(delete, path = "/api/v1/operator/rooms/{id}", tag = "operation", security(("administrator" = [])),
    params(("id" = String, Path, description = "The room's id.")),
    responses(
        (status = 204, description = "It is deleted."),
        (status = 401, description = "The administrator token is missing or wrong.", body = Problem),
        (status = 404, description = "No such room.", body = Problem),
        (status = 503, description = "The room is open, and cannot be closed now.", body = Problem),
    ))]
pub(crate) async fn delete_room(
    State(service): State<Service>,
    _: Administrator,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let room = parse_room(&id)?;
    service.delete_room(room).await?;
    service.note("delete room", &room.to_hex()).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Parameters of a request for the audit log.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// Only records whose number is below this one.
    before: Option<u64>,
    /// Records at most, up to 500; 100 unless given.
    count: Option<u32>,
}

/// What operators and hosts did at this server, newest first. Never what participants do.
#[utoipa::path(get, path = "/api/v1/operator/audit", tag = "operation", params(AuditQuery),
    security(("administrator" = [])),
    responses(
        (status = 200, body = Vec<AuditInfo>),
        (status = 401, description = "The administrator token is missing or wrong.", body = Problem),
    ))]
pub(crate) async fn audit(
    State(service): State<Service>,
    _: Administrator,
    Query(AuditQuery { before, count }): Query<AuditQuery>,
) -> Answer<Vec<AuditInfo>> {
    Ok(axum::Json(service.audit(before, count.unwrap_or(100)).await?))
}

/// Changes what the server logs, until it is started again.
#[utoipa::path(put, path = "/api/v1/operator/log", tag = "operation", request_body = LogFilter,
    security(("administrator" = [])),
    responses(
        (status = 200, body = LogFilter),
        (status = 401, description = "The administrator token is missing or wrong.", body = Problem),
        (status = 409, description = "This process does not let its log be changed.", body = Problem),
        (status = 422, description = "The filter is not understood.", body = Problem),
    ))]
pub(crate) async fn set_log(
    State(service): State<Service>,
    Extension(log): Extension<Option<LogControl>>,
    _: Administrator,
    Json(wanted): Json<LogFilter>,
) -> Answer<LogFilter> {
    let refuse = |status, why: &str| Err(Problem::new(status, why));
    if wanted.filter.len() > LONGEST_FILTER {
        return refuse(
            StatusCode::UNPROCESSABLE_ENTITY,
            "the filter is too long: at most 500 characters are taken",
        );
    }
    let Some(log) = log else {
        return refuse(
            StatusCode::CONFLICT,
            "this process does not let its log be changed; restart it with another level",
        );
    };
    match log.set(&wanted.filter) {
        Ok(()) => {
            service.note("set log", &wanted.filter).await;
            Ok(axum::Json(wanted))
        }
        Err(why) => refuse(
            StatusCode::UNPROCESSABLE_ENTITY,
            &format!("the filter is not understood: {why}"),
        ),
    }
}

//! One handler for each request.

use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostrakon_node::Creator;
use ostrakon_node::Service;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::{
    Accepted, BoardPage, Issue, IssueRequest, NewRoom, Presence, PresenceAnswer, Readiness,
    RoomInfo, ServersInfo, Status, SubmissionRequest, parse_room,
};
use serde::Deserialize;

use crate::extract::{Administrator, Json, MayCreate, Path, Query};
use crate::guard::{Origin, Turn};
use crate::problem::Problem;
use crate::web::METRICS;

pub(crate) type Answer<T> = Result<axum::Json<T>, Problem>;

/// Parameters of a status request.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatusQuery {
    /// Answer as soon as the version is above this one.
    #[serde(default)]
    pub after: u64,
    /// Seconds to wait for that, at most 25; 0 unless given.
    #[serde(default)]
    pub wait: u32,
}

/// Parameters of a board request.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct BoardQuery {
    /// The index of the first entry asked for; 0 unless given.
    #[serde(default)]
    from: u64,
    /// Seconds to wait for it, at most 25; 0 unless given.
    #[serde(default)]
    wait: u32,
}

pub(crate) fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}

/// The servers of the deployment: their names, addresses and keys.
#[utoipa::path(get, path = "/api/v1/servers", tag = "servers", responses(
    (status = 200, body = ServersInfo),
    (status = 503, description = "The servers have not set up their session yet.", body = Problem),
))]
pub(crate) async fn servers(State(service): State<Service>) -> Answer<ServersInfo> {
    Ok(axum::Json(service.servers().await?))
}

/// A room in the audit log.
fn named(room: &RoomInfo) -> String {
    format!("{} ({})", room.id, room.descriptor.name)
}

/// Creates a room at all servers. `create` in the list of servers says who may; with `anyone`, no
/// token is needed. Asked for once more by the same host's key with the same settings, an open room
/// is not created again: whoever has not got the answer asks again.
#[utoipa::path(post, path = "/api/v1/rooms", tag = "rooms", request_body = NewRoom,
    security(("administrator" = []), ("creation" = []), ()),
    responses(
        (status = 201, body = RoomInfo),
        (status = 401, description = "The token that this server asks for is missing or wrong.", body = Problem),
        (status = 422, description = "A setting is out of range, or beyond this server's quota.", body = Problem),
        (status = 429, description = "There are too many rooms, or too many were created of late.", body = Problem),
    ))]
pub(crate) async fn create_room(
    State(service): State<Service>,
    MayCreate(creator): MayCreate,
    Json(room): Json<NewRoom>,
) -> Result<(StatusCode, axum::Json<RoomInfo>), Problem> {
    let room = service.create_room_as(creator, room).await?;
    if creator == Creator::Administrator {
        service.note("create room", &named(&room)).await;
    }
    Ok((StatusCode::CREATED, axum::Json(room)))
}

/// Every room.
#[utoipa::path(get, path = "/api/v1/rooms", tag = "rooms", security(("administrator" = [])), responses(
    (status = 200, body = Vec<RoomInfo>),
    (status = 401, description = "The administrator token is missing or wrong.", body = Problem),
))]
pub(crate) async fn rooms(
    State(service): State<Service>,
    _: Administrator,
) -> Answer<Vec<RoomInfo>> {
    Ok(axum::Json(service.rooms().await?))
}

/// One room.
#[utoipa::path(get, path = "/api/v1/rooms/{id}", tag = "rooms",
    params(("id" = String, Path, description = "The room's id: 32 hexadecimal digits.")),
    responses((status = 200, body = RoomInfo), (status = 404, description = "No such room.", body = Problem)))]
pub(crate) async fn room(
    State(service): State<Service>,
    Path(id): Path<String>,
) -> Answer<RoomInfo> {
    Ok(axum::Json(service.room(parse_room(&id)?).await?))
}

/// Closes a room for good. Its board remains.
#[utoipa::path(delete, path = "/api/v1/rooms/{id}", tag = "rooms", security(("administrator" = [])),
    params(("id" = String, Path, description = "The room's id.")),
    responses(
        (status = 200, body = RoomInfo),
        (status = 401, description = "The administrator token is missing or wrong.", body = Problem),
        (status = 404, description = "No such room.", body = Problem),
    ))]
pub(crate) async fn close_room(
    State(service): State<Service>,
    _: Administrator,
    Path(id): Path<String>,
) -> Answer<RoomInfo> {
    let room = service.close_room(parse_room(&id)?).await?;
    service.note("close room", &named(&room)).await;
    Ok(axum::Json(room))
}

/// A participant says that it is there; to be repeated within half a minute.
#[utoipa::path(post, path = "/api/v1/rooms/{id}/presence", tag = "taking part", request_body = Presence,
    params(("id" = String, Path, description = "The room's id.")),
    responses(
        (status = 200, body = PresenceAnswer),
        (status = 403, description = "The signature or the time is wrong, or the room is for members.", body = Problem),
        (status = 404, description = "No such room.", body = Problem),
        (status = 409, description = "The room is closed.", body = Problem),
        (status = 429, description = "The room is full, or a limit is reached.", body = Problem),
    ))]
pub(crate) async fn presence(
    State(service): State<Service>,
    Extension(Origin(origin)): Extension<Origin>,
    Path(id): Path<String>,
    Json(presence): Json<Presence>,
) -> Answer<PresenceAnswer> {
    Ok(axum::Json(service.presence_from(parse_room(&id)?, presence, origin).await?))
}

/// How the room stands, as soon as its version is above `after`, or after `wait` seconds.
#[utoipa::path(get, path = "/api/v1/rooms/{id}/status", tag = "taking part",
    params(("id" = String, Path, description = "The room's id."), StatusQuery),
    responses((status = 200, body = Status), (status = 404, description = "No such room.", body = Problem)))]
pub(crate) async fn status(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<StatusQuery>,
) -> Answer<Status> {
    Ok(axum::Json(service.status(parse_room(&id)?, query.after, seconds(query.wait)).await?))
}

/// What this server gives the owner of a slot, closed so that nobody else can read it.
#[utoipa::path(get, path = "/api/v1/rooms/{id}/epochs/{number}/issue", tag = "taking part",
    params(
        ("id" = String, Path, description = "The room's id."),
        ("number" = u64, Path, description = "The epoch."),
        ("key" = String, Query, description = "The participant's key, hexadecimal."),
        ("exchange" = String, Query, description = "The participant's exchange key for this issue, hexadecimal."),
        ("signature" = String, Query, description = "By the key, on room, epoch, party and exchange key; hexadecimal."),
    ),
    responses(
        (status = 200, body = Issue),
        (status = 403, description = "The signature is wrong.", body = Problem),
        (status = 404, description = "The key has no slot yet: ask again.", body = Problem),
        (status = 409, description = "The epoch is closed.", body = Problem),
    ))]
pub(crate) async fn issue(
    State(service): State<Service>,
    Path((id, number)): Path<(String, u64)>,
    Query(request): Query<IssueRequest>,
) -> Answer<Issue> {
    Ok(axum::Json(service.issue(parse_room(&id)?, number, request).await?))
}

/// Takes a participant's submission; it is on disk when this answers. To be sent to every server in
/// the same bytes.
#[utoipa::path(post, path = "/api/v1/rooms/{id}/epochs/{number}/submission", tag = "taking part",
    request_body = SubmissionRequest,
    params(
        ("id" = String, Path, description = "The room's id."),
        ("number" = u64, Path, description = "The epoch."),
    ),
    responses(
        (status = 202, body = Accepted),
        (status = 404, description = "The key does not own the slot.", body = Problem),
        (status = 409, description = "The epoch is closed, or holds another submission for the slot.", body = Problem),
        (status = 413, description = "More bytes than the room admits.", body = Problem),
        (status = 422, description = "The submission is not acceptable.", body = Problem),
    ))]
pub(crate) async fn submit(
    State(service): State<Service>,
    Path((id, number)): Path<(String, u64)>,
    Json(request): Json<SubmissionRequest>,
) -> Result<(StatusCode, axum::Json<Accepted>), Problem> {
    Ok((StatusCode::ACCEPTED, axum::Json(service.submit(parse_room(&id)?, number, request).await?)))
}

/// The board's entries from index `from` on, as soon as there is one, or after `wait` seconds.
#[utoipa::path(get, path = "/api/v1/rooms/{id}/board", tag = "board",
    params(("id" = String, Path, description = "The room's id."), BoardQuery),
    responses((status = 200, body = BoardPage), (status = 404, description = "No such room.", body = Problem)))]
pub(crate) async fn board(
    State(service): State<Service>,
    Extension(turn): Extension<Turn>,
    Path(id): Path<String>,
    Query(query): Query<BoardQuery>,
) -> Result<Response, Problem> {
    let room = parse_room(&id)?;
    service.board_reaches(room, query.from, seconds(query.wait)).await?;
    // Who only waits does not keep others from having their answers made.
    let page = async {
        Ok(axum::Json(service.board(room, query.from, Duration::ZERO).await?).into_response())
    };
    turn.make(page).await
}

/// The whole board as a file that `ostrakon verify` checks.
#[utoipa::path(get, path = "/api/v1/rooms/{id}/archive", tag = "board",
    params(("id" = String, Path, description = "The room's id.")),
    responses(
        (status = 200, body = String, content_type = "application/json"),
        (status = 404, description = "No such room.", body = Problem),
    ))]
pub(crate) async fn archive(
    State(service): State<Service>,
    Extension(turn): Extension<Turn>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let answer = async {
        let archive = service.archive(parse_room(&id)?)?;
        let pieces = futures::stream::try_unfold(archive, |mut archive| async {
            Ok::<_, ServiceError>(archive.next().await?.map(|piece| (piece, archive)))
        });
        let disposition = "attachment; filename=\"board.json\"";
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::CONTENT_DISPOSITION, disposition),
        ];
        Ok((headers, Body::from_stream(pieces)).into_response())
    };
    turn.make(answer).await
}

/// The process runs.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, body = String)))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// The server can do its work.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses(
    (status = 200, body = Readiness),
    (status = 503, description = "It cannot; the answer says what is missing.", body = Readiness),
))]
pub(crate) async fn readyz(State(service): State<Service>) -> (StatusCode, axum::Json<Readiness>) {
    let readiness = service.readiness();
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, axum::Json(readiness))
}

/// Coarse counters and levels, as Prometheus reads them.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, body = String)))]
pub(crate) async fn metrics(State(service): State<Service>) -> Response {
    ([(header::CONTENT_TYPE, METRICS)], service.metrics()).into_response()
}

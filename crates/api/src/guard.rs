//! What one client, one room, and all together may ask: the limits of the configuration, as a layer
//! around all paths.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Query, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use ostrakon_mixing::RoomId;
use ostrakon_node::Service;
use ostrakon_node::config::Limits;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::client::Client;
use crate::counts::{Counted, Rates, Tally};
use crate::problem::Problem;

/// Answers that are made at a time out of what may be much on the disk; more wait for their turn.
const MAKING: usize = 8;
/// An answer of more bytes counts as large for as long as it is being sent.
const LARGE: usize = 64 << 10;
/// Large answers that are being sent at a time, in all and to one client.
const LARGE_ANSWERS: (u32, u32) = (32, 8);
/// A room admits so many requests a second, however small and slow it is.
const LEAST_RATE: f64 = 20.0;

/// Requests about jobs a second that cost the server proofs to check and a write, from one address.
const WORKING: f64 = 50.0;

/// Wrong tokens a second that one client may try; ten times as many at once.
const WRONG_TOKENS: f64 = 1.0;

/// Counts what clients do.
pub(crate) struct Guard {
    limits: Limits,
    /// Whose rooms have limits of their own, where there are rooms.
    rooms: Option<Service>,
    /// Paths below `/api/v1/` to which a request costs proofs to check and a write.
    costly: Vec<&'static str>,
    /// Makes numbers of addresses that mean nothing outside this process.
    origins: RandomState,
    requests: Rates<Client>,
    working: Rates<Client>,
    in_rooms: Rates<RoomId>,
    in_rooms_by_client: Rates<(Client, RoomId)>,
    wrong_tokens: Rates<Client>,
    waiting: Arc<Tally>,
    making: Semaphore,
    large: Arc<Tally>,
}

/// A number that stands for the client's address; `None` for the machine itself.
#[derive(Clone, Copy)]
pub(crate) struct Origin(pub Option<u64>);

/// Permission for this client to have large answers, and to try tokens.
#[derive(Clone)]
pub(crate) struct Turn {
    guard: Arc<Guard>,
    client: Client,
}

fn too_many(detail: &str) -> Response {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).into_response()
}

impl Guard {
    /// Of a server with rooms, and with these paths below `/api/v1/` to which a request costs
    /// proofs to check and a write.
    pub fn new(service: Service, costly: Vec<&'static str>) -> Arc<Self> {
        Self::with(service.config().limits, Some(service), costly)
    }

    /// Of a server that has none.
    pub fn without_rooms(limits: Limits) -> Arc<Self> {
        Self::with(limits, None, Vec::new())
    }

    fn with(limits: Limits, rooms: Option<Service>, costly: Vec<&'static str>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            rooms,
            costly,
            origins: RandomState::new(),
            requests: Rates::new(),
            working: Rates::new(),
            in_rooms: Rates::new(),
            in_rooms_by_client: Rates::new(),
            wrong_tokens: Rates::new(),
            waiting: Tally::new(limits.waiting, limits.waiting_per_address),
            making: Semaphore::new(MAKING),
            large: Tally::new(LARGE_ANSWERS.0, LARGE_ANSWERS.1),
        })
    }

    /// Whether a request costs the server proofs to check and a write.
    fn is_costly(&self, request: &Request) -> bool {
        let path = request.uri().path().strip_prefix("/api/v1/");
        let costs = |path: &str| self.costly.iter().any(|costly| path.starts_with(costly));
        request.method() == Method::POST && path.is_some_and(costs)
    }

    /// Whose request it is.
    fn client(&self, request: &Request) -> Client {
        // Without a connection the request comes from within the process.
        let peer = request.extensions().get().copied().unwrap_or(Client::Local);
        if self.limits.behind_proxy { peer.forwarded(request.headers()) } else { peer }
    }

    fn admits(&self, client: Client, request: &Request) -> Result<(), &'static str> {
        let now = Instant::now();
        let by_address = f64::from(self.limits.requests_per_address);
        if client != Client::Local && !self.requests.take(client, by_address, now) {
            return Err("too many requests from this address; wait a moment");
        }
        let costly = self.is_costly(request) && client != Client::Local;
        if costly && !self.working.take(client, WORKING, now) {
            return Err("too many keys, records and words from this address; wait a moment");
        }
        let Some(room) = taken_part_in(request) else { return Ok(()) };
        let size = self.rooms.as_ref().and_then(|service| service.room_size(&room));
        let Some((capacity, seconds)) = size else { return Ok(()) };
        let rate = f64::from(self.limits.requests_per_slot) * f64::from(capacity)
            / f64::from(seconds.max(1));
        let rate = rate.max(LEAST_RATE);
        // Half of a room's rate is what all its participants need. So one client alone neither
        // exhausts it, nor lacks any.
        if client != Client::Local && !self.in_rooms_by_client.take((client, room), rate / 2.0, now)
        {
            return Err("too many requests from this address in this room; wait a moment");
        }
        if !self.in_rooms.take(room, rate, now) {
            return Err("too many requests in this room; wait a moment");
        }
        Ok(())
    }
}

/// Whether a request's path names something of the interface in another spelling. Nothing there
/// needs one, and what is counted by its path must not go by two names.
fn is_disguised(request: &Request) -> bool {
    let path = request.uri().path();
    path.starts_with("/api/v1/rooms/") && path.contains('%')
}

/// The room that the request takes part in, if it is one that costs the server a signature's check
/// or a write.
fn taken_part_in(request: &Request) -> Option<RoomId> {
    let (room, rest) = request.uri().path().strip_prefix("/api/v1/rooms/")?.split_once('/')?;
    let costs = request.method() == Method::POST || rest.ends_with("/issue");
    if costs { RoomId::from_hex(room) } else { None }
}

/// The one parameter that is counted.
#[derive(serde::Deserialize)]
struct Wait {
    #[serde(default)]
    wait: u32,
}

/// Whether a request asks to wait, read as the handlers read it. What cannot be read so, they
/// refuse.
fn waits(request: &Request) -> bool {
    Query::<Wait>::try_from_uri(request.uri()).is_ok_and(|Query(Wait { wait })| wait > 0)
}

/// The layer: refuses what is too much, and counts the rest.
pub(crate) async fn limit(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    if is_disguised(&request) {
        return Problem::no_such_path().into_response();
    }
    let client = guard.client(&request);
    if let Err(detail) = guard.admits(client, &request) {
        return too_many(detail);
    }
    let _waiting = match waits(&request).then(|| guard.waiting.enter(client)) {
        Some(None) => {
            return too_many(
                "too many requests wait for news here; ask again later, or without `wait`",
            );
        }
        counted => counted.flatten(),
    };
    let origin = match client {
        Client::Local => None,
        client => Some(guard.origins.hash_one(client)),
    };
    request.extensions_mut().insert(Origin(origin));
    request.extensions_mut().insert(Turn { guard, client });
    next.run(request).await
}

impl Turn {
    /// Whether a client may try another token, after the wrong ones that it tried.
    pub fn may_try_token(&self) -> bool {
        self.client == Client::Local
            || !self.guard.wrong_tokens.exhausted(&self.client, Instant::now())
    }

    /// Notes that a client tried a wrong token.
    pub fn tried_wrong_token(&self) {
        if self.client != Client::Local {
            self.guard.wrong_tokens.take(self.client, WRONG_TOKENS, Instant::now());
        }
    }

    /// Makes an answer that may be large when it is its turn, and counts it until it is sent.
    pub async fn make(
        self,
        answer: impl Future<Output = Result<Response, Problem>>,
    ) -> Result<Response, Problem> {
        let _turn = self.guard.making.acquire().await.expect("the semaphore is never closed");
        let response = answer.await?;
        if response.body().size_hint().exact().is_some_and(|bytes| bytes <= LARGE as u64) {
            return Ok(response);
        }
        let refused = || {
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many large answers are being sent; try again in a moment",
            )
        };
        let counted = self.guard.large.enter(self.client).ok_or_else(refused)?;
        Ok(response.map(|body| Body::new(Held { body, _counted: counted })))
    }
}

/// A body that is counted until it is sent, or nobody wants it any more.
struct Held {
    body: Body,
    _counted: Counted,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, uri: &str) -> Request {
        Request::builder().method(method).uri(uri).body(Body::empty()).unwrap()
    }

    #[test]
    fn whoever_waits_is_counted_however_it_is_spelt() {
        for waiting in
            ["wait=25", "after=1&wait=1", "%77ait=25", "w%61it=7", "wait=%32", "wait=%2B1"]
        {
            assert!(waits(&request(Method::GET, &format!("/status?{waiting}"))), "{waiting}");
        }
        for other in ["", "wait=0", "await=5", "wait=x", "wait=1&wait=2"] {
            assert!(!waits(&request(Method::GET, &format!("/status?{other}"))), "{other}");
        }
    }

    #[test]
    fn a_room_goes_by_one_name() {
        let room = "0123456789abcdef0123456789abcdef";
        let plain = format!("/api/v1/rooms/{room}/presence");
        assert_eq!(taken_part_in(&request(Method::POST, &plain)), RoomId::from_hex(room));
        assert!(!is_disguised(&request(Method::POST, &plain)));
        for path in [
            plain.replace("abc", "%61bc"),
            plain.replace("rooms/0", "rooms/%30"),
            plain.replace("pres", "%70res"),
        ] {
            assert!(is_disguised(&request(Method::POST, &path)), "{path}");
        }
    }
}

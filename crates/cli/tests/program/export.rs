//! Boards of many pages, as `export` and `watch --once` read them from servers that fail, lag or
//! lie.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{complaint, json};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use futures::stream;
use ostrakon_broadcast::board::{Published, SALT};
use ostrakon_broadcast::{Archive, Entry, SignedEntry};
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_mixing::link::Link;
use ostrakon_mixing::{EpochId, RoomDescriptor, Servers};
use ostrakon_party::{PartyId, SessionId};
use ostrakon_protocol::{BoardPage, Create, RoomInfo, RoomLimits, ServerInfo, ServersInfo, Status};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Entries of a page. Real servers give more.
const PAGE: usize = 4;

/// A board of so many entries, some messages of which were erased.
fn board(length: u64) -> Archive {
    let keys: Vec<_> = (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
    let keys_shown = keys.iter().map(SigningKey::verifying_key).collect();
    let servers = Servers { session: SessionId(Digest([9; 32])), keys: keys_shown };
    let room = RoomDescriptor::new("Many pages");
    let mut archive = Archive { servers, room, entries: Vec::new(), head: Digest([0; 32]) };
    for number in 0..length {
        let kept = |text: &str| Published::Kept {
            salt: [7; SALT],
            body: format!("{text} {number}").into_bytes(),
        };
        let messages = vec![kept("said"), kept("erased").erased()];
        let epoch = EpochId { room: archive.room.id(), number: 2 * number };
        let entry = Entry { epoch, previous: archive.head, accepted: 6, messages };
        archive.head = entry.digest(&archive.servers);
        // Not always the same two sign first.
        let signers = if number % 2 == 0 { [0, 1] } else { [1, 2] };
        let sign =
            |party: u8| (PartyId(party), entry.sign(&archive.servers, &keys[usize::from(party)]));
        archive.entries.push(SignedEntry { signatures: signers.map(sign).to_vec(), entry });
    }
    archive
}

/// A server that shows a board, in its own way.
struct Server {
    info: ServersInfo,
    room: RoomDescriptor,
    entries: Vec<SignedEntry>,
    /// How often it answers with a page before its answers break off.
    life: AtomicUsize,
}

type Shown = State<Arc<Server>>;

impl Server {
    async fn board(State(server): Shown, Query(query): Query<HashMap<String, usize>>) -> Response {
        let lives = server
            .life
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |life| life.checked_sub(1));
        let rest = server.entries.get(query["from"]..).unwrap_or_default();
        let page = BoardPage { entries: rest.iter().take(PAGE).cloned().collect() };
        if lives.is_ok() {
            return Json(page).into_response();
        }
        let broken =
            [Ok(Bytes::from_static(b"{\"entries\":[")), Err(std::io::Error::other("it dies"))];
        Body::from_stream(stream::iter(broken)).into_response()
    }

    async fn status(State(server): Shown) -> Json<Status> {
        Json(Status {
            version: 1,
            epoch: None,
            mixing: Vec::new(),
            last: None,
            may_have_opened: Vec::new(),
            minimum: 3,
            present: vec![0; 3],
            places: vec![0; 3],
            board_length: server.entries.len() as u64,
            actions: 0,
            stock: 0,
            peers: Vec::new(),
            overdue: None,
            context: None,
        })
    }
}

/// Three servers of which each shows so many entries and breaks after so many pages. Gone when
/// dropped.
struct Deployment {
    link: Link,
    _tasks: JoinSet<()>,
}

impl Deployment {
    async fn start(board: &Archive, shown: [Vec<SignedEntry>; 3], lives: [usize; 3]) -> Self {
        let mut listeners = Vec::new();
        for _ in 0..3 {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let url = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let server = |(party, listener)| {
            let key: &ostrakon_crypto::VerifyingKey = &board.servers.keys[usize::from(party)];
            ServerInfo { party, name: String::new(), url: url(listener), key: key.to_hex() }
        };
        let info = ServersInfo {
            you: 0,
            session: board.servers.session.0.to_hex(),
            digest: board.servers.digest().to_hex(),
            servers: (0..).zip(&listeners).map(server).collect(),
            version: String::new(),
            create: Create::default(),
            limits: RoomLimits {
                payload: [32, 4096],
                capacity: [3, 9],
                seconds: [1, 9],
                retention_days: None,
            },
            mail: false,
        };
        let origin = url(&listeners[0]);
        let link = Link {
            origin,
            room: board.room.id(),
            servers: board.servers.digest(),
            invitation: None,
        };
        let mut tasks = JoinSet::new();
        for (you, ((listener, entries), life)) in
            (0..).zip(listeners.into_iter().zip(shown).zip(lives))
        {
            let (info, room) = (ServersInfo { you, ..info.clone() }, board.room.clone());
            let server = Arc::new(Server { info, room, entries, life: life.into() });
            tasks.spawn(async move { axum::serve(listener, router(server)).await.unwrap() });
        }
        Self { link, _tasks: tasks }
    }

    /// Exports the board, and checks that there is nothing beside the file.
    fn exported(&self, directory: &Path) -> String {
        let (file, link) = (directory.join("board.json"), self.link.to_string());
        let name = file.to_str().unwrap();
        let written = json(&["export", &link, "--output", name, "--json"]).remove(0);
        let checked = json(&["verify", name, "--link", &link, "--json"]).remove(0);
        assert_eq!(
            (&checked["entries"], &checked["head"]),
            (&written["entries"], &written["head"])
        );
        assert_eq!(files(directory), ["board.json"]);
        std::fs::read_to_string(file).unwrap()
    }
}

fn router(server: Arc<Server>) -> Router {
    let room = format!("/api/v1/rooms/{}", server.room.id().to_hex());
    Router::new()
        .route("/api/v1/servers", get(async |State(server): Shown| Json(server.info.clone())))
        .route(&room, get(async |State(server): Shown| Json(RoomInfo::of(&server.room, true))))
        .route(&format!("{room}/status"), get(Server::status))
        .route(&format!("{room}/board"), get(Server::board))
        // The whole board in one answer takes longer than anybody waits.
        .route(
            &format!("{room}/archive"),
            get(async || Body::from_stream(stream::pending::<std::io::Result<Bytes>>())),
        )
        .with_state(server)
}

fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Nobody dies.
const LIVES: [usize; 3] = [usize::MAX; 3];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_is_read_on_at_another_server_when_one_dies_between_pages() {
    let directory = tempfile::tempdir().unwrap();
    let whole = board(23);
    // The first dies, the second lacks the end.
    let shown = [whole.entries.clone(), whole.entries[..18].to_vec(), whole.entries.clone()];
    let export = Deployment::start(&whole, shown.clone(), [2, usize::MAX, usize::MAX]).await;
    assert_eq!(export.exported(directory.path()), whole.to_text());

    let watch = Deployment::start(&whole, shown, [2, usize::MAX, usize::MAX]).await;
    let printed = json(&["watch", &watch.link.to_string(), "--once", "--json"]);
    let epochs: Vec<_> = printed.iter().map(|entry| entry["epoch"].as_u64().unwrap()).collect();
    assert_eq!(epochs, (0..23).map(|number| 2 * number).collect::<Vec<_>>());
    for (number, entry) in printed.iter().enumerate() {
        assert_eq!(entry["messages"], serde_json::json!([format!("said {number}")]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_server_alone_has_is_exported_too() {
    let directory = tempfile::tempdir().unwrap();
    let whole = board(2 * PAGE as u64 + 1);
    let lagging = whole.entries[..PAGE].to_vec();
    let shown = [lagging.clone(), Vec::new(), whole.entries.clone()];
    let deployment = Deployment::start(&whole, shown, LIVES).await;
    assert_eq!(deployment.exported(directory.path()), whole.to_text());
    let empty = board(0);
    let deployment = Deployment::start(&empty, Default::default(), LIVES).await;
    assert_eq!(deployment.exported(directory.path()), empty.to_text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_signatures_are_those_of_the_server_that_has_most() {
    let directory = tempfile::tempdir().unwrap();
    let whole = board(11);
    let keys: Vec<_> = (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
    let mut lagging = whole.entries[..9].to_vec();
    for signed in &mut lagging {
        let sign = |party: u8| {
            (PartyId(party), signed.entry.sign(&whole.servers, &keys[usize::from(party)]))
        };
        signed.signatures = (0..3).map(sign).collect();
    }
    let shown = [lagging, whole.entries.clone(), whole.entries[..10].to_vec()];
    let deployment = Deployment::start(&whole, shown, LIVES).await;
    assert_eq!(deployment.exported(directory.path()), whole.to_text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forges_a_page_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let whole = board(13);
    let mut forged = board(14).entries;
    forged[6].entry.messages[0] = Published::Kept { salt: [7; SALT], body: b"never said".to_vec() };
    let shown = [forged.clone(), whole.entries.clone(), Vec::new()];
    let deployment = Deployment::start(&whole, shown, LIVES).await;
    assert_eq!(deployment.exported(directory.path()), whole.to_text());

    let alone = Deployment::start(&whole, [forged.clone(), forged.clone(), forged], LIVES).await;
    let file = directory.path().join("other.json");
    let (file, link) = (file.to_str().unwrap(), alone.link.to_string());
    let complaint = complaint(&["export", &link, "--output", file], 3);
    assert!(complaint.contains("not authentic: entry 6 "), "{complaint}");
    assert_eq!(files(directory.path()), ["board.json"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_whose_end_nobody_shows_is_not_exported() {
    let directory = tempfile::tempdir().unwrap();
    let whole = board(9);
    let shown = [whole.entries.clone(), whole.entries.clone(), whole.entries.clone()];
    let deployment = Deployment::start(&whole, shown, [1, 1, 0]).await;
    let file = crate::common::file(directory.path(), "board.json", "an older one");
    let link = deployment.link.to_string();
    let complaint = complaint(&["export", &link, "--output", file.to_str().unwrap()], 4);
    assert!(complaint.contains("does not answer"), "{complaint}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "an older one");
    assert_eq!(files(directory.path()), ["board.json"]);
}

//! Requests to a server that has not found the others yet: what the HTTP layer itself decides.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use futures::future::BoxFuture;
use ostrakon_api::{LogControl, Options, Problem, router};
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_mixing::engine::Journal;
use ostrakon_node::config::{Config, ServerConfig};
use ostrakon_node::{EngineProvider, Engines, Service, SetUp, ThreeServers, Trusts};
use ostrakon_party::{Party, SessionId};
use ostrakon_protocol::Create;
use tower::ServiceExt;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const ROOM: &str = "/api/v1/rooms/00112233445566778899aabbccddeeff";

/// The set-up waits for servers that never come.
struct Lonely;

impl EngineProvider for Lonely {
    fn trusts(&self, parties: usize) -> Result<Trusts, String> {
        ThreeServers.trusts(parties)
    }
    fn setup_session(&self, _: &[VerifyingKey]) -> SessionId {
        SessionId(Digest([1; 32]))
    }
    fn set_up(
        &self,
        _: Party,
        _: [u8; 32],
        _: Arc<dyn Journal>,
    ) -> BoxFuture<'static, Result<SetUp, String>> {
        Box::pin(std::future::pending())
    }
    fn engines(&self, _: &Party, _: &[u8]) -> Result<Engines, String> {
        Err("there has been no set-up".to_owned())
    }
}

/// A server and the directory that it needs.
async fn server() -> (Router, Service, tempfile::TempDir) {
    server_with(&Options::default(), |_| {}).await
}

/// The same, with other options and settings.
async fn server_with(
    options: &Options,
    change: fn(&mut Config),
) -> (Router, Service, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let card = |n: u8| ServerConfig {
        name: format!("server {n}"),
        url: format!("http://127.0.0.1:{n}"),
        address: format!("127.0.0.1:{n}"),
        key: SigningKey::from_seed(&[n; 32]).verifying_key(),
    };
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut config = Config {
        data: directory.path().join("data"),
        identity_file: file("identity.key", &"01".repeat(32)),
        admin_token_file: file("admin.token", TOKEN),
        ..Config::new(0, any, any, (1..=3).map(card).collect())
    };
    change(&mut config);
    let service = Service::start(config, Arc::new(Lonely)).await.unwrap();
    (router(service.clone(), options), service, directory)
}

fn request(method: Method, path: &str, token: Option<&str>, body: &str) -> Request<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json");
    let request = match token {
        Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
        None => request,
    };
    request.body(Body::from(body.to_owned())).unwrap()
}

async fn problem(router: &Router, request: Request<Body>) -> Problem {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    assert_eq!(response.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    assert!(response.headers().contains_key(header::CONTENT_SECURITY_POLICY));
    let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
    let problem: Problem = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem.status, status.as_u16());
    assert!(!problem.detail.is_empty());
    problem
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_is_a_problem_document_with_its_status() {
    let (router, service, _directory) = server().await;
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(70_000));
    let wrong = TOKEN.replace('0', "1");
    let presence = format!("{ROOM}/presence");
    for (method, path, token, body, status) in [
        (Method::POST, "/api/v1/rooms", Some(TOKEN), "{", 400),
        (Method::POST, "/api/v1/rooms", Some(TOKEN), "{}", 422),
        (Method::POST, "/api/v1/rooms", Some(TOKEN), "{\"name\":\"a\",\"unknown\":1}", 422),
        (Method::POST, "/api/v1/rooms", Some(TOKEN), large.as_str(), 413),
        (Method::POST, "/api/v1/rooms", Some(TOKEN), "{\"name\":\"a\"}", 503),
        (Method::POST, "/api/v1/rooms", Some(wrong.as_str()), "{\"name\":\"a\"}", 401),
        (Method::POST, "/api/v1/rooms", None, "{\"name\":\"a\"}", 401),
        (Method::GET, "/api/v1/rooms", Some(""), "", 401),
        (Method::DELETE, ROOM, None, "", 401),
        (Method::PUT, ROOM, None, "", 405),
        (Method::GET, presence.as_str(), None, "", 405),
        (Method::POST, presence.as_str(), None, "{\"key\":\"AA\"}", 422),
        (Method::GET, "/api/v1/rooms/xyz/status", None, "", 404),
        (Method::GET, "/api/v1/operator/overview", None, "", 401),
        (Method::GET, "/api/v1/operator/overview", Some(wrong.as_str()), "", 401),
        (Method::GET, "/api/v1/operator/audit", None, "", 401),
        (Method::GET, "/api/v1/operator/faults", Some(TOKEN), "", 503),
        (Method::PUT, "/api/v1/operator/log", None, "{\"filter\":\"info\"}", 401),
        (Method::PUT, "/api/v1/operator/log", Some(TOKEN), "{\"filter\":\"info\"}", 409),
        (Method::GET, "/api/v1/servers", None, "", 503),
        (Method::GET, "/api/v1/nothing", None, "", 404),
        (Method::GET, "/nothing", None, "", 404),
    ] {
        let what = format!("{method} {path} {token:?} {}", &body[..body.len().min(40)]);
        assert_eq!(
            problem(&router, request(method, path, token, body)).await.status,
            status,
            "{what}"
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_must_be_json_and_waits_are_numbers() {
    let (router, service, _directory) = server().await;
    let text = Request::post(format!("{ROOM}/presence")).body(Body::from("{}")).unwrap();
    assert_eq!(problem(&router, text).await.status, 415);
    let wait = request(Method::GET, &format!("{ROOM}/status?wait=-1"), None, "");
    assert_eq!(problem(&router, wait).await.status, 400);
    let epoch =
        request(Method::GET, &format!("{ROOM}/epochs/-1/issue?key=a&signature=b"), None, "");
    assert_eq!(problem(&router, epoch).await.status, 404);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_signed_for_decisions_travels_as_bytes_within_limits() {
    let (router, service, _directory) = server().await;
    let account = format!("/api/v1/accounts/{}/keys", "ab".repeat(32));
    let records = format!("/api/v1/decisions/{}/records", "cd".repeat(16));
    let bytes = |path: &str, kind: &str, length: usize| {
        let request = Request::post(path).header(header::CONTENT_TYPE, kind);
        let request = request.header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
        request.body(Body::from(vec![0xff; length])).unwrap()
    };
    for path in [
        "/api/v1/shares",
        account.as_str(),
        "/api/v1/layers",
        "/api/v1/decisions",
        records.as_str(),
    ] {
        for (kind, length, status) in [
            ("application/json", 2, 415),
            ("application/octet-stream", 65 << 10, 413),
            ("application/octet-stream", 300, 503),
        ] {
            assert_eq!(
                problem(&router, bytes(path, kind, length)).await.status,
                status,
                "{path} {kind} {length}"
            );
        }
    }
    let stock = format!("/api/v1/accounts/xyz?time=0&signature={}", "0".repeat(128));
    for (method, path, body, status) in [
        (Method::GET, stock.as_str(), "", 404),
        (Method::GET, "/api/v1/decisions/xyz", "", 404),
        (Method::GET, "/api/v1/decisions/xyz/records", "", 404),
        (Method::GET, &format!("{records}?from=-1"), "", 400),
        (Method::GET, &records, "", 503),
        (Method::GET, "/api/v1/helper", "", 503),
        (Method::POST, "/api/v1/decisions/xyz/mail", "{}", 422),
        (Method::PUT, "/api/v1/layers", "", 405),
    ] {
        assert_eq!(
            problem(&router, request(method, path, None, body)).await.status,
            status,
            "{path}"
        );
    }
    let uninvited =
        Request::post("/api/v1/decisions").header(header::CONTENT_TYPE, "application/octet-stream");
    assert_eq!(problem(&router, uninvited.body(Body::from("x")).unwrap()).await.status, 401);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_the_others_is_healthy_but_not_ready() {
    let (router, service, _directory) = server().await;
    let ask = async |path: &str| {
        let response = router.clone().oneshot(request(Method::GET, path, None, "")).await.unwrap();
        let status = response.status();
        (
            status,
            String::from_utf8(to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec())
                .unwrap(),
        )
    };
    assert_eq!(ask("/healthz").await.0, StatusCode::OK);
    let (status, body) = ask("/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let readiness: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(readiness["ready"], false);
    assert_eq!(readiness["missing"], serde_json::json!(["server 2", "server 3"]));
    assert_eq!(ask("/metrics").await.0, StatusCode::OK);
    assert_eq!(ask("/api/v1/openapi.json").await.0, StatusCode::OK);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_sees_a_server_that_still_waits_and_changes_its_log() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    let set_log = move |filter: &str| match filter {
        "nonsense=" => Err("no level".to_owned()),
        filter => {
            hearing.lock().unwrap().push(filter.to_owned());
            Ok(())
        }
    };
    let options = Options { log: Some(LogControl::new(set_log)), ..Options::default() };
    let (router, service, _directory) = server_with(&options, |_| {}).await;
    let asked = request(Method::GET, "/api/v1/operator/overview", Some(TOKEN), "");
    let response = router.clone().oneshot(asked).await.unwrap();
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let overview: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&overview["ready"], &overview["peers"][1]["reach"]),
        (&false.into(), &"none".into())
    );
    assert_eq!(overview["warnings"][0]["kind"], "unreachable");
    let set = async |filter: &str| {
        let body = serde_json::json!({ "filter": filter }).to_string();
        let response = router
            .clone()
            .oneshot(request(Method::PUT, "/api/v1/operator/log", Some(TOKEN), &body))
            .await;
        response.unwrap().status().as_u16()
    };
    assert_eq!(
        (set("info,ostrakon_net=debug").await, set("nonsense=").await, set(&"x".repeat(501)).await),
        (200, 422, 422)
    );
    assert_eq!(*heard.lock().unwrap(), ["info,ostrakon_net=debug"]);
    let asked = request(Method::GET, "/api/v1/operator/audit?count=1", Some(TOKEN), "");
    let response = router.clone().oneshot(asked).await.unwrap();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let audit: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(audit.as_array().map(Vec::len), Some(1), "{audit}");
    assert_eq!((&audit[0]["action"], &audit[0]["actor"]), (&"set log".into(), &"operator".into()));
    assert_eq!(audit[0]["detail"], "info,ostrakon_net=debug");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_tries_tokens_is_stopped_and_nobody_else() {
    let behind_proxy = |config: &mut Config| config.limits.behind_proxy = true;
    let (router, service, _directory) = server_with(&Options::default(), behind_proxy).await;
    let ask = async |address: &str, token: &str| {
        let mut asked = request(Method::GET, "/api/v1/operator/overview", Some(token), "");
        asked.headers_mut().insert("x-forwarded-for", address.parse().unwrap());
        router.clone().oneshot(asked).await.unwrap().status().as_u16()
    };
    // Eleven at once, and one more for every second that they take.
    let (mut guess, began) = (0, tokio::time::Instant::now());
    while ask("192.0.2.1", &format!("guess {guess}")).await == 401 {
        guess += 1;
        assert!(guess <= 12 + began.elapsed().as_secs(), "{guess} guesses");
    }
    assert!(guess >= 11, "{guess} guesses");
    assert_eq!(
        ask("192.0.2.1", TOKEN).await,
        429,
        "the right token is not told from wrong ones meanwhile"
    );
    assert_eq!(ask("192.0.2.2", TOKEN).await, 200);
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    assert_eq!(ask("192.0.2.1", TOKEN).await, 200, "it is a matter of seconds");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_cannot_be_tried_where_anybody_may_create_rooms() {
    let open = |config: &mut Config| {
        config.limits.behind_proxy = true;
        config.rooms.create = Create::Anyone;
    };
    let (router, service, _directory) = server_with(&Options::default(), open).await;
    let create = async |token: Option<&str>| {
        let mut asked = request(Method::POST, "/api/v1/rooms", token, "{\"name\":\"a\"}");
        asked.headers_mut().insert("x-forwarded-for", "192.0.2.1".parse().unwrap());
        router.clone().oneshot(asked).await.unwrap().status().as_u16()
    };
    // Eleven at once, and one more for every second that they take.
    let (mut guess, began) = (0, tokio::time::Instant::now());
    while create(Some(&format!("guess {guess}"))).await == 401 {
        guess += 1;
        assert!(guess <= 12 + began.elapsed().as_secs(), "{guess} guesses");
    }
    assert!(guess >= 11, "{guess} guesses");
    assert_eq!(
        create(Some(TOKEN)).await,
        429,
        "the right token is not told from wrong ones meanwhile"
    );
    assert_eq!(create(None).await, 503, "who tries none is served: the others are not there yet");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_by_its_path_goes_by_one_name() {
    let (router, service, _directory) = server().await;
    let disguised = ROOM.replace("/0011", "/%30011");
    for (method, path) in
        [(Method::POST, format!("{disguised}/presence")), (Method::GET, disguised)]
    {
        assert_eq!(
            problem(&router, request(method, &path, None, "{}")).await.status,
            404,
            "{path}"
        );
    }
    service.stop().await;
}

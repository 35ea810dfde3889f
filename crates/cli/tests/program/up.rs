//! Three servers, used as people use them: through the program and through HTTP.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{
    Up, board, complaint, free_base_port, json, ostrakon, said, say, signal, values,
};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

#[test]
fn rooms_live_through_speech_administration_crashes_and_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let base = base_port_with_a_committee();
    let up = Up::start(&site, base, &[]);
    // A newcomer's first message comes out in the first epoch, although nobody else is there.
    let first = json(&["say", &up.links[0], "alone", "--json"]).remove(0);
    assert_eq!([&first["epoch"], &first["accepted"], &first["messages"]], [0, 1, 1]);
    let texts = ["one", "two", "three", "four"];
    assert_eq!(say(&up, &texts).len(), 4);
    let mut on_board = said(&up.links[1]);
    on_board.sort();
    assert_eq!(on_board, ["alone", "four", "one", "three", "two"]);

    // One server is killed, in the middle of things; it is started again and nobody notices.
    signal("KILL", up.servers()[1]);
    let more = ["five", "six", "seven"];
    say(&up, &more);
    let before = said(&up.links[2]);
    assert_eq!(before.len(), 8);

    administer(&site);
    host(&site);
    lower(&site);
    let links = up.links.clone();
    up.stop();
    // With a committee besides: its page is named after the room's links.
    let committee = ["--servers", "5", "--fewest-reports", "3"];
    let up = Up::start_of(4, "/#/", &site, base, &committee);
    assert_eq!(up.links[..3], links, "the same room is found again");
    assert_eq!(up.servers().len(), 3 + 5);
    ask(up.origin(3), directory.path());
    assert_eq!(said(&up.links[0]), before);
    say(&up, &["eight", "nine", "ten"]);
    assert_eq!(said(&up.links[0]).len(), 11);
    let file = directory.path().join("board.json");
    let (file, link) = (file.to_str().unwrap(), &up.links[2]);
    json(&["export", link, "--output", file, "--json"]);
    assert_eq!(json(&["verify", file, "--link", link, "--json"])[0]["messages"], board(link).len());
    assert!(is_shown(&up, || {
        json(&["export", link, "--output", file, "--json"]);
        std::fs::read(file).unwrap()
    }));
    let foreign = link.replace(&link[link.len() - 64..], &"5".repeat(64));
    assert!(complaint(&["watch", &foreign, "--once"], 3).contains("other"));
    up.stop();
}

/// A port from which those of the committee of `up`, 200 above, are free, too. Whoever is beside
/// this test takes ports from the beginning of the next two hundred on.
fn base_port_with_a_committee() -> u16 {
    let is_free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    let members = |base: u16| (0..5).flat_map(move |i| [base + 200 + i, base + 300 + i]);
    let fits = |base: &u16| base % 200 >= 60 && members(*base).all(is_free);
    std::iter::repeat_with(free_base_port).find(fits).expect("some are free")
}

/// The five members of `up` answer a question.
fn ask(origin: &str, directory: &Path) {
    let home = directory.join("home");
    let run = |arguments: &[&str]| {
        let mut command = ostrakon(&[&["stats"], arguments, &["--json"]].concat());
        values(&command.env("XDG_STATE_HOME", &home).output().unwrap()).remove(0)
    };
    let question = ["--question", "How many?", "--statistic", "sum", "--largest", "15"];
    let asking = [&["create", "--server", origin, "--minimum", "3"][..], &question].concat();
    let created = run(&asking);
    let link = created["link"].as_str().unwrap();
    for number in ["3", "14", "9"] {
        let keep = home.join(number);
        assert_eq!(run(&["report", link, number, "--keep", keep.to_str().unwrap()])["servers"], 5);
    }
    let mut close = ostrakon(&["stats", "close", link]);
    assert!(close.env("XDG_STATE_HOME", &home).output().unwrap().status.success());
    let result = run(&["result", link]);
    assert_eq!((&result["reports"], &result["answers"][0]["sum"]), (&3.into(), &26.into()));
}

/// Whether what is exported is, byte for byte, what a server gives as the room's archive. The third
/// signature of an entry may come between the two, so it is tried more than once.
fn is_shown(up: &Up, export: impl Fn() -> Vec<u8>) -> bool {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    let archive = async |server: usize| {
        let url = format!("{}/api/v1/rooms/{}/archive", up.origin(server), up.room());
        client.get(url).send().await.unwrap().bytes().await.unwrap()
    };
    (0..5).any(|_| {
        let exported = export();
        (0..3).any(|server| runtime.block_on(archive(server)) == exported)
    })
}

fn administer(site: &Path) {
    let site = site.to_str().unwrap();
    let create = [
        "room",
        "create",
        "Second",
        "--payload",
        "64",
        "--capacity",
        "12",
        "--data-dir",
        site,
        "--json",
    ];
    let room = json(&create).remove(0);
    let id = room["id"].as_str().unwrap();
    assert_eq!(room["links"].as_array().unwrap().len(), 3);
    assert_eq!(json(&["room", "list", "--data-dir", site, "--json"]).len(), 2);
    assert_eq!(
        json(&["room", "show", id, "--data-dir", site, "--json"])[0]["descriptor"]["payload"],
        64
    );
    assert_eq!(json(&["room", "close", id, "--data-dir", site, "--json"])[0]["state"], "closed");
    let refused = complaint(&["room", "create", "Third", "--payload", "33", "--data-dir", site], 1);
    assert!(refused.contains("multiple of 8"), "{refused}");
    let link = room["links"][0].as_str().unwrap();
    assert!(complaint(&["say", link, "too late"], 1).contains("closed"));
    let text = "x".repeat(63);
    assert!(complaint(&["say", link, &text], 1).contains("at most 62"));
}

/// A host makes a room for members from the command line, asks, invites and closes; then the
/// operator deletes it.
fn host(site: &Path) {
    let key = site.join("host.key");
    let (site, key) = (site.to_str().unwrap(), key.to_str().unwrap());
    let create =
        ["room", "create", "Hosted", "--host-key", key, "--members", "--retention-days", "9"];
    let room = json(&[&create[..], &["--data-dir", site, "--json"]].concat()).remove(0);
    assert_eq!(
        (&room["descriptor"]["admission"], &room["descriptor"]["retention_days"]),
        (&json!("members"), &json!(9))
    );
    let (id, link) = (room["id"].as_str().unwrap(), room["links"][1].as_str().unwrap());
    let act = |arguments: &[&str]| {
        let (command, rest) = arguments.split_first().unwrap();
        json(&[&["host", *command, link], rest, &["--key", key, "--json"]].concat()).remove(0)
    };
    let invited = act(&["invite", "2"]);
    assert_eq!((&invited["action"], invited["links"].as_array().unwrap().len()), (&json!(0), 2));
    assert!(invited["links"][0].as_str().unwrap().starts_with(link));
    assert_eq!(act(&["poll", "Tea?", "--option", "yes", "--option", "no"])["action"], 1);
    assert_eq!(act(&["poll", "How good?", "--rating", "5"])["action"], 2);
    assert_eq!(act(&["hide", "3", "0"])["action"], 3);
    assert_eq!(act(&["admit", &"ab".repeat(32)])["action"], 4);
    let shown = act(&["show"]);
    assert_eq!(
        (&shown["actions"], &shown["invitations"], shown["polls"].as_array().unwrap().len()),
        (&json!(5), &json!(2), 2)
    );
    let epochs: Vec<_> =
        (0..2).map(|n| shown["polls"][n][1]["poll"]["epoch"].as_u64().unwrap()).collect();
    assert!(epochs[0] < epochs[1], "one poll in an epoch");
    assert!(complaint(&["host", "close", link, "--key", "/nowhere/key"], 1).contains("no file"));
    let other = format!("{key}.other");
    std::fs::copy(key, &other).unwrap();
    std::fs::write(&other, format!("{}\n", "A".repeat(43))).unwrap();
    assert!(complaint(&["host", "close", link, "--key", &other], 1).contains("not a host"));
    let ease = |minimum: &str| complaint(&["host", "ease", link, minimum, "--key", key], 1);
    assert!(ease("1").contains("no crowd"), "two people are none, unless it is said");
    assert!(ease("3").contains("lowered only"));
    assert_eq!(act(&["ease", "2"])["action"], 5);
    assert_eq!(act(&["ease", "1", "--without-crowd"])["action"], 6);
    assert_eq!(act(&["show"])["minimum"], 1);
    assert_eq!(act(&["close"])["action"], 7);
    assert!(
        complaint(&["host", "poll", link, "Late?", "--text", "--epoch", "99", "--key", key], 1)
            .contains("closed")
    );

    let delete = ["room", "delete", id, "--data-dir", site, "--json"];
    assert_eq!(json(&delete)[0]["deleted"], id);
    assert_eq!(json(&delete)[0]["deleted"], id, "the same once more");
    assert!(complaint(&["room", "show", id, "--data-dir", site], 1).contains("deleted"));
    let elsewhere = room["links"][2].as_str().unwrap();
    assert!(board(elsewhere).is_empty(), "the other servers still show it");
}

/// Who waits alone hears how many are missing; when the host takes fewer for enough, it is not
/// spoken for without being asked again.
fn lower(site: &Path) {
    let key = site.join("other-host.key");
    let (site, key) = (site.to_str().unwrap(), key.to_str().unwrap());
    let create = ["room", "create", "Small", "--host-key", key, "--engine", "clarion"];
    let more =
        ["--minimum", "2", "--seconds", "1", "--capacity", "12", "--data-dir", site, "--json"];
    let room = json(&[&create[..], &more].concat()).remove(0);
    let link = room["links"][0].as_str().unwrap();
    let mut child =
        ostrakon(&["say", link, "to a crowd"]).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let waits = lines.find(|line| line.contains("have to come"));
    assert_eq!(waits.as_deref(), Some("2 more people have to come, then messages appear"));
    json(&["host", "ease", link, "1", "--without-crowd", "--key", key, "--json"]);
    let refused: Vec<_> = lines.collect();
    assert!(refused.concat().contains("messages appear from 2 people on now"), "{refused:?}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    json(&["host", "close", link, "--key", key, "--json"]);
}

/// One request and the answer that it must have.
struct Case {
    method: Method,
    path: String,
    body: Option<String>,
    status: StatusCode,
    says: &'static str,
}

impl Case {
    /// The server's answer. One that refuses a long body ends the connection without reading all
    /// of it, so that its answer can be lost on the way: then the request is made again.
    async fn answer(&self, client: &Client, origin: &str) -> reqwest::Response {
        for _ in 0..20 {
            let request = client.request(self.method.clone(), format!("{origin}{}", self.path));
            let request = match &self.body {
                Some(body) => request.header("content-type", "application/json").body(body.clone()),
                None => request,
            };
            match request.send().await {
                Ok(answer) => return answer,
                Err(error) => assert!(self.status == StatusCode::PAYLOAD_TOO_LARGE, "{error}"),
            }
        }
        panic!("{} {}: no answer at all", self.method, self.path);
    }
}

fn cases(room: &str) -> Vec<Case> {
    let key = "11".repeat(32);
    let signature = "22".repeat(64);
    let presence =
        |time: u64| json!({"key": key, "time": time, "signature": signature}).to_string();
    let case = |method, path: String, body: Option<String>, status, says| Case {
        method,
        path,
        body,
        status,
        says,
    };
    let in_room = |rest: &str| format!("/api/v1/rooms/{room}{rest}");
    // Of an epoch that is there a signature that is none is refused before anything else.
    let issue = format!("/epochs/9999/issue?key={key}&exchange={key}&signature={signature}");
    let unknown = "0".repeat(32);
    vec![
        case(Method::POST, in_room("/presence"), Some("{".into()), StatusCode::BAD_REQUEST, "JSON"),
        case(
            Method::POST,
            in_room("/presence"),
            Some("{}".into()),
            StatusCode::UNPROCESSABLE_ENTITY,
            "key",
        ),
        case(Method::POST, in_room("/presence"), Some(presence(0)), StatusCode::FORBIDDEN, ""),
        case(
            Method::POST,
            in_room("/presence"),
            Some("x".repeat(70_000)),
            StatusCode::PAYLOAD_TOO_LARGE,
            "at most",
        ),
        case(Method::GET, in_room("/presence"), None, StatusCode::METHOD_NOT_ALLOWED, "methods"),
        case(Method::GET, in_room("/status?wait=x"), None, StatusCode::BAD_REQUEST, "wait"),
        case(Method::GET, in_room(&issue), None, StatusCode::NOT_FOUND, ""),
        case(Method::GET, in_room("/epochs/none/issue"), None, StatusCode::NOT_FOUND, "openapi"),
        case(Method::GET, format!("/api/v1/rooms/{unknown}"), None, StatusCode::NOT_FOUND, ""),
        case(Method::GET, "/api/v1/rooms/short".into(), None, StatusCode::NOT_FOUND, "32"),
        case(Method::GET, "/api/v2/servers".into(), None, StatusCode::NOT_FOUND, "openapi"),
        case(Method::GET, "/api/v1/rooms".into(), None, StatusCode::UNAUTHORIZED, "Bearer"),
        case(
            Method::POST,
            "/api/v1/rooms".into(),
            Some("{}".into()),
            StatusCode::UNPROCESSABLE_ENTITY,
            "name",
        ),
        case(Method::DELETE, in_room(""), None, StatusCode::UNAUTHORIZED, "Bearer"),
        case(Method::GET, "/nothing".into(), None, StatusCode::NOT_FOUND, ""),
    ]
}

#[tokio::test]
async fn hostile_requests_get_problem_documents_and_pages_are_confined() {
    let directory = tempfile::tempdir().unwrap();
    let web = directory.path().join("web");
    std::fs::create_dir_all(web.join("assets")).unwrap();
    std::fs::write(web.join("index.html"), "<!doctype html><title>page</title>").unwrap();
    std::fs::write(web.join("assets/app-1234.js"), "export {};").unwrap();
    let up = Up::start(
        &directory.path().join("site"),
        free_base_port(),
        &["--web", web.to_str().unwrap()],
    );
    let client = Client::builder().no_proxy().build().unwrap();
    for case in cases(up.room()) {
        let answer = case.answer(&client, up.origin(1)).await;
        let what = format!("{} {}", case.method, case.path);
        assert_eq!(answer.status(), case.status, "{what}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{what}");
        assert_eq!(answer.headers()["access-control-allow-origin"], "*", "{what}");
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["status"], case.status.as_u16(), "{what}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(!detail.is_empty() && detail.contains(case.says), "{what}: {detail}");
    }
    pages(&up, &client).await;
    operation(&up, &client).await;
    up.stop();
}

async fn pages(up: &Up, client: &Client) {
    let page = client.get(up.origin(0)).send().await.unwrap();
    assert_eq!(page.headers()["cache-control"], "no-cache");
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for part in
        [up.origin(1), up.origin(2), "default-src 'none'", "script-src 'self' 'wasm-unsafe-eval';"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe-inline"), "{policy}");
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    assert!(page.text().await.unwrap().contains("page"));
    let script = client.get(format!("{}/assets/app-1234.js", up.origin(0))).send().await.unwrap();
    assert!(script.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    let outside = client
        .get(format!("{}/..%2f..%2fsite/alpha/identity.key", up.origin(0)))
        .send()
        .await
        .unwrap();
    assert_eq!(outside.status(), StatusCode::NOT_FOUND);
    let preflight = client
        .request(Method::OPTIONS, format!("{}/api/v1/rooms/{}/presence", up.origin(0), up.room()))
        .header("origin", up.origin(1))
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type")
        .send();
    assert_eq!(
        preflight.await.unwrap().headers()["access-control-allow-headers"],
        "content-type,authorization"
    );
}

async fn operation(up: &Up, client: &Client) {
    let get = |path: &str| client.get(format!("{}{path}", up.origin(2))).send();
    assert_eq!(get("/healthz").await.unwrap().status(), StatusCode::OK);
    // It is not ready while a link to another server is being made anew.
    while get("/readyz").await.unwrap().json::<Value>().await.unwrap()["ready"] != true {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(get("/metrics").await.unwrap().text().await.unwrap().contains("# TYPE"));
    let description: Value = get("/api/v1/openapi.json").await.unwrap().json().await.unwrap();
    assert!(
        description["paths"]["/api/v1/rooms/{id}/epochs/{number}/submission"]["post"].is_object()
    );
    let servers: Value = get("/api/v1/servers").await.unwrap().json().await.unwrap();
    assert_eq!(servers["you"], 2);
    assert!(up.links[0].ends_with(servers["digest"].as_str().unwrap()));
}

/// A newcomer starts a room without a clock and says a first message alone; then a server is
/// stopped with its sockets open, and the next message is said and read through another one.
#[test]
fn a_first_message_alone_comes_out_of_four_servers_without_a_clock() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let more = ["--engine", "asynchromix", "--servers", "4"];
    let up = Up::start_of(4, "/#/mix/", &site, free_base_port(), &more);
    let first = json(&["say", &up.links[0], "alone", "--json"]).remove(0);
    assert_eq!(first["messages"], 1);
    let servers = up.servers();
    assert_eq!(servers.len(), 4);
    signal("STOP", servers[3]);
    json(&["say", &up.links[1], "still here", "--json"]);
    assert_eq!(said(&up.links[2]), ["alone", "still here"]);
    signal("CONT", servers[3]);
    up.stop();
}

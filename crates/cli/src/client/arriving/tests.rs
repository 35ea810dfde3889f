use std::path::Path;

use axum::Router;
use axum::routing::get;
use ostrakon_client::Millis;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_party::{Servers, SessionId};
use serde_json::json;

use super::*;
use crate::arriving_script::{ARRIVALS, Played, Script};
use crate::client::connection::driver::played::play;

#[tokio::test(start_paused = true)]
async fn the_command_line_arrives_as_the_scripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    for name in ARRIVALS {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let script: Script = serde_json::from_str(&text).unwrap();
        let arriving = Arriving::new(script.destination(), None, Secret::new(script.seed));
        let (time, played) = ((script.start, script.lasts), Played::new(&script.exchanges));
        let wishes: &[(Millis, ())] = &[];
        let mut news = Vec::new();
        let other = |_: &mut Arriving, _, one| news.push(one);
        let played = play(time, played, arriving, wishes, |_, _, ()| {}, other).await;
        assert_eq!(played.asked, script.exchanges, "{name}");
        let [ArrivingNews::Found(_), ArrivingNews::Arrived(arrived)] = &news[..] else {
            panic!("{name}: {news:?}")
        };
        assert_eq!(arrived.room.is_some(), script.room.is_some());
    }
}

#[test]
fn why_a_server_does_not_answer_is_told_as_the_connection_knows_it() {
    let destination = Destination { origin: "http://p0.example".into(), servers: None, room: None };
    let way = Way::new(&reqwest::Client::new(), &destination);
    let at = || "http://p0.example".to_owned();
    let told = |failure| format!("{}", way.failed(failure));
    assert!(told(ArrivingFailure::Away { at: at() }).contains("no answer came in time"));
    let silence = CallError::Unreachable { origin: at(), cause: "Connection refused".into() };
    way.silence.lock().unwrap().insert(at(), silence);
    assert!(told(ArrivingFailure::Away { at: at() }).contains("Connection refused"));
    let code = |failure| failure::is_unreachable(&way.failed(failure));
    assert!(code(ArrivingFailure::Away { at: at() }));
    assert!(!code(ArrivingFailure::Malformed { at: at(), why: "no list".into() }));
    let others = |at: &str| ArrivingFailure::OtherServers { at: at.into() };
    assert!(told(others("http://p1.example")).contains("one of the two lies"));
    let pinned = Destination { servers: Some(Digest([7; 32])), ..destination };
    let way = Way::new(&reqwest::Client::new(), &pinned);
    for at in ["http://p0.example", "http://p1.example"] {
        let told = way.failed(others(at)).to_string();
        assert!(told.starts_with(at) && told.contains("that the link names"), "{told}");
    }
}

#[tokio::test]
async fn who_contradicts_the_link_is_warned_of_and_a_long_answer_is_none() {
    let keys = (0..3).map(|party| SigningKey::from_seed(&[party; 32]).verifying_key()).collect();
    let servers = Servers { session: SessionId(Digest([9; 32])), keys };
    let mut origins = Vec::new();
    let mut listeners = Vec::new();
    for _ in 0..3 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        origins.push(format!("http://{}", listener.local_addr().unwrap()));
        listeners.push(listener);
    }
    let listed = |party: usize| json!({"party": party, "name": "", "url": origins[party], "key": servers.keys[party].to_hex()});
    let list: Vec<_> = (0..3).map(listed).collect();
    for (you, listener) in listeners.into_iter().enumerate() {
        let session = if you == 2 { "08" } else { "09" }.repeat(32);
        let names = json!({"you": you, "session": session, "servers": list}).to_string();
        let long = names.clone() + &" ".repeat(1 << 20);
        let app = Router::new()
            .route("/api/v1/servers", get(async move || names.clone()))
            .route("/api/v1/rooms/{id}", get(async move || long.clone()));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    }
    let (origin, pinned) = (origins[0].clone(), Some(servers.digest()));
    let destination = Destination { origin, servers: pinned, room: None };
    let http = reqwest::Client::new();
    let arrived = arrive(&http, destination.clone()).await.unwrap();
    let [warning] = &warnings(&arrived).collect::<Vec<_>>()[..] else { panic!("{arrived:?}") };
    assert!(warning.starts_with(&format!("P2 at {} says", origins[2])), "{warning}");

    let way = Arc::new(Way::new(&http, &destination));
    let ask = async |path: &str| {
        let request = Http { path: path.into(), body: None };
        Arc::clone(&way).exchange(PartyId(0), request, Duration::from_secs(10)).await.0
    };
    assert_eq!((ask("servers").await, ask("rooms/07").await), (200, 0));
    let silence = way.silence.lock().unwrap().remove(&origins[0]).unwrap().to_string();
    assert!(silence.contains("does not end"), "{silence}");
}

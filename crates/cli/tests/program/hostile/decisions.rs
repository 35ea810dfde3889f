//! Requests about decisions that no honest device sends: each is refused with a problem document,
//! and people decide meanwhile.

use futures::StreamExt;
use ostrakon_decide::Meaning;
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::{Content, HelperKey, Serial, Stage};
use ostrakon_party::wire;
use reqwest::{Client, RequestBuilder, StatusCode};

use super::resident;
use crate::common::deciders::{Deciders, THRESHOLD, account, creator, draft, expires};
use crate::common::now;
use crate::common::rogue::{answer, client, elsewhere};
use crate::common::servers::{PAUSE, Servers};

/// Bytes by which a server may grow.
const GROWTH: u64 = 96 << 20;
/// Requests from one address, and how many of them at once: many more than it has in the time that
/// they take.
const FLOOD: usize = 3000;
const AT_ONCE: usize = 100;

/// Where signed and sealed things are handed in, and what is handed in there by nobody honest: the
/// path, and the status of garbage at the first server and at the second.
fn routes(deciders: &Deciders) -> [(String, u16, u16); 6] {
    let (decision, owner) = (deciders.id.to_hex(), account(0).verifying_key().to_hex());
    [
        ("shares".into(), 422, 422),
        ("layers".into(), 422, 422),
        (format!("accounts/{owner}/keys"), 422, 421),
        ("decisions".into(), 422, 421),
        (format!("decisions/{decision}/records"), 422, 422),
        // Of another type.
        (format!("decisions/{decision}/mail"), 415, 415),
    ]
}

async fn refused(request: RequestBuilder, status: u16, what: &str) -> String {
    let (found, text) = answer(request).await;
    assert_eq!(found, status, "{what}: {text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn people_decide_while_others_send_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    servers.start_all();
    servers.ready().await;
    let origins: Vec<String> = (0..3).map(|n| servers.origin(n)).collect();
    let before: Vec<u64> = (0..3).map(|n| resident(servers.process(n))).collect();
    let mut deciders = Deciders::create(&origins, now() + 3600, 1).await;
    garbage_is_refused(&deciders).await;
    addresses_are_checked(&deciders, &origins).await;
    for person in 0..4 {
        deciders.accept(person).await;
    }
    keys_are_checked(&mut deciders).await;
    records_are_checked(&mut deciders, &origins).await;
    let flood = tokio::spawn(flood(deciders.id.to_hex(), origins[0].clone()));
    for person in 0..4 {
        deciders.answer(person, 0).await;
    }
    let (answered, limited) = flood.await.expect("every request is answered");
    assert!(limited > 0 && answered < FLOOD, "{answered} were looked at, {limited} were not");
    for (server, before) in before.into_iter().enumerate() {
        while deciders.page(server, 0).await.openings.len() < 3 {
            tokio::time::sleep(PAUSE).await;
        }
        assert_eq!(deciders.result(server).await, [Meaning::Counts(vec![4, 0])]);
        let grown = resident(servers.process(server)).saturating_sub(before);
        assert!(grown < GROWTH, "server {server} has grown by {} MiB", grown >> 20);
    }
    servers.stop_all().await;
}

async fn garbage_is_refused(deciders: &Deciders) {
    let http = Client::builder().no_proxy().build().expect("a client");
    let typed = |path: &str, kind: &str, body: &'static str| {
        http.post(deciders.url(0, path)).header("content-type", kind).body(body)
    };
    for (path, first, second) in routes(deciders) {
        for body in [&b""[..], b"garbage", &[0xff; 3000], &[0; 3000]] {
            refused(deciders.post(0, &path, body), first, &path).await;
            refused(deciders.post(1, &path, body), second, &path).await;
        }
        if first == 422 {
            refused(
                deciders.post(0, &path, &vec![7; 1 << 20]),
                413,
                &format!("{path}, a mebibyte"),
            )
            .await;
            let text =
                refused(typed(&path, "text/plain", "x"), 415, &format!("{path}, of another type"))
                    .await;
            assert!(text.contains("application/octet-stream"), "{text}");
        }
    }
    let mail = format!("decisions/{}/mail", deciders.id.to_hex());
    refused(
        typed(&mail, "application/json", "{\"person\":0}"),
        422,
        "a request for an e-mail that says too little",
    )
    .await;
}

/// What is no id, no account, no number.
async fn addresses_are_checked(deciders: &Deciders, origins: &[String]) {
    let http = Client::builder().no_proxy().build().expect("a client");
    let get = |path: &str| http.get(format!("{}/api/v1/{path}", origins[0]));
    let (id, nobody) = (deciders.id.to_hex(), "0".repeat(32));
    for wrong in ["zz", "%00%ff", &"f".repeat(31), &"f".repeat(3000), &nobody] {
        refused(get(&format!("decisions/{wrong}")), 404, wrong).await;
        refused(get(&format!("decisions/{wrong}/records")), 404, wrong).await;
        refused(
            deciders.post(0, &format!("decisions/{wrong}/records"), b"x"),
            if wrong == nobody { 422 } else { 404 },
            wrong,
        )
        .await;
    }
    for query in ["from=-1", "from=4294967296", "wait=x", "opened=-1"] {
        refused(get(&format!("decisions/{id}/records?{query}")), 400, query).await;
    }
    let (status, text) = answer(get(&format!("decisions/{id}/records?from=4294967295"))).await;
    assert!(status.is_success() && text.contains("\"records\":[]"), "{status} {text}");
    let stock = format!("accounts/77?time=0&signature={}", "0".repeat(128));
    refused(get(&stock), 404, "no account").await;
    refused(http.delete(format!("{}/api/v1/decisions/{id}", origins[0])), 405, "another method")
        .await;
}

/// Shares and certified keys of others, for others, and of the wrong form.
async fn keys_are_checked(deciders: &mut Deciders) {
    let http = Client::builder().no_proxy().build().expect("a client");
    let mut helpers: Vec<HelperKey> = Vec::new();
    for server in 0..3 {
        let (_, text) = answer(http.get(deciders.url(server, "helper"))).await;
        helpers.push(serde_json::from_str(&text).expect("a key"));
    }
    let operators = deciders.operators;
    let mut deposits = |serial: u8, threshold| {
        let new = new_key(
            &account(9),
            Serial([serial; 16]),
            (threshold, expires()),
            &operators,
            &helpers,
            &mut deciders.rng,
        );
        new.expect("a key").deposits
    };
    let (right, other) = (deposits(1, 2), deposits(1, 3));
    let send = |server, deposit: &_| deciders.post(server, "shares", &wire::encode(deposit));
    refused(send(0, &right[1]), 422, "another server's share").await;
    let mut foreign = right[0].clone();
    foreign.statement.owner = account(0).verifying_key();
    refused(send(0, &foreign), 422, "somebody else's key").await;
    let mut opened = right[0].clone();
    opened.sealed.closed[3] ^= 1;
    refused(send(0, &opened), 422, "a share that cannot be opened").await;
    for _ in 0..2 {
        assert_eq!(answer(send(0, &right[0])).await.0, 201, "the same again has the same receipt");
    }
    refused(send(0, &other[0]), 409, "another key of this serial").await;
    let key = deciders.certified(0).await;
    let path =
        |person: usize| format!("accounts/{}/keys", account(person).verifying_key().to_hex());
    let stock = wire::encode(&vec![&key]);
    refused(deciders.post(0, &path(1), &stock), 422, "for another account").await;
    let mut unsigned = key.clone();
    unsigned.signature.0[0] ^= 1;
    refused(deciders.post(0, &path(0), &wire::encode(&vec![unsigned])), 422, "not certified").await;
    let many = wire::encode(&vec![&key; 40]);
    refused(deciders.post(0, &path(0), &many), 422, "more than a stock takes").await;
}

/// Records at the wrong place, of the wrong author, of another decision.
async fn records_are_checked(deciders: &mut Deciders, origins: &[String]) {
    let other = Deciders::create(origins, now() + 3600, 2).await;
    let chain = deciders.visit().await.chain().expect("a chain").clone();
    assert_eq!(chain.stage(), Stage::Answering);
    let (own, foreign) = (deciders.path("/records"), other.path("/records"));
    let last = deciders.records(0).await.pop().expect("records");
    assert_eq!(
        answer(deciders.post(0, &own, &last)).await.0,
        201,
        "what is there already is taken as it is"
    );
    let text = refused(deciders.post(0, &foreign, &last), 422, "another decision's").await;
    assert!(text.contains("another decision"), "{text}");
    let first = deciders.records(0).await.remove(0);
    refused(deciders.post(0, &foreign, &first), 422, "another decision's beginning").await;
    let strangers = chain.next(&account(5), 1, Content::Cancel).encode();
    refused(deciders.post(0, &own, &strangers), 422, "a stranger's").await;
    let mut changed = chain.next(&creator(), 1, Content::Cancel);
    changed.record.time += 1;
    refused(deciders.post(0, &own, &changed.encode()), 422, "changed after it was signed").await;
    let step = chain.next(&account(0), 1, Content::Step { person: 0, step: vec![1; 500] });
    refused(deciders.post(0, &own, &step.encode()), 422, "a step that is none").await;
    let mut ahead = chain.clone();
    ahead.apply(&chain.next(&creator(), 1, Content::Cancel)).expect("the rules allow it");
    let gap = ahead.next(&creator(), 1, Content::Cancel);
    refused(deciders.post(0, &own, &gap.encode()), 409, "one that is missing before it").await;
    let past = draft(&deciders.operators, now() - 10, 3);
    let past = deciders.first(&past).await;
    refused(deciders.post(0, "decisions", &past.encode()), 422, "with a deadline that has passed")
        .await;
    assert_eq!((past.record.number, THRESHOLD), (0, 2));
    assert_eq!(
        deciders.visit().await.chain().expect("a chain").head(),
        chain.head(),
        "nothing of that is in the chain"
    );
}

/// Many requests from one address: how many were looked at, and how many were not.
async fn flood(decision: String, origin: String) -> (usize, usize) {
    let http = client(elsewhere(77));
    let paths = ["shares", "layers", "decisions", &format!("decisions/{decision}/records")];
    let send = |n: usize| {
        let url = format!("{origin}/api/v1/{}", paths[n % paths.len()]);
        answer(
            http.post(url)
                .header("content-type", "application/octet-stream")
                .body(vec![n as u8; 900]),
        )
    };
    let statuses: Vec<_> =
        futures::stream::iter((0..FLOOD).map(send)).buffer_unordered(AT_ONCE).collect().await;
    let limited =
        statuses.iter().filter(|(status, _)| *status == StatusCode::TOO_MANY_REQUESTS).count();
    let all = statuses.iter().all(|(status, _)| [422, 429, 503].contains(&status.as_u16()));
    assert!(all, "every one has its problem document");
    (FLOOD - limited, limited)
}

//! Decisions are the engines' alone: intake processes send whoever asks about them there.

use ostrakon_decide::Meaning;

use super::fleet::{Fleet, INTAKES};
use crate::common::deciders::{Deciders, account};
use crate::common::now;
use crate::common::rogue::answer;
use crate::common::servers::PAUSE;

/// Every request about decisions.
fn requests(deciders: &Deciders) -> Vec<(&'static str, String)> {
    let (decision, owner) = (deciders.id.to_hex(), account(0).verifying_key().to_hex());
    vec![
        ("GET", "helper".into()),
        ("POST", "shares".into()),
        ("POST", "layers".into()),
        ("GET", format!("accounts/{owner}?time=1&signature={}", "0".repeat(128))),
        ("POST", format!("accounts/{owner}/keys")),
        ("POST", "decisions".into()),
        ("GET", format!("decisions/{decision}")),
        ("GET", format!("decisions/{decision}/records")),
        ("GET", format!("decisions/{decision}/receipts/0")),
        ("POST", format!("decisions/{decision}/records")),
    ]
}

pub async fn are_the_engines(fleet: &Fleet) {
    let engines: Vec<String> = (0..3).map(|n| fleet.engine(n)).collect();
    let mut deciders = Deciders::create(&engines, now() + 3600, 1).await;
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    for (n, engine) in engines.iter().enumerate() {
        for which in 0..INTAKES {
            for (method, path) in requests(&deciders) {
                let url = format!("{}/api/v1/{path}", fleet.intake(n, which));
                let request = match method {
                    "GET" => http.get(url),
                    _ => {
                        http.post(url).header("content-type", "application/octet-stream").body("x")
                    }
                };
                let (status, text) = answer(request).await;
                assert_eq!(status, 421, "{method} {path} at intake {which} of server {n}: {text}");
                assert!(text.contains(engine.as_str()), "it is told where to ask: {text}");
            }
        }
    }
    for person in 0..4 {
        deciders.accept(person).await;
    }
    for person in 0..4 {
        deciders.answer(person, 1).await;
    }
    for server in 0..3 {
        while deciders.page(server, 0).await.openings.len() < 3 {
            tokio::time::sleep(PAUSE).await;
        }
        assert_eq!(deciders.result(server).await, [Meaning::Counts(vec![0, 4])]);
    }
}

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use data_encoding::BASE64URL_NOPAD;
use ostrakon_client::servers_of;
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_decide::keys::GRACE;
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::record::create;
use ostrakon_decide::{
    Ballot, Content, Draft, Function, Layer, Memory, Person, Seat, Serial, keys::certify,
};
use ostrakon_decide::{SignedRecord, Visit};
use ostrakon_party::SessionId;
use ostrakon_protocol::ServersInfo;
use ostrakon_protocol::decisions::{DecisionInfo, DecisionStage, RecordsPage};

use super::*;
use crate::client::connection::driver::played::play;

#[path = "../../../../client/tests/visitor/script.rs"]
mod script;

use self::script::{Exchange, Played, Script};

/// What a server shows and answers.
struct Stub {
    records: Mutex<Vec<Vec<u8>>>,
    /// The status of its answer to every record.
    answer: u16,
    handed: AtomicUsize,
}

#[derive(serde::Deserialize)]
struct From {
    from: usize,
}

async fn serve(answer: u16, records: &[Vec<u8>]) -> (Arc<Stub>, String) {
    let records = Mutex::new(records.to_vec());
    let stub = Arc::new(Stub { records, answer, handed: AtomicUsize::new(0) });
    let page = async |State(stub): State<Arc<Stub>>, Query(From { from }): Query<From>| {
        let records = stub.records.lock().unwrap();
        let rest = records.iter().skip(from).map(|record| BASE64URL_NOPAD.encode(record));
        let page = RecordsPage { records: rest.collect(), openings: Vec::new() };
        serde_json::to_string(&page).unwrap()
    };
    let info = async |State(stub): State<Arc<Stub>>| {
        let records = stub.records.lock().unwrap();
        let last = SignedRecord::decode(records.last().unwrap()).unwrap();
        let info = DecisionInfo {
            id: last.record.decision.to_hex(),
            records: u32::try_from(records.len()).unwrap(),
            head: last.digest(&Operators::new(&servers()).unwrap()).to_hex(),
            stage: DecisionStage::Accepting,
            people: 2,
            answered: 0,
            verified: 0,
            deadline: 2_000,
            openings: Vec::new(),
            refusal: None,
        };
        serde_json::to_string(&info).unwrap()
    };
    let take = async |State(stub): State<Arc<Stub>>| {
        stub.handed.fetch_add(1, Ordering::Relaxed);
        let status = StatusCode::from_u16(stub.answer).unwrap();
        (status, r#"{"number":1,"held":true}"#).into_response()
    };
    let app = Router::new()
        .route("/api/v1/decisions/{id}", get(info))
        .route("/api/v1/decisions/{id}/records", get(page).post(take));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let app = app.with_state(Arc::clone(&stub));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (stub, origin)
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

fn servers() -> Servers {
    let keys = (0..3).map(|party| key(party).verifying_key()).collect();
    Servers { session: SessionId(Digest([9; 32])), keys }
}

/// The first record of a decision of two people, by their accounts.
fn first(operators: &Operators) -> SignedRecord {
    let person = |seed: u8| Person {
        name: format!("person {seed}"),
        seat: Seat::Account(key(seed).verifying_key()),
    };
    let draft = Draft {
        question: "Shall we?".into(),
        ballots: vec![Ballot {
            label: String::new(),
            options: vec!["no".into(), "yes".into()],
            function: Function::Tally,
            assumed: 0,
        }],
        people: vec![person(20), person(21)],
        gathering: None,
        accept_by: 1_000,
        all_needed: false,
        deadline: 2_000,
        quorum: 2,
        threshold: 0,
        creator: key(10).verifying_key(),
        nonce: [3; 16],
        servers: operators.digest,
    };
    let layer = |party: u8| {
        let (drawn, identity) = (Secret::new([party; 32]), key(party));
        Layer::of((&drawn, 5), &identity, PartyId(party), operators, &draft, &mut system::entropy())
            .unwrap()
    };
    create(draft.clone(), [layer(0), layer(1), layer(2)], operators, &key(10), 5)
}

fn decision(id: ostrakon_decide::DecisionId, origins: &[String], device: SigningKey) -> Decision {
    let servers = servers();
    let operators = Operators::new(&servers).unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let connections = origins.iter().map(|origin| Connection::new(http.clone(), origin)).collect();
    let link = Link {
        origin: origins[0].clone(),
        decision: id,
        servers: servers.digest(),
        invitation: None,
    };
    let entrance = origins[0].clone();
    let deployment = Deployment { servers, operators, connections, entrance };
    Decision::at(Arc::new(deployment), link, device)
}

fn accept(visit: &Visit, operators: &Operators, seed: u8) -> SignedRecord {
    let terms = (0, 2_000 + 2 * GRACE);
    let serial = Serial([seed; 16]);
    let new = new_key(&key(seed), serial, terms, operators, &[], &mut system::entropy()).unwrap();
    let certified = certify(&key(seed), new.statement, Vec::new(), operators).unwrap();
    visit.accept(&key(seed), certified, None, 6).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_shows_alone_is_neither_believed_nor_remembered() {
    let operators = Operators::new(&servers()).unwrap();
    let first = first(&operators);
    let chain = Chain::begin(operators, &first).unwrap();
    let private = chain.next(&key(10), 7, Content::Cancel).encode();
    let (p0, zero) = serve(201, &[first.encode(), private]).await;
    let (p1, one) = serve(201, &[first.encode()]).await;
    let (p2, two) = serve(201, &[first.encode()]).await;
    let (origins, mut memory) = ([zero, one, two], Onlooker::default());
    let mut before = decision(chain.id(), &origins, key(20));
    before.read(&mut memory, |_, _| {}).await.unwrap();
    assert!(!before.visitor().is_whole());
    assert_eq!(before.chain().unwrap().length(), 1);

    let record = accept(before.visitor().visit(), &operators, 20);
    for server in [&p1, &p2] {
        server.records.lock().unwrap().push(record.encode());
    }
    // The next run goes on with the honest servers, whatever the first one goes on showing.
    let mut after = decision(chain.id(), &origins, key(20));
    after.read(&mut memory, |_, _| {}).await.unwrap();
    assert_eq!(after.visitor().person(), Some(0));
    assert!(after.visitor().distrusted().contains_key(&PartyId(0)));
    assert_eq!(p0.handed.load(Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_first_server_answers_another_one_holds_the_record() {
    let operators = Operators::new(&servers()).unwrap();
    let first = first(&operators);
    let tried = [422, 409, 201].map(async |status| {
        let mut stubs = Vec::new();
        for answer in [status, 409, 201] {
            stubs.push(serve(answer, &[first.encode()]).await);
        }
        let origins: Vec<String> = stubs.iter().map(|(_, origin)| origin.clone()).collect();
        let mut decision = decision(first.record.decision, &origins, key(20));
        let mut memory = Onlooker::default();
        decision.read(&mut memory, |_, _| {}).await.unwrap();
        decision.accept(&mut memory).await.unwrap();
        assert!(decision.visitor().person().is_none(), "after {status}: it is held");
        assert!(stubs.iter().all(|(stub, _)| stub.handed.load(Ordering::Relaxed) == 1));
    });
    futures::future::join_all(tried).await;
}

async fn asked(script: &Script) -> Vec<Exchange> {
    let (device, seed) = (SigningKey::from_seed(&script.key), Secret::new(script.seed));
    let id = ostrakon_decide::DecisionId::from_hex(&script.decision).unwrap();
    let servers: ServersInfo = serde_json::from_value(script.servers.clone()).unwrap();
    let operators = Operators::new(&servers_of(&servers).unwrap()).unwrap();
    let visitor = Visitor::new(operators, id, None, device, &seed);
    let wishes: Vec<_> =
        script.wishes.iter().map(|wish| (wish.at, wish.answers.as_deref())).collect();
    let act = |visitor: &mut Visitor, now, answers: &Option<&[u8]>| {
        match answers {
            Some(answers) => visitor.answer(now, answers),
            None => visitor.accept(now),
        };
    };
    let mut memory = Memory::default();
    let keep = |visitor: &mut Visitor, now, action| {
        if action == Action::Keep {
            visitor.keep(&mut memory);
            visitor.kept(now, true);
        }
    };
    let (time, played) = ((script.start, script.lasts), Played::new(&script.exchanges));
    let played = play(time, played, visitor, &wishes, act, keep).await;
    played.asked.into_iter().filter(|one| one.at < script.lasts).collect()
}

#[tokio::test(start_paused = true)]
async fn the_command_line_visits_as_the_scripts_say() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    for name in script::NAMES {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let script: Script = serde_json::from_str(&text).unwrap();
        assert!(!script.exchanges.is_empty());
        assert_eq!(asked(&script).await, script.exchanges, "{name}");
    }
}

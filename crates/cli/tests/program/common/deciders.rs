//! People with their devices, who decide over HTTP. They know nothing of servers that are killed:
//! they try again until they are answered.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Secret, Signature, SigningKey, Stream};
use ostrakon_decide::keys::certify;
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::record::create;
use ostrakon_decide::*;
use ostrakon_party::{PartyId, wire};
use ostrakon_protocol::ServersInfo;
use ostrakon_protocol::decisions::{DecisionInfo, DepositReceipt, LayerInfo, RecordsPage};
use reqwest::Client;
use serde::de::DeserializeOwned;

use crate::common::servers::PAUSE;

/// A decision of three people, who are named by their accounts. A tally of two options, of which
/// the second is assumed of who stays away.
pub struct Deciders {
    http: Client,
    origins: Vec<String>,
    pub operators: Operators,
    pub id: DecisionId,
    pub rng: Stream,
    memories: [Memory; 4],
}

pub fn creator() -> SigningKey {
    SigningKey::from_seed(&[100; 32])
}

pub fn account(person: usize) -> SigningKey {
    SigningKey::from_seed(&[110 + person as u8; 32])
}

/// The threshold of every decision here.
pub const THRESHOLD: u8 = 2;

impl Deciders {
    /// Creates a decision at the servers of these origins, with a deadline (seconds since 1970).
    /// `seed` makes it another one than others.
    pub async fn create(origins: &[String], deadline: u64, seed: u8) -> Self {
        let http = Client::builder()
            .no_proxy()
            .timeout(std::time::Duration::from_secs(20))
            .build()
            .expect("a client");
        let info: ServersInfo = insist(|| http.get(format!("{}/api/v1/servers", origins[0]))).await;
        let session = ostrakon_crypto::Digest::from_hex(&info.session).expect("a digest");
        let key = |server: &ostrakon_protocol::ServerInfo| {
            ostrakon_crypto::VerifyingKey::from_hex(&server.key).expect("a key")
        };
        let servers = ostrakon_party::Servers {
            session: ostrakon_party::SessionId(session),
            keys: info.servers.iter().map(key).collect(),
        };
        let operators = Operators::new(&servers).expect("three servers");
        let draft = draft(&operators, deadline, seed);
        let rng = Stream::of(Secret::new([seed; 32]), "test/randomness");
        let deciders = Self {
            http,
            origins: origins.to_vec(),
            operators,
            id: draft.id(),
            rng,
            memories: Default::default(),
        };
        let first = deciders.first(&draft).await.encode();
        let _: serde_json::Value = insist(|| deciders.post(0, "decisions", &first)).await;
        deciders
    }

    /// The first record of a decision, with each server's layer.
    pub async fn first(&self, draft: &Draft) -> SignedRecord {
        let mut layers = Vec::new();
        for server in 0..3 {
            let info: LayerInfo =
                insist(|| self.post(server, "layers", &wire::encode(draft))).await;
            let layer = BASE64URL_NOPAD.decode(info.layer.as_bytes()).expect("base64url");
            layers.push(wire::decode::<Layer>(&layer).expect("a layer"));
        }
        create(draft.clone(), layers.try_into().expect("three"), &self.operators, &creator(), 1)
    }

    pub fn url(&self, server: usize, path: &str) -> String {
        format!("{}/api/v1/{path}", self.origins[server])
    }

    pub fn post(&self, server: usize, path: &str, body: &[u8]) -> reqwest::RequestBuilder {
        self.http
            .post(self.url(server, path))
            .header("content-type", "application/octet-stream")
            .body(body.to_vec())
    }

    /// The path of the decision, and what follows it.
    pub fn path(&self, rest: &str) -> String {
        format!("decisions/{}{rest}", self.id.to_hex())
    }

    pub async fn info(&self, server: usize) -> DecisionInfo {
        insist(|| self.http.get(format!("{}/api/v1/{}", self.origins[server], self.path("")))).await
    }

    pub async fn page(&self, server: usize, from: usize) -> RecordsPage {
        let path = self.path(&format!("/records?from={from}"));
        insist(|| self.http.get(format!("{}/api/v1/{path}", self.origins[server]))).await
    }

    /// All records that a server has.
    pub async fn records(&self, server: usize) -> Vec<Vec<u8>> {
        let mut records: Vec<Vec<u8>> = Vec::new();
        loop {
            let page = self.page(server, records.len()).await;
            if page.records.is_empty() {
                return records;
            }
            records.extend(
                page.records
                    .iter()
                    .map(|record| BASE64URL_NOPAD.decode(record.as_bytes()).expect("bytes")),
            );
        }
    }

    /// Reads and verifies what the first server has.
    pub async fn visit(&mut self) -> Visit {
        let mut visit = Visit::new(self.operators, self.id);
        for record in self.records(0).await {
            visit.read(&record, &mut self.rng).expect("an honest history");
        }
        visit.verify(&mut self.rng).expect("honest steps");
        visit
    }

    /// A one-time key of which every server holds its share.
    pub async fn certified(&mut self, person: usize) -> CertifiedKey {
        let mut helpers = Vec::new();
        for origin in &self.origins {
            helpers.push(
                insist::<HelperKey>(|| self.http.get(format!("{origin}/api/v1/helper"))).await,
            );
        }
        let mut serial = Serial([0; 16]);
        rand_core::Rng::fill_bytes(&mut self.rng, &mut serial.0);
        let terms = (THRESHOLD, expires());
        let (account, operators) = (account(person), &self.operators);
        let new = new_key(&account, serial, terms, operators, &helpers, &mut self.rng);
        let new = new.expect("a key");
        let mut receipts: Vec<Signature> = Vec::new();
        for (server, deposit) in new.deposits.iter().enumerate() {
            let receipt: DepositReceipt =
                insist(|| self.post(server, "shares", &wire::encode(deposit))).await;
            receipts.push(receipt.receipt);
        }
        certify(&account, new.statement, receipts, operators).expect("certified")
    }

    pub async fn accept(&mut self, person: usize) {
        let key = self.certified(person).await;
        loop {
            let visit = self.visit().await;
            if visit.chain().expect("a chain").person(&account(person).verifying_key()).is_some() {
                return;
            }
            let record =
                visit.accept(&account(person), key.clone(), None, 2).expect("there is a place");
            self.hand_in(&record).await;
        }
    }

    /// The person answers, again and again until the step is in the chain; a step that is made
    /// again has the same answer.
    pub async fn answer(&mut self, person: usize, answer: u8) {
        loop {
            let visit = self.visit().await;
            let memory = &mut self.memories[person];
            if visit.confirmed(&account(person).verifying_key(), memory).is_some() {
                return;
            }
            let record = visit
                .answer(&account(person), &[answer], memory, 3, &mut self.rng)
                .expect("a step");
            self.hand_in(&record).await;
        }
    }

    /// Sends a record once; whether it has come is seen in the chain.
    async fn hand_in(&self, record: &SignedRecord) {
        drop(self.post(0, &self.path("/records"), &record.encode()).send().await);
    }

    /// What a server's records and openings come to.
    pub async fn result(&mut self, server: usize) -> Vec<Meaning> {
        let examined =
            examine(self.operators, self.records(server).await, &mut self.rng).expect("it holds");
        let read = |text: &str| {
            Opening::decode(&BASE64URL_NOPAD.decode(text.as_bytes()).expect("bytes")).expect("one")
        };
        let openings = self.page(server, 0).await.openings;
        let openings: Vec<_> =
            openings.iter().map(|info| (PartyId(info.party), read(&info.opening))).collect();
        examined.result(&openings).expect("a result").meanings
    }
}

/// Until when the servers keep the shares of a key: a month after the latest deadline.
pub fn expires() -> u64 {
    crate::common::now() + 31 * 24 * 3600
}

/// Four people, named by their accounts, of whom three must answer.
pub fn draft(operators: &Operators, deadline: u64, seed: u8) -> Draft {
    let person = |n: usize| Person {
        name: format!("person {n}"),
        seat: Seat::Account(account(n).verifying_key()),
    };
    let options = vec!["no".into(), "yes".into()];
    Draft {
        question: "Shall we?".into(),
        ballots: vec![Ballot {
            label: String::new(),
            options,
            function: Function::Tally,
            assumed: 1,
        }],
        people: (0..4).map(person).collect(),
        accept_by: deadline - 5,
        all_needed: false,
        deadline,
        quorum: 3,
        threshold: THRESHOLD,
        creator: creator().verifying_key(),
        gathering: None,
        nonce: [seed; 16],
        servers: operators.digest,
    }
}

/// Asks until there is a good answer: a server may be away, or its others, or it may not know the
/// decision yet.
async fn insist<T: DeserializeOwned>(request: impl Fn() -> reqwest::RequestBuilder) -> T {
    loop {
        if let Ok(answer) = request().send().await {
            let status = answer.status();
            let text = answer.text().await.unwrap_or_default();
            if status.is_success()
                && let Ok(value) = serde_json::from_str(&text)
            {
                return value;
            }
            assert!(
                status.is_success()
                    || status.is_server_error()
                    || [404, 429].contains(&status.as_u16()),
                "{status}: {text}"
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
}

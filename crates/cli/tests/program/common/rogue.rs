//! A participant who knows how to do right, and need not.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ostrakon_api::Problem;
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_mixing::engine::ClientEngine;
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::{Exchange, IssueName, Issued};
use ostrakon_mixing::link::{Link, presence_digest};
use ostrakon_mixing::ruffle::client::RuffleClient;
use ostrakon_mixing::{Content, RowFormat, Servers};
use ostrakon_party::{PartyId, SessionId};
use ostrakon_protocol::{
    Issue, IssueRequest, Presence, RoomInfo, ServersInfo, Status, SubmissionRequest,
};
use reqwest::{Client, RequestBuilder, StatusCode, header};
use serde_json::Value;

use crate::common::now;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// An address of this machine that is not the one which limits by address leave alone.
pub fn elsewhere(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

/// An HTTP client at an address.
pub fn client(at: IpAddr) -> Client {
    Client::builder()
        .no_proxy()
        .local_address(at)
        .timeout(Duration::from_secs(60))
        .build()
        .expect("an HTTP client")
}

/// What a server says to a request: the status, and its words if it refuses.
pub async fn answer(request: RequestBuilder) -> (StatusCode, String) {
    let response = request.send().await.expect("the server answers");
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).cloned();
    let text = response.text().await.expect("the answer is text");
    if status.is_success() {
        return (status, text);
    }
    assert_eq!(kind.expect("refusals have a type"), "application/problem+json", "{status} {text}");
    let problem: Problem = serde_json::from_str(&text).expect("a problem document");
    assert_eq!(problem.status, status.as_u16());
    assert!(problem.detail.len() > 10, "the cause and the remedy are named: {problem:?}");
    (status, problem.detail)
}

/// A participant of a room.
pub struct Rogue {
    pub http: Client,
    pub key: SigningKey,
    pub links: Vec<Link>,
    pub servers: Servers,
    pub room: RoomInfo,
}

impl Rogue {
    pub async fn new(links: &[Link], seed: u8) -> Self {
        let http = client(Ipv4Addr::LOCALHOST.into());
        let get = async |path: &str| {
            let (status, text) =
                answer(http.get(format!("{}/api/v1/{path}", links[0].origin))).await;
            assert!(status.is_success(), "{text}");
            text
        };
        let info: ServersInfo = serde_json::from_str(&get("servers").await).expect("the servers");
        let room = serde_json::from_str(&get(&format!("rooms/{}", links[0].room.to_hex())).await)
            .expect("a room");
        let session = SessionId(Digest::from_hex(&info.session).expect("a digest"));
        let keys = info
            .servers
            .iter()
            .map(|server| VerifyingKey::from_hex(&server.key).expect("a key"))
            .collect();
        let servers = Servers { session, keys };
        Self { http, key: SigningKey::from_seed(&[seed; 32]), links: links.to_vec(), servers, room }
    }

    pub fn path(&self, server: usize, rest: &str) -> String {
        format!(
            "{}/api/v1/rooms/{}/{rest}",
            self.links[server].origin,
            self.links[server].room.to_hex()
        )
    }

    pub async fn status(&self, server: usize) -> Status {
        let (status, text) = answer(self.http.get(self.path(server, "status"))).await;
        assert!(status.is_success(), "{text}");
        serde_json::from_str(&text).expect("a status")
    }

    /// The epoch that collects.
    pub async fn epoch(&self) -> u64 {
        self.epoch_at(0).await
    }

    /// The epoch that collects, as a server knows it.
    pub async fn epoch_at(&self, server: usize) -> u64 {
        loop {
            if let Some(context) = self.status(server).await.context {
                return context.epoch.number;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    pub fn presence(&self, server: usize, time: u64) -> Presence {
        let digest = presence_digest(&self.links[server].room, time, PartyId(server as u8));
        Presence { key: self.key.verifying_key(), time, signature: self.key.sign(&digest) }
    }

    pub async fn present(&self, server: usize) {
        let presence = self.presence(server, now());
        let (status, text) =
            answer(self.http.post(self.path(server, "presence")).json(&presence)).await;
        assert_eq!(status, 200, "{text}");
    }

    pub fn issue_request(&self, server: usize, epoch: u64) -> RequestBuilder {
        let name = self.name(server, epoch);
        let exchange = Exchange::new(&self.key, &name).public();
        let signature = self.key.sign(&envelope::request_digest(&name, &exchange));
        let request = IssueRequest { key: self.key.verifying_key(), exchange, signature };
        self.http.get(self.path(server, &format!("epochs/{epoch}/issue"))).query(&request)
    }

    fn name(&self, server: usize, epoch: u64) -> IssueName {
        IssueName { room: self.links[server].room, number: epoch, party: PartyId(server as u8) }
    }

    /// What the servers give; `None` if the epoch is over before.
    pub async fn issues(&self, epoch: u64) -> Option<Vec<Issued>> {
        let mut issues = Vec::new();
        for server in 0..3 {
            let issue = loop {
                let (status, text) = answer(self.issue_request(server, epoch)).await;
                match status.as_u16() {
                    200 => break serde_json::from_str::<Issue>(&text).expect("an issue"),
                    409 => return None,
                    404 | 503 => tokio::time::sleep(PAUSE).await,
                    _ => panic!("{status} {text}"),
                }
            };
            let opened =
                envelope::open(&self.servers, &self.name(server, epoch), &self.key, &issue.issue);
            issues.push(opened.expect("the servers are honest"));
        }
        Some(issues)
    }

    /// A submission of this text.
    pub fn submission(&self, issues: &[Issued], text: &str) -> SubmissionRequest {
        let context = &issues[0].context;
        let material: Vec<_> = issues.iter().map(|issued| Some(issued.issue.clone())).collect();
        let row = RowFormat::new(&self.room.descriptor, context.epoch.number);
        let content = Content::Message(text.as_bytes().to_vec());
        let row = row.encode(&content, &row.padding(&self.key)).expect("it is short");
        let slot = issues[0].slot;
        let body = RuffleClient.submit(&self.servers, context, slot, &material, &row, &self.key);
        SubmissionRequest {
            key: self.key.verifying_key(),
            slot,
            body: body.expect("the servers are honest"),
        }
    }

    pub fn submit(
        &self,
        server: usize,
        epoch: u64,
        submission: &SubmissionRequest,
    ) -> RequestBuilder {
        self.http.post(self.path(server, &format!("epochs/{epoch}/submission"))).json(submission)
    }

    /// Sends something else than a submission as one.
    pub fn submit_value(&self, server: usize, epoch: u64, value: &Value) -> RequestBuilder {
        self.http.post(self.path(server, &format!("epochs/{epoch}/submission"))).json(value)
    }
}

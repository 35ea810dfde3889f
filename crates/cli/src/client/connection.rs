//! One server's public interface, called over HTTP.

pub mod driver;

use std::time::Duration;

use ostrakon_client::{Body, Http};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use crate::failure::{CallError, reason};

/// How long a connection may take to come about.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long an answer may take, beyond what the server was asked to wait.
const ANSWER_TIME: Duration = Duration::from_secs(20);
/// How long a page of a board may take. It may have tens of mebibytes, and come over a slow line.
const PAGE_TIME: Duration = Duration::from_secs(120);
/// The longest answer that is read: a page of a board with large epochs.
const ANSWER_BYTES: usize = 256 << 20;
/// The same of who the servers are, and of what a room is.
const SHORT_ANSWER_BYTES: usize = 1 << 20;
/// Requests to one server at a time, those apart that wait for news.
const AT_A_TIME: usize = 32;

/// A client for all servers; connections are kept and shared.
///
/// # Errors
/// If the system's TLS certificates cannot be read.
pub fn http_client() -> anyhow::Result<reqwest::Client> {
    let agent = concat!("ostrakon/", env!("CARGO_PKG_VERSION"));
    Ok(reqwest::Client::builder()
        .user_agent(agent)
        .connect_timeout(CONNECT_TIME)
        .no_proxy()
        .build()?)
}

/// A server's address, as people give it.
///
/// # Errors
/// If it is none.
pub fn origin(text: &str) -> Result<String, String> {
    let is_http = |url: &reqwest::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    match reqwest::Url::parse(text) {
        Ok(url) if is_http(&url) => Ok(text.to_owned()),
        _ => Err("a server's address reads https://HOST[:PORT], or http://HOST[:PORT]".into()),
    }
}

/// One server.
pub struct Connection {
    origin: String,
    http: reqwest::Client,
    turns: Semaphore,
}

impl Connection {
    /// The server at `origin` (scheme, host and port).
    pub fn new(http: reqwest::Client, origin: &str) -> Self {
        Self {
            origin: origin.trim_end_matches('/').to_owned(),
            http,
            turns: Semaphore::new(AT_A_TIME),
        }
    }

    /// Another server, reached by the same client.
    pub fn sibling(&self, origin: &str) -> Self {
        Self::new(self.http.clone(), origin)
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Asks for `path` below `/api/v1/`.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<T, CallError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        self.json(self.request(Method::GET, path).query(query).timeout(ANSWER_TIME)).await
    }

    /// Asks for a page of something that may be long, from which the next page is asked for on its
    /// own.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get_page<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<T, CallError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        self.json(self.request(Method::GET, path).query(query).timeout(PAGE_TIME)).await
    }

    /// Sends `body` to `path`.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CallError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        self.json(self.request(Method::POST, path).json(body).timeout(ANSWER_TIME)).await
    }

    /// Sends `body` to `path`, where the answer says nothing.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn post_silently(&self, path: &str, body: &impl Serialize) -> Result<(), CallError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        self.bytes(self.request(Method::POST, path).json(body).timeout(ANSWER_TIME)).await.map(drop)
    }

    /// Sends bytes to `path`.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn post_bytes<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Vec<u8>,
    ) -> Result<T, CallError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        let request = self.request(Method::POST, path).timeout(ANSWER_TIME).body(body);
        self.json(request.header(CONTENT_TYPE, "application/octet-stream")).await
    }

    /// Sends a state machine's request, which the server has so long to answer: the HTTP status,
    /// and what came with it. Without an answer the status is 0.
    pub async fn exchange(&self, request: Http, patience: Duration) -> (u16, Vec<u8>) {
        self.exchange_as(None, request, patience).await
    }

    /// The same; whoever has a token shows it with what is posted.
    pub async fn exchange_as(
        &self,
        token: Option<&str>,
        request: Http,
        patience: Duration,
    ) -> (u16, Vec<u8>) {
        let answer = self.answer_at_most(token, request, patience, ANSWER_BYTES).await;
        answer.unwrap_or((0, Vec::new()))
    }

    /// The same, where an answer is short, and it is of interest why there is none.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn short_answer(
        &self,
        request: Http,
        patience: Duration,
    ) -> Result<(u16, Vec<u8>), CallError> {
        self.answer_at_most(None, request, patience, SHORT_ANSWER_BYTES).await
    }

    async fn answer_at_most(
        &self,
        token: Option<&str>,
        request: Http,
        patience: Duration,
        limit: usize,
    ) -> Result<(u16, Vec<u8>), CallError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        let Http { path, body } = request;
        let is_posted = body.is_some();
        let request = match body {
            Some(Body::Json(text)) => self
                .request(Method::POST, &path)
                .header(CONTENT_TYPE, "application/json")
                .body(text),
            Some(Body::Bytes(bytes)) => self
                .request(Method::POST, &path)
                .header(CONTENT_TYPE, "application/octet-stream")
                .body(bytes),
            None => self.request(Method::GET, &path),
        };
        let request = match token.filter(|_| is_posted) {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let response = request.timeout(patience).send().await;
        let response = response.map_err(|error| self.unreachable(&error))?;
        let status = response.status().as_u16();
        Ok((status, self.read_at_most(response, limit).await?))
    }

    /// Bytes at `path`, at most `limit` of them.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get_bytes(&self, path: &str, limit: usize) -> Result<Vec<u8>, CallError> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        let request = self.request(Method::GET, path).timeout(ANSWER_TIME);
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let bytes = self.read_at_most(response, limit).await?;
        self.unless_refused(status, bytes)
    }

    /// A request as the administrator, without a body.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn administer<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        token: &str,
    ) -> Result<T, CallError> {
        self.json(self.request(method, path).bearer_auth(token).timeout(ANSWER_TIME)).await
    }

    /// A request as the administrator, where the answer says nothing.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn administer_silently(
        &self,
        method: Method,
        path: &str,
        token: &str,
    ) -> Result<(), CallError> {
        self.bytes(self.request(method, path).bearer_auth(token).timeout(ANSWER_TIME))
            .await
            .map(drop)
    }

    /// Whether the server is ready to work; if not, what it waits for.
    ///
    /// # Errors
    /// [`CallError`] if it does not answer at all.
    pub async fn readiness(&self) -> Result<ostrakon_protocol::Readiness, CallError> {
        let response =
            self.http.get(format!("{}/readyz", self.origin)).timeout(ANSWER_TIME).send().await;
        let bytes = self.read(response.map_err(|error| self.unreachable(&error))?).await?;
        serde_json::from_slice(&bytes).map_err(|error| self.unknown(&error))
    }

    /// A file of the page, of at most `limit` bytes; the HTTP status if the server does not give
    /// it.
    ///
    /// # Errors
    /// [`CallError`] if it does not answer, or the file is longer.
    pub async fn file(&self, path: &str, limit: usize) -> Result<Result<PageFile, u16>, CallError> {
        let response =
            self.http.get(format!("{}/{path}", self.origin)).timeout(ANSWER_TIME).send().await;
        let response = response.map_err(|error| self.unreachable(&error))?;
        if !response.status().is_success() {
            return Ok(Err(response.status().as_u16()));
        }
        let policy = response
            .headers()
            .get("content-security-policy")
            .and_then(|policy| policy.to_str().ok());
        let confined = policy.is_some_and(is_confined);
        let bytes = self.read_at_most(response, limit).await?;
        Ok(Ok(PageFile { bytes, confined }))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/api/v1/{path}", self.origin))
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CallError> {
        let bytes = self.bytes(request).await?;
        serde_json::from_slice(&bytes).map_err(|error| self.unknown(&error))
    }

    async fn bytes(&self, request: RequestBuilder) -> Result<Vec<u8>, CallError> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let bytes = self.read(response).await?;
        self.unless_refused(status, bytes)
    }

    fn unless_refused(&self, status: StatusCode, bytes: Vec<u8>) -> Result<Vec<u8>, CallError> {
        if status.is_success() {
            return Ok(bytes);
        }
        Err(CallError::Refused {
            origin: self.origin.clone(),
            status: status.as_u16(),
            detail: detail(status, &bytes),
        })
    }

    async fn read(&self, response: Response) -> Result<Vec<u8>, CallError> {
        self.read_at_most(response, ANSWER_BYTES).await
    }

    async fn read_at_most(
        &self,
        mut response: Response,
        limit: usize,
    ) -> Result<Vec<u8>, CallError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if bytes.len() + chunk.len() > limit {
                return Err(self.unknown(&"the answer does not end"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn unreachable(&self, error: &reqwest::Error) -> CallError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let cause =
            if error.is_timeout() { "it took too long".to_owned() } else { cause.to_string() };
        CallError::Unreachable { origin: self.origin.clone(), cause }
    }

    fn unknown(&self, cause: &dyn std::fmt::Display) -> CallError {
        CallError::Unknown { origin: self.origin.clone(), cause: cause.to_string() }
    }
}

/// A file of the page.
pub struct PageFile {
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Whether it came with a policy that admits scripts of its own origin only, and none inline.
    pub confined: bool,
}

/// Whether a content security policy admits scripts of the page's origin only, and none inline.
fn is_confined(policy: &str) -> bool {
    let rules = || policy.split(';').filter_map(|rule| rule.trim().split_once(' '));
    let scripts = rules().find(|(name, _)| *name == "script-src").map(|(_, sources)| sources);
    let known = |source: &str| matches!(source, "'self'" | "'wasm-unsafe-eval'");
    scripts.is_some_and(|sources| sources.split(' ').all(known))
        && rules().any(|rule| rule == ("default-src", "'none'"))
}

/// The explanation in a problem document, or the status in words.
fn detail(status: StatusCode, body: &[u8]) -> String {
    let problem: Option<ostrakon_api::Problem> = serde_json::from_slice(body).ok();
    problem.map_or_else(|| reason(Some(status)), |problem| problem.detail)
}

/// Pauses between attempts: they double from `first` to `longest`, and vary so that many clients do
/// not ask in step.
pub struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    /// Starts with `first`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// Waits before the next attempt.
    pub async fn pause(&mut self) {
        let quarters = 3 + u32::from(crate::system::random::<1>()[0] % 3);
        tokio::time::sleep(self.next * quarters / 4).await;
        self.next = (self.next * 2).min(self.longest);
    }
}

//! Orders at an authority that is small enough to be read: it believes signatures, but looks at the
//! challenge's answer.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Path as UrlPath, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use data_encoding::BASE64URL_NOPAD as BASE64;
use ostrakon_api::{Listener, serve};
use ostrakon_node::config::Limits;
use rcgen::{CertificateSigningRequestParams, Issuer};
use rustls::ClientConfig;
use rustls::pki_types::{CertificateSigningRequestDer, ServerName};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use super::*;

#[path = "../../../../api/tests/common/anything.rs"]
mod anything;

use anything::Anything;

const DOMAIN: &str = "ostrakon.example";
const TOKEN: &str = "a-token-of-the-authority";
/// id-pe-acmeIdentifier, 1.3.6.1.5.5.7.1.31 (RFC 8737).
const ACME_IDENTIFIER: &[u8] = &[0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x1f];

#[derive(Default)]
struct Progress {
    orders: u32,
    /// Of the last order.
    names: Vec<String>,
    looked: bool,
    proved: bool,
    certificate: Option<String>,
}

struct Authority {
    origin: String,
    /// Where the domain leads to.
    subject: SocketAddr,
    issuer: Issuer<'static, KeyPair>,
    /// Whether what it issues is over already.
    late: AtomicBool,
    progress: Mutex<Progress>,
}

impl Authority {
    fn order(&self) -> Value {
        let progress = self.progress.lock().unwrap();
        let status = match (&progress.certificate, progress.proved) {
            (Some(_), _) => "valid",
            (None, true) => "ready",
            (None, false) if progress.looked => "invalid",
            (None, false) => "pending",
        };
        let at = |path: &str| format!("{}/{path}", self.origin);
        let certificate = progress.certificate.is_some().then(|| at("certificate"));
        json!({"status": status, "authorizations": [at("authorization")], "finalize": at("finalize"),
            "certificate": certificate})
    }

    /// Connects to the domain as the protocol says, and looks for an answer to a challenge.
    async fn look(&self) -> bool {
        let mut config = ClientConfig::builder()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anything))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"acme-tls/1".to_vec()];
        let stream = TcpStream::connect(self.subject).await.unwrap();
        let name = ServerName::try_from(DOMAIN).unwrap();
        let Ok(stream) = TlsConnector::from(Arc::new(config)).connect(name, stream).await else {
            return false;
        };
        let shown = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
        shown.windows(ACME_IDENTIFIER.len()).any(|window| window == ACME_IDENTIFIER)
    }

    async fn answer(&self, path: &str, payload: &Value) -> Value {
        let at = |path: &str| format!("{}/{path}", self.origin);
        let status = if self.progress.lock().unwrap().proved { "valid" } else { "pending" };
        let challenge = json!({"type": "tls-alpn-01", "url": at("challenge"), "token": TOKEN, "status": status});
        match path {
            "account" => json!({"status": "valid"}),
            "new-order" => {
                let orders = self.progress.lock().unwrap().orders + 1;
                let names = payload["identifiers"].as_array().unwrap().iter();
                let names = names.map(|name| name["value"].as_str().unwrap().to_owned()).collect();
                *self.progress.lock().unwrap() = Progress { orders, names, ..Progress::default() };
                self.order()
            }
            "order" => self.order(),
            "authorization" => {
                json!({"status": status, "identifier": {"type": "dns", "value": DOMAIN}, "challenges": [challenge]})
            }
            "challenge" => {
                let proved = self.look().await;
                let mut progress = self.progress.lock().unwrap();
                (progress.looked, progress.proved) = (true, proved);
                challenge
            }
            "finalize" => {
                let request = BASE64.decode(payload["csr"].as_str().unwrap().as_bytes()).unwrap();
                let request = CertificateSigningRequestParams::from_der(
                    &CertificateSigningRequestDer::from(request),
                );
                let mut request = request.unwrap();
                if self.late.load(Ordering::Relaxed) {
                    request.params.not_after = rcgen::date_time_ymd(2001, 1, 1);
                }
                let certificate = request.signed_by(&self.issuer).unwrap();
                self.progress.lock().unwrap().certificate = Some(certificate.pem());
                self.order()
            }
            other => panic!("nobody asks for {other}"),
        }
    }
}

async fn ask(
    State(authority): State<Arc<Authority>>,
    UrlPath(path): UrlPath<String>,
    Json(request): Json<Value>,
) -> (axum::http::StatusCode, HeaderMap, String) {
    let payload = BASE64.decode(request["payload"].as_str().unwrap().as_bytes()).unwrap();
    let payload = serde_json::from_slice(&payload).unwrap_or_default();
    let mut headers = HeaderMap::new();
    headers.insert("replay-nonce", "once".parse().unwrap());
    let made = matches!(path.as_str(), "account" | "new-order");
    if made {
        let place = if path == "account" { "account" } else { "order" };
        headers.insert("location", format!("{}/{place}", authority.origin).parse().unwrap());
    }
    let status = if made { axum::http::StatusCode::CREATED } else { axum::http::StatusCode::OK };
    if path == "certificate" {
        return (status, headers, authority.progress.lock().unwrap().certificate.clone().unwrap());
    }
    (status, headers, authority.answer(&path, &payload).await.to_string())
}

/// Starts an authority whose own certificate is written to `roots`.
async fn authority(subject: SocketAddr, roots: &Path) -> Arc<Authority> {
    let key = KeyPair::generate().unwrap();
    let own =
        CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    fs::write(roots, own.pem()).unwrap();
    let tls = Tls::default();
    tls.use_pem(own.pem().as_bytes(), key.serialize_pem().as_bytes()).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("https://{}", tcp.local_addr().unwrap());
    let issuer = Issuer::new(CertificateParams::default(), KeyPair::generate().unwrap());
    let authority = Arc::new(Authority {
        origin,
        subject,
        issuer,
        late: AtomicBool::new(false),
        progress: Mutex::default(),
    });
    let at = |path: &str| format!("{}/{path}", authority.origin);
    let directory =
        json!({"newNonce": at("nonce"), "newAccount": at("account"), "newOrder": at("new-order")});
    let router = Router::new()
        .route("/directory", get(async || Json(directory)))
        .route("/nonce", get(async || ([("replay-nonce", "once")], "")))
        .route("/{path}", post(ask))
        .with_state(Arc::clone(&authority));
    tokio::spawn(serve_for_ever(Listener::new(tcp, Some(tls)), router));
    authority
}

async fn serve_for_ever(listener: Listener, router: Router) {
    serve(listener, router, &Limits::default(), std::future::pending()).await;
}

/// Starts a server that orders, where the domain leads to.
async fn subject() -> (Tls, SocketAddr) {
    let tls = Tls::default();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    tokio::spawn(serve_for_ever(Listener::new(tcp, Some(tls.clone())), Router::new()));
    (tls, address)
}

/// Starts an authority, and settings to order from it below `directory`.
async fn settings(directory: &Path, subject: SocketAddr) -> (Arc<Authority>, Acme) {
    let roots = directory.join("roots.pem");
    let authority = authority(subject, &roots).await;
    let mut acme = Acme::new(vec![DOMAIN.to_owned()]);
    acme.authority = format!("{}/directory", authority.origin);
    acme.authority_roots = Some(roots);
    acme.cache = directory.join("acme");
    (authority, acme)
}

/// How many orders an authority had, and for which names the last was.
fn orders(authority: &Authority) -> (u32, Vec<String>) {
    let progress = authority.progress.lock().unwrap();
    (progress.orders, progress.names.clone())
}

#[tokio::test]
async fn other_names_or_another_authority_order_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (tls, address) = subject().await;
    let (first, mut acme) = settings(directory.path(), address).await;
    let cache = Cache(acme.cache.clone());
    assert_eq!(attend(&acme, &cache, &tls).await, PAUSE);
    assert_eq!(orders(&first), (1, vec![DOMAIN.to_owned()]));

    // Another name, by the same account.
    let names = vec!["www.ostrakon.example".to_owned(), DOMAIN.to_owned()];
    acme.domains.clone_from(&names);
    let account = cache.account(&acme.authority);
    let registered = fs::read(&account).unwrap();
    for _ in 0..2 {
        assert_eq!(attend(&acme, &cache, &tls).await, PAUSE);
        assert_eq!(orders(&first), (2, names.clone()), "once, and then it is as it should be");
    }
    acme.domains.reverse();
    acme.domains.push("OSTRAKON.example".to_owned());
    assert!(!is_due(&acme, &cache, &tls), "they are the same names");
    acme.domains = names.clone();

    // An account from before accounts were told apart is used on, by the authority that it is with.
    let old = acme.cache.join("account.json");
    fs::rename(&account, &old).unwrap();
    assert_eq!(cache.account(&acme.authority), old);

    // Another authority has an account of its own; the first one's remains.
    let beside = directory.path().join("second");
    fs::create_dir(&beside).unwrap();
    let (second, other) = settings(&beside, address).await;
    let other = Acme { cache: acme.cache.clone(), ..other };
    assert_eq!(attend(&other, &cache, &tls).await, PAUSE);
    assert_eq!((orders(&first).0, orders(&second)), (2, (1, vec![DOMAIN.to_owned()])));
    let new = cache.account(&other.authority);
    assert!(new != old && fs::read(new).unwrap() != registered);
    assert_eq!(attend(&acme, &cache, &tls).await, PAUSE, "and back");
    assert_eq!((orders(&first), fs::read(&old).unwrap()), ((3, names), registered));
}

#[tokio::test]
async fn a_certificate_is_ordered_kept_and_replaced_when_it_is_due() {
    let directory = tempfile::tempdir().unwrap();
    let (tls, address) = subject().await;
    let (authority, acme) = settings(directory.path(), address).await;
    let cache = Cache(acme.cache.clone());

    order(&acme, &cache, &tls).await.unwrap();
    assert!(authority.progress.lock().unwrap().proved && tls.expires().is_some());
    tls.forget_challenges();
    // A second order uses the same account; a restarted server needs none.
    let account = fs::read_to_string(cache.account(&acme.authority)).unwrap();
    order(&acme, &cache, &tls).await.unwrap();
    assert_eq!(fs::read_to_string(cache.account(&acme.authority)).unwrap(), account);
    assert_eq!(authority.progress.lock().unwrap().orders, 2);
    tls.forget_challenges();
    let restarted = Tls::default();
    let keeper = tokio::spawn(keep(acme.clone(), restarted.clone()));
    while restarted.expires().is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    keeper.abort();
    assert_eq!(authority.progress.lock().unwrap().orders, 2);
    // Where the clock is wrong, what was just issued is over. It is not ordered again and again.
    assert_eq!(attend(&acme, &cache, &tls).await, PAUSE, "nothing is due");
    authority.late.store(true, Ordering::Relaxed);
    order(&acme, &cache, &tls).await.unwrap();
    assert_eq!(attend(&acme, &cache, &tls).await, AFTER_FAILURE);
    assert_eq!(authority.progress.lock().unwrap().orders, 4);
    authority.late.store(false, Ordering::Relaxed);
    assert_eq!(attend(&acme, &cache, &tls).await, PAUSE);
    // Who does not hold the name gets nothing, and what was there remains.
    let stranger = Tls::default();
    let error = order(&acme, &cache, &stranger).await.unwrap_err();
    assert!(
        format!("{error:#}").contains("challenge") || format!("{error:#}").contains("names"),
        "{error:#}"
    );
    assert!(stranger.expires().is_none() && tls.expires().is_some());
}

#[test]
fn a_certificate_is_replaced_after_two_thirds_of_its_life() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache(directory.path().into());
    fs::write(cache.certificate(), "").unwrap();
    let now = system::unix_time();
    let due = cache.due(now + 90 * 86_400);
    assert!((now + 59 * 86_400..=now + 60 * 86_400).contains(&due));
    assert!(cache.due(now - 1) <= now);
}

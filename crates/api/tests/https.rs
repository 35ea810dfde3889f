//! HTTPS: who gets which certificate, and what happens to those who do not speak it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use ostrakon_api::{Listener, Tls, certificate_expires, serve};
use ostrakon_node::config::Limits;
use rcgen::{CertificateParams, CertifiedKey, CustomExtension, KeyPair, date_time_ymd};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

#[path = "common/anything.rs"]
mod anything;

use anything::Anything;

const NAME: &str = "ostrakon.example";

fn certificate(year: i32) -> CertifiedKey<KeyPair> {
    let signing_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 1, 1);
    CertifiedKey { cert: params.self_signed(&signing_key).unwrap(), signing_key }
}

async fn connect(
    address: std::net::SocketAddr,
    trusted: &CertifiedKey<KeyPair>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.cert.der().clone()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(NAME).unwrap(), stream).await
}

async fn ask(stream: &mut TlsStream<TcpStream>) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

async fn start()
-> (std::net::SocketAddr, Tls, tokio::sync::oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let tls = Tls::default();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let router = Router::new().route("/", get(|| async { "hello" }));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let listener = Listener::new(tcp, Some(tls.clone()));
    let server = tokio::spawn(async move {
        serve(listener, router, &Limits::default(), async { stopped.await.unwrap_or(()) }).await;
    });
    (address, tls, stop, server)
}

#[tokio::test]
async fn a_new_certificate_counts_without_a_restart_and_ends_no_connection() {
    let (address, tls, stop, server) = start().await;
    let (old, new) = (certificate(2090), certificate(2091));
    assert!(connect(address, &old).await.is_err(), "there is no certificate yet");
    let directory = tempfile::tempdir().unwrap();
    let paths = ["certificate.pem", "key.pem"].map(|name| directory.path().join(name));
    let put = |pair: &CertifiedKey<KeyPair>| {
        std::fs::write(&paths[0], pair.cert.pem()).unwrap();
        std::fs::write(&paths[1], pair.signing_key.serialize_pem()).unwrap();
    };
    put(&old);
    tls.use_files(&paths[0], &paths[1]).unwrap();
    assert_eq!(tls.expires(), Some(3_786_912_000));
    assert_eq!(certificate_expires(old.cert.der()), tls.expires());
    let mut standing = connect(address, &old).await.unwrap();
    let answer = ask(&mut standing).await;
    assert!(answer.ends_with("hello"));
    assert!(answer.contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");

    put(&new);
    std::fs::write(&paths[1], old.signing_key.serialize_pem()).unwrap();
    let error = tls.use_files(&paths[0], &paths[1]).unwrap_err().to_string();
    assert!(error.contains("together"), "{error}");
    connect(address, &old).await.expect("what cannot be used changes nothing");
    put(&new);
    tls.use_files(&paths[0], &paths[1]).unwrap();
    assert!(connect(address, &old).await.is_err());
    assert!(ask(&mut connect(address, &new).await.unwrap()).await.ends_with("hello"));
    assert!(ask(&mut standing).await.ends_with("hello"), "a connection that stands is not touched");
    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(10), server).await.expect("it stops").unwrap();
}

#[tokio::test]
async fn plain_requests_and_silence_get_nothing() {
    let (address, tls, _stop, _server) = start().await;
    let pair = certificate(2090);
    tls.use_pem(pair.cert.pem().as_bytes(), pair.signing_key.serialize_pem().as_bytes()).unwrap();
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    // The end may be a reset.
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("hello"));
    assert!(
        ask(&mut connect(address, &pair).await.unwrap()).await.ends_with("hello"),
        "others are served meanwhile"
    );
    let closed = tokio::time::timeout(Duration::from_secs(20), silent.read(&mut [0; 8])).await;
    assert_eq!(closed.expect("silence is not waited for").unwrap_or(0), 0);
}

#[tokio::test]
async fn the_authority_gets_its_answer_and_nobody_else_does() {
    let (address, tls, _stop, _server) = start().await;
    let pair = certificate(2090);
    tls.use_pem(pair.cert.pem().as_bytes(), pair.signing_key.serialize_pem().as_bytes()).unwrap();
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(&[7; 32])];
    let signing_key = KeyPair::generate().unwrap();
    let cert = params.self_signed(&signing_key).unwrap();
    tls.answer_challenge(NAME, cert.pem().as_bytes(), signing_key.serialize_pem().as_bytes())
        .unwrap();

    let ask_for_proof = async || {
        let mut config = ClientConfig::builder()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anything))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"acme-tls/1".to_vec()];
        let stream = TcpStream::connect(address).await.unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(ServerName::try_from(NAME).unwrap(), stream)
            .await
    };
    let stream = ask_for_proof().await.unwrap();
    assert_eq!(stream.get_ref().1.peer_certificates().unwrap()[0], *cert.der());
    connect(address, &pair).await.expect("everybody else gets the certificate");
    tls.forget_challenges();
    assert!(ask_for_proof().await.is_err());
}

//! The socket: connections with limits, and an orderly end.

mod socket;
pub mod tls;

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::Response;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use ostrakon_node::config::Limits;
use tokio::net::TcpStream;
use tower_http::add_extension::AddExtension;

use self::socket::{Socket, closing};
use self::tls::{Listener, Stream, Tls};
use crate::client::Client;
use crate::counts::{Counted, Tally};
use crate::problem::Problem;

/// How long a client may take to send a request's header, and to stay connected without sending
/// one.
const HEADER_TIME: Duration = Duration::from_secs(20);
/// How long a client may let its answers wait ([`Socket`]).
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes that a request's header may have.
const HEADER_BYTES: usize = 32 << 10;
/// How long requests under way may take to finish after the order to stop.
const GRACE: Duration = Duration::from_secs(2);
/// Browsers that have been here once come back by HTTPS only, for a year.
const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");
/// The pause after the operating system refused a connection, for want of descriptors perhaps.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Serves `router` on `listener` until `stop` resolves, and then finishes what is under way, for a
/// short time. Who comes when there are as many connections as the limits admit is told so and
/// left.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    limits: &Limits,
    stop: impl Future<Output = ()>,
) {
    let Listener { tcp: listener, tls } = listener.into();
    let router = if tls.is_some() { router.layer(map_response(strictly)) } else { router };
    let graceful = GracefulShutdown::new();
    let connections = Tally::new(limits.connections, limits.connections_per_address);
    let count = |peer: SocketAddr| {
        let client = Client::of(peer);
        // Behind a proxy all connections are the proxy's, which has to see to its clients' numbers
        // itself.
        let counted =
            connections.enter(if limits.behind_proxy { Client::Local } else { client })?;
        Some((client, counted))
    };
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => match count(peer) {
                    Some((client, counted)) => {
                        let service = AddExtension::new(router.clone(), client);
                        spawn(stream, tls.clone(), service, counted, &graceful);
                    }
                    None if tls.is_some() => drop(stream),
                    None => turn_away(&stream),
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            },
        }
    }
    drop(listener);
    // Long waits are cut off: their clients ask again, another server or this one after its
    // restart.
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

/// Says on an answer that was asked for by HTTPS that this is how to ask.
async fn strictly(mut response: Response) -> Response {
    response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT);
    response
}

fn spawn(
    stream: TcpStream,
    tls: Option<Tls>,
    service: AddExtension<Router, Client>,
    counted: Counted,
    graceful: &GracefulShutdown,
) {
    // Without it answers are late; nothing else is wrong.
    let _ = stream.set_nodelay(true);
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(HEADER_BYTES);
    let watcher = graceful.watcher();
    tokio::spawn(async move {
        if let Some(stream) = Stream::open(stream, tls.as_ref()).await {
            let stream = TokioIo::new(Socket::new(stream, PATIENCE));
            let connection = builder.serve_connection(stream, TowerToHyperService::new(service));
            // Errors are of the client's making (it went away, or spoke no HTTP) and say nothing
            // about this server.
            let _ = watcher.watch(connection).await;
        }
        drop(counted);
    });
}

/// Tells a client that there are too many connections, as far as that can be done without waiting,
/// and leaves it.
fn turn_away(stream: &TcpStream) {
    let problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "too many connections, from this address or in all; try again in a moment",
    );
    let _ = stream.try_write(&closing(&problem));
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    /// A server that answers at once on `/`, and never on `/never`.
    async fn start() -> (std::net::SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
        let router = Router::new()
            .route("/", get(|| async { "hello" }))
            .route("/never", get(std::future::pending::<()>));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let limits = Limits { connections: 3, ..Limits::default() };
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(async move {
            serve(listener, router, &limits, async { stopped.await.unwrap_or(()) }).await;
        });
        (address, stop, server)
    }

    async fn ask(stream: &mut TcpStream, request: &str) -> String {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let length = stream.read(&mut answer).await.unwrap_or(0);
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    #[tokio::test]
    async fn connections_are_kept_and_oversized_headers_refused() {
        let (address, _stop, _server) = start().await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        for _ in 0..2 {
            let answer = ask(&mut stream, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
            assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
        }
        let mut stream = TcpStream::connect(address).await.unwrap();
        let answer = ask(
            &mut stream,
            &format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(2 * HEADER_BYTES)),
        )
        .await;
        assert!(
            answer.starts_with("HTTP/1.1 431") && answer.contains("application/problem+json"),
            "{answer}"
        );
    }

    #[tokio::test]
    async fn what_is_no_request_is_refused_with_a_problem_document() {
        let (address, _stop, _server) = start().await;
        for garbage in [
            "\0\0\0\0\r\n\r\n",
            "GET / HTTP/1.1\r\n:\r\n\r\n",
            "\u{16}\u{3}\u{1} a greeting in TLS",
        ] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let answer = ask(&mut stream, garbage).await;
            assert!(
                answer.starts_with("HTTP/1.1 400") && answer.contains("application/problem+json"),
                "{answer}"
            );
            assert_eq!(stream.read(&mut [0; 8]).await.unwrap_or(0), 0, "the connection is closed");
        }
    }

    #[tokio::test]
    async fn who_comes_when_there_are_too_many_is_told_so() {
        let (address, _stop, _server) = start().await;
        let mut held = Vec::new();
        for _ in 0..3 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            assert!(ask(&mut stream, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.contains("hello"));
            held.push(stream);
        }
        let mut late = TcpStream::connect(address).await.unwrap();
        let mut answer = String::new();
        late.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 503") && answer.contains("application/problem+json"),
            "{answer}"
        );
        held.pop();
        let again = async {
            loop {
                let mut stream = TcpStream::connect(address).await.unwrap();
                if ask(&mut stream, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.contains("hello") {
                    return;
                }
            }
        };
        tokio::time::timeout(GRACE, again).await.expect("a place that is left is given away");
    }

    #[tokio::test]
    async fn a_request_without_end_does_not_hold_up_the_stop() {
        let (address, stop, server) = start().await;
        let mut waiting = TcpStream::connect(address).await.unwrap();
        waiting.write_all(b"GET /never HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut idle = TcpStream::connect(address).await.unwrap();
        assert!(ask(&mut idle, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.contains("hello"));
        stop.send(()).unwrap();
        tokio::time::timeout(GRACE * 3, server).await.expect("the server stops").unwrap();
        assert_eq!(idle.read(&mut [0; 8]).await.unwrap_or(0), 0, "the idle connection is closed");
        assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    }
}

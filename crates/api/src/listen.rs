//! The socket: connections with limits, and an orderly end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections at a time; further ones wait to be accepted.
const CONNECTIONS: usize = 8192;
/// How long a client may take to send a request's header, and to stay connected without sending one.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// Bytes that a request's header may have.
const HEADER_BYTES: usize = 32 << 10;
/// How long requests under way may take to finish after the order to stop.
const GRACE: Duration = Duration::from_secs(2);
/// The pause after the operating system refused a connection, for want of descriptors perhaps.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Serves `router` on `listener` until `stop` resolves, and then finishes what is under way, for a short time.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &permits) => match accepted {
                Ok((stream, permit)) => spawn(stream, permit, router.clone(), &graceful),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            },
        }
    }
    drop(listener);
    // Long waits are cut off: their clients ask again, another server or this one after its restart.
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = permits.clone().acquire_owned().await.expect("the semaphore is never closed");
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, permit))
}

fn spawn(stream: TcpStream, permit: OwnedSemaphorePermit, router: Router, graceful: &GracefulShutdown) {
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(HEADER_BYTES);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        // Errors are of the client's making (it went away, or spoke no HTTP) and say nothing about this server.
        let _ = connection.await;
        drop(permit);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    /// A server that answers at once on `/`, and never on `/never`.
    async fn start() -> (std::net::SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
        let router =
            Router::new().route("/", get(|| async { "hello" })).route("/never", get(std::future::pending::<()>));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(serve(listener, router, async { stopped.await.unwrap_or(()) }));
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
        let answer = ask(&mut stream, &format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(2 * HEADER_BYTES))).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
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

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

//! A client's connection: closed if the client does not take its answers.
//!
//! Whoever asks and then does not read keeps the answer in this server's memory. So the time that a
//! client lets writing wait is added up, and what it does read makes up for it: over time it has to
//! read [`RATE`].
//!
//! Besides, the refusals that the HTTP library makes of what is no HTTP get a body here, since it
//! makes them bare.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::problem::Problem;

/// Bytes a second that a client must take at least.
const RATE: usize = 4096;

/// A connection with limited patience.
pub(crate) struct Socket<S> {
    inner: S,
    patience: Duration,
    /// How long the client has let writing wait so far, less what it has made up for.
    waited: Duration,
    /// Since when it lets it wait now, and the end of patience.
    blocked: Option<(Instant, Pin<Box<Sleep>>)>,
    /// What takes the place of a bare refusal, and is not written yet.
    refusal: Vec<u8>,
}

impl<S> Socket<S> {
    /// Lets the client be slow for so long.
    pub fn new(inner: S, patience: Duration) -> Self {
        Self { inner, patience, waited: Duration::ZERO, blocked: None, refusal: Vec::new() }
    }

    /// Takes notice of how a write went.
    fn settle(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => {
                if let Some((since, _)) = self.blocked.take() {
                    self.waited += since.elapsed();
                }
                let made_up = Duration::from_secs_f64(*bytes as f64 / RATE as f64);
                self.waited = self.waited.saturating_sub(made_up);
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                let left = self.patience.saturating_sub(self.waited);
                let begin = || (Instant::now(), Box::pin(tokio::time::sleep(left)));
                let (_, end) = self.blocked.get_or_insert_with(begin);
                ready!(end.as_mut().poll(context));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        written
    }
}

impl<S: AsyncWrite + Unpin> Socket<S> {
    /// Writes what is left of a refusal.
    fn refuse(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let written = Pin::new(&mut self.inner).poll_write(context, &self.refusal);
            match ready!(self.settle(context, written))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => drop(self.refusal.drain(..bytes)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The refusal that takes the place of what is about to be written, if that is a bare one.
fn refusal_instead_of(head: &[u8]) -> Option<Vec<u8>> {
    let detail = match head.get(..13)? {
        b"HTTP/1.1 400 " => "this is no HTTP request that can be understood",
        b"HTTP/1.1 414 " => "the address of the request is too long",
        b"HTTP/1.1 431 " => "the header of the request is too long, or has too many fields",
        _ => return None,
    };
    // Answers of this server's own have a body.
    let bare =
        head.ends_with(b"\r\n\r\n") && head.windows(17).any(|line| line == b"content-length: 0");
    let status = std::str::from_utf8(&head[9..12]).ok()?.parse().ok()?;
    bare.then(|| closing(&Problem::new(status, detail)))
}

/// A whole answer that ends the connection.
pub(crate) fn closing(problem: &Problem) -> Vec<u8> {
    let body = serde_json::to_string(problem).expect("text and numbers");
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    let reason = status.canonical_reason().unwrap_or_default();
    format!(
        "HTTP/1.1 {} {reason}\r\nconnection: close\r\ncontent-type: application/problem+json\r\n\
         access-control-allow-origin: *\r\ncontent-length: {}\r\n\r\n{body}",
        status.as_u16(),
        body.len()
    )
    .into_bytes()
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.refuse(context))?;
        if let Some(refusal) = refusal_instead_of(bytes) {
            self.refusal = refusal;
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.settle(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = slices {
            return self.poll_write(context, only);
        }
        ready!(self.refuse(context))?;
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.settle(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.refuse(context))?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.refuse(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const PATIENCE: Duration = Duration::from_millis(800);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_given_up() {
        let (near, _far) = duplex(64);
        let mut socket = Socket::new(near, PATIENCE);
        let error = socket.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_byte_now_and_then_is_given_up_too() {
        let (near, mut far) = duplex(64);
        let mut socket = Socket::new(near, PATIENCE);
        let trickle = tokio::spawn(async move {
            while far.read_u8().await.is_ok() {
                tokio::time::sleep(PATIENCE / 10).await;
            }
        });
        let write = tokio::time::timeout(PATIENCE * 20, socket.write_all(&[0; 1000]));
        assert_eq!(write.await.expect("it ends").unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(socket);
        trickle.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_at_its_rate_gets_everything() {
        let (near, mut far) = duplex(64);
        let mut socket = Socket::new(near, PATIENCE);
        let mut take = [0; 512];
        let sent = tokio::spawn(async move { socket.write_all(&[7; 4096]).await });
        for _ in 0..8 {
            tokio::time::sleep(PATIENCE / 4).await;
            far.read_exact(&mut take).await.unwrap();
        }
        sent.await
            .unwrap()
            .expect("eight times a quarter of its patience, made up for by what it read");
    }

    #[test]
    fn bare_refusals_get_a_body_and_nothing_else_does() {
        let bare = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let refusal = String::from_utf8(refusal_instead_of(bare).unwrap()).unwrap();
        let (head, body) = refusal.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{head}");
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
        assert_eq!(serde_json::from_str::<Problem>(body).unwrap().status, 431);
        for other in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 7\r\n\r\nproblem",
            b"HTTP/1.1 400 ",
            b"",
        ] {
            assert!(refusal_instead_of(other).is_none());
        }
    }
}

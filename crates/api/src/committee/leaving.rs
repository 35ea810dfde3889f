//! Inputs on their way out, to members that lack them: all that leave at a time take a bounded part
//! of the memory. Others wait for their turn.

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::sync::Semaphore;

use crate::problem::Problem;

/// Bytes of all inputs that are in memory at a time to be sent.
const ROOM_BYTES: u32 = 256 << 20;
/// The room for them, in this process.
pub static ROOM: Semaphore = Semaphore::const_new(ROOM_BYTES as usize);

/// Bytes that are handed to the connection at a time: when the last are, all else is gone.
const PART: usize = 64 << 10;

/// Loads an input of at most so many bytes when there is room for it, and sends it. The room is
/// free again when it is sent, or nobody wants it any more.
///
/// # Errors
/// If it cannot be loaded.
pub async fn send(
    limit: usize,
    load: impl Future<Output = Result<Vec<u8>, Problem>>,
    room: &'static Semaphore,
) -> Result<Response, Problem> {
    let most = u32::try_from(limit).unwrap_or(ROOM_BYTES).min(ROOM_BYTES);
    let held = room.acquire_many(most).await.expect("it is never closed");
    let input = load.await?;
    let parts = stream::unfold((input, 0, held), async |(input, at, held)| {
        let rest = input.get(at..).filter(|rest| !rest.is_empty())?;
        // A copy: a part of the whole would keep the whole.
        let part = Bytes::copy_from_slice(&rest[..rest.len().min(PART)]);
        let next = at + part.len();
        Some((Ok::<_, std::io::Error>(part), (input, next, held)))
    });
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((kind, Body::from_stream(parts)).into_response())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::to_bytes;
    use futures::future::join_all;

    use super::*;

    /// Attack: many ask for a large input at once, and read slowly.
    #[tokio::test]
    async fn inputs_that_are_sent_at_a_time_take_a_bounded_part_of_the_memory() {
        static TEST_ROOM: Semaphore = Semaphore::const_new(3 * SIZE);
        static LOADED: AtomicUsize = AtomicUsize::new(0);
        const SIZE: usize = 200_000;
        async fn load() -> Result<Vec<u8>, Problem> {
            LOADED.fetch_add(1, Ordering::SeqCst);
            Ok(vec![7; SIZE])
        }
        let ask = || tokio::spawn(send(SIZE, load(), &TEST_ROOM));
        let mut asked: Vec<_> = (0..20).map(|_| ask()).collect();
        let waiting = asked.split_off(3);
        let answers = join_all(asked).await.into_iter().map(|answer| answer.unwrap().ok().unwrap());
        let mut answers: Vec<Response> = answers.collect();
        tokio::task::yield_now().await;
        assert_eq!((LOADED.load(Ordering::SeqCst), TEST_ROOM.available_permits()), (3, 0));
        // Who goes away, and who has got all, make room.
        drop(answers.pop());
        let body = to_bytes(answers.pop().unwrap().into_body(), usize::MAX).await.unwrap();
        assert_eq!(body, vec![7; SIZE]);
        drop(answers);
        for answer in waiting {
            let answer = answer.await.unwrap().ok().unwrap();
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body.len(), SIZE);
        }
        assert_eq!(TEST_ROOM.available_permits(), 3 * SIZE);
    }
}

//! Inputs on their way in: what may not be handed in is refused by its first bytes, and all that
//! arrive at a time take a bounded part of the memory.

use axum::body::Body;
use axum::http::StatusCode;
use futures::StreamExt;
use ostrakon_crypto::VerifyingKey;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::problem::Problem;

/// Bytes of all inputs that are read at a time, in this process.
pub static ROOM: Semaphore = Semaphore::const_new(256 << 20);

/// Reads an input of at most so many bytes; `admits` says of its key whether it is taken. The
/// permit stands for its bytes, and is to be held as long as they are.
///
/// # Errors
/// If it may not be handed in, is longer than what is asked for, or there is no room for it now.
pub async fn read<'a>(
    body: Body,
    limit: usize,
    admits: impl Fn(&VerifyingKey) -> Result<(), Problem>,
    room: &'a Semaphore,
) -> Result<(Vec<u8>, SemaphorePermit<'a>), Problem> {
    let long = || {
        let why = "this is longer than what is asked for, or was cut off";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    let full = |_| {
        let why = "this server takes as much as it can at the moment; try again";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, why)
    };
    let (mut bytes, mut asked) = (Vec::new(), false);
    let mut held = room.try_acquire_many(0).map_err(full)?;
    // A body takes memory as it comes, whatever length it announces.
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| long())?;
        if bytes.len() + piece.len() > limit {
            return Err(long());
        }
        let count = u32::try_from(piece.len()).map_err(|_| long())?;
        held.merge(room.try_acquire_many(count).map_err(full)?);
        bytes.extend_from_slice(&piece);
        if let (false, Some(key)) = (asked, bytes.first_chunk()) {
            admits(&VerifyingKey(*key))?;
            asked = true;
        }
    }
    Ok((bytes, held))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::Bytes;
    use futures::stream;

    use super::*;

    /// A body in pieces of ten bytes, and how many of them were asked for.
    fn body(pieces: usize, read: &'static AtomicUsize) -> Body {
        let piece = move |_| {
            read.fetch_add(1, Ordering::SeqCst);
            Ok::<_, std::io::Error>(Bytes::from_static(&[7; 10]))
        };
        Body::from_stream(stream::iter(0..pieces).map(piece))
    }

    /// Attack: many send much that would be refused, or all at the same time.
    #[tokio::test]
    async fn what_is_not_admitted_is_not_read_and_all_that_arrives_has_its_room() {
        static READ: AtomicUsize = AtomicUsize::new(0);
        let room = Semaphore::new(150);
        let refused = Problem::new(StatusCode::FORBIDDEN, "not this key");
        let status = |problem: Problem| problem.status;
        let stranger = read(body(10, &READ), 100, |_| Err(refused.clone()), &room).await;
        assert_eq!(stranger.map(drop).map_err(status), Err(StatusCode::FORBIDDEN.as_u16()));
        assert_eq!(READ.swap(0, Ordering::SeqCst), 4, "no more than its key");
        let long = read(body(11, &READ), 100, |_| Ok(()), &room).await;
        assert_eq!(long.map(drop).map_err(status), Err(StatusCode::PAYLOAD_TOO_LARGE.as_u16()));
        let (bytes, held) = read(body(10, &READ), 100, |_| Ok(()), &room).await.ok().unwrap();
        assert_eq!((bytes.len(), room.available_permits()), (100, 50));
        let busy = read(body(10, &READ), 100, |_| Ok(()), &room).await;
        assert_eq!(busy.map(drop).map_err(status), Err(StatusCode::SERVICE_UNAVAILABLE.as_u16()));
        drop(held);
        assert_eq!(room.available_permits(), 150, "whatever was refused gave its room back");
    }
}

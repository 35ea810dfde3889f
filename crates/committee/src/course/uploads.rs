//! Inputs that come in pieces, so that a broken line costs a piece and not everything (C4).
//!
//! Who begins shows the contributor's signature on the whole; pieces follow in order, each on disk
//! before it is confirmed. When all are there the input is taken like any other.

use std::sync::Arc;

use ostrakon_computation::{Entry, Input, Statement};
use ostrakon_crypto::Digest;
use serde::{Deserialize, Serialize};

use super::Course;
use super::cancelling::CANCELLED;
use super::intake::CLOSED;
use crate::service::{Inner, Refused};
use crate::store::Begun;

/// Bytes of a piece at most.
pub const PIECE_BYTES: usize = 1 << 20;
/// How long, in seconds, nobody needs to go on with what was begun before it may be forgotten for
/// somebody else's.
const STALE: u64 = 3600;

/// What somebody is going to hand in.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Announced {
    /// Whose and what it is, signed.
    pub entry: Entry,
    /// Bytes of the body.
    pub bytes: u64,
}

/// How far what was announced is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uploaded {
    /// So many bytes are on disk; the next piece begins there.
    Held {
        /// The upload's name, for the sender alone.
        upload: Digest,
        /// Bytes.
        bytes: u64,
    },
    /// All is there, and has been taken.
    Receipt(Statement),
}

impl Course {
    /// Says how far an input is that was announced; begins it if need be, and takes it if it is
    /// complete.
    pub async fn announce(self: Arc<Self>, announced: Announced) -> Result<Uploaded, Refused> {
        let inner = self.inner()?;
        let Announced { entry, bytes } = announced;
        self.admits(&entry)?;
        if self.holds(&entry)? {
            return Ok(Uploaded::Receipt(self.receipt(&inner, &entry)));
        }
        if bytes > self.body_bytes as u64 {
            return Err(Refused::Unsound("this is longer than what is asked for".into()));
        }
        let turn = self.uploading.lock().await;
        if self.cancellation().is_some() {
            return Err(Refused::Conflict(CANCELLED.into()));
        }
        if self.state().told[inner.number].holdings.is_some() {
            return Err(Refused::Conflict(CLOSED.into()));
        }
        let all = inner.config.store.uploads(&self.id).await?;
        let same = |begun: &&Begun| begun.entry == entry && begun.bytes == bytes;
        let Some(begun) = all.iter().find(same) else {
            return self.begin_upload(&inner, announced, &all).await;
        };
        if begun.held < begun.bytes {
            return Ok(Uploaded::Held { upload: begun.id, bytes: begun.held });
        }
        // One at a time is in memory.
        let body = inner.config.store.pieces(begun).await?;
        let whole = ostrakon_computation::body_digest(&body) == entry.body;
        let receipt = if whole {
            Arc::clone(&self).submit(Input { entry, body }).await
        } else {
            Err(Refused::Unsound(
                "the pieces do not make what was announced: send it again from the beginning"
                    .into(),
            ))
        };
        if !matches!(receipt, Err(Refused::Unavailable(_))) {
            inner.config.store.drop_upload(&begun.id).await?;
        }
        drop(turn);
        Ok(Uploaded::Receipt(receipt?))
    }

    async fn begin_upload(
        &self,
        inner: &Inner,
        Announced { entry, bytes }: Announced,
        others: &[Begun],
    ) -> Result<Uploaded, Refused> {
        let now = (inner.config.clock)();
        let stale = now.saturating_sub(STALE);
        let begun = Begun { id: Digest(inner.random()), entry, bytes, held: 0 };
        let fresh = |other: &&Begun| other.entry.contributor != entry.contributor;
        // As much as whole inputs take, and no more, whoever announces them.
        if others.iter().filter(fresh).count() >= self.most_inputs
            && !inner.config.store.has_stale_upload(&self.id, stale).await?
        {
            return Err(Refused::Unavailable(
                "as many are handing something in as can be taken; try again later".into(),
            ));
        }
        inner.config.store.begin_upload(&self.id, &begun, (now, stale)).await?;
        Ok(Uploaded::Held { upload: begun.id, bytes: 0 })
    }

    /// Takes the next piece; returns how many bytes are on disk.
    pub async fn piece(&self, upload: &Digest, at: u64, piece: &[u8]) -> Result<u64, Refused> {
        let inner = self.inner()?;
        if piece.is_empty() || piece.len() > PIECE_BYTES {
            return Err(Refused::Unsound(format!("a piece has 1 to {PIECE_BYTES} bytes")));
        }
        let _turn = self.uploading.lock().await;
        let all = inner.config.store.uploads(&self.id).await?;
        let unknown = Refused::NotFound("nothing was announced under this name; announce it again");
        let begun = all.iter().find(|begun| begun.id == *upload).ok_or(unknown)?;
        let end = begun.held + piece.len() as u64;
        if at + piece.len() as u64 <= begun.held {
            // It was confirmed, and the confirmation was lost.
            return Ok(begun.held);
        }
        if at != begun.held || end > begun.bytes {
            return Err(Refused::Conflict(format!(
                "{} bytes of {} are here: the next piece begins there",
                begun.held, begun.bytes
            )));
        }
        inner.config.store.keep_piece(begun, piece, (inner.config.clock)()).await?;
        Ok(end)
    }
}

//! Inputs that come in pieces, so that a broken line costs a piece and not everything (C4).
//!
//! Who begins shows the contributor's signature on the whole, and on its being told to this member:
//! what one member was told is worth nothing at another one. Pieces follow in order, each on disk
//! before it is confirmed. When all are there the input is taken like any other.

use std::sync::Arc;

use ostrakon_computation::{Announced, Input, Statement};
use ostrakon_crypto::Digest;
use serde::{Deserialize, Serialize};

use super::Course;
use super::cancelling::CANCELLED;
use super::intake::CLOSED;
use crate::member::{Member, Refused};
use crate::store::Begun;

/// Bytes of a piece at most.
pub const PIECE_BYTES: usize = 1 << 20;
/// How long, in seconds, nobody needs to go on with what was begun before it may be forgotten for
/// somebody else's.
const STALE: u64 = 3600;

const UNANNOUNCED: Refused =
    Refused::NotFound("nothing was announced under this name; announce it again");

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
        let here = self.member()?;
        let Announced { entry, bytes, .. } = announced;
        self.admits(&entry)?;
        if !announced.verifies(&self.id, &here.config.committee.members[here.number].key) {
            return Err(Refused::Unsound(
                "its contributor has not announced this to this server: announce it again".into(),
            ));
        }
        if self.holds(&entry)? {
            return Ok(Uploaded::Receipt(self.receipt(&here, &entry)));
        }
        let longest = self.body_bytes as u64;
        if bytes > longest || (self.job.has_one_length() && bytes < longest) {
            return Err(Refused::Unsound(format!(
                "this has {bytes} bytes, and what is asked for has {longest}"
            )));
        }
        let turn = self.uploading.lock().await;
        if self.cancellation().is_some() {
            return Err(Refused::Conflict(CANCELLED.into()));
        }
        if self.state().told[here.number].holdings.is_some() {
            return Err(Refused::Conflict(CLOSED.into()));
        }
        let all = here.config.store.uploads(&self.id).await?;
        let same = |begun: &&Begun| begun.entry.input() == entry.input();
        let Some(begun) = all.iter().find(same) else {
            return self.begin_upload(&here, announced, &all).await;
        };
        if begun.bytes != bytes {
            return Err(Refused::Conflict(format!(
                "this was announced with {} bytes, and cannot have {bytes}",
                begun.bytes
            )));
        }
        if begun.held < begun.bytes {
            return Ok(Uploaded::Held { upload: begun.id, bytes: begun.held });
        }
        // One at a time is in memory.
        let body = here.config.store.pieces(begun).await?;
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
            here.config.store.drop_upload(&begun.id).await?;
        }
        drop(turn);
        Ok(Uploaded::Receipt(receipt?))
    }

    async fn begin_upload(
        &self,
        here: &Member,
        Announced { entry, bytes, .. }: Announced,
        others: &[Begun],
    ) -> Result<Uploaded, Refused> {
        let now = (here.config.clock)();
        let stale = now.saturating_sub(STALE);
        let begun = Begun { id: Digest(here.random()), entry, bytes, held: 0 };
        let fresh = |other: &&Begun| other.entry.contributor != entry.contributor;
        // As much as whole inputs take, and no more, whoever announces them.
        if others.iter().filter(fresh).count() >= self.most_inputs
            && !here.config.store.has_stale_upload(&self.id, stale).await?
        {
            return Err(Refused::Unavailable(
                "as many are handing something in as can be taken; try again later".into(),
            ));
        }
        here.config.store.begin_upload(&self.id, &begun, (now, stale)).await?;
        Ok(Uploaded::Held { upload: begun.id, bytes: 0 })
    }

    /// Whether pieces of an upload of this name are waited for.
    pub async fn awaits(&self, upload: &Digest) -> Result<(), Refused> {
        let all = self.member()?.config.store.uploads(&self.id).await?;
        if all.iter().any(|begun| begun.id == *upload) { Ok(()) } else { Err(UNANNOUNCED) }
    }

    /// Takes the next piece; returns how many bytes are on disk.
    pub async fn piece(&self, upload: &Digest, at: u64, piece: &[u8]) -> Result<u64, Refused> {
        let here = self.member()?;
        if piece.is_empty() || piece.len() > PIECE_BYTES {
            return Err(Refused::Unsound(format!("a piece has 1 to {PIECE_BYTES} bytes")));
        }
        let _turn = self.uploading.lock().await;
        let all = here.config.store.uploads(&self.id).await?;
        let begun = all.iter().find(|begun| begun.id == *upload).ok_or(UNANNOUNCED)?;
        if self.state().told[here.number].holdings.is_some() {
            return Err(Refused::Conflict(CLOSED.into()));
        }
        let misplaced = Refused::Conflict(format!(
            "{} bytes of {} are here: the next piece begins there",
            begun.held, begun.bytes
        ));
        match at.checked_add(piece.len() as u64) {
            // It was confirmed, and the confirmation was lost.
            Some(end) if end <= begun.held => Ok(begun.held),
            Some(end) if at == begun.held && end <= begun.bytes => {
                here.config.store.keep_piece(begun, piece, (here.config.clock)()).await?;
                Ok(end)
            }
            _ => Err(misplaced),
        }
    }
}

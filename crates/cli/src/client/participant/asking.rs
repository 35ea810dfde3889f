//! What a participant asks of one server, again and again until it is answered for good.

use std::time::Duration;

use ostrakon_broadcast::envelope::{self, Exchange, IssueName, Issued};
use ostrakon_crypto::SigningKey;
use ostrakon_party::PartyId;
use ostrakon_protocol::{Accepted, Issue, IssueRequest, SubmissionRequest};

use crate::client::connection::Pauses;
use crate::client::room::Room;

/// The pauses between two attempts.
pub fn pauses() -> Pauses {
    Pauses::new(Duration::from_millis(100), Duration::from_secs(1))
}

/// Asks one server for its issue until it gives it, and opens it.
pub async fn fetch_issue(
    room: &Room,
    key: &SigningKey,
    party: PartyId,
    epoch: u64,
) -> (PartyId, Issued) {
    let name = IssueName { room: room.link.room, number: epoch, party };
    let exchange = Exchange::new(key, &name).public();
    let signature = key.sign(&envelope::request_digest(&name, &exchange));
    let request = IssueRequest { key: key.verifying_key(), exchange, signature };
    let path = format!("rooms/{}/epochs/{epoch}/issue", room.link.room.to_hex());
    let mut pauses = pauses();
    loop {
        // Whatever the answer, "no slot yet" or a server that is gone: another may come until the
        // epoch is over.
        match room.connection(party).get::<Issue>(&path, &request).await {
            Ok(issue) => match envelope::open(&room.servers, &name, key, &issue.issue) {
                Ok(issued) => return (party, issued),
                Err(error) => {
                    tracing::warn!(epoch, "{error}");
                    pauses.pause().await;
                }
            },
            Err(error) if error.status() == Some(409) => return std::future::pending().await,
            Err(_) => pauses.pause().await,
        }
    }
}

/// Hands a submission to one server until it is accepted or refused for good.
pub async fn submit(
    room: &Room,
    request: &SubmissionRequest,
    party: PartyId,
    epoch: u64,
) -> (PartyId, bool) {
    let path = format!("rooms/{}/epochs/{epoch}/submission", room.link.room.to_hex());
    let mut pauses = pauses();
    loop {
        match room.connection(party).post::<Accepted>(&path, request).await {
            Ok(_) => return (party, true),
            Err(error) if matches!(error.status(), Some(409 | 413 | 422)) => {
                tracing::warn!(epoch, "{error}");
                return (party, false);
            }
            Err(_) => pauses.pause().await,
        }
    }
}

//! What a participant computes. What it asks for reads as every participant's does
//! ([`ostrakon_client::Call`]); when it asks is this program's: as fast as servers answer.

use anyhow::{Context, Result};
use ostrakon_client::{Body, Call, Http};
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use ostrakon_mixing::envelope::{self, IssueName, Issued};
use ostrakon_mixing::link::PRESENCE_SECONDS;
use ostrakon_mixing::submission::Author;
use ostrakon_mixing::{Content, RoomDescriptor, RoomId, Servers, engines};
use ostrakon_party::{PartyId, SessionId};
use ostrakon_protocol::{Issue, ServersInfo};

use super::http::{Answer, Request};

/// The room that everybody takes part in.
pub struct Room {
    /// Its servers.
    pub servers: Servers,
    /// What it is.
    pub descriptor: RoomDescriptor,
    /// Its id.
    pub id: RoomId,
}

/// Reads who the servers are.
///
/// # Errors
/// If the list is malformed.
pub fn servers(info: &ServersInfo) -> Result<Servers> {
    let session = Digest::from_hex(&info.session).context("the session is no digest")?;
    let keys: Option<Vec<_>> =
        info.servers.iter().map(|server| VerifyingKey::from_hex(&server.key)).collect();
    Ok(Servers { session: SessionId(session), keys: keys.context("a server's key is no key")? })
}

/// One participant.
pub struct Participant {
    key: SigningKey,
    /// Which of all it is.
    pub number: u32,
}

/// That a participant is there, at its home, at a time.
pub struct Statement {
    /// In seconds since 1970.
    time: u64,
    /// As it is sent.
    pub request: Request,
}

impl Statement {
    /// Whether servers take it at `now`, in seconds since 1970, and for a while longer.
    pub fn is_fresh(&self, now: u64) -> bool {
        now.abs_diff(self.time) <= PRESENCE_SECONDS / 2
    }
}

/// What it asks for before it knows anything of an epoch but the number.
pub struct Requests {
    /// That it is there. To be stated again if the epoch takes longer than a statement is good for.
    pub presence: Statement,
    /// The servers' issues.
    pub issues: Vec<Request>,
}

impl Participant {
    /// Participant `number` of this run; `run` makes the keys differ from those of any other.
    pub fn new(run: &Secret, number: u32) -> Self {
        let secret = run.derive("ostrakon/v1/bench/intake participant", &[&number.to_le_bytes()]);
        Self { key: SigningKey::from_seed(secret.expose()), number }
    }

    /// The server at which it is present: they share the participants evenly.
    pub fn home(&self, room: &Room) -> usize {
        self.number as usize % room.servers.keys.len()
    }

    /// What it says in an epoch.
    pub fn message(&self, epoch: u64) -> Vec<u8> {
        format!("{} of {epoch}", self.number).into_bytes()
    }

    /// States that it is there, at `time` in seconds since 1970.
    pub fn state_presence(&self, room: &Room, time: u64) -> Statement {
        let home = PartyId(self.home(room) as u8);
        Statement { time, request: sent(room, &Call::presence(&self.key, &room.id, time, home)) }
    }

    /// Its requests of an epoch, at `time` in seconds since 1970.
    pub fn requests(&self, room: &Room, epoch: u64, time: u64) -> Requests {
        let issue = |party: u8| {
            let name = IssueName { room: room.id, number: epoch, party: PartyId(party) };
            sent(room, &Call::issue(&self.key, &name))
        };
        let issues = (0u8..).take(room.servers.keys.len()).map(issue).collect();
        Requests { presence: self.state_presence(room, time), issues }
    }

    /// Opens what a server gave.
    ///
    /// # Errors
    /// If it is not what the server should have given.
    pub fn open(&self, room: &Room, epoch: u64, party: u8, answer: &Answer<'_>) -> Result<Issued> {
        let issue: Issue = answer.json()?;
        let name = IssueName { room: room.id, number: epoch, party: PartyId(party) };
        Ok(envelope::open(&room.servers, &name, &self.key, &issue.issue)?)
    }

    /// Its submission, for all servers alike.
    ///
    /// # Errors
    /// If the servers contradict each other.
    pub fn submission(&self, room: &Room, epoch: u64, issued: Vec<Issued>) -> Result<Request> {
        let issued: Vec<_> = issued.into_iter().map(Some).collect();
        let (servers, of) = (&room.servers, &room.descriptor);
        let author =
            Author { engine: engines::client(of.engine), servers, room: of, key: &self.key };
        let agreed = author.agreed(&issued).context("the servers contradict each other")?;
        let content = Content::Message(self.message(epoch));
        let submission = author.submission_of(&agreed, &content)?;
        Ok(sent(room, &Call::submit(&self.key, epoch, submission)))
    }
}

/// A request as it is sent.
fn sent(room: &Room, call: &Call) -> Request {
    let Http { path, body } = call.http(&room.id);
    let path = format!("/api/v1/{path}");
    match body {
        Some(Body::Json(text)) => Request::post(&path, "", &text),
        Some(Body::Bytes(_)) => unreachable!("what a participant says is JSON"),
        None => Request::get(&path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_grows_old_and_the_next_one_holds_at_its_own_time() {
        let descriptor = RoomDescriptor::new("r");
        let keys = (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32]).verifying_key());
        let servers = Servers { session: SessionId(Digest([0; 32])), keys: keys.collect() };
        let room = Room { servers, id: descriptor.id(), descriptor };
        let participant = Participant::new(&Secret::new([7; 32]), 4);
        let first = participant.state_presence(&room, 1000);
        assert!(first.is_fresh(1000) && first.is_fresh(1060));
        // Servers refuse it after two minutes; an epoch may last longer.
        assert!(!first.is_fresh(1061) && !first.is_fresh(1121));
        let later = participant.state_presence(&room, 1121);
        assert!(later.is_fresh(1121));
        let stated = Call::presence(&participant.key, &room.id, 1121, PartyId(1));
        assert_eq!(later.request, sent(&room, &stated));
        assert_ne!(later.request, first.request);
    }
}

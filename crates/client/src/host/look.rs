//! A look at the host log (`docs/spec/hosting.md`, H3): all servers are read to the end of what
//! they show, and what verifies is taken into the book.

use ostrakon_broadcast::hosting::SignedAction;
use ostrakon_crypto::Digest;
use ostrakon_mixing::RoomId;

use super::book::Book;
use crate::time::Millis;

/// Once so many servers were read that one of them is honest, the others have so long.
const LATE: Millis = 1_500;

/// How far a server is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    /// It is asked from this action on.
    Asked(u64),
    /// To its end.
    Read,
    /// It does not answer, or shows what does not hold.
    Failed,
}

/// What a look has found of the place of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This action is in it.
    Ours,
    /// Another one is.
    Taken,
    /// Nobody shows one.
    Open,
}

/// What is to be done about what a server has shown.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask it for more, from this action on.
    More(u64),
    /// Nothing.
    Rest,
    /// It shows what does not hold.
    Forged(String),
}

/// A look.
pub struct Look {
    number: u64,
    servers: Vec<Server>,
    /// When those are not waited for any more that are late.
    until: Option<Millis>,
    /// What is looked for, and what was found in its place.
    sought: Option<SignedAction>,
    place: Place,
    servers_digest: Digest,
    room: RoomId,
}

impl Look {
    /// None yet, at so many servers of this digest, in a room.
    pub fn new(servers: usize, servers_digest: Digest, room: RoomId) -> Self {
        let servers = vec![Server::Failed; servers];
        Self {
            number: 0,
            servers,
            until: None,
            sought: None,
            place: Place::Open,
            servers_digest,
            room,
        }
    }

    /// Which look it is.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Begins a look for the place of an action, or for the end of the book: from which action on
    /// all servers are to be asked.
    pub fn begin(&mut self, sought: Option<SignedAction>, book: &impl Book) -> u64 {
        // What comes before its place is read first: otherwise nothing in it verifies.
        let number = sought.as_ref().map(|signed| signed.action.number);
        let from = book.length().min(number.unwrap_or(u64::MAX));
        self.number += 1;
        self.servers.fill(Server::Asked(from));
        (self.until, self.sought, self.place) = (None, sought, Place::Open);
        from
    }

    /// A server has shown actions, or nothing that can be read.
    pub fn shown(
        &mut self,
        party: usize,
        actions: Option<Vec<SignedAction>>,
        book: &mut impl Book,
    ) -> Next {
        let Some(Server::Asked(from)) = self.servers.get(party).copied() else { return Next::Rest };
        self.servers[party] = Server::Failed;
        let Some(actions) = actions else { return Next::Rest };
        let shown = self.in_place(from, &actions);
        // Only the first server was given it: who else shows it was told that it is in the log.
        if shown.is_some() && shown == self.sought.as_ref() {
            self.place = Place::Ours;
        }
        let shown = shown.is_some();
        let known = usize::try_from(book.length().saturating_sub(from)).unwrap_or(usize::MAX);
        if actions.len() < known {
            // It is behind: what it has cannot be compared with what was read.
            self.servers[party] = Server::Read;
            return Next::Rest;
        }
        if !self.leads_to(&actions[..known], &book.head()) {
            return Next::Forged("it is another one than was read before".into());
        }
        let ended = actions.len() == known;
        let taken = book.take(actions.into_iter().skip(known).collect());
        self.note(shown, book.length());
        match taken {
            Err(why) => Next::Forged(why),
            Ok(()) if ended => {
                self.servers[party] = Server::Read;
                Next::Rest
            }
            Ok(()) => {
                self.servers[party] = Server::Asked(book.length());
                Next::More(book.length())
            }
        }
    }

    /// What a server shows in the place that is looked at, of actions from this one on.
    fn in_place<'a>(&self, from: u64, actions: &'a [SignedAction]) -> Option<&'a SignedAction> {
        let after = self.sought.as_ref()?.action.number.checked_sub(from)?;
        actions.get(usize::try_from(after).ok()?)
    }

    /// Takes note of it that something verifiably is in the place that is looked at.
    fn note(&mut self, shown: bool, length: u64) {
        let number = self.sought.as_ref().map(|signed| signed.action.number);
        if shown && number.is_some_and(|number| number < length) && self.place == Place::Open {
            self.place = Place::Taken;
        }
    }

    /// Whether these actions, one after the other, end with the one of this digest.
    fn leads_to(&self, actions: &[SignedAction], head: &Digest) -> bool {
        let digest = |signed: &SignedAction| signed.action.digest(&self.servers_digest, &self.room);
        let follow = |pair: &[SignedAction]| pair[1].action.previous == digest(&pair[0]);
        actions.windows(2).all(follow) && actions.last().is_none_or(|last| digest(last) == *head)
    }

    /// Whether it is over: all were read or failed, or enough were read and the others are late.
    pub fn is_over(&mut self, now: Millis, believed: usize) -> bool {
        let open = self.servers.iter().any(|server| matches!(server, Server::Asked(_)));
        if !open || self.place == Place::Ours {
            return true;
        }
        self.read() >= believed && now >= *self.until.get_or_insert(now + LATE)
    }

    /// When the others are late.
    pub fn due(&self) -> Option<Millis> {
        self.until
    }

    /// How many servers were read to their end.
    pub fn read(&self) -> usize {
        self.servers.iter().filter(|server| **server == Server::Read).count()
    }

    /// What is in the place of the action that was looked for.
    pub fn place(&self) -> Place {
        self.place
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_broadcast::hosting::{Deed, HostLog};
    use ostrakon_crypto::SigningKey;
    use ostrakon_mixing::{RoomDescriptor, Servers};
    use ostrakon_party::SessionId;

    use super::*;

    /// The log has gone on meanwhile, as somebody who follows the room has read.
    #[test]
    fn what_does_not_lead_to_what_was_read_says_nothing_of_a_place() {
        let servers = Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() };
        let host = SigningKey::from_seed(&[7; 32]);
        let room = RoomDescriptor { host: Some(host.verifying_key()), ..RoomDescriptor::new("r") };
        let mut book = HostLog::new(&servers, &room);
        let moderate = |log: &HostLog, key: &SigningKey, on| log.act(key, 1, Deed::Moderate { on });
        let ours = moderate(&book, &host, true);
        let forged = moderate(&book, &SigningKey::from_seed(&[8; 32]), false);
        book.apply(&ours).unwrap();
        let next = moderate(&book, &host, false);
        book.apply(&next).unwrap();

        let mut look = Look::new(3, servers.digest(), room.id());
        assert_eq!(look.begin(Some(ours.clone()), &book), 0);
        let shown = look.shown(2, Some(vec![forged.clone(), next.clone()]), &mut book);
        assert!(matches!(shown, Next::Forged(_)));
        let shown = look.shown(1, Some(vec![forged]), &mut book);
        assert_eq!((shown, look.place()), (Next::Rest, Place::Open), "it is behind");
        assert!(!look.is_over(0, 2), "the third one may have it");
        assert_eq!(look.shown(0, Some(vec![ours, next.clone()]), &mut book), Next::Rest);
        assert_eq!((look.place(), look.is_over(0, 2)), (Place::Ours, true));

        let other = moderate(&HostLog::new(&servers, &room), &host, false);
        look.begin(Some(other), &book);
        assert_eq!(look.shown(0, None, &mut book), Next::Rest);
        let (first, rest) = (moderate(&HostLog::new(&servers, &room), &host, true), next);
        assert_eq!(look.shown(1, Some(vec![first, rest]), &mut book), Next::Rest);
        assert_eq!(look.place(), Place::Taken);
    }
}

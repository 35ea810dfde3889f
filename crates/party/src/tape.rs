//! What a party writes down so that, killed and started again, it goes on with the same run.
//!
//! A protocol that computes what it sends from 32 random bytes and from what it receives is a
//! function of both. If the random bytes are on disk before anything is sent, and the digest of
//! whatever was received before anything is sent that may depend on it, then the function has one
//! value over all lives of the process: started again, the party sends the same bytes, and takes no
//! other message in the place of one that it has acted upon. To everybody else it was slow.
//!
//! Bodies are not kept: peers hold what they have posted until it is retired ([`crate::Channel`]).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use ostrakon_crypto::{Digest, Transcript};
use serde::{Deserialize, Serialize};

use crate::{Header, PartyId, Tag, wire};

/// Where a tape is kept: appended to, never changed.
pub trait Reel: Send + Sync {
    /// Appends a piece, on disk when it returns.
    ///
    /// # Errors
    /// Why it could not be written.
    fn append(&self, piece: &[u8]) -> Result<(), String>;
}

/// Asked about every message of a recorded party ([`crate::Party::recorded`]).
pub trait Recorder: Send + Sync {
    /// Whether a message may leave for this peer.
    fn posts(&self, to: PartyId, header: &Header) -> bool;

    /// Whether a message, which has been checked, may be acted upon.
    fn takes(&self, header: &Header) -> bool;
}

/// One message on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Whether it was received; else it was sent.
    received: bool,
    peer: PartyId,
    tag: Tag,
    /// Of what its sender has signed.
    digest: Digest,
}

type Place = (bool, PartyId, Tag);

#[derive(Default)]
struct Known {
    entries: BTreeMap<Place, Digest>,
    unwritten: Vec<Entry>,
    /// Whether something that was received is not on disk.
    behind: bool,
    /// Something could not be written: nothing leaves any more.
    broken: bool,
}

/// The tape of one run at one party.
pub struct Tape {
    reel: Box<dyn Reel>,
    known: Mutex<Known>,
}

/// A piece of a tape that no tape has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was written of a run is damaged")]
pub struct Damaged;

fn digest(header: &Header) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/party/message on a tape");
    transcript.field(&wire::encode(header));
    transcript.finish()
}

impl Tape {
    /// The tape with these pieces, in their order; none of a run that begins.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn open(reel: Box<dyn Reel>, pieces: &[Vec<u8>]) -> Result<Self, Damaged> {
        let mut known = Known::default();
        for piece in pieces {
            let entries: Vec<Entry> = wire::decode(piece).map_err(|_| Damaged)?;
            for entry in entries {
                let place = (entry.received, entry.peer, entry.tag);
                if known.entries.insert(place, entry.digest).is_some() {
                    return Err(Damaged);
                }
            }
        }
        Ok(Self { reel, known: Mutex::new(known) })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no panic while held")
    }

    /// Whether something could not be written, so that the run is stuck until it is begun again
    /// from what was.
    pub fn is_broken(&self) -> bool {
        self.known().broken
    }
}

impl Known {
    /// Notes a message; false if another one stands in its place.
    fn note(&mut self, entry: Entry) -> bool {
        let place = (entry.received, entry.peer, entry.tag);
        match self.entries.get(&place) {
            Some(known) => *known == entry.digest,
            None => {
                self.entries.insert(place, entry.digest);
                self.unwritten.push(entry);
                self.behind |= entry.received;
                true
            }
        }
    }
}

impl Recorder for Tape {
    fn posts(&self, to: PartyId, header: &Header) -> bool {
        let mut known = self.known();
        let entry = Entry { received: false, peer: to, tag: header.tag, digest: digest(header) };
        // That a function gives two values is a defect; better nothing than two.
        if known.broken || !known.note(entry) {
            return false;
        }
        if known.behind {
            let piece = wire::encode(&known.unwritten);
            if self.reel.append(&piece).is_err() {
                known.broken = true;
                return false;
            }
            known.unwritten.clear();
            known.behind = false;
        }
        true
    }

    fn takes(&self, header: &Header) -> bool {
        let entry =
            Entry { received: true, peer: header.from, tag: header.tag, digest: digest(header) };
        self.known().note(entry)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Instance, InstanceKind, Recipient, SessionId, Step};

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<(Vec<Vec<u8>>, bool)>>);

    impl Reel for Memory {
        fn append(&self, piece: &[u8]) -> Result<(), String> {
            let mut memory = self.0.lock().unwrap();
            if memory.1 {
                return Err("full".into());
            }
            memory.0.push(piece.to_vec());
            Ok(())
        }
    }

    impl Memory {
        fn tape(&self) -> Tape {
            let pieces = self.0.lock().unwrap().0.clone();
            Tape::open(Box::new(self.clone()), &pieces).unwrap()
        }
    }

    fn header(from: u8, sequence: u32, body: &[u8]) -> Header {
        let instance = Instance { kind: InstanceKind::Batch, scope: [1; 16], number: 1 };
        Header {
            session: SessionId(Digest([7; 32])),
            tag: Tag { instance, step: Step(1), sequence },
            from: PartyId(from),
            to: Recipient::All,
            length: body.len() as u64,
            digest: Header::digest_of(body),
        }
    }

    /// Attack: a member is killed after it has acted upon a message, and is told another one when
    /// it comes back, to see what it would have said to that.
    #[test]
    fn what_was_acted_upon_before_a_restart_is_taken_in_the_same_words_only() {
        let disk = Memory::default();
        let (peer, own) = (PartyId(1), |n, body: &[u8]| header(0, n, body));
        let tape = disk.tape();
        assert!(tape.posts(peer, &own(1, b"first")));
        assert!(tape.takes(&header(1, 1, b"theirs")));
        assert!(disk.0.lock().unwrap().0.is_empty(), "nothing has been said that depends on it");
        let unheard = disk.tape();
        assert!(unheard.takes(&header(1, 1, b"another")), "so far nobody could tell");
        assert!(tape.posts(peer, &own(2, b"second")));
        let again = disk.tape();
        assert!(!again.takes(&header(1, 1, b"another")));
        assert!(again.takes(&header(1, 1, b"theirs")));
        assert!(again.posts(peer, &own(1, b"first")) && again.posts(peer, &own(2, b"second")));
        assert!(!again.posts(peer, &own(2, b"changed")), "the same or nothing");
        assert!(again.posts(peer, &own(3, b"third")) && again.takes(&header(1, 2, b"more")));
        assert_eq!(disk.0.lock().unwrap().0.len(), 1, "what is known is not written again");
    }

    #[test]
    fn nothing_leaves_that_depends_on_what_cannot_be_written() {
        let disk = Memory::default();
        let tape = disk.tape();
        assert!(tape.takes(&header(1, 1, b"theirs")));
        disk.0.lock().unwrap().1 = true;
        assert!(!tape.posts(PartyId(1), &header(0, 1, b"own")));
        disk.0.lock().unwrap().1 = false;
        assert!(tape.is_broken() && !tape.posts(PartyId(1), &header(0, 2, b"own")));
        let again = disk.tape();
        assert!(
            again.takes(&header(1, 1, b"theirs")) && again.posts(PartyId(1), &header(0, 1, b"own"))
        );
        assert!(Tape::open(Box::new(disk), &[vec![1, 2, 3]]).is_err());
    }
}

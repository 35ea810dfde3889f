//! A participant's submission to an epoch: from what the servers gave it and what it has to say.

use ostrakon_crypto::SigningKey;

use crate::engine::{ClientEngine, IssueError};
use crate::envelope::{Agreed, Issued, agreed};
use crate::room::{RoomDescriptor, Servers};
use crate::row::{Content, RowFormat, TooLong};

/// A participant in a room.
pub struct Author<'a> {
    /// The participant's side of the room's engine.
    pub engine: &'a dyn ClientEngine,
    /// The servers, as the room's link pins them.
    pub servers: &'a Servers,
    /// The room, as its id pins it.
    pub room: &'a RoomDescriptor,
    /// The participant's key.
    pub key: &'a SigningKey,
}

/// What is to be handed to every server, in the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The slot.
    pub slot: u32,
    /// The engine's bytes.
    pub body: Vec<u8>,
    /// Whether it holds the message, not a cover.
    pub message: bool,
}

/// Why there is no submission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSubmission {
    /// One server's word about an epoch is not enough.
    #[error(
        "no two servers describe the epoch and the slot alike yet; wait until more servers answer"
    )]
    NotAgreed,
    /// Two servers describe an epoch that the room cannot have.
    #[error("the servers describe the epoch otherwise than the room: the message was not sent")]
    AnotherRoom,
    /// See [`TooLong`].
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// See [`IssueError`].
    #[error(transparent)]
    Issue(#[from] IssueError),
}

impl Author<'_> {
    /// The epoch and the slot that enough servers describe alike, if they can be the room's.
    /// `issued` holds, by party, what was opened ([`crate::envelope::open`]) for one epoch.
    ///
    /// # Errors
    /// [`NoSubmission`]; nothing secret has then been used.
    pub fn agreed(&self, issued: &[Option<Issued>]) -> Result<Agreed, NoSubmission> {
        let agreed = agreed(issued).ok_or(NoSubmission::NotAgreed)?;
        if !agreed.context.is_of(self.room) || agreed.slot >= self.room.capacity {
            return Err(NoSubmission::AnotherRoom);
        }
        Ok(agreed)
    }

    /// Makes the submission of what was decided to go into the epoch: the same bytes whenever it is
    /// asked for the same.
    ///
    /// # Errors
    /// [`NoSubmission`]; nothing secret has then been used.
    pub fn submission_of(
        &self,
        agreed: &Agreed,
        content: &Content,
    ) -> Result<Submission, NoSubmission> {
        let Agreed { context, slot, material } = agreed;
        let (slot, mut material) = (*slot, material.clone());
        let message = matches!(content, Content::Message(_));
        let format = RowFormat::new(self.room, context.epoch.number);
        let row = format.encode(content, &format.padding(self.key))?;
        loop {
            match self.engine.submit(self.servers, context, slot, &material, &row, self.key) {
                Ok(body) => return Ok(Submission { slot, body, message }),
                // What one server spoils, the others may make good.
                Err(IssueError::Bad(party))
                    if material.get(party.index()).is_some_and(Option::is_some) =>
                {
                    material[party.index()] = None;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EpochContext, Shape};
    use crate::room::{EpochId, Mode};
    use ostrakon_crypto::Digest;
    use ostrakon_party::{PartyId, SessionId};

    /// Hands the row in as it is, once two servers have given anything but the byte 255.
    struct Plain;

    impl ClientEngine for Plain {
        fn submit(
            &self,
            _: &Servers,
            _: &EpochContext,
            _: u32,
            issues: &[Option<Vec<u8>>],
            row: &[u8],
            _: &SigningKey,
        ) -> Result<Vec<u8>, IssueError> {
            if let Some(at) = issues.iter().position(|issue| *issue == Some(vec![255])) {
                return Err(IssueError::Bad(PartyId(u8::try_from(at).unwrap())));
            }
            if issues.iter().flatten().count() >= 2 {
                Ok(row.to_vec())
            } else {
                Err(IssueError::Incomplete)
            }
        }
    }

    fn room() -> RoomDescriptor {
        RoomDescriptor { payload: 64, capacity: 9, seconds: 1, ..RoomDescriptor::new("r") }
    }

    fn issued(number: u64, batch: u64, byte: u8) -> Issued {
        let room = room();
        let epoch = EpochId { room: room.id(), number };
        let context = EpochContext {
            epoch,
            batch,
            engine: room.engine,
            shape: Shape::of(&room),
            mode: room.mode,
            minimum: room.minimum,
        };
        Issued { context, slot: 4, issue: vec![byte] }
    }

    fn submission(
        issued: &[Option<Issued>],
        content: &Content,
    ) -> Result<Submission, NoSubmission> {
        let servers = Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() };
        let (room, key) = (room(), SigningKey::from_seed(&[9; 32]));
        let author = Author { engine: &Plain, servers: &servers, room: &room, key: &key };
        author.submission_of(&author.agreed(issued)?, content)
    }

    #[test]
    fn a_submission_carries_what_is_said_in_the_epoch_that_servers_agree_on() {
        let hello = Content::Message(b"hello".to_vec());
        let given = |number| [1, 1, 255].map(|byte| Some(issued(number, 3, byte)));
        let said = submission(&given(5), &hello).unwrap();
        assert_eq!((said.slot, said.message), (4, true));
        assert_eq!(RowFormat::new(&room(), 5).decode(&said.body), Some(hello.clone()));
        assert_eq!(submission(&given(5), &hello), Ok(said), "asked again, the same answer");
        let cover = submission(&given(6), &Content::Cover).unwrap();
        assert_eq!(RowFormat::new(&room(), 6).decode(&cover.body), Some(Content::Cover));
        assert!(!cover.message);
        let spoilt = [255, 255, 1].map(|byte| Some(issued(7, 3, byte)));
        assert_eq!(submission(&spoilt, &hello), Err(IssueError::Incomplete.into()));
        let long = Content::Message(vec![1; 63]);
        assert!(matches!(submission(&given(7), &long), Err(NoSubmission::TooLong(_))));
    }

    /// A server that names the true batch and another epoch would otherwise get two rows under the
    /// same masks.
    #[test]
    fn what_one_server_says_of_the_epoch_is_not_believed() {
        let one = |number, batch| Some(issued(number, batch, 1));
        let made = |issued: &[Option<Issued>]| submission(issued, &Content::Cover);
        for (home, other) in [(one(4, 3), one(5, 3)), (one(5, 4), one(5, 3)), (one(5, 3), None)] {
            assert_eq!(made(&[home, other, None]), Err(NoSubmission::NotAgreed));
        }
        let mut elsewhere = issued(5, 3, 1);
        elsewhere.slot = 7;
        assert_eq!(made(&[Some(elsewhere), one(5, 3), None]), Err(NoSubmission::NotAgreed));
        let row = made(&[one(4, 3), one(5, 3), one(5, 3)]).unwrap().body;
        assert_eq!(RowFormat::new(&room(), 4).decode(&row), None, "it was for epoch 5");
        assert_eq!(RowFormat::new(&room(), 5).decode(&row), Some(Content::Cover));
    }

    #[test]
    fn an_epoch_that_is_not_the_room_s_gets_nothing() {
        let change = |change: &dyn Fn(&mut Issued)| {
            let mut issued = issued(5, 3, 1);
            change(&mut issued);
            issued
        };
        for wrong in [
            change(&|issued| issued.context.epoch.room.0[0] ^= 1),
            change(&|issued| issued.context.shape.rows += 3),
            change(&|issued| issued.context.minimum += 1),
            change(&|issued| issued.context.mode = Mode::Robust),
            change(&|issued| issued.slot = room().capacity),
        ] {
            let twice = [Some(wrong.clone()), Some(wrong), None];
            let made = submission(&twice, &Content::Cover);
            assert_eq!(made, Err(NoSubmission::AnotherRoom));
        }
    }
}

//! What servers announce to each other.
//!
//! Every server has a log of announcements, numbered from 0, which the others deliver in order
//! (`agree`). An announcement carries how many announcements of each log its author had delivered
//! ([`Announcement::after`]); it is delivered after those. So whoever delivers one knows at least
//! what its author knew. Concurrent announcements are delivered in any order; `rooms` is written so
//! that the order does not matter.

use ostrakon_broadcast::hosting::{Deed, PollForm, SignedAction};
use ostrakon_crypto::VerifyingKey;
use ostrakon_job::Subject;
use ostrakon_mixing::engine::Form;
use ostrakon_mixing::room::{Admission, RoomDescriptor, RoomId};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

/// Bytes of the longest announcement.
pub const LONGEST: u64 = 64 << 10;
/// What a release can say and understand in announcements. It grows by one with each release that
/// can say more; what was said before keeps its form. A server says nothing that one of the others
/// does not understand yet ([`Body::language`]), so operators upgrade one after another. Where a
/// form changes, `ostrakon_net`'s version grows instead.
pub const LANGUAGE: u32 = 3;
/// Slots that one announcement assigns at most. A slot takes at most 37 bytes.
pub const MOST_SLOTS: usize = 1024;

/// An announcement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// For each server, how many of its announcements the author had delivered. For the author
    /// itself this is the announcement's own number.
    pub after: Vec<u64>,
    /// What it says.
    pub body: Body,
}

/// What an announcement says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// The author's operator created a room.
    RoomCreated(RoomDescriptor),
    /// The author's operator closed a room.
    RoomClosed(RoomId),
    /// All servers are to prepare a batch. From the scheduler only.
    BatchPlanned {
        /// Higher than any before.
        number: u64,
        /// What it is for.
        form: Form,
    },
    /// The author holds the batch.
    BatchReady {
        /// The batch.
        number: u64,
    },
    /// The author does not hold the batch and never will.
    BatchDropped {
        /// The batch.
        number: u64,
    },
    /// An epoch begins to collect. From the scheduler only.
    EpochOpened {
        /// The room.
        room: RoomId,
        /// One more than the room's epoch before.
        number: u64,
        /// The batch that it uses up.
        batch: u64,
    },
    /// The author gives out slots of its class.
    Assigned {
        /// The room.
        room: RoomId,
        /// The epoch that collects.
        epoch: u64,
        /// Slots and their owners; at most [`MOST_SLOTS`].
        slots: Vec<(u32, VerifyingKey)>,
    },
    /// An epoch is sealed. From the scheduler only, after every other server has said that it is
    /// due ([`Body::EpochDue`]), by [`Announcement::after`].
    EpochClosed {
        /// The room.
        room: RoomId,
        /// The epoch.
        number: u64,
    },
    /// An epoch that collects is given up, because a server lost its batch. From the scheduler
    /// only.
    EpochVoided {
        /// The room.
        room: RoomId,
        /// The epoch.
        number: u64,
    },
    /// A host of a room did something. From the scheduler only, which puts the actions of all hosts
    /// into one order.
    Hosted {
        /// The room.
        room: RoomId,
        /// The next of the room's host log.
        action: SignedAction,
    },
    /// By the author's clock an epoch has had its time, or all its slots were used. The author
    /// gives out no more slots of it.
    EpochDue {
        /// The room.
        room: RoomId,
        /// The epoch.
        number: u64,
    },
    /// The author says something of a job.
    Job {
        /// The job's number.
        job: u8,
        /// What it is about.
        subject: Subject,
        /// The word, as the job writes it; at most [`ostrakon_job::LONGEST_WORD`] bytes.
        word: Vec<u8>,
    },
}

impl Body {
    /// The first language in which it can be said.
    pub fn language(&self) -> u32 {
        match self {
            Body::RoomCreated(room) if room.admission == Admission::Messages => 3,
            Body::RoomCreated(_)
            | Body::RoomClosed(_)
            | Body::BatchPlanned { .. }
            | Body::BatchReady { .. }
            | Body::BatchDropped { .. }
            | Body::EpochOpened { .. }
            | Body::Assigned { .. }
            | Body::EpochClosed { .. }
            | Body::EpochVoided { .. }
            | Body::EpochDue { .. }
            | Body::Job { .. } => 1,
            Body::Hosted { action, .. } => language_of(&action.action.deed),
        }
    }
}

/// The first language in which a deed can be said. New deeds, and new forms of polls, come with a
/// new [`LANGUAGE`].
fn language_of(deed: &Deed) -> u32 {
    match deed {
        Deed::Poll { poll } => match poll.form {
            PollForm::Choice { .. } | PollForm::Rating { .. } | PollForm::Text => 1,
            PollForm::Messages { .. } | PollForm::Ranking { .. } => 2,
        },
        Deed::Hide { .. }
        | Deed::Approve { .. }
        | Deed::Pin { .. }
        | Deed::Answer { .. }
        | Deed::Group { .. }
        | Deed::Erase { .. }
        | Deed::Withdraw { .. }
        | Deed::Host { .. }
        | Deed::Admit { .. }
        | Deed::Invite { .. }
        | Deed::Claim { .. }
        | Deed::Dismiss { .. }
        | Deed::Moderate { .. }
        | Deed::Close
        | Deed::EraseAll
        | Deed::Minimum { .. } => 1,
        Deed::Spotlight { .. } | Deed::Reveal { .. } => 2,
    }
}

impl Announcement {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads bytes. There are so many `servers`, and a word on the log of each.
    ///
    /// # Errors
    /// [`wire::Malformed`].
    pub fn decode(bytes: &[u8], servers: usize) -> Result<Self, wire::Malformed> {
        let read: Self = wire::decode(bytes)?;
        if read.after.len() == servers { Ok(read) } else { Err(wire::Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_broadcast::hosting::{
        Action, Deed, KEYS_AT_ONCE, MessageId, OPTION_BYTES, OPTIONS, Poll, PollForm,
        QUESTION_BYTES,
    };
    use ostrakon_crypto::{Digest, Signature};
    use ostrakon_mixing::EngineKind;
    use ostrakon_mixing::engine::Shape;

    use super::*;

    /// More servers than any deployment here has.
    const MANY: usize = 16;

    /// One of each kind of the first language, deeds of hosts included.
    fn first_language() -> Vec<Body> {
        let (room, key) = (RoomId([1; 16]), VerifyingKey([2; 32]));
        let target = MessageId { epoch: 3, index: 4 };
        let poll = |form| Deed::Poll { poll: Poll { question: "?".into(), form, epoch: 5 } };
        let choice = PollForm::Choice { options: vec!["a".into(), "b".into()], several: true };
        let deeds = vec![
            Deed::Hide { target, hidden: true },
            Deed::Approve { target, approved: true },
            Deed::Pin { target, pinned: true },
            Deed::Answer { target, answered: true },
            Deed::Group { target, group: Some("g".into()) },
            Deed::Erase { target },
            poll(choice),
            poll(PollForm::Rating { highest: 5 }),
            poll(PollForm::Text),
            Deed::Withdraw { poll: 6 },
            Deed::Host { key, name: "n".into(), active: true },
            Deed::Admit { keys: vec![key] },
            Deed::Invite { keys: vec![key] },
            Deed::Claim { key, signature: Signature([7; 64]) },
            Deed::Dismiss { keys: vec![key] },
            Deed::Moderate { on: true },
            Deed::Close,
            Deed::EraseAll,
            Deed::Minimum { minimum: 28 },
        ];
        let hosted = |deed| {
            let action =
                Action { number: 8, previous: Digest([9; 32]), author: key, time: 10, deed };
            Body::Hosted { room, action: SignedAction { action, signature: Signature([11; 64]) } }
        };
        let descriptor = RoomDescriptor {
            host: Some(key),
            retention_days: Some(13),
            ..RoomDescriptor::new("r")
        };
        let form = Form { engine: EngineKind::Clarion, shape: Shape { rows: 15, width: 16 } };
        let mut bodies = vec![
            Body::RoomCreated(descriptor),
            Body::RoomClosed(room),
            Body::BatchPlanned { number: 14, form },
            Body::BatchReady { number: 17 },
            Body::BatchDropped { number: 18 },
            Body::EpochOpened { room, number: 19, batch: 20 },
            Body::Assigned { room, epoch: 21, slots: vec![(22, key)] },
            Body::EpochClosed { room, number: 23 },
            Body::EpochVoided { room, number: 24 },
            Body::EpochDue { room, number: 27 },
            Body::Job { job: 25, subject: [12; 16], word: vec![26] },
        ];
        bodies.extend(deeds.into_iter().map(hosted));
        bodies
    }

    /// A release that changes how something is said that others say already cannot work beside
    /// them: then it is not this digest that is to be changed, but first the version of
    /// `ostrakon_net`, and the changelog is to say so.
    #[test]
    fn what_was_said_in_the_first_language_keeps_its_form() {
        let mut transcript = ostrakon_crypto::Transcript::new("test/first language");
        for body in first_language() {
            assert_eq!(body.language(), 1);
            let announcement = Announcement { after: vec![1, 2, 3], body };
            let bytes = announcement.encode();
            for servers in [2, 4] {
                assert!(Announcement::decode(&bytes, servers).is_err(), "of other servers");
            }
            assert_eq!(Announcement::decode(&bytes, 3), Ok(announcement));
            transcript.field(&bytes);
        }
        assert_eq!(
            transcript.finish().to_hex(),
            "fd6b94356c5f112c65dfc432606acd902741f98f72ad0c12a39472cc5c542053"
        );
    }

    #[test]
    fn what_came_with_the_second_language_is_not_said_in_the_first() {
        let target = MessageId { epoch: 3, index: 4 };
        let poll = |form| Deed::Poll { poll: Poll { question: "?".into(), form, epoch: 5 } };
        for deed in [
            poll(PollForm::Messages { targets: vec![target, MessageId { epoch: 4, index: 0 }] }),
            poll(PollForm::Ranking { options: vec!["a".into(), "b".into()] }),
            Deed::Spotlight { target: Some(target) },
            Deed::Reveal { poll: 6, right: [1].into() },
        ] {
            assert_eq!(language_of(&deed), 2, "{deed:?}");
        }
    }

    #[test]
    fn what_came_with_the_third_language_is_not_said_before() {
        let messages =
            RoomDescriptor { admission: Admission::Messages, ..RoomDescriptor::new("r") };
        assert_eq!(Body::RoomCreated(messages).language(), 3);
    }

    #[test]
    fn the_longest_assignment_fits() {
        let slots = vec![(u32::MAX, VerifyingKey([255; 32])); MOST_SLOTS];
        let body = Body::Assigned { room: RoomId([255; 16]), epoch: u64::MAX, slots };
        let announcement = Announcement { after: vec![u64::MAX; MANY], body };
        let bytes = announcement.encode();
        assert!(bytes.len() as u64 <= LONGEST, "{}", bytes.len());
        assert_eq!(Announcement::decode(&bytes, MANY), Ok(announcement));
    }

    #[test]
    fn the_longest_word_of_a_job_fits() {
        let word = vec![255; ostrakon_job::LONGEST_WORD];
        let body = Body::Job { job: u8::MAX, subject: [255; 16], word };
        let bytes = Announcement { after: vec![u64::MAX; MANY], body }.encode();
        assert!(bytes.len() as u64 <= LONGEST, "{}", bytes.len());
    }

    #[test]
    fn the_longest_action_of_a_host_fits() {
        let options = (0..*OPTIONS.end()).map(|_| "o".repeat(OPTION_BYTES)).collect();
        let form = PollForm::Choice { options, several: true };
        let poll = Poll { question: "q".repeat(QUESTION_BYTES), form, epoch: u64::MAX };
        for deed in
            [Deed::Admit { keys: vec![VerifyingKey([255; 32]); KEYS_AT_ONCE] }, Deed::Poll { poll }]
        {
            let author = VerifyingKey([255; 32]);
            let action = Action {
                number: u64::MAX,
                previous: Digest([255; 32]),
                author,
                time: u64::MAX,
                deed,
            };
            let action = SignedAction { action, signature: Signature([255; 64]) };
            let body = Body::Hosted { room: RoomId([255; 16]), action };
            let announcement = Announcement { after: vec![u64::MAX; MANY], body };
            let bytes = announcement.encode();
            assert!(bytes.len() as u64 <= LONGEST, "{}", bytes.len());
            assert_eq!(Announcement::decode(&bytes, MANY), Ok(announcement));
        }
    }
}

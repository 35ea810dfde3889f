//! A host's actions: what they say and how they are signed.

use std::collections::BTreeSet;

use ostrakon_crypto::{Digest, Signature, Transcript, VerifyingKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use super::message::MessageId;
use super::poll::Poll;
use super::refused::InvalidDeed;
use ostrakon_mixing::room::RoomId;

/// Longest name of a group of messages or of a co-host, in bytes of UTF-8.
pub const LABEL_BYTES: usize = 100;
/// Keys that one action admits or dismisses at most.
pub const KEYS_AT_ONCE: usize = 256;

/// What a host does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// Pages do not show the message; they say how many are hidden.
    Hide {
        /// The message.
        target: MessageId,
        /// Hidden, or shown again.
        hidden: bool,
    },
    /// In a moderated room, the projector shows the message.
    Approve {
        /// The message.
        target: MessageId,
        /// Approved, or not any more.
        approved: bool,
    },
    /// The message stands above the others.
    Pin {
        /// The message.
        target: MessageId,
        /// Pinned, or not any more.
        pinned: bool,
    },
    /// The question is answered.
    Answer {
        /// The message.
        target: MessageId,
        /// Answered, or not any more.
        answered: bool,
    },
    /// The message belongs to a group.
    Group {
        /// The message.
        target: MessageId,
        /// The group's name; none takes the message out of its group.
        group: Option<String>,
    },
    /// The servers erase the message's body. Its digest stays in the chain.
    Erase {
        /// The message.
        target: MessageId,
    },
    /// A poll is asked. Its id is the number of this action.
    Poll {
        /// The poll.
        poll: Poll,
    },
    /// A poll does not count.
    Withdraw {
        /// Its id.
        poll: u64,
    },
    /// A co-host may act, or may not any more. By the first host only.
    Host {
        /// The co-host's key.
        key: VerifyingKey,
        /// How the co-host is called.
        name: String,
        /// May act.
        active: bool,
    },
    /// Keys that people have shown may take part, each for itself.
    Admit {
        /// At most [`KEYS_AT_ONCE`].
        keys: Vec<VerifyingKey>,
    },
    /// Keys that are in links may each be claimed, once, for a key that then takes part. They do
    /// not take part themselves.
    Invite {
        /// At most [`KEYS_AT_ONCE`].
        keys: Vec<VerifyingKey>,
    },
    /// The invitation that is the author takes a key in. Whose two signatures these are: see
    /// [`super::Claim`].
    Claim {
        /// The key that takes part from now on.
        key: VerifyingKey,
        /// By that key, on [`super::Claim::digest`].
        signature: Signature,
    },
    /// Keys may not take part any more, from the next epoch on; an invitation takes the key that
    /// claimed it along.
    Dismiss {
        /// At most [`KEYS_AT_ONCE`].
        keys: Vec<VerifyingKey>,
    },
    /// The projector shows approved messages only, or all.
    Moderate {
        /// Approved ones only.
        on: bool,
    },
    /// The room takes no more messages.
    Close,
    /// The room takes no more messages, and the servers erase the bodies of all.
    EraseAll,
    /// Projectors show one message alone, unless it is hidden or erased; none shows the wall again.
    Spotlight {
        /// The message.
        target: Option<MessageId>,
    },
    /// The host says which options of a choice are right. Said again, the last time counts.
    Reveal {
        /// The poll's id.
        poll: u64,
        /// Indices of the right options.
        right: BTreeSet<u8>,
    },
    /// From the next epoch on, fewer people are enough. Whoever joined before speaks no more until
    /// it has agreed.
    Minimum {
        /// Below the one that holds, and at least 1.
        minimum: u32,
    },
}

impl Deed {
    /// Checks what can be checked without knowing the room.
    ///
    /// # Errors
    /// [`InvalidDeed`] names the limit.
    pub fn validate(&self) -> Result<(), InvalidDeed> {
        let complain = |text: String| Err(InvalidDeed(text));
        match self {
            Deed::Group { group: Some(name), .. } | Deed::Host { name, .. }
                if name.trim().is_empty() || name.len() > LABEL_BYTES =>
            {
                complain(format!("a name must have 1 to {LABEL_BYTES} bytes"))
            }
            Deed::Admit { keys } | Deed::Invite { keys } | Deed::Dismiss { keys }
                if keys.is_empty() || keys.len() > KEYS_AT_ONCE =>
            {
                complain(format!(
                    "one action admits, invites or dismisses 1 to {KEYS_AT_ONCE} keys"
                ))
            }
            Deed::Poll { poll } => poll.validate(),
            _ => Ok(()),
        }
    }

    /// The message that it is about.
    pub fn target(&self) -> Option<MessageId> {
        match self {
            Deed::Hide { target, .. }
            | Deed::Approve { target, .. }
            | Deed::Pin { target, .. }
            | Deed::Answer { target, .. }
            | Deed::Group { target, .. }
            | Deed::Erase { target } => Some(*target),
            _ => None,
        }
    }
}

/// An action of a host, or a claim in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Its place in the room's host log, from 0.
    pub number: u64,
    /// The digest of the action before; zeros for the first.
    pub previous: Digest,
    /// The host or co-host; of a claim, the invitation.
    pub author: VerifyingKey,
    /// The author's clock, in seconds since 1970; shown, never relied on. A claim has zero.
    pub time: u64,
    /// What is done.
    pub deed: Deed,
}

impl Action {
    /// The action's digest, which the next action names, and which its author signs; of a claim see
    /// [`super::Claim`].
    pub fn digest(&self, servers: &Digest, room: &RoomId) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/broadcast/host action");
        transcript
            .field(&servers.0)
            .field(&room.0)
            .number(self.number)
            .field(&self.previous.0)
            .field(&self.author.0)
            .number(self.time)
            .field(&wire::encode(&self.deed));
        transcript.finish()
    }
}

/// An action with its author's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedAction {
    /// The action.
    pub action: Action,
    /// By the author, on [`Action::digest`]; of a claim on [`super::Claim::digest`].
    pub signature: Signature,
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::SigningKey;

    use super::super::poll::PollForm;
    use super::*;

    /// The forms in `docs/spec/hosting.md`.
    #[test]
    fn deeds_have_the_forms_that_are_specified() {
        let target = MessageId { epoch: 3, index: 0 };
        let key = SigningKey::from_seed(&[1; 32]).verifying_key();
        let hexadecimal = key.to_hex();
        let poll = |form| Deed::Poll { poll: Poll { question: "Why?".into(), form, epoch: 9 } };
        let asked = |form: &str| {
            format!(r#"{{"poll":{{"poll":{{"question":"Why?","form":{form},"epoch":9}}}}}}"#)
        };
        let at = r#""target":{"epoch":3,"index":0}"#;
        let choice = PollForm::Choice { options: vec!["a".into(), "b".into()], several: false };
        let forms = [
            (Deed::Hide { target, hidden: true }, format!(r#"{{"hide":{{{at},"hidden":true}}}}"#)),
            (Deed::Group { target, group: None }, format!(r#"{{"group":{{{at},"group":null}}}}"#)),
            (Deed::Erase { target }, format!(r#"{{"erase":{{{at}}}}}"#)),
            (poll(choice), asked(r#"{"choice":{"options":["a","b"],"several":false}}"#)),
            (poll(PollForm::Rating { highest: 5 }), asked(r#"{"rating":{"highest":5}}"#)),
            (poll(PollForm::Text), asked(r#""text""#)),
            (Deed::Withdraw { poll: 7 }, r#"{"withdraw":{"poll":7}}"#.into()),
            (
                Deed::Host { key, name: "Ada".into(), active: true },
                format!(r#"{{"host":{{"key":"{hexadecimal}","name":"Ada","active":true}}}}"#),
            ),
            (
                Deed::Admit { keys: vec![key] },
                format!(r#"{{"admit":{{"keys":["{hexadecimal}"]}}}}"#),
            ),
            (
                Deed::Invite { keys: vec![key] },
                format!(r#"{{"invite":{{"keys":["{hexadecimal}"]}}}}"#),
            ),
            (
                Deed::Claim { key, signature: Signature([0xab; 64]) },
                format!(
                    r#"{{"claim":{{"key":"{hexadecimal}","signature":"{}"}}}}"#,
                    "ab".repeat(64)
                ),
            ),
            (Deed::Moderate { on: true }, r#"{"moderate":{"on":true}}"#.into()),
            (
                poll(PollForm::Messages {
                    targets: vec![target, MessageId { epoch: 3, index: 2 }],
                }),
                asked(r#"{"messages":{"targets":[{"epoch":3,"index":0},{"epoch":3,"index":2}]}}"#),
            ),
            (
                poll(PollForm::Ranking { options: vec!["a".into(), "b".into()] }),
                asked(r#"{"ranking":{"options":["a","b"]}}"#),
            ),
            (Deed::Spotlight { target: Some(target) }, format!(r#"{{"spotlight":{{{at}}}}}"#)),
            (Deed::Spotlight { target: None }, r#"{"spotlight":{"target":null}}"#.into()),
            (
                Deed::Reveal { poll: 7, right: [1].into() },
                r#"{"reveal":{"poll":7,"right":[1]}}"#.into(),
            ),
            (Deed::EraseAll, r#""erase-all""#.into()),
            (Deed::Minimum { minimum: 2 }, r#"{"minimum":{"minimum":2}}"#.into()),
        ];
        for (deed, form) in forms {
            assert_eq!(serde_json::to_string(&deed).unwrap(), form);
            assert_eq!(serde_json::from_str::<Deed>(&form).unwrap(), deed);
        }
    }
}

//! A server that lies while stock is prepared: what it sends one other member is made false, and
//! signed anew. Used by the tests of the process, too.

use ostrakon_asynchromix::Room;
use ostrakon_asynchromix::message::{Message, RunId};
use ostrakon_asynchromix::state::State;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_robust::message::{ELEMENT, Part, Signed};

/// What it lies about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// What it deals.
    Numbers,
    /// What it has computed, in an opening.
    Result,
}

impl Lie {
    fn is_about(self, part: Part) -> bool {
        match self {
            Lie::Numbers => part == Part::Deal,
            Lie::Result => part == Part::Encode,
        }
    }
}

/// What leaves instead of a message to another server; `None` for the message itself. `state` is
/// what the liar knows.
pub fn told(
    lie: Lie,
    (room, state): (&Room, &State),
    signing: &SigningKey,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let Ok(Message::Run(run @ RunId::Batch(number), inner)) = Message::decode(bytes, usize::MAX)
    else {
        return None;
    };
    let signed = Signed::from_bytes(&inner)?;
    let subject = room.subject_of(number);
    let members = subject.committee.members();
    let own = subject.committee.position(signed.from)?;
    let victim = members[(own + 1) % members.len()];
    let committed = &state.stock.batches.get(&number)?.committed;
    if !lie.is_about(signed.step.part)
        || signed.to != victim
        || signed.body.len() < ELEMENT
        || committed.len() < members.len()
    {
        return None;
    }
    let commitments: Vec<Digest> = committed.values().copied().collect();
    let instance = subject.instance(&room.shuffle_of(number), &commitments);
    let mut body = signed.body.clone();
    // Another element, and below p with all but a chance of 2^-32.
    body[0] ^= 1;
    let ends = [signed.from, signed.to];
    let message = instance.sign(signing, signed.step, ends, body);
    Some(Message::Run(run, message.to_bytes().into()).encode())
}

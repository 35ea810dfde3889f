//! The callee's first rows (specification, 4.7): in one, the answer to a call and the row of the
//! conversation that it begins. To everybody but the caller they look like any row of a channel.

use ostrakon_crypto::locked::{TAG, lock, unlock};
use ostrakon_crypto::{Secret, Transcript};
use ostrakon_mixing::RoomId;
use serde::{Deserialize, Serialize};

use crate::chain::about;
use crate::hidden::Hidden;
use crate::link::Callee;
use crate::params::ADDRESS;
use crate::parts::row;

use super::{ANSWER_BYTES, Answer};

/// Bytes by which such a row says less than another one: the answer, and the tag of the lock
/// within.
pub(crate) const OPENING: usize = ANSWER_BYTES + TAG;

/// What a caller, and the owner of the link that it called, have in common before the answer.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Opening(Hidden<32>);

impl Opening {
    /// At the caller, who has the secret half of the call's key. `None` if the link's key is none.
    pub fn of_caller(room: &RoomId, call: &Hidden<32>, to: &Callee) -> Option<Self> {
        let call = call.exchange();
        Some(Self::new(room, &call.agree(&to.key)?, to, &call.public()))
    }

    /// At the callee, who has the secret half of its link's key. `None` if the call's key is none.
    pub fn of_callee(
        room: &RoomId,
        link: &Hidden<32>,
        own: &Callee,
        call: &[u8; 32],
    ) -> Option<Self> {
        Some(Self::new(room, &link.exchange().agree(call)?, own, call))
    }

    /// Of no call: it takes as long.
    pub fn of_nobody() -> Self {
        Self(Hidden([1; 32]))
    }

    fn new(room: &RoomId, shared: &Secret, link: &Callee, call: &[u8; 32]) -> Self {
        let mut about = Transcript::new("ostrakon/v1/messaging/opening about");
        about.field(&room.0).field(&link.key).field(call).field(&link.secret.0);
        Self(Hidden::of(&shared.derive("ostrakon/v1/messaging/opening", &[&about.finish().0])))
    }

    fn key(&self, round: u64) -> Secret {
        self.0.secret().derive("ostrakon/v1/messaging/opening of a round", &[&round.to_le_bytes()])
    }

    /// Where the row of a round is found.
    pub fn address(&self, round: u64) -> [u8; ADDRESS] {
        let mut address = [0; ADDRESS];
        self.key(round).fill("ostrakon/v1/messaging/address", &[], &mut address);
        address
    }

    fn sealing(&self, round: u64) -> Secret {
        self.key(round).derive("ostrakon/v1/messaging/row", &[])
    }

    /// The row of a round: the answer, and what is locked for who has the conversation's root.
    pub fn write(&self, room: &RoomId, round: u64, answer: &Answer, within: &[u8]) -> Vec<u8> {
        let plain = [&answer.encode()[..], within].concat();
        row(&self.address(round), &lock(self.sealing(round), &about(room, round), &plain))
    }

    /// Opens what was found at the address of a round: the answer, and what is locked within.
    pub fn read(&self, room: &RoomId, round: u64, locked: &[u8]) -> Option<(Answer, Vec<u8>)> {
        let plain = unlock(self.sealing(round), &about(room, round), locked)?;
        let (answer, within) = plain.split_first_chunk()?;
        Some((Answer::decode(answer), within.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::LINK_SECRET;

    const ROOM: RoomId = RoomId([9; 16]);

    #[test]
    fn an_opening_row_is_read_by_the_caller_in_its_round_only() {
        let (link, call) = (Hidden([1; 32]), Hidden([2; 32]));
        let callee = Callee { key: link.exchange().public(), secret: Hidden([3; LINK_SECRET]) };
        let once = call.exchange().public();
        let own = Opening::of_callee(&ROOM, &link, &callee, &once).unwrap();
        let other = Opening::of_caller(&ROOM, &call, &callee).unwrap();
        let answer = Answer { once: [7; 32], channel: 2, start: 9 };
        let row = own.write(&ROOM, 12, &answer, b"within");
        let (address, locked) = row[1..].split_first_chunk::<ADDRESS>().unwrap();
        assert_eq!(*address, other.address(12));
        assert_eq!(other.read(&ROOM, 12, locked), Some((answer, b"within".to_vec())));
        assert!(other.read(&ROOM, 17, locked).is_none(), "another round");
        assert!(other.read(&RoomId([8; 16]), 12, locked).is_none(), "another room");
        assert_ne!(other.address(17), *address);
        // Who has the link, or was called by another key, finds nothing.
        let secret = Callee { secret: Hidden([4; LINK_SECRET]), ..callee.clone() };
        for another in [
            Opening::of_caller(&ROOM, &Hidden([5; 32]), &callee),
            Opening::of_caller(&ROOM, &call, &secret),
            Opening::of_caller(&RoomId([8; 16]), &call, &callee),
        ] {
            assert_ne!(another.unwrap().address(12), *address);
        }
        assert!(Opening::of_callee(&ROOM, &link, &callee, &[0; 32]).is_none(), "no key");
    }
}

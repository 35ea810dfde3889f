//! The keys of a conversation: one for each cycle and direction (specification, section 5).

use ostrakon_crypto::locked::{lock, unlock};
use ostrakon_crypto::{Secret, Transcript};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::hidden::Hidden;
use crate::params::{ADDRESS, SLEEP};

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Side {
    /// Who called.
    Caller,
    /// Who was called.
    Callee,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Side::Caller => Side::Callee,
            Side::Callee => Side::Caller,
        }
    }

    fn number(self) -> u8 {
        match self {
            Side::Caller => 1,
            Side::Callee => 2,
        }
    }
}

/// The key of one row: of one cycle and one direction. What is made of it is made once.
#[derive(Serialize, Deserialize)]
pub(crate) struct RowKey(Hidden<32>);

impl RowKey {
    /// Where the row is found.
    pub fn address(&self) -> [u8; ADDRESS] {
        let mut address = [0; ADDRESS];
        self.0.secret().fill("ostrakon/v1/messaging/address", &[], &mut address);
        address
    }

    /// Step 5.3: locks what the row says.
    pub fn lock(self, about: &[u8], plain: &[u8]) -> Vec<u8> {
        lock(self.sealing(), about, plain)
    }

    /// Opens what the other side has locked.
    pub fn unlock(self, about: &[u8], locked: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        unlock(self.sealing(), about, locked)
    }

    fn sealing(&self) -> Secret {
        self.0.secret().derive("ostrakon/v1/messaging/row", &[])
    }
}

/// A chain of keys. It holds the key of the next cycle that is to be used and none before.
#[derive(Serialize, Deserialize)]
pub(crate) struct Chain {
    key: Hidden<32>,
    cycle: u64,
}

impl Chain {
    /// Step 5.1: begins with the root of a conversation, at a cycle.
    pub fn new(root: &Secret, cycle: u64) -> Self {
        Self { key: Hidden::of(&root.derive("ostrakon/v1/messaging/chain", &[])), cycle }
    }

    /// The cycle that it is ready for.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Step 5.2: the keys of a cycle, of the rows that `side` writes and reads. The chain moves on
    /// behind the cycle, and what it was before is forgotten. `None` if it is there already, or
    /// more than [`SLEEP`] cycles before.
    pub fn take(&mut self, cycle: u64, side: Side) -> Option<(RowKey, RowKey)> {
        if cycle < self.cycle || cycle - self.cycle > SLEEP {
            return None;
        }
        while self.cycle < cycle {
            self.step();
        }
        let key = |side: Side| {
            let key = self.key.secret().derive("ostrakon/v1/messaging/cycle", &[&[side.number()]]);
            RowKey(Hidden::of(&key))
        };
        let keys = (key(side), key(side.other()));
        self.step();
        Some(keys)
    }

    fn step(&mut self) {
        self.key = Hidden::of(&self.key.secret().derive("ostrakon/v1/messaging/chain step", &[]));
        self.cycle += 1;
    }
}

/// What is authenticated with a row: the room and the round.
pub(crate) fn about(room: &ostrakon_mixing::RoomId, round: u64) -> [u8; 32] {
    let mut transcript = Transcript::new("ostrakon/v1/messaging/about");
    transcript.field(&room.0).number(round).finish().0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> Chain {
        Chain::new(&Secret::new([7; 32]), 10)
    }

    #[test]
    fn both_sides_have_the_same_keys_and_no_two_rows_do() {
        let (mut caller, mut callee) = (chain(), chain());
        let mut addresses = std::collections::BTreeSet::new();
        for cycle in [10, 11, 15, 16] {
            let (write, read) = caller.take(cycle, Side::Caller).unwrap();
            let (other_write, other_read) = callee.take(cycle, Side::Callee).unwrap();
            assert_eq!(write.address(), other_read.address());
            assert_eq!(read.address(), other_write.address());
            assert!(addresses.insert(write.address()) && addresses.insert(read.address()));
            let locked = write.lock(b"about", b"words");
            assert_eq!(other_read.unlock(b"about", &locked).unwrap()[..], b"words"[..]);
        }
        assert_eq!(addresses.len(), 8);
    }

    #[test]
    fn a_cycle_is_used_once_and_none_before_it() {
        let mut chain = chain();
        assert!(chain.take(9, Side::Caller).is_none());
        assert!(chain.take(12, Side::Caller).is_some());
        assert!(chain.take(12, Side::Caller).is_none());
        assert!(chain.take(11, Side::Caller).is_none());
        assert!(chain.take(13 + SLEEP + 1, Side::Caller).is_none());
        assert!(chain.take(13, Side::Caller).is_some());
    }

    /// What is kept after a cycle is another key than before, and one that follows from it.
    #[test]
    fn what_was_used_is_forgotten() {
        let mut chain = chain();
        let before = chain.key.clone();
        chain.take(10, Side::Caller).unwrap();
        assert!(chain.key != before);
        let next = before.secret().derive("ostrakon/v1/messaging/chain step", &[]);
        assert!(chain.key == Hidden::of(&next));
    }
}

//! Where a participant is present: the rules, and how it stands there.

use std::collections::BTreeSet;

use ostrakon_party::PartyId;

use crate::reports::Counts;
use crate::time::Millis;

/// Between two signs of presence; a server forgets a participant after [`FORGOTTEN`].
pub const PRESENCE_EVERY: Millis = 10_000;
/// After a sign that did not arrive, before the next one at the same server.
pub const PRESENCE_AGAIN: Millis = 5_000;
/// Signs that do not arrive, one after the other, before a server is left.
pub const MISSED: u32 = 2;
/// A server has forgotten whoever said so long ago that it is there.
pub const FORGOTTEN: Millis = 30_000;
/// Within this time participants who come at the same moment choose their homes, one after the
/// other.
pub const SPREAD: Millis = 800;
/// The pause after a server that did not let a participant in, or while none answers.
pub const NOBODY: Millis = 1_000;

/// The server to be present at: the one with the fewest participants, of those that answer
/// (`Some`). `draw` is a random number that decides between equals; `avoid` is a server that gave
/// no slot, taken only if no other one answers.
pub fn choose_home(present: &[Option<u32>], avoid: Option<PartyId>, draw: u32) -> Option<PartyId> {
    let answering =
        || (0u8..).zip(present).filter_map(|(id, count)| Some((PartyId(id), (*count)?)));
    let wanted: Vec<_> = answering().filter(|(id, _)| Some(*id) != avoid).collect();
    let choice = if wanted.is_empty() { answering().collect() } else { wanted };
    let fewest = choice.iter().map(|(_, count)| *count).min()?;
    let equals: Vec<_> = choice.iter().filter(|(_, count)| *count == fewest).collect();
    Some(equals[draw as usize % equals.len()].0)
}

/// After a third of an epoch, and after so long at most, a server gives a slot to who is still
/// there although another server has given out fewer.
const PATIENCE: Millis = 5_000;
/// How long that may take to arrive.
const ARRIVING: Millis = 1_500;

/// The longest that somebody who is present waits for a slot before looking for another server,
/// whatever numbers the servers tell, in a room with epochs of so many seconds: an honest server
/// has given one by then, and who is kept waiting by one server alone still comes in time.
pub fn longest_wait(seconds: u32) -> Millis {
    PATIENCE.min(Millis::from(seconds) * 1_000 / 3) + ARRIVING
}

/// The servers' numbers without those that have kept a participant waiting in this epoch, unless no
/// other one answers.
pub fn without(present: &[Option<u32>], shunned: &BTreeSet<PartyId>) -> Vec<Option<u32>> {
    let keep =
        |(party, count): (u8, &Option<u32>)| count.filter(|_| !shunned.contains(&PartyId(party)));
    let left: Vec<_> = (0..).zip(present).map(keep).collect();
    if left.iter().all(Option::is_none) { present.to_vec() } else { left }
}

/// Whether the participants at `home` should make room after an epoch with too few: another server
/// that answers (`Some`) has at least two fewer. Whoever is told so moves with probability one
/// half, so that not all go.
pub fn is_crowded(present: &[Option<u32>], home: PartyId) -> bool {
    let here = present.get(home.index()).copied().flatten().unwrap_or(0);
    present.iter().flatten().any(|count| count.saturating_add(2) <= here)
}

/// How a participant stands towards the servers.
#[derive(Debug)]
pub enum Standing {
    /// It waits until then, and asks how many there are at each server (P3.1).
    Looking(Millis),
    /// It asks.
    Choosing(Count),
    /// It says to a server that it is there.
    Greeting,
    /// It is there.
    Present(Present),
}

/// At home.
#[derive(Debug)]
pub struct Present {
    /// The server.
    pub home: PartyId,
    /// When the participant last heard that it knows.
    pub greeted: Millis,
    /// When it is told so next; `None` while it is told.
    pub next: Option<Millis>,
    /// Signs that did not arrive, one after the other.
    pub missed: u32,
    /// The question whether there are fewer elsewhere, and why it is asked.
    pub count: Option<(Why, Count)>,
}

/// Why a participant at home asks how many there are elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It has no slot (P3.3).
    NoSlot,
    /// An epoch ended with too few (P3.6).
    TooFew,
}

impl Present {
    /// As of now.
    pub fn new(home: PartyId, now: Millis) -> Self {
        Self { home, greeted: now, next: Some(now + PRESENCE_EVERY), missed: 0, count: None }
    }
}

/// A question to all servers how many there are.
#[derive(Debug)]
pub struct Count {
    /// Which one it is, by which its answers are told from others.
    pub number: u64,
    /// When the answers that there are have to do.
    pub until: Millis,
    /// The answers.
    pub counts: Counts,
    /// How many are missing.
    pub open: usize,
}

impl Count {
    /// Whether it is answered as far as it will be.
    pub fn is_over(&self, now: Millis) -> bool {
        self.open == 0 || now >= self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_the_emptiest_server_that_answers() {
        assert_eq!(choose_home(&[Some(3), Some(1), Some(2)], None, 9), Some(PartyId(1)));
        assert_eq!(
            choose_home(&[Some(3), Some(1), Some(2)], Some(PartyId(1)), 9),
            Some(PartyId(2))
        );
        assert_eq!(choose_home(&[Some(1), None, Some(1)], None, 0), Some(PartyId(0)));
        let shunned = BTreeSet::from([PartyId(0), PartyId(2)]);
        assert_eq!(without(&[Some(0), Some(5), None], &shunned), [None, Some(5), None]);
        assert_eq!(without(&[Some(0), None, Some(5)], &shunned), [Some(0), None, Some(5)]);
        assert_eq!(longest_wait(60), 6_500);
        assert_eq!(longest_wait(6), 3_500);
        assert_eq!(choose_home(&[Some(1), None, Some(1)], None, 1), Some(PartyId(2)));
        assert_eq!(choose_home(&[None, Some(5), None], Some(PartyId(1)), 1), Some(PartyId(1)));
        assert_eq!(choose_home(&[None, None], None, 1), None);
    }

    #[test]
    fn only_a_server_with_two_more_than_another_is_crowded() {
        let home = PartyId(0);
        assert!(is_crowded(&[Some(2), Some(0), Some(2)], home));
        assert!(!is_crowded(&[Some(2), Some(1), Some(1)], home));
        assert!(!is_crowded(&[Some(2), Some(0), Some(2)], PartyId(1)));
        assert!(!is_crowded(&[Some(2), None, None], home), "nowhere to go");
        assert!(!is_crowded(&[None, Some(0), Some(0)], home));
        assert!(!is_crowded(&[Some(u32::MAX)], PartyId(3)));
    }
}

//! Which servers prepare material together (spec 8).
//!
//! A batch needs all 3t + 1 members of its set. With n = 3t + 1 servers there is one set, and
//! preparation stops with the first server. With more, some set consists of servers that answer;
//! nobody can tell which without a clock, so all sets are under way at once.

use std::ops::Range;

use ostrakon_party::PartyId;

/// Batches of a set that may be under way or in stock: a set with a silent member costs no more.
pub const MOST: usize = 2;

/// Sets of which batches can be under way at a time: those of nine servers of which two may be
/// corrupt.
pub const SETS: usize = 36;

/// The sets of 3t + 1 among n servers, ascending; `None` if n < 3t + 1, or if there would be too
/// many sets to try all.
#[must_use]
pub fn sets(servers: usize, corrupt: usize) -> Option<Vec<Vec<PartyId>>> {
    let size = 3 * corrupt + 1;
    if corrupt == 0 || servers < size || servers > 255 {
        return None;
    }
    let mut sets = Vec::new();
    choose(0..servers, size, &mut Vec::new(), &mut sets);
    (sets.len() <= SETS).then_some(sets)
}

/// Adds all sets that consist of `chosen` and `size` more of `rest`, until there are too many.
fn choose(
    rest: Range<usize>,
    size: usize,
    chosen: &mut Vec<PartyId>,
    sets: &mut Vec<Vec<PartyId>>,
) {
    if size == 0 {
        sets.push(chosen.clone());
        return;
    }
    for next in rest.start..=rest.end - size {
        if sets.len() > SETS {
            return;
        }
        chosen.push(PartyId(u8::try_from(next).expect("parties are numbered by bytes")));
        choose(next + 1..rest.end, size - 1, chosen, sets);
        chosen.pop();
    }
}

/// The sets of which a batch is to be started, given how many batches each has (under way or in
/// stock). Pure: all servers that agree on the numbers agree on the plan.
#[must_use]
pub fn to_start(batches: &[usize]) -> Vec<usize> {
    (0..batches.len()).filter(|&set| batches[set] < MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sets_are_planned_and_too_many_refused() {
        let count = |n, t| sets(n, t).map(|sets| sets.len());
        assert_eq!(count(4, 1), Some(1));
        assert_eq!(count(5, 1), Some(5));
        assert_eq!(count(7, 2), Some(1));
        assert_eq!(count(9, 2), Some(36));
        assert_eq!(count(10, 3), Some(1));
        assert_eq!(count(7, 1), Some(35));
        assert_eq!(count(8, 1), None, "70 sets");
        assert_eq!(count(11, 3), Some(11));
        assert_eq!(count(255, 1), None);
        assert_eq!(count(10, 2), None);
        assert_eq!(count(13, 3), None);
        assert_eq!(count(3, 1), None);
        assert_eq!(count(4, 0), None);
    }

    #[test]
    fn with_one_dead_of_five_one_set_goes_on() {
        let dead = PartyId(2);
        let alive = sets(5, 1).unwrap().into_iter().filter(|set| !set.contains(&dead));
        assert_eq!(alive.count(), 1);
    }

    #[test]
    fn a_stalled_set_has_two_batches_at_most() {
        assert_eq!(to_start(&[0, 2, 1, 5]), [0, 2]);
    }
}

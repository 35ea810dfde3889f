//! What runs cost, as formulas in elements of eight bytes, which tests compare with what machines
//! send. Bytes of a message before its elements are not in them ([`crate::message::HEADER`]).
//!
//! | protocol | elements that a member sends |
//! |---|---|
//! | opening of m values | 2·(N−1)·⌈m/(t+1)⌉: 3, 4, 4.5 a value for N = 4, 7, 10 |
//! | random sharing, degree t | (N−1 + c)/(t+1), c = 2t, or 2t − 1 for who checks one |
//! | double sharing | twice that |
//! | triple | two random, one double sharing, one opening: at most 13.0, 17.3, 19.5 |
//! | shuffle | (2m−1)·(t+1) openings of the table, one of 2 elements a sealed row |

use crate::committee::Committee;
use crate::message::Part;
use crate::offline::Shuffle;
use crate::phase::Phase;

/// Elements that the member at position `me` sends in a phase.
#[must_use]
pub fn elements(phase: &Phase, committee: &Committee, me: usize) -> usize {
    let others = committee.size() - 1;
    let checkers = 2 * committee.corrupt() - usize::from(me > committee.corrupt());
    let length = phase.longest(committee);
    match phase {
        Phase::Random { .. } => length * (others + checkers),
        Phase::Deal { dealers, .. } => length * others * usize::from(dealers.contains(&me)),
        Phase::Open { .. } => length * 2 * others,
    }
}

/// Rounds of a phase: messages that follow one another.
#[must_use]
pub fn rounds(phase: &Phase) -> usize {
    parts(phase).len()
}

/// The parts of a phase, in order.
#[must_use]
pub fn parts(phase: &Phase) -> [Part; 2] {
    match phase {
        Phase::Random { .. } => [Part::Deal, Part::Check],
        Phase::Deal { .. } => [Part::Deal, Part::Acknowledge],
        Phase::Open { .. } => [Part::Encode, Part::Tell],
    }
}

/// Elements that the busiest member sends for a triple, in thousandths, in large batches.
#[must_use]
pub fn triple_thousandths(committee: &Committee) -> usize {
    let (size, t) = (committee.size(), committee.corrupt());
    let sharing = size - 1 + 2 * t;
    1000 * (4 * sharing + 2 * (size - 1)) / (t + 1)
}

/// Openings of a dealers' shuffle over radices of which there are `digits`: the pads, the input of
/// every stage but the first, and the output.
#[must_use]
pub fn shuffle_openings(committee: &Committee, digits: usize) -> usize {
    (2 * digits - 1) * (committee.corrupt() + 1) + 1
}

/// Elements that a member keeps of a prepared shuffle, [`crate::offline::ShuffleStock::to_bytes`]:
/// pads, and for each stage a mask, a matrix and their product.
#[must_use]
pub fn shuffle_stock(shape: &Shuffle) -> usize {
    let dealers = shape.stage_count() / shape.digits().len();
    2 * shape.rows + 2 * shape.stage_count() * shape.elements() + dealers * shape.entries()
}

#[cfg(test)]
mod tests {
    use ostrakon_party::PartyId;

    use super::*;
    use crate::client::to_elements;
    use crate::online::butterfly;
    use crate::opening::Mode;

    fn committee(corrupt: usize) -> Committee {
        let members: Vec<_> = (0..=3 * corrupt as u8).map(PartyId).collect();
        Committee::new(&members, corrupt).unwrap()
    }

    #[test]
    fn triples_and_openings_cost_what_is_promised() {
        let triple = [1, 2, 3].map(|t| triple_thousandths(&committee(t)));
        assert_eq!(triple, [13_000, 17_333, 19_500]);
        let two_digits = [1, 2, 3].map(|t| shuffle_openings(&committee(t), 2));
        assert_eq!(two_digits, [7, 10, 13]);
        let three_digits = [1, 2, 3].map(|t| shuffle_openings(&committee(t), 3));
        assert_eq!(three_digits, [11, 16, 21]);
    }

    #[test]
    fn the_busiest_member_of_a_batch_of_triples_pays_the_promised_price() {
        for t in [1, 2, 3] {
            let committee = committee(t);
            let count = 60 * (t + 1);
            let phases = [
                Phase::Random { singles: 120, doubles: 60 },
                Phase::Open { count, mode: Mode::Exact(2 * t) },
            ];
            let total: usize = phases.iter().map(|phase| elements(phase, &committee, 0)).sum();
            assert_eq!(1000 * total / count, triple_thousandths(&committee));
        }
    }

    /// Bytes that a member sends for each of k messages of ℓ = 32 bytes, beside the paper's limits
    /// for many members: 12 ℓ, and 6 ℓ log² k.
    #[test]
    fn mixes_cost_less_than_the_papers_limits() {
        let committee = committee(33);
        let (message, k) = ([0; 32], 4096);
        let (length, columns) = (message.len(), to_elements(&message).len());
        let open = |count| {
            let phase = Phase::Open { count, mode: Mode::Robust };
            8 * elements(&phase, &committee, 0)
        };
        // 2·(N − 1)/(t + 1) < 6 elements for each that is opened.
        let powermix = open(k * (1 + columns)) / k;
        assert!(powermix > 5 * 48 && powermix < 6 * 48 && powermix < 12 * length, "{powermix}");
        let layers = butterfly::iterations(k) * k.ilog2() as usize;
        let network = layers * open(k / 2 * columns) / k;
        let squared = (k.ilog2() * k.ilog2()) as usize;
        // Half as many openings a layer as the paper's switches take, one iteration more.
        assert!(network < 6 * length * squared && 2 * network > 6 * length * squared, "{network}");
    }
}

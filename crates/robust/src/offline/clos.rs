//! Clos networks: a permutation of R₁·…·R_m rows as 2m − 1 stages, each of which permutes rows
//! within blocks (spec 11).
//!
//! A row's number is read in mixed radix; a stage permutes the rows that differ in one digit only.
//! Stages go through the digits 1, …, m − 1, m, m − 1, …, 1.

use crate::tape::Tape;
use rand_core::Rng;

/// A digit of row numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digit {
    /// R: how many values it has, and rows a block.
    pub radix: usize,
    /// What a step of the digit adds to the row's number.
    pub stride: usize,
}

impl Digit {
    /// The row of the same block that has digit `value`.
    #[must_use]
    pub fn with(&self, row: usize, value: usize) -> usize {
        row - self.of(row) * self.stride + value * self.stride
    }

    /// The digit of a row.
    #[must_use]
    pub fn of(&self, row: usize) -> usize {
        row / self.stride % self.radix
    }
}

/// The digits of the stages, for radices whose product is the number of rows.
#[must_use]
pub fn stages(radices: &[usize]) -> Vec<Digit> {
    let mut stride = radices.iter().product();
    let digits: Vec<Digit> = radices
        .iter()
        .map(|&radix| {
            stride /= radix;
            Digit { radix, stride }
        })
        .collect();
    let back = digits.iter().rev().skip(1).copied();
    digits.iter().copied().chain(back).collect()
}

/// Radices for `rows`, a power of two: as few digits as keep each at 64 or below, of nearly one
/// size, the largest first.
#[must_use]
pub fn radices(rows: usize) -> Vec<usize> {
    assert!(rows.is_power_of_two() && rows > 1, "a power of two");
    let bits = rows.ilog2();
    let digits = bits.div_ceil(6);
    (0..digits).map(|i| 1 << ((bits + digits - 1 - i) / digits)).collect()
}

/// A uniform permutation of `0..count`, from a tape (Fisher and Yates, with rejection).
pub fn uniform(count: usize, tape: &mut Tape) -> Vec<usize> {
    let mut permutation: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        permutation.swap(i, below(i as u64 + 1, tape) as usize);
    }
    permutation
}

fn below(bound: u64, rng: &mut impl Rng) -> u64 {
    // Words from the largest multiple of the bound on are drawn again.
    let rest = (u64::MAX % bound + 1) % bound;
    loop {
        let word = rng.next_u64();
        if word <= u64::MAX - rest {
            return word % bound;
        }
    }
}

/// The stages' permutations: stage s takes its row i from row `result[s][i]` of the same block, and
/// all stages together take row i from row `permutation[i]`.
///
/// # Panics
/// If a radix is no power of two or their product is not the number of rows.
#[must_use]
pub fn route(permutation: &[usize], radices: &[usize]) -> Vec<Vec<usize>> {
    assert!(radices.iter().all(|radix| radix.is_power_of_two()), "powers of two");
    assert_eq!(radices.iter().product::<usize>(), permutation.len(), "as many rows");
    let digits = stages(radices);
    let mut routed = vec![vec![0; permutation.len()]; digits.len()];
    route_digits(permutation, 0, &digits, &mut routed);
    routed
}

/// Routes rows `offset..offset + permutation.len()`, which differ in the digits of `digits` only;
/// `routed` are those digits' stages.
fn route_digits(permutation: &[usize], offset: usize, digits: &[Digit], routed: &mut [Vec<usize>]) {
    let rows = permutation.len();
    let [digit, inner @ .., _] = digits else {
        for (i, &from) in permutation.iter().enumerate() {
            routed[0][offset + i] = offset + from;
        }
        return;
    };
    // A middle block for each value of the digit: rows of one block of the first stage, or of the
    // last one, go through different ones. That is a proper edge colouring of the bipartite graph
    // of blocks, an edge for each row.
    let block = digit.stride;
    let edges = permutation.iter().enumerate().map(|(to, &from)| (from % block, to % block));
    let edges: Vec<(usize, usize)> = edges.collect();
    let mut colours = vec![0; rows];
    colour(&edges, &mut (0..rows).collect::<Vec<_>>(), block, 0, digit.radix, &mut colours);
    let mut middle = vec![0; rows];
    let last = routed.len() - 1;
    for (to, &from) in permutation.iter().enumerate() {
        let entry = digit.with(from, colours[to]);
        let exit = digit.with(to, colours[to]);
        routed[0][offset + entry] = offset + from;
        routed[last][offset + to] = offset + exit;
        middle[exit] = entry;
    }
    for value in 0..digit.radix {
        let start = value * block;
        let part: Vec<usize> = middle[start..start + block].iter().map(|m| m - start).collect();
        route_digits(&part, offset + start, inner, &mut routed[1..last]);
    }
}

/// Colours the edges `chosen` of a bipartite graph of degree `count`, a power of two, with colours
/// from `first` on: splits along Euler tours until every node has one edge.
fn colour(
    edges: &[(usize, usize)],
    chosen: &mut [usize],
    nodes: usize,
    first: usize,
    count: usize,
    colours: &mut [usize],
) {
    if count == 1 {
        chosen.iter().for_each(|&edge| colours[edge] = first);
        return;
    }
    let left = split(edges, chosen, nodes);
    let (mut one, mut other): (Vec<usize>, Vec<usize>) = chosen.iter().partition(|e| left[**e]);
    colour(edges, &mut one, nodes, first, count / 2, colours);
    colour(edges, &mut other, nodes, first + count / 2, count / 2, colours);
}

/// Walks along closed tours and gives every second edge to one half: each node has as many edges in
/// either half, because a tour leaves it as often as it comes. Indexed by edge.
fn split(edges: &[(usize, usize)], chosen: &[usize], nodes: usize) -> Vec<bool> {
    // Edges at each node, from nodes on the left, then on the right.
    let mut at: Vec<Vec<usize>> = vec![Vec::new(); 2 * nodes];
    for &edge in chosen {
        let (from, to) = edges[edge];
        at[from].push(edge);
        at[nodes + to].push(edge);
    }
    let mut used = vec![false; edges.len()];
    let mut left = vec![false; edges.len()];
    for start in 0..nodes {
        let mut node = start;
        while let Some(edge) = at[node].pop() {
            if used[edge] {
                continue;
            }
            used[edge] = true;
            let (from, to) = edges[edge];
            left[edge] = node < nodes;
            node = if node < nodes { nodes + to } else { from };
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Secret;

    use super::*;

    fn compose(stages: &[Vec<usize>]) -> Vec<usize> {
        stages.iter().fold((0..stages[0].len()).collect::<Vec<_>>(), |table, stage| {
            stage.iter().map(|&from| table[from]).collect()
        })
    }

    #[test]
    fn stages_compose_to_the_permutation_and_stay_in_blocks() {
        for radices in [&[2usize][..], &[2, 2], &[4, 2], &[2, 4, 2], &[8, 8], &[4, 4, 4], &[16, 1]]
        {
            let count = radices.iter().product();
            for seed in 0..20 {
                let mut tape = Tape::new(&Secret::new([seed; 32]));
                let permutation = uniform(count, &mut tape);
                let routed = route(&permutation, radices);
                assert_eq!(routed.len(), 2 * radices.len() - 1);
                assert_eq!(compose(&routed), permutation, "{radices:?} {seed}");
                for (stage, digit) in routed.iter().zip(stages(radices)) {
                    for (to, &from) in stage.iter().enumerate() {
                        assert_eq!(digit.with(from, digit.of(to)), to);
                    }
                }
            }
        }
    }

    #[test]
    fn all_permutations_of_eight_are_routed() {
        let mut permutation: Vec<usize> = (0..8).collect();
        fn all(permutation: &mut Vec<usize>, fixed: usize, check: &mut impl FnMut(&[usize])) {
            if fixed == permutation.len() {
                check(permutation);
            }
            for i in fixed..permutation.len() {
                permutation.swap(fixed, i);
                all(permutation, fixed + 1, check);
                permutation.swap(fixed, i);
            }
        }
        let mut count = 0;
        all(&mut permutation, 0, &mut |permutation| {
            count += 1;
            assert_eq!(compose(&route(permutation, &[2, 2, 2])), permutation);
        });
        assert_eq!(count, 40320);
    }

    #[test]
    fn digits_are_few_and_small() {
        assert_eq!(radices(2), [2]);
        assert_eq!(radices(4), [4]);
        assert_eq!(radices(64), [64]);
        assert_eq!(radices(512), [32, 16]);
        assert_eq!(radices(4096), [64, 64]);
        assert_eq!(radices(65536), [64, 32, 32]);
        assert!(radices(1 << 17).iter().product::<usize>() == 1 << 17);
    }
}

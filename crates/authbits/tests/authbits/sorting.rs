//! The circuit that the paper computes the median with, as an oracle: Batcher's odd-even merge sort
//! of comparators (Stormy, section 6.1, table 1).

use ostrakon_authbits::circuit::{Builder, Circuit, Wire};
use ostrakon_authbits::programs::select;

use crate::world::{bits, nightly};

/// The comparators of `count` places, in an order in which they can be applied (Knuth, volume 3,
/// section 5.2.2, algorithm M).
fn comparators(count: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut run = 1;
    while run < count {
        let mut apart = run;
        while apart >= 1 {
            for first in (apart % run..count.saturating_sub(apart)).step_by(2 * apart) {
                let last = (first + apart).min(count - apart);
                let pairs = (first..last).map(|i| (i, i + apart));
                all.extend(pairs.filter(|(i, k)| i / (2 * run) == k / (2 * run)));
            }
            apart /= 2;
        }
        run *= 2;
    }
    all
}

/// How many comparators follow each other, at most.
fn levels(count: usize) -> u32 {
    let mut depth = vec![0; count];
    for (low, high) in comparators(count) {
        depth[low] = depth[low].max(depth[high]) + 1;
        depth[high] = depth[low];
    }
    // The middle is among the last to be known.
    depth[(count - 1) / 2]
}

/// The lower one in the middle of `count` numbers of `width` bits, by sorting them.
fn median_by_sorting(count: usize, width: usize) -> Circuit {
    let mut builder = Builder::new(count * width);
    let mut values: Vec<Vec<Wire>> = (0..count)
        .map(|i| (i * width..(i + 1) * width).map(|digit| builder.input(digit)).collect())
        .collect();
    for (low, high) in comparators(count) {
        let swap = select::less(&mut builder, &values[high], &values[low]);
        let (below, above) = values.split_at_mut(high);
        for (a, b) in below[low].iter_mut().zip(&mut above[0]) {
            let differ = builder.xor(*a, *b);
            let change = builder.and(differ, swap);
            (*a, *b) = (builder.xor(*a, change), builder.xor(*b, change));
        }
    }
    values[(count - 1) / 2].iter().for_each(|wire| builder.open(*wire));
    builder.finish()
}

#[test]
fn sorting_has_the_depth_of_the_papers_table() {
    let depth = [1_000, 3_000, 5_000, 7_000].map(|count| 33 * levels(count));
    assert_eq!(depth, [1_815, 2_574, 3_003, 3_003]);
    // A comparator of w bits has w + 1 levels of AND gates.
    for (count, width) in [(2, 32), (5, 4), (12, 3), (33, 2)] {
        let circuit = median_by_sorting(count, width);
        assert_eq!(circuit.depth(), (width as u32 + 1) * levels(count), "{count} × {width}");
    }
}

/// Two circuits that have nothing in common but the comparison give one median.
#[test]
fn selection_agrees_with_the_papers_circuit() {
    for seed in 0..if nightly() { 2_000 } else { 60u64 } {
        let (count, width) = (1 + seed as usize % 23, 2 + seed as usize % 3);
        let input = bits(seed + 9_000, count * width);
        let (sorted, selected) = (median_by_sorting(count, width), select::median(count, width));
        assert_eq!(selected.evaluate(&input), sorted.evaluate(&input), "seed {seed}");
    }
}

/// A program reads as what it computes: all of selection, the noisy one included, over gates.
#[test]
fn the_program_of_the_median_is_short() {
    let text = include_str!("../../src/programs/select.rs");
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines = text.lines().filter(is_code).count();
    assert!((50..150).contains(&lines), "{lines} lines");
}

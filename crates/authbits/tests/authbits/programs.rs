//! Statistics as circuits, against what they are by definition.

use ostrakon_authbits::circuit::{Builder, Wire};
use ostrakon_authbits::programs::sketch::Sketch;
use ostrakon_authbits::programs::{arithmetic, noise};
use ostrakon_authbits::{Segment, SegmentSpec};
use ostrakon_testkit::Network;

use crate::world::{Committee, all, bits, nightly};

fn number(bits: &[bool]) -> u64 {
    bits.iter().rev().fold(0, |n, bit| 2 * n + u64::from(*bit))
}

fn inputs(builder: &Builder, from: usize, len: usize) -> Vec<Wire> {
    (from..from + len).map(|i| builder.input(i)).collect()
}

#[test]
fn sums_are_right_for_all_short_inputs() {
    // Four numbers of 1, 2, 3 and 4 bits.
    let mut builder = Builder::new(10);
    let numbers: Vec<Vec<Wire>> =
        [(0, 1), (1, 2), (3, 3), (6, 4)].map(|(at, len)| inputs(&builder, at, len)).to_vec();
    arithmetic::sum(&mut builder, &numbers).into_iter().for_each(|wire| builder.open(wire));
    let circuit = builder.finish();
    for input in 0..1u64 << 10 {
        let input: Vec<bool> = (0..10).map(|i| input >> i & 1 == 1).collect();
        let expected = [0..1, 1..3, 3..6, 6..10].map(|range| number(&input[range])).iter().sum();
        assert_eq!(number(&circuit.evaluate(&input)), expected, "{input:?}");
    }
}

#[test]
fn the_number_of_ones_costs_what_is_said() {
    for len in 0..70 {
        let mut builder = Builder::new(len);
        let bits = inputs(&builder, 0, len);
        let sum = arithmetic::popcount(&mut builder, &bits);
        sum.into_iter().for_each(|wire| builder.open(wire));
        let circuit = builder.finish();
        assert_eq!(circuit.ands(), len - len.count_ones() as usize);
        for seed in 0..5 {
            let input = crate::world::bits(seed, len);
            let ones = input.iter().filter(|bit| **bit).count();
            assert_eq!(number(&circuit.evaluate(&input)), ones as u64);
        }
    }
}

/// The constants of the specification, computed beside it with 80 decimal digits.
#[test]
fn constants_of_the_noise_are_pinned() {
    assert_eq!(
        noise::constants(1),
        [
            0x44d9585152ea1936,
            0x1e84152bac31aeaa,
            0x49abe8790f0b0b3,
            0x15fa3dd7d2f7a6,
            0x1e355b81e5c,
            0x3908d
        ]
    );
    assert_eq!(
        noise::constants(10),
        [
            0x799af6c6b28241e8,
            0x733e1443505f6312,
            0x66bc67cf4c5a7028,
            0x4f5dd5187b7a5475,
            0x2b00d7d62dd6fe00,
            0xa06c3ca894b41b3,
            0x6cb61063d1b4d8,
            0x2e51652a0f27,
            0x8615d45
        ]
    );
    let hundred = noise::constants(100);
    assert_eq!(hundred.len(), 13);
    assert_eq!((hundred[0], hundred[12]), (0x7f5c294f3cd2bc1a, 0x1e));
}

/// The figures of the specification; a finer scale is never further away.
#[test]
fn draws_are_as_near_to_the_variable_as_is_said() {
    for (scale, log2) in [(1, -61.37), (1_000, -59.95), (noise::MAX_SCALE, -58.43)] {
        let found = noise::distance(scale).log2();
        assert!((found - log2).abs() < 0.01, "scale {scale}: {found}");
    }
    let scales = (1..=40).map(|bits| noise::distance(1 << bits));
    assert!(scales.clone().zip(scales.skip(1)).all(|(fine, coarse)| fine <= coarse));
}

/// Each digit is one exactly if its 64 bits are below its constant: on both sides of every
/// constant.
#[test]
fn digits_of_the_noise_are_comparisons_with_the_constants() {
    for scale in [1, 10, 100] {
        let circuit = noise::circuit(scale);
        let constants = noise::constants(scale);
        let digits = constants.len();
        assert!(circuit.ands() <= 2 * digits * 63 + digits);
        // Nothing is below 0, so all digits of G are ones where the random bits are zero.
        let draw = |first: &[u64], second: &[u64]| {
            let bits = first.iter().chain(second);
            let input: Vec<bool> =
                bits.flat_map(|n| (0..64).map(move |i| n >> i & 1 == 1)).collect();
            let out = circuit.evaluate(&input);
            number(&out[..digits]) as i64 - ((i64::from(out[digits])) << digits)
        };
        let none = vec![u64::MAX; digits];
        for (j, &constant) in constants.iter().enumerate() {
            for (random, one) in [(constant - 1, 1), (constant, 0), (0, 1), (constant + 1, 0)] {
                let mut words = none.clone();
                words[j] = random;
                assert_eq!(draw(&words, &none), one << j, "scale {scale}, digit {j}");
                assert_eq!(draw(&none, &words), -(one << j), "scale {scale}, digit {j}");
                assert_eq!(draw(&words, &words), 0);
            }
        }
        let all = vec![0; digits];
        assert_eq!(draw(&none, &all), 1 - (1 << digits));
        assert_eq!(draw(&all, &none), (1 << digits) - 1);
    }
}

/// Draws in the clear against the probabilities of a discrete Laplace variable, by chi-square.
#[test]
fn draws_have_the_frequencies_of_a_discrete_laplace_variable() {
    const EDGE: i64 = 6;
    let (scale, draws) = (2u64, if nightly() { 100_000 } else { 3_000 });
    let circuit = noise::circuit(scale);
    let digits = circuit.outputs() - 1;
    let mut counts = [0u32; 2 * EDGE as usize + 1];
    for seed in 0..draws {
        let out = circuit.evaluate(&bits(seed, noise::random_bits(scale)));
        let drawn = number(&out[..digits]) as i64 - (i64::from(out[digits]) << digits);
        counts[(drawn.clamp(-EDGE, EDGE) + EDGE) as usize] += 1;
    }
    let a = (-1.0 / scale as f64).exp();
    let chance = |x: i64| {
        let one = (1.0 - a) / (1.0 + a) * a.powi(x.unsigned_abs() as i32);
        if x.abs() == EDGE { one / (1.0 - a) } else { one }
    };
    let terms = counts.iter().zip(-EDGE..).map(|(count, x)| {
        let expected = draws as f64 * chance(x);
        (f64::from(*count) - expected).powi(2) / expected
    });
    // 12 degrees of freedom: 40.3 is passed once in 16,000 times.
    let statistic: f64 = terms.sum();
    assert!(statistic < 40.3, "{statistic}: {counts:?}");
}

/// A draw by a committee: all see the same number, and it is the circuit of nobody's input.
#[test]
fn a_committee_draws_noise() {
    let spec = SegmentSpec { number: 1, triples: 762, bucket: 3, security: 10 };
    let circuit = noise::circuit(1);
    let drawn =
        all(Committee::new(21, 2).run(&Network::default(), spec, async |mut segment: Segment| {
            let random = segment.random(noise::random_bits(1)).await.unwrap();
            let noise = segment.evaluate(&circuit, &random).await.unwrap();
            let opened = segment.reveal(&noise).await.unwrap();
            (0..opened.len()).map(|i| opened.get(i)).collect::<Vec<bool>>()
        }));
    assert_eq!(drawn[0], drawn[1]);
}

/// The numbers of a summary, read from what its circuit opens.
fn counts(sketch: &Sketch, input: &[bool]) -> Vec<u64> {
    let digits = |most: usize| (usize::BITS - most.leading_zeros()) as usize;
    let opened = sketch.circuit().evaluate(input);
    let mut rest = &opened[..];
    let mut read = |most: usize| {
        let (own, others) = rest.split_at(digits(most));
        rest = others;
        number(own)
    };
    let mut counts = vec![read(sketch.cells)];
    counts.extend((0..sketch.levels).map(|_| read(sketch.coins)));
    assert!(rest.is_empty());
    counts
}

#[test]
fn cells_in_use_and_ones_of_each_level_are_counted() {
    for sketch in [
        Sketch { cells: 3, string: 2, levels: 2, coins: 4 },
        Sketch { cells: 5, string: 3, levels: 4, coins: 7 },
        Sketch { cells: 1, string: 1, levels: 1, coins: 1 },
    ] {
        for seed in 0..200 {
            // About one string in two is empty.
            let mut input = bits(seed, sketch.bits());
            let empty = bits(seed + 1000, sketch.cells);
            input
                .chunks_mut(sketch.string)
                .zip(empty)
                .filter(|(_, e)| *e)
                .for_each(|(s, _)| s.fill(false));
            let (cells, coins) = input.split_at(sketch.cells * sketch.string);
            let used = cells.chunks(sketch.string).filter(|s| s.contains(&true)).count() as u64;
            let ones = |level: &[bool]| level.iter().filter(|one| **one).count() as u64;
            let mut expected = vec![used];
            expected.extend(coins.chunks(sketch.coins).map(ones));
            assert_eq!(counts(&sketch, &input), expected);
        }
    }
}

/// As many AND gates as the formula says: k·(s − 1) + k − s(k) + levels·(m − s(m)). With an OR of
/// 16 bits for each of 33 entries of 1,024 counters it would be 574,000.
#[test]
fn a_coin_costs_one_gate_and_a_cell_as_many_as_its_string_has_bits() {
    for (sketch, ands) in [
        (Sketch { cells: 1024, string: 16, levels: 32, coins: 2048 }, 81_887),
        (Sketch { cells: 3, string: 2, levels: 2, coins: 5 }, 10),
    ] {
        let fewer = |n: usize| n - n.count_ones() as usize;
        let Sketch { cells, string, levels, coins } = sketch;
        let formula = cells * (string - 1) + fewer(cells) + levels * fewer(coins);
        assert_eq!((sketch.circuit().ands(), formula), (ands, ands));
    }
}

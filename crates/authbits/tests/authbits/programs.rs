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

#[test]
fn sketches_are_summed_by_their_highest_entries() {
    for sketch in [
        Sketch { counters: 3, entries: 2, string: 2 },
        Sketch { counters: 5, entries: 4, string: 3 },
        Sketch { counters: 1, entries: 1, string: 1 },
    ] {
        let circuit = sketch.circuit();
        let outputs = circuit.outputs();
        for seed in 0..200 {
            // About one string in two is empty.
            let mut input = bits(seed, sketch.bits());
            let empty = bits(seed + 1000, sketch.bits());
            input
                .chunks_mut(sketch.string)
                .zip(empty)
                .filter(|(_, e)| *e)
                .for_each(|(s, _)| s.fill(false));
            let highest = |counter: &[bool]| {
                let mut entries = counter.chunks(sketch.string);
                entries.rposition(|string| string.contains(&true)).map_or(0, |i| i + 1)
            };
            let tops: Vec<usize> =
                input.chunks(sketch.entries * sketch.string).map(highest).collect();
            let weight = |top: usize| (1u64 << sketch.entries) - (1 << (sketch.entries - top));
            let expected: u64 = tops.iter().map(|top| weight(*top)).sum();
            let occupied = tops.iter().filter(|top| **top > 0).count() as u64;
            let out = circuit.evaluate(&input);
            let digits = outputs - (usize::BITS - sketch.counters.leading_zeros()) as usize;
            assert_eq!((number(&out[..digits]), number(&out[digits..])), (expected, occupied));
        }
    }
    let full = Sketch { counters: 1024, entries: 33, string: 16 }.circuit();
    assert!((570_000..576_000).contains(&full.ands()), "{}", full.ands());
}

/// N4: a string of an entry that is not empty reads zero with 2^-s. If counting stopped at the
/// first entry that reads empty, large counts would be far too low; the suffix-OR leaves an error
/// of the highest entry alone.
#[test]
fn n4_short_strings_bias_large_counts_but_for_the_suffix_or() {
    let (counters, entries) = (256, 20);
    // Heights around the twelfth entry, as of a million things.
    let coins = bits(77, counters * entries);
    let height = |coins: &[bool]| coins.iter().position(|coin| *coin).unwrap_or(0) + 11;
    let tops: Vec<usize> = coins.chunks(entries).map(|coins| height(coins).min(entries)).collect();
    let sum = |tops: &mut dyn Iterator<Item = usize>| tops.map(|top| 0.5f64.powi(top as i32)).sum();
    let truth: f64 = sum(&mut tops.iter().copied());
    for (string, with, without) in [(4, 0.85..1.0, 0.0..0.5), (16, 0.99..1.01, 0.9..1.01)] {
        let sketch = Sketch { counters, entries, string };
        let mut input = bits(78, sketch.bits());
        for (counter, top) in input.chunks_mut(entries * string).zip(&tops) {
            counter[top * string..].fill(false);
        }
        let circuit = sketch.circuit();
        let out = circuit.evaluate(&input);
        let digits = circuit.outputs() - (usize::BITS - counters.leading_zeros()) as usize;
        let found = counters as f64 - number(&out[..digits]) as f64 / 2f64.powi(entries as i32);
        // Counts are in inverse proportion to the sums.
        assert!(with.contains(&(truth / found)), "{string} bits: {}", truth / found);
        let run = |counter: &[bool]| {
            let mut strings = counter.chunks(string);
            strings.position(|string| !string.contains(&true)).unwrap_or(entries)
        };
        let naive: f64 = sum(&mut input.chunks(entries * string).map(run));
        assert!(without.contains(&(truth / naive)), "{string} bits: {}", truth / naive);
    }
}

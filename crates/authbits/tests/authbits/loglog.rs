//! The circuit that the paper counts different things with, as an oracle: the sum of the last
//! entries in use (Stormy, section 6.2, table 2).

use ostrakon_authbits::circuit::{Builder, Circuit, Wire};
use ostrakon_authbits::programs::arithmetic::sum;
use ostrakon_authbits::programs::select;
use ostrakon_authbits::programs::sketch::Sketch;

use crate::world::{bits, nightly};

fn or(builder: &mut Builder, a: Wire, b: Wire) -> Wire {
    let (differ, both) = (builder.xor(a, b), builder.and(a, b));
    builder.xor(differ, both)
}

/// The number of a counter's last entry that is not empty, from 1; 0 if all are empty.
fn last_entry(builder: &mut Builder, counter: &[Wire], string: usize) -> Vec<Wire> {
    let filled: Vec<Wire> = counter
        .chunks(string)
        .map(|string| {
            let (first, rest) = string.split_first().expect("strings are not empty");
            rest.iter().fold(*first, |any, wire| or(builder, any, *wire))
        })
        .collect();
    let mut reached = filled.clone();
    for entry in (0..filled.len() - 1).rev() {
        reached[entry] = or(builder, reached[entry + 1], filled[entry]);
    }
    // One of them at most is the last: its number is a sum without carries.
    let digits = usize::BITS - filled.len().leading_zeros();
    let mut number: Vec<Wire> = (0..digits).map(|_| builder.constant(false)).collect();
    for entry in 0..filled.len() {
        let beyond = reached.get(entry + 1).copied();
        let last = beyond.map_or(reached[entry], |beyond| builder.xor(reached[entry], beyond));
        let ones = (0..digits as usize).filter(|digit| (entry + 1) >> digit & 1 == 1);
        ones.for_each(|digit| number[digit] = builder.xor(number[digit], last));
    }
    number
}

/// The paper's circuit.
fn log_log(sketch: Sketch) -> Circuit {
    let mut builder = Builder::new(sketch.bits());
    let wires: Vec<Wire> = (0..sketch.bits()).map(|i| builder.input(i)).collect();
    let counters = wires.chunks(sketch.entries * sketch.string);
    let last: Vec<_> =
        counters.map(|counter| last_entry(&mut builder, counter, sketch.string)).collect();
    sum(&mut builder, &last).into_iter().for_each(|wire| builder.open(wire));
    builder.finish()
}

fn digits(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}

#[test]
fn counting_has_the_sizes_of_the_papers_table() {
    // Counters, and millions of AND gates with as many digits as the table has.
    let table = [(128, 2, 0.23), (512, 2, 0.90), (1_024, 2, 1.81), (4_096, 1, 7.2)];
    for (counters, places, millions) in &table[..if nightly() { 4 } else { 2 }] {
        let sketch = Sketch { counters: *counters, entries: 32, string: 55 };
        let circuit = log_log(sketch);
        let scale = 10f64.powi(*places);
        let found = (circuit.ands() as f64 / 1e6 * scale).round() / scale;
        assert_eq!(found, *millions, "{counters} counters: {}", circuit.ands());
        let bound = counters * (32 * (55 + 1) + digits(32) + digits(*counters));
        assert!(circuit.ands() <= bound, "{} of {bound}", circuit.ands());
    }
}

/// What the paper's circuits read, and what is read here of the same people: strings of 16 bits
/// suffice, with one more entry.
#[test]
fn inputs_are_as_many_as_the_paper_says() {
    let theirs = Sketch { counters: 1_024, entries: 32, string: 55 };
    assert_eq!(theirs.bits(), 1_802_240);
    assert_eq!(Sketch { counters: 1_024, entries: 33, string: 16 }.bits(), 540_672);
    let median = |count| select::median(count, 32).inputs();
    assert_eq!((median(1_000), 7 * median(1_000)), (32_000, 224_000));
}

/// Of one counter both circuits tell the last entry, though they have nothing in common.
#[test]
fn the_height_of_a_counter_agrees_with_the_papers_circuit() {
    for (entries, string) in [(1, 1), (4, 3), (9, 2)] {
        let sketch = Sketch { counters: 1, entries, string };
        let (theirs, own) = (log_log(sketch), sketch.circuit());
        for seed in 0..60 {
            let mut input = bits(seed + 500, sketch.bits());
            let from = seed as usize % (entries + 1);
            input[from * string..].fill(false);
            let number = |circuit: &Circuit, len: usize| {
                let out = circuit.evaluate(&input);
                out[..len].iter().rev().fold(0u64, |n, bit| 2 * n + u64::from(*bit))
            };
            let last = number(&theirs, theirs.outputs());
            // 2^w·Σ_(i ≤ M) 2^-i, and whether the counter is in use, in one digit.
            let summed = number(&own, own.outputs() - 1);
            assert_eq!(summed, (1 << entries) - (1 << (entries as u64 - last)), "seed {seed}");
        }
    }
}

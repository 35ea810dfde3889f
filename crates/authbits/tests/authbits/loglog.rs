//! The circuit that the paper counts different things with, as an oracle: the sum of the last
//! entries in use (Stormy, section 6.2, table 2).

use ostrakon_authbits::circuit::{Builder, Circuit, Wire};
use ostrakon_authbits::programs::arithmetic::sum;
use ostrakon_authbits::programs::select;
use ostrakon_authbits::programs::sketch::Sketch;

use crate::world::{bits, nightly};

/// The paper's sketch: of each counter so many entries, each a string of so many bits.
#[derive(Clone, Copy)]
struct Counters {
    counters: usize,
    entries: usize,
    string: usize,
}

impl Counters {
    fn bits(&self) -> usize {
        self.counters * self.entries * self.string
    }
}

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
fn log_log(sketch: Counters) -> Circuit {
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
        let sketch = Counters { counters: *counters, entries: 32, string: 55 };
        let circuit = log_log(sketch);
        let scale = 10f64.powi(*places);
        let found = (circuit.ands() as f64 / 1e6 * scale).round() / scale;
        assert_eq!(found, *millions, "{counters} counters: {}", circuit.ands());
        let bound = counters * (32 * (55 + 1) + digits(32) + digits(*counters));
        assert!(circuit.ands() <= bound, "{} of {bound}", circuit.ands());
    }
}

/// What the paper's circuits read, and what is read here of the same people.
#[test]
fn inputs_are_as_many_as_the_paper_says() {
    let theirs = Counters { counters: 1_024, entries: 32, string: 55 };
    assert_eq!(theirs.bits(), 1_802_240);
    let own = Sketch { cells: 1_024, string: 16, levels: 32, coins: 2_048 };
    assert_eq!(own.bits(), 81_920);
    let median = |count| select::median(count, 32).inputs();
    assert_eq!((median(1_000), 7 * median(1_000)), (32_000, 224_000));
}

/// Whether a counter is in use both circuits tell alike, though they have nothing in common.
#[test]
fn a_counter_in_use_is_one_in_the_papers_circuit_too() {
    for string in 1..5 {
        let theirs = log_log(Counters { counters: 1, entries: 1, string });
        let own = Sketch { cells: 1, string, levels: 1, coins: 1 };
        for word in 0..1u32 << string {
            let mut input: Vec<bool> = (0..string).map(|i| word >> i & 1 == 1).collect();
            let used = theirs.evaluate(&input)[0];
            input.push(false);
            assert_eq!(own.circuit().evaluate(&input)[0], used, "{word:b}");
        }
    }
}

/// N4: in the paper's circuit a string that somebody has made reads zero with 2^-s. Where counting
/// stops at the first entry that reads empty, short strings make large counts far too low; here a
/// coin reads zero in half of all cases, and nothing stops there (crate stats: `sketches`).
#[test]
fn n4_short_strings_bias_large_counts_where_counting_stops_at_the_first_that_reads_empty() {
    let (counters, entries) = (256, 20);
    // Heights around the twelfth entry, as of a million things.
    let coins = bits(77, counters * entries);
    let height = |coins: &[bool]| coins.iter().position(|coin| *coin).unwrap_or(0) + 11;
    let tops: Vec<usize> = coins.chunks(entries).map(|coins| height(coins).min(entries)).collect();
    let sum = |tops: &mut dyn Iterator<Item = usize>| tops.map(|top| 0.5f64.powi(top as i32)).sum();
    let truth: f64 = sum(&mut tops.iter().copied());
    for (string, range) in [(4, 0.0..0.5), (16, 0.9..1.01)] {
        let mut input = bits(78, counters * entries * string);
        for (counter, top) in input.chunks_mut(entries * string).zip(&tops) {
            counter[top * string..].fill(false);
        }
        let run = |counter: &[bool]| {
            let mut strings = counter.chunks(string);
            strings.position(|string| !string.contains(&true)).unwrap_or(entries)
        };
        let naive: f64 = sum(&mut input.chunks(entries * string).map(run));
        assert!(range.contains(&(truth / naive)), "{string} bits: {}", truth / naive);
    }
}

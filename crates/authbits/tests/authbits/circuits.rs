//! Circuits without parties: counts, exhaustive truth, hostile files.

use ostrakon_authbits::circuit::bristol::{self, Limits, Refused};
use ostrakon_authbits::circuit::{Builder, Circuit};
use ostrakon_authbits::programs::select;
use ostrakon_testkit::Network;
use proptest::prelude::*;

use crate::world::{Committee, SPEC, all, bits, deal};

fn number(bits: &[bool]) -> usize {
    bits.iter().rev().fold(0, |n, bit| 2 * n + usize::from(*bit))
}

fn digits(n: usize, width: usize) -> Vec<bool> {
    (0..width).map(|i| n >> i & 1 == 1).collect()
}

#[test]
fn and_gates_and_depth_of_the_median_equal_the_formulas() {
    // 652,024 / 490, 93,768 / 391 and 9,876 / 292 with the last digit's subtraction and the borrows
    // that nobody reads.
    for (count, unread, ands, depth) in
        [(7_000, 57, 652_024, 490), (1_000, 51, 93_768, 391), (100, 45, 9_876, 292)]
    {
        let circuit = select::median(count, 32);
        assert_eq!(circuit.ands() + unread, ands);
        assert_eq!(select::and_gates(count, 32), circuit.ands());
        assert!(circuit.depth() <= depth, "{} of {depth}", circuit.depth());
    }
    for count in 1..40 {
        for width in 2..5 {
            let circuit = select::median(count, width);
            assert_eq!(circuit.ands(), select::and_gates(count, width), "{count} × {width}");
        }
    }
}

/// Every list of up to five values of two bits, and of three values of three bits, at every rank.
#[test]
fn selection_is_right_for_every_short_list() {
    for (count, width) in [(1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (3, 3)] {
        for rank in 0..count {
            let circuit = select::order_statistic(count, width, rank);
            for list in 0..1 << (count * width) {
                let input = digits(list, count * width);
                let mut values: Vec<usize> = input.chunks(width).map(number).collect();
                values.sort_unstable();
                assert_eq!(number(&circuit.evaluate(&input)), values[rank], "{input:?} {rank}");
            }
        }
    }
}

proptest! {
    #[test]
    fn selection_agrees_with_sorting(
        values in prop::collection::vec(0usize..20, 1..50), rank in 0usize..50,
    ) {
        let rank = rank % values.len();
        let input: Vec<bool> = values.iter().flat_map(|n| digits(*n, 5)).collect();
        let out = select::order_statistic(values.len(), 5, rank).evaluate(&input);
        let mut sorted = values;
        sorted.sort_unstable();
        prop_assert_eq!(number(&out), sorted[rank]);
    }

    #[test]
    fn hostile_files_are_refused_without_a_panic(text in "[0-9 \nXORANDINVEQWM-]{0,200}") {
        let _ = bristol::parse(&text, Limits::default());
    }

    #[test]
    fn a_spoilt_adder_is_another_circuit_or_refused(at in 0usize..ADDER.len(), byte: u8) {
        let mut text = ADDER.as_bytes().to_vec();
        text[at] = byte;
        if let Ok(text) = std::str::from_utf8(&text)
            && let Ok(parsed) = bristol::parse(text, Limits::default())
        {
            let circuit = parsed.circuit;
            let _ = circuit.evaluate(&vec![true; circuit.inputs()]);
        }
    }
}

/// Two bits and a carry: sum and carry, with every kind of gate.
const ADDER: &str = "8 11\n3 1 1 1\n2 1 1\n\n2 1 0 1 3 XOR\n2 1 0 2 4 XOR\n2 1 3 4 5 AND\n\
                     1 1 0 6 EQ\n2 1 5 6 7 XOR\n1 1 7 8 EQW\n2 1 3 2 9 XOR\n2 1 8 0 10 XOR\n";

#[test]
fn bristol_fashion_is_read() {
    let parsed = bristol::parse(ADDER, Limits::default()).unwrap();
    assert_eq!((parsed.inputs, parsed.outputs), (vec![1, 1, 1], vec![1, 1]));
    for input in 0..8 {
        let input = digits(input, 3);
        let ones = input.iter().filter(|bit| **bit).count();
        assert_eq!(number(&parsed.circuit.evaluate(&input)), ones);
    }
    let not = bristol::parse("1 2\n1 1\n1 1\n\n1 1 0 1 INV\n", Limits::default()).unwrap().circuit;
    assert_eq!(not.evaluate(&[false]), [true]);
    assert_ne!(not.digest(), parsed.circuit.digest());
}

#[test]
fn hostile_bristol_files_are_refused() {
    let refused = |text: &str| bristol::parse(text, Limits::default()).err();
    let gate = |line: &str| refused(&format!("1 3\n1 2\n1 1\n\n{line}\n"));
    assert_eq!(gate("2 1 0 1 2 AND"), None);
    for (text, reason) in [
        ("", Refused::Syntax(1)),
        ("1", Refused::Syntax(1)),
        ("1 3 5", Refused::Syntax(1)),
        ("99999999999999999999 3", Refused::Size(1)),
        ("18446744073709551615 3\n1 2\n1 1\n", Refused::Size(1)),
        ("1 18446744073709551615\n1 2\n1 1\n", Refused::Size(1)),
        // As many gates as are allowed, in a file that cannot hold them.
        ("8388608 8388608\n1 2\n1 1\n", Refused::Size(1)),
        ("0 8388608\n1 8388609\n0\n", Refused::Size(2)),
        ("0 3\n2 18446744073709551615 2\n1 1\n", Refused::Size(2)),
        ("0 3\n3 1 2\n1 1\n", Refused::Size(2)),
        ("0 3\n1 2\n1 4\n", Refused::Size(3)),
        // A wire that nothing sets, and a value of no bits.
        ("0 3\n1 2\n1 1\n", Refused::Size(1)),
        ("0 2\n2 2 0\n1 1\n", Refused::Size(2)),
        ("0 2\n1 2\n1 1\nmore\n", Refused::Syntax(4)),
        ("-1 2\n1 2\n1 1\n", Refused::Syntax(1)),
        ("+1 2\n1 2\n1 1\n", Refused::Syntax(1)),
        ("01 2\n1 2\n1 1\n", Refused::Syntax(1)),
        ("2 4\n1 2\n1 1\n\n2 1 0 1 2 AND\n", Refused::Syntax(6)),
    ] {
        assert_eq!(refused(text), Some(reason), "{text:?}");
    }
    for (line, reason) in [
        ("2 1 0 2 2 AND", Refused::Unset(5)),
        ("2 1 0 1 1 AND", Refused::SetTwice(5)),
        ("2 1 0 3 2 AND", Refused::Size(5)),
        ("2 1 0 1 3 AND", Refused::Size(5)),
        ("2 1 0 1 AND", Refused::Syntax(5)),
        ("2 1 0 1 2 OR", Refused::Syntax(5)),
        ("1 1 2 2 EQ", Refused::Syntax(5)),
        ("3 1 0 1 0 2 AND", Refused::Syntax(5)),
        ("2 1 0 1 2 AND AND", Refused::Syntax(5)),
    ] {
        assert_eq!(gate(line), Some(reason), "{line}");
    }
    let text = "2 4\n1 2\n1 1\n\n2 1 0 1 2 AND\n2 1 2 0 3 AND\n";
    let limits = |depth, bytes| Limits { depth, bytes, ..Limits::default() };
    assert!(bristol::parse(text, limits(2, 1000)).is_ok());
    assert_eq!(bristol::parse(text, limits(1, 1000)).err(), Some(Refused::Depth(6)));
    assert_eq!(bristol::parse(text, limits(2, 10)).err(), Some(Refused::Bytes));
}

/// All of Boolean logic among committees of two: every gate on every input at once.
#[test]
fn every_gate_is_right_on_every_input() {
    let adder = bristol::parse(ADDER, Limits::default()).unwrap().circuit;
    let mut builder = Builder::new(3);
    let [a, b, c] = [0, 1, 2].map(|i| builder.input(i));
    let zero = builder.constant(false);
    let (not, and) = (builder.not(a), builder.and(b, c));
    let nested = builder.and(and, not);
    for wire in [not, and, nested, zero] {
        builder.open(wire);
    }
    let circuits: [Circuit; 2] = [adder, builder.finish()];
    for parties in [2, 3] {
        let committee = Committee::new(3, parties);
        all(committee.run(&Network::default(), SPEC, async |mut segment| {
            for circuit in &circuits {
                for input in (0..8).map(|input| digits(input, 3)) {
                    let dealt = deal(6, parties, segment.party().index(), &input);
                    let shares = segment.authenticate(&dealt).await.unwrap();
                    let outputs = segment.evaluate(circuit, &shares).await.unwrap();
                    let opened = segment.reveal(&outputs).await.unwrap();
                    let expected = circuit.evaluate(&input);
                    assert!((0..expected.len()).all(|i| opened.get(i) == expected[i]));
                }
            }
        }));
    }
}

#[test]
fn random_circuits_agree_with_plain_evaluation() {
    let committee = Committee::new(4, 3);
    let plan = bits(31, 3 * 64 * 20);
    let pick = |at: usize, below: usize| number(&plan[at % 3000..at % 3000 + 12]) % below;
    let mut builder = Builder::new(20);
    let mut wires: Vec<_> = (0..20).map(|i| builder.input(i)).collect();
    for gate in 0..200 {
        let (a, b) = (wires[pick(13 * gate, wires.len())], wires[pick(29 * gate + 5, wires.len())]);
        wires.push(match gate % 3 {
            0 => builder.xor(a, b),
            1 => builder.and(a, b),
            _ => builder.not(a),
        });
    }
    wires[150..].iter().for_each(|wire| builder.open(*wire));
    let circuit = builder.finish();
    let input = bits(77, 20);
    let expected = circuit.evaluate(&input);
    for opened in all(committee.run(&Network::default(), SPEC, async |mut segment| {
        let dealt = deal(6, 3, segment.party().index(), &input);
        let shares = segment.authenticate(&dealt).await.unwrap();
        let outputs = segment.evaluate(&circuit, &shares).await.unwrap();
        segment.reveal(&outputs).await.unwrap()
    })) {
        assert!((0..expected.len()).all(|i| opened.get(i) == expected[i]));
    }
}

/// Random lists with ties against sorting: ten thousand in the nightly run.
#[test]
fn selection_agrees_with_sorting_on_lists_with_ties() {
    for seed in 0..if crate::world::nightly() { 10_000u64 } else { 200 } {
        let (count, width) = (1 + seed as usize % 40, 2 + seed as usize % 6);
        let rank = seed as usize * 7 % count;
        // Half of the digits are left out, so that many values are alike.
        let drawn = crate::world::bits(seed, count * width);
        let kept = |(i, bit): (usize, &bool)| *bit && (i % width) % 2 == seed as usize % 2;
        let input: Vec<bool> = drawn.iter().enumerate().map(kept).collect();
        let mut values: Vec<usize> = input.chunks(width).map(number).collect();
        values.sort_unstable();
        let out = select::order_statistic(count, width, rank).evaluate(&input);
        assert_eq!(number(&out), values[rank], "seed {seed}");
    }
}

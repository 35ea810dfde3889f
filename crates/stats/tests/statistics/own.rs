//! Circuits of the asker's own.

use ostrakon_party::wire;
use ostrakon_stats::{Answer, BadQuestion, Form, Group, OwnCircuit, Question, Reads, Statistic};

use crate::circuits::{in_the_clear, numbers, question};

/// Of a number of four bits: whether it is odd; then x_0·x_1 and x_2 ⊕ x_3 as two digits.
const OF_EACH: &str = "3 7\n1 4\n2 1 2\n\n1 1 0 4 EQW\n2 1 0 1 5 AND\n2 1 2 3 6 XOR\n";

/// Of up to three numbers of two bits and how many they are: the latter, and whether all are odd.
const OF_ALL: &str = "5 13\n4 2 2 2 2\n2 2 1\n\n2 1 0 2 8 AND\n2 1 8 4 9 AND\n1 1 6 10 EQW\n\
                      1 1 7 11 EQW\n1 1 9 12 EQW\n";

pub fn own(text: &str) -> Statistic {
    Statistic::Circuit(OwnCircuit::from(text.to_owned()))
}

/// [`OF_EACH`] by definition, added up.
fn of_each(numbers: &[u64]) -> Answer {
    let digit = |x: u64, i: u32| x >> i & 1;
    let pair = |x: &u64| digit(*x, 0) * digit(*x, 1) + 2 * (digit(*x, 2) ^ digit(*x, 3));
    let sums = [numbers.iter().map(|x| x & 1).sum::<u64>(), numbers.iter().map(pair).sum()];
    Answer::Circuit(sums.map(|sum| i64::try_from(sum).unwrap()).to_vec())
}

#[test]
fn a_circuit_of_each_report_is_added_up_over_all() {
    let asked = question(Form::Number { width: 4 }, vec![own(OF_EACH), Statistic::Sum]);
    assert_eq!(asked.validate(), Ok(()));
    for number in 0..16 {
        assert_eq!(in_the_clear(&asked, &[number])[0], of_each(&[number]));
    }
    for seed in 0..20 {
        let numbers = numbers(seed, 1 + 5 * usize::try_from(seed).unwrap(), 4);
        let mut turned = numbers.clone();
        turned.reverse();
        assert_eq!(in_the_clear(&asked, &numbers)[0], of_each(&numbers), "seed {seed}");
        assert_eq!(in_the_clear(&asked, &turned), in_the_clear(&asked, &numbers));
    }
}

#[test]
fn groups_have_a_circuits_values_of_their_own() {
    let asked = question(Form::Grouped { width: 4, groups: 2 }, vec![own(OF_EACH)]);
    assert_eq!(asked.validate(), Ok(()));
    let reports = numbers(3, 30, 5);
    let group = |group: u64| {
        let own = reports.iter().filter(|report| *report >> 4 == group).map(|report| report & 15);
        let own: Vec<u64> = own.collect();
        Group { size: own.len() as u64, answer: Some(Box::new(of_each(&own))) }
    };
    assert_eq!(in_the_clear(&asked, &reports), [Answer::ByGroup(vec![group(0), group(1)])]);
}

#[test]
fn a_circuit_of_all_reports_is_told_how_many_there_are() {
    let asked = question(Form::Number { width: 2 }, vec![own(OF_ALL)]);
    assert_eq!((asked.validate(), asked.most_at_once()), (Ok(()), 3));
    for count in 1..=3usize {
        for code in 0..1u64 << (2 * count) {
            let numbers: Vec<u64> = (0..count).map(|i| code >> (2 * i) & 3).collect();
            let odd = count == 3 && numbers.iter().all(|number| number & 1 == 1);
            let expected = Answer::Circuit(vec![count as i64, odd.into()]);
            assert_eq!(in_the_clear(&asked, &numbers), [expected], "{numbers:?}");
        }
    }
}

#[test]
fn circuits_that_cannot_be_computed_are_refused() {
    let number = |width| Form::Number { width };
    let grouped = Form::Grouped { width: 2, groups: 2 };
    let long = format!("{OF_EACH}{}", " ".repeat(48 << 10));
    let wide = "41 45\n1 4\n1 41\n\n".to_owned()
        + &(4..45).map(|wire| format!("1 1 0 {wire} EQW\n")).collect::<String>();
    // Three places, and one bit to say how many are taken.
    let short = "1 8\n4 2 2 2 1\n1 1\n\n1 1 0 7 EQW\n";
    let mut bad: Vec<Question> = [
        (number(4), "1 2\n1 4\n1 1\n\n1 1 0 1 OR\n"),
        (number(5), OF_EACH),
        (number(4), OF_ALL),
        (grouped, OF_ALL),
        (number(4), &long),
        (number(4), &wide),
        (number(2), short),
        (Form::Items { counters: 64 }, OF_EACH),
    ]
    .map(|(form, text)| question(form, vec![own(text)]))
    .to_vec();
    bad.push(Question { epsilon: Some(1000), ..question(number(2), vec![own(OF_ALL)]) });
    for (i, bad) in bad.iter().enumerate() {
        let refused = bad.validate();
        let wrong_form = matches!(bad.form, Form::Items { .. });
        let why = if wrong_form { BadQuestion::Distinct } else { BadQuestion::Circuit };
        assert_eq!(refused, Err(why), "{i}");
    }
    let judge = |text: &str, width| OwnCircuit::from(text.to_owned()).judge(width);
    for (text, width, why) in [
        (OF_EACH, 5, "numbers of 4 bits, and reports have 5"),
        (short, 2, "too short for the number of reports"),
        (&wide, 4, "at most 40 bits"),
        (&long, 4, "too long"),
        ("1 2\n1 4\n", 4, "line"),
    ] {
        let judged = judge(text, width).unwrap_err();
        assert!(judged.contains(why), "{judged}");
    }
    assert_eq!((judge(OF_EACH, 4), judge(OF_ALL, 2)), (Ok(Reads::Each), Ok(Reads::All(3))));
}

/// With noise each output value has its own, and a circuit's text is in the question's digest.
#[test]
fn a_circuits_values_have_noise_and_its_text_is_signed() {
    let asked = question(Form::Number { width: 4 }, vec![own(OF_EACH)]);
    let noisy = Question { epsilon: Some(1000), ..asked.clone() };
    assert_eq!(noisy.validate(), Ok(()));
    let (exact, blurred) = (asked.circuit(5), noisy.circuit(5));
    assert!(blurred.inputs() > exact.inputs() && blurred.ands() > exact.ands());
    let other = question(asked.form, vec![own(&OF_EACH.replacen("6 XOR", "6 AND", 1))]);
    assert_ne!(other.digest(), asked.digest());
    let read: Vec<Statistic> = wire::decode(&wire::encode(&asked.statistics)).unwrap();
    assert_eq!(read, asked.statistics);
    for asked in [asked, noisy, question(Form::Grouped { width: 4, groups: 3 }, vec![own(OF_EACH)])]
    {
        for count in [1, 15, 100] {
            assert!(asked.circuit(count).ands() as u64 <= asked.load().gates(count), "{asked:?}");
        }
    }
}

/// Attack: a circuit without AND gates, of which every member would build a copy for each report
/// and group, however many there may be.
#[test]
fn gates_that_cost_no_triple_are_weighed_too() {
    let gates = 2400;
    let chain: String = (4..gates + 4).map(|wire| format!("2 1 0 1 {wire} XOR\n")).collect();
    let text = format!("{gates} {}\n1 4\n1 1\n\n{chain}", gates + 4);
    for (form, groups) in
        [(Form::Number { width: 4 }, 1), (Form::Grouped { width: 4, groups: 256 }, 256)]
    {
        let asked = question(form, vec![own(&text)]);
        assert_eq!(asked.validate(), Ok(()));
        // What a member of a committee computes at most, and how many contributors a draft has.
        let most = asked.load().reports(2_000_000).min(10_000) as usize;
        assert!(most >= 20, "{most} reports");
        let wires = most * groups * (gates + 20);
        assert!(wires < ostrakon_authbits::circuit::MAX_WIRES, "{wires} wires");
    }
}

//! How far counts of different things are off.

use crate::items::sketch;
use crate::{Answer, Form, Places, Question, Statistic};

use super::{Scene, different_things, nightly, secret};

/// The count of `things` different things of two lists that share half of theirs.
fn counted(question: &Question, places: &Places, things: usize, trial: u64) -> f64 {
    let Form::Items { counters } = question.form else { panic!("lists are asked for") };
    let thing = |i: usize| [trial.to_le_bytes(), (i as u64).to_le_bytes()].concat();
    let list = |range: std::ops::Range<usize>, number: u64| {
        let things: Vec<Vec<u8>> = range.map(thing).collect();
        sketch(counters, places, &things, &secret(&[6, trial, number]))
    };
    let mut sum = list(0..3 * things / 4, 1);
    sum.xor(&list(things / 4..things, 2));
    let bits: Vec<bool> = (0..sum.len()).map(|i| sum.get(i)).collect();
    let answers = question.read(2, &question.circuit(2).evaluate(&bits)).expect("it is its own");
    let [Answer::Distinct { estimate }] = answers[..] else { panic!("{answers:?}") };
    estimate as f64
}

/// The error that the method has by its variances, times √k, where twenty times, twice, half and
/// a quarter as many things were named as there are cells: √(A + B − n·A²)/(n·(A + B)), A = Σ
/// over the levels of (growth of the mean)²/variance, B the same of the cells; n·A² is taken off
/// since the things of all levels are n together. What is found over so many trials differs from
/// that by three of its own deviations at most, and its mean from none. Coins read zero in half
/// of all cases, which the method expects: if counting stopped there, the counts would be far too
/// low (N4).
#[test]
fn counts_are_off_by_as_much_as_the_method_says_and_to_neither_side() {
    let (counters, trials) = if nightly() { (1024, 200u64) } else { (64, 60) };
    let (form, statistics) = (Form::Items { counters }, vec![Statistic::Distinct]);
    let question = Question { text: "Which?".into(), form, minimum: 1, statistics, epsilon: None };
    let places = Scene::new(6, 2, different_things()).places();
    for (quarters, error) in [(80, 0.890), (8, 0.720), (2, 0.703), (1, 0.704)] {
        let things = quarters * usize::from(counters) / 4;
        let errors: Vec<f64> = (0..trials)
            .map(|trial| counted(&question, &places, things, trial) / things as f64 - 1.0)
            .collect();
        let (n, error) = (trials as f64, error / f64::from(counters).sqrt());
        let mean = errors.iter().sum::<f64>() / n;
        let root = (errors.iter().map(|e| e * e).sum::<f64>() / n).sqrt();
        let may = 3.0 / (2.0 * n).sqrt();
        assert!(root <= error * (1.0 + may), "{things}: {root} where {error} is said");
        assert!(root >= error * (1.0 - may), "{things}: {root} where {error} is said");
        assert!(mean.abs() <= 3.0 * error / n.sqrt(), "{things}: {mean} on average");
    }
}

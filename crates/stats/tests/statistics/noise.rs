//! Noisy answers, in the clear.

use ostrakon_crypto::Secret;
use ostrakon_stats::{Answer, Budget, Form, Overspent, Question, Statistic};

use crate::circuits::{all_expected, numbers, question};

fn noisy(statistics: Vec<Statistic>, epsilon: u32) -> Question {
    Question { epsilon: Some(epsilon), ..question(Form::Number { width: 6 }, statistics) }
}

/// The answers with noise from this seed.
fn answers(question: &Question, numbers: &[u64], seed: u64) -> Vec<Answer> {
    let circuit = question.circuit(numbers.len());
    let bits = question.form.bits();
    let mut inputs: Vec<bool> =
        numbers.iter().flat_map(|n| (0..bits).map(move |digit| n >> digit & 1 == 1)).collect();
    let mut random = vec![0; circuit.inputs() - inputs.len()];
    Secret::new([3; 32]).fill("test", &[&seed.to_le_bytes()], &mut random);
    inputs.extend(random.iter().map(|byte| byte & 1 == 1));
    question.read(numbers.len(), &circuit.evaluate(&inputs)).unwrap()
}

/// The noise on a sum has the mean and the deviation of a discrete Laplace variable of scale
/// (2^w − 1)/ε.
#[test]
fn the_noise_on_a_sum_is_as_large_as_the_range_asks() {
    let (asked, draws) = (noisy(vec![Statistic::Sum], 2000), 600u32);
    let numbers = numbers(1, 40, 6);
    let [Answer::Sum(sum)] = all_expected(&asked, &numbers)[..] else { panic!() };
    let errors: Vec<f64> = (0..draws)
        .map(|seed| match answers(&asked, &numbers, seed.into())[..] {
            [Answer::Sum(answer)] => (answer - sum) as f64,
            _ => panic!(),
        })
        .collect();
    let scale = 32.0; // ⌈63/2⌉
    let mean = errors.iter().sum::<f64>() / f64::from(draws);
    let square = errors.iter().map(|e| e * e).sum::<f64>() / f64::from(draws);
    let deviation = (2.0f64).sqrt() * scale;
    assert!(mean.abs() < 5.0 * deviation / f64::from(draws).sqrt(), "mean {mean}");
    assert!((square.sqrt() / deviation - 1.0).abs() < 0.25, "deviation {}", square.sqrt());
    assert!(errors.iter().any(|e| *e < 0.0) && errors.iter().any(|e| *e > 0.0));
}

/// With a large ε the noise is small, and everything is near what it is without.
#[test]
fn answers_with_little_noise_are_nearly_exact() {
    let statistics = vec![
        Statistic::Quantile(500),
        Statistic::Sum,
        Statistic::Variance,
        Statistic::Histogram(vec![20, 40]),
        Statistic::Top { candidates: 64, places: 3 },
    ];
    let asked = noisy(statistics, 4_000_000_000);
    for seed in 0..5 {
        let numbers = numbers(seed, 60, 6);
        let exact = all_expected(&Question { epsilon: None, ..asked.clone() }, &numbers);
        let close = |a: i64, b: i64| assert!((a - b).abs() <= 30, "{a} for {b}, seed {seed}");
        for (noisy, exact) in answers(&asked, &numbers, seed).iter().zip(&exact) {
            match (noisy, exact) {
                (Answer::Quantile { value: a, .. }, Answer::Quantile { value: b, .. }) => {
                    assert!(a.abs_diff(*b) <= 32, "{a} for {b}");
                }
                (Answer::Sum(a), Answer::Sum(b)) => close(*a, *b),
                (
                    Answer::Variance { sum: a, squares: c },
                    Answer::Variance { sum: b, squares: d },
                ) => {
                    close(*a, *b);
                    close(*c, *d);
                }
                (Answer::Histogram(a), Answer::Histogram(b)) => {
                    a.iter().zip(b).for_each(|(a, b)| close(a.count, b.count));
                }
                (Answer::Top(a), Answer::Top(b)) => {
                    assert_eq!(a.len(), 3);
                    a.iter().zip(b).for_each(|(a, b)| close(a.count, b.count));
                    assert!(a[0].count >= a[1].count && a[1].count >= a[2].count);
                    assert!(a[0].candidate != a[1].candidate && a[1].candidate != a[2].candidate);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The noisy median stays near the middle in rank, also when the noise is larger than the counts
/// of single levels: a rank below zero does not wrap.
#[test]
fn a_noisy_median_stays_near_the_middle() {
    let asked = noisy(vec![Statistic::Quantile(500)], 1000);
    let numbers: Vec<u64> = (0..640).map(|i| i / 10).collect();
    let mut far = 0;
    for seed in 0..40 {
        let [Answer::Quantile { value, .. }] = answers(&asked, &numbers, seed)[..] else {
            panic!()
        };
        far += u32::from(value.abs_diff(32) > 6);
    }
    assert!(far <= 6, "{far} of 40 are off by more than a tenth in rank");
}

#[test]
fn a_budget_is_spent_once_and_refuses_what_it_cannot_pay() {
    let mut budget = Budget::new(2500);
    let asked = noisy(vec![Statistic::Sum], 1000);
    assert_eq!(budget.spend(&asked), Ok(()));
    assert_eq!(budget.spend(&asked), Ok(()));
    assert_eq!(budget.spend(&asked), Err(Overspent::Left { asked: 1000, left: 500 }));
    assert_eq!(budget.left(), 500);
    let exact = Question { epsilon: None, ..asked };
    assert_eq!(budget.spend(&exact), Err(Overspent::Exact));
    assert_eq!(budget.left(), 500);
}

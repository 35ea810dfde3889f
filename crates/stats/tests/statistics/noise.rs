//! Noisy answers, in the clear.

use ostrakon_crypto::Secret;
use ostrakon_stats::{Answer, Budget, Form, Group, Overspent, Question, Statistic};

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

/// The answers of groups, each with noise of its own; who is in a small group is hidden by the
/// noise on its size, which also decides whether something is told.
#[test]
fn groups_have_noise_of_their_own_on_sizes_and_answers() {
    let statistics = vec![Statistic::Sum, Statistic::Quantile(500), Statistic::Histogram(vec![8])];
    let form = Form::Grouped { width: 4, groups: 3 };
    let mut asked = Question { epsilon: Some(8000), ..question(form, statistics) };
    asked.minimum = 20;
    // 60 in the first group, 40 in the second, 2 in the third.
    let reports: Vec<u64> = (0..102)
        .map(|i| {
            (i % 16)
                | if i < 60 {
                    0
                } else if i < 100 {
                    1 << 4
                } else {
                    2 << 4
                }
        })
        .collect();
    let (mut sizes, mut sums) = (Vec::new(), Vec::new());
    for seed in 0..30 {
        let answers = answers(&asked, &reports, seed);
        let [Answer::ByGroup(sum), Answer::ByGroup(median), Answer::ByGroup(bins)] = &answers[..]
        else {
            panic!("{answers:?}")
        };
        assert_eq!(sum[2], Group { size: 0, answer: None }, "seed {seed}");
        assert!(median[2].answer.is_none() && bins[2].answer.is_none());
        sizes.push(i64::try_from(sum[0].size).unwrap() - 60);
        let Some(Answer::Sum(noisy)) = sum[0].answer.as_deref() else { panic!("seed {seed}") };
        let exact: u64 = reports[..60].iter().map(|report| report & 15).sum();
        sums.push(noisy - i64::try_from(exact).unwrap());
        let Some(Answer::Quantile { value, .. }) = median[1].answer.as_deref() else { panic!() };
        assert!(*value < 16);
    }
    // Scales: 2·4/8 on sizes, 2·15·4/8 on sums; deviations are √2 of these.
    let deviation = |errors: &[i64]| {
        let square = errors.iter().map(|e| (e * e) as f64).sum::<f64>();
        (square / errors.len() as f64).sqrt()
    };
    let (of_sizes, of_sums) = (deviation(&sizes), deviation(&sums));
    assert!(of_sizes > 0.5 && of_sizes < 3.5, "{of_sizes}");
    assert!(of_sums > 9.0 && of_sums < 45.0, "{of_sums}");
}

/// A thing more or less in one list is hidden; many are counted nearly as without noise.
#[test]
fn different_things_are_counted_with_noise() {
    let form = Form::Items { counters: 64 };
    let asked = Question { epsilon: Some(2000), ..question(form, vec![Statistic::Distinct]) };
    let circuit = asked.circuit(3);
    let bits = asked.form.bits();
    let mut estimates = Vec::new();
    for seed in 0u64..20 {
        // Half of the 64 cells are in use, and of the coins of the first levels as many are one
        // as are expected of so many things: 44 in 64 cells.
        let of_level = |i: usize| (i - 64 * 16) / 128;
        let one =
            |i: usize| (i - 64 * 16) % 128 < [10, 5, 3, 1].get(of_level(i)).copied().unwrap_or(0);
        let mut inputs: Vec<bool> =
            (0..bits).map(|i| if i < 64 * 16 { i / 16 % 2 == 0 } else { one(i) }).collect();
        let mut random = vec![0; circuit.inputs() - bits];
        Secret::new([4; 32]).fill("test", &[&seed.to_le_bytes()], &mut random);
        inputs.extend(random.iter().map(|byte| byte & 1 == 1));
        let answers = asked.read(3, &circuit.evaluate(&inputs)).unwrap();
        let [Answer::Distinct { estimate }] = answers[..] else { panic!() };
        estimates.push(estimate);
    }
    // Without noise it is 64·ln 2 = 44.
    let mean = estimates.iter().sum::<u64>() as f64 / 20.0;
    assert!((mean - 44.0).abs() < 6.0, "{estimates:?}");
    assert!(estimates.iter().any(|estimate| *estimate != 44), "there is noise");
}

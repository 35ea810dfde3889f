//! Circuits in the clear, against definitions.

use ostrakon_authbits::programs::sketch::Sketch;
use ostrakon_crypto::Secret;
use ostrakon_stats::{Answer, BadQuestion, Bin, Form, Group, Place, Question, Statistic};

pub fn question(form: Form, statistics: Vec<Statistic>) -> Question {
    let text = "How long did it take?".into();
    Question { text, form, minimum: 3, statistics, epsilon: None }
}

pub fn numbers(seed: u64, count: usize, width: u8) -> Vec<u64> {
    let mut bytes = vec![0; 8 * count];
    Secret::new([7; 32]).fill("test", &[&seed.to_le_bytes()], &mut bytes);
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap()) >> (64 - width);
    bytes.chunks(8).map(number).collect()
}

/// The answer by definition.
pub fn expected(statistic: &Statistic, numbers: &[u64]) -> Answer {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let sum = |numbers: &mut dyn Iterator<Item = u64>| i64::try_from(numbers.sum::<u64>()).unwrap();
    match statistic {
        Statistic::Quantile(thousandths) => {
            let rank = usize::from(*thousandths) * (sorted.len() - 1) / 1000;
            Answer::Quantile { thousandths: *thousandths, value: sorted[rank] }
        }
        Statistic::Sum => Answer::Sum(sum(&mut sorted.iter().copied())),
        Statistic::Variance => Answer::Variance {
            sum: sum(&mut sorted.iter().copied()),
            squares: sum(&mut sorted.iter().map(|n| n * n)),
        },
        Statistic::Histogram(bounds) => {
            let ends = bounds.iter().copied().map(Some).chain([None]);
            let starts = [0].into_iter().chain(bounds.iter().copied());
            let bin = |(from, to): (u64, Option<u64>)| {
                let inside = |n: &&u64| **n >= from && to.is_none_or(|to| **n < to);
                let count = i64::try_from(sorted.iter().filter(inside).count()).unwrap();
                Bin { from, to, count }
            };
            Answer::Histogram(starts.zip(ends).map(bin).collect())
        }
        Statistic::Top { candidates, places } => {
            let place = |candidate: u64| {
                let count = sorted.iter().filter(|n| **n == candidate).count();
                Place { candidate, count: i64::try_from(count).unwrap() }
            };
            let mut all: Vec<Place> = (0..u64::from(*candidates)).map(place).collect();
            all.sort_by_key(|place| (-place.count, place.candidate));
            all.retain(|place| place.count > 0);
            all.truncate((*places).into());
            Answer::Top(all)
        }
        Statistic::Distinct | Statistic::Circuit(_) => unreachable!("not of the tests here"),
    }
}

pub fn all_expected(question: &Question, numbers: &[u64]) -> Vec<Answer> {
    question.statistics.iter().map(|statistic| expected(statistic, numbers)).collect()
}

pub fn in_the_clear(question: &Question, reports: &[u64]) -> Vec<Answer> {
    let circuit = question.circuit(reports.len());
    let bits = question.form.bits();
    let inputs: Vec<bool> =
        reports.iter().flat_map(|n| (0..bits).map(move |digit| n >> digit & 1 == 1)).collect();
    question.read(reports.len(), &circuit.evaluate(&inputs)).expect("as many outputs as said")
}

fn everything(candidates: u16) -> Vec<Statistic> {
    vec![
        Statistic::Quantile(500),
        Statistic::Sum,
        Statistic::Variance,
        Statistic::Histogram(vec![1, 3]),
        Statistic::Quantile(1000),
        Statistic::Top { candidates, places: 2 },
    ]
}

#[test]
fn circuits_are_right_for_all_short_lists_and_for_long_ones_with_ties() {
    let short = question(Form::Number { width: 2 }, everything(3));
    for count in 1..=4 {
        for code in 0..1u64 << (2 * count) {
            let numbers: Vec<u64> = (0..count).map(|i| code >> (2 * i) & 3).collect();
            assert_eq!(
                in_the_clear(&short, &numbers),
                all_expected(&short, &numbers),
                "{numbers:?}"
            );
        }
    }
    for seed in 0..30 {
        let width = 2 + u8::try_from(seed % 9).unwrap();
        let long = question(Form::Number { width }, everything(4));
        let numbers = numbers(seed, 1 + 7 * usize::try_from(seed).unwrap(), width);
        assert_eq!(in_the_clear(&long, &numbers), all_expected(&long, &numbers), "seed {seed}");
    }
}

/// Each group has the statistics of its own members; of a group below the minimum nothing is told,
/// its size included; who is in no group counts nowhere.
#[test]
fn groups_have_their_own_answers_and_small_ones_none() {
    for seed in 0..30 {
        let (width, groups) = (3 + u8::try_from(seed % 3).unwrap(), 3);
        let mut asked = question(Form::Grouped { width, groups }, everything(8));
        asked.statistics.push(Statistic::Quantile(250));
        asked.minimum = 1 + u32::try_from(seed % 6).unwrap();
        let reports = numbers(seed, 1 + usize::try_from(seed).unwrap(), width + 2);
        let answers = in_the_clear(&asked, &reports);
        for (statistic, answer) in asked.statistics.iter().zip(answers) {
            let of_group = |group: u64| {
                let own = reports.iter().filter(|report| *report >> width == group);
                let own: Vec<u64> = own.map(|report| report & ((1 << width) - 1)).collect();
                let enough = own.len() as u64 >= u64::from(asked.minimum);
                let answer = enough.then(|| Box::new(expected(statistic, &own)));
                Group { size: if enough { own.len() as u64 } else { 0 }, answer }
            };
            let expected = Answer::ByGroup((0..3).map(of_group).collect());
            assert_eq!(answer, expected, "seed {seed}, {statistic:?}");
        }
    }
}

/// The number of different things of several lists, within four times the error of the method.
#[test]
fn different_things_are_counted_whoever_names_them() {
    let asked = question(Form::Items { counters: 64 }, vec![Statistic::Distinct]);
    let bits = asked.form.bits();
    let circuit = asked.circuit(3);
    let empty = asked.read(3, &circuit.evaluate(&vec![false; bits])).unwrap();
    assert_eq!(empty, [Answer::Distinct { estimate: 0 }]);
    // All cells and all coins: beyond what can be counted, and still a number.
    let full = asked.read(3, &circuit.evaluate(&vec![true; bits])).unwrap();
    let [Answer::Distinct { estimate }] = full[..] else { panic!() };
    assert!(estimate > 1 << 33);
}

#[test]
fn questions_that_cannot_be_asked_are_refused() {
    let number = |width| Form::Number { width };
    let of = |form, statistic| question(form, vec![statistic]);
    let bounds = |bounds: &[u64]| of(number(4), Statistic::Histogram(bounds.to_vec()));
    let top = |candidates, places| of(number(4), Statistic::Top { candidates, places });
    let noisy = |form, epsilon| Question { epsilon: Some(epsilon), ..of(form, Statistic::Sum) };
    let grouped = |groups| Form::Grouped { width: 4, groups };
    let items = |counters| Form::Items { counters };
    for (bad, why) in [
        (of(number(1), Statistic::Sum), BadQuestion::Width),
        (of(number(49), Statistic::Sum), BadQuestion::Width),
        (of(grouped(1), Statistic::Sum), BadQuestion::Groups),
        (of(items(48), Statistic::Distinct), BadQuestion::Counters),
        (of(items(8), Statistic::Distinct), BadQuestion::Counters),
        (of(items(64), Statistic::Sum), BadQuestion::Distinct),
        (of(number(8), Statistic::Distinct), BadQuestion::Distinct),
        (question(number(8), vec![]), BadQuestion::Statistics),
        (question(number(8), vec![Statistic::Sum; 65]), BadQuestion::Statistics),
        (of(number(8), Statistic::Quantile(1001)), BadQuestion::Quantile),
        (of(number(25), Statistic::Variance), BadQuestion::Variance),
        (bounds(&[]), BadQuestion::Bounds),
        (bounds(&[3, 3]), BadQuestion::Bounds),
        (bounds(&[3, 16]), BadQuestion::Bounds),
        (top(1, 1), BadQuestion::Top),
        (top(17, 1), BadQuestion::Top),
        (top(4, 5), BadQuestion::Top),
        (top(4, 0), BadQuestion::Top),
        (noisy(number(8), 0), BadQuestion::Noise),
        (noisy(grouped(4), 0), BadQuestion::Noise),
        (noisy(number(48), 1000), BadQuestion::Noise),
    ] {
        assert_eq!(bad.validate(), Err(why), "{bad:?}");
    }
    let lists = Question { epsilon: Some(1000), ..of(items(64), Statistic::Distinct) };
    for good in
        [bounds(&[3, 15]), top(16, 16), noisy(number(30), 1000), noisy(grouped(4), 1000), lists]
    {
        assert_eq!(good.validate(), Ok(()));
    }
    assert_eq!(of(items(64), Statistic::Distinct).validate(), Ok(()));
}

#[test]
fn every_word_of_a_question_is_in_its_digest() {
    let base = question(Form::Number { width: 8 }, everything(4));
    let mut others = vec![base.clone(); 6];
    others[0].text.push('?');
    others[1].form = Form::Number { width: 9 };
    others[2].minimum += 1;
    others[3].statistics.swap(0, 1);
    others[4].epsilon = Some(1);
    others[5].form = Form::Grouped { width: 8, groups: 2 };
    for (i, other) in others.iter().enumerate() {
        assert_ne!(other.digest(), base.digest(), "{i}");
    }
}

/// Attack (item 18): a member adds to its share of a sketch. It raises a cell that is empty
/// whatever it adds; it lowers one that is not only if it guesses the string: exactly once in 2^s.
/// A coin that somebody has thrown is one as often as without it, so that it neither raises nor
/// lowers what is expected of it.
#[test]
fn a_cell_is_raised_at_will_and_lowered_by_a_guess_only_and_no_coin_that_was_thrown_is_loaded() {
    let sketch = Sketch { cells: 1, string: 4, levels: 1, coins: 1 };
    let circuit = sketch.circuit();
    // How many cells are in use, and how many coins are one.
    let counts = |bits: u32| {
        let bits: Vec<bool> = (0..5).map(|i| bits >> i & 1 == 1).collect();
        let [used, one] = circuit.evaluate(&bits)[..] else { panic!("two numbers of one digit") };
        (used, one)
    };
    for added in 0..32 {
        let lowered = (0..16).filter(|string| !counts(string ^ added).0).count();
        assert_eq!(lowered, 1, "{added} added to all 16 strings");
        let ones = (0..2).filter(|coin| counts(coin << 4 ^ added).1).count();
        assert_eq!(ones, 1, "{added} added to both sides of a coin");
        assert_eq!(counts(added), (added & 15 != 0, added >= 16), "what is empty is raised");
    }
}

/// What one thing in one list can change of the number of ones on a level: with u other coins
/// thrown there, the two distributions differ by C(u, ⌊u/2⌋)/2^(u + 1), counted over all coins.
/// (An exact number of coins thrown would differ in every case.)
#[test]
fn one_thing_shows_in_a_level_as_little_as_one_coin_among_all() {
    for (others, of) in [(0, 1), (1, 1), (2, 2), (3, 3), (4, 6), (6, 20), (9, 126)] {
        let level = Sketch { cells: 1, string: 1, levels: 1, coins: others + 1 };
        let circuit = level.circuit();
        let mut counts = vec![[0i64; 2]; others + 2];
        for coins in 0..1u32 << (others + 1) {
            for with in [false, true] {
                let thrown = |i: usize| i < others || with;
                let mut input = vec![false];
                input.extend((0..=others).map(|i| thrown(i) && coins >> i & 1 == 1));
                let opened = circuit.evaluate(&input);
                let ones = opened[1..].iter().rev().fold(0, |n, bit| 2 * n + usize::from(*bit));
                counts[ones][usize::from(with)] += 1;
            }
        }
        let differ: i64 = counts.iter().map(|[without, with]| (with - without).abs()).sum();
        // Twice the distance, of 2^(u + 1) cases: C(u, ⌊u/2⌋).
        assert_eq!(differ, 2 * of, "{others} others");
    }
}

/// Attack: a question that is within every limit of its parts, and whose circuit would fill the
/// memory of every member, is refused before anything is built.
#[test]
fn a_question_that_is_too_large_as_a_whole_is_refused_before_it_is_built() {
    let top = Statistic::Top { candidates: 1024, places: 32 };
    let large = question(Form::Number { width: 16 }, vec![top.clone(); 64]);
    assert_eq!(large.validate(), Err(BadQuestion::Large));
    let grouped = Form::Grouped { width: 16, groups: 256 };
    assert_eq!(question(grouped, vec![top; 64]).validate(), Err(BadQuestion::Large));
    let median = question(Form::Number { width: 32 }, vec![Statistic::Quantile(500)]);
    assert!(median.load().reports(1_000_000) >= 10_000, "{:?}", median.load());
}

/// What is told of a circuit's size without building it is never too little, and seldom much.
#[test]
fn no_circuit_has_more_gates_than_its_load_says() {
    let noisy = |width, statistic| Question {
        epsilon: Some(1000),
        ..question(Form::Number { width }, vec![statistic])
    };
    let mut all = vec![
        question(Form::Number { width: 6 }, everything(9)),
        question(Form::Number { width: 20 }, vec![Statistic::Variance]),
        question(Form::Number { width: 32 }, vec![Statistic::Quantile(990)]),
        question(Form::Number { width: 7 }, vec![Statistic::Top { candidates: 100, places: 7 }]),
        question(Form::Grouped { width: 5, groups: 2 }, everything(9)),
        question(Form::Grouped { width: 4, groups: 17 }, everything(4)),
        question(Form::Items { counters: 64 }, vec![Statistic::Distinct]),
    ];
    all.extend(everything(9).into_iter().map(|statistic| noisy(5, statistic)));
    for form in [Form::Grouped { width: 5, groups: 3 }, Form::Items { counters: 64 }] {
        let statistics = match form {
            Form::Items { .. } => vec![Statistic::Distinct],
            _ => everything(9),
        };
        all.push(Question { epsilon: Some(1000), ..question(form, statistics) });
    }
    for asked in all {
        assert_eq!(asked.validate(), Ok(()), "{asked:?}");
        for count in [1, 2, 15, 16, 100] {
            let (gates, load) = (asked.circuit(count).ands() as u64, asked.load().gates(count));
            assert!(gates <= load, "{count}: {gates} gates, {load} said: {asked:?}");
            assert!(count < 100 || load < 6 * gates, "{count}: {gates}, {load} said: {asked:?}");
        }
    }
}

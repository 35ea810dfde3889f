//! Statistics against what they are by definition, and a committee that computes them.

use std::collections::BTreeSet;

use futures::FutureExt;
use ostrakon_authbits::Journal;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::Prg;
use ostrakon_stats::{
    Answer, BadQuestion, Failed, Question, Report, Sealed, Statistic, compute, report, segment_for,
};
use ostrakon_testkit::{Network, World};

/// What a server has written down.
#[derive(Default)]
struct Memory(BTreeSet<[u8; 32]>);

impl Journal for Memory {
    fn mark(&mut self, name: Digest) -> Result<bool, String> {
        Ok(self.0.insert(name.0))
    }
}

fn question(width: u8, statistics: Vec<Statistic>) -> Question {
    Question { text: "How long did it take?".into(), width, minimum: 3, statistics }
}

fn numbers(seed: u64, count: usize, width: u8) -> Vec<u64> {
    let prg = Prg::new(Secret::new([7; 32]).derive("test", &[&seed.to_le_bytes()]).expose());
    let mut bytes = vec![0; 8 * count];
    prg.fill(&mut bytes);
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap()) >> (64 - width);
    bytes.chunks(8).map(number).collect()
}

/// The answers by definition.
fn expected(question: &Question, numbers: &[u64]) -> Vec<Answer> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let answer = |statistic: &Statistic| match statistic {
        Statistic::Quantile(thousandths) => {
            let rank = usize::from(*thousandths) * (sorted.len() - 1) / 1000;
            Answer::Quantile { thousandths: *thousandths, value: sorted[rank] }
        }
        Statistic::Sum => Answer::Sum(sorted.iter().sum()),
        Statistic::Histogram(bounds) => {
            let ends = bounds.iter().copied().map(Some).chain([None]);
            let starts = [0].into_iter().chain(bounds.iter().copied());
            let bin = |(from, to): (u64, Option<u64>)| {
                let inside = |n: &&u64| **n >= from && to.is_none_or(|to| **n < to);
                let count = sorted.iter().filter(inside).count() as u64;
                ostrakon_stats::Bin { from, to, count }
            };
            Answer::Histogram(starts.zip(ends).map(bin).collect())
        }
    };
    question.statistics.iter().map(answer).collect()
}

fn in_the_clear(question: &Question, numbers: &[u64]) -> Vec<Answer> {
    let circuit = question.circuit(numbers.len());
    let width = usize::from(question.width);
    let digits = |n: &u64| (0..width).map(move |digit| n >> digit & 1 == 1).collect::<Vec<_>>();
    let inputs: Vec<bool> = numbers.iter().flat_map(digits).collect();
    question.read(numbers.len(), &circuit.evaluate(&inputs)).expect("the counts agree")
}

#[test]
fn circuits_are_right_for_all_short_lists_and_for_long_ones_with_ties() {
    let all = vec![
        Statistic::Quantile(500),
        Statistic::Sum,
        Statistic::Histogram(vec![1, 3]),
        Statistic::Quantile(1000),
    ];
    let short = question(2, all.clone());
    for count in 1..=5 {
        for code in 0..1u64 << (2 * count) {
            let numbers: Vec<u64> = (0..count).map(|i| code >> (2 * i) & 3).collect();
            assert_eq!(in_the_clear(&short, &numbers), expected(&short, &numbers), "{numbers:?}");
        }
    }
    for seed in 0..40 {
        let width = 2 + (seed % 9) as u8;
        let long = question(width, all.clone());
        let numbers = numbers(seed, 1 + 7 * seed as usize, width);
        assert_eq!(in_the_clear(&long, &numbers), expected(&long, &numbers), "seed {seed}");
    }
}

#[test]
fn questions_that_cannot_be_asked_are_refused() {
    let bounds = |bounds: &[u64]| question(4, vec![Statistic::Histogram(bounds.to_vec())]);
    for (bad, why) in [
        (question(1, vec![Statistic::Sum]), BadQuestion::Width),
        (question(49, vec![Statistic::Sum]), BadQuestion::Width),
        (question(8, vec![]), BadQuestion::Statistics),
        (question(8, vec![Statistic::Sum; 65]), BadQuestion::Statistics),
        (question(8, vec![Statistic::Quantile(1001)]), BadQuestion::Quantile),
        (bounds(&[]), BadQuestion::Bounds),
        (bounds(&[3, 3]), BadQuestion::Bounds),
        (bounds(&[3, 16]), BadQuestion::Bounds),
    ] {
        assert_eq!(bad.validate(), Err(why), "{bad:?}");
    }
    assert_eq!(bounds(&[3, 15]).validate(), Ok(()));
}

#[test]
fn shares_of_a_report_add_up_and_any_but_one_of_them_say_nothing() {
    let asked = question(10, vec![Statistic::Sum]);
    let mut seen = BTreeSet::new();
    for seed in 0..200u8 {
        let shares = report(&asked, 700, 3, &Secret::new([seed; 32])).unwrap();
        assert_eq!(shares.iter().fold(0, |sum, Report(share)| sum ^ share), 700);
        assert!(shares.iter().all(|Report(share)| share >> 10 == 0));
        seen.extend(shares.iter().map(|Report(share)| *share));
    }
    assert!(seen.len() > 400, "shares are spread over all 1,024 numbers: {}", seen.len());
    assert_eq!(report(&asked, 1024, 3, &Secret::new([1; 32])), None, "too wide");
}

#[test]
fn a_small_question_gets_a_segment_as_sure_as_a_large_one() {
    for ands in [0, 1, 50, 1_000, 100_000] {
        let spec = segment_for(3, ands, 1).expect("there is one");
        assert!(spec.triples >= ands && spec.validate(3).is_ok() && spec.security == 40);
    }
}

/// All servers see the same answers, which are right; a number is used once; a server with another
/// list, or another question, does not take part in this one.
#[test]
fn a_committee_answers_and_uses_a_number_once() {
    let statistics = vec![Statistic::Quantile(500), Statistic::Sum, Statistic::Histogram(vec![4])];
    let asked = question(3, statistics);
    let numbers = numbers(1, 9, 3);
    let shares: Vec<Vec<Report>> = numbers
        .iter()
        .zip(0u8..)
        .map(|(number, i)| report(&asked, *number, 3, &Secret::new([i; 32])).unwrap())
        .collect();
    let of_server = |server: usize| -> Vec<Report> {
        shares.iter().map(|shares| shares[server].clone()).collect()
    };
    let run = |world: &World, lists: [u8; 3]| {
        let (asked, of_server) = (&asked, &of_server);
        world.run(&Network::default(), move |party| {
            let randomness = Secret::new(world.randomness(party.id, "computation"));
            async move {
                let reports = of_server(party.id.index());
                let list = Digest([lists[party.id.index()]; 32]);
                let mut journal = Memory::default();
                let sealed = Sealed { question: asked, number: 1, list, reports: &reports };
                let first = compute(&party, sealed.clone(), &mut journal, randomness).await;
                let again = Secret::new([1; 32]);
                let second = compute(&party, sealed, &mut journal, again).await;
                (first, second)
            }
            .boxed_local()
        })
    };
    let world = World::new(1, 3);
    for result in run(&world, [1; 3]) {
        let (first, second) = result.expect("it ends");
        assert_eq!(first.unwrap().answers, expected(&asked, &numbers));
        assert!(matches!(second, Err(Failed::Ticket(_))), "{second:?}");
    }
    let split = run(&World::new(2, 3), [1, 1, 2]);
    assert!(split.iter().all(Option::is_none), "nobody gets an answer over two lists");
}

#[test]
fn below_the_minimum_nothing_is_computed() {
    let asked = Question { minimum: 5, ..question(3, vec![Statistic::Sum]) };
    let world = World::new(1, 3);
    let network = Network::default();
    let results = world.run(&network, |party| {
        let asked = &asked;
        async move {
            let reports = [Report(1), Report(2), Report(3)];
            let sealed =
                Sealed { question: asked, number: 1, list: Digest([1; 32]), reports: &reports };
            compute(&party, sealed, &mut Memory::default(), Secret::new([1; 32])).await
        }
        .boxed_local()
    });
    for result in results {
        assert_eq!(result.expect("it ends"), Err(Failed::TooFew { missing: 2 }));
    }
}

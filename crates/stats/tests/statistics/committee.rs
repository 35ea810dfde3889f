//! Whole committees, from what reporters send to the answer, with base transfers of their own.

use std::collections::BTreeMap;

use futures::FutureExt;
use ostrakon_authbits::Journal;
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_party::PartyId;
use ostrakon_stats::{
    Answer, Answered, Committee, ExchangeKey, Failed, Form, Part, Places, Question, Report, Scope,
    Seal, Sealed, Statistic, Value, compute, report,
};
use ostrakon_testkit::{Network, World};

use crate::circuits::{all_expected, numbers, question};

/// What a server has written down.
#[derive(Default)]
struct Memory(BTreeMap<Digest, Vec<u8>>);

impl Journal for Memory {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let keep = |(name, bytes): &(Digest, Vec<u8>)| {
            let before = self.0.get(name).cloned();
            self.0.entry(*name).or_insert_with(|| bytes.clone());
            before
        };
        Ok(entries.iter().map(keep).collect())
    }
}

struct Survey {
    world: World,
    exchanges: Vec<ExchangeKey>,
    committee: Committee,
    question: Question,
}

impl Survey {
    fn new(seed: u64, members: u8, question: Question) -> Self {
        let world = World::new(seed, members);
        let exchanges: Vec<ExchangeKey> =
            (0..members).map(|i| ExchangeKey::from_seed(&Secret::new([i + 1; 32]))).collect();
        let member = |(exchange, i): (&ExchangeKey, u8)| exchange.member(&world.key(PartyId(i)));
        let members = exchanges.iter().zip(0..).map(member).collect();
        let committee = Committee::new(members).unwrap();
        Self { world, exchanges, committee, question }
    }

    fn scope(&self) -> Scope<'_> {
        let subject = Digest([5; 32]);
        Scope { subject, committee: &self.committee, question: &self.question, number: 0 }
    }

    /// Where things fall.
    fn places(&self) -> Places {
        let part = |(i, key)| Part::of(key, i, &self.scope());
        let parts: Vec<Part> = self.exchanges.iter().enumerate().map(part).collect();
        Places::of(&self.scope(), &parts).unwrap()
    }

    fn reports(&self, values: &[Value]) -> Vec<Report> {
        let made = values.iter().zip(0u8..).map(|(value, i)| {
            let key = SigningKey::from_seed(&[i; 32]);
            let bytes = report::make(&self.scope(), value, &key, &Secret::new([i; 32])).unwrap();
            assert_eq!(bytes.len(), report::length(&self.question));
            report::check(&bytes, &self.scope()).unwrap()
        });
        Seal::of(made).reports
    }

    /// Everybody computes twice, and the meters are what the formulas say.
    fn run(&self, reports: &[Report]) -> Vec<(Result<Answered, Failed>, Result<Answered, Failed>)> {
        let results = self.world.run(&Network::default(), |party| {
            let me = party.id.index();
            let random = |run: u64| {
                Secret::new(self.world.randomness(party.id, &format!("computation {run}")))
            };
            let random = [random(1), random(2)];
            async move {
                let mut journal = Memory::default();
                let sealed = |run| Sealed { scope: self.scope(), run, first: true, reports };
                let [first, second] = random;
                let exchange = &self.exchanges[me];
                let answered = compute(&party, exchange, sealed(1), &mut journal, first).await;
                if let Ok(answered) = &answered {
                    let (sent, cost) = (party.meter.bytes_sent(answered.run), answered.cost);
                    assert_eq!(sent, cost.bytes, "bytes by formula");
                    assert_eq!(party.meter.rounds(answered.run), cost.rounds, "rounds by formula");
                }
                let again = compute(&party, exchange, sealed(1), &mut journal, second).await;
                (answered, again)
            }
            .boxed_local()
        });
        results.into_iter().map(|result| result.expect("it ends")).collect()
    }
}

/// All servers have the right answers; a number of a run is used once.
#[test]
fn a_committee_answers_and_uses_a_run_once() {
    let statistics = vec![Statistic::Quantile(500), Statistic::Sum, Statistic::Histogram(vec![4])];
    let survey = Survey::new(1, 3, question(Form::Number { width: 3 }, statistics));
    let numbers = numbers(1, 9, 3);
    let values: Vec<Value> = numbers.iter().copied().map(Value::Number).collect();
    for (first, again) in survey.run(&survey.reports(&values)) {
        let answered = first.unwrap();
        assert_eq!(answered.answers, all_expected(&survey.question, &numbers));
        assert_eq!((answered.accepted, answered.excluded.len()), (9, 0));
        assert!(matches!(again, Err(Failed::Ticket(_))), "{again:?}");
    }
}

/// As many members as any command founds on one machine, and as a committee is said to have.
#[test]
fn nine_members_answer() {
    let asked = question(Form::Number { width: 2 }, vec![Statistic::Sum]);
    let survey = Survey::new(7, 9, asked);
    let values: Vec<Value> = [3, 0, 2].into_iter().map(Value::Number).collect();
    for (first, _) in survey.run(&survey.reports(&values)) {
        let answered = first.unwrap();
        assert_eq!((answered.answers, answered.accepted), (vec![Answer::Sum(5)], 3));
    }
}

#[test]
fn a_committee_answers_with_noise() {
    let asked = question(Form::Number { width: 3 }, vec![Statistic::Sum]);
    let survey = Survey::new(2, 2, Question { epsilon: Some(10_000), ..asked });
    let values: Vec<Value> = (0..5).map(Value::Number).collect();
    let answers: Vec<Vec<Answer>> =
        survey.run(&survey.reports(&values)).into_iter().map(|(a, _)| a.unwrap().answers).collect();
    assert_eq!(answers[0], answers[1]);
    let [Answer::Sum(sum)] = answers[0][..] else { panic!() };
    assert!((sum - 10).abs() < 50, "{sum}");
}

/// Lists of things, of which some stand in several lists.
#[test]
fn a_committee_counts_different_things() {
    let survey =
        Survey::new(3, 2, question(Form::Items { counters: 16 }, vec![Statistic::Distinct]));
    let things = |range: std::ops::Range<u32>| {
        Value::Items(range.map(|i| i.to_le_bytes().to_vec()).collect(), survey.places())
    };
    let reports = survey.reports(&[things(0..8), things(4..12), things(0..12)]);
    for (first, _) in survey.run(&reports) {
        let [Answer::Distinct { estimate }] = first.unwrap().answers[..] else { panic!() };
        assert!((5..=26).contains(&estimate), "{estimate} for 12");
    }
}

/// A circuit of all reports has room for so many, and more are not computed on.
#[test]
fn a_committee_computes_a_circuit_of_the_askers_own_within_its_room() {
    // Of up to four numbers of two bits: how many they are, and whether an odd number is 3.
    let text = "11 22\n5 2 2 2 2 3\n2 3 1\n\n2 1 0 1 11 AND\n2 1 2 3 12 AND\n2 1 4 5 13 AND\n\
                2 1 6 7 14 AND\n2 1 11 12 15 XOR\n2 1 13 14 16 XOR\n2 1 15 16 17 XOR\n\
                1 1 8 18 EQW\n1 1 9 19 EQW\n1 1 10 20 EQW\n1 1 17 21 EQW\n";
    let asked = question(Form::Number { width: 2 }, vec![crate::own::own(text)]);
    assert_eq!(asked.validate(), Ok(()));
    let survey = Survey::new(6, 2, asked);
    for (numbers, expected) in [(&[1, 3, 2][..], Some([3, 1])), (&[0, 1, 2, 2, 3], None)] {
        let values: Vec<Value> = numbers.iter().copied().map(Value::Number).collect();
        for (first, _) in survey.run(&survey.reports(&values)) {
            match expected {
                Some(values) => {
                    assert_eq!(first.unwrap().answers, [Answer::Circuit(values.to_vec())]);
                }
                None => assert!(matches!(first, Err(Failed::TooLarge(_))), "{first:?}"),
            }
        }
    }
}

#[test]
fn below_the_minimum_nothing_is_computed() {
    let asked = question(Form::Number { width: 3 }, vec![Statistic::Sum]);
    let survey = Survey::new(4, 3, Question { minimum: 5, ..asked });
    let values: Vec<Value> = (0..3).map(Value::Number).collect();
    for (first, _) in survey.run(&survey.reports(&values)) {
        assert_eq!(first, Err(Failed::TooFew { missing: 2 }));
    }
}

/// Servers with other lists, or another committee, do not compute together.
#[test]
fn servers_with_different_reports_do_not_hear_each_other() {
    let asked = question(Form::Number { width: 3 }, vec![Statistic::Sum]);
    let survey = Survey::new(5, 3, asked);
    let values: Vec<Value> = (0..5).map(Value::Number).collect();
    let reports = survey.reports(&values);
    let results = survey.world.run(&Network::default(), |party| {
        let me = party.id.index();
        let own = if me == 2 { &reports[1..] } else { &reports[..] };
        let exchange = &survey.exchanges[me];
        let sealed = Sealed { scope: survey.scope(), run: 1, first: true, reports: own };
        async move {
            compute(&party, exchange, sealed, &mut Memory::default(), Secret::new([1; 32])).await
        }
        .boxed_local()
    });
    assert!(results.iter().all(Option::is_none), "nobody gets an answer over two lists");
    let stranger = ExchangeKey::from_seed(&Secret::new([99; 32]));
    let refused = survey.world.run(&Network::default(), |party| {
        let sealed = Sealed { scope: survey.scope(), run: 1, first: true, reports: &reports };
        let exchange = &stranger;
        async move {
            compute(&party, exchange, sealed, &mut Memory::default(), Secret::new([1; 32])).await
        }
        .boxed_local()
    });
    assert!(refused.into_iter().all(|result| result == Some(Err(Failed::Roster))));
}

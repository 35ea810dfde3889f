//! The job of private statistics in whole committees.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::world::{FEWEST, Lie, OPEN, World, key, member_key, pass};
use ostrakon_committee::{Job, Refused, Service, Statistics};
use ostrakon_computation::{
    Archive, Cancellation, Conclusion, Draft, Entry, Input, Parameters, Said, Seal, SignedDraft,
    Spent, Statement,
};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_party::wire;
use ostrakon_stats::asked::{Asked, JOB, NotStatistics, StatisticsResult, parameters, result};
use ostrakon_stats::report::forge;
use ostrakon_stats::{Answer, ExchangeKey, Form, OwnCircuit, Part, Question, Statistic, Value};

fn question() -> Question {
    Question {
        text: "How many?".into(),
        form: Form::Number { width: 8 },
        minimum: 2,
        statistics: vec![Statistic::Quantile(500), Statistic::Sum],
        epsilon: None,
    }
}

pub fn ask(world: &World) -> SignedDraft {
    world.draft(|draft| {
        draft.job = JOB.into();
        draft.parameters = parameters(&question());
    })
}

pub fn report(world: &World, draft: &Draft, seed: u8, number: u64) -> Input {
    let asked = Asked::of(draft, &world.committee).unwrap();
    asked.report(&Value::Number(number), &key(seed), &Secret::new([seed; 32])).unwrap()
}

/// A question for lists.
fn ask_for_lists(world: &World) -> SignedDraft {
    let form = Form::Items { counters: 16 };
    let question = Question { form, statistics: vec![Statistic::Distinct], ..question() };
    world.draft(|draft| {
        draft.job = JOB.into();
        draft.parameters = parameters(&question);
    })
}

/// What each member shows to who reports a list.
fn parts(world: &World, draft: &Draft) -> Vec<Part> {
    let part = |member: &Service| member.view(&draft.id()).unwrap().part;
    world.members.iter().map(|member| serde_json::from_value(part(member)).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_counted_whose_things_fall_where_all_members_together_say() {
    let mut world = World::start_statistics(3).await;
    let draft = ask_for_lists(&world);
    world.create(&draft).await;
    let shown = parts(&world, &draft.draft);
    world.restart(1).await;
    assert_eq!(parts(&world, &draft.draft), shown, "it does not change");
    let asked = Asked::of(&draft.draft, &world.committee).unwrap();
    let places = asked.places(&shown).unwrap();
    for (seed, range) in [(1, 0..8u8), (2, 4..12), (3, 0..12)] {
        let list = Value::Items(range.map(|thing| vec![thing]).collect(), places);
        world.submit(&asked.report(&list, &key(seed), &Secret::new([seed; 32])).unwrap()).await;
    }
    world.close(&draft).await;
    let archive = world.result(&draft.draft.id()).await;
    let result = result(&archive).unwrap().unwrap();
    let [Answer::Distinct { estimate }] = result.answers[..] else { panic!("{result:?}") };
    assert!((5..=26).contains(&estimate), "{estimate} for 12");
    let numbers = ask(&world);
    world.create(&numbers).await;
    let view = world.members[0].view(&numbers.draft.id()).unwrap();
    assert_eq!(view.part, serde_json::Value::Null, "numbers need nothing of members");
    world.stop().await;
}

/// Attack: somebody asks for lists and takes it back until things fall as it likes.
#[tokio::test(flavor = "multi_thread")]
async fn places_that_were_shown_are_counted_for_a_day() {
    let mut world = World::start_statistics(2).await;
    for _ in 0..OPEN.of_one {
        let draft = ask_for_lists(&world);
        let id = draft.draft.id();
        world.create(&draft).await;
        for member in &world.members {
            member.cancel(&Cancellation::sign(id, &key(50))).await.unwrap();
        }
        world.cancelled(&id).await;
    }
    world.restart(0).await;
    for ask in [ask_for_lists, ask] {
        let refused = world.members[0].create(ask(&world)).await;
        let Err(Refused::Unavailable(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("6 questions of yours are under way"), "{why}");
    }
    pass(24 * 60 * 60);
    world.create(&ask_for_lists(&world)).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reporters_who_have_gone_are_counted_and_only_the_answers_come_out() {
    let mut world = World::start_statistics(3).await;
    let draft = ask(&world);
    let id = draft.draft.id();
    world.create(&draft).await;
    // The third report reaches one member alone; its reporter has gone, and the member is killed as
    // soon as it has given its receipt.
    for (seed, number) in [(1, 10), (2, 200)] {
        world.submit(&report(&world, &draft.draft, seed, number)).await;
    }
    world.members[1].submit(&id, report(&world, &draft.draft, 3, 30)).await.unwrap();
    world.restart(1).await;
    world.close(&draft).await;
    let archive = world.result(&id).await;
    assert_eq!(archive.verify(), Ok(()));
    let result = result(&archive).unwrap().unwrap();
    let median = Answer::Quantile { thousandths: 500, value: 30 };
    assert_eq!(result.answers, [median, Answer::Sum(240)]);
    assert_eq!((result.accepted, result.excluded), (3, vec![]));
    let shown = world.members[2].render(&archive);
    assert_eq!(shown["accepted"], 3, "{shown}");
    world.stop().await;
}

/// An archive in which all members have signed another result: what they could do together, but for
/// the honest one.
fn signed_by_all(archive: &Archive, result: &StatisticsResult) -> Archive {
    let id = archive.computation();
    let conclusion = Conclusion::Reached(Parameters(wire::encode(result)));
    let said = Said::Outcome { seal: archive.seal.digest(&id), result: conclusion.digest(&id) };
    let sign = |member| {
        let signing = SigningKey::from_seed(&member_key(member));
        Statement::sign(id, said.clone(), &signing).signature
    };
    let mut forged = archive.clone();
    forged.outcomes = (0..archive.committee.members.len()).map(sign).collect();
    forged.conclusion = conclusion;
    assert_eq!(forged.verify(), Ok(()), "the signatures are right");
    forged
}

/// Attack (N1): a reporter states a wrong check value. It is left out, and whoever reads the result
/// sees why. No evidence leaves out another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_reporter_is_left_out_on_evidence_that_the_result_carries() {
    let world = World::start_statistics(3).await;
    let draft = ask(&world);
    let id = draft.draft.id();
    world.create(&draft).await;
    for (seed, number) in [(1, 10), (2, 200), (3, 30)] {
        world.submit(&report(&world, &draft.draft, seed, number)).await;
    }
    let asked = Asked::of(&draft.draft, &world.committee).unwrap();
    let (scope, liar) = (asked.scope(), key(4));
    let wrong = forge::wrong_check(&scope, 99, &liar, &Secret::new([4; 32])).unwrap();
    world.submit(&Input::sign(&id, wrong, &liar)).await;
    world.close(&draft).await;
    let archive = world.result(&id).await;
    assert_eq!(archive.verify(), Ok(()));
    let found = result(&archive).unwrap().unwrap();
    let median = Answer::Quantile { thousandths: 500, value: 30 };
    assert_eq!(found.answers, [median, Answer::Sum(240)]);
    let [evidence] = &found.excluded[..] else { panic!("one is left out") };
    assert_eq!((found.accepted, evidence.reporter()), (3, Some(liar.verifying_key())));
    let shown = world.members[1].render(&archive);
    assert_eq!(shown["excluded"], serde_json::json!([liar.verifying_key()]));
    world.stop().await;

    let refused = |change: &dyn Fn(&mut StatisticsResult)| {
        let mut changed = found.clone();
        change(&mut changed);
        result(&signed_by_all(&archive, &changed)).err()
    };
    assert_eq!(refused(&|_| ()), None);
    let honest = report(&world, &draft.draft, 1, 10).body;
    let changes: [&dyn Fn(&mut StatisticsResult); 6] = [
        &|result| result.excluded[0].report.clone_from(&honest),
        &|result| result.excluded[0].openings.swap(0, 1),
        &|result| result.excluded[0].openings[2].points[3] ^= 1,
        &|result| result.excluded.clear(),
        &|result| result.accepted = 2,
        &|result| {
            result.excluded.push(result.excluded[0].clone());
            result.accepted = 2;
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_eq!(refused(change), Some(NotStatistics::Excluded), "change {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_others_and_for_others_are_refused_at_the_door() {
    let world = World::start_statistics(2).await;
    let (draft, other) = (ask(&world), ask(&world));
    let id = draft.draft.id();
    world.create(&draft).await;
    let elsewhere = report(&world, &other.draft, 1, 10);
    let stolen = Input::sign(&id, elsewhere.body, &key(1));
    assert!(world.members[0].submit(&id, stolen).await.is_err(), "of another question");
    let copied = Input::sign(&id, report(&world, &draft.draft, 1, 10).body, &key(2));
    assert!(world.members[0].submit(&id, copied).await.is_err(), "of another reporter");
    let mut changed = report(&world, &draft.draft, 1, 10).body;
    *changed.last_mut().unwrap() ^= 1;
    let changed = Input::sign(&id, changed, &key(1));
    assert!(world.members[0].submit(&id, changed).await.is_err());
    let differing = world.draft(|draft| {
        draft.job = JOB.into();
        draft.minimum = 1;
        draft.parameters = parameters(&question());
    });
    assert!(world.members[0].create(differing).await.is_err(), "two minima");
    world.stop().await;
}

/// Members are stopped and started again while they compute, one after the other and two at a time.
/// They go on with the same attempt: what was reported is used once, and the result comes.
#[tokio::test(flavor = "multi_thread")]
async fn members_of_statistics_that_are_killed_while_they_compute_come_to_the_result() {
    let mut world = World::start_statistics(3).await;
    let draft = ask(&world);
    let id = draft.draft.id();
    world.create(&draft).await;
    for (seed, number) in [(1, 10), (2, 200), (3, 30)] {
        world.submit(&report(&world, &draft.draft, seed, number)).await;
    }
    world.close(&draft).await;
    // Who is killed between counting an attempt and saying so counts another one.
    for member in 0..world.members.len() {
        let begun = || world.members[member].view(&id).unwrap().members[member].generation == 1;
        while !begun() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    for (round, members) in [&[0][..], &[1], &[2], &[0, 1], &[2, 1]].into_iter().enumerate() {
        tokio::time::sleep(Duration::from_millis(60 * (1 + round as u64))).await;
        for member in members {
            world.restart(*member).await;
        }
    }
    let archive = world.result(&id).await;
    assert_eq!(archive.verify(), Ok(()));
    let result = result(&archive).unwrap().unwrap();
    let median = Answer::Quantile { thousandths: 500, value: 30 };
    assert_eq!(result.answers, [median, Answer::Sum(240)]);
    for member in &world.members {
        let generations = member.view(&id).unwrap().members;
        assert!(generations.iter().all(|member| member.generation == 1), "one attempt");
    }
    world.stop().await;
}

/// The entry that member 2 lists besides what it holds.
type Planted = Arc<Mutex<Option<Entry>>>;

/// A lie of member 2 about what it holds.
fn lists_besides() -> (Planted, Lie) {
    let planted = Planted::default();
    let listed = Arc::clone(&planted);
    let lie = move |member: usize, _: usize, mut told: Vec<Statement>| {
        for statement in &mut told {
            if let (Said::Holdings(entries), 2) = (&statement.said, member) {
                let mut entries = entries.clone();
                entries.extend(*listed.lock().unwrap());
                entries.sort();
                let liar = SigningKey::from_seed(&[202; 32]);
                *statement = Statement::sign(statement.computation, Said::Holdings(entries), &liar);
            }
        }
        told
    };
    (planted, Arc::new(lie))
}

/// Attack: a body that is sound under its reporter's key is signed by another key too, which one
/// member lists. That copy is unsound; what is found of it says nothing of the original.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_unsound_under_one_key_counts_under_its_own() {
    let (planted, lie) = lists_besides();
    let world = World::start_statistics_with(3, Some(lie), None).await;
    let draft = ask(&world);
    let id = draft.draft.id();
    world.create(&draft).await;
    let honest = [(1, 10), (3, 30)].map(|(seed, n)| report(&world, &draft.draft, seed, n));
    for input in &honest {
        world.submit(input).await;
    }
    let copy = Input::sign(&id, honest[0].body.clone(), &key(2));
    *planted.lock().unwrap() = Some(copy.entry);
    world.plant(copy.clone());
    world.close(&draft).await;
    let mut inputs = honest.map(|input| input.entry).to_vec();
    inputs.sort();
    let seal = Seal { inputs, conflicts: Vec::new(), unsound: vec![copy.entry] };
    let sealed = Said::Sealed { seal: seal.digest(&id), spent: None };
    for member in &world.members[..2] {
        let own = loop {
            let said = member.statements(&id).unwrap();
            if let Some(own) = said.iter().find(|s| matches!(s.said, Said::Sealed { .. })) {
                break own.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert_eq!(own.said, sealed);
    }
    world.stop().await;
}

/// All answers together tell of one contributor no more than each honest member lets them, also if
/// another member takes what it should refuse.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_kept_over_questions_to_the_same_people_by_every_member() {
    let (planted, lie) = lists_besides();
    let world = World::start_statistics_with(3, Some(lie), Some(1500)).await;
    let noisy = |epsilon| {
        let question = Question { epsilon, statistics: vec![Statistic::Sum], ..question() };
        world.draft(|draft| {
            draft.job = JOB.into();
            draft.parameters = parameters(&question);
        })
    };
    let exact = world.members[0].create(noisy(None)).await.unwrap_err().to_string();
    assert!(exact.contains("noise"), "{exact}");
    let dear = world.members[0].create(noisy(Some(1501))).await.unwrap_err().to_string();
    assert!(dear.contains("budget"), "{dear}");
    let first = noisy(Some(1000));
    world.create(&first).await;
    for seed in [1, 2] {
        world.submit(&report(&world, &first.draft, seed, 9)).await;
    }
    world.close(&first).await;
    let archive = world.result(&first.draft.id()).await;
    assert_eq!(archive.verify(), Ok(()));
    assert_eq!(archive.spent(), Some(Spent { most: Some(1000), budget: Some(1500) }));
    let second = noisy(Some(1000));
    world.create(&second).await;
    let again = report(&world, &second.draft, 1, 9);
    let refused = world.members[0].submit(&second.draft.id(), again.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("told as much"), "{refused}");
    for seed in [3, 4] {
        world.submit(&report(&world, &second.draft, seed, 9)).await;
    }
    *planted.lock().unwrap() = Some(again.entry);
    world.plant(again);
    world.close(&second).await;
    let why = world.stopped(&second.draft.id(), 2).await;
    assert!(why.iter().any(|why| why.contains("told as much")), "{why:?}");
    world.stop().await;
}

/// Attack: a question for lists is asked with a small ε, which hides one thing of many. A budget
/// counts what is told of the whole list, of which there is no measure.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_refuses_questions_for_lists_whatever_noise_they_have() {
    let world = World::start_statistics_with(2, None, Some(9000)).await;
    let ask = |form, statistic| {
        let statistics = vec![statistic];
        let question = Question { form, statistics, epsilon: Some(250), ..question() };
        world.draft(|draft| {
            draft.job = JOB.into();
            draft.parameters = parameters(&question);
        })
    };
    let lists = ask(Form::Items { counters: 16 }, Statistic::Distinct);
    for member in &world.members {
        let refused = member.create(lists.clone()).await.unwrap_err().to_string();
        assert!(refused.contains("all of what somebody hands in"), "{refused}");
    }
    world.create(&ask(Form::Number { width: 8 }, Statistic::Sum)).await;
    world.stop().await;
}

/// Attack: an exact answer, then one with noise about the same people, which alone is shown with
/// what it tells.
#[tokio::test(flavor = "multi_thread")]
async fn after_an_exact_answer_no_noise_bounds_what_all_together_tell() {
    let world = World::start_statistics(2).await;
    let mut spent = Vec::new();
    for (epsilon, seeds) in [(None, [1, 2]), (Some(1000), [2, 3]), (Some(1000), [4, 5])] {
        let question = Question { epsilon, statistics: vec![Statistic::Sum], ..question() };
        let draft = world.draft(|draft| {
            draft.job = JOB.into();
            draft.parameters = parameters(&question);
        });
        world.create(&draft).await;
        for seed in seeds {
            world.submit(&report(&world, &draft.draft, seed, 9)).await;
        }
        world.close(&draft).await;
        spent.push(world.result(&draft.draft.id()).await.spent());
    }
    let of = |most| Some(Spent { most, budget: None });
    assert_eq!(spent, [None, of(None), of(Some(1000))]);
    world.stop().await;
}

/// Attack: a question about one person, or about two of whom one asks.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_fewer_than_an_operator_allows_is_refused_by_each_member() {
    let world = World::start_statistics(2).await;
    for minimum in 1..FEWEST {
        let few = Question { minimum, ..question() };
        let draft = world.draft(|draft| {
            draft.job = JOB.into();
            draft.minimum = minimum;
            draft.parameters = parameters(&few);
        });
        for member in &world.members {
            let refused = member.create(draft.clone()).await.unwrap_err().to_string();
            assert!(refused.contains("fewer than 2 reports"), "{refused}");
        }
    }
    world.create(&ask(&world)).await;
    world.stop().await;
}

/// Attack: a circuit that reads all reports at once opens one of them. It is computed where the
/// operator has allowed such circuits, and no member of these has.
#[tokio::test(flavor = "multi_thread")]
async fn a_circuit_that_may_tell_one_report_is_refused_by_each_member() {
    let world = World::start_statistics(2).await;
    // Of five numbers of two bits and how many there are the first number.
    let first = "2 15\n6 2 2 2 2 2 3\n1 2\n\n1 1 0 13 EQW\n1 1 1 14 EQW\n";
    let circuit = Statistic::Circuit(OwnCircuit::from(first.to_owned()));
    let asked =
        Question { form: Form::Number { width: 2 }, statistics: vec![circuit], ..question() };
    assert_eq!(asked.validate(), Ok(()));
    let draft = world.draft(|draft| {
        draft.job = JOB.into();
        draft.parameters = parameters(&asked);
    });
    for member in &world.members {
        let refused = member.create(draft.clone()).await.unwrap_err().to_string();
        assert!(refused.contains("reads all reports at once"), "{refused}");
    }
    world.stop().await;
    let key = ExchangeKey::from_seed(&Secret::new([1; 32]));
    let job = Statistics::new(key, FEWEST).with_circuits_of_all(true);
    assert_eq!(job.judge(&draft.draft, &world.committee), Ok(()));
}

/// Attack: anybody signs a draft whose circuit no machine could hold.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_nobody_could_compute_is_refused_at_once() {
    let world = World::start_statistics(2).await;
    let large = Question {
        statistics: vec![Statistic::Top { candidates: 256, places: 32 }; 64],
        ..question()
    };
    let draft = world.draft(|draft| {
        draft.job = JOB.into();
        draft.parameters = parameters(&large);
    });
    let refused = world.members[0].create(draft).await.unwrap_err().to_string();
    assert!(refused.contains("too much"), "{refused}");
    world.stop().await;
}

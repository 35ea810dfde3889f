//! The job of private statistics in whole committees.

use crate::world::{World, key};
use ostrakon_computation::{Draft, Input, SignedDraft};
use ostrakon_crypto::Secret;
use ostrakon_stats::asked::{Asked, JOB, parameters, result};
use ostrakon_stats::{Answer, Form, Question, Statistic, Value};

fn question() -> Question {
    Question {
        text: "How many?".into(),
        form: Form::Number { width: 8 },
        minimum: 2,
        statistics: vec![Statistic::Quantile(500), Statistic::Sum],
        epsilon: None,
    }
}

fn ask(world: &World) -> SignedDraft {
    world.draft(|draft| {
        draft.job = JOB.into();
        draft.parameters = parameters(&question());
    })
}

fn report(world: &World, draft: &Draft, seed: u8, number: u64) -> Input {
    let asked = Asked::of(draft, &world.committee).unwrap();
    asked.report(&Value::Number(number), &key(seed), &Secret::new([seed; 32])).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn reporters_who_have_gone_are_counted_and_only_the_answers_come_out() {
    let world = World::start_statistics(3).await;
    let draft = ask(&world);
    let id = draft.draft.id();
    world.create(&draft).await;
    // The third report reaches one member alone, and its reporter has gone.
    for (seed, number) in [(1, 10), (2, 200)] {
        world.submit(&report(&world, &draft.draft, seed, number)).await;
    }
    world.members[1].submit(&id, report(&world, &draft.draft, 3, 30)).await.unwrap();
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

//! Further questions about what was contributed to a first one (C14).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostrakon_committee::{Phase, Refused};
use ostrakon_computation::{
    ComputationId, Contributors, Draft, Entry, Input, Said, SignedDraft, Statement,
};
use ostrakon_crypto::SigningKey;
use ostrakon_graph::asked::{self, Keep, Program, Shown, Terms, Values};

use crate::graphs::{ask, contribution, terms};
use crate::world::{Lie, World, key, member_key, pass};

const DAY: u64 = 24 * 60 * 60;

fn kept(questions: u32) -> Terms {
    Terms { keep: Some(Keep { questions, days: 1 }), ..terms(Shown::Vertices) }
}

fn reach() -> Terms {
    Terms { program: Program::Reach { from: vec![2], hops: 1 }, ..terms(Shown::Vertices) }
}

/// A further question about what was contributed to `first`.
fn further(
    world: &World,
    first: ComputationId,
    terms: &Terms,
    change: impl Fn(&mut Draft),
) -> SignedDraft {
    ask(world, terms, |draft| {
        draft.contributors = Contributors::Earlier(first);
        change(draft);
    })
}

async fn values(world: &World, id: &ComputationId) -> Vec<Option<u64>> {
    let archive = world.result(id).await;
    assert_eq!(archive.verify(), Ok(()));
    let result = asked::result(&archive).unwrap().unwrap();
    let Values::Vertices(values) = result.values else { panic!("values of vertices") };
    values
}

/// The first question, answered.
async fn answered(world: &World, terms: &Terms) -> (SignedDraft, Vec<Input>) {
    let first = ask(world, terms, |_| ());
    world.create(&first).await;
    let lists: [&[(u32, u32)]; 2] = [&[(0, 1), (1, 2)], &[(2, 3)]];
    let inputs =
        [1, 2].map(|seed| contribution(world, &first.draft, seed, lists[usize::from(seed) - 1]));
    for input in &inputs {
        world.submit(input).await;
    }
    world.close(&first).await;
    let far = [Some(0), Some(1), Some(2), Some(3), None];
    assert_eq!(values(world, &first.draft.id()).await, far);
    (first, inputs.to_vec())
}

async fn refused(world: &World, draft: &SignedDraft) -> Refused {
    let mut refusals = Vec::new();
    for member in &world.members {
        refusals.push(member.create(draft.clone()).await.unwrap_err());
    }
    refusals.remove(0)
}

/// Waits until no member shows a contribution of the first question.
async fn is_erased(world: &World, first: &ComputationId, input: &Input) {
    let (contributor, body) = input.entry.input();
    for member in &world.members {
        while member.input(first, &contributor, &body).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn further_questions_are_answered_from_what_was_contributed_once() {
    let mut world = World::start_graphs(3).await;
    let (first, inputs) = answered(&world, &kept(2)).await;
    let id = first.draft.id();
    let wrong = |change: fn(&mut Draft), terms: &Terms| further(&world, id, terms, change);
    let of_other = wrong(|draft| draft.creator = key(52).verifying_key(), &reach());
    let of_other = of_other.draft.sign(&key(52));
    assert!(matches!(refused(&world, &of_other).await, Refused::Forbidden(_)));
    let lower = wrong(|draft| draft.minimum = 1, &reach());
    assert!(refused(&world, &lower).await.to_string().contains("no lower"));
    let wider = wrong(|_| (), &Terms { edges: 5, ..reach() });
    assert!(refused(&world, &wider).await.to_string().contains("like those of the first"));
    let unknown = further(&world, of_other.draft.id(), &reach(), |_| ());
    assert!(matches!(refused(&world, &unknown).await, Refused::NotFound(_)));

    let second = further(&world, id, &reach(), |_| ());
    world.create(&second).await;
    let own = contribution(&world, &second.draft, 3, &[(3, 4)]);
    let late = world.members[0].submit(&second.draft.id(), own).await;
    assert!(matches!(late, Err(Refused::Forbidden(_))), "{late:?}");
    world.restart(1).await;
    let near = [None, None, Some(1), Some(1), None];
    assert_eq!(values(&world, &second.draft.id()).await, near);
    world.create(&second).await;

    let scattered = Program::Distances { from: vec![1], hops: 3, processors: Some(2) };
    let third = further(&world, id, &Terms { program: scattered, ..reach() }, |_| ());
    world.create(&third).await;
    let far = [None, Some(0), Some(1), Some(2), None];
    assert_eq!(values(&world, &third.draft.id()).await, far);
    is_erased(&world, &id, &inputs[0]).await;
    let fourth = further(&world, id, &reach(), |_| ());
    assert!(refused(&world, &fourth).await.to_string().contains("was said to those"));
    let nested = further(&world, second.draft.id(), &reach(), |_| ());
    assert!(refused(&world, &nested).await.to_string().contains("was said to those"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_kept_or_no_longer_is_erased() {
    let mut world = World::start_graphs(3).await;
    for (terms, days) in [(terms(Shown::Vertices), 0), (kept(1), 1)] {
        let (first, inputs) = answered(&world, &terms).await;
        let id = first.draft.id();
        let (contributor, body) = inputs[0].entry.input();
        if days > 0 {
            world.restart(0).await;
            let there = world.members[0].input(&id, &contributor, &body).await;
            assert!(there.is_ok(), "it is kept over a restart");
            pass(days * DAY);
        }
        is_erased(&world, &id, &inputs[0]).await;
        let late = further(&world, id, &reach(), |_| ());
        let why = refused(&world, &late).await.to_string();
        assert!(why.contains("is erased"), "{why}");
    }
    world.stop().await;
}

/// What a member lists besides, of the question of this name.
type Besides = Arc<Mutex<Option<(ComputationId, Entry)>>>;

/// Attack: an owner signs another list after the first question was answered, and a member shows it
/// with the second one, so that both of its lists would be out.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_changes_what_a_further_question_is_about() {
    const LIAR: usize = 2;
    let besides = Besides::default();
    let listed = Arc::clone(&besides);
    let lie: Lie = Arc::new(move |member: usize, _, mut told: Vec<Statement>| {
        let Some((id, entry)) = *listed.lock().unwrap() else { return told };
        for statement in told.iter_mut().filter(|s| member == LIAR && s.computation == id) {
            if let Said::Holdings(entries) = &statement.said {
                let mut entries = entries.clone();
                entries.push(entry);
                entries.sort();
                let liar = SigningKey::from_seed(&member_key(LIAR));
                *statement = Statement::sign(id, Said::Holdings(entries), &liar);
            }
        }
        told
    });
    let world = World::start_graphs_with(3, Some(lie), None).await;
    let (first, _) = answered(&world, &kept(2)).await;
    let another = contribution(&world, &first.draft, 2, &[(4, 4)]);
    let second = further(&world, first.draft.id(), &reach(), |_| ());
    let id = second.draft.id();
    *besides.lock().unwrap() = Some((id, another.entry));
    world.plant(another);
    world.create(&second).await;
    for why in world.stopped(&id, LIAR).await {
        assert!(why.contains("m2 lists other inputs") || why.ends_with(" has stopped"), "{why}");
    }
    world.stop().await;
}

/// Attack: a corrupt server and an owner that has dealt to it alone let that owner's list take part
/// in one question and not in another one, and read from both what is the others'.
#[tokio::test(flavor = "multi_thread")]
async fn all_questions_are_computed_on_the_same_lists() {
    let world = World::start_graphs(3).await;
    let (first, _) = answered(&world, &kept(1)).await;
    // As if another list had taken part in the first question.
    let other = "UPDATE marks SET value = x'01' WHERE CAST(name AS TEXT) = 'accepted'";
    for member in 0..3 {
        world.on_disk(member, other).await;
    }
    let second = further(&world, first.draft.id(), &reach(), |_| ());
    world.create(&second).await;
    for why in world.stopped(&second.draft.id(), 3).await {
        assert!(why.contains("other lists took part") || why.ends_with(" has stopped"), "{why}");
    }
    let phase = world.members[0].view(&first.draft.id()).unwrap().phase;
    assert_eq!(phase, Phase::Done);
    world.stop().await;
}

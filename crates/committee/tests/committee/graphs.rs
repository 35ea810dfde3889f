//! The job of graphs in whole committees.

use ostrakon_committee::Phase;
use ostrakon_computation::{ComputationId, Contributors, Draft, Input, SignedDraft};
use ostrakon_crypto::{Secret, VerifyingKey};
use ostrakon_graph::asked::{
    self, JOB, Naming, Program, ReaderKey, Shown, Terms, Values, parameters,
};
use ostrakon_graph::owner::Edge;

use crate::world::{World, key, now, pass};

pub fn terms(shown: Shown) -> Terms {
    let program = Program::Distances { from: vec![0], hops: 3, processors: None };
    // Fewer are not counted.
    let vertices = if shown == Shown::Counts { 14 } else { 5 };
    let (naming, undirected, weighted) = (Naming::Numbers, false, false);
    let (noise, reader, keep) = (None, None, None);
    Terms { vertices, naming, edges: 4, undirected, weighted, program, shown, noise, reader, keep }
}

pub fn ask(world: &World, terms: &Terms, change: impl Fn(&mut Draft)) -> SignedDraft {
    world.draft(|draft| {
        draft.job = JOB.into();
        draft.parameters = parameters(terms);
        change(draft);
    })
}

fn edges(ends: &[(u32, u32)]) -> Vec<Edge> {
    let edge =
        |(source, target): &(u32, u32)| Edge { source: Some(*source), target: Some(*target) };
    ends.iter().map(edge).collect()
}

pub fn contribution(world: &World, draft: &Draft, seed: u8, ends: &[(u32, u32)]) -> Input {
    let members = asked::members(&world.committee).unwrap();
    let terms = asked::terms(draft).unwrap();
    let randomness = Secret::new([seed; 32]);
    asked::make(&draft.id(), &terms, &members, &edges(ends), &key(seed), &randomness).unwrap()
}

fn distances(values: [Option<u64>; 5]) -> Values {
    Values::Vertices(values.to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_who_have_gone_take_part_and_only_what_is_shown_comes_out() {
    let world = World::start_graphs(3).await;
    let draft = ask(&world, &terms(Shown::Counts), |_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    world.submit(&contribution(&world, &draft.draft, 1, &[(0, 1), (1, 2)])).await;
    // The second list reaches one member alone, and its owner has gone.
    let second = contribution(&world, &draft.draft, 2, &[(2, 3), (3, 3)]);
    world.members[1].submit(&id, second).await.unwrap();
    world.close(&draft).await;
    let archive = world.result(&id).await;
    assert_eq!(archive.verify(), Ok(()));
    let result = asked::result(&archive).unwrap().unwrap();
    let counts = vec![(None, 10), (Some(0), 1), (Some(1), 1), (Some(2), 1), (Some(3), 1)];
    assert_eq!(result.values, Values::Counts(counts));
    assert_eq!((result.accepted, &result.excluded[..]), (2, &[][..] as &[VerifyingKey]));
    let shown = world.members[2].render(&archive);
    assert_eq!(shown["accepted"], 2, "{shown}");
    world.stop().await;
}

/// Waits until a member is between two hops; false if the result was there before.
pub async fn between_hops(world: &World, id: &ComputationId, member: usize) -> bool {
    loop {
        let view = world.members[member].view(id).unwrap();
        let progress = view.progress.as_ref();
        if progress.is_some_and(|of| (of.stage.as_str(), of.of) == ("hop", 12) && of.done > 1) {
            assert_eq!(view.phase, Phase::Computing);
            return true;
        }
        if matches!(view.phase, Phase::Done | Phase::Stopped { .. }) {
            return false;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

/// Large enough that there is something to break off.
pub fn large(reader: Option<ReaderKey>) -> Terms {
    let program = Program::Distances { from: vec![0], hops: 12, processors: None };
    Terms { vertices: 2000, edges: 2000, program, reader, ..terms(Shown::Vertices) }
}

/// Each in turn is killed between two hops. It goes on with the same attempt: the others do not
/// begin again, and all have signed one result, which is masked for one reader.
#[tokio::test(flavor = "multi_thread")]
async fn members_killed_between_hops_go_on_with_the_same_attempt() {
    let mut world = World::start_graphs(3).await;
    let own = asked::reader(&[4; 32]);
    let large = large(Some(ReaderKey(own.public())));
    let draft = ask(&world, &large, |_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    world.submit(&contribution(&world, &draft.draft, 1, &[(0, 1), (1, 2)])).await;
    world.submit(&contribution(&world, &draft.draft, 2, &[(2, 3)])).await;
    world.restart(1).await;
    world.close(&draft).await;
    let mut killed = 0;
    for member in [0, 2, 1] {
        if between_hops(&world, &id, member).await {
            world.restart(member).await;
            killed += 1;
        }
    }
    let archive = world.result(&id).await;
    assert_eq!(archive.verify(), Ok(()));
    assert!(killed > 0, "nobody was killed between hops");
    let view = world.members[0].view(&id).unwrap();
    let generations: Vec<u32> = view.members.iter().map(|member| member.generation).collect();
    assert_eq!((generations, view.progress), (vec![1; 3], None));
    let result = asked::result(&archive).unwrap().unwrap();
    let opened = result.values.opened(&id, &large, &own).unwrap();
    let (Values::Vertices(values), liars) = opened else { panic!("values of vertices") };
    assert_eq!(values[..5], [Some(0), Some(1), Some(2), Some(3), None]);
    assert!(liars.is_empty() && values[5..].iter().all(Option::is_none));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_never_comes_leaves_too_few_and_nothing_is_computed() {
    let world = World::start_graphs(3).await;
    let draft = ask(&world, &terms(Shown::Vertices), |draft| draft.closes = Some(now() + 100));
    let id = draft.draft.id();
    world.create(&draft).await;
    world.submit(&contribution(&world, &draft.draft, 1, &[(0, 1)])).await;
    pass(101);
    let archive = world.result(&id).await;
    assert_eq!(asked::result(&archive), Ok(None));
    let begun = world.members.iter().flat_map(|m| m.view(&id).unwrap().members);
    assert!(begun.into_iter().all(|member| member.generation == 0), "nothing was begun");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_computed_is_refused_with_the_reason() {
    let two = World::start_graphs(2).await;
    let refused = two.members[0].create(ask(&two, &terms(Shown::Counts), |_| ())).await;
    assert!(refused.unwrap_err().to_string().contains("exactly three servers"));
    two.stop().await;
    let world = World::start_graphs(3).await;
    let refused = async |terms: &Terms, text: &str| {
        let refused = world.members[0].create(ask(&world, terms, |_| ())).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(text), "{refused}");
    };
    let good = terms(Shown::Counts);
    refused(&Terms { vertices: 0, ..good.clone() }, "vertices").await;
    refused(&Terms { edges: 1 << 21, ..good.clone() }, "edges").await;
    refused(&Terms { edges: 1 << 20, vertices: 1 << 20, ..good.clone() }, "too much").await;
    refused(&Terms { shown: Shown::AtLeast(2), ..good.clone() }, "only for degrees").await;
    let far = Program::Distances { from: vec![14], hops: 3, processors: None };
    refused(&Terms { program: far, ..good.clone() }, "vertices of the graph").await;
    refused(&Terms { naming: Naming::Names(vec!["a".into()]), ..good.clone() }, "one name").await;
    refused(&Terms { vertices: 10, ..good.clone() }, "counts of so few").await;
    let noise = Some(asked::Noise { epsilon: 1000, bins: 8 });
    refused(&Terms { noise, ..good.clone() }, "noise hides an edge").await;
    let katz = Program::Katz { base: 10, hops: 16 };
    refused(&Terms { program: katz, ..terms(Shown::Vertices) }, "a lower attenuation").await;
    world.stop().await;
}

/// Each member takes a third of what all together can compute on. A minimum beyond it would never
/// be reached, whatever was handed in.
#[tokio::test(flavor = "multi_thread")]
async fn of_anyone_no_more_are_demanded_than_each_member_takes() {
    let world = World::start_graphs(3).await;
    let large = Terms { vertices: 1 << 16, edges: 1, ..terms(Shown::Vertices) };
    let most = u32::try_from(large.most_owners() / 3).unwrap();
    for (minimum, taken) in [(most, true), (most + 1, false)] {
        let draft = ask(&world, &large, |draft| {
            draft.contributors = Contributors::Anyone;
            draft.minimum = minimum;
        });
        match world.members[0].create(draft).await {
            Ok(_) => assert!(taken),
            Err(refused) => assert!(!taken && refused.to_string().contains("where anyone may")),
        }
    }
    world.stop().await;
}

/// Exact answers tell of a contributor without bounds: a member that counts what is told takes no
/// such question.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_with_a_budget_takes_no_exact_question_about_graphs() {
    let world = World::start_graphs_with(3, None, Some(1000)).await;
    let refused = world.members[0].create(ask(&world, &terms(Shown::Counts), |_| ())).await;
    assert!(refused.unwrap_err().to_string().contains("privacy budget"));
    world.stop().await;
}

/// Attack: the same is asked again and again, and the mean taken of answers with noise. Each answer
/// costs every contributor ε for each of its edges, and when the budget is spent it takes part in
/// none.
#[tokio::test(flavor = "multi_thread")]
async fn answers_with_noise_are_priced_so_that_nobody_averages_over_many() {
    let budget = 5000;
    let world = World::start_graphs_with(3, None, Some(budget)).await;
    let noise = Some(asked::Noise { epsilon: 500, bins: 0 });
    let noisy = Terms { program: Program::Edges, noise, ..terms(Shown::Counts) };
    assert_eq!(noisy.epsilon(), Some(2000), "half for each of four edges");
    let large = Terms { edges: 11, ..noisy.clone() };
    let refused = world.members[0].create(ask(&world, &large, |_| ())).await.unwrap_err();
    assert!(refused.to_string().contains("budget"), "{refused}");
    let mut taken = Vec::new();
    for _ in 0..3 {
        let draft = ask(&world, &noisy, |_| ());
        world.create(&draft).await;
        let input = contribution(&world, &draft.draft, 1, &[(0, 1)]);
        taken.push(world.members[0].submit(&draft.draft.id(), input).await.map(drop));
    }
    let [Ok(()), Ok(()), Err(refused)] = &taken[..] else { panic!("{taken:?}") };
    assert!(refused.to_string().contains("as much about you as this server lets them"));
    // Whoever has spent nothing yet is still asked.
    let draft = ask(&world, &noisy, |_| ());
    world.create(&draft).await;
    let input = contribution(&world, &draft.draft, 2, &[(0, 1)]);
    world.members[0].submit(&draft.draft.id(), input).await.unwrap();
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contributions_of_others_and_for_others_are_refused_or_left_out() {
    let world = World::start_graphs(3).await;
    let draft = ask(&world, &terms(Shown::Vertices), |_| ());
    let other = ask(&world, &terms(Shown::Vertices), |_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let honest = contribution(&world, &draft.draft, 1, &[(0, 1)]);
    world.submit(&honest).await;
    let mut short = honest.body.clone();
    short.pop();
    assert!(world.members[0].submit(&id, Input::sign(&id, short, &key(2))).await.is_err());
    let mut twice = honest.body.clone();
    let end = twice.len();
    twice.copy_within(end - 4..end, end - 8);
    let twice = world.members[0].submit(&id, Input::sign(&id, twice, &key(2))).await;
    assert!(twice.unwrap_err().to_string().contains("damaged"), "no permutation");
    // Copied and replayed lists cannot be told at the door, and open for nobody.
    world.submit(&Input::sign(&id, honest.body, &key(2))).await;
    let elsewhere = contribution(&world, &other.draft, 3, &[(0, 4)]);
    world.submit(&Input::sign(&id, elsewhere.body, &key(3))).await;
    world.submit(&contribution(&world, &draft.draft, 4, &[(1, 2)])).await;
    world.close(&draft).await;
    let archive = world.result(&id).await;
    let result = asked::result(&archive).unwrap().unwrap();
    assert_eq!(result.values, distances([Some(0), Some(1), Some(2), None, None]));
    let mut out = [key(2).verifying_key(), key(3).verifying_key()];
    out.sort();
    assert_eq!((result.accepted, &result.excluded[..]), (2, &out[..]));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_edges_of_two_owners_are_computed_on() {
    let world = World::start_graphs(3).await;
    let vertices = 10_000;
    let hops = if ostrakon_testkit::nightly() { 6 } else { 4 };
    let program = Program::Distances { from: vec![0], hops, processors: None };
    let large = Terms { vertices, edges: 10_000, program, ..terms(Shown::Vertices) };
    let draft = ask(&world, &large, |_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    // A tree of ten children, of which the owners have every other edge.
    let tree: Vec<(u32, u32)> = (1..vertices).map(|v| ((v - 1) / 10, v)).collect();
    for owner in [1, 2] {
        let own = tree.iter().copied().filter(|(_, v)| v % 2 + 1 == u32::from(owner));
        let own: Vec<_> = own.collect();
        world.submit(&contribution(&world, &draft.draft, owner, &own)).await;
    }
    world.close(&draft).await;
    let archive = world.result(&id).await;
    let result = asked::result(&archive).unwrap().unwrap();
    let counts =
        vec![(Some(0), 1), (Some(1), 10), (Some(2), 100), (Some(3), 1000), (Some(4), 8889)];
    assert_eq!(result.values.counts(), counts);
    world.stop().await;
}

//! Inputs that come in pieces.

use ostrakon_committee::{Announced, Refused, Uploaded};
use ostrakon_computation::{Draft, Input, SignedDraft};
use ostrakon_crypto::Digest;
use ostrakon_graph::asked::{JOB, Naming, Program, Shown, Terms, parameters};

use crate::graphs::contribution;
use crate::world::{World, key, now, pass};

fn terms() -> Terms {
    let (program, shown) = (Program::InDegrees, Shown::Vertices);
    let (naming, undirected, weighted) = (Naming::Numbers, false, false);
    let (noise, reader, keep) = (None, None, None);
    Terms {
        vertices: 500,
        naming,
        edges: 1500,
        undirected,
        weighted,
        program,
        shown,
        noise,
        reader,
        keep,
    }
}

fn ask(world: &World, change: impl Fn(&mut Draft)) -> SignedDraft {
    world.draft(|draft| {
        draft.job = JOB.into();
        draft.parameters = parameters(&terms());
        change(draft);
    })
}

fn announced(input: &Input) -> Announced {
    Announced { entry: input.entry, bytes: input.body.len() as u64 }
}

fn held(uploaded: Uploaded) -> (Digest, u64) {
    let Uploaded::Held { upload, bytes } = uploaded else { panic!("{uploaded:?}") };
    (upload, bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_upload_goes_on_where_it_stopped_also_after_a_restart() {
    let mut world = World::start_graphs(3).await;
    let draft = ask(&world, |_| ());
    let id = draft.draft.id();
    world.create(&draft).await;
    let input = contribution(&world, &draft.draft, 1, &[(0, 1), (2, 1)]);
    let (body, head) = (&input.body, announced(&input));
    let (upload, at) = held(world.members[0].announce(&id, head).await.unwrap());
    assert_eq!(at, 0);
    assert_eq!(world.members[0].piece(&id, &upload, 0, &body[..9000]).await.unwrap(), 9000);
    // Neither a gap nor more than was announced; and what was confirmed may come again.
    let wrong = [(9001, &body[9001..9002]), (9000, &vec![0; body.len()][..])];
    for (at, piece) in wrong {
        let refused = world.members[0].piece(&id, &upload, at, piece).await;
        assert!(matches!(refused, Err(Refused::Conflict(_))), "{at}: {refused:?}");
    }
    assert_eq!(world.members[0].piece(&id, &upload, 0, &body[..9000]).await.unwrap(), 9000);
    assert!(world.members[0].piece(&id, &Digest([1; 32]), 9000, &body[9000..]).await.is_err());
    world.restart(0).await;
    let member = &world.members[0];
    assert_eq!(held(member.announce(&id, head).await.unwrap()), (upload, 9000));
    assert_eq!(member.view(&id).unwrap().inputs, 0, "half an input is none");
    let end = body.len() as u64;
    assert_eq!(member.piece(&id, &upload, 9000, &body[9000..]).await.unwrap(), end);
    let Uploaded::Receipt(receipt) = member.announce(&id, head).await.unwrap() else {
        panic!("it is complete")
    };
    assert_eq!(receipt, member.submit(&id, input.clone()).await.unwrap(), "as for the whole");
    assert_eq!(member.announce(&id, head).await.unwrap(), Uploaded::Receipt(receipt));
    world.submit(&contribution(&world, &draft.draft, 2, &[(3, 1)])).await;
    world.close(&draft).await;
    let archive = world.result(&id).await;
    let result = ostrakon_graph::asked::result(&archive).unwrap().unwrap();
    assert_eq!((result.accepted, result.values.counts().pop()), (2, Some((Some(3), 1))));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_take_no_more_room_than_was_asked_for_and_only_of_who_may_contribute() {
    let world = World::start_graphs(3).await;
    let keys = [1, 2].map(|seed| key(seed).verifying_key());
    let draft = ask(&world, |draft| {
        draft.contributors = keys.into_iter().collect();
        draft.closes = Some(now() + 10_000);
    });
    let id = draft.draft.id();
    world.create(&draft).await;
    let member = &world.members[0];
    let input = contribution(&world, &draft.draft, 1, &[(0, 1)]);
    let stranger = contribution(&world, &draft.draft, 9, &[(0, 1)]);
    assert!(matches!(member.announce(&id, announced(&stranger)).await, Err(Refused::Forbidden(_))));
    let mut forged = announced(&input);
    forged.entry.body = Digest([3; 32]);
    assert!(matches!(member.announce(&id, forged).await, Err(Refused::Unsound(_))));
    let long = Announced { bytes: 1 << 40, ..announced(&input) };
    assert!(matches!(member.announce(&id, long).await, Err(Refused::Unsound(_))));
    // Pieces of something else than was announced are forgotten, and it can be sent again.
    let (upload, _) = held(member.announce(&id, announced(&input)).await.unwrap());
    member.piece(&id, &upload, 0, &vec![7; input.body.len()]).await.unwrap();
    assert!(matches!(member.announce(&id, announced(&input)).await, Err(Refused::Unsound(_))));
    let (again, at) = held(member.announce(&id, announced(&input)).await.unwrap());
    assert!(again != upload && at == 0);
    // Nothing is taken after the close.
    pass(10_001);
    world.result(&id).await;
    let late = member.piece(&id, &again, 0, &input.body).await;
    assert!(matches!(late, Err(Refused::NotFound(_))), "{late:?}");
    assert!(matches!(member.announce(&id, announced(&input)).await, Err(Refused::Conflict(_))));
    world.stop().await;
}

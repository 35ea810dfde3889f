//! What is believed of a checkpoint, and what a server does that adopts one.

use ostrakon_agreement::dag::{self, SignedCheckpoint};
use ostrakon_agreement::message::Message;
use ostrakon_agreement::{Event, Fault, Output};
use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;

use crate::attacks::run_for;
use crate::world::{Role, World, id, params};

/// A world whose first server is shown the checkpoint that it lacks, and by whom.
fn shown_a_checkpoint() -> (World, PartyId, SignedCheckpoint) {
    let mut world = World::new(params(4, 8, 2), &[Role::Honest; 4], 3);
    run_for(&mut world, 2, "together");
    world.cut.extend((1..4).map(|other| (id(0), id(other))));
    for i in 0..40 {
        world.propose(1 + i % 3, format!("without it {i}").into_bytes());
        world.deliver_all(usize::MAX);
        world.pool.clear();
        world.tick_all();
    }
    world.cut.clear();
    world.pool.clear();
    world.event(0, Event::Tick);
    world.deliver_in_order(3);
    let shown = world.pool.iter().find_map(|(from, to, bytes)| {
        match Message::decode(bytes, &world.params) {
            Ok(Message::Checkpoint(shown)) if *to == id(0) => Some((*from, *shown)),
            _ => None,
        }
    });
    let (from, checkpoint) = shown.unwrap();
    (world, from, checkpoint)
}

/// What the first server does with a checkpoint.
fn receives(world: &mut World, from: PartyId, checkpoint: SignedCheckpoint) -> dag::Step {
    let bytes = Message::Checkpoint(Box::new(checkpoint)).encode();
    world.machines[0].ledger.as_mut().unwrap().handle(Event::Receive(from, &bytes))
}

/// A checkpoint that no more servers signed than may be corrupt is nobody's state, also if one of
/// them signed it twice, or signatures of others stand there that they did not make.
#[test]
fn checkpoint_of_t_signatures() {
    let (mut world, from, checkpoint) = shown_a_checkpoint();
    let [(first, signature), (second, other), ..] = checkpoint.signatures[..] else {
        panic!("t + 1 signed it");
    };
    let lies = [
        vec![],
        vec![(first, signature)],
        vec![(first, signature); 2],
        vec![(first, signature), (second, signature)],
        vec![(second, other), (first, signature)],
    ];
    for signatures in lies {
        let lie = SignedCheckpoint { signatures, ..checkpoint.clone() };
        assert!(!world.machines[0].ledger.as_ref().unwrap().believes(&lie));
        let step = receives(&mut world, from, lie);
        assert!(step.writes.is_empty() && step.outputs.is_empty(), "{step:?}");
        assert_eq!(step.faults, [Fault::Malformed(from)]);
    }
    let mut lie = checkpoint.clone();
    lie.state = Digest([9; 32]);
    assert!(receives(&mut world, from, lie).outputs.is_empty(), "another state was signed");
    let signatures = vec![(first, signature), (second, other)];
    let step = receives(&mut world, from, SignedCheckpoint { signatures, ..checkpoint });
    assert!(step.outputs.iter().any(|output| matches!(output, Output::Adopted { .. })));
}

/// A server stops when it has written an adopted checkpoint, before its application hears of it: it
/// hears of it after the restart.
#[test]
fn adopted_checkpoint_is_told_again() {
    let (mut world, from, checkpoint) = shown_a_checkpoint();
    let step = receives(&mut world, from, checkpoint);
    assert!(step.outputs.iter().any(|output| matches!(output, Output::Adopted { .. })));
    step.writes.into_iter().for_each(|write| world.machines[0].disk.apply(write));
    world.machines[0].ledger = None;
    world.restart(0);
    assert_eq!(world.machines[0].app.adopted, 1);
    world.settle();
    world.check();
}

//! A server that lies while stock is prepared, through the whole service: it is convicted before
//! everybody, by evidence that is kept and that anybody can judge; the others go on, or say what
//! has ended.

use std::sync::Arc;

use ostrakon_asynchromix::evidence::{Burnt, Deed};
use ostrakon_asynchromix::service::Told;
use ostrakon_asynchromix::visitor::{End, Here};
use ostrakon_asynchromix::{Key, Shape, Visitor};
use ostrakon_party::{PartyId, wire};

use crate::lies::Lie;
use crate::nightly;
use crate::world::{Role, World, id};

const SHAPE: Shape = Shape { rows: 8, payload: 6, minimum: 2, ticks: 6 };
const LINES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn deed_of(lie: Lie) -> Deed {
    match lie {
        Lie::Numbers => Deed::FalseNumbers,
        Lie::Result => Deed::FalseResult,
    }
}

/// A room with stock, whose last server lies from then on. With five servers it is in four of five
/// sets, and the first of these prepares without it.
fn turned(n: usize, lie: Lie, seed: u64) -> (World, usize) {
    let mut world = World::with(n, seed, SHAPE, 16);
    world.stock(2);
    let liar = n - 1;
    world.roles[liar] = Role::Lies(lie);
    (world, liar)
}

/// A round in which everybody says something.
fn round(world: &mut World) {
    let before = world.messages().len();
    for line in LINES {
        world.join(Some(line));
    }
    world.all_said();
    assert_eq!(world.messages().len(), before + LINES.len(), "seed {}", world.seed);
    world.forget_clients();
}

fn convicted(world: &World, i: usize) -> Vec<(PartyId, Deed)> {
    let Some(service) = &world.services[i] else { return Vec::new() };
    service.state().stock.convicted().iter().map(|(party, of)| (*party, of.deed)).collect()
}

/// What a device sees.
fn shown(world: &mut World) -> Visitor {
    let mut visitor = Visitor::watching(Arc::clone(&world.room));
    for _ in 0..4 {
        visitor.tick();
        for server in 0..world.room.servers() {
            let ask = visitor.ask(id(server));
            if let Some(answer) = world.visit(server, &ask) {
                visitor.take(id(server), &answer).unwrap();
            }
        }
    }
    visitor
}

/// Every honest server has the evidence, and it convicts before anybody.
fn all_know(world: &World, liar: usize, deed: Deed) {
    for i in world.honest() {
        assert_eq!(convicted(world, i), [(id(liar), deed)], "seed {}, server {i}", world.seed);
        let service = world.services[i].as_ref().unwrap();
        let evidence = &service.state().stock.convicted()[&id(liar)].evidence;
        assert_eq!(evidence.convicts(&world.room), Some((id(liar), deed)));
        let told = Told::Convicted(id(liar), deed);
        assert!(world.told[i].contains(&told), "seed {}, server {i} is silent", world.seed);
    }
}

#[test]
fn a_liar_in_preparation_is_convicted_and_the_rest_is_told() {
    for (n, lie) in [(4, Lie::Numbers), (4, Lie::Result), (5, Lie::Numbers), (7, Lie::Result)] {
        for seed in 0..if nightly() { 10 } else { 1 } {
            println!("{n} servers, {lie:?}, seed {seed}");
            let (mut world, liar) = turned(n, lie, seed);
            let deed = deed_of(lie);
            let known =
                |world: &World| world.honest().iter().all(|i| !convicted(world, *i).is_empty());
            round(&mut world);
            // Each round has the stock of one committee made anew. Of five each goes without one,
            // which may be the liar.
            for _ in 1..if n == 5 { world.room.committees().len() } else { 1 } {
                world.pass(60);
                if !known(&world) {
                    round(&mut world);
                }
            }
            world.run(400, known);
            all_know(&world, liar, deed);
            // After a start from the disk it is known, and told to whoever runs the server.
            for i in world.honest() {
                world.kill(i);
                world.told[i].clear();
            }
            for i in world.honest() {
                world.restart(i);
            }
            world.run(100, |world| world.honest().iter().all(|i| !convicted(world, *i).is_empty()));
            world.pass(2);
            all_know(&world, liar, deed);
            let here = shown(&mut world).here();
            assert_eq!(here.convicted, [(id(liar), deed)]);
            assert_eq!(here.ended, (n != 5).then_some(End::Convicted));
            if n == 5 {
                (0..6).for_each(|_| round(&mut world));
            } else {
                ends_as_promised(&mut world, &here);
            }
            world.assert_nobody_honest_blamed();
        }
    }
}

/// Exactly the rounds come that are left, and then none.
fn ends_as_promised(world: &mut World, here: &Here) {
    let open = here.ready as usize + here.collecting.iter().len() + here.mixing as usize;
    let promised = here.entries + open as u64;
    assert!(open > 0, "nothing is left to be promised: {here:?}");
    while world.entries() < promised {
        world.forget_clients();
        for line in LINES {
            world.join(Some(line));
        }
        let before = world.entries();
        world.run(600, |world| world.entries() > before);
    }
    world.pass(120);
    let here = shown(world).here();
    assert!(here.entries == promised && here.collecting.is_none(), "{here:?}");
    assert!(here.ready == 0 && here.ended == Some(End::Convicted), "{here:?}");
}

/// A room in which the liar falls silent when a batch is burnt, before it has shown anything.
fn fallen_silent(n: usize) -> (World, usize) {
    let is_burnt =
        |world: &World, i: usize| world.told[i].iter().any(|told| matches!(told, Told::Burnt(_)));
    for seed in 0..20 {
        let (mut world, liar) = turned(n, Lie::Numbers, seed);
        for line in LINES {
            world.join(Some(line));
        }
        world.watch(400, |world| world.honest().iter().any(|i| is_burnt(world, *i)));
        if !is_burnt(&world, liar) {
            world.roles[liar] = Role::Dead;
            return (world, liar);
        }
    }
    panic!("it is always the first to know");
}

/// A liar that shows nothing of a burnt batch is not named, and neither is who is slow: silence is
/// no evidence. Among five the others go on.
#[test]
fn silence_convicts_nobody() {
    for n in [4, 5] {
        let (mut world, liar) = fallen_silent(n);
        world.all_said();
        world.forget_clients();
        world.pass(60);
        if n == 5 {
            (0..4).for_each(|_| round(&mut world));
        }
        for i in world.honest() {
            assert_eq!(convicted(&world, i), []);
            let service = world.services[i].as_ref().unwrap();
            let lacking = |burnt: &Burnt| burnt.lacking(&world.room);
            let open: Vec<_> = service.state().stock.burnt().values().map(lacking).collect();
            assert!(!open.is_empty() && open.iter().all(|of| *of == [id(liar)]), "{open:?}");
        }
        world.assert_nobody_honest_blamed();
    }
}

/// An honest server is stopped when a batch is burnt, before the others heard what it has of it: it
/// shows that after its start, and the liar is convicted.
#[test]
fn what_is_shown_of_a_burnt_batch_survives_a_restart() {
    for seed in 0..4 {
        let (mut world, liar) = turned(4, Lie::Result, 20 + seed);
        let holds = |world: &World| world.disks[0].0.keys().any(|key| matches!(key, Key::Shown(_)));
        for line in LINES {
            world.join(Some(line));
        }
        world.watch(400, holds);
        // What it has sent since is lost, and so is its block with what it shows.
        world.lose_sent_by(0);
        world.kill(0);
        world.restart(0);
        world.run(400, |world| world.honest().iter().all(|i| !convicted(world, *i).is_empty()));
        all_know(&world, liar, Deed::FalseResult);
        // What was shown is forgotten when it has been judged.
        world.run(100, |world| !holds(world));
    }
}

/// Evidence of which a byte is changed convicts the same server, or nobody.
#[test]
fn changed_evidence_convicts_nobody_else() {
    let (mut world, liar) = turned(4, Lie::Numbers, 5);
    round(&mut world);
    world.run(400, |world| !convicted(world, 0).is_empty());
    let service = world.services[0].as_ref().unwrap();
    let bytes = wire::encode(&service.state().stock.convicted()[&id(liar)].evidence);
    let mut convicts = 0;
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let Ok(burnt) = wire::decode::<Burnt>(&changed) else { continue };
        if let Some((party, _)) = burnt.convicts(&world.room) {
            assert_eq!(party, id(liar), "byte {at}");
            convicts += 1;
        }
    }
    assert_eq!(convicts, 0, "everything in it is signed or committed to");
}

//! Named attacks, each against the step that meets it.

use ostrakon_agreement::block::{Block, Certificate, Reference, SignedBlock, Vote};
use ostrakon_agreement::dag::{Key, Phase};
use ostrakon_agreement::message::{Ask, Message, Petition, Status};
use ostrakon_agreement::{Event, Fault, Keys, Ledger, Params};
use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, SessionId};

use crate::world::{Role, World, id, params};

/// A vote of a corrupt server for whatever it was shown.
pub fn any_vote(world: &World, voter: PartyId, signed: &SignedBlock) -> Vote {
    Vote::sign(&world.params, &world.keys(voter), reference(signed))
}

fn block(author: usize, round: u64, parents: Vec<(PartyId, Digest)>, record: &[u8]) -> Block {
    Block {
        incarnation: 0,
        author: id(author),
        round,
        parents,
        older: Vec::new(),
        records: vec![record.to_vec()],
        coin: None,
        beacons: Vec::new(),
        checkpoint: None,
        readmissions: Vec::new(),
    }
}

/// A block of round 1 by a corrupt author.
fn first_block(world: &World, author: usize, record: &[u8]) -> SignedBlock {
    let parents = (0..world.machines.len()).map(|i| (id(i), Digest([0; 32]))).collect();
    block(author, 1, parents, record).sign(&world.params, &world.keys(id(author)))
}

fn reference(signed: &SignedBlock) -> Reference {
    let header = signed.header().header;
    Reference { round: header.round, author: header.author, digest: header.digest }
}

/// The votes of the honest servers for a corrupt one's block.
fn certify(world: &mut World, block: &SignedBlock) -> Certificate {
    let author = block.block.author;
    for i in world.honest() {
        world.receive(author, id(i), &Message::Block(block.clone().into()).encode());
    }
    let mut votes = Vec::new();
    let params = world.params;
    world.pool.retain(|(.., bytes)| match Message::decode(bytes, &params) {
        Ok(Message::Vote(vote)) if vote.block == reference(block) => {
            votes.push((vote.voter, vote.signature));
            false
        }
        _ => true,
    });
    votes.sort_by_key(|vote| vote.0);
    Certificate { block: reference(block), votes }
}

/// A block of round 1 by a corrupt server, with the votes of the honest ones.
pub fn certified(world: &mut World, author: usize, record: &[u8]) -> (SignedBlock, Certificate) {
    let block = first_block(world, author, record);
    let certificate = certify(world, &block);
    (block, certificate)
}

/// The votes under way, which are taken out.
fn votes(world: &mut World) -> Vec<Vote> {
    let pool = std::mem::take(&mut world.pool);
    pool.iter()
        .filter_map(|(_, _, bytes)| match Message::decode(bytes, &world.params) {
            Ok(Message::Vote(vote)) => Some(vote),
            _ => None,
        })
        .collect()
}

pub fn roles(n: usize, corrupt: Role) -> Vec<Role> {
    let t = params(n, 16, 4).believed() - 1;
    let mut roles = vec![Role::Honest; n];
    roles[n - t..].fill(corrupt);
    roles
}

/// An author shows half of the servers one block and half another, and all corrupt servers vote for
/// both: q votes are never there twice, however the halves are cut, and every honest server that
/// sees both convicts the author.
#[test]
fn split_certificate() {
    for n in [4, 5, 7, 10, 13] {
        for half in 0..n {
            let mut world = World::new(params(n, 16, 4), &roles(n, Role::Dead), 1);
            let author = n - 1;
            let blocks = [first_block(&world, author, b"one"), first_block(&world, author, b"two")];
            let honest = world.honest();
            for i in &honest {
                for turn in 0..2 {
                    let shown = &blocks[usize::from(*i < half) ^ turn];
                    let bytes = Message::Block(shown.clone().into()).encode();
                    world.receive(id(author), id(*i), &bytes);
                }
            }
            let votes = votes(&mut world);
            assert_eq!(votes.len(), honest.len(), "n = {n}: one vote each");
            let certified = blocks.iter().filter(|block| {
                let named = reference(block);
                let honest = votes.iter().filter(|vote| vote.block == named).count();
                honest + (n - world.honest().len()) >= world.params.quorum()
            });
            assert!(certified.count() <= 1, "n = {n}, half {half}: two certificates");
            let keys = world.keys(id(0));
            let convicted: Vec<_> =
                world.faults.iter().filter_map(|f| f.convicts(&world.params, &keys)).collect();
            assert_eq!(convicted, vec![id(author); honest.len()]);
        }
    }
}

/// A voter stops at any point between its writes and its sends and starts again from its disk: if
/// its vote left, it votes for nothing else in that place.
#[test]
fn forgotten_vote() {
    let n = 4;
    let world = World::new(params(n, 16, 4), &roles(n, Role::Dead), 1);
    let (first, second) = (first_block(&world, 3, b"one"), first_block(&world, 3, b"two"));
    for stop in 0.. {
        let mut world = World::new(params(n, 16, 4), &roles(n, Role::Dead), 1);
        let bytes = Message::Block(first.clone().into()).encode();
        let step = world.machines[0].ledger.as_mut().unwrap().handle(Event::Receive(id(3), &bytes));
        let writes = step.writes.len();
        if stop > writes + step.sends.len() {
            assert!(stop > 3, "a vote writes block and vote, then sends");
            return;
        }
        for write in step.writes.into_iter().take(stop) {
            world.machines[0].disk.apply(write);
        }
        let left = stop.saturating_sub(writes) > 0;
        world.machines[0].ledger = None;
        world.restart(0);
        // The others tell it nothing of that vote: only the corrupt author saw it.
        world.pool.retain(|(from, ..)| *from == id(0));
        world.deliver_all(usize::MAX);
        assert_eq!(world.machines[0].ledger.as_ref().unwrap().phase(), Phase::Running);
        world.receive(id(3), id(0), &Message::Block(second.clone().into()).encode());
        let voted = votes(&mut world).iter().any(|vote| vote.block == reference(&second));
        assert!(!(left && voted), "stopped after {stop}: two votes in one place");
        // Nothing was lost needlessly: whoever had not written a vote votes now.
        if stop == 0 {
            assert!(voted, "a server that remembers no vote gives one");
        }
    }
}

/// Runs a world for so many ticks, each with a record of one server.
pub fn run_for(world: &mut World, ticks: usize, name: &str) {
    for i in 0..ticks {
        let honest: Vec<_> =
            world.honest().into_iter().filter(|i| world.machines[*i].ledger.is_some()).collect();
        let who = honest[i % honest.len()];
        world.propose(who, format!("{name} {i}").into_bytes());
        world.deliver_all(usize::MAX);
        world.tick_all();
        world.deliver_all(usize::MAX);
    }
}

/// An author that is heard late, again and again, gets in what it says: others name its newest
/// certified block, and what expires, where the horizon is near, is proposed anew.
#[test]
fn starved_author() {
    for (n, horizon) in [(4, 16), (5, 16), (7, 16), (4, 1024), (7, 1024)] {
        let mut world = World::new(params(n, horizon, 4), &vec![Role::Honest; n], 3);
        for lag in [1, 5, 20] {
            world.propose(0, format!("late by {lag}").into_bytes());
            for i in 0..lag {
                // What others send it arrives; what it sends is late.
                world.propose(1, format!("others {lag} {i}").into_bytes());
                for _ in 0..3 {
                    let mut late = Vec::new();
                    while let Some(at) = (0..world.pool.len()).next() {
                        if world.pool[at].0 == id(0) {
                            late.push(world.pool.swap_remove(at));
                        } else {
                            world.deliver(at);
                        }
                    }
                    world.pool = late;
                    (1..n).for_each(|i| world.event(i, Event::Tick));
                }
            }
            let said = (id(0), format!("late by {lag}").into_bytes());
            assert!(!world.machines[1].app.records().contains(&said), "it was not late");
            let top = |world: &World| world.machines[1].ledger.as_ref().unwrap().top();
            let before = top(&world);
            world.settle();
            world.check();
            assert!(world.machines[n - 1].app.records().contains(&said));
            assert!(top(&world) < before + 100, "it came in after it had expired");
        }
    }
}

/// Between one server and the others a message takes several ticks, for ever, while they go on
/// among themselves: the votes for its blocks come after the time that an author waits at first.
#[test]
fn author_with_slow_votes() {
    for delay in [3, 10] {
        let mut world = World::new(params(4, 64, 64), &[Role::Honest; 4], 3);
        let mut late = std::collections::VecDeque::new();
        world.propose(0, b"slow".to_vec());
        for tick in 0..30 * delay {
            world.propose(1 + tick % 3, format!("others {tick}").into_bytes());
            // A round or two of the others a tick.
            for _ in 0..120 {
                let Some(at) = (0..world.pool.len()).next() else { break };
                let (from, to, bytes) = world.pool.remove(at);
                if from == id(0) || to == id(0) {
                    late.push_back((tick + delay, from, to, bytes));
                } else {
                    world.receive(from, to, &bytes);
                }
            }
            while late.front().is_some_and(|(due, ..)| *due <= tick) {
                let (_, from, to, bytes) = late.pop_front().unwrap();
                world.receive(from, to, &bytes);
            }
            world.tick_all();
        }
        let said = (id(0), b"slow".to_vec());
        assert!(world.machines[1].app.records().contains(&said), "{delay} ticks each way");
        world.check();
    }
}

/// A server comes back after the others have dropped blocks that what they send it names: it goes
/// on from their checkpoint.
#[test]
fn parent_below_checkpoint() {
    for n in [4, 5, 7] {
        let mut world = World::new(params(n, 8, 2), &vec![Role::Honest; n], 3);
        run_for(&mut world, 2, "together");
        let before = world.machines[0].app.log.len();
        for other in 1..n {
            world.cut.insert((id(0), id(other)));
        }
        for i in 0..40 {
            world.propose(1 + i % (n - 1), format!("without it {i}").into_bytes());
            world.deliver_all(usize::MAX);
            world.pool.clear();
            world.tick_all();
        }
        assert_eq!(world.machines[0].app.log.len(), before);
        world.settle();
        run_for(&mut world, 2, "together again");
        world.settle();
        world.check();
        assert!(world.machines[0].app.adopted > 0, "n = {n}: it came by the checkpoint");
        let own = world.machines[0].app.records();
        assert_eq!(own, world.machines[1].app.records());
    }
}

/// A block of round 1 has its certificate, and nobody is shown it until it is too old for anybody
/// to name but its author, whose block of round `named` is shown still later: when all but one have
/// dropped round 1. The last one, whose application is slow, still holds it. Whether the early
/// block was ordered.
fn early_block_named_late(named: u64) -> bool {
    let (n, corrupt) = (7, 6);
    let mut roles = vec![Role::Honest; n];
    roles[corrupt] = Role::Dead;
    let mut world = World::new(params(n, 16, 1), &roles, 5);
    world.slow_app = Some(5);
    let mut said = 0;
    let mut until = |world: &mut World, over: &dyn Fn(&World) -> bool| {
        while !over(world) {
            said += 1;
            world.propose(said % 6, format!("{said}").into_bytes());
            world.deliver_in_order(20);
            if world.pool.is_empty() {
                world.tick_all();
            }
        }
    };
    let (early, early_certificate) = certified(&mut world, corrupt, b"early");
    until(&mut world, &|world| world.lowest_round(6) > named);
    let show = |world: &mut World, block: &SignedBlock, certificate: &Certificate| {
        let item = Message::Item(Box::new(block.clone()), certificate.clone()).encode();
        (0..6).for_each(|i| world.receive(id(corrupt), id(i), &item));
    };
    show(&mut world, &early, &early_certificate);
    let mut late = block(corrupt, named, world.parents(named - 1), b"late");
    late.older = vec![reference(&early)];
    let late = late.sign(&world.params, &world.keys(id(corrupt)));
    let late_certificate = certify(&mut world, &late);
    if named == 16 {
        let holds = |world: &World, i: usize| {
            world.machines[i].disk.0.contains_key(&Key::Voted(1, id(corrupt)))
        };
        until(&mut world, &|world| (0..5).all(|i| !holds(world, i)));
        assert!(holds(&world, 5));
    }
    show(&mut world, &late, &late_certificate);
    run_for(&mut world, 4, "after");
    world.settle();
    world.check();
    let records = world.machines[2].app.records();
    assert!(records.contains(&(id(corrupt), b"late".to_vec())), "what names it is ordered");
    records.contains(&(id(corrupt), b"early".to_vec()))
}

/// All order an early block that comes out late alike, by the leader's round alone and not by what
/// they have dropped themselves.
#[test]
fn fork_without_horizon() {
    assert!(early_block_named_late(4), "above the horizon");
    assert!(!early_block_named_late(16), "below it");
}

/// A block that no leader to come can order has no vote, whether it was dropped yet or not: with a
/// certificate it could only stop who is slower.
#[test]
fn block_below_the_line_has_no_vote() {
    for (rounds, votes_of_three) in [(1, 3), (12, 0)] {
        let mut world = World::new(params(4, 8, 1024), &roles(4, Role::Dead), 3);
        while world.machines[0].ledger.as_ref().unwrap().agreed().last < rounds {
            run_for(&mut world, 1, "on");
        }
        assert_eq!(certified(&mut world, 3, b"early").1.votes.len(), votes_of_three);
    }
}

/// A block that names one which its voters lack has no vote, also where no leader to come orders
/// that one: with a certificate it could stop who is slower and would have to wait for it.
#[test]
fn block_that_names_an_unknown_one_has_no_vote() {
    for (names, votes_of_three) in [(false, 3), (true, 0)] {
        let mut world = World::new(params(4, 8, 1024), &roles(4, Role::Dead), 3);
        let last = |world: &World| world.machines[0].ledger.as_ref().unwrap().agreed().last;
        while last(&world) < 12 {
            run_for(&mut world, 1, "on");
        }
        let line = last(&world) - 8;
        let mut block = block(3, line + 6, world.parents(line + 5), b"names");
        if names {
            block.older = vec![Reference { round: line, author: id(3), digest: Digest([7; 32]) }];
        }
        let block = block.sign(&world.params, &world.keys(id(3)));
        assert_eq!(certify(&mut world, &block).votes.len(), votes_of_three);
    }
}

/// One record at one server, nothing else to say, and no ticks: it is ordered, then the ledger
/// rests; and so for every server in turn, with t servers dead.
#[test]
fn idle_deadlock() {
    for n in [4, 5, 7, 10] {
        for corrupt in [Role::Honest, Role::Dead] {
            let mut world = World::new(params(n, 16, 4), &roles(n, corrupt), 11);
            for who in world.honest() {
                world.propose(who, format!("{who} alone").into_bytes());
                let mut delivered = 0;
                while !world.pool.is_empty() {
                    world.deliver_in_order(1);
                    delivered += 1;
                    assert!(delivered < 600 * n * n, "n = {n}: the ledger does not rest");
                }
                let said = (id(who), format!("{who} alone").into_bytes());
                for i in world.honest() {
                    let records = world.machines[i].app.records();
                    assert!(records.contains(&said), "n = {n}: {who}'s record is not at {i}");
                    assert!(!world.machines[i].ledger.as_ref().unwrap().is_busy());
                }
            }
        }
    }
}

/// A schedule that knew the leader before the votes could keep it out of them for ever. The real
/// one learns it from shares, which leave in blocks that name q certified votes.
#[test]
fn coin_before_votes() {
    let commits = |foreknown: bool| {
        let mut world = World::new(params(4, 16, 4), &[Role::Honest; 4], 17);
        let mut turn = 0;
        while world.machines[0].ledger.as_ref().unwrap().top() < 40 {
            turn += 1;
            if turn % 50 == 0 {
                world.propose(turn % 4, vec![0]);
            }
            let hidden = |world: &World, at: usize| {
                let (from, _, bytes) = &world.pool[at];
                let round = match Message::decode(bytes, &world.params) {
                    Ok(Message::Block(signed)) => signed.block.round,
                    Ok(Message::Certificate(certificate)) => certificate.block.round,
                    _ => return false,
                };
                let leads = round % 2 == 0;
                let leader =
                    if foreknown { world.leader(round) } else { id((round / 2 % 4) as usize) };
                let late = world.lowest_round(3) <= round;
                leads && leader == *from && late
            };
            let open = (0..world.pool.len()).find(|at| !hidden(&world, *at));
            match open {
                Some(at) => {
                    let (from, to, bytes) = world.pool.remove(at);
                    world.receive(from, to, &bytes);
                }
                None => world.tick_all(),
            }
            for (_, _, bytes) in &world.pool {
                if let Ok(Message::Block(signed)) = Message::decode(bytes, &world.params)
                    && signed.block.coin.is_some()
                {
                    assert!(signed.block.parents.len() >= world.params.quorum());
                    assert!(signed.block.round >= 4 && signed.block.round % 2 == 0);
                }
            }
        }
        world.machines[0].app.log.len()
    };
    let (known, hidden) = (commits(true), commits(false));
    assert!(hidden >= 5, "{hidden} leaders of 19 were committed against a schedule that guesses");
    assert!(known * 3 < hidden, "the schedule has no teeth: {known} against {hidden}");
}

/// A block whose coin share is not its author's convicts the author before anybody, and has no
/// vote.
#[test]
fn coin_share_with_a_failing_proof_convicts() {
    let mut world = World::new(params(4, 16, 4), &roles(4, Role::Dead), 1);
    run_for(&mut world, 3, "first");
    let parents = world.parents(3);
    let mut block = block(3, 4, parents, b"spoilt");
    let mut share = world.keys(id(3)).share(&Digest([1; 32])).unwrap();
    share.point[0] ^= 1;
    block.coin = Some(share);
    let signed = block.sign(&world.params, &world.keys(id(3)));
    world.pool.clear();
    world.receive(id(3), id(0), &Message::Block(signed.clone().into()).encode());
    assert!(votes(&mut world).is_empty());
    let fault = world.faults.last().unwrap();
    assert_eq!(*fault, Fault::Share(Box::new(signed)));
    assert_eq!(fault.convicts(&world.params, &world.keys(id(1))), Some(id(3)));
}

/// Servers with other coins, or other horizons, would order differently, and convict each other of
/// shares that do not verify: they are strangers to each other.
#[test]
fn servers_of_another_coin_are_strangers() {
    let world = World::new(params(4, 16, 4), &[Role::Honest; 4], 1);
    let trust = *world.params.trust();
    let with = |coin: u8, horizon, interval| {
        let (session, coin) = (SessionId(Digest([7; 32])), Digest([coin; 32]));
        Params::with(session, &coin, trust, horizon, interval).unwrap()
    };
    let others = [with(9, 16, 4), with(8, 17, 4), with(8, 16, 5), with(8, 16, 4)];
    let taken = others.map(|other| {
        let (mut ledger, _) = Ledger::found(world.params, world.keys(id(0)));
        let (mut stranger, _) = Ledger::found(other, world.keys(id(1)));
        let step = stranger.propose(b"said".to_vec()).unwrap();
        let send = step.sends.iter().find(|send| send.to == id(0)).unwrap();
        let step = ledger.handle(Event::Receive(id(1), &send.bytes));
        let convicts = |f: &Fault| f.convicts(&world.params, &world.keys(id(2))).is_some();
        assert!(!step.faults.iter().any(convicts));
        ledger.held() > 0
    });
    assert_eq!(taken, [false, false, false, true]);
}

/// What convicts nobody: faults that were made up.
#[test]
fn invented_evidence_convicts_nobody() {
    let world = World::new(params(4, 16, 4), &[Role::Honest; 4], 1);
    let (params, keys) = (&world.params, world.keys(id(0)));
    let (one, two) = (first_block(&world, 1, b"one"), first_block(&world, 1, b"two"));
    let convicts = |fault: Fault| fault.convicts(params, &keys);
    let (a, b) = (one.header(), two.header());
    assert_eq!(convicts(Fault::TwoBlocks(a, b)), Some(id(1)));
    assert_eq!(convicts(Fault::TwoBlocks(a, a)), None);
    let mut forged = b;
    forged.header.digest = Digest([4; 32]);
    assert_eq!(convicts(Fault::TwoBlocks(a, forged)), None);
    assert_eq!(convicts(Fault::TwoBlocks(a, first_block(&world, 2, b"one").header())), None);
    let vote = |signed| any_vote(&world, id(2), signed);
    assert_eq!(convicts(Fault::TwoVotes(vote(&one), vote(&two))), Some(id(2)));
    assert_eq!(convicts(Fault::TwoVotes(vote(&one), vote(&one))), None);
    let mut other = vote(&two);
    other.voter = id(3);
    assert_eq!(convicts(Fault::TwoVotes(vote(&one), other)), None);
    assert_eq!(convicts(Fault::Share(Box::new(one))), None, "a block without a share");
    assert_eq!(convicts(Fault::Malformed(id(1))), None);
}

/// With a server dead for long, what the others keep stays within the horizon.
#[test]
fn dead_server_costs_no_memory() {
    let mut world = World::new(params(4, 8, 2), &roles(4, Role::Dead), 1);
    let mut most = (0, 0);
    for i in 0..60 {
        run_for(&mut world, 1, &format!("{i}"));
        world.pool.clear();
        let ledger = world.machines[0].ledger.as_ref().unwrap();
        most.0 = most.0.max(ledger.held());
        most.1 = most.1.max(world.machines[0].disk.0.len());
    }
    assert!(world.machines[0].ledger.as_ref().unwrap().top() > 100);
    // Horizon, an interval's waves, and the window: about 40 rounds of three blocks.
    assert!(most.0 <= 150 && most.1 <= 450, "{most:?} blocks and values were kept");
}

/// Arbitrary bytes, and messages with absurd numbers, neither panic nor are kept.
#[test]
fn absurd_messages_are_dropped() {
    let mut world = World::new(params(4, 16, 4), &[Role::Honest; 4], 1);
    run_for(&mut world, 2, "before");
    let held = world.machines[0].ledger.as_ref().unwrap().held();
    let mut far = first_block(&world, 3, b"far");
    far.block.round = u64::MAX;
    let far = far.block.sign(&world.params, &world.keys(id(3)));
    let vote = any_vote(&world, id(3), &far);
    let certificate = Certificate { block: vote.block, votes: vec![(id(3), vote.signature)] };
    let status = |last, held, missing| Status { commits: u64::MAX, last, held, missing };
    let messages = [
        Message::Block(far.clone().into()),
        Message::Vote(vote),
        Message::Certificate(certificate.clone()),
        Message::Item(Box::new(far), certificate),
        Message::Status(status(u64::MAX, vec![(u64::MAX, u64::MAX); 4], vec![(u64::MAX, id(9))])),
        Message::Status(status(0, vec![], vec![])),
        Message::Status(status(0, vec![(0, 0); 4], vec![(0, id(255)); 17])),
        Message::Ask(Ask { nonce: [0; 32], incarnation: u32::MAX }),
        Message::Petition(Petition {
            ask: Ask { nonce: [0; 32], incarnation: 1 },
            answers: vec![],
        }),
        Message::Hello([0; 32]),
    ];
    for message in messages {
        world.event(0, Event::Receive(id(3), &message.encode()));
        world.event(0, Event::Receive(id(200), &message.encode()));
    }
    for length in [0, 1, 2, 40, 300, 5000] {
        for _ in 0..50 {
            let bytes: Vec<_> = (0..length).map(|_| world.draw.bits() as u8).collect();
            world.event(0, Event::Receive(id(3), &bytes));
        }
    }
    let long = vec![0; world.params.max_message() + 1];
    world.event(0, Event::Receive(id(3), &long));
    assert_eq!(world.machines[0].ledger.as_ref().unwrap().held(), held);
    world.settle();
    world.check();
}

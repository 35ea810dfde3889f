//! Attempts among servers that follow the steps, and with one that does not.

use ostrakon_crypto::hash::digest;
use ostrakon_party::Delivery;

use super::*;

#[path = "tests/sabotage.rs"]
mod sabotage;

const SESSION: Digest = Digest([3; 32]);

fn signing(i: usize) -> SigningKey {
    SigningKey::from_seed(&digest("dkg test", &[i as u8]).0)
}

fn id(i: usize) -> PartyId {
    PartyId(u8::try_from(i).unwrap())
}

/// Machines, the messages under way, and what each machine has come to.
struct World {
    machines: Vec<Dkg>,
    pool: Vec<(usize, usize, Vec<u8>)>,
    finished: Vec<Option<Finished>>,
    failed: Vec<Option<Failure>>,
    written: Vec<Option<Vec<u8>>>,
}

fn context(attempt: u32) -> Context {
    context_of(4, attempt)
}

fn context_of(n: usize, attempt: u32) -> Context {
    let identities = ByParty::new(n, |party| signing(party.index()).verifying_key());
    Context::new(SESSION, attempt, &Trust::under_a_third(n).unwrap(), &identities)
}

fn machine(n: usize, attempt: u32, i: usize) -> (Dkg, DkgStep) {
    let trust = Trust::under_a_third(n).unwrap();
    let identities = ByParty::new(n, |party| signing(party.index()).verifying_key());
    Dkg::new(SESSION, attempt, trust, id(i), Arc::new(signing(i)), identities)
}

impl World {
    fn new(n: usize, attempt: u32) -> Self {
        let mut world = Self {
            machines: Vec::new(),
            pool: Vec::new(),
            finished: (0..n).map(|_| None).collect(),
            failed: vec![None; n],
            written: vec![None; n],
        };
        for i in 0..n {
            let (dkg, step) = machine(n, attempt, i);
            world.machines.push(dkg);
            world.take(n, i, step);
        }
        world
    }

    fn take(&mut self, n: usize, i: usize, step: DkgStep) {
        for bytes in step.sends {
            let others = (0..n).filter(|to| *to != i);
            self.pool.extend(others.map(|to| (i, to, bytes.clone())));
        }
        if let Some((_, written)) = step.write {
            self.written[i] = Some(written);
        }
        match step.outcome {
            Some(Outcome::Finished(finished)) => self.finished[i] = Some(*finished),
            Some(Outcome::Failed(failure)) => self.failed[i] = Some(failure),
            None => {}
        }
    }

    /// Delivers everything, spoiling with `spoil` what a corrupt server sends.
    fn run(&mut self, mut spoil: impl FnMut(usize, usize, DkgMessage) -> Option<DkgMessage>) {
        let n = self.machines.len();
        let mut at = 7;
        while !self.pool.is_empty() {
            at = (at * 31 + 11) % self.pool.len();
            let (from, to, bytes) = self.pool.swap_remove(at);
            let Some(message) = spoil(from, to, DkgMessage::decode(&bytes).unwrap()) else {
                continue;
            };
            let step = self.machines[to].handle(id(from), &wire::encode(&message));
            self.take(n, to, step);
        }
    }
}

/// What a server sent as its opening.
fn opening_of(world: &World, dealer: usize) -> Word {
    let opening = DkgMessage::decode(&world.machines[dealer].said()[1]).unwrap();
    (opening.body.digest(), opening.signature)
}

/// A dealer's opening, for complaints that are made up: a world in which all follow the steps has
/// the same one.
fn expected_opening(dealer: usize) -> Word {
    let mut world = World::new(4, 0);
    world.run(|_, _, message| Some(message));
    opening_of(&world, dealer)
}

fn resign(body: Body, of: usize, attempt: u32) -> DkgMessage {
    DkgMessage::sign(body, &context(attempt), id(of), &signing(of))
}

#[test]
fn all_present_make_one_key_whose_coin_any_t_plus_1_toss() {
    for n in [1, 4, 5, 7] {
        let mut world = World::new(n, 0);
        world.run(|_, _, message| Some(message));
        let finished: Vec<_> = world.finished.iter().map(|f| f.as_ref().unwrap()).collect();
        assert!(finished.iter().all(|f| f.keys == finished[0].keys), "n = {n}");
        let label = Digest([1; 32]);
        let shares: Vec<_> =
            (0..n).map(|i| (id(i), finished[i].secret.share(id(i), &label))).collect();
        let keys = &finished[0].keys;
        assert!(shares.iter().all(|(party, share)| keys.verifies(*party, &label, share)));
        let needed = Trust::under_a_third(n).unwrap().believed();
        let coin = keys.combine(&label, &shares[..needed]);
        assert!(coin.is_some());
        assert_eq!(keys.combine(&label, &shares[n - needed..]), coin, "n = {n}");
    }
}

#[test]
fn the_identity_and_the_public_record_restore_the_share() {
    let mut world = World::new(4, 2);
    world.run(|_, _, message| Some(message));
    for i in 0..4 {
        // Any server's record serves.
        let record = &world.finished[(i + 1) % 4].as_ref().unwrap().record;
        let restored = machine(4, 2, i).0.recover(record).unwrap();
        let own = world.finished[i].as_ref().unwrap();
        let label = Digest([1; 32]);
        assert_eq!(restored.secret.share(id(i), &label), own.secret.share(id(i), &label));
        assert_eq!(restored.keys, own.keys);
        assert!(machine(4, 3, i).0.recover(record).is_none(), "another attempt's");
    }
}

#[test]
fn bad_dealer_is_named_by_all_and_the_next_attempt_is_fresh() {
    let mut world = World::new(4, 0);
    // Server 1 seals server 2 a share that does not fit.
    world.run(|from, _, message| match message.body {
        Body::Open(mut opening) if from == 1 => {
            opening.shares[2].spoil();
            Some(resign(Body::Open(opening), 1, 0))
        }
        Body::Agree(..) if from == 1 => None,
        _ => Some(message),
    });
    for i in [0, 2, 3] {
        assert_eq!(world.failed[i], Some(Failure::BadShare(id(1))), "server {i}");
        assert!(world.finished[i].is_none());
    }
    let first: Vec<_> = world.machines.iter().map(|m| m.opening.commitments.clone()).collect();
    let mut next = World::new(4, 1);
    next.run(|_, _, message| Some(message));
    assert!(next.finished.iter().all(Option::is_some));
    for (machine, before) in next.machines.iter().zip(first) {
        assert_ne!(machine.opening.commitments, before, "nothing given away is used again");
    }
}

/// One bad dealer makes nobody give away a key that is ever used again: what its victim shows opens
/// the shares that it got in this attempt, and none that it gets in the next one.
#[test]
fn bad_dealer_keeps_keys() {
    let mut shown = std::collections::BTreeSet::new();
    let mut world = World::new(4, 0);
    world.run(|from, _, message| match message.body {
        Body::Open(mut opening) if from == 1 => {
            opening.shares[2].spoil();
            Some(resign(Body::Open(opening), 1, 0))
        }
        Body::Complain(complaint) => {
            shown.insert((from, complaint.key));
            Some(message)
        }
        _ => Some(message),
    });
    let [(2, key)] = shown.into_iter().collect::<Vec<_>>()[..] else {
        panic!("the victim alone shows one key");
    };
    assert_ne!(key, digest("dkg test", &[2]).0, "not its identity");
    let key = Scalar::from_canonical_bytes(key).unwrap();
    let opened = |world: &World, attempt: u32| {
        let opens = |dealer: &usize| {
            let said = DkgMessage::decode(&world.machines[*dealer].said()[1]).unwrap();
            let Body::Open(opening) = said.body else { panic!("the second message opens") };
            let context = context(attempt);
            let points = opening.dealing.check(id(*dealer), &context, 2).unwrap();
            let share = &opening.shares[2];
            share.open(id(*dealer), (id(2), &key), &context, &points).is_some()
        };
        (0..4).filter(opens).count()
    };
    // As they were sealed, the bad one too: it was spoilt on its way.
    assert_eq!(opened(&world, 0), 4);
    let mut next = World::new(4, 1);
    next.run(|_, _, message| Some(message));
    assert!(next.finished.iter().all(Option::is_some));
    assert_eq!(opened(&next, 1), 0);
}

/// Two servers that are told of different thresholds, or of other servers, are in no attempt
/// together.
#[test]
fn attempt_is_bound_to_who_takes_part() {
    let identities = ByParty::new(7, |party| signing(party.index()).verifying_key());
    let begin = |trust, of: &ByParty<VerifyingKey>, i: usize| {
        Dkg::new(SESSION, 0, trust, id(i), Arc::new(signing(i)), of.clone())
    };
    let mut others = identities.clone();
    others[id(6)] = signing(9).verifying_key();
    let (two, one) = (Trust::under_a_third(7).unwrap(), Trust::new(7, 1, Delivery::Guaranteed));
    let cases = [(two, &identities), (one.unwrap(), &identities), (two, &others)];
    let heard = cases.map(|(trust, of)| {
        let mut server = begin(two, &identities, 0).0;
        let _ = server.handle(id(1), &begin(trust, of, 1).1.sends[0]);
        !server.awaited().contains(id(1))
    });
    assert_eq!(heard, [true, false, false]);
}

#[test]
fn complaint_without_cause_names_who_complains() {
    let mut world = World::new(4, 0);
    let key = world.machines[3].exchange.to_bytes();
    let opening = expected_opening(0);
    world.run(|from, _, message| match message.body {
        Body::Agree(..) if from == 3 => {
            Some(resign(Body::Complain(Complaint { dealer: id(0), opening, key }), 3, 0))
        }
        Body::Done(_) if from == 3 => None,
        _ => Some(message),
    });
    for i in 0..3 {
        assert_eq!(world.failed[i], Some(Failure::FalseComplaint(id(3))), "server {i}");
        assert!(world.finished[i].is_none());
    }
}

#[test]
fn complaint_with_another_s_key_is_not_heard() {
    let mut world = World::new(4, 0);
    let opening = expected_opening(0);
    world.run(|from, _, message| match message.body {
        Body::Agree(..) if from == 3 => {
            let complaint = Complaint { dealer: id(0), opening, key: [1; 32] };
            Some(resign(Body::Complain(complaint), 3, 0))
        }
        Body::Done(_) if from == 3 => None,
        _ => Some(message),
    });
    assert_eq!(world.failed[..3], [None; 3]);
    assert_eq!(world.machines[0].awaited().iter().collect::<Vec<_>>(), [id(3)]);
}

#[test]
fn opening_that_does_not_fit_its_commitment_names_its_dealer() {
    // Another one for the same attempt, with its proof.
    let label = "ostrakon/v1/agreement/dkg polynomial";
    let mut drawn = Stream::of(signing(1).derive(label, &[b"another"]), label);
    let polynomial = Polynomial::random(2, &mut drawn);
    let possession = polynomial.prove(id(1), &context(0), &mut drawn);
    let other = Dealing { commitments: polynomial.commitments(), possession };
    assert!(other.check(id(1), &context(0), 2).is_some());
    for change in 0..3 {
        let mut world = World::new(4, 0);
        world.run(|from, _, message| match message.body {
            Body::Open(mut opening) if from == 1 => {
                match change {
                    0 => opening.dealing = other.clone(),
                    1 => drop(opening.shares.pop()),
                    _ => drop(opening.dealing.commitments.pop()),
                }
                Some(resign(Body::Open(opening), 1, 0))
            }
            _ => Some(message),
        });
        for i in [0, 2, 3] {
            assert_eq!(world.failed[i], Some(Failure::BadOpening(id(1))), "server {i}, {change}");
        }
    }
}

#[test]
fn dealer_that_says_two_things_is_named_and_nobody_finishes() {
    let mut world = World::new(4, 0);
    world.run(|from, to, message| match message.body {
        Body::Open(mut opening) if from == 1 && to == 2 => {
            // Not the receiver's own share: only the transcripts differ.
            opening.shares[3].spoil();
            Some(resign(Body::Open(opening), 1, 0))
        }
        _ => Some(message),
    });
    assert!(world.finished.iter().all(Option::is_none));
    for i in [0, 2, 3] {
        assert_eq!(world.failed[i], Some(Failure::TwoWords(id(1))), "server {i}");
    }
}

#[test]
fn copied_dealing_has_no_proof() {
    // Server 3 opens server 0's commitments as its own, to have them cancel or double.
    let mut world = World::new(4, 0);
    let copied = world.machines[0].opening.clone();
    let context = context(0);
    let committed = copied.digest(id(3), &context);
    let mut own = None;
    world.run(|from, _, message| match message.body {
        Body::Commit(key, _) if from == 3 => {
            let commit = resign(Body::Commit(key, committed), 3, 0);
            own = Some(word(&commit));
            Some(commit)
        }
        Body::Open(mut opening) if from == 3 => {
            opening.dealing = copied.clone();
            opening.commits[3] = own.unwrap();
            Some(resign(Body::Open(opening), 3, 0))
        }
        _ => Some(message),
    });
    for i in 0..3 {
        assert_eq!(world.failed[i], Some(Failure::BadOpening(id(3))), "server {i}");
    }
}

#[test]
fn server_that_stops_after_signing_signs_the_same_again() {
    let mut world = World::new(4, 0);
    world.run(|from, to, message| {
        let late = from == 2 && matches!(message.body, Body::Agree(..)) && to != 0;
        (!late).then_some(message)
    });
    assert!(world.finished[0].is_some() && world.finished[2].is_some());
    let before = world.machines[2].said().to_vec();
    let (fresh, _) = machine(4, 0, 2);
    let (again, step) = fresh.resume(world.written[2].as_ref().unwrap());
    assert_eq!(again.said()[..3], before[..3], "the same bytes");
    assert!(step.sends.contains(&before[2]));
}

/// A dealer seals one receiver a share that does not fit, and shows the others an opening without
/// fault: the receiver's complaint is of what it was shown.
#[test]
fn bad_opening_shown_to_one_names_its_dealer() {
    let mut world = World::new(4, 0);
    world.run(|from, to, message| match message.body {
        Body::Open(mut opening) if from == 1 && to == 2 => {
            opening.shares[2].spoil();
            Some(resign(Body::Open(opening), 1, 0))
        }
        _ => Some(message),
    });
    assert!(world.finished.iter().all(Option::is_none));
    assert_eq!(world.failed[2], Some(Failure::BadShare(id(1))));
    for i in [0, 3] {
        assert_eq!(world.failed[i], Some(Failure::TwoWords(id(1))), "server {i}");
    }
}

/// A complaint of an opening that the dealer never signed says nothing.
#[test]
fn complaint_of_an_invented_opening_is_not_heard() {
    let mut world = World::new(4, 0);
    let key = world.machines[3].exchange.to_bytes();
    let opening = (Digest([1; 32]), Signature([1; 64]));
    world.run(|from, _, message| match message.body {
        Body::Agree(..) if from == 3 => {
            Some(resign(Body::Complain(Complaint { dealer: id(0), opening, key }), 3, 0))
        }
        Body::Done(_) if from == 3 => None,
        _ => Some(message),
    });
    assert_eq!(world.failed[..3], [None; 3]);
}

/// A receiver commits to one key before a dealer and to another before everybody else, and
/// complains with that one of the share that was sealed under the first.
#[test]
fn receiver_with_two_keys_is_named() {
    let mut world = World::new(4, 0);
    let other = machine(4, 9, 3).0.exchange;
    let public = RistrettoPoint::mul_base(&other).compress().0;
    let mut opening = None;
    world.run(|from, to, message| match message.body.clone() {
        Body::Commit(_, digest) if from == 3 && to != 0 => {
            Some(resign(Body::Commit(public, digest), 3, 0))
        }
        Body::Open(_) if from == 0 => {
            opening = Some((message.body.digest(), message.signature));
            Some(message)
        }
        Body::Agree(..) | Body::Complain(_) if from == 3 => {
            let (opening, key) = (opening.unwrap(), other.to_bytes());
            Some(resign(Body::Complain(Complaint { dealer: id(0), opening, key }), 3, 0))
        }
        _ => Some(message),
    });
    for i in 0..3 {
        assert_eq!(world.failed[i], Some(Failure::TwoWords(id(3))), "server {i}");
    }
}

/// Commitments that nobody signed are the fault of the dealer that names them.
#[test]
fn opening_under_invented_commitments_names_its_dealer() {
    let mut world = World::new(4, 0);
    world.run(|from, _, message| match message.body {
        Body::Open(mut opening) if from == 1 => {
            opening.commits[2].0.0[0] ^= 1;
            Some(resign(Body::Open(opening), 1, 0))
        }
        _ => Some(message),
    });
    for i in [0, 2, 3] {
        assert_eq!(world.failed[i], Some(Failure::BadOpening(id(1))), "server {i}");
    }
}

/// A server opens, restarts, and is sent another commitment: it says the same opening as before.
#[test]
fn opening_is_the_same_after_a_restart() {
    let (mut first, _) = machine(4, 0, 2);
    let commits: Vec<_> = (0..4).map(|i| machine(4, 0, i).0.said()[0].clone()).collect();
    let mut written = None;
    for i in [0, 1, 3] {
        written = first.handle(id(i), &commits[i]).write.map(|(_, bytes)| bytes).or(written);
    }
    let (fresh, _) = machine(4, 0, 2);
    let mut again = match &written {
        Some(written) => fresh.resume(written).0,
        None => fresh,
    };
    let other = DkgMessage::decode(&machine(4, 9, 3).0.said()[0]).unwrap();
    let step = again.handle(id(3), &wire::encode(&resign(other.body, 3, 0)));
    for i in [0, 1] {
        let _ = again.handle(id(i), &commits[i]);
    }
    assert_eq!(again.said()[1], first.said()[1], "two openings would convict it");
    let failed =
        matches!(step.outcome, Some(Outcome::Failed(Failure::TwoWords(party))) if party == id(3));
    assert!(failed, "the other is at fault");
}

/// Whoever complained has given away its exchange key of the attempt. After a restart it is shown
/// an opening without fault, and must not sign: all its shares could be read then.
#[test]
fn complaint_is_remembered_over_a_restart() {
    let mut world = World::new(4, 0);
    let mut good = None;
    world.run(|from, to, message| match message.body.clone() {
        Body::Open(mut opening) if from == 1 && to == 2 => {
            good = Some(wire::encode(&message));
            opening.shares[2].spoil();
            Some(resign(Body::Open(opening), 1, 0))
        }
        Body::Complain(_) if from == 2 => None,
        _ => Some(message),
    });
    assert_eq!(world.failed[2], Some(Failure::BadShare(id(1))));
    let (fresh, _) = machine(4, 0, 2);
    let (mut again, step) = match &world.written[2] {
        Some(written) => fresh.resume(written),
        None => (fresh, DkgStep::default()),
    };
    let mut said = step.sends;
    for i in [0, 1, 3] {
        let mut before = world.machines[i].said().to_vec();
        if i == 1 {
            before[1] = good.clone().unwrap();
        }
        said.extend(before.iter().flat_map(|bytes| again.handle(id(i), bytes).sends));
    }
    let bodies: Vec<_> = said.iter().map(|bytes| DkgMessage::decode(bytes).unwrap().body).collect();
    assert!(bodies.iter().any(|body| matches!(body, Body::Complain(_))), "it says it again");
    assert!(!bodies.iter().any(|body| matches!(body, Body::Agree(..))), "it signs nothing");
}

#[test]
fn finished_key_counts_although_one_complained_to_some() {
    let mut world = World::new(4, 0);
    let key = world.machines[3].exchange.to_bytes();
    let opening = expected_opening(0);
    // Server 3 signs, and complains to server 1 alone.
    world.run(|from, to, message| match message.body {
        Body::Agree(..) if from == 3 && to == 1 => {
            Some(resign(Body::Complain(Complaint { dealer: id(0), opening, key }), 3, 0))
        }
        Body::Done(_) if from == 3 => None,
        _ => Some(message),
    });
    assert_eq!(world.failed[1], Some(Failure::FalseComplaint(id(3))));
    let keys = &world.finished[0].as_ref().unwrap().keys;
    assert_eq!(
        world.finished[1].as_ref().map(|f| &f.keys),
        Some(keys),
        "the others' word suffices"
    );
}

#[test]
fn spoilt_messages_neither_panic_nor_name_the_honest() {
    for cut in 0..40 {
        let mut world = World::new(4, 0);
        let mut at = 0;
        let n = 4;
        while !world.pool.is_empty() {
            at = (at * 31 + 11) % world.pool.len();
            let (from, to, mut bytes) = world.pool.swap_remove(at);
            if from == 1 {
                match cut % 4 {
                    0 => bytes.truncate(bytes.len() * cut / 40),
                    1 => bytes.push(0),
                    2 => bytes[cut % 30] ^= 1 << (cut % 8),
                    _ => bytes.reverse(),
                }
            }
            let step = world.machines[to].handle(id(from), &bytes);
            world.take(n, to, step);
        }
        assert!(world.failed.iter().all(|failed| failed.is_none()), "cut {cut}");
    }
}

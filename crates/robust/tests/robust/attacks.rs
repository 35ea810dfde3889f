//! One test for each known attack. The corrupt member is P1 unless said; its messages are signed
//! anew, so they reach the checks behind the signature.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use ostrakon_robust::client::{Masked, Place, Submission};
use ostrakon_robust::fault::FaultKind;
use ostrakon_robust::message::{Part, Signed, StepId};
use ostrakon_robust::offline::recipes::{Powers, Randoms, Triples};
use ostrakon_robust::offline::{AlreadySpent, Batch, Complaint, Record, Subject};
use ostrakon_robust::online::powermix::PowerMix;
use ostrakon_robust::opening::Mode;
use ostrakon_robust::phase::Phase;
use ostrakon_robust::program::Program;

use crate::honest::{finish_shuffle, ready_shuffle, shuffle_shape, sizes, sorted};
use crate::products;
use crate::world::{Adversary, Corruption, Marks, Sent, World, secrets};

fn corrupt(t: usize) -> Vec<u8> {
    (1..=t as u8).collect()
}

/// Prepares honestly, lets t members act in a shuffle, and asserts its output. The faults noted.
fn shuffle_against(
    n: usize,
    t: usize,
    act: impl FnMut(&Corruption, Signed) -> Vec<Sent> + 'static,
) -> (World, Vec<(PartyId, ostrakon_robust::fault::Fault)>, ostrakon_robust::message::Instance) {
    let mut world = World::new(n, t, 41);
    let shape = shuffle_shape(&world, 4, 2, &[2, 2]);
    let rows = world.random_rows(4, 2);
    let (instance, programs) = ready_shuffle(&mut world, &shape, &rows, &[]);
    world.adversary = Adversary::new(&corrupt(t), act);
    let ran = world.run(instance.clone(), programs);
    for position in world.honest() {
        let table = ran.outputs[position].as_ref().expect("output is guaranteed");
        let out = table.chunks(2).map(<[Fp]>::to_vec).collect();
        assert_eq!(sorted(out), sorted(rows.clone()));
    }
    crate::world::assert_only_corrupt_blamed(&world, &ran.faults);
    (world, ran.faults, instance)
}

#[test]
fn one_element_short() {
    for (n, t) in sizes() {
        let (_, faults, instance) = shuffle_against(n, t, |own, message| {
            let mut body = message.body.clone();
            body.truncate(body.len() - 8);
            vec![Sent::now(&own.resign(&message, body))]
        });
        assert!(faults.iter().any(|(_, f)| matches!(f.kind, FaultKind::Malformed(_))));
        assert!(faults.iter().all(|(_, f)| f.convicts(&instance)));
    }
}

#[test]
fn not_canonical() {
    let (_, faults, instance) = shuffle_against(4, 1, |own, message| {
        let mut body = message.body.clone();
        body[..8].copy_from_slice(&Fp::P.to_le_bytes());
        vec![Sent::now(&own.resign(&message, body))]
    });
    // Not as another number that is wrong: it is no element at all.
    assert!(faults.iter().any(|(_, f)| matches!(f.kind, FaultKind::Malformed(_))));
    assert!(faults.iter().all(|(_, f)| f.convicts(&instance)));
}

#[test]
fn duplicate_share() {
    for (n, t) in sizes() {
        // Another vector in the same place, before and after the right one.
        let (_, faults, instance) = shuffle_against(n, t, |own, message| {
            let other = own.bump(&message, 0);
            vec![Sent::now(&message), Sent::now(&other), Sent::now(&message)]
        });
        assert!(faults.iter().any(|(_, f)| matches!(f.kind, FaultKind::Equivocation(_))));
        assert!(faults.iter().all(|(_, f)| f.convicts(&instance)));
        // The same message again is the network's doing.
        let (_, faults, _) = shuffle_against(n, t, |_, m| vec![Sent::now(&m), Sent::now(&m)]);
        assert_eq!(faults, []);
    }
}

/// Wrong shares in every vector, by all corrupt members: corrected, and proved to a third person.
#[test]
fn liars_are_corrected_and_convicted() {
    for (n, t) in sizes() {
        let (world, faults, instance) =
            shuffle_against(n, t, |own, message| vec![Sent::now(&own.bump(&message, 0))]);
        let wrong: Vec<_> =
            faults.iter().filter(|(_, f)| matches!(f.kind, FaultKind::Wrong { .. })).collect();
        assert!(!wrong.is_empty() && wrong.iter().all(|(_, f)| f.convicts(&instance)));
        // Nobody can turn it against an honest member: not under its name, not with fewer.
        let (_, fault) = wrong[0];
        let honest = world.committee.members()[world.honest()[0]];
        let mut framed = fault.clone();
        framed.from = honest;
        assert!(!framed.convicts(&instance));
        let FaultKind::Wrong { vector, agreeing } = &fault.kind else { unreachable!() };
        let swap = |vector: &Signed, agreeing: Vec<Signed>| {
            let kind = FaultKind::Wrong { vector: Box::new(vector.clone()), agreeing };
            ostrakon_robust::fault::Fault { from: vector.from, kind }.convicts(&instance)
        };
        assert!(!swap(vector, agreeing[1..].to_vec()));
        let mut with_liar = agreeing.clone();
        let victim = std::mem::replace(&mut with_liar[0], (**vector).clone());
        with_liar.sort_by_key(|m| m.from);
        assert!(!swap(&victim, with_liar));
        assert!(!swap(&agreeing[0], agreeing.clone()), "an agreeing vector is not wrong");
    }
}

/// Different lies to different members, t of them, in both hops; and messages in other names.
#[test]
fn lies_to_some() {
    for (n, t) in sizes() {
        shuffle_against(n, t, |own, message| {
            let mut forged = message.clone();
            forged.from = PartyId(0);
            let lie = if message.to.0.is_multiple_of(2) { own.bump(&message, 0) } else { message };
            vec![Sent::now(&lie), Sent::now(&forged)]
        });
    }
}

/// Liars that fall silent halfway, t of them: the others go on without what they owe.
#[test]
fn liars_fall_silent() {
    for (n, t) in sizes() {
        let (_, faults, _) = shuffle_against(n, t, |own, message| match message.step.phase {
            0 => vec![Sent::now(&message)],
            1 => vec![Sent::now(&own.bump(&message, 0))],
            _ => vec![],
        });
        assert!(!faults.is_empty());
    }
}

/// A late row: its client's message was seen by a corrupt server, but not sealed. Its mask is on
/// the board as noise.
#[test]
fn late_row_on_board() {
    let mut world = World::new(4, 1, 42);
    let shape = shuffle_shape(&world, 4, 2, &[2, 2]);
    let stock = world.stock(&shape, 1);
    let rows = world.random_rows(4, 2);
    let late = 2;
    let masks = world.masks(|position| {
        let stock = stock[position].stock();
        [&stock.stages[0].mask[late * 2..][..2], &stock.pads[late * 2..][..2]].concat()
    });
    let Masked(sent) = masks.for_row(&rows[late]);
    let shares: Vec<Vec<Fp>> =
        stock.iter().map(|s| s.stock().stages[0].mask[late * 2..][..2].to_vec()).collect();
    let mask = secrets(&world.committee, &shares);
    let (instance, programs) = crate::honest::with_stock(&mut world, &shape, stock, &rows, &[late]);
    let out = finish_shuffle(&mut world, &shape, instance, programs);
    // What makes the pad necessary: the noise is the mask itself.
    assert!(out.contains(&mask));
    for noise in &out {
        let guess: Vec<Fp> = sent.iter().zip(noise).map(|(&c, &z)| c + z).collect();
        assert_ne!(guess, rows[late], "the late row is read");
        assert!(guess.iter().zip(&rows[late]).all(|(a, b)| a != b));
    }
}

/// A corrupt member tells the same wrong value to all in the opening of degree 2t.
#[test]
fn king_lies_alike() {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 43);
        world.adversary = Adversary::new(&corrupt(t), |own, message| {
            let lie = if message.step.part == Part::Tell { own.bump(&message, 0) } else { message };
            vec![Sent::now(&lie)]
        });
        let stock = world.stock(&Triples { count: 5 }, 1);
        world.adversary = Adversary::none();
        products::check(&mut world, stock);
    }
}

/// A wrong share to one member in the opening of degree 2t, where nothing can be corrected.
#[test]
fn lie_in_2t() {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 44);
        world.adversary = Adversary::new(&[1], |own, message| {
            let lied = message.step.part == Part::Encode && message.to == PartyId(3);
            vec![Sent::now(&if lied { own.bump(&message, 0) } else { message })]
        });
        let prepared = world.prepare(&Triples { count: 5 });
        assert!(prepared.burned && prepared.ready.iter().all(Option::is_none));
        assert_eq!(prepared.judged, vec![Some(PartyId(1)); n - 1]);
    }
}

/// A dealing that is on no polynomial of degree t: found by whoever checks, or by nobody honest
/// before an opening, and traced to the dealer.
#[test]
fn dealing_of_another_degree() {
    for (n, t) in sizes() {
        for place in 0..3 {
            let mut world = World::new(n, t, 45 + place);
            world.adversary = Adversary::new(&[1], move |own, message| {
                let lied = message.step.part == Part::Deal && message.to == PartyId(2);
                vec![Sent::now(&if lied { own.bump(&message, place as usize) } else { message })]
            });
            let prepared = world.prepare(&Triples { count: 2 });
            assert!(prepared.burned && prepared.ready.iter().all(Option::is_none));
            assert_eq!(prepared.judged, vec![Some(PartyId(1)); n - 1], "place {place}");
            // Nothing is opened of plain random values: the checkers alone find it.
            let randoms = world.prepare(&Randoms { count: 3 * (t + 1) });
            assert!(randoms.burned && randoms.ready.iter().all(Option::is_none));
            assert_eq!(randoms.judged, vec![Some(PartyId(1)); n - 1], "place {place}");
        }
    }
}

/// A corrupt receiver that was dealt right shares says they were wrong, and computes from others.
#[test]
fn receiver_lies_about_its_dealing() {
    let mut world = World::new(4, 1, 46);
    world.adversary = Adversary::new(&[1], |own, message| {
        let lied = message.step.part == Part::Check;
        vec![Sent::now(&if lied { own.bump(&message, 0) } else { message })]
    });
    world.adversary.record = Box::new(|_, record| match record {
        Record::Reveal(mut reveal) => {
            // A dealing under P0's name that P0 never signed.
            reveal.deals[0].body.0[0] ^= 1;
            Some(Record::Reveal(reveal))
        }
        other => Some(other),
    });
    let prepared = world.prepare(&Triples { count: 2 });
    assert_eq!(prepared.judged, [Some(PartyId(1)); 3]);
}

/// It is named by its reveal alone: another corrupt member shows nothing, so nothing is recomputed.
#[test]
fn seed_that_was_not_committed_to() {
    let mut world = World::new(7, 2, 47);
    world.adversary = Adversary::new(&[1, 2], |own, message| {
        let lied = message.step.part == Part::Encode;
        vec![Sent::now(&if lied { own.bump(&message, 0) } else { message })]
    });
    world.adversary.record = Box::new(|author, record| match record {
        Record::Reveal(_) if author == PartyId(2) => None,
        Record::Reveal(mut reveal) => {
            reveal.seed = ostrakon_crypto::Secret::new([3; 32]);
            Some(Record::Reveal(reveal))
        }
        other => Some(other),
    });
    let prepared = world.prepare(&Triples { count: 2 });
    assert_eq!(prepared.judged, [Some(PartyId(1)); 5]);
}

/// An honest member restarts under the same batch number with a fresh seed, after its first one was
/// ordered: it is not bound to what it would deal now, so it deals nothing.
#[test]
fn restart_with_another_seed() {
    let mut world = World::new(4, 1, 47);
    let subject = Subject {
        session: Digest([7; 32]),
        number: 1,
        committee: Arc::clone(&world.committee),
        keys: world.verifying(),
    };
    let begin = |me: usize, seed: u8| {
        let (subject, key) = (subject.clone(), Arc::clone(&world.keys[me]));
        let seed = ostrakon_crypto::Secret::new([seed; 32]);
        Batch::new(subject, Randoms { count: 1 }, me, key, seed)
    };
    let commits: Vec<_> = (0..4).map(|me| begin(me, me as u8).1).collect();
    for (seed, takes_part) in [(0, true), (9, false)] {
        let (mut batch, _) = begin(0, seed);
        let mut sent = 0;
        for (me, commit) in commits.iter().enumerate() {
            let step = batch.ordered(PartyId(me as u8), commit.clone(), &mut world.tape);
            sent += step.sends.len();
        }
        assert_eq!(sent > 0, takes_part, "seed {seed}");
        let step = batch.ordered(PartyId(1), groundless(), &mut world.tape);
        assert_eq!(step.outputs.len(), if takes_part { 2 } else { 0 }, "and shows nothing");
    }
}

/// What a burnt batch puts into the ledger has the length that the ledger takes, however large the
/// batch: 16 KiB a record.
#[test]
fn records_of_a_burnt_batch_are_short() {
    let mut world = World::new(4, 1, 47);
    let lengths = Rc::new(RefCell::new(Vec::new()));
    world.adversary = Adversary::new(&[1], |own, message| {
        let lied = message.step.part == Part::Encode && message.step.phase == 6;
        vec![Sent::now(&if lied { own.bump(&message, 0) } else { message })]
    });
    let noted = Rc::clone(&lengths);
    world.adversary.record = Box::new(move |_, record| {
        noted.borrow_mut().push(record.to_bytes().len());
        Some(record)
    });
    let shape = shuffle_shape(&world, 64, 4, &[8, 8]);
    let prepared = world.prepare(&shape);
    assert_eq!(prepared.judged, [Some(PartyId(1)); 3]);
    let longest = *lengths.borrow().iter().max().unwrap();
    assert!(longest > 33 && longest < 16 << 10, "{longest} bytes");
}

fn groundless() -> Record {
    let step = StepId { phase: 1, part: Part::Encode };
    Record::Complaint(Complaint { step, messages: vec![] })
}

#[test]
fn groundless_complaint() {
    let mut world = World::new(4, 1, 48);
    world.adversary = Adversary::new(&[1], |_, message| vec![Sent::now(&message)]);
    world.adversary.record = Box::new(|_, record| match record {
        Record::Right => Some(groundless()),
        other => Some(other),
    });
    let prepared = world.prepare(&Triples { count: 2 });
    assert!(prepared.burned && prepared.ready.iter().all(Option::is_none));
    assert_eq!(prepared.judged, [Some(PartyId(1)); 3]);
}

/// Only one honest member can see the error, and does so after all others have said "right".
#[test]
fn one_checker_that_comes_late() {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 55);
        let checker = PartyId(n as u8 - 1);
        world.adversary = Adversary::new(&[1], move |own, message| {
            if message.step.part == Part::Check && message.to == checker {
                return vec![Sent { bytes: own.bump(&message, 0).to_bytes(), late: true }];
            }
            vec![Sent::now(&message)]
        });
        let prepared = world.prepare(&Randoms { count: 3 });
        assert!(prepared.burned && prepared.ready.iter().all(Option::is_none));
        assert_eq!(prepared.judged, vec![Some(PartyId(1)); n - 1]);
    }
}

/// Once all have said that the batch is right, it may be in use: nothing of it is ever shown.
#[test]
fn complaint_after_ready() {
    let mut world = World::new(4, 1, 49);
    world.adversary = Adversary::new(&[1], |_, message| vec![Sent::now(&message)]);
    world.adversary.afterwards = vec![(PartyId(1), groundless())];
    let prepared = world.prepare(&Triples { count: 2 });
    assert!(!prepared.burned && prepared.judged.is_empty());
    assert!(prepared.ready.iter().all(Option::is_some));
}

/// A silent member: no batch, nobody blamed. One that is as slow as can be: the batch is ready.
#[test]
fn silent_offline() {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 50);
        world.adversary = Adversary::silent(&[1]);
        let prepared = world.prepare(&Triples { count: 3 });
        assert!(prepared.ready.iter().all(Option::is_none));
        assert!(!prepared.burned && prepared.judged.is_empty() && prepared.faults.is_empty());
        world.adversary = Adversary::none();
        world.adversary.starved = Some(PartyId(1));
        assert!(world.prepare(&Triples { count: 3 }).ready.iter().all(Option::is_some));
    }
}

/// Two tables under one matrix and one mask would show their difference.
#[test]
fn reused_matrix() {
    let mut world = World::new(4, 1, 51);
    let shape = shuffle_shape(&world, 4, 1, &[2, 2]);
    let mut ready = world.prepare(&shape).ready.into_iter().flatten();
    // The material as it would come from a disk three times.
    let mut marks = Marks::default();
    let mut spend = |purpose| ready.next().unwrap().spend(Digest([purpose; 32]), &mut marks);
    let first = spend(1).ok().unwrap();
    assert!(matches!(spend(2), Err(AlreadySpent)));
    // After a crash the identical computation goes on, under the same name.
    assert_eq!(spend(1).ok().unwrap().name(), first.name());
}

/// A submission counts for one place, with the masks of one batch, and for one key. (That masks
/// come once, for one row, is tested where clients read them.)
#[test]
fn two_inputs_one_mask() {
    let key = SigningKey::from_seed(&[1; 32]);
    let place = Place { room: Digest([1; 32]), epoch: 4, slot: 2, batch: Digest([3; 32]) };
    let submission = place.submit(&key, Masked(vec![Fp::ONE, Fp::ZERO]));
    let client = key.verifying_key();
    assert!(place.vouches(&client, &submission));
    let bytes = submission.to_bytes();
    assert_eq!(Submission::from_bytes(&bytes, 2), Some(submission.clone()));
    assert!([0, 1, 3].iter().all(|&count| Submission::from_bytes(&bytes, count).is_none()));
    assert!(Submission::from_bytes(&[&bytes[..], &[0]].concat(), 2).is_none());
    assert!(Submission::from_bytes(&[&bytes[..72], &[0xff; 8]].concat(), 2).is_none());
    let others = [
        Place { epoch: 5, ..place },
        Place { slot: 3, ..place },
        Place { room: Digest([2; 32]), ..place },
        Place { batch: Digest([4; 32]), ..place },
    ];
    assert!(others.iter().all(|other| !other.vouches(&client, &submission)));
    assert!(!place.vouches(&SigningKey::from_seed(&[2; 32]).verifying_key(), &submission));
    let mut other = submission.clone();
    other.masked.0[1] = Fp::ONE;
    assert!(!place.vouches(&client, &other));
}

/// Every submission has a b of its own: differences of what is sent tell nothing.
#[test]
fn one_b_for_all() {
    let mut world = World::new(4, 1, 52);
    let stock = world.stock(&Powers { slots: 3, powers: 3, columns: 1 }, 1);
    let shares: Vec<Vec<Fp>> =
        stock.iter().map(|s| (0..3).flat_map(|slot| s.stock().masks(slot)).collect()).collect();
    let masks = secrets(&world.committee, &shares);
    let mut distinct = masks.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 6);
}

/// Of the products only the coefficients that are power sums are opened, S_1 to S_k and W_0 to
/// W_(k−1) of each column, and nothing else.
#[test]
fn open_k_plus_1() {
    let mut world = World::new(4, 1, 53);
    for sealed in [0, 1, 3, 4] {
        let stock = world.stock(&Powers { slots: 4, powers: 4, columns: 2 }, 1);
        let said = world.random_rows(sealed, 3);
        let submissions: Vec<Option<Masked>> = (0..4)
            .map(|slot| {
                let masks = world.masks(|position| stock[position].stock().masks(slot));
                said.get(slot).map(|row| masks.for_carrier(row[0], &row[1..]))
            })
            .collect();
        let name = stock[0].name();
        let programs: Vec<PowerMix> =
            stock.into_iter().map(|s| PowerMix::new(s, submissions.clone())).collect();
        let phases = programs[0].phases();
        let opened = Phase::Open { count: 3 * sealed, mode: Mode::Robust };
        assert_eq!(phases, if sealed == 0 { vec![] } else { vec![opened] });
        let instance = world.instance(name, phases);
        let sum = |column: usize, power: usize| -> Fp {
            let of = |row: &Vec<Fp>| row[column] * row[0].pow_vartime(power as u64);
            said.iter().map(of).sum()
        };
        let sums = |column| (0..sealed).map(|power| sum(column, power)).collect::<Vec<_>>();
        for output in world.run(instance, programs).outputs {
            let output = output.unwrap();
            assert_eq!(output.keys, sums(0), "S_1 is the sum of keys");
            assert_eq!(output.payloads.concat(), [sums(1), sums(2)].concat());
        }
    }
}

/// Bytes of strangers, of other runs, and of nonsense.
#[test]
fn strange_bytes() {
    let mut world = World::new(4, 1, 54);
    let stock = world.stock(&Randoms { count: 2 }, 1);
    drop(stock);
    let (_, faults, instance) = shuffle_against(4, 1, |_, message| {
        let mut garbled = message.clone();
        garbled.body[0] ^= 1;
        let bytes = message.to_bytes();
        let sent = |bytes: &[u8]| Sent { bytes: bytes.to_vec(), late: false };
        vec![
            Sent::now(&garbled),
            sent(&bytes[..40]),
            sent(&[]),
            sent(&[bytes.clone(), vec![0; 99999]].concat()),
        ]
    });
    assert!(faults.iter().all(|(_, f)| f.kind == FaultKind::Unsigned && !f.convicts(&instance)));
    assert_eq!(faults.len(), 3, "each member notes it once, however often it comes");
    let step = StepId { phase: 1, part: Part::Deal };
    let key = SigningKey::from_seed(&[0; 32]);
    let message = instance.sign(&key, step, [PartyId(1), PartyId(0)], vec![]);
    assert!(!instance.vouches(&message.header()));
    for length in 0..80 {
        let _ = Signed::from_bytes(&vec![1; length]);
        let _ = Record::from_bytes(&vec![2; length]);
        let _ = Record::from_bytes(&vec![3; length]);
    }
}

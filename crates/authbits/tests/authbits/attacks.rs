//! Attacks by messages: a corrupt party runs the honest code, and what it sends is changed on the
//! way out.

use futures::FutureExt;
use ostrakon_authbits::circuit::Builder;
use ostrakon_authbits::ot::{HASH_BITS, KEY_BITS, LEVELS, MAC_BITS, TREES, Width};
use ostrakon_authbits::params::BadSpec;
use ostrakon_authbits::{
    Abort, Bits, Journal, Kind, NoTicket, Refused, SegmentSpec, Shares, Ticket, Unprepared,
};
use ostrakon_crypto::Digest;
use ostrakon_party::{Message, PartyId};
use ostrakon_testkit::{Network, Saboteur, World};

use crate::world::{
    Committee, Disk, all, bits, deal, delta, reconstruct, small, ticket, whole_key,
};

pub fn is(message: &Message, kind: Kind) -> bool {
    message.signed.header.tag.step == kind.step()
}

/// The body with a bit turned round.
pub fn flipped(message: &Message, bit: usize) -> Vec<u8> {
    let mut body = message.body.to_vec();
    body[bit / 8] ^= 1 << (bit % 8);
    body
}

fn aborts(results: &[Option<Result<(), Unprepared>>], party: usize) -> Abort {
    match results[party] {
        Some(Err(Unprepared::Aborted(abort))) => abort,
        ref other => panic!("P{party}: {other:?}"),
    }
}

/// Whoever listens knows the keys of an owner whose point is the neutral one; and what is no point
/// has no key.
#[test]
fn base_points_that_are_neutral_or_none_are_refused() {
    let committee = Committee::from_nothing(14, 2);
    // The owner's point; the first and the last one of the holder.
    for (point, byte) in [(0, 0), (0, 0xff), (1, 0xff), (2 * KEY_BITS, 0xff)] {
        let network = committee.corrupt(1, move |_, message| {
            is(message, Kind::BasePoints).then(|| {
                let mut body = message.body.to_vec();
                body[32 * point..][..32].fill(byte);
                body
            })
        });
        let results = committee.run(&network, LEAKY, async |_| ());
        assert_eq!(aborts(&results, 0), Abort::Malformed(PartyId(1)), "point {point}");
    }
}

/// A base message that was made for another peer, by another party, or for another segment: no
/// honest party goes on from it.
#[test]
fn a_base_message_of_another_pair_or_number_is_found() {
    let committee = Committee::from_nothing(15, 3);
    let base_message = |spec: SegmentSpec, from: u8, to: u8| {
        let network = Network::default();
        all(committee.run(&network, spec, async |_| ()));
        let sent = network.sent();
        let is_it = |(peer, message): &&(PartyId, Message)| {
            let header = message.signed.header;
            *peer == PartyId(to) && header.from == PartyId(from) && is(message, Kind::BasePoints)
        };
        sent.iter().find(is_it).expect("it was sent").1.body.to_vec()
    };
    let other = SegmentSpec { number: 2, ..LEAKY };
    // Of P1 itself to P2, of P2 to P0, of P1 to P0 elsewhere.
    for (spec, from, to) in [(LEAKY, 1, 2), (LEAKY, 2, 0), (other, 1, 0)] {
        let body = base_message(spec, from, to);
        let network = committee.corrupt(1, move |to, message| {
            (is(message, Kind::BasePoints) && to == PartyId(0)).then(|| body.clone())
        });
        let results = committee.run(&network, LEAKY, async |_| ());
        for honest in [0, 2] {
            let abort = aborts(&results, honest);
            let right = match abort {
                Abort::Trees(party) => party == PartyId(1),
                Abort::Stopped(_) => true,
                _ => false,
            };
            assert!(right, "P{honest}: {abort}");
        }
    }
}

/// One triple from a bucket of one: it is leaky, and its x is seen from outside.
const LEAKY: SegmentSpec = SegmentSpec { number: 1, triples: 1, bucket: 1, security: 0 };

/// A wrong string U survives exactly if the receiver's bit of x is 0, and changes nothing then:
/// half of the time, and only x is learnt.
#[test]
fn a_wrong_u_survives_half_and_tells_only_x() {
    // The first bit of the MAC, the last, and the bit of z.
    for (parties, wrong) in [(2, &[0, 63, 64][..]), (3, &[64])] {
        let seeds = 20;
        let mut survived = vec![0; wrong.len()];
        for seed in 0..seeds {
            let committee = Committee::new(seed, parties);
            let run = |network: &Network| {
                committee.run(network, LEAKY, async |segment| {
                    let triples = segment.triples().map(Shares::clone);
                    (triples, segment.key().expose())
                })
            };
            let honest = all(run(&Network::default()));
            let x = honest[0].0[0].bits().get(0);
            for (&bit, survived) in wrong.iter().zip(&mut survived) {
                let network = committee.corrupt(1, move |to, message| {
                    (is(message, Kind::Leaky) && to == PartyId(0)).then(|| flipped(message, bit))
                });
                let attacked = run(&network);
                match &attacked[0] {
                    Some(Ok(_)) => {
                        assert!(!x, "seed {seed}: survived although x is 1");
                        *survived += 1;
                        assert_right_product(&all(attacked));
                    }
                    Some(Err(Unprepared::Aborted(Abort::MacCheck | Abort::Stopped(_)))) => {
                        assert!(x, "seed {seed}: found although x is 0");
                    }
                    _ => panic!("seed {seed}: waiting, or stopped otherwise"),
                }
            }
        }
        assert!(survived.iter().all(|n| (4..=16).contains(n)), "{survived:?} of {seeds}");
    }
}

/// The one triple and its MACs are right.
fn assert_right_product(parties: &[([Shares; 3], u64)]) {
    let key = whole_key(parties.iter().map(|(_, key)| *key));
    let [x, y, z] = [0, 1, 2].map(|component: usize| {
        let shares: Vec<_> = parties.iter().map(|(t, _)| t[component].clone()).collect();
        reconstruct(&shares, key)[0]
    });
    assert_eq!(z, x & y);
}

/// One wrong tree passes exactly if the holder's digit of Δ is the guessed one, here 0: 1/16. Then
/// nothing has changed.
#[test]
fn a_false_correction_in_one_tree_guesses_a_digit_of_delta() {
    let (mut passed, mut tried) = (0, 0);
    // Seeds of which P0's Δ has a zero digit, and one without.
    for seed in [1, 2, 3, 4] {
        let committee = Committee::new(seed, 2);
        let spec = small(4);
        // A tree's corrections for 12 bits and two masks: three words.
        let delta = delta(seed, spec.number, 0);
        let digit = |tree: usize| (0..LEVELS).any(|level| delta.bit(LEVELS * tree + level) == 1);
        let digits: Vec<bool> = (0..TREES).map(digit).collect();
        let zeros = (0..TREES).filter(|t| !digits[*t]);
        for tree in zeros.chain([5, 11 + seed as usize]) {
            let network = committee.corrupt(1, move |_, message| {
                is(message, Kind::Corrections).then(|| flipped(message, 8 * 24 * tree + 3))
            });
            let results = committee.run(&network, spec, async |_| ());
            tried += 1;
            match &results[0] {
                Some(Ok(())) => {
                    passed += 1;
                    assert!(!digits[tree], "seed {seed}, tree {tree}");
                }
                _ => {
                    assert_eq!(aborts(&results, 0), Abort::Correlation(PartyId(1)));
                    assert!(digits[tree], "seed {seed}, tree {tree}");
                }
            }
        }
    }
    assert!(passed > 2 && passed < tried, "{passed} of {tried}");
}

/// P1 gives P0 another x than P2 by changing all trees' corrections alike.
#[test]
fn a_different_x_to_two_peers_is_found() {
    let committee = Committee::new(5, 3);
    let spec = small(4);
    let network = committee.corrupt(1, |to, message| {
        (is(message, Kind::Corrections) && to == PartyId(0)).then(|| {
            let mut body = message.body.to_vec();
            body[..24 * TREES].chunks_exact_mut(24).for_each(|tree| tree[0] ^= 8);
            body
        })
    });
    let results = committee.run(&network, spec, async |_| ());
    assert_eq!(aborts(&results, 0), Abort::Correlation(PartyId(1)));
    assert!(matches!(aborts(&results, 2), Abort::Stopped(_)));
}

/// The same in the masks, where the cheater knows what to change in the hash of x: P0's comparison
/// holds, and the views differ.
#[test]
fn a_different_hash_of_x_to_two_peers_is_found() {
    let committee = Committee::new(5, 3);
    let network = committee.corrupt(1, |to, message| {
        if to != PartyId(0) {
            return None;
        }
        if is(message, Kind::ChoiceHash) {
            return Some(flipped(message, 0));
        }
        is(message, Kind::Corrections).then(|| {
            let mut body = message.body.to_vec();
            // The first mask word is the second of three.
            body[..24 * TREES].chunks_exact_mut(24).for_each(|tree| tree[8] ^= 1);
            body
        })
    });
    let results = committee.run(&network, small(4), async |_| ());
    for party in [0, 2] {
        assert!(matches!(aborts(&results, party), Abort::View(_) | Abort::Stopped(_)), "P{party}");
    }
    assert!([0, 2].iter().any(|party| matches!(aborts(&results, *party), Abort::View(_))));
}

#[test]
fn inconsistent_trees_are_found() {
    let committee = Committee::new(5, 2);
    for bit in [0, 1000, 1024 + 7, 1024 + 256 + 7] {
        let network = committee
            .corrupt(1, move |_, message| is(message, Kind::Trees).then(|| flipped(message, bit)));
        let results = committee.run(&network, small(4), async |_| ());
        // A sum under a key that the holder has not chosen is never looked at.
        if bit >= 1024 {
            assert_eq!(aborts(&results, 0), Abort::Trees(PartyId(1)));
        }
    }
}

/// Without a corrupt party's part nobody opens a coin, a sum or an output; and a coin is tossed
/// only after the messages that it judges.
#[test]
fn coins_are_tossed_after_the_messages_that_they_judge() {
    for (withheld, never) in [
        (Kind::Corrections, Kind::Commitment),
        (Kind::ChoiceHash, Kind::ColumnHashes),
        (Kind::ColumnHashes, Kind::Leaky),
        (Kind::Combination, Kind::Differences),
        (Kind::Commitment, Kind::Decommitment),
    ] {
        let committee = Committee::new(6, 3);
        let network = Network::default();
        let key = committee.world.key(PartyId(1));
        let target = ostrakon_testkit::Target::Step(withheld.step());
        network.corrupt(Saboteur::new(
            PartyId(1),
            key,
            0,
            target,
            ostrakon_testkit::Mutation::Drop,
            Default::default(),
        ));
        let results = committee.run(&network, small(4), async |_| ());
        assert!(
            results[0].is_none() && results[2].is_none(),
            "{withheld:?}: silence is waited for"
        );
        let said = |kind: Kind| {
            let sent = network.sent();
            sent.iter().any(|(_, m)| m.signed.header.from != PartyId(1) && is(m, kind))
        };
        assert!(said(withheld) && !said(never), "{withheld:?}");
    }
    // The strings U are judged by coin 1, and the differences by coin 3. Before the former there is
    // the coin of step 4, before the latter also coin 1, the sum that it asks for, and coin 2.
    for (judged, before) in [(Kind::Leaky, 1), (Kind::Differences, 4)] {
        let committee = Committee::new(6, 3);
        let network = committee.corrupt(1, move |_, message| is(message, judged).then(Vec::new));
        let results = committee.run(&network, small(4), async |_| ());
        assert_eq!(aborts(&results, 0), Abort::Length(PartyId(1)));
        let sent = network.sent();
        let of_first = |m: &Message| m.signed.header.from == PartyId(0);
        let commitments = sent.iter().filter(|(_, m)| of_first(m) && is(m, Kind::Commitment));
        assert_eq!(commitments.count(), 2 * before, "{judged:?}: to two peers, and no other");
    }
}

/// A cheater that dislikes the permutation breaks off, and P0 crashes: no second one is drawn for
/// these triples, because P0 has written down that the number is used.
#[test]
fn a_preparation_that_broke_off_is_not_begun_again() {
    let committee = Committee::new(9, 2);
    let (spec, disk) = (small(20), Disk::default());
    let network = committee.corrupt(1, |_, message| is(message, Kind::Differences).then(Vec::new));
    let results = committee.world.run(&network, |party| {
        let (committee, disk) = (&committee, disk.clone());
        async move {
            let mut disk = if party.id == PartyId(0) { disk } else { Disk::default() };
            let ticket = Ticket::take(&mut disk, &party, spec).unwrap();
            assert!(party.id != PartyId(0) || disk.0.lock().unwrap().len() == 1);
            committee.prepare_for(&party, ticket, spec).await.map(drop)
        }
        .boxed_local()
    });
    assert_eq!(aborts(&results, 0), Abort::Length(PartyId(1)));
    let after = Network::default();
    let party = committee.world.party(&after, PartyId(0));
    // Nor under another specification, which would be another run.
    for spec in [spec, SegmentSpec { triples: 21, ..spec }] {
        let refused = Ticket::take(&mut disk.clone(), &party, spec).err();
        assert_eq!(refused, Some(NoTicket::Used(spec.number)));
    }
    let next = SegmentSpec { number: 2, ..spec };
    assert!(Ticket::take(&mut disk.clone(), &party, next).is_ok());
}

struct Full;

impl Journal for Full {
    fn keep(&mut self, _: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        Err("no space".into())
    }
}

/// A ticket is for a party that could write down what it uses, and for no other.
#[test]
fn nothing_is_prepared_without_a_mark_of_ones_own() {
    let [here, there] = [9, 10].map(|seed| Committee::new(seed, 2));
    let network = Network::default();
    let parties = [0, 1].map(|id| here.world.party(&network, PartyId(id)));
    let no_space = NoTicket::Journal("no space".into());
    assert_eq!(Ticket::take(&mut Full, &parties[0], small(2)).err(), Some(no_space));
    let foreign = there.world.party(&network, PartyId(0));
    for wrong in [&parties[1], &foreign] {
        let ticket = ticket(wrong, small(2));
        let prepared = here.prepare_for(&parties[0], ticket, small(2)).now_or_never();
        let refused = prepared.expect("at once").err();
        assert_eq!(refused, Some(Unprepared::Ticket));
    }
    assert!(network.sent().is_empty());
}

/// N2: no key is switched; shares of another key are refused, and nothing is burnt by asking.
#[test]
fn n2_shares_of_another_key_are_refused() {
    let committee = Committee::new(10, 2);
    let mut builder = Builder::new(1);
    let input = builder.input(0);
    builder.open(input);
    let circuit = builder.finish();
    let results = committee.world.run(&Network::default(), |party| {
        let (committee, circuit) = (&committee, &circuit);
        async move {
            let mut a = committee.prepare(&party, small(2)).await?;
            let mut b = committee.prepare(&party, SegmentSpec { number: 2, ..small(2) }).await?;
            let mut shares = a.random(1).await.unwrap();
            let foreign = Some(Refused::ForeignKey);
            assert_eq!(b.reveal(&shares).await.err(), foreign);
            assert_eq!(b.evaluate(circuit, &shares).await.err(), foreign);
            assert_eq!(b.xor_public(&mut shares, &deal(1, 1, 0, &[true])).err(), foreign);
            assert_eq!(a.import(&mut b, &shares).await.err(), foreign);
            b.random(1).await.unwrap();
            a.reveal(&shares).await.unwrap();
            Ok::<_, Unprepared>(())
        }
        .boxed_local()
    });
    all(results);
}

/// P0 and P1 put in bits x and y of their own and open x ⊕ y. P2 has seen, of each, the difference
/// from a random share; from P0's shares of the outputs it would have P0's random shares.
#[test]
fn opened_shares_do_not_tell_what_their_party_has_put_in() {
    let committee = Committee::new(13, 3);
    let count = 64;
    let [x, y] = [1, 2].map(|seed| bits(seed, count));
    let mut builder = Builder::new(2 * count);
    for i in 0..count {
        let sum = builder.xor(builder.input(i), builder.input(count + i));
        builder.open(sum);
    }
    let circuit = builder.finish();
    let network = Network::default();
    let opened = all(committee.run(&network, small(2), async |mut segment| {
        let me = segment.party().index();
        let puts_in = [x.iter(), y.iter()].into_iter().enumerate();
        let dealt: Bits =
            puts_in.flat_map(|(of, bits)| bits.map(move |bit| of == me && *bit)).collect();
        let shares = segment.authenticate(&dealt).await.unwrap();
        let sums = segment.evaluate(&circuit, &shares).await.unwrap();
        segment.reveal(&sums).await.unwrap()
    }));
    assert!((0..count).all(|i| opened[2].get(i) == (x[i] ^ y[i])));
    let said = |party: u8, kind: Kind, from_end: usize| -> Vec<u8> {
        let to = PartyId(if party == 2 { 0 } else { 2 });
        let sent = network.sent();
        let own = |to_and: &&(PartyId, Message)| {
            to_and.0 == to && to_and.1.signed.header.from == PartyId(party) && is(&to_and.1, kind)
        };
        let bodies: Vec<_> = sent.iter().filter(own).map(|(_, m)| m.body.to_vec()).collect();
        bodies[bodies.len() - 1 - from_end].clone()
    };
    let bit = |bytes: &[u8], i: usize| bytes[i / 8] >> (i % 8) & 1 == 1;
    let differences: Vec<Vec<u8>> = (0..3).map(|party| said(party, Kind::Opening, 0)).collect();
    // Output, coin, sum: after the nonce the share.
    let output = &said(0, Kind::Decommitment, 2)[32..];
    let guess = |i: usize| {
        let known = |at: usize| differences.iter().fold(false, |sum, d| sum ^ bit(d, at));
        let of_y = bit(&differences[0], count + i) ^ known(count + i);
        let random = bit(output, i) ^ of_y ^ known(i);
        bit(&differences[0], i) ^ random
    };
    let right = (0..count).filter(|i| guess(*i) == x[*i]).count();
    assert!((16..=48).contains(&right), "{right} bits of {count} are read");
}

/// P1 opens a bit of an AND gate to P0 and its complement to P2. The views tell, before a sum does
/// that would be a multiple of one honest party's key alone.
#[test]
fn an_opening_that_differs_between_peers_is_found_by_the_views() {
    let committee = Committee::new(11, 3);
    let mut builder = Builder::new(2);
    let (a, b) = (builder.input(0), builder.input(1));
    let and = builder.and(a, b);
    builder.open(and);
    let circuit = builder.finish();
    let network = committee.corrupt(1, |to, message| {
        (is(message, Kind::Opening) && to == PartyId(0)).then(|| flipped(message, 0))
    });
    let results = committee.run(&network, small(2), async |mut segment| {
        let inputs = segment.random(2).await?;
        let out = segment.evaluate(&circuit, &inputs).await?;
        segment.reveal(&out).await.map(|_| ())
    });
    for party in [0, 2] {
        let stop = results[party].as_ref().unwrap().as_ref().unwrap();
        let clean = matches!(stop, Err(Refused::Aborted(Abort::View(_) | Abort::Stopped(_))));
        assert!(clean, "P{party}: {stop:?}");
    }
}

/// Two honest parties with circuits that look alike from outside: no sum is opened.
#[test]
fn different_circuits_are_found_by_the_views() {
    let committee = Committee::new(11, 2);
    let results = committee.run(&Network::default(), small(2), async |mut segment| {
        let mut builder = Builder::new(2);
        let (a, b) = (builder.input(0), builder.input(1));
        let and = builder.and(a, b);
        let not = builder.not(and);
        builder.open(if segment.party() == PartyId(0) { and } else { not });
        let inputs = segment.random(2).await?;
        let out = segment.evaluate(&builder.finish(), &inputs).await?;
        segment.reveal(&out).await.map(|_| ())
    });
    for result in all(results) {
        let clean = matches!(result, Err(Refused::Aborted(Abort::View(_) | Abort::Stopped(_))));
        assert!(clean, "{result:?}");
    }
}

/// An opening before the check of what led to it: an honest party sends no share of an output while
/// a peer's part of the check is missing.
#[test]
fn no_output_is_opened_before_the_check() {
    let committee = Committee::new(11, 3);
    let mut builder = Builder::new(2);
    let (a, b) = (builder.input(0), builder.input(1));
    let and = builder.and(a, b);
    builder.open(and);
    let circuit = builder.finish();
    // The preparation has 14 messages of commitments and decommitments; the bits' coin is one more
    // pair. What follows is the check before the output.
    let honest = Network::default();
    let course = async |mut segment: ostrakon_authbits::Segment| {
        let inputs = segment.random(2).await?;
        let out = segment.evaluate(&circuit, &inputs).await?;
        segment.reveal(&out).await
    };
    let opened = all(committee.run(&honest, small(2), course));
    assert!(opened.iter().all(Result::is_ok));
    let sequences = |network: &Network, kind| -> Vec<u32> {
        let sent = network.sent();
        let from_p0 = sent.iter().filter(|(to, m)| {
            m.signed.header.from == PartyId(0) && *to == PartyId(1) && is(m, kind)
        });
        from_p0.map(|(_, m)| m.signed.header.tag.sequence).collect()
    };
    let commitments = sequences(&honest, Kind::Commitment);
    // Coin, sum, output, coin, sum: the output is the third from the end.
    let output = commitments[commitments.len() - 3];
    let opened = *sequences(&honest, Kind::Opening).last().unwrap();
    assert_eq!(output, opened + 5, "coin and sum, of two messages each, come in between");
    for withheld in [output - 3, output - 2, output - 1, output] {
        let network = Network::default();
        let nth = honest
            .sent()
            .iter()
            .filter(|(_, m)| m.signed.header.from == PartyId(1))
            .position(|(_, m)| m.signed.header.tag.sequence == withheld)
            .unwrap();
        network.corrupt(Saboteur::new(
            PartyId(1),
            committee.world.key(PartyId(1)),
            0,
            ostrakon_testkit::Target::Nth(nth),
            ostrakon_testkit::Mutation::Drop,
            Default::default(),
        ));
        let results = committee.run(&network, small(2), course);
        assert!(results[0].is_none(), "a withheld message is waited for");
        let last = *sequences(&network, Kind::Decommitment).last().unwrap();
        assert!(last <= output, "the output's opening has number {}", output + 1);
    }
}

/// A party that has seen the output and says nothing more keeps the others from it, and that is
/// all.
#[test]
fn a_withheld_output_is_waited_for() {
    let committee = Committee::new(11, 2);
    let target = bits(3, 4);
    let course = async |mut segment: ostrakon_authbits::Segment| {
        let dealt = deal(5, 2, segment.party().index(), &target);
        let shares = segment.authenticate(&dealt).await?;
        segment.reveal(&shares).await
    };
    let honest = Network::default();
    let opened = all(committee.run(&honest, small(2), course));
    assert!(opened.iter().all(|opened| opened.as_ref().unwrap().get(0) == target[0]));
    let sent: Vec<_> = honest.sent();
    let own: Vec<_> = sent.iter().filter(|(_, m)| m.signed.header.from == PartyId(1)).collect();
    let openings: Vec<usize> =
        (0..own.len()).filter(|i| is(&own[*i].1, Kind::Decommitment)).collect();
    // From the end: the sum and the coin of the output's check, then the output.
    for withheld in 1..=3 {
        let network = Network::default();
        network.corrupt(Saboteur::new(
            PartyId(1),
            committee.world.key(PartyId(1)),
            0,
            ostrakon_testkit::Target::Nth(openings[openings.len() - withheld]),
            ostrakon_testkit::Mutation::Drop,
            Default::default(),
        ));
        let results = committee.run(&network, small(2), course);
        assert!(results[0].is_none() && matches!(results[1], Some(Ok(Ok(_))) | None));
    }
}

#[test]
fn a_bound_worse_than_asked_is_refused_before_anything_is_sent() {
    let party = World::new(1, 3).party(&Network::default(), PartyId(0));
    let spec = SegmentSpec { number: 1, triples: 300, bucket: 5, security: 40 };
    let mut disk = Disk::default();
    let refused = Ticket::take(&mut disk, &party, spec).err();
    assert!(matches!(refused, Some(NoTicket::Spec(BadSpec::Bound { asked: 40, .. }))));
    assert!(disk.0.lock().unwrap().is_empty(), "the number can still be used");
    assert!(SegmentSpec { triples: 322, ..spec }.validate(3).is_ok());
    for wrong in [
        SegmentSpec { triples: 0, ..spec },
        SegmentSpec { bucket: 0, ..spec },
        SegmentSpec { bucket: 17, ..spec },
        SegmentSpec { triples: usize::MAX, ..spec },
    ] {
        assert_eq!(wrong.validate(3), Err(BadSpec::Size));
    }
    assert_eq!(spec.validate(1), Err(BadSpec::Parties));
    assert_eq!(spec.validate(33), Err(BadSpec::Parties));
    assert_eq!(LEVELS * Width::Narrow.trees(), MAC_BITS);
    assert_eq!(LEVELS * Width::Wide.trees(), MAC_BITS + HASH_BITS);
}

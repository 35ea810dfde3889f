//! Cheaters that keep to their lie: their own code goes on from the wrong value, so that no
//! comparison of what was said can catch it, only the check that is for it.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use ostrakon_crypto::Secret;
use ostrakon_kernels::{Prg, clmul_mul};
use ostrakon_party::{Message, Party, PartyId};
use ostrakon_testkit::{Network, Saboteur, World, nightly};

use crate::BaseKeys;
use crate::abort::{Abort, Refused};
use crate::bits::Bits;
use crate::circuit::{Builder, Circuit};
use crate::mac::sum_vanishes;
use crate::ot::base::{BaseKey, draw_delta};
use crate::ot::{Delta, KEY_BITS, Setup, TREES, Width, words_of_lot};
use crate::run::{Kind, Run, guarded};
use crate::segment::{Segment, finish, unchecked};
use crate::shares::Shares;
use crate::spec::SegmentSpec;
use crate::triples::leaky::{self, Leaky, Mask};

#[path = "../tests/authbits/interval.rs"]
mod interval;

use interval::assert_frequency;

const SPEC: SegmentSpec = SegmentSpec { number: 1, triples: 20, bucket: 3, security: 3 };
/// What a cheater's MAC key differs by towards one peer.
const OTHER: u64 = 0xdead_beef;

/// What the cheaters, P1 and all after it, do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    Nothing,
    /// As holder, use another Δ with P2, and take what is known of the error from the sum.
    OtherDelta,
    /// State a wrong difference in step 9.
    Difference,
    /// Open a wrong bit in an AND layer.
    Opening,
    /// Shift an output, and its MAC by the own part of the key.
    Output,
    /// Open a wrong bit under the source's key in an import, with its MAC shifted likewise.
    Carried,
    /// Do as in `Opening` under the source's key, and import what comes of it.
    Multiplied,
    /// Do as in `Output` with bits that have been imported.
    Imported,
}

fn stream(names: [u64; 4]) -> Prg {
    let names = names.map(u64::to_le_bytes).concat();
    Prg::new(Secret::new([7; 32]).derive("test", &[&names]).expose())
}

/// The Δ that a party uses with each peer. `salt` changes the honest P0's hash key.
fn deltas(number: u64, parties: usize, party: usize, lie: Lie, salt: u128) -> Vec<Delta> {
    let mut bytes = [0; 24];
    stream([number, 0, party as u64, 0]).fill(&mut bytes);
    let mac = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let hash = u128::from_le_bytes(bytes[8..].try_into().unwrap());
    let hash = if party == 0 { hash ^ salt } else { hash };
    let mut all = vec![Delta { mac, hash }; parties];
    if lie == Lie::OtherDelta && party == 1 {
        all[2].mac ^= OTHER;
    }
    all
}

/// What step 1 would make, dealt.
fn dealt(number: u64, party: usize, of: &dyn Fn(usize) -> Vec<Delta>) -> BaseKeys {
    let pair = |owner: usize, holder: usize| -> Vec<[BaseKey; 2]> {
        let mut bytes = vec![0; 32 * KEY_BITS];
        stream([number, 1, owner as u64, holder as u64]).fill(&mut bytes);
        let key = |bytes: &[u8]| bytes.try_into().unwrap();
        bytes.chunks_exact(32).map(|pair| [key(&pair[..16]), key(&pair[16..])]).collect()
    };
    let own = of(party);
    let (mut sent, mut received) = (vec![Vec::new(); own.len()], vec![Vec::new(); own.len()]);
    for peer in (0..own.len()).filter(|peer| *peer != party) {
        sent[peer] = pair(party, peer);
        let keys = pair(peer, party).into_iter().enumerate();
        received[peer] = keys.map(|(k, keys)| keys[usize::from(1 ^ own[peer].bit(k))]).collect();
    }
    BaseKeys { delta: own[party].clone(), sent, received }
}

/// A segment whose base transfers are dealt, and what a cheater makes of it.
async fn prepared(
    party: Party,
    spec: SegmentSpec,
    random: Secret,
    lie: Lie,
    salt: u128,
) -> Result<Segment, Abort> {
    let (me, parties, instance) = (party.id.index(), party.roster.keys.len(), spec.instance());
    let lie = if me == 1 { lie } else { Lie::Nothing };
    let of = |party| deltas(spec.number, parties, party, lie, salt);
    let base = dealt(spec.number, me, &of);
    let mut run = Run::new(party.clone(), instance, random);
    guarded(&party, &[instance], async move {
        let mut setup = Setup::with_deltas(&mut run, Some(base), &of(me)).await?;
        let (mut leaky, mask) = unchecked(&mut run, &mut setup, spec.leaky()).await?;
        let combination = leaky::combine(&mut run, &leaky, mask).await?;
        let mut sigma = combination.sigma(setup.delta().mac);
        if lie == Lie::OtherDelta {
            // The MACs of P2's bits are wrong by OTHER times the bits, whose combination P2 has
            // just said.
            sigma ^= clmul_mul(OTHER, combination.shares[2]);
        }
        sum_vanishes(&mut run, sigma).await?;
        if lie == Lie::Difference {
            leaky.y.xor_bit(7, true);
        }
        finish(run, setup, spec, leaky).await
    })
    .await
}

fn one_and() -> Circuit {
    let mut builder = Builder::new(2);
    let (a, b) = (builder.input(0), builder.input(1));
    let both = builder.and(a, b);
    builder.open(both);
    builder.finish()
}

/// Shares with the bit at `at` turned round and its MAC shifted by `mac`.
fn shifted(shares: &Shares, at: usize, mac: u64) -> Shares {
    let mut bits = shares.bits().clone();
    bits.xor_bit(at, true);
    let mut macs = shares.macs().to_vec();
    macs[at] ^= mac;
    Shares::new(shares.key(), bits, macs)
}

/// What a party came to, and whether all its segments refuse a further call.
type Outcome = (Result<Bits, Refused>, bool);

async fn is_burnt(segment: &mut Segment) -> bool {
    segment.random(1).await.err() == Some(Refused::Burnt)
}

/// Prepares, multiplies two random bits and opens the product.
async fn course(party: Party, random: Secret, lie: Lie, salt: u128) -> Outcome {
    let mut segment = match prepared(party, SPEC, random, lie, salt).await {
        Ok(segment) => segment,
        Err(abort) => return (Err(abort.into()), true),
    };
    let cheats = segment.run.me() == 1;
    if cheats && lie == Lie::Opening {
        segment.triples.x = shifted(&segment.triples.x, 0, 0);
    }
    let key = segment.key().expose();
    let result = async {
        let inputs = segment.random(2).await?;
        let mut product = segment.evaluate(&one_and(), &inputs).await?;
        if cheats && lie == Lie::Output {
            product = shifted(&product, 0, key);
        }
        segment.reveal(&product).await
    }
    .await;
    (result, is_burnt(&mut segment).await)
}

/// Prepares two segments, imports random bits from the one into the other, and opens them.
async fn carriage(party: Party, random: Secret, lie: Lie) -> Outcome {
    let [first, second] = [1, 2].map(|number: u64| random.derive("test", &[&number.to_le_bytes()]));
    let source = prepared(party.clone(), SPEC, first, Lie::Nothing, 0).await;
    let other = SegmentSpec { number: 2, ..SPEC };
    let target = prepared(party, other, second, Lie::Nothing, 0).await;
    let (mut source, mut target) = (source.expect("honest"), target.expect("honest"));
    let cheats = source.run.me() == 1;
    let keys = [source.key().expose(), target.key().expose()];
    let result = async {
        let mut shares = source.random(2).await?;
        if cheats && lie == Lie::Multiplied {
            // The product is wrong, and its MAC is that of the wrong one.
            shares = shifted(&shares, 0, 0);
        }
        if lie == Lie::Multiplied {
            shares = source.evaluate(&one_and(), &shares).await?;
        }
        if cheats && lie == Lie::Carried {
            shares = shifted(&shares, 0, keys[0]);
        }
        let mut moved = target.import(&mut source, &shares).await?;
        if cheats && lie == Lie::Imported {
            moved = shifted(&moved, 0, keys[1]);
        }
        target.reveal(&moved).await
    }
    .await;
    let burnt = is_burnt(&mut target).await;
    // A lie under the target's key leaves the source as it was.
    (result, burnt && (lie == Lie::Imported || is_burnt(&mut source).await))
}

fn run_on(network: &Network, parties: u8, lie: Lie, salt: u128) -> Vec<Option<Outcome>> {
    let world = World::new(5, parties);
    world.run(network, |party| -> LocalBoxFuture<'_, _> {
        let random = Secret::new(world.randomness(party.id, "segment"));
        match lie {
            Lie::Carried | Lie::Multiplied | Lie::Imported => {
                carriage(party, random, lie).boxed_local()
            }
            _ => course(party, random, lie, salt).boxed_local(),
        }
    })
}

/// The last message of a kind that P0 has sent.
fn last_of_p0(network: &Network, kind: Kind) -> Option<Vec<u8>> {
    let sent = network.sent();
    let of_p0 = |message: &Message| {
        let header = message.signed.header;
        header.from == PartyId(0) && header.tag.step == kind.step()
    };
    sent.iter().rfind(|(_, message)| of_p0(message)).map(|(_, message)| message.body.to_vec())
}

/// Every honest party stops for a MAC check, or is told that a peer did, and its key is burnt.
fn assert_burnt(parties: u8, lie: Lie) -> Network {
    let network = Network::default();
    let mut checks = 0;
    for (i, result) in
        run_on(&network, parties, lie, 0).into_iter().enumerate().filter(|(i, _)| *i != 1)
    {
        let (result, burnt) = result.expect("not waiting");
        match result.err().expect("stopped") {
            Refused::Aborted(Abort::MacCheck) => checks += 1,
            Refused::Aborted(Abort::Stopped(_)) => {}
            other => panic!("P{i}: {other}"),
        }
        assert!(burnt, "P{i}");
    }
    assert!(checks > 0, "some honest party has seen the check fail");
    network
}

#[test]
fn the_course_itself_is_sound() {
    for parties in [2, 3] {
        let opened = run_on(&Network::default(), parties, Lie::Nothing, 0);
        assert!(opened.into_iter().all(|result| matches!(result, Some((Ok(_), false)))));
    }
}

/// N1: the sum that a failed check opens is a known multiple of the honest parties' key, so nothing
/// may be computed under that key again.
#[test]
fn n1_a_failed_mac_check_burns_the_key() {
    assert_burnt(2, Lie::Opening);
    assert_burnt(3, Lie::Opening);
}

/// N1, why: whoever lies by one bit, and knows the coefficient, reads the key off the failed sum.
#[test]
fn n1_a_failed_sum_gives_the_key_away() {
    let (deltas, g) = ([0x1234_5678_9abc_def0_u64, 0x0fed_cba9_8765_4321], 0x9e37_79b9_7f4a_7c15);
    let key = deltas[0] ^ deltas[1];
    // The bit is 0 and its MAC shares cancel; it is opened as 1.
    let mac = 0x55aa_u64;
    let sigma = |i: usize| clmul_mul(g, mac) ^ clmul_mul(g, deltas[i]);
    let sum = sigma(0) ^ sigma(1);
    assert_eq!(sum, clmul_mul(g, key));
}

#[test]
fn a_lied_difference_is_found_before_anything_is_stock() {
    assert_burnt(2, Lie::Difference);
    assert_burnt(3, Lie::Difference);
}

#[test]
fn a_mac_shift_on_outputs_is_found_before_they_are_shown() {
    assert_burnt(2, Lie::Output);
    assert_burnt(3, Lie::Output);
}

/// No half of the one key is the other.
#[test]
fn the_two_parts_of_a_key_are_drawn_apart() {
    let world = World::new(5, 2);
    let random = Secret::new(world.randomness(PartyId(0), "segment"));
    let mut run = Run::new(world.party(&Network::default(), PartyId(0)), SPEC.instance(), random);
    let deltas = [(); 2].map(|()| draw_delta(&mut run));
    let words: Vec<u64> = deltas
        .iter()
        .flat_map(|delta| [delta.mac, delta.hash as u64, (delta.hash >> 64) as u64])
        .collect();
    assert!((1..words.len()).all(|i| !words[..i].contains(&words[i])), "six words");
}

/// What a failed check opens does not depend on the key of the strings that were sent before it:
/// otherwise it would help to read them.
#[test]
fn n1_a_failed_sum_tells_nothing_of_the_hash_key() {
    let said = |salt: u128, kind: Kind| -> Vec<u8> {
        let network = Network::default();
        let outcomes = run_on(&network, 2, Lie::Opening, salt);
        let stopped = outcomes[0].as_ref().and_then(|(result, _)| result.as_ref().err());
        assert_eq!(stopped, Some(&Refused::Aborted(Abort::MacCheck)));
        last_of_p0(&network, kind).expect("P0 has said such a thing")
    };
    let salt = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;
    assert_ne!(said(0, Kind::Leaky), said(salt, Kind::Leaky));
    // The nonce of 32 bytes, then the sum.
    let sum = |salt: u128| said(salt, Kind::Decommitment)[32..40].to_vec();
    assert_eq!(sum(0), sum(salt));
}

/// P1 misses other leaves with P2 than with P0. Trees and columns are consistent with each of them;
/// the MACs of P2's bits are not. What that adds to the sum of x, y and the mask is known to P1
/// from P2's share of the combination; what it adds to the sum of z is not.
#[test]
fn a_different_delta_with_two_peers_is_found() {
    let network = assert_burnt(3, Lie::OtherDelta);
    assert_eq!(last_of_p0(&network, Kind::Differences), None, "step 8 has found it");
}

/// Step 8: the lie passes if what P2's share of z hides vanishes in all leaky triples, once in 2^N.
#[test]
fn a_different_delta_passes_once_in_two_to_the_number_of_leaky_triples() {
    for (triples, chance) in [(1, 0.5), (2, 0.25)] {
        let tried = if nightly() { 1_000 } else { 100 };
        let passes = |seed: &u64| {
            let spec = SegmentSpec { number: *seed, triples, bucket: 1, security: 0 };
            let world = World::new(*seed, 3);
            let outcomes = world.run(&Network::default(), |party| {
                let random = Secret::new(world.randomness(party.id, "segment"));
                let prepared = prepared(party, spec, random, Lie::OtherDelta, 0);
                prepared.map(|result| result.map(drop)).boxed_local()
            });
            let passes = [0, 2].map(|honest| match outcomes[honest] {
                Some(Ok(())) => true,
                Some(Err(Abort::MacCheck | Abort::Stopped(_))) => false,
                other => panic!("seed {seed}: P{honest}: {other:?}"),
            });
            assert_eq!(passes[0], passes[1], "seed {seed}");
            passes[0]
        };
        let seeds = 1_000 * triples as u64..;
        let passed = seeds.take(tried).filter(passes).count() as u64;
        assert_frequency(passed, tried as u64, chance, "another key for one peer");
    }
}

#[test]
fn a_lie_under_the_source_key_of_an_import_burns_both_segments() {
    assert_burnt(2, Lie::Carried);
    assert_burnt(3, Lie::Carried);
}

#[test]
fn a_wrong_product_is_found_before_it_is_imported() {
    assert_burnt(2, Lie::Multiplied);
    assert_burnt(3, Lie::Multiplied);
}

#[test]
fn imported_bits_cannot_be_shifted_under_their_new_key() {
    assert_burnt(2, Lie::Imported);
    assert_burnt(3, Lie::Imported);
}

/// Steps 2 to 7 of honest parties.
async fn leaky_triples(
    party: Party,
    spec: SegmentSpec,
    random: Secret,
) -> Result<(Run, Setup, Leaky, Mask), Abort> {
    let (me, parties) = (party.id.index(), party.roster.keys.len());
    let of = |party| deltas(spec.number, parties, party, Lie::Nothing, 0);
    let mut run = Run::new(party, spec.instance(), random);
    let base = dealt(spec.number, me, &of);
    let mut setup = Setup::with_deltas(&mut run, Some(base), &of(me)).await?;
    let (leaky, mask) = unchecked(&mut run, &mut setup, spec.leaky()).await?;
    Ok((run, setup, leaky, mask))
}

/// Corrections that were made at the same place of the same streams tell the sum of what they hide:
/// so it is of no two lots, and masks of outputs are others each time.
#[test]
fn no_place_of_a_stream_serves_twice() {
    let spec = SegmentSpec { number: 1, triples: 64, bucket: 1, security: 0 };
    let (world, network) = (World::new(5, 2), Network::default());
    let hidden = world.run(&network, |party| {
        let random = Secret::new(world.randomness(party.id, "segment"));
        async move {
            let (run, setup, leaky, _) = leaky_triples(party, spec, random).await.unwrap();
            let mut bits = vec![leaky.x.words()[0], leaky.y.words()[0]];
            let mut segment = finish(run, setup, spec, leaky).await.unwrap();
            for _ in 0..2 {
                bits.push(segment.random(64).await.unwrap().bits().words()[0]);
            }
            let masks = [(); 2].map(|()| segment.setup.cancelling(64));
            assert!(masks[0] != masks[1], "a mask of an output is another each time");
            bits
        }
        .boxed_local()
    });
    let hidden = hidden[0].as_ref().expect("all are honest");
    let sent = network.sent();
    let is_of_p0 = |message: &Message| {
        let header = message.signed.header;
        header.from == PartyId(0) && header.tag.step == Kind::Corrections.step()
    };
    let bodies = sent.iter().filter(|(_, message)| is_of_p0(message)).map(|(_, m)| &m.body);
    let corrections: Vec<&[u8]> = bodies.map(|body| &body[..]).collect();
    let [prepared, first, second] = corrections[..] else { panic!("of three exchanges") };
    // Of each lot the bytes of a tree, one or two words of bits and two of masks.
    let (x, y) = prepared.split_at(TREES * 24);
    let lots = [(x, 24), (y, 32), (first, 24), (second, 24)];
    let word = |(bytes, length): (&[u8], usize), tree: usize| {
        u64::from_le_bytes(bytes[length * tree..][..8].try_into().unwrap())
    };
    for (i, j) in (0..4).flat_map(|i| (0..i).map(move |j| (i, j))) {
        for tree in 0..Width::Narrow.trees() {
            let told = word(lots[i], tree) ^ word(lots[j], tree);
            assert_ne!(told, hidden[i] ^ hidden[j], "lots {i} and {j}, tree {tree}");
        }
    }
}

/// Lists that end within a word, and behind coefficients that are expanded together.
const ENDS: [usize; 3] = [65, 4_001, 4_097];

/// A message of P1 of this kind with a bit turned round.
fn turning(world: &World, kind: Kind, bit: usize) -> Network {
    let network = Network::default();
    let lie = move |_, message: &Message| {
        (message.signed.header.tag.step == kind.step()).then(|| {
            let mut body = message.body.to_vec();
            body[bit / 8] ^= 1 << (bit % 8);
            body
        })
    };
    network.corrupt(Saboteur::rewriting(PartyId(1), world.key(PartyId(1)), lie));
    network
}

/// A false correction of the last bit, in a tree whose digit is not zero; of the longest list it is
/// in a part of the columns by itself.
#[test]
fn a_false_correction_of_the_last_bit_is_found() {
    for rows in [65, 4_001, 8_193] {
        let spec = SegmentSpec { number: 1, triples: rows, bucket: 1, security: 0 };
        let world = World::new(5, 2);
        let delta = deltas(spec.number, 2, 0, Lie::Nothing, 0).swap_remove(0);
        let tree = (0..TREES).find(|tree| delta.nibble(*tree) != 0).expect("Δ is not zero");
        let network = turning(&world, Kind::Corrections, 64 * words_of_lot(rows) * tree + rows - 1);
        let outcomes = world.run(&network, |party| {
            let random = Secret::new(world.randomness(party.id, "segment"));
            leaky_triples(party, spec, random).map(|made| made.map(drop)).boxed_local()
        });
        assert_eq!(outcomes[0], Some(Err(Abort::Correlation(PartyId(1)))), "{rows} rows");
    }
}

/// A wrong string of the last triple, in the first bit of its MAC and in the bit of z.
#[test]
fn a_wrong_string_of_the_last_triple_is_found_if_its_x_is_one() {
    let tries = 8;
    for rows in ENDS {
        let mut found = 0;
        for seed in 0..tries {
            let last = rows - 1;
            let bit = if seed % 2 == 0 { 64 * last } else { 64 * rows + last };
            let spec = SegmentSpec { number: seed, triples: rows, bucket: 1, security: 0 };
            let world = World::new(seed, 2);
            let network = turning(&world, Kind::Leaky, bit);
            let outcomes = world.run(&network, |party| {
                let random = Secret::new(world.randomness(party.id, "segment"));
                async move {
                    let (mut run, setup, leaky, mask) =
                        leaky_triples(party, spec, random).await.unwrap();
                    let checked = leaky::check(&mut run, setup.delta().mac, &leaky, mask).await;
                    (leaky.x.get(last), checked)
                }
                .boxed_local()
            });
            let (x, checked) = outcomes[0].expect("not waiting");
            assert_eq!(checked, if x { Err(Abort::MacCheck) } else { Ok(()) }, "{rows}: {seed}");
            found += usize::from(x);
        }
        assert!((1..8).contains(&found), "{rows}: {found} of {tries}");
    }
}

/// So many AND gates side by side.
fn ands(count: usize) -> Circuit {
    let mut builder = Builder::new(2 * count);
    for i in 0..count {
        let (a, b) = (builder.input(i), builder.input(count + i));
        let both = builder.and(a, b);
        builder.open(both);
    }
    builder.finish()
}

/// P1 opens a wrong bit at the end of outputs, and of each half of what is opened of AND gates.
#[test]
fn a_wrong_bit_at_the_end_of_what_is_opened_is_found() {
    for (rows, of_gates) in ENDS.into_iter().flat_map(|rows| [(rows, 0), (rows, 1), (rows, 2)]) {
        let gates = if of_gates == 0 { 1 } else { rows };
        let spec = SegmentSpec { number: 1, triples: gates, bucket: 1, security: 0 };
        let world = World::new(5, 2);
        let outcomes = world.run(&Network::default(), |party| {
            let random = Secret::new(world.randomness(party.id, "segment"));
            async move {
                let lies = party.id == PartyId(1);
                let mut segment = prepared(party, spec, random, Lie::Nothing, 0).await?;
                let turned = |shares: &Shares| match lies {
                    true => shifted(shares, rows - 1, 0),
                    false => shares.clone(),
                };
                match of_gates {
                    0 => {
                        let shares = turned(&segment.random(rows).await?);
                        return segment.reveal(&shares).await.map(drop);
                    }
                    1 => segment.triples.x = turned(&segment.triples.x),
                    _ => segment.triples.y = turned(&segment.triples.y),
                }
                let inputs = segment.random(2 * rows).await?;
                let outputs = segment.evaluate(&ands(rows), &inputs).await?;
                segment.reveal(&outputs).await.map(drop)
            }
            .boxed_local()
        });
        let found = Some(Err(Refused::Aborted(Abort::MacCheck)));
        assert_eq!(outcomes[0], found, "{rows} rows, {of_gates}");
    }
}

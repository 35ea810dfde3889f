//! Cheaters that keep to their lie: their own code goes on from the wrong value, so that no
//! comparison of what was said can catch it, only the check that is for it.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use ostrakon_crypto::Secret;
use ostrakon_kernels::clmul_mul;
use ostrakon_party::Party;
use ostrakon_testkit::{Network, World};

use crate::abort::{Abort, Refused};
use crate::bits::Bits;
use crate::circuit::{Builder, Circuit};
use crate::ot::{Setup, base};
use crate::run::{Run, guarded};
use crate::segment::{Segment, SegmentSpec, checked_leaky, finish};
use crate::shares::Shares;

const SPEC: SegmentSpec = SegmentSpec { number: 1, triples: 20, bucket: 3, security: 3 };

/// What the cheaters, P1 and all after it, do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    Nothing,
    /// As holder, use another Δ with P2.
    OtherDelta,
    /// State a wrong difference in step 9.
    Difference,
    /// Open a wrong bit in an AND layer.
    Opening,
    /// Shift an output, and its MAC by the own part of the key.
    Output,
}

async fn prepared(party: Party, random: Secret, lie: Lie) -> Result<Segment, Abort> {
    let (cheats, instance) = (party.id.index() == 1, SPEC.instance());
    let lie = if cheats { lie } else { Lie::Nothing };
    let mut run = Run::new(party.clone(), instance, random);
    guarded(&party, instance, async move {
        let mut deltas = vec![base::draw_delta(&mut run); run.parties()];
        if lie == Lie::OtherDelta {
            deltas[2].mac ^= 0xdead_beef;
        }
        let mut setup = Setup::with_deltas(&mut run, None, &deltas).await?;
        let mut leaky = checked_leaky(&mut run, &mut setup, SPEC.leaky()).await?;
        if lie == Lie::Difference {
            leaky.y.xor_bit(7, true);
        }
        finish(run, setup, SPEC, leaky).await
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

/// Prepares, multiplies two random bits and opens the product; every party's outcome, and what its
/// segment says to a further call.
async fn course(party: Party, random: Secret, lie: Lie) -> (Result<Bits, Refused>, bool) {
    let mut segment = match prepared(party, random, lie).await {
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
    let burnt = segment.random(1).await.err() == Some(Refused::Burnt);
    (result, burnt)
}

fn run(parties: u8, seed: u64, lie: Lie) -> Vec<Option<(Result<Bits, Refused>, bool)>> {
    let world = World::new(seed, parties);
    world.run(&Network::default(), |party| -> LocalBoxFuture<'_, _> {
        let random = Secret::new(world.randomness(party.id, "segment"));
        course(party, random, lie).boxed_local()
    })
}

/// Every honest party stops for a MAC check, or is told that a peer did, and its key is burnt.
fn assert_burnt(parties: u8, lie: Lie) {
    let mut checks = 0;
    for (i, result) in run(parties, 5, lie).into_iter().enumerate().filter(|(i, _)| *i != 1) {
        let (result, burnt) = result.expect("not waiting");
        match result.err().expect("stopped") {
            Refused::Aborted(Abort::MacCheck) => checks += 1,
            Refused::Aborted(Abort::Stopped(_)) => {}
            other => panic!("P{i}: {other}"),
        }
        assert!(burnt, "P{i}");
    }
    assert!(checks > 0, "some honest party has seen the check fail");
}

#[test]
fn the_course_itself_is_sound() {
    for parties in [2, 3] {
        let opened = run(parties, 5, Lie::Nothing);
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

/// P1 misses other leaves with P2 than with P0. Trees and columns are consistent with each of them;
/// the MACs of P2's bits are not, which the check of step 8 sees.
#[test]
fn a_different_delta_with_two_peers_is_found() {
    assert_burnt(3, Lie::OtherDelta);
}

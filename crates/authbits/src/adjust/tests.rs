//! Who has put in something else, or lied in the check of it, is found.

use futures::FutureExt;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::{Party, PartyId};
use ostrakon_testkit::{Network, World};

use super::*;
use crate::{Journal, SegmentSpec, Ticket, prepare};

const BITS: usize = 70;

/// What P1 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    Nothing,
    /// Open another share of the second element.
    Share,
    /// State another part of the sum.
    Sigma,
    /// State another key when the parts are settled.
    Key,
    /// State other correlations with P0 when the parts are settled, after another part of the sum.
    Correlation,
}

#[derive(Default)]
struct Memory(Vec<Digest>);

impl Journal for Memory {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        self.0.extend(entries.iter().map(|(name, _)| *name));
        Ok(vec![None; entries.len()])
    }
}

fn dealt(party: usize) -> Bits {
    (0..BITS).map(|i| (i * 7 + party * 3).is_multiple_of(5)).collect()
}

/// Σ over the dealt bits, in the clear.
fn in_the_clear(parties: usize, start: usize, coefficients: &[u64]) -> u64 {
    (0..parties).fold(0, |sum, party| sum ^ combined(&dealt(party), start, coefficients))
}

fn terms() -> [(usize, Vec<u64>); 2] {
    let drawn = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x55;
    [(0, (0..40).map(drawn).collect()), (40, (60..90).map(drawn).collect())]
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Values(Vec<u64>),
    Masks(usize),
    Settled(Settled),
    Aborted(Abort),
}

async fn course(party: Party, lie: Lie, random: Secret) -> Found {
    let spec = SegmentSpec { number: 1, triples: 2, bucket: 3, security: 3 };
    let ticket = Ticket::take(&mut Memory::default(), &party, spec).unwrap();
    let mut segment = prepare(&party, ticket, random).await.unwrap();
    let lie = if party.id == PartyId(1) { lie } else { Lie::Nothing };
    let masks = segment.masks(BITS).await.unwrap();
    let difference = masks.difference(&dealt(party.id.index()));
    let mut adjusted = segment.adjust(masks, &difference).await.unwrap();
    segment.compare().await.unwrap();
    let mut elements = Elements::new(&adjusted);
    for (start, coefficients) in terms() {
        elements.push(&adjusted, start, coefficients);
    }
    if lie == Lie::Share {
        elements.values[1] ^= 4;
    }
    if [Lie::Sigma, Lie::Key].contains(&lie) {
        elements.macs[0] ^= 4;
    }
    if lie == Lie::Correlation {
        elements.macs[0] ^= clmul_mul(elements.terms[0].1[0], 1 << 5);
    }
    let opened = match segment.open_elements(&elements).await {
        Ok(opened) if opened.passed => return Found::Values(opened.values),
        Ok(opened) => opened,
        Err(Refused::Aborted(abort)) => return Found::Aborted(abort),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(segment.random(1).await.err(), Some(Refused::Burnt), "the key is burnt");
    let whole = 0..BITS;
    let shown = match segment.account(&adjusted, &[whole]).await {
        Ok(shown) => shown,
        Err(abort) => return Found::Aborted(abort),
    };
    if let Some(liar) = shown.iter().position(Option::is_none) {
        return Found::Masks(liar);
    }
    let masks: Vec<Bits> = shown.into_iter().flatten().collect();
    if lie == Lie::Key {
        segment.key = crate::shares::MacKey::new(segment.delta() ^ 1);
    }
    if lie == Lie::Correlation {
        // The part that was stated is made of this: P1 says that its M for P0 of the first bit was
        // another one, in column 5.
        let words = adjusted.columns.words;
        adjusted.columns.owned[0][8 * 5 * words] ^= 1;
    }
    match segment.settle(&adjusted, &elements, &opened, &masks).await {
        Ok(settled) => Found::Settled(settled),
        Err(abort) => Found::Aborted(abort),
    }
}

fn run(parties: u8, lie: Lie) -> Vec<Found> {
    let world = World::new(77, parties);
    let results = world.run(&Network::default(), |party| {
        let random = Secret::new(world.randomness(party.id, "segment"));
        course(party, lie, random).boxed_local()
    });
    let honest = results.into_iter().enumerate().filter(|(i, _)| *i != 1 || lie == Lie::Nothing);
    honest.map(|(_, found)| found.expect("it ends")).collect()
}

#[test]
fn sums_of_dealt_bits_open_as_they_were_dealt() {
    for parties in [2, 3] {
        let expected = terms().map(|(start, c)| in_the_clear(parties.into(), start, &c)).to_vec();
        for found in run(parties, Lie::Nothing) {
            assert_eq!(found, Found::Values(expected.clone()));
        }
    }
}

fn assert_found(lie: Lie, expected: &Found) {
    for parties in [2, 3] {
        let found = run(parties, lie);
        let stopped = |found: &Found| matches!(found, Found::Aborted(Abort::Stopped(_)));
        assert!(found.iter().any(|found| found == expected), "{lie:?}: {found:?}");
        assert!(found.iter().all(|f| f == expected || stopped(f)), "{lie:?}: {found:?}");
    }
}

/// Attack (N1): the failed sum gives the key away. It burns, and the masks show who has lied.
#[test]
fn a_wrong_share_of_an_element_is_found() {
    assert_found(Lie::Share, &Found::Settled(Settled::Liar(1)));
}

#[test]
fn a_wrong_part_of_the_sum_is_found() {
    assert_found(Lie::Sigma, &Found::Settled(Settled::Liar(1)));
    assert_found(Lie::Key, &Found::Settled(Settled::Liar(1)));
}

/// Attack: P1's lie about the sum fits what it says to share with P0. P0 knows better; another one
/// knows that it is one of the two.
#[test]
fn correlations_that_two_state_differently_are_a_dispute() {
    let liar = Found::Settled(Settled::Liar(1));
    assert_eq!(run(2, Lie::Correlation), [liar]);
    let [first, last] = &run(3, Lie::Correlation)[..] else { panic!("two are honest") };
    assert_eq!(first, &Found::Settled(Settled::Liar(1)));
    assert_eq!(last, &Found::Settled(Settled::Dispute(0, 1)));
}

/// Attack: who has put in something else accounts for it with a mask that fits. Its peers have had
/// the correlations of the right one since it was made. Here the sum was right, so that the parties
/// account without need.
#[test]
fn a_mask_that_was_not_made_is_found() {
    for parties in [2, 3] {
        let world = World::new(78, parties);
        let results = world.run(&Network::default(), |party| {
            let random = Secret::new(world.randomness(party.id, "segment"));
            async move {
                let spec = SegmentSpec { number: 1, triples: 2, bucket: 3, security: 3 };
                let ticket = Ticket::take(&mut Memory::default(), &party, spec).unwrap();
                let mut segment = prepare(&party, ticket, random).await.unwrap();
                let masks = segment.masks(BITS).await.unwrap();
                let difference = masks.difference(&dealt(party.id.index()));
                let mut adjusted = segment.adjust(masks, &difference).await.unwrap();
                if party.id == PartyId(1) {
                    adjusted.masks.xor_bit(33, true);
                }
                segment.account(&adjusted, &[30..35, 60..BITS]).await
            }
            .boxed_local()
        });
        for (i, shown) in results.into_iter().enumerate().filter(|(i, _)| *i != 1) {
            let shown = shown.expect("it ends").expect("everybody goes on");
            let missing: Vec<usize> =
                (0..shown.len()).filter(|party| shown[*party].is_none()).collect();
            assert_eq!(missing, [1], "P{i} of {parties}");
            assert!(shown.iter().flatten().all(|bits| bits.len() == 15));
        }
    }
}

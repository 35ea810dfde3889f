//! How triples are prepared for an answer: as sure as is said, and no dearer.

use ostrakon_authbits::params::MAX_TRIPLES;
use ostrakon_authbits::programs::select;
use ostrakon_authbits::{SegmentSpec, bound, cost};
use ostrakon_computation::GENERATIONS;
use ostrakon_stats::{MEMBERS, segment_for};

#[test]
fn a_small_question_gets_a_segment_as_sure_as_a_large_one() {
    for ands in [0, 1, 50, 1_000, 100_000] {
        for (first, security) in [(true, 42), (false, 46)] {
            let spec = segment_for(3, ands, (1, first)).expect("there is one");
            assert!(spec.triples >= ands && spec.validate(3).is_ok());
            assert_eq!(spec.security, security);
        }
    }
}

#[test]
fn nothing_is_prepared_for_more_gates_than_a_segment_has() {
    for first in [true, false] {
        let of = |ands| segment_for(3, ands, (1, first)).map(|spec| spec.triples);
        assert_eq!(of(MAX_TRIPLES), Some(MAX_TRIPLES));
        assert_eq!([MAX_TRIPLES + 1, MAX_TRIPLES + 2, usize::MAX].map(of), [None; 3]);
    }
}

/// How many attempts there can be at one answer (committee.md, C8): each is a vector of the
/// members' generations, which only grow, most slowly one at a time.
fn attempts(members: usize) -> u32 {
    let (mut generations, mut attempts) = (vec![1; members], 1);
    while let Some(one) = generations.iter_mut().find(|one| **one < GENERATIONS) {
        *one += 1;
        attempts += 1;
    }
    attempts
}

/// Attack: corrupt members lie in every preparation, withhold what would convict them when they see
/// that the lie would not have passed, and begin again, as often as all members may.
#[test]
fn all_attempts_at_an_answer_together_are_as_sure_as_is_said() {
    for members in MEMBERS {
        // Of every size the worst that is taken.
        for ands in [1, 5_000, 93_768, 600_000, 651_967] {
            let fails = |first| {
                let spec = segment_for(members, ands, (1, first)).expect("there is one");
                bound::segment(members, spec.triples, spec.bucket).exp2()
            };
            let later = f64::from(attempts(members) - 1);
            let all = (fails(true) + later * fails(false)).log2();
            assert!(all <= -40.0, "{members} members, {ands} gates: 2^{all:.2}");
        }
    }
}

/// The fewest leaky triples that a size of buckets allows, found by trying them all.
#[test]
fn no_segment_that_is_as_sure_is_cheaper() {
    for (members, ands, first) in [(2, 1, true), (3, 900, true), (3, 1, false), (9, 3_000, false)] {
        let spec = segment_for(members, ands, (1, first)).expect("there is one");
        let cheaper = (3..=8usize).flat_map(|bucket| {
            (ands..spec.leaky().div_ceil(bucket)).map(move |triples| (triples, bucket))
        });
        for (triples, bucket) in cheaper {
            let other = SegmentSpec { triples, bucket, ..spec };
            assert!(other.validate(members).is_err(), "{other:?} for {spec:?}");
        }
    }
}

/// The median of 7,000 reports of 32 bits with five members, in the first attempt: buckets of
/// three, 127 MB of each. In a later one they are of four.
#[test]
fn a_median_of_thousands_is_prepared_from_buckets_of_three() {
    let ands = select::and_gates(7_000, 32);
    for (first, bucket, megabytes) in [(true, 3, 126.9), (false, 4, 169.3)] {
        let spec = segment_for(5, ands, (1, first)).expect("there is one");
        assert_eq!((spec.triples, spec.bucket), (ands, bucket));
        let cost = cost::base_transfers(5) + cost::preparation(5, &spec);
        let sent = cost.bytes as f64 / 1e6;
        assert!((sent - megabytes).abs() < 0.1, "{sent} MB");
    }
}

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn prg(seed: u64) -> Prg {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    Prg::new(&key)
}

fn is_permutation(entries: &[u32]) -> bool {
    let mut seen = vec![false; entries.len()];
    entries
        .iter()
        .all(|&e| seen.get_mut(e as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
}

/// The chi-square statistic of `trials` permutations against the uniform distribution on `cells` of
/// them.
fn chi_square(trials: u64, cells: usize, sample: impl Fn(&Prg) -> Vec<u32>) -> f64 {
    let mut counts: HashMap<Vec<u32>, u64> = HashMap::new();
    for trial in 0..trials {
        *counts.entry(sample(&prg(trial))).or_default() += 1;
    }
    assert_eq!(counts.len(), cells, "every permutation occurs");
    let expected = trials as f64 / cells as f64;
    counts.values().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

/// Critical values of chi-square at 10^-6 for 5 and for 23 degrees of freedom.
const CRITICAL: [(usize, usize, f64); 2] = [(3, 6, 35.9), (4, 24, 72.0)];

#[test]
fn plain_shuffle_is_uniform() {
    for (n, cells, critical) in CRITICAL {
        let statistic = chi_square(60_000, cells, |prg| sample(prg, n));
        assert!(statistic < critical, "S_{n}: {statistic}");
    }
}

#[test]
fn bucketed_shuffle_is_uniform() {
    for (n, cells, critical) in CRITICAL {
        for bits in [0, 1, 2, 4] {
            let statistic = chi_square(24_000, cells, |prg| bucketed(prg, n, bits));
            assert!(statistic < critical, "S_{n}, 2^{bits} buckets: {statistic}");
        }
    }
}

#[test]
fn a_biased_shuffle_would_be_noticed() {
    // The naive exchange with any of all places, whose 27 equally likely runs cannot cover six
    // permutations evenly.
    let naive = |prg: &Prg| {
        let (mut elements, mut draws) = (vec![0, 1, 2], Draws::new(prg, 0, 3));
        for i in 0..3 {
            elements.swap(i, draws.below(3) as usize);
        }
        elements
    };
    assert!(chi_square(60_000, 6, naive) > CRITICAL[0].2);
}

#[test]
fn every_element_goes_everywhere_alike() {
    // Large n: the place of element 0 falls into 16 ranges; 15 degrees of freedom, 10^-6.
    let n = PLAIN_BELOW;
    let mut counts = [0u32; 16];
    for seed in 0..1600 {
        let place =
            sample(&prg(seed), n).iter().position(|&e| e == 0).expect("a permutation has a 0");
        counts[place * 16 / n] += 1;
    }
    let statistic: f64 = counts.iter().map(|&c| (f64::from(c) - 100.0).powi(2) / 100.0).sum();
    assert!(statistic < 56.5, "{statistic}");
}

proptest! {
    #[test]
    fn samples_are_permutations_with_inverses(seed: u64, n in 0usize..3000, bits in 0u32..8) {
        for permutation in [sample(&prg(seed), n), bucketed(&prg(seed), n, bits)] {
            prop_assert_eq!(permutation.len(), n);
            prop_assert!(is_permutation(&permutation));
            let inverse = invert(&permutation);
            prop_assert!((0..n).all(|i| inverse[permutation[i] as usize] as usize == i));
        }
    }
}

/// The module's specification, followed literally on one thread.
fn by_the_book(prg: &Prg, n: usize, bits: u32) -> Vec<u32> {
    let mut digits = vec![0; 2 * n];
    prg.fill(&mut digits);
    let digit = |i: u32| {
        (u32::from(digits[2 * i as usize]) | u32::from(digits[2 * i as usize + 1]) << 8)
            % (1 << bits)
    };
    let mut elements: Vec<u32> = (0..n as u32).collect();
    elements.sort_by_key(|&i| digit(i));
    for bucket in elements.chunk_by_mut(|&i, &j| digit(i) == digit(j)) {
        let mut position = (u64::from(digit(bucket[0])) + 1) << 40;
        for i in (1..bucket.len()).rev() {
            let bound = i as u64 + 1;
            let j = loop {
                let mut word = [0; 4];
                prg.fill_at(position, &mut word);
                position += 4;
                let product = u64::from(u32::from_le_bytes(word)) * bound;
                if product % (1 << 32) >= (1 << 32) % bound {
                    break product >> 32;
                }
            };
            bucket.swap(i, j as usize);
        }
    }
    elements
}

#[test]
fn large_samples_follow_the_specification() {
    for n in [PLAIN_BELOW, CHUNK - 1, 2 * CHUNK + 77] {
        let permutation = sample(&prg(n as u64), n);
        assert_eq!(
            permutation,
            by_the_book(&prg(n as u64), n, bucket_bits(n, BUCKET)),
            "{n} elements"
        );
        assert!(is_permutation(&invert(&permutation)));
    }
}

#[test]
fn rejected_words_are_skipped() {
    // 2^31 + 1 rejects almost half of all words, so both branches run.
    let (key, bound) = (prg(9), (1u32 << 31) + 1);
    let mut words = vec![0; 12 << 10];
    key.fill(&mut words);
    let accepted = words
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from(u32::from_le_bytes(*word)) * u64::from(bound));
    let accepted: Vec<u64> =
        accepted.filter(|p| p % (1 << 32) >= (1 << 32) % u64::from(bound)).collect();
    assert!((1024..2000).contains(&accepted.len()));
    let mut draws = Draws::new(&key, 0, 2 * Draws::WORDS);
    for product in accepted {
        assert_eq!(u64::from(draws.below(bound)), product >> 32);
    }
}

#[test]
#[should_panic]
fn inverting_refuses_entries_out_of_range() {
    invert(&[0, 2]);
}

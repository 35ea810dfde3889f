//! What a cheater may hope for when a segment is prepared.

use crate::ot::{HASHES, TREES};

/// log₂ of the probability that some bucket of B leaky triples is all known to the adversary
/// although step 8 passed, maximal over the number t of triples that it touches: each survives with
/// 1/2, and ℓ·C(Bℓ−B, t−B)/C(Bℓ, t) bounds the chance of a full bucket.
pub fn bucketing(triples: usize, bucket: usize) -> f64 {
    let (l, b) = (triples as f64, bucket as f64);
    let with_touched = |t: usize| -> f64 {
        let full: f64 =
            (0..bucket).map(|i| ((t - i) as f64).log2() - (b * l - i as f64).log2()).sum();
        // The chance of a full bucket is at most 1, whatever the union bound says.
        (l.log2() + full).min(0.0) - t as f64
    };
    // Beyond 128 touched triples survival alone is below 2^-128.
    let most = 128.min(bucket * triples);
    (bucket..=most).map(with_touched).fold(f64::NEG_INFINITY, f64::max)
}

/// log₂ of the bound on everything that may go wrong in a segment of `parties` parties, preparation
/// and one computation: buckets; hashes of columns, [`HASHES`] words of 64 bits for each tree, of
/// at most 2^20 lots; a MAC key that differs between peers, which the N bits of z show in step 8;
/// MAC checks, each of which passes by chance with at most 2^-63, of at most
/// 2^4.
pub fn segment(parties: usize, triples: usize, bucket: usize) -> f64 {
    let pairs = (parties * (parties - 1)) as f64;
    let columns = (pairs * TREES as f64).log2() + 20.0 - 64.0 * HASHES as f64;
    let other_key = -((triples * bucket) as f64);
    let checks = 4.0 - 63.0;
    [bucketing(triples, bucket), columns, other_key, checks]
        .iter()
        .map(|log| log.exp2())
        .sum::<f64>()
        .log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        for (triples, bucket, log) in [
            (276_325, 3, -40.0),
            (1 << 20, 3, -43.85),
            (3_102, 4, -40.08),
            (124_443, 4, -56.06),
            (784_989, 4, -64.03),
            (322, 5, -40.04),
            (5_210, 5, -56.11),
            (20_506, 5, -64.02),
        ] {
            let found = bucketing(triples, bucket);
            assert!((found - log).abs() < 0.01, "ℓ = {triples}, B = {bucket}: {found}");
        }
        assert!(bucketing(276_324, 3) > -40.0);
        assert!(segment(3, 1 << 20, 3) < -43.8 && segment(3, 1 << 20, 3) > -43.9);
        assert!(segment(32, 20_506, 5) > -59.0, "MAC checks count where buckets do not");
    }

    #[test]
    fn no_bound_is_better_than_guessing_one_bucket() {
        for bucket in 1..6 {
            assert!(bucketing(1, bucket) >= -(bucket as f64));
        }
    }
}

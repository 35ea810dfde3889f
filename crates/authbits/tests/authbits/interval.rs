//! Whether something happens as often as it should.

/// Holds what was found against the chance, which must lie in the interval of 95 % around it
/// (Wilson's).
pub fn assert_frequency(found: u64, tried: u64, chance: f64, what: &str) {
    let (n, share, z) = (tried as f64, found as f64 / tried as f64, 1.96);
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let inner = share * (1.0 - share) / n + z * z / (4.0 * n * n);
    let half = z * inner.sqrt() / (1.0 + z * z / n);
    let inside = (middle - half..=middle + half).contains(&chance);
    assert!(inside, "{what}: {found} of {tried}, where the chance is {chance}");
}

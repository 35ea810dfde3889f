//! The entries of a symmetric table: how many visitors have which value (spec, section 2).

/// The number of compositions of `total` into `parts` non-negative parts: C(total+parts−1,
/// parts−1). `None` above 2^32.
pub(crate) fn count(total: usize, parts: usize) -> Option<usize> {
    if parts == 0 {
        return Some(usize::from(total == 0));
    }
    let mut binomial: u64 = 1;
    for i in 1..parts as u64 {
        // Exact at every i: the product so far is C(total+i−1, i−1).
        binomial = binomial.checked_mul(total as u64 + i)? / i;
        if binomial > u64::from(u32::MAX) {
            return None;
        }
    }
    usize::try_from(binomial).ok()
}

/// All compositions of `total` into `values` parts (k_0, …, k_{c−1}), ascending by (k_1, …,
/// k_{c−1}): for two values entry j has j ones.
///
/// The caller has checked that their number is within a limit.
#[must_use]
pub fn all(values: u16, total: u16) -> Vec<Vec<u16>> {
    let mut found = Vec::new();
    let mut counts = vec![0; usize::from(values)];
    extend(&mut counts, 1, total, &mut found);
    found
}

/// Chooses `counts[part..]`, then gives what is left to value 0.
fn extend(counts: &mut [u16], part: usize, left: u16, found: &mut Vec<Vec<u16>>) {
    if part >= counts.len() {
        counts[0] = left;
        found.push(counts.to_vec());
        return;
    }
    for count in 0..=left {
        counts[part] = count;
        extend(counts, part + 1, left - count, found);
    }
    counts[part] = 0;
}

/// The place of a composition among [`all`] of the same total.
///
/// # Panics
/// If there are more than 2^32 of them: the caller has checked the limit.
#[must_use]
pub fn rank(counts: &[u16]) -> usize {
    let mut left: usize = counts.iter().copied().map(usize::from).sum();
    let mut rank = 0;
    for (part, &own) in counts.iter().enumerate().skip(1) {
        // All compositions that agree before this part and have less in it come before.
        for less in 0..usize::from(own) {
            rank += count(left - less, counts.len() - part).expect("tables are within their limit");
        }
        left -= usize::from(own);
    }
    rank
}

/// For each value of one visitor, which old entry becomes which new one: new\[k\] = old\[k + e_a\].
pub(crate) struct RowMaps {
    entries: usize,
    old: Vec<usize>,
}

impl RowMaps {
    /// The maps of a table over `values` values from `left + 1` visitors to `left`.
    pub(crate) fn new(values: u16, left: u16) -> Self {
        let new = all(values, left);
        let mut old = Vec::with_capacity(new.len() * usize::from(values));
        for value in 0..usize::from(values) {
            for counts in &new {
                let mut grown = counts.clone();
                grown[value] += 1;
                old.push(rank(&grown));
            }
        }
        Self { entries: new.len(), old }
    }

    /// The number of new entries.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// map_a: for each new entry the old one.
    pub(crate) fn of(&self, value: usize) -> &[usize] {
        &self.old[value * self.entries..][..self.entries]
    }

    /// One map for each value.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        self.old.chunks_exact(self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_binomial_coefficient_or_refused() {
        assert_eq!(count(100, 2), Some(101));
        assert_eq!(count(20, 3), Some(231));
        assert_eq!(count(40, 3), Some(861));
        assert_eq!(count(0, 5), Some(1));
        assert_eq!(count(1, 60_000), Some(60_000));
        assert_eq!(count(60_000, 60_000), None);
    }

    #[test]
    fn ranks_are_places_and_counts_agree() {
        for values in 2..6 {
            for total in 0..7 {
                let listed = all(values, total);
                assert_eq!(Some(listed.len()), count(usize::from(total), usize::from(values)));
                for (place, counts) in listed.iter().enumerate() {
                    assert_eq!(counts.iter().sum::<u16>(), total);
                    assert_eq!(rank(counts), place);
                }
            }
        }
    }

    #[test]
    fn two_values_are_the_order_of_the_paper() {
        let maps = RowMaps::new(2, 3);
        assert_eq!(all(2, 3), [[3, 0], [2, 1], [1, 2], [0, 3]]);
        assert_eq!(maps.of(0), [0, 1, 2, 3], "value 0 drops the last entry");
        assert_eq!(maps.of(1), [1, 2, 3, 4], "value 1 drops the first entry");
    }
}

//! How rows are shared out among processors, and what scatter and gather cost then
//! (`docs/spec/graph.md`, section 10).

/// How rows are shared out among processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) rows: usize,
    /// Rows of a block: one processor goes through them one after the other.
    pub(crate) each: usize,
    /// Blocks; at most as many as there are processors.
    pub(crate) count: usize,
}

impl Blocks {
    /// Blocks of so many rows for so many processors.
    ///
    /// # Panics
    /// If there are no rows or no processors.
    pub fn new(rows: usize, processors: usize) -> Self {
        let each = rows.div_ceil(processors);
        Self { rows, each, count: rows.div_ceil(each) }
    }

    /// Distances over which the blocks' maps are composed: 1, 2, 4 and so on.
    pub(crate) fn distances(self) -> impl Iterator<Item = usize> {
        (0..usize::BITS).map(|level| 1 << level).take_while(move |far| *far < self.count)
    }

    /// Whether rows inside a block wait for what comes from the blocks before it.
    pub(crate) fn carries(self) -> bool {
        self.each > 1 && self.count > 1
    }

    /// Rounds of products: ⌈N/P⌉ − 1, and ⌈log2⌉ of the blocks' number, and one.
    pub fn rounds(self) -> u32 {
        (self.each - 1 + self.distances().count() + usize::from(self.carries())) as u32
    }

    /// Products for each lane.
    pub fn products(self) -> usize {
        let Self { each, count, .. } = self;
        let composed = (each - 1) * count + self.distances().map(|far| count - far).sum::<usize>();
        2 * composed + (each - 1) * (count - 1)
    }
}

/// Rounds of a scan of so many rows.
pub(crate) fn minima_rounds(rows: usize, processors: u32) -> u32 {
    Blocks::new(rows, processors.max(1) as usize).rounds()
}

/// Products of scatter and gather in a hop over so many rows, for distances up to `most`.
pub(crate) fn minima_products(rows: usize, processors: u32, most: u32) -> usize {
    let lanes = most as usize + 2;
    rows + lanes * Blocks::new(rows, processors.max(1) as usize).products()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_those_of_the_paper() {
        // N/P + log2 P, but for one: a block's first row takes no round, what is carried does.
        for (rows, processors, rounds) in
            [(1000, 1, 999), (1000, 10, 99 + 4 + 1), (1024, 32, 31 + 5 + 1), (1000, 1000, 10)]
        {
            assert_eq!(Blocks::new(rows, processors).rounds(), rounds, "{rows} {processors}");
        }
        assert_eq!(Blocks::new(5, 100).rounds(), 3);
        assert_eq!(Blocks::new(1, 7).rounds(), 0);
        assert_eq!(Blocks::new(1, 7).products(), 0);
        // One processor composes each row with the one before.
        assert_eq!(Blocks::new(1000, 1).products(), 2 * 999);
    }
}

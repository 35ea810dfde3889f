//! Where servers are, and what lies between them: Tables 4 to 7 of the paper, measured by its
//! authors between small rented machines in ten regions.

/// Regions, in the order of Tables 5 to 7.
pub const REGIONS: usize = 10;

/// Table 4: how many servers are in each region, for each number of servers that was measured.
const SETTINGS: [(usize, [u8; REGIONS]); 5] = [
    (4, [1, 1, 1, 0, 0, 0, 0, 0, 0, 1]),
    (10, [1; REGIONS]),
    (16, [2, 2, 2, 1, 1, 2, 1, 2, 2, 1]),
    (50, [5; REGIONS]),
    (100, [10; REGIONS]),
];

/// Between two servers of one region, which the tables leave out, there and back.
const WITHIN: f64 = 1.0;

/// Table 5: milliseconds from a region (row) to another one (column) and back, as printed, also
/// where the two directions differ.
const ROUND_TRIPS: [[f64; REGIONS]; REGIONS] = [
    [WITHIN, 145.0, 162.0, 91.2, 16.4, 81.6, 11.6, 79.8, 75.9, 187.0],
    [145.0, WITHIN, 271.0, 233.0, 123.0, 221.0, 151.0, 184.0, 213.0, 328.0],
    [162.0, 271.0, WITHIN, 241.0, 154.0, 234.0, 155.0, 100.0, 236.0, 129.0],
    [91.1, 233.0, 241.0, WITHIN, 99.1, 19.6, 101.0, 155.0, 12.8, 133.0],
    [16.4, 123.0, 154.0, 99.1, WITHIN, 93.9, 25.6, 65.1, 85.8, 196.0],
    [81.5, 221.0, 234.0, 10.6, 93.9, WITHIN, 92.3, 153.0, 8.56, 106.0],
    [11.6, 151.0, 155.0, 103.0, 25.6, 92.7, WITHIN, 70.2, 85.9, 196.0],
    [79.8, 184.0, 100.0, 155.0, 65.2, 152.0, 70.1, WITHIN, 141.0, 224.0],
    [75.9, 213.0, 237.0, 12.8, 85.9, 8.52, 86.0, 141.0, WITHIN, 114.0],
    [187.0, 328.0, 129.0, 113.0, 196.0, 106.0, 196.0, 224.0, 114.0, WITHIN],
];

/// No limit of a link's own: that of the sender alone, within a region.
const FREE: f64 = f64::INFINITY;

/// Table 6: megabits a second from a region (row) to another one (column), for two servers.
const LINKS: [[f64; REGIONS]; REGIONS] = [
    [FREE, 38.6, 39.6, 72.7, 159.0, 35.6, 200.0, 94.2, 48.9, 23.7],
    [46.4, FREE, 28.0, 28.2, 63.8, 25.0, 60.2, 27.6, 25.4, 17.4],
    [33.4, 22.9, FREE, 32.6, 33.0, 22.6, 45.1, 35.4, 25.7, 36.8],
    [42.6, 25.3, 32.6, FREE, 56.1, 114.0, 56.6, 28.4, 196.0, 43.1],
    [116.0, 60.4, 52.1, 54.2, FREE, 62.0, 280.0, 45.3, 67.5, 32.9],
    [36.1, 23.9, 18.9, 433.0, 56.0, FREE, 115.0, 61.9, 335.0, 34.9],
    [104.0, 45.6, 38.0, 61.0, 92.5, 42.8, FREE, 52.9, 54.0, 28.7],
    [56.9, 35.3, 60.8, 46.8, 87.2, 39.3, 91.7, FREE, 47.4, 29.4],
    [58.0, 30.7, 25.4, 300.0, 51.1, 600.0, 70.9, 66.1, FREE, 43.9],
    [22.6, 15.0, 50.2, 71.5, 29.9, 43.0, 31.3, 23.0, 45.7, FREE],
];

/// Table 7: megabits a second that a server of a region sends to all others together.
const UPLINKS: [f64; REGIONS] =
    [618.5, 221.5, 236.2, 487.2, 529.0, 377.65, 450.5, 259.38, 305.4, 401.1];

/// What every two servers have between them.
pub struct Map {
    /// By server.
    regions: Vec<usize>,
}

impl Map {
    /// The paper's servers, if it measured so many.
    pub fn of(servers: usize) -> Option<Map> {
        let (_, counts) = SETTINGS.iter().find(|(of, _)| *of == servers)?;
        // In turns, so that the last ones are not all in one region.
        let turns = (0..*counts.iter().max()?)
            .flat_map(|turn| (0..REGIONS).filter(move |region| counts[*region] > turn));
        Some(Map { regions: turns.collect() })
    }

    /// How many servers there are.
    pub fn servers(&self) -> usize {
        self.regions.len()
    }

    /// Nanoseconds that a byte is under way.
    pub fn latency(&self, from: usize, to: usize) -> u64 {
        let there_and_back = ROUND_TRIPS[self.regions[from]][self.regions[to]];
        (there_and_back / 2.0 * 1e6) as u64
    }

    /// Nanoseconds that so many bytes take on the link between two servers.
    pub fn on_link(&self, from: usize, to: usize, bytes: usize) -> u64 {
        transfer(bytes, LINKS[self.regions[from]][self.regions[to]])
    }

    /// Nanoseconds that so many bytes take to leave a server.
    pub fn leaving(&self, from: usize, bytes: usize) -> u64 {
        transfer(bytes, UPLINKS[self.regions[from]])
    }
}

fn transfer(bytes: usize, megabits: f64) -> u64 {
    (bytes as f64 * 8.0 / megabits * 1e3) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_where_the_paper_had_them() {
        for (servers, counts) in SETTINGS {
            let map = Map::of(servers).unwrap();
            assert_eq!(map.servers(), servers);
            for (region, &count) in counts.iter().enumerate() {
                let here = map.regions.iter().filter(|of| **of == region).count();
                assert_eq!(here, usize::from(count));
            }
        }
        assert!(Map::of(5).is_none());
        // São Paulo and Mumbai, the longest way; a megabit and its bytes.
        let map = Map::of(4).unwrap();
        assert_eq!(map.latency(1, 3), 164_000_000);
        assert_eq!(map.on_link(1, 3, 17_400_000 / 8), 1_000_000_000);
        assert_eq!(map.leaving(1, 221_500_000 / 8), 1_000_000_000);
    }
}

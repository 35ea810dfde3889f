//! Which operators form a committee, drawn by weight (`docs/spec/election.md`).
//!
//! * **Parties**: operators in a table of weights; electors, who agree on the table and make the
//!   beacon; whoever checks who was drawn. Nothing is sent here: documents go by hand.
//! * **Adversary**: operators whose families have a fraction f of all weight: one corrupt operator
//!   makes all the weight of its family count. It withholds up to b reveals of the beacon.
//! * **Guarantee**: a committee has no honest member with probability at most
//!   m·(2^b·f^c + 2^-λ) over m elections; weaker ones are refused.

mod agreement;
mod bound;
mod table;

use ostrakon_crypto::{Digest, Secret, Transcript};

pub use agreement::{Agreement, ELECTORS, NoElection, Plan, Record, Reveal, Vouch};
pub use bound::{Strength, TooWeak};
pub use table::{BadTable, Line, Operator, Table};

/// What a table is drawn with: public randomness that nobody knew when the table was fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon(pub [u8; 32]);

impl Table {
    /// Names the table. It is fixed, with this digest, before the beacon is known.
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/election/table");
        transcript.number(self.operators().len() as u64);
        for operator in self.operators() {
            let Operator { id, name, family, weight } = operator;
            transcript.field(id.as_bytes()).field(name.as_bytes()).field(family.as_bytes());
            transcript.number(*weight);
        }
        transcript.finish()
    }

    /// Step E4: draws operators by weight, one of a family at most, in the order of their drawing.
    ///
    /// # Errors
    /// [`TooWeak`] if the committee is weaker than asked, or there are too few families.
    pub fn draw(&self, beacon: &Beacon, strength: &Strength) -> Result<Vec<&Operator>, TooWeak> {
        strength.check()?;
        let families = self.families();
        if families < strength.members {
            return Err(TooWeak::Families { there: families, asked: strength.members });
        }
        let mut source = Source::new(&self.digest(), beacon);
        let mut left: Vec<&Operator> = self.operators().iter().filter(|o| o.weight > 0).collect();
        let mut drawn = Vec::with_capacity(strength.members);
        while drawn.len() < strength.members {
            let total = left.iter().map(|operator| operator.weight).sum();
            let mut at = source.below(total);
            let Some(next) = left.iter().copied().find(|operator| {
                let found = at < operator.weight;
                at = at.saturating_sub(operator.weight);
                found
            }) else {
                return Err(TooWeak::Families { there: drawn.len(), asked: strength.members });
            };
            left.retain(|operator| operator.family != next.family);
            drawn.push(next);
        }
        Ok(drawn)
    }
}

/// Numbers that the table and the beacon determine.
struct Source {
    secret: Secret,
    drawn: u64,
}

impl Source {
    fn new(table: &Digest, beacon: &Beacon) -> Self {
        let mut transcript = Transcript::new("ostrakon/v1/election/draw");
        transcript.field(&table.0).field(&beacon.0);
        Self { secret: Secret::new(transcript.finish().0), drawn: 0 }
    }

    /// A number below `limit`, which is not zero; all alike, by rejection.
    fn below(&mut self, limit: u64) -> u64 {
        let limit = limit.max(1);
        // The largest multiple of the limit that fits.
        let fair = u64::MAX - u64::MAX % limit;
        loop {
            let mut bytes = [0; 8];
            let number = self.drawn.to_le_bytes();
            self.secret.fill("ostrakon/v1/election/number", &[&number], &mut bytes);
            self.drawn += 1;
            let number = u64::from_le_bytes(bytes);
            if number < fair {
                return number % limit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lines: &str) -> Table {
        Table::parse(lines).unwrap()
    }

    fn weak(members: usize) -> Strength {
        Strength { members, corrupt: 0.25, withheld: 0, elections: 1, security: 1, engine: 64 }
    }

    #[test]
    fn operators_are_drawn_by_weight_and_families_once() {
        let table = list("a 600 north\nb 300 south\nc 100 west\nd 600 north\n");
        let mut first = std::collections::BTreeMap::new();
        for n in 0..2000u64 {
            let mut beacon = [0; 32];
            beacon[..8].copy_from_slice(&n.to_le_bytes());
            let drawn = table.draw(&Beacon(beacon), &weak(3)).unwrap();
            let mut families: Vec<&str> = drawn.iter().map(|o| o.family.as_str()).collect();
            *first.entry(families[0].to_owned()).or_insert(0) += 1;
            families.sort_unstable();
            assert_eq!(families, ["north", "south", "west"]);
        }
        // 1200, 300 and 100 of 1600; five deviations.
        for (family, share) in [("north", 0.75), ("south", 0.1875), ("west", 0.0625)] {
            let (found, expected): (f64, f64) = (f64::from(first[family]), 2000.0 * share);
            let deviation = (expected * (1.0 - share)).sqrt();
            assert!((found - expected).abs() < 5.0 * deviation, "{family}: {found}");
        }
    }

    #[test]
    fn the_draw_is_a_function_of_table_and_beacon_and_of_every_word_of_them() {
        let table = list("a 6\nb 3\nc 1\nd 9\ne 4\n");
        let names = |table: &Table, beacon| -> Vec<String> {
            let drawn = table.draw(&Beacon(beacon), &weak(4)).unwrap();
            drawn.iter().map(|operator| operator.name.clone()).collect()
        };
        assert_eq!(names(&table, [1; 32]), names(&list("e 4\nd 9\nc 1\nb 3\na 6\n"), [1; 32]));
        let others = (2..40u8).filter(|b| names(&table, [*b; 32]) != names(&table, [1; 32]));
        assert!(others.count() > 25);
        for changed in ["a 7\nb 3\nc 1\nd 9\ne 4\n", "a 6 f\nb 3\nc 1\nd 9\ne 4\n"] {
            assert_ne!(list(changed).digest(), table.digest());
        }
    }

    #[test]
    fn numbers_below_a_limit_are_all_alike() {
        let mut source = Source::new(&Digest([1; 32]), &Beacon([2; 32]));
        let mut counts = [0u32; 3];
        (0..3000).for_each(|_| counts[usize::try_from(source.below(3)).unwrap()] += 1);
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 130), "{counts:?}");
        assert_eq!(source.below(1), 0);
    }

    /// Attack: a corrupt operator joins a heavy honest family, which leaves the table with it when
    /// it is drawn. By operators the bound would be broken; by families it holds.
    #[test]
    fn the_corrupt_part_is_that_of_families_with_a_corrupt_operator() {
        let pieces = |name: char, count| {
            (0..count).map(|piece| format!("{name}{piece} 1\n")).collect::<String>()
        };
        let (honest, corrupt) = (pieces('h', 15), pieces('c', 10));
        let table = list(&format!("house 70 house\ncellar 5 house\n{honest}{corrupt}"));
        let is_corrupt = |operator: &&Operator| operator.name.starts_with('c');
        let draws = 4000;
        let both = (0..draws).filter(|n: &u64| {
            let mut beacon = [0; 32];
            beacon[..8].copy_from_slice(&n.to_le_bytes());
            table.draw(&Beacon(beacon), &weak(2)).unwrap().iter().all(is_corrupt)
        });
        let observed = both.count() as f64 / draws as f64;
        let (by_operators, by_families) = (f64::from(5 + 10) / 100.0, f64::from(75 + 10) / 100.0);
        assert!(observed > by_operators.powi(2), "{observed}");
        assert!(observed <= by_families.powi(2), "{observed}");
    }

    #[test]
    fn too_few_families_are_no_committee() {
        let table = list("a 6 x\nb 3 x\nc 0\nd 9\n");
        let refused = table.draw(&Beacon([0; 32]), &weak(3)).unwrap_err();
        assert_eq!(refused, TooWeak::Families { there: 2, asked: 3 });
    }
}

//! Tables of weights, from a Tor consensus or from a list.

use std::collections::{BTreeMap, BTreeSet};

/// Most operators of a table.
const MOST: usize = 20_000;
/// Largest weight of one.
const LARGEST: u64 = 1 << 40;

/// A line's number in its file, from 1.
pub type Line = usize;

/// Somebody who may become a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Names it among all: a relay's identity, or the name in a list.
    pub id: String,
    /// For people.
    pub name: String,
    /// Who is controlled together counts once; its own id where nothing is said.
    pub family: String,
    /// How likely it is drawn.
    pub weight: u64,
}

/// Operators by id, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table(Vec<Operator>);

/// Why a file is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    /// A line.
    #[error("line {line}: {what}")]
    Line {
        /// Which.
        line: Line,
        /// What is wrong, with the remedy.
        what: String,
    },
    /// Nobody.
    #[error("it names nobody with a weight")]
    Empty,
    /// Too many.
    #[error("it names more than {MOST} operators")]
    TooMany,
}

fn wrong<T>(line: Line, what: impl Into<String>) -> Result<T, BadTable> {
    Err(BadTable::Line { line, what: what.into() })
}

impl Table {
    /// Reads a consensus (`network-status-version 3` and so on) or a list of lines
    /// `NAME WEIGHT [FAMILY]`, in which `#` begins a remark.
    ///
    /// # Errors
    /// [`BadTable`].
    pub fn parse(text: &str) -> Result<Self, BadTable> {
        let consensus =
            text.lines().next().is_some_and(|l| l.starts_with("network-status-version"));
        let operators = if consensus { consensus_of(text)? } else { list_of(text)? };
        if operators.iter().all(|operator| operator.weight == 0) {
            return Err(BadTable::Empty);
        }
        Ok(Self(operators))
    }

    /// All, by id.
    pub fn operators(&self) -> &[Operator] {
        &self.0
    }

    /// How many families have a weight.
    pub fn families(&self) -> usize {
        let with_weight = self.0.iter().filter(|operator| operator.weight > 0);
        with_weight.map(|operator| &operator.family).collect::<BTreeSet<_>>().len()
    }
}

/// Operators as they are read.
#[derive(Default)]
struct Reading(BTreeMap<String, (Line, Operator)>);

impl Reading {
    fn add(&mut self, line: Line, operator: Operator) -> Result<(), BadTable> {
        if self.0.len() >= MOST {
            return Err(BadTable::TooMany);
        }
        let id = operator.id.clone();
        match self.0.insert(id, (line, operator)) {
            None => Ok(()),
            Some((before, of)) => {
                wrong(line, format!("{} stands in line {before} already", of.name))
            }
        }
    }

    fn finish(self) -> Vec<Operator> {
        self.0.into_values().map(|(_, operator)| operator).collect()
    }
}

fn weight_of(line: Line, text: &str) -> Result<u64, BadTable> {
    match text.parse() {
        Ok(weight) if weight <= LARGEST => Ok(weight),
        _ => wrong(line, format!("{text:?} is no weight: a whole number up to {LARGEST}")),
    }
}

fn list_of(text: &str) -> Result<Vec<Operator>, BadTable> {
    let mut reading = Reading::default();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split_once('#').map_or(content, |(before, _)| before);
        let words: Vec<&str> = content.split_whitespace().collect();
        let (name, weight, family) = match words[..] {
            [] => continue,
            [name, weight] => (name, weight, name),
            [name, weight, family] => (name, weight, family),
            _ => {
                return wrong(
                    line,
                    "write NAME WEIGHT, and perhaps a FAMILY, without spaces in them",
                );
            }
        };
        let weight = weight_of(line, weight)?;
        let (id, name) = (name.to_owned(), name.to_owned());
        reading.add(line, Operator { id, name, family: family.to_owned(), weight })?;
    }
    Ok(reading.finish())
}

/// A relay whose lines are being read.
struct Relay {
    line: Line,
    name: String,
    id: String,
    usable: bool,
    weight: Option<u64>,
}

impl Relay {
    fn of(line: Line, rest: &str) -> Result<Self, BadTable> {
        // With or without a digest: nickname, identity, date, time, address, two ports.
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [name, id, ..] = words[..] else {
            return wrong(line, "an r line has a nickname and an identity");
        };
        if !(7..=8).contains(&words.len()) {
            return wrong(line, "an r line has 7 or 8 words after the r");
        }
        let (name, id) = (name.to_owned(), id.to_owned());
        Ok(Self { line, name, id, usable: false, weight: None })
    }

    fn finish(self, reading: &mut Reading) -> Result<(), BadTable> {
        let Self { line, name, id, usable, weight } = self;
        let Some(weight) = weight else {
            return wrong(line, format!("{name} has no w line with a Bandwidth"));
        };
        // Whoever is not up and valid is in the table, and never drawn.
        let weight = if usable { weight } else { 0 };
        reading.add(line, Operator { family: id.clone(), id, name, weight })
    }
}

fn consensus_of(text: &str) -> Result<Vec<Operator>, BadTable> {
    let (mut reading, mut relay, mut ended) = (Reading::default(), None::<Relay>, false);
    for (line, content) in (1..).zip(text.lines()) {
        let (keyword, rest) = content.split_once(' ').unwrap_or((content, ""));
        match (keyword, &mut relay) {
            ("network-status-version", _) if rest.split_whitespace().next() != Some("3") => {
                return wrong(line, "only consensuses of version 3 are read");
            }
            ("r", _) => {
                let next = Relay::of(line, rest)?;
                if let Some(before) = relay.replace(next) {
                    before.finish(&mut reading)?;
                }
            }
            ("s", Some(relay)) => {
                let has = |flag| rest.split_whitespace().any(|word| word == flag);
                relay.usable = has("Running") && has("Valid");
            }
            ("w", Some(relay)) => {
                let bandwidth = rest.split_whitespace().find_map(|w| w.strip_prefix("Bandwidth="));
                let Some(bandwidth) = bandwidth else {
                    return wrong(line, "a w line has a Bandwidth=NUMBER");
                };
                if relay.weight.replace(weight_of(line, bandwidth)?).is_some() {
                    return wrong(line, format!("{} has a second w line", relay.name));
                }
            }
            ("s" | "w", None) => return wrong(line, "it belongs to no r line"),
            ("directory-footer", _) => {
                ended = true;
                break;
            }
            _ => {}
        }
    }
    if let Some(last) = relay {
        last.finish(&mut reading)?;
    }
    if !ended {
        return wrong(text.lines().count(), "the file ends before its directory-footer");
    }
    Ok(reading.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSENSUS: &str = "network-status-version 3\n\
        vote-status consensus\n\
        r alpha AAAA 2026-07-27 10:00:00 192.0.2.1 9001 0\n\
        s Fast Running Stable Valid\n\
        w Bandwidth=4000\n\
        r beta BBBB 2026-07-27 10:00:00 192.0.2.2 9001 0\n\
        s Fast Valid\n\
        w Bandwidth=9000 Unmeasured=1\n\
        r gamma CCCC 2026-07-27 10:00:00 192.0.2.3 9001 0\n\
        s Running Valid\n\
        w Bandwidth=70\n\
        directory-footer\n\
        bandwidth-weights Wbd=0\n";

    fn refused(text: &str) -> String {
        Table::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_consensus_is_read_and_who_is_down_has_no_weight() {
        let table = Table::parse(CONSENSUS).unwrap();
        let read: Vec<(&str, u64)> =
            table.operators().iter().map(|o| (o.name.as_str(), o.weight)).collect();
        assert_eq!(read, [("alpha", 4000), ("beta", 0), ("gamma", 70)]);
        assert_eq!(table.families(), 2);
    }

    #[test]
    fn errors_name_the_line() {
        let changed = |from: &str, to: &str| refused(&CONSENSUS.replacen(from, to, 1));
        assert_eq!(
            changed("version 3", "version 2"),
            "line 1: only consensuses of version 3 are read"
        );
        assert!(changed("4000", "many").starts_with("line 5: \"many\" is no weight"));
        assert!(changed("w Bandwidth=4000\n", "").starts_with("line 3: alpha has no w line"));
        assert!(changed("w Bandwidth=70", "w Measured=70").starts_with("line 11: a w line"));
        assert!(changed("BBBB", "AAAA").starts_with("line 6: alpha stands in line 3 already"));
        assert!(changed("r alpha AAAA", "r alpha").contains("line"));
        assert!(changed("vote-status", "s Running\nvote-status").starts_with("line 2: it belongs"));
        assert!(changed("directory-footer", "footer").contains("ends before its directory-footer"));
        assert_eq!(
            refused("a 3\nb x\n"),
            format!("line 2: \"x\" is no weight: a whole number up to {LARGEST}")
        );
        assert!(refused("a 3 f g\n").starts_with("line 1: write NAME WEIGHT"));
        assert!(refused("a 3\n# b\na 4\n").starts_with("line 3: a stands in line 1"));
        assert_eq!(refused("# nobody\n"), BadTable::Empty.to_string());
        assert_eq!(refused("a 0\n"), BadTable::Empty.to_string());
        assert!(refused("a 99999999999999999999\n").starts_with("line 1"));
    }

    /// Attack: a file that anybody may have written.
    #[test]
    fn no_file_makes_the_reader_panic() {
        let bytes = CONSENSUS.as_bytes();
        for cut in 0..bytes.len() {
            let text = String::from_utf8_lossy(&bytes[..cut]).into_owned();
            let _ = Table::parse(&text);
            let mut changed = bytes.to_vec();
            changed[cut] ^= 0x15;
            let _ = Table::parse(&String::from_utf8_lossy(&changed));
        }
    }
}

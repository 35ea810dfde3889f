//! Which records of a chain are believed: those that two servers show alike. What one shows alone
//! is
//! put aside until a second one shows it, or two show something else.

use std::collections::VecDeque;

/// Servers that must show the same before it is believed: one of any two is honest.
const AGREEING: usize = 2;

/// What the servers show beyond what is believed, by party; nothing of a server that has
/// contradicted two others.
pub struct Tails(Vec<VecDeque<Vec<u8>>>);

/// What is believed next.
#[derive(Debug, PartialEq, Eq)]
pub struct Believed {
    /// The record.
    pub record: Vec<u8>,
    /// The servers that show another one in its place.
    pub contradicting: Vec<usize>,
}

impl Tails {
    /// Of so many servers, which show nothing yet.
    pub fn new(servers: usize) -> Self {
        Self(vec![VecDeque::new(); servers])
    }

    /// What a server shows after everything that is believed by now.
    pub fn show(&mut self, party: usize, records: Vec<Vec<u8>>) {
        self.0[party] = records.into();
    }

    /// Takes the next record that two servers show alike.
    pub fn next(&mut self) -> Option<Believed> {
        let record = self
            .0
            .iter()
            .filter_map(|tail| tail.front())
            .find(|record| {
                let same = self.0.iter().filter(|tail| tail.front() == Some(*record));
                same.count() >= AGREEING
            })?
            .clone();
        let mut contradicting = Vec::new();
        for (party, tail) in self.0.iter_mut().enumerate() {
            if tail.pop_front().is_some_and(|shown| shown != record) {
                tail.clear();
                contradicting.push(party);
            }
        }
        Some(Believed { record, contradicting })
    }

    /// Whether a server shows more than is believed.
    pub fn is_more(&self) -> bool {
        self.0.iter().any(|tail| !tail.is_empty())
    }

    /// Two servers that show different records in one place, with nothing to tell whom to believe.
    pub fn conflict(&self) -> Option<(usize, usize)> {
        let mut showing = self.0.iter().enumerate().filter(|(_, tail)| !tail.is_empty());
        let (one, first) = showing.next()?;
        let (another, _) = showing.find(|(_, tail)| tail.front() != first.front())?;
        Some((one, another))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tails: [&str; 3]) -> Tails {
        let mut all = Tails::new(3);
        for (party, tail) in tails.iter().enumerate() {
            all.show(party, tail.bytes().map(|byte| vec![byte]).collect());
        }
        all
    }

    fn believed(tails: &mut Tails) -> (String, Vec<usize>) {
        let all: Vec<_> = std::iter::from_fn(|| tails.next()).collect();
        let text = all.iter().map(|one| char::from(one.record[0])).collect();
        (text, all.into_iter().flat_map(|one| one.contradicting).collect())
    }

    #[test]
    fn what_one_server_shows_alone_is_put_aside() {
        let mut tails = shown(["abX", "ab", "ab"]);
        assert_eq!(believed(&mut tails), ("ab".into(), vec![]));
        assert!(tails.is_more() && tails.conflict().is_none());
        assert_eq!(believed(&mut shown(["abXY", "abc", "abcd"])), ("abc".into(), vec![0]));
        let mut undecided = shown(["abX", "abc", ""]);
        assert_eq!(believed(&mut undecided), ("ab".into(), vec![]));
        assert_eq!(undecided.conflict(), Some((0, 1)));
    }
}

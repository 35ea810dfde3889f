//! Which records of a chain are believed: those that so many servers show alike that one of them is
//! honest. What fewer show is put aside until others show it too, or show something else.

use std::collections::VecDeque;

use ostrakon_party::Trust;

/// What the servers show beyond what is believed.
pub struct Tails {
    /// By party; nothing of a server that has contradicted what is believed.
    shown: Vec<VecDeque<Vec<u8>>>,
    /// Servers that must show the same before it is believed.
    believed: usize,
}

/// What is believed next.
#[derive(Debug, PartialEq, Eq)]
pub struct Believed {
    /// The record.
    pub record: Vec<u8>,
    /// The servers that show another one in its place.
    pub contradicting: Vec<usize>,
}

impl Tails {
    /// Of servers that show nothing yet and bear so much.
    pub fn new(trust: &Trust) -> Self {
        Self { shown: vec![VecDeque::new(); trust.parties()], believed: trust.believed() }
    }

    /// What a server shows after everything that is believed by now.
    pub fn show(&mut self, party: usize, records: Vec<Vec<u8>>) {
        self.shown[party] = records.into();
    }

    /// Takes the next record that enough servers show alike.
    pub fn next(&mut self) -> Option<Believed> {
        let record = self
            .shown
            .iter()
            .filter_map(|tail| tail.front())
            .find(|record| {
                let same = self.shown.iter().filter(|tail| tail.front() == Some(*record));
                same.count() >= self.believed
            })?
            .clone();
        let mut contradicting = Vec::new();
        for (party, tail) in self.shown.iter_mut().enumerate() {
            if tail.pop_front().is_some_and(|shown| shown != record) {
                tail.clear();
                contradicting.push(party);
            }
        }
        Some(Believed { record, contradicting })
    }

    /// Whether a server shows more than is believed.
    pub fn is_more(&self) -> bool {
        self.shown.iter().any(|tail| !tail.is_empty())
    }

    /// Two servers that show different records in one place, with nothing to tell whom to believe.
    pub fn conflict(&self) -> Option<(usize, usize)> {
        let mut showing = self.shown.iter().enumerate().filter(|(_, tail)| !tail.is_empty());
        let (one, first) = showing.next()?;
        let (another, _) = showing.find(|(_, tail)| tail.front() != first.front())?;
        Some((one, another))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tails: [&str; 3]) -> Tails {
        let mut all = Tails::new(&Trust::one_of_three());
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
    fn where_two_of_five_may_lie_two_are_not_believed() {
        let trust = Trust::new(5, 2, ostrakon_party::Delivery::Stoppable).unwrap();
        let mut tails = Tails::new(&trust);
        for (party, record) in [(0, 1), (1, 1), (2, 2)] {
            tails.show(party, vec![vec![record]]);
        }
        assert_eq!(tails.next(), None);
        tails.show(3, vec![vec![1]]);
        assert_eq!(tails.next(), Some(Believed { record: vec![1], contradicting: vec![2] }));
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

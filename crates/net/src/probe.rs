//! How far a peer's clock is off, and what the peer says of itself.
//!
//! Both ends of a link send probes ([`Probe`]) now and then. A probe says when it left, by its
//! sender's clock, and when the last probe of the other end left and came. Two probes that answer
//! each other give the difference of the clocks, up to half the time that they were on their way
//! (as in RFC 5905, section 8); of the last few measurements the one that was least on its way
//! counts. A peer can only lie about its own clock: the link is authenticated.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Bytes that a peer may say of itself.
pub const MAX_ABOUT: usize = 512;
/// Measurements that are remembered.
const REMEMBERED: usize = 8;

/// A clock: milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// What one end tells the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// When it leaves, by the sender's clock.
    pub sent: u64,
    /// The last probe of the other end: its `sent`, and when it came by the clock of this one's
    /// sender.
    pub answers: Option<(u64, u64)>,
    /// What the sender says of itself; not understood here.
    pub about: Vec<u8>,
}

/// What is known of a peer beside the state of its link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acquaintance {
    /// What it said of itself last; at most [`MAX_ABOUT`] bytes, of the peer's making.
    pub about: Bytes,
    /// How many milliseconds its clock is ahead of this party's, as far as measured.
    pub clock_ahead: Option<i64>,
    /// Why connections with it failed although somebody answered; none while there is a connection.
    pub trouble: Option<String>,
}

/// One end's measurements.
#[derive(Debug, Default)]
pub(crate) struct Measurements {
    /// When this end's last two probes left. Both ends begin with a link, and send at one pace: a
    /// probe that crosses the last one answers the one before.
    sent: [Option<u64>; 2],
    /// The peer's last probe: when it left and came.
    heard: Option<(u64, u64)>,
    /// How long the way there and back took, and how far the peer was ahead.
    samples: VecDeque<(u64, i64)>,
    about: Bytes,
}

impl Measurements {
    /// A new link: what is on its way on the old one does not count.
    pub fn restart(&mut self) {
        self.sent = [None; 2];
        self.heard = None;
    }

    /// The next probe.
    pub fn next(&mut self, now: u64, about: &Bytes) -> Probe {
        self.sent = [Some(now), self.sent[0]];
        Probe { sent: now, answers: self.heard, about: about.to_vec() }
    }

    /// Takes a probe in.
    pub fn take(&mut self, probe: Probe, now: u64) {
        let Probe { sent, answers, about } = probe;
        self.about = about.into();
        self.heard = Some((sent, now));
        let Some((ours, theirs)) = answers.filter(|(ours, _)| self.sent.contains(&Some(*ours)))
        else {
            return;
        };
        // The peer chose two of these; wide arithmetic takes them all.
        let [ours, theirs, sent, now] = [ours, theirs, sent, now].map(i128::from);
        let way = (now - ours) - (sent - theirs);
        let ahead = ((theirs - ours) + (sent - now)) / 2;
        // A clock was set meanwhile, or the peer tells tales: nothing can be learned.
        let (Ok(way), Ok(ahead)) = (u64::try_from(way), i64::try_from(ahead)) else { return };
        if self.samples.len() == REMEMBERED {
            self.samples.pop_front();
        }
        self.samples.push_back((way, ahead));
    }

    /// How far the peer is ahead, by the measurement that was least on its way.
    pub fn ahead(&self) -> Option<i64> {
        self.samples.iter().rev().min_by_key(|(way, _)| *way).map(|(_, ahead)| *ahead)
    }

    pub fn about(&self) -> Bytes {
        self.about.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ends, the second `ahead`, whose probes take `there` and `back`.
    fn exchange(
        a: &mut Measurements,
        b: &mut Measurements,
        at: u64,
        ahead: u64,
        (there, back): (u64, u64),
    ) {
        let probe = a.next(at, &Bytes::new());
        b.take(probe, at + there + ahead);
        let probe = b.next(at + there + 500 + ahead, &Bytes::from_static(b"b"));
        a.take(probe, at + there + 500 + back);
    }

    #[test]
    fn the_quickest_exchange_counts_whatever_the_others_say() {
        let (mut a, mut b) = (Measurements::default(), Measurements::default());
        exchange(&mut a, &mut b, 1_000, 60_000, (400, 0));
        assert_eq!(a.ahead(), Some(60_200), "half the way is the error");
        exchange(&mut a, &mut b, 2_000, 60_000, (3, 3));
        exchange(&mut a, &mut b, 3_000, 60_000, (0, 900));
        assert_eq!((a.ahead(), &a.about()[..]), (Some(60_000), &b"b"[..]));
        assert_eq!(
            b.ahead(),
            Some(-59_998),
            "of its own first probe, answered by the quick second one"
        );
    }

    #[test]
    fn probes_that_cross_each_time_answer_each_other_too() {
        let (mut a, mut b) = (Measurements::default(), Measurements::default());
        let mut probe = |at| {
            let (of_a, of_b) = (a.next(at, &Bytes::new()), b.next(at + 7_000, &Bytes::new()));
            a.take(of_b, at + 80);
            b.take(of_a, at + 7_080);
            (a.ahead(), b.ahead())
        };
        assert_eq!(probe(1_000), (None, None));
        assert_eq!(probe(11_000), (Some(7_000), Some(-7_000)));
    }

    #[test]
    fn measurements_age_and_lies_are_survived() {
        let (mut a, mut b) = (Measurements::default(), Measurements::default());
        exchange(&mut a, &mut b, 1_000, 0, (0, 0));
        for at in 2..2 + REMEMBERED as u64 {
            exchange(&mut a, &mut b, at * 1_000, 90_000, (5, 5));
        }
        assert_eq!(a.ahead(), Some(90_000), "the clock was set since");
        let sent = a.next(70_000, &Bytes::new()).sent;
        for (theirs, said) in [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX), (0, 0)] {
            a.take(Probe { sent: said, answers: Some((sent, theirs)), about: Vec::new() }, 70_001);
        }
        a.take(Probe { sent: 9, answers: Some((sent + 1, 0)), about: Vec::new() }, 70_001);
        assert!(a.samples.len() <= REMEMBERED && a.ahead().is_some());
    }
}

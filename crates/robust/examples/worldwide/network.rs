//! Virtual time: messages on their way, servers' processors, and what a server's work takes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::meter::Meter;
use crate::regions::Map;

/// What a server's processor adds to the time.
pub enum Processor {
    /// Nothing: the network's delay alone is seen.
    Free,
    /// So many nanoseconds for whatever it does.
    #[cfg(test)]
    Fixed(u64),
    /// What this machine takes for it, on one core.
    Measured(Meter),
}

impl Processor {
    /// Whether work takes time.
    pub fn takes_time(&self) -> bool {
        !matches!(self, Processor::Free)
    }

    /// Does something; how long it takes.
    pub fn run<T>(&mut self, work: impl FnOnce() -> T) -> (T, u64) {
        match self {
            Processor::Free => (work(), 0),
            #[cfg(test)]
            Processor::Fixed(cost) => (work(), *cost),
            Processor::Measured(meter) => meter.measure(work),
        }
    }
}

/// A message that arrives.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    pub at: u64,
    /// In the order of sending, where two arrive at once.
    order: u64,
    pub from: usize,
    pub to: usize,
    pub bytes: Vec<u8>,
}

/// All servers' lines. Times are nanoseconds since the beginning.
pub struct Network<'a> {
    map: &'a Map,
    under_way: BinaryHeap<Reverse<Arrival>>,
    /// By server: until when it is sending what it was told to send.
    leaving: Vec<u64>,
    /// By sender and receiver.
    links: Vec<u64>,
    sent: u64,
    /// By server.
    pub bytes: Vec<u64>,
}

impl<'a> Network<'a> {
    pub fn new(map: &'a Map) -> Network<'a> {
        let servers = map.servers();
        Network {
            map,
            under_way: BinaryHeap::new(),
            leaving: vec![0; servers],
            links: vec![0; servers * servers],
            sent: 0,
            bytes: vec![0; servers],
        }
    }

    /// Sends a message at a time: it leaves after what the server sent before, and passes the link
    /// after what it sent to the same server before.
    pub fn send(&mut self, at: u64, from: usize, to: usize, bytes: Vec<u8>) {
        let length = bytes.len();
        let leaving = &mut self.leaving[from];
        let begins = at.max(*leaving);
        *leaving = begins + self.map.leaving(from, length);
        let link = &mut self.links[from * self.map.servers() + to];
        // A slower link takes the first byte when the sender's line gives it.
        *link = (begins.max(*link) + self.map.on_link(from, to, length)).max(*leaving);
        let arrival = *link + self.map.latency(from, to);
        self.bytes[from] += length as u64;
        self.sent += 1;
        self.under_way.push(Reverse(Arrival { at: arrival, order: self.sent, from, to, bytes }));
    }

    /// The next message that arrives.
    pub fn next(&mut self) -> Option<Arrival> {
        self.under_way.pop().map(|Reverse(arrival)| arrival)
    }

    /// Messages that were sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines' limits, one after another, by hand.
    #[test]
    fn messages_wait_for_those_before() {
        let map = Map::of(4).unwrap();
        let mut network = Network::new(&map);
        // From Virginia: twice to South America, once to Tokyo; 618.5, 38.6 and 39.6 Mbit/s.
        let length = 1_000_000;
        for to in [1, 1, 2] {
            network.send(5, 0, to, vec![0; length]);
        }
        let [leaving, south, east] = [618.5, 38.6, 39.6].map(|mbit| (8e9 / mbit) as u64);
        let expected = [
            (5 + south + 72_500_000, 1),
            (5 + 2 * leaving + east + 81_000_000, 2),
            (5 + 2 * south + 72_500_000, 1),
        ];
        for (at, to) in expected {
            let arrival = network.next().unwrap();
            assert!(arrival.at.abs_diff(at) < 4, "{} is not {at}", arrival.at);
            assert_eq!((arrival.from, arrival.to), (0, to));
        }
        assert!(network.next().is_none());
        assert_eq!(network.bytes, [3 * length as u64, 0, 0, 0]);
    }
}

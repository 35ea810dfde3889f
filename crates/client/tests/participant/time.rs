//! Virtual time, in which what is under way comes to pass.

use ostrakon_client::Millis;

/// When tests begin.
pub const START: Millis = 1_000_000;

/// The time, and what is under way, by when it comes to pass.
pub struct Time<E> {
    pub now: Millis,
    pub under_way: Vec<(Millis, E)>,
}

impl<E> Time<E> {
    pub fn new() -> Self {
        Self { now: START, under_way: Vec::new() }
    }

    /// This comes to pass so much later.
    pub fn after(&mut self, delay: Millis, event: E) {
        self.under_way.push((self.now + delay, event));
    }

    fn due(&mut self) -> Vec<E> {
        let under_way = std::mem::take(&mut self.under_way);
        let (due, later) = under_way.into_iter().partition(|(at, _)| *at <= self.now);
        self.under_way = later;
        let due: Vec<(Millis, E)> = due;
        due.into_iter().map(|(_, event)| event).collect()
    }
}

/// A machine without a clock of its own, and the world around it.
pub trait InTime {
    type Event;

    fn time(&mut self) -> &mut Time<Self::Event>;

    /// Something has come to pass.
    fn happen(&mut self, event: Self::Event);

    /// The machine is told the time, and what it wants is done.
    fn wake(&mut self);

    /// When the machine wants to be told the time next.
    fn wake_at(&self) -> Millis;

    /// Lets time pass.
    fn advance(&mut self, ms: Millis) {
        let end = self.time().now + ms;
        self.wake();
        let mut turns = 0;
        loop {
            let now = self.time().now;
            let first = self.time().under_way.iter().map(|(at, _)| *at).min().unwrap_or(end);
            let next = first.min(self.wake_at()).max(now);
            if next >= end {
                break;
            }
            turns = if next == now { turns + 1 } else { 0 };
            assert!(turns < 100, "it is woken again and again, and does nothing");
            self.time().now = next;
            for event in self.time().due() {
                self.happen(event);
            }
            self.wake();
        }
        self.time().now = end;
        self.wake();
    }
}

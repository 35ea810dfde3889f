//! Three servers that are asked about a join link.

use ostrakon_client::Millis;
use ostrakon_client::joining::{Canvass, CanvassAction, CanvassNews, JoiningCall};
use ostrakon_crypto::Secret;
use ostrakon_decide::GatheringId;

use crate::script::Exchange;
use crate::time::{InTime, START, Time};

/// How long the servers' answers take: no two come at the same moment.
const LATENCY: [Millis; 3] = [40, 47, 54];

pub const LINK: GatheringId = GatheringId([7; 16]);

/// One server.
pub struct Door {
    pub status: u16,
    pub answer: &'static str,
    /// It takes so much longer.
    pub slow: Millis,
}

pub struct World {
    pub time: Time<(u64, u16, String)>,
    pub canvass: Canvass,
    pub doors: [Door; 3],
    pub news: Vec<(Millis, CanvassNews)>,
    pub exchanges: Vec<Exchange>,
}

/// What shows a link.
pub const SHOWN: (u16, &str) = (200, r#"{"gathering":"AAE"}"#);
/// What shows nobody who asks.
pub const NOBODY: (u16, &str) = (200, r#"{"requests":[]}"#);
/// What takes something.
pub const TAKEN: (u16, &str) = (204, "");
/// What refuses for now.
pub const BUSY: (u16, &str) = (429, r#"{"detail":"busy"}"#);

pub fn look() -> JoiningCall {
    JoiningCall::Show(LINK)
}

pub fn request() -> JoiningCall {
    JoiningCall::Take { link: LINK, request: vec![0, 1] }
}

impl World {
    pub fn new(call: JoiningCall, answers: [(u16, &'static str); 3]) -> Self {
        let canvass = Canvass::new(call, Secret::new([4; 32]));
        let doors = answers.map(|(status, answer)| Door { status, answer, slow: 0 });
        let (news, exchanges) = Default::default();
        Self { time: Time::new(), canvass, doors, news, exchanges }
    }

    /// The servers that are slower than anybody waits.
    pub fn away(mut self, parties: &[usize]) -> Self {
        for party in parties {
            self.doors[*party].slow = Millis::MAX / 2;
        }
        self
    }

    fn go_on(&mut self) {
        while let Some(action) = self.canvass.next_action() {
            let at = self.time.now - START;
            let sending = match action {
                CanvassAction::Ask(sending) => sending,
                CanvassAction::Tell(news) => {
                    self.news.push((at, news));
                    continue;
                }
            };
            let party = sending.party.0;
            let door = &self.doors[usize::from(party)];
            let delay = LATENCY[usize::from(party)] + door.slow;
            let (delay, status, answer) = if delay <= sending.patience {
                (delay, door.status, door.answer.to_owned())
            } else {
                (sending.patience, 0, String::new())
            };
            self.time.after(delay, (sending.id, status, answer.clone()));
            let (path, body) = (sending.http.path, sending.http.body.map(|body| body.text()));
            self.exchanges.push(Exchange { at, party, path, body, delay, status, answer });
        }
    }

    /// When it is over, and how.
    pub fn end(mut self) -> (Millis, CanvassNews) {
        self.advance(120_000);
        assert_eq!(self.news.len(), 1);
        let (at, news) = self.news.remove(0);
        assert!(self.exchanges.iter().all(|one| one.at <= at), "nothing is asked afterwards");
        (at, news)
    }

    /// How often each server was asked so far.
    pub fn asked(&self) -> [usize; 3] {
        [0, 1, 2].map(|party| self.exchanges.iter().filter(|one| one.party == party).count())
    }
}

impl InTime for World {
    type Event = (u64, u16, String);

    fn time(&mut self) -> &mut Time<Self::Event> {
        &mut self.time
    }

    fn happen(&mut self, (id, status, body): Self::Event) {
        self.canvass.replied(self.time.now, id, status, body.as_bytes());
        self.go_on();
    }

    fn wake(&mut self) {
        self.canvass.wake(self.time.now);
        self.go_on();
    }

    fn wake_at(&self) -> Millis {
        self.canvass.wake_at()
    }
}

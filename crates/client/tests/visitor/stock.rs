//! How an account's stock of one-time keys is filled (`docs/spec/visitor.md`, V6).

use ostrakon_client::visitor::{Failure, Filling, Request, Stock};
use ostrakon_client::{Body, Millis};
use ostrakon_crypto::Secret;
use ostrakon_decide::CertifiedKey;
use ostrakon_party::{PartyId, wire};
use ostrakon_protocol::decisions::StockLevel;
use serde_json::{Value, json};

use crate::time::{InTime, START, Time};
use crate::world::{account, deposited, helper, operators};

/// The first server wants so many keys.
const WANTED: u64 = 8;

/// A status instead of an answer, by the server and how many requests were made before.
type Says = Box<dyn Fn(PartyId, usize) -> Option<u16>>;

/// An account's stock, a device that fills it, and the servers.
struct World {
    time: Time<(u64, u16, String)>,
    machine: Stock,
    stock: u64,
    /// How many keys were handed in together, and when.
    given: Vec<(Millis, u64)>,
    says: Says,
    asked: usize,
    end: Option<Filling>,
}

impl World {
    fn new(stock: u64, most: u64) -> Self {
        let machine = Stock::new(operators(), account(0), most, &Secret::new([4; 32]));
        let (given, asked, end) = Default::default();
        let says: Says = Box::new(|_, _| None);
        Self { time: Time::new(), machine, stock, given, says, asked, end }
    }

    /// The same stock, and a device that comes later.
    fn again(&mut self) {
        self.machine = Stock::new(operators(), account(0), u64::MAX, &Secret::new([5; 32]));
        (self.says, self.end) = (Box::new(|_, _| None), None);
    }

    fn answer(&mut self, request: &Request) -> (u16, Value) {
        let sending = request.sending();
        let level = |stock| json!(StockLevel { stock, wanted: WANTED });
        self.asked += 1;
        if let Some(status) = (self.says)(request.party, self.asked - 1) {
            return (status, json!({"detail": "not now"}));
        }
        match (sending.http.path.as_str(), sending.http.body) {
            ("helper", None) => (200, json!(helper(sending.party.0))),
            ("shares", Some(Body::Bytes(bytes))) => {
                (200, json!(deposited(sending.party.0, &bytes)))
            }
            (path, None) if path.starts_with("accounts/") => (200, level(self.stock)),
            (path, Some(Body::Bytes(bytes))) if path.ends_with("/keys") => {
                let keys: Vec<CertifiedKey> = wire::decode(&bytes).unwrap();
                self.stock += keys.len() as u64;
                self.given.push((self.time.now - START, keys.len() as u64));
                (200, level(self.stock))
            }
            (path, body) => panic!("nobody is asked for {path} with {body:?}"),
        }
    }

    fn together(&self) -> Vec<u64> {
        self.given.iter().map(|(_, keys)| *keys).collect()
    }
}

impl InTime for World {
    type Event = (u64, u16, String);

    fn time(&mut self) -> &mut Time<Self::Event> {
        &mut self.time
    }

    fn happen(&mut self, (id, status, body): Self::Event) {
        self.machine.replied(self.time.now, id, status, body.as_bytes());
    }

    fn wake(&mut self) {
        self.machine.wake(self.time.now);
        while let Some(filling) = self.machine.next_filling() {
            match filling {
                Filling::Ask(request) => {
                    let (status, body) = self.answer(&request);
                    self.time.after(10, (request.id, status, body.to_string()));
                }
                end => self.end = Some(end),
            }
        }
    }

    fn wake_at(&self) -> Millis {
        self.machine.wake_at()
    }
}

#[test]
fn a_stock_is_filled_a_few_keys_at_a_time_with_pauses() {
    let mut world = World::new(0, u64::MAX);
    world.advance(10_000);
    assert_eq!(world.end, Some(Filling::Full(8)));
    assert_eq!(world.together(), [2, 2, 2, 2]);
    let (last, _) = world.given[3];
    assert!(last >= 7 * 300, "many devices do so at the same time: {:?}", world.given);
}

#[test]
fn a_stock_gets_what_it_lacks_or_fewer_if_fewer_are_asked_for() {
    for (stock, most, added) in [(0, 1, 1), (5, u64::MAX, 3), (8, u64::MAX, 0), (3, 1, 0)] {
        let mut world = World::new(stock, most);
        world.advance(10_000);
        assert_eq!(world.end, Some(Filling::Full(added)), "{stock} of at most {most}");
        assert_eq!(world.stock, stock + added);
    }
}

#[test]
fn what_was_handed_in_before_a_failure_stays_and_the_rest_is_for_the_next_visit() {
    let mut world = World::new(0, u64::MAX);
    // The level, and of each two keys 12 requests and that they are handed in: at the sixth key.
    world.says = Box::new(|_, before| (before >= 1 + 2 * 13 + 9).then_some(422));
    world.advance(20_000);
    let Some(Filling::Failed(Failure::Server { refusal, .. })) = &world.end else {
        panic!("{:?}", world.end)
    };
    assert_eq!((refusal.status, world.stock), (422, 4));
    world.again();
    world.advance(20_000);
    assert_eq!((world.end.take(), world.stock), (Some(Filling::Full(4)), WANTED));
}

#[test]
fn what_passes_by_itself_is_asked_for_again_and_not_for_ever() {
    for status in [429, 503, 0] {
        let mut world = World::new(0, 1);
        world.says = Box::new(move |_, before| (before < 3).then_some(status));
        world.advance(20_000);
        assert_eq!(world.end, Some(Filling::Full(1)), "after {status}");

        let mut world = World::new(0, 1);
        world.says = Box::new(move |_, _| Some(status));
        world.advance(60_000);
        assert_eq!(world.end, Some(Filling::Failed(Failure::Away(PartyId(0)))), "{status}");
        assert!(world.asked < 10 && world.stock == 0, "{} times", world.asked);

        // The same of a server that is needed for a key.
        let mut world = World::new(0, 1);
        world.says = Box::new(move |party, _| (party == PartyId(2)).then_some(status));
        world.advance(60_000);
        assert_eq!(world.end, Some(Filling::Failed(Failure::Away(PartyId(2)))), "{status}");
    }
    let mut world = World::new(0, 1);
    world.says = Box::new(|_, _| Some(422));
    world.advance(20_000);
    assert!(matches!(world.end, Some(Filling::Failed(Failure::Server { .. }))));
    assert_eq!(world.asked, 1, "what does not pass by itself is not");
}

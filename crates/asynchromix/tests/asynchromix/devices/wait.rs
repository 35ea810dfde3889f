//! How long people wait for what they say, in virtual time: servers and pages tick as the processes
//! and the page do, a message takes as long as it is told, and computing takes no time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_asynchromix::board::Outcome;
use ostrakon_asynchromix::participant::{Kept, News, key_of};
use ostrakon_asynchromix::service::Event;
use ostrakon_asynchromix::visitor::End;
use ostrakon_asynchromix::{Shape, Visitor};

use crate::nightly;
use crate::world::{Flight, Role, World, id};

/// Milliseconds.
type Time = u64;

/// A room as it is founded by default: 128 places, a minimum of four, three seconds.
const SHAPE: Shape = Shape { rows: 128, payload: 16, minimum: 4, ticks: 60 };
/// Of a server.
const TICK: Time = 50;
/// Of a page, and its pause between an answer and the next visit of the same server.
const BEAT: Time = 250;
const PAUSE: Time = 400;
/// What may be expected of any room.
const AIM: Time = 8_000;

/// What happens at a time.
enum What {
    Tick(usize),
    Arrives(Flight),
    Beat(usize),
    Says(usize),
    Visits(usize, usize),
    Asks(usize, usize, Vec<u8>),
    Answers(usize, usize, Vec<u8>),
}

/// A page that takes part as long as it is open.
struct Page {
    visitor: Visitor,
    /// When its message was said, while that is not on the board.
    waits: Option<Time>,
}

/// What is played.
#[derive(Clone, Copy)]
struct Plan {
    servers: usize,
    /// Of them, after stock was prepared.
    dead: usize,
    shape: Shape,
    pages: usize,
    /// How long a message takes, from half to one and a half of it.
    delay: Time,
    /// Whether all pages begin with one home.
    alike: bool,
    /// Milliseconds that a page waits at most until it says the next thing; 0: it says one thing.
    again: usize,
}

/// The default user's room, at its servers' operators in one country.
const PLAN: Plan =
    Plan { servers: 4, dead: 1, shape: SHAPE, pages: 100, delay: 10, alike: false, again: 0 };

/// A room in time.
struct Timed {
    plan: Plan,
    world: World,
    now: Time,
    queue: BTreeMap<(Time, u64), What>,
    queued: u64,
    pages: Vec<Page>,
    /// How long each message took that is on the board.
    took: Vec<Time>,
    /// What was said.
    said: usize,
    /// Pages that found no place in a round.
    left_out: BTreeSet<usize>,
}

impl Timed {
    /// A room with full stock, of which so many servers then die, and so many pages.
    fn new(plan: Plan) -> Self {
        let Plan { servers, dead, shape, pages, alike, .. } = plan;
        let mut world = World::with(servers, 7, shape, 64);
        world.stock(world.room.committees().len() * 2 + 1);
        world.roles[servers - dead..].fill(Role::Dead);
        let mut timed = Self {
            plan,
            world,
            now: 0,
            queue: BTreeMap::new(),
            queued: 0,
            pages: Vec::new(),
            took: Vec::new(),
            said: 0,
            left_out: BTreeSet::new(),
        };
        timed.depart();
        for server in 0..servers {
            timed.at(TICK * server as Time / servers as Time, What::Tick(server));
        }
        for page in 0..pages {
            let seed = loop {
                let seed = timed.world.draw.secret();
                if !alike || usize::from(key_of(&seed).0[0]) % servers == 0 {
                    break *seed.expose();
                }
            };
            let kept = Kept::new(seed);
            let (room, fresh) = (Arc::clone(&timed.world.room), timed.world.draw.secret());
            let visitor = Visitor::taking_part(room, &kept, fresh).unwrap();
            timed.pages.push(Page { visitor, waits: None });
            let opened = timed.within(3_000);
            timed.at(opened, What::Beat(page));
            (0..servers).for_each(|server| timed.at(opened, What::Visits(page, server)));
            let says = opened + timed.within(8_000);
            timed.at(says, What::Says(page));
        }
        timed
    }

    fn within(&mut self, most: usize) -> Time {
        self.world.draw.below(most) as Time
    }

    fn at(&mut self, time: Time, what: What) {
        self.queued += 1;
        self.queue.insert((time, self.queued), what);
    }

    /// How long the next message takes.
    fn way(&mut self) -> Time {
        let delay = usize::try_from(self.plan.delay).unwrap();
        self.plan.delay / 2 + self.within(delay + 1)
    }

    /// What servers have sent is on its way.
    fn depart(&mut self) {
        for flight in self.world.depart() {
            let arrives = self.now + self.way();
            self.at(arrives, What::Arrives(flight));
        }
    }

    /// Runs until `done`, which looks whenever a page has heard something.
    fn until(&mut self, most: Time, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let ((now, _), what) = self.queue.pop_first().unwrap();
            assert!(now < most, "{} of {} are on the board", self.took.len(), self.said);
            self.now = now;
            self.happens(what);
            self.depart();
        }
    }

    fn happens(&mut self, what: What) {
        match what {
            What::Tick(server) => {
                self.world.event(server, Event::Tick);
                self.at(self.now + TICK, What::Tick(server));
            }
            What::Arrives(flight) => self.world.deliver(flight),
            What::Beat(page) => {
                self.pages[page].visitor.tick();
                self.at(self.now + BEAT, What::Beat(page));
            }
            What::Says(page) => {
                let said = format!("{} of {page}", self.said);
                self.said += 1;
                self.pages[page].visitor.say(said.into_bytes()).unwrap();
                self.pages[page].waits = Some(self.now);
            }
            What::Visits(page, server) => {
                let visitor = &mut self.pages[page].visitor;
                drop(visitor.kept());
                let ask = visitor.ask(id(server));
                let arrives = self.now + self.way();
                self.at(arrives, What::Asks(page, server, ask));
            }
            What::Asks(page, server, ask) => {
                // Who is dead gives no answer, and the page asks it again and again in vain.
                if let Some(answer) = self.world.visit(server, &ask) {
                    let arrives = self.now + self.way();
                    self.at(arrives, What::Answers(page, server, answer));
                }
            }
            What::Answers(page, server, answer) => self.answers(page, server, &answer),
        }
    }

    fn answers(&mut self, page: usize, server: usize, answer: &[u8]) {
        let visitor = &mut self.pages[page].visitor;
        let news = visitor.take(id(server), answer).unwrap();
        if visitor.is_left_out() {
            self.left_out.insert(page);
        }
        if news.iter().any(|news| matches!(news, News::Published(_))) {
            let said = self.pages[page].waits.take().unwrap();
            self.took.push(self.now - said);
            if self.plan.again > 0 {
                let says = self.now + 3_000 + self.within(self.plan.again);
                self.at(says, What::Says(page));
            }
        }
        self.at(self.now + PAUSE, What::Visits(page, server));
    }

    /// The median, nine of ten, and the worst.
    fn waited(&self) -> [Time; 3] {
        let mut took = self.took.clone();
        took.sort_unstable();
        [took.len() / 2, took.len() * 9 / 10, took.len() - 1].map(|at| took[at])
    }

    fn tell(&self) {
        let [median, most, worst] = self.waited();
        println!(
            "{} servers, {} ms, {} pages: {} messages in {} rounds; median {median} ms, nine of ten \
             {most}, worst {worst}",
            self.world.room.servers(),
            self.plan.delay,
            self.pages.len(),
            self.took.len(),
            self.world.entries(),
        );
    }
}

/// One of four servers is dead, and everybody says something within a few seconds. (Were servers
/// nearer to each other, the three rounds that there is stock for would be over before the last
/// one speaks.)
#[test]
fn a_hundred_people_wait_no_longer_while_a_server_is_dead() {
    let delays: &[Time] = if nightly() { &[10, 25, 50] } else { &[10] };
    for &delay in delays {
        for pages in [8, 100] {
            let mut room = Timed::new(Plan { pages, delay, ..PLAN });
            room.until(60_000, |room| room.took.len() == pages);
            room.tell();
            assert!(delay > 25 || room.waited()[0] <= AIM, "{pages} pages");
            assert!(room.pages[0].visitor.here().ended == Some(End::Away));
        }
    }
}

/// Whose home collects nearly all rows does not count for the minimum: some places go to other
/// homes, and nobody waits for a crowd that is there.
#[test]
fn few_people_whose_homes_are_alike_wait_no_longer() {
    for dead in [0, 1] {
        let mut room = Timed::new(Plan { pages: 8, dead, alike: true, ..PLAN });
        room.until(60_000, |room| room.took.len() == 8);
        room.tell();
        // Eight times the time of a round would be 24 s.
        assert!(room.waited()[2] <= 16_000, "{:?}", room.waited());
        let board = room.world.board();
        let few = board.iter().any(|signed| signed.entry.outcome == Outcome::TooFew);
        assert!(!few, "a round was lost");
    }
}

/// With a server to spare it is so for as long as one likes.
#[test]
fn with_a_server_to_spare_nobody_waits_longer_as_time_passes() {
    let pages = if nightly() { 100 } else { 12 };
    let mut room = Timed::new(Plan { servers: 5, pages, again: 15_000, ..PLAN });
    let said = 6 * pages;
    room.until(300_000, |room| room.took.len() >= said);
    room.tell();
    assert!(room.waited()[0] <= AIM);
    let (early, late) = room.took.split_at(said / 2);
    let median = |part: &[Time]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part[part.len() / 2]
    };
    assert!(median(late) <= median(early) + 1_000, "{} {}", median(early), median(late));
    assert_eq!(room.pages[0].visitor.here().ended, None);
}

/// More people than places: who finds none is told so, and is not left out for long.
#[test]
fn more_people_than_places_take_turns() {
    let shape = Shape { rows: 16, ..SHAPE };
    let mut room = Timed::new(Plan { dead: 0, shape, pages: 28, ..PLAN });
    room.until(60_000, |room| room.took.len() == 28);
    room.tell();
    assert!(!room.left_out.is_empty(), "there were places for all");
    // All of them always take part; nobody misses more than two rounds.
    assert!(room.waited()[2] <= 20_000, "{:?}", room.waited());
}

//! Clients on a common board: attacks by name, and a crowd.

mod alike;
mod answers;
mod attacks;
mod callers;
mod copies;
mod crowd;
mod fetching;
mod first_words;
mod traffic;

use ostrakon_crypto::{Secret, Stream};
use ostrakon_mixing::RoomId;
use rand_core::Rng;

use crate::params::CYCLE;
use crate::{Client, Event};

pub(crate) const ROOM: RoomId = RoomId([5; 16]);
pub(crate) const WIDTH: usize = 254;

/// Clients, and the round that is next.
pub(crate) struct World {
    pub clients: Vec<Client>,
    pub round: u64,
    pub rng: Stream,
    /// What each was told.
    pub events: Vec<Vec<Event>>,
    /// The last board.
    pub board: Vec<Vec<u8>>,
}

pub(crate) fn generator(seed: u64) -> Stream {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    Stream::of(Secret::new(bytes), "messaging test")
}

impl World {
    pub fn new(clients: usize, seed: u64) -> Self {
        let client = |number| Client::new(ROOM, WIDTH, &format!("client {number}")).unwrap();
        Self {
            clients: (0..clients).map(client).collect(),
            round: 0,
            rng: generator(seed),
            events: vec![Vec::new(); clients],
            board: Vec::new(),
        }
    }

    /// A round in which all take part.
    pub fn round(&mut self) {
        let all = vec![true; self.clients.len()];
        self.round_of(&all);
    }

    /// A round in which some take part; its board in a random order.
    pub fn round_of(&mut self, present: &[bool]) {
        self.board.clear();
        for (client, _) in self.clients.iter_mut().zip(present).filter(|(_, present)| **present) {
            let row = client.next_row(self.round, &mut self.rng).unwrap();
            let at = self.rng.next_u64() as usize % (self.board.len() + 1);
            self.board.insert(at, row);
        }
        self.show(present);
    }

    /// Shows the board to those who are there, and goes on to the next round.
    pub fn show(&mut self, present: &[bool]) {
        let rows: Vec<&[u8]> = self.board.iter().map(Vec::as_slice).collect();
        let everybody = self.clients.iter_mut().zip(&mut self.events).zip(present);
        for ((client, events), _) in everybody.filter(|(_, present)| **present) {
            events.extend(client.on_round(self.round, &rows));
        }
        self.round += 1;
    }

    /// Rounds until a dial round is over.
    pub fn dial(&mut self) {
        for _ in 0..CYCLE {
            self.round();
        }
    }

    /// Lets `caller` call `callee` by a fresh link, and `callee` accept. Contacts' numbers.
    pub fn connect(&mut self, caller: usize, callee: usize) -> (u32, u32) {
        let link = self.clients[callee].add_link("", &mut self.rng).unwrap();
        let contact = self.clients[caller].add_contact(link.callee, "callee").unwrap();
        self.clients[caller].call(contact, None, &mut self.rng).unwrap();
        self.dial();
        let called = self.called(callee).expect("the call was heard");
        self.clients[callee].accept(called, &mut self.rng).unwrap();
        self.dial();
        self.dial();
        self.events.iter_mut().for_each(Vec::clear);
        (contact, called)
    }

    /// Who calls a client.
    pub fn called(&self, client: usize) -> Option<u32> {
        self.events[client].iter().rev().find_map(|event| match event {
            Event::Called { contact, .. } => Some(*contact),
            _ => None,
        })
    }

    /// What a client was told by its partners.
    pub fn heard(&self, client: usize) -> Vec<&str> {
        let text = |event: &'_ Event| matches!(event, Event::Received { .. });
        let received = self.events[client].iter().filter(|event| text(event));
        received.map(|e| if let Event::Received { text, .. } = e { &**text } else { "" }).collect()
    }
}

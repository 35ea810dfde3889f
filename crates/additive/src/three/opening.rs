//! Opening the output (`docs/spec/clarion.md`, E15): each server misses one thing, which both
//! others hold and have stated.

use bytes::Bytes;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::{Prg, gather, gather_xor, xor_into};
use ostrakon_party::{Body, Received};
use ostrakon_threeparty::Statement;
use ostrakon_threeparty::pair::Pair;

use super::checks::Made;
use super::fault::{Evidence, Fault};
use super::messages::{Kind, PairStatement};
use super::purposes::{Purpose, opened_of, seed_digest};
use super::registration::Run;
use super::tables::Mixing;
use super::{P1, P2, P3};

/// What is opened, against which statements.
pub struct Opening<'a> {
    /// The run.
    pub run: &'a Run,
    /// Shapes and keys.
    pub mixing: &'a Mixing,
    /// The own tables.
    pub made: Made,
    /// All servers' statements about seeds.
    pub seeds: &'a [Received; 3],
    /// All servers' statements about tables.
    pub tables: &'a [Received; 3],
    /// The digest of z1's message that sender and receiver state.
    pub z1: Digest,
}

impl Opening<'_> {
    /// Gives, gets and computes. Returns the table and the faults met on the way, which could not
    /// stop it.
    pub async fn run(mut self) -> (Vec<u8>, Vec<Fault>) {
        self.give();
        match self.run.me() {
            P1 => {
                let (d, faults) = self.seed(Kind::OpenD).await;
                let mut table = self.take(Kind::S);
                self.mixing.keys.prg(Purpose::B).xor_at(0, &mut table);
                d.xor_at(0, &mut table);
                (table, faults)
            }
            P2 => {
                let (b, faults) = self.seed(Kind::OpenB).await;
                let pi2 = self.mixing.permutation(Purpose::Pi2);
                let mut table = self.take(Kind::Delta);
                let z1 = self.mixing.table(self.made.message(Kind::Z1));
                gather_xor(&mut table, z1, self.mixing.width, pi2);
                b.xor_at(0, &mut table);
                (table, faults)
            }
            _ => {
                let (z1, faults) = self.z1().await;
                // π2(z1 + π1(a) + a′).
                let mut inner = std::mem::take(&mut self.made.inner);
                let mut table = self.in_place(z1);
                xor_into(&mut inner, &table);
                let pi2 = self.mixing.permutation(Purpose::Pi2);
                gather(&mut table, &inner, self.mixing.width, pi2);
                (table, faults)
            }
        }
    }

    /// The table of a message that is needed no longer, where it lies.
    fn take(&mut self, kind: Kind) -> Vec<u8> {
        let message = self.made.take(kind);
        self.in_place(message)
    }

    fn in_place(&self, message: Bytes) -> Vec<u8> {
        let mut table = Vec::from(message);
        table.truncate(self.mixing.bytes());
        table
    }

    /// Sends each peer what it misses, or holds it ready: the lower holder sends, the higher one
    /// keeps.
    fn give(&self) {
        let seed = |purpose| Body::from(self.mixing.keys.seed(purpose).expose().to_vec());
        for peer in self.run.peers() {
            let (kind, body) = match peer {
                P1 => (Kind::OpenD, seed(Purpose::D)),
                P2 => (Kind::OpenB, seed(Purpose::B)),
                P3 => (Kind::OpenZ1, Body::known(self.made.message(Kind::Z1).clone(), self.z1)),
                _ => unreachable!("there are three servers"),
            };
            if Pair::without(peer).members()[0] == self.run.me() {
                self.run.send(peer, kind, body)
            } else {
                self.run.offer(peer, kind, body)
            };
        }
    }

    async fn seed(&self, kind: Kind) -> (Prg, Vec<Fault>) {
        let missing = Pair::without(self.run.me());
        debug_assert!(opened_of(missing).is_some());
        let accept = |received: &Received| {
            let from = received.signed.header.from;
            let statement = &self.seeds[from.index()];
            let stated = PairStatement::of(&statement.body, from.0, missing).opened;
            if seed_digest(&received.body) == stated {
                let seed = Secret::new(received.body[..].try_into().expect("length is checked"));
                return Ok(Prg::new(seed.expose()));
            }
            Err(Evidence::Opened {
                message: Box::new(received.into()),
                statement: Box::new(statement.into()),
            })
        };
        self.run.receive_from_either(missing.members(), kind, accept).await
    }

    async fn z1(&self) -> (Bytes, Vec<Fault>) {
        let accept = |received: &Received| {
            if received.digest() == self.z1 {
                return Ok(received.body.clone());
            }
            let statement = &self.tables[received.signed.header.from.index()];
            let message = Statement { signed: received.signed, body: Vec::new() };
            Err(Evidence::Opened {
                message: Box::new(message),
                statement: Box::new(statement.into()),
            })
        };
        self.run.receive_from_either([P1, P2], Kind::OpenZ1, accept).await
    }
}

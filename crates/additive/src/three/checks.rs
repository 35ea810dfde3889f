//! The checks of all four tables (`docs/spec/clarion.md`, E11 to E13).
//!
//! Words that a server evaluates or answers have been made by two others, one of whom sent their
//! digest. The digests are compared first; if they differ, nothing else is done with the words.

use std::sync::OnceLock;

use bytes::Bytes;
use futures::future::{join, try_join, try_join3};
use ostrakon_party::{Body, Header, Received};
use ostrakon_threeparty::Statement;

use super::fault::{Abort, Contradiction};
use super::halt::Halt;
use super::messages::{A, B, FG, Kind, L, M, TABLES, U, WORDS, WordRoute, YZ};
use super::purposes::Purpose;
use super::registration::Run;
use super::tables::columns::{
    add, compress, compress_stream, joined, mask, permute, sum, unpermute,
};
use super::tables::{Mixing, Pads};
use super::{K12, K13, K23, P1, P2};
use crate::params::WORD;

/// What a server has of the mix when the coin is tossed.
pub struct Made {
    /// The messages of the tables that it sent or received, in the order of [`TABLES`].
    pub messages: [Option<Body>; 4],
    /// At P3, π1(a) + a′.
    pub inner: Vec<u8>,
}

impl Made {
    /// A table's message.
    pub fn message(&self, kind: Kind) -> &Bytes {
        let message = self.messages[place(kind)].as_ref();
        message.expect("a server asks for tables of its own").bytes()
    }

    /// A table's message, which is given up.
    pub fn take(&mut self, kind: Kind) -> Bytes {
        let message = self.messages[place(kind)].take();
        message.expect("a server asks for tables of its own, once").into_bytes()
    }
}

/// A table's place in [`TABLES`].
pub fn place(kind: Kind) -> usize {
    TABLES.iter().position(|table| table.kind == kind).expect("one of the tables")
}

/// One server's part in the checks.
pub struct Checks<'a> {
    run: &'a Run,
    mixing: &'a Mixing,
    pads: &'a Pads,
    made: Made,
    /// The vector of the coin.
    c: Vec<u64>,
    /// ⟨c, T⟩ of the tables in the order of [`TABLES`], and of a and a′, made when they are needed
    /// first: most of them more than once.
    compressed: [OnceLock<Vec<u8>>; 6],
}

impl<'a> Checks<'a> {
    /// Of the tables that were made, with the vector of the coin.
    pub fn new(run: &'a Run, mixing: &'a Mixing, pads: &'a Pads, made: Made, c: Vec<u64>) -> Self {
        Self { run, mixing, pads, made, c, compressed: Default::default() }
    }

    /// Runs this server's part, asking for others' words before it makes its own, which takes a
    /// while: long ones travel when they are asked for. Gives back its tables, of which all are
    /// right.
    ///
    /// # Errors
    /// [`Halt::Stop`] if a digest differs or a table does not pass.
    pub async fn run(self) -> Result<Made, Halt> {
        match self.run.me() {
            P1 => self.as_p1().await,
            P2 => self.as_p2().await,
            _ => self.as_p3().await,
        }?;
        Ok(self.made)
    }

    async fn as_p1(&self) -> Result<(), Halt> {
        let pi12 = self.mixing.permutation(Purpose::Pi12);
        let own = async {
            self.say(L, self.l());
            self.vouch(U, &self.u());
            let y = add(self.y_in_z1(), &self.mixing.inner_z1());
            self.vouch(YZ, &joined(&[&y, &self.z_of_z1()]));
        };
        let z2 = async {
            let [f, g] = self.confirmed(FG).await?;
            let stands = self.with_column(Kind::Z2);
            self.judge(Kind::Z2, stands == add(permute(pi12, &f), &g))
        };
        let answer = async {
            let [a] = self.confirmed(A).await?;
            self.say(B, self.b(&a));
            Ok(())
        };
        let s = async {
            let [m] = self.confirmed(M).await?;
            let stands = self.with_column(Kind::S);
            self.judge(Kind::S, stands == m)
        };
        join(try_join3(z2, answer, s), own).await.0.map(|_| ())
    }

    async fn as_p2(&self) -> Result<(), Halt> {
        let pi2 = self.mixing.permutation(Purpose::Pi2);
        let own = async {
            self.say(A, self.a());
            self.vouch(FG, &self.fg(self.s23_in_z2()));
            let l = self.l();
            self.vouch(L, &l);
            self.vouch(M, &self.m(pi2, &l));
        };
        let answer = async {
            let [u] = self.confirmed(U).await?;
            let y = add(self.pads.compressed_over(K12, &self.c), &u);
            let pi12 = self.mixing.permutation(Purpose::Pi12);
            let y = add(self.mixing.permuted(pi12, &y, Purpose::H), self.table(Kind::Z2));
            self.say(YZ, joined(&[&y, &self.z_of_z1()]));
            Ok(())
        };
        let delta = async {
            let [b, b_prime] = self.confirmed(B).await?;
            let stands = self.with_column(Kind::Delta);
            self.judge(Kind::Delta, stands == add(permute(pi2, &b), &b_prime))
        };
        join(try_join(answer, delta), own).await.0.map(|_| ())
    }

    async fn as_p3(&self) -> Result<(), Halt> {
        let (pi1, pi2) =
            (self.mixing.permutation(Purpose::Pi1), self.mixing.permutation(Purpose::Pi2));
        let own = async {
            self.say(FG, self.fg(self.pads.compressed(K23, &self.c)));
            self.say(U, self.u());
            let a = self.a();
            self.vouch(A, &a);
            self.vouch(B, &self.b(&a));
        };
        let answer = async {
            let [l] = self.confirmed(L).await?;
            self.say(M, self.m(pi2, &l));
            Ok(())
        };
        let z1 = async {
            let [y, z] = self.confirmed(YZ).await?;
            let right = add(self.mixing.permuted(pi1, &y, Purpose::GPrime), self.a_prime());
            self.judge(Kind::Z1, z == right)
        };
        join(try_join(answer, z1), own).await.0.map(|_| ())
    }

    /// F = ⟨c, s23⟩ + q, G = ⟨c, a⟩ + g, of the compressed s23.
    fn fg(&self, s23: Vec<u8>) -> Vec<u8> {
        let g = add(self.mixing.own(Purpose::G), self.stream_a());
        joined(&[&self.masked(s23, Purpose::Q), &g])
    }

    /// P2's ⟨c, s23⟩, out of its own z2 = π12(s23) + a: that is less than making the pads again.
    fn s23_in_z2(&self) -> Vec<u8> {
        let s23 = sum(self.table(Kind::Z2), self.stream_a());
        unpermute(self.mixing.permutation(Purpose::Pi12), &s23)
    }

    /// P1's ⟨c, y⟩, out of its own z1 = π1(y) + a′: so y is not kept.
    fn y_in_z1(&self) -> Vec<u8> {
        let y = sum(self.table(Kind::Z1), self.a_prime());
        unpermute(self.mixing.permutation(Purpose::Pi1), &y)
    }

    /// U = ⟨c, s13⟩ + q′.
    fn u(&self) -> Vec<u8> {
        self.masked(self.pads.compressed(K13, &self.c), Purpose::QPrime)
    }

    /// Z = ⟨c, z1⟩ + z1^q.
    fn z_of_z1(&self) -> Vec<u8> {
        self.with_column(Kind::Z1)
    }

    /// A = ⟨c, a⟩ + q″.
    fn a(&self) -> Vec<u8> {
        add(self.mixing.own(Purpose::QSecond), self.stream_a())
    }

    /// B = π1(A) + ⟨c, a′⟩ + g″, B′ = ⟨c, b⟩ + b^q.
    fn b(&self, a: &[u8]) -> Vec<u8> {
        let pi1 = self.mixing.permutation(Purpose::Pi1);
        let b = self.mixing.permuted(pi1, a, Purpose::GSecond);
        let b_prime = self.masked(self.stream(Purpose::B), Purpose::BColumn);
        joined(&[&add(b, self.a_prime()), &b_prime])
    }

    /// L = ⟨c, z1⟩ + w.
    fn l(&self) -> Vec<u8> {
        add(self.mixing.own(Purpose::W), self.table(Kind::Z1))
    }

    /// M = π2(L) + ⟨c, Δ + d⟩ + v.
    fn m(&self, pi2: &[u32], l: &[u8]) -> Vec<u8> {
        let m = add(self.mixing.permuted(pi2, l, Purpose::V), self.table(Kind::Delta));
        add(m, &self.stream(Purpose::D))
    }

    fn masked(&self, column: Vec<u8>, purpose: Purpose) -> Vec<u8> {
        mask(column, &self.mixing.keys.prg(purpose))
    }

    /// ⟨c, T⟩ of a table that was sent or received.
    fn table(&self, kind: Kind) -> &[u8] {
        self.compressed[place(kind)]
            .get_or_init(|| compress(&self.c, self.mixing.table(self.made.message(kind))))
    }

    /// The same with the table's column.
    fn with_column(&self, kind: Kind) -> Vec<u8> {
        sum(self.mixing.column(self.made.message(kind)), self.table(kind))
    }

    /// ⟨c, a⟩.
    fn stream_a(&self) -> &[u8] {
        self.compressed[TABLES.len()].get_or_init(|| self.stream(Purpose::A))
    }

    /// ⟨c, a′⟩.
    fn a_prime(&self) -> &[u8] {
        self.compressed[TABLES.len() + 1].get_or_init(|| self.stream(Purpose::APrime))
    }

    fn stream(&self, table: Purpose) -> Vec<u8> {
        compress_stream(&self.c, &self.mixing.keys.prg(table), self.mixing.rows)
    }

    fn say(&self, route: WordRoute, words: Vec<u8>) {
        self.run.send(route.to, route.kind, words);
    }

    /// Sends the digest of words that another server sends.
    fn vouch(&self, route: WordRoute, words: &[u8]) {
        let digest = Header::digest_of(words);
        self.run.send(route.to, route.digest, digest.0.to_vec());
    }

    fn judge(&self, table: Kind, passes: bool) -> Result<(), Halt> {
        if passes { Ok(()) } else { Err(Halt::Stop(Abort::Table(table))) }
    }

    /// Words of which both makers say the same.
    async fn confirmed<const COLUMNS: usize>(
        &self,
        route: WordRoute,
    ) -> Result<[Bytes; COLUMNS], Halt> {
        debug_assert!(WORDS.contains(&route) && route.columns == COLUMNS);
        let (words, digest) = join(
            self.run.receive(route.from, route.kind),
            self.run.receive(route.second, route.digest),
        )
        .await;
        let (words, digest): (Received, Received) = (words?, digest?);
        if digest.body[..] != words.digest().0 {
            let contradiction =
                Contradiction { words: words.signed, digest: Statement::from(&digest) };
            return Err(Halt::Stop(Abort::Contradiction(Box::new(contradiction))));
        }
        let column = self.mixing.rows * WORD;
        if words.body.len() != COLUMNS * column {
            return Err(Halt::Stop(Abort::Words(route.kind)));
        }
        Ok(std::array::from_fn(|i| words.body.slice(i * column..(i + 1) * column)))
    }
}

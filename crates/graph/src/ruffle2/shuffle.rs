//! One use on data (`docs/spec/ruffle2.md`, Q1 to Q4): every table from one server, its digest from
//! another one, and nobody sends anything that depends on a table before the two agree.

use bytes::Bytes;
use futures::future::try_join_all;
use ostrakon_field::WordField;
use ostrakon_party::{Body, Header};
use ostrakon_replicated::pair::Pair;

use super::factors::Factors;
use super::fault::Stop;
use super::journal::{Journal, bind};
use super::run::Run;
use super::seeds::{JobSeeds, Purpose};
use super::steps::{Kind, Rule};
use super::uses::{Use, permuted};

/// A use with the table β that it is applied to.
pub struct Applied {
    /// The use.
    pub of: Use,
    /// Its number in the job, for the messages' tags.
    pub sequence: u32,
    /// β.
    pub beta: Vec<u8>,
}

/// What a server needs to apply uses.
pub struct Shuffler<'a> {
    /// The phase.
    pub run: &'a Run,
    /// The number of the job, for marks.
    pub job: u64,
    /// Its seeds.
    pub seeds: &'a JobSeeds,
    /// The factors that it knows.
    pub factors: &'a Factors,
    /// Its marks.
    pub journal: &'a dyn Journal,
}

impl Shuffler<'_> {
    /// Applies uses that have the same roles, side by side. Returns B1 = π(β) + R for each.
    ///
    /// # Errors
    /// [`Stop::Spent`] if one of them has been applied to another table; [`Stop::Evidence`] if two
    /// servers disagree about a table; [`Stop::Malformed`].
    ///
    /// # Panics
    /// If the uses have different roles.
    pub async fn apply<F: WordField>(&self, uses: Vec<Applied>) -> Result<Vec<Bytes>, Stop> {
        let Some(first) = uses.first() else { return Ok(Vec::new()) };
        let roles = first.of.roles();
        assert!(
            uses.iter().all(|u| u.of.roles() == roles),
            "uses side by side have the same roles"
        );
        for applied in &uses {
            let [p, n, i] = applied.of.id.numbers();
            let name = format!("job {} permutation {p} use {n} direction {i}", self.job);
            bind(self.journal, name, &Header::digest_of(&applied.beta))?;
        }
        match self.run.me() {
            me if me == roles.x => self.as_x::<F>(uses).await,
            me if me == roles.y => self.as_y::<F>(uses).await,
            _ => self.as_z::<F>(uses).await,
        }
    }

    /// π_ij(table + R_ij).
    fn step<F: WordField>(&self, of: &Use, pair: Pair, mut table: Vec<u8>) -> Body {
        F::add_stream(&mut table, &self.seeds.of(pair).prg(Purpose::Mask(of.id)));
        Body::new(permuted(&table, of.width(), self.factors.of(of, pair)))
    }

    fn digest(&self, to: u8, kind: Kind, sequence: u32, table: &Body) {
        self.run.send(to, kind, sequence, table.digest().0.to_vec());
    }

    async fn receive<F: WordField>(
        &self,
        kinds: (Kind, Kind),
        from: (u8, u8),
        uses: &[Applied],
    ) -> Result<Vec<Bytes>, Stop> {
        // All at once: a long message travels when it is asked for.
        try_join_all(uses.iter().map(|applied| {
            let rule = Rule::table::<F>(applied.of.elements());
            self.run.receive_vouched(kinds, from, applied.sequence, rule)
        }))
        .await
    }

    /// X: digest of δ1 to Y and δ2 to Z; takes δ3 from Y and its digest from Z.
    async fn as_x<F: WordField>(&self, mut uses: Vec<Applied>) -> Result<Vec<Bytes>, Stop> {
        for Applied { of, sequence, beta } in &mut uses {
            let (roles, [xz, xy, _]) = (of.roles(), of.roles().stages());
            let d1 = self.step::<F>(of, xz, std::mem::take(beta));
            self.digest(roles.y, Kind::Delta1Digest, *sequence, &d1);
            let d2 = self.step::<F>(of, xy, d1.into_bytes().into());
            self.run.send(roles.z, Kind::Delta2, *sequence, d2);
        }
        let roles = uses[0].of.roles();
        let kinds = (Kind::Delta3, Kind::Delta3Digest);
        self.receive::<F>(kinds, (roles.y, roles.z), &uses).await
    }

    /// Y: takes δ1 from Z and its digest from X; digest of δ2 to Z and δ3 to X.
    async fn as_y<F: WordField>(&self, uses: Vec<Applied>) -> Result<Vec<Bytes>, Stop> {
        let roles = uses[0].of.roles();
        let kinds = (Kind::Delta1, Kind::Delta1Digest);
        let received = self.receive::<F>(kinds, (roles.z, roles.x), &uses).await?;
        let mut tables = Vec::with_capacity(uses.len());
        for (Applied { of, sequence, .. }, d1) in uses.iter().zip(received) {
            let [_, xy, yz] = of.roles().stages();
            let d2 = self.step::<F>(of, xy, d1.into());
            self.digest(roles.z, Kind::Delta2Digest, *sequence, &d2);
            let d3 = self.step::<F>(of, yz, d2.into_bytes().into());
            self.run.send(roles.x, Kind::Delta3, *sequence, d3.clone());
            tables.push(d3.into_bytes());
        }
        Ok(tables)
    }

    /// Z: δ1 to Y; takes δ2 from X and its digest from Y, and sends nothing before they agree;
    /// digest of δ3 to X.
    async fn as_z<F: WordField>(&self, mut uses: Vec<Applied>) -> Result<Vec<Bytes>, Stop> {
        let roles = uses[0].of.roles();
        for Applied { of, sequence, beta } in &mut uses {
            let [xz, _, _] = of.roles().stages();
            let d1 = self.step::<F>(of, xz, std::mem::take(beta));
            self.run.send(roles.y, Kind::Delta1, *sequence, d1);
        }
        let kinds = (Kind::Delta2, Kind::Delta2Digest);
        let received = self.receive::<F>(kinds, (roles.x, roles.y), &uses).await?;
        let mut tables = Vec::with_capacity(uses.len());
        for (Applied { of, sequence, .. }, d2) in uses.iter().zip(received) {
            let [_, _, yz] = of.roles().stages();
            let d3 = self.step::<F>(of, yz, d2.into());
            self.digest(roles.x, Kind::Delta3Digest, *sequence, &d3);
            tables.push(d3.into_bytes());
        }
        Ok(tables)
    }
}

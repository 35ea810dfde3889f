//! What electors agree on before anything is drawn, and the beacon that they make afterwards
//! (`docs/spec/election.md`, E2 and E3).
//!
//! Everybody who relies on a draw signs the table with a commitment to 32 random bytes; when all
//! have signed, each opens its commitment. So nobody knew the beacon when the table was fixed.

use std::collections::BTreeSet;

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::{Beacon, Operator, Strength, Table, TooWeak};
use crate::{MEMBERS, TITLE_BYTES, is_label};

/// How many electors there may be: each has to come twice.
pub const ELECTORS: std::ops::RangeInclusive<usize> = 2..=64;
/// Parts of all weight in which a fraction of it is told.
const MILLION: u32 = 1_000_000;
/// Most elections that may come to nothing: each doubles what is reckoned with.
const MOST_WITHHELD: u32 = 20;

/// What is drawn of which table, and who makes the beacon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What the committee is for, for people. Of one title there are so many elections as
    /// [`Plan::withheld`] says and one more.
    pub title: String,
    /// The table's digest.
    pub table: Digest,
    /// How many operators are drawn.
    pub members: usize,
    /// The part of all weight that may be corrupt, in millionths.
    pub corrupt: u32,
    /// How many elections may come to nothing since an elector does not open: each is a choice
    /// between what would come and what comes next.
    pub withheld: u32,
    /// Which of the elections of this title this is, from 0.
    pub election: u32,
    /// A committee without an honest member is to be rarer than 2^-security.
    pub security: u32,
    /// Who makes the beacon, in ascending order.
    pub electors: Vec<VerifyingKey>,
}

/// Why documents are no election.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoElection {
    /// The plan.
    #[error("the plan {0}")]
    Plan(&'static str),
    /// The bound, or too few families.
    #[error(transparent)]
    TooWeak(#[from] TooWeak),
    /// The table is another one.
    #[error(
        "the electors have agreed on the table {agreed}, and this one is {this}: get their file, \
         or have them agree on yours"
    )]
    Table {
        /// Theirs.
        agreed: String,
        /// This one.
        this: String,
    },
    /// Somebody has not signed what all have to sign.
    #[error("the elector {0} has not signed this {1}: ask for it, or begin the next election")]
    Missing(String, &'static str),
    /// Somebody is no elector, or has signed twice.
    #[error("the key {0} is no elector's, or two of the files are its own")]
    Stranger(String),
    /// A commitment that is opened otherwise.
    #[error("the elector {0} opens other bytes than it has committed to")]
    Opened(String),
}

impl Plan {
    /// Names the plan.
    pub fn digest(&self) -> Digest {
        let Self { title, table, members, corrupt, withheld, election, security, electors } = self;
        let mut transcript = Transcript::new("ostrakon/v1/election/plan");
        transcript.field(title.as_bytes()).field(&table.0).number(*members as u64);
        for number in [corrupt, withheld, election, security] {
            transcript.number(u64::from(*number));
        }
        electors.iter().for_each(|elector| {
            transcript.field(&elector.0);
        });
        transcript.finish()
    }

    /// Names this election among all of its title and others': nobody vouches for two plans of
    /// one.
    pub fn occasion(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/election/occasion");
        transcript.field(self.title.as_bytes()).number(u64::from(self.election)).finish()
    }

    /// Whether such a draw is strong enough, with an engine that holds but for 2^-`engine`.
    ///
    /// # Errors
    /// [`NoElection`].
    pub fn check(&self, engine: u32) -> Result<Strength, NoElection> {
        let ensure = |holds, what| if holds { Ok(()) } else { Err(NoElection::Plan(what)) };
        ensure(is_label(&self.title, TITLE_BYTES), "needs a title of one line, up to 200 bytes")?;
        ensure(
            ELECTORS.contains(&self.electors.len()),
            "needs 2 to 64 electors, of whom one has to be honest",
        )?;
        let ascend = self.electors.windows(2).all(|pair| pair[0] < pair[1]);
        ensure(ascend, "names its electors in another order than by their keys, or one twice")?;
        ensure(self.withheld <= MOST_WITHHELD, "lets more than 20 elections come to nothing")?;
        ensure(
            self.election <= self.withheld,
            "is of more elections than it lets come to nothing: a higher figure, which needs more \
             members, has to be agreed on under a new title",
        )?;
        let inside = MEMBERS.contains(&self.members) && (1..MILLION).contains(&self.corrupt);
        ensure(inside, "draws 2 to 32 members, and some of the weight is corrupt but not all")?;
        let strength = Strength {
            members: self.members,
            corrupt: f64::from(self.corrupt) / f64::from(MILLION),
            withheld: self.withheld,
            elections: 1,
            security: self.security,
            engine,
        };
        strength.check()?;
        Ok(strength)
    }

    /// Whether this is the table.
    ///
    /// # Errors
    /// [`NoElection::Table`].
    pub fn is_of(&self, table: &Table) -> Result<(), NoElection> {
        let (agreed, this) = (self.table, table.digest());
        if agreed == this {
            return Ok(());
        }
        Err(NoElection::Table { agreed: agreed.to_hex(), this: this.to_hex() })
    }

    /// The bytes of an elector, which hang on its key and this plan alone.
    fn secret(&self, key: &SigningKey) -> Digest {
        let plan = self.digest();
        Digest(*key.derive("ostrakon/v1/election/secret", &[&plan.0]).expose())
    }

    fn commitment(&self, elector: &VerifyingKey, secret: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/election/commitment");
        transcript.field(&self.digest().0).field(&elector.0).field(&secret.0).finish()
    }
}

/// An elector's word that it agrees with a plan, and its commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vouch {
    /// Who says so.
    pub elector: VerifyingKey,
    /// To what it will open.
    pub commitment: Digest,
    /// Its signature on plan and commitment.
    pub signature: Signature,
}

impl Vouch {
    /// Agrees with a plan. Nobody does with two plans of one [occasion](Plan::occasion).
    pub fn sign(plan: &Plan, key: &SigningKey) -> Self {
        let elector = key.verifying_key();
        let commitment = plan.commitment(&elector, &plan.secret(key));
        let signature = key.sign(&Self::digest(plan, &commitment));
        Self { elector, commitment, signature }
    }

    fn digest(plan: &Plan, commitment: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/election/vouch");
        transcript.field(&plan.digest().0).field(&commitment.0).finish()
    }

    fn verifies(&self, plan: &Plan) -> bool {
        self.elector.verifies(&Self::digest(plan, &self.commitment), &self.signature)
    }
}

/// A plan with which all electors agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// The plan.
    pub plan: Plan,
    /// Of all electors, in their order.
    pub vouches: Vec<Vouch>,
}

/// One of each elector, in the plan's order.
fn one_of_each<T: Copy>(
    plan: &Plan,
    all: Vec<T>,
    (elector, what): (impl Fn(&T) -> VerifyingKey, &'static str),
) -> Result<Vec<T>, NoElection> {
    let mut seen = BTreeSet::new();
    let known = |key: &VerifyingKey| plan.electors.binary_search(key).is_ok();
    if let Some(stranger) = all.iter().map(&elector).find(|key| !known(key) || !seen.insert(*key)) {
        return Err(NoElection::Stranger(stranger.to_hex()));
    }
    let of = |key: &VerifyingKey| all.iter().find(|of| elector(of) == *key).copied();
    let ordered = plan
        .electors
        .iter()
        .map(|key| of(key).ok_or_else(|| NoElection::Missing(key.to_hex(), what)));
    ordered.collect()
}

impl Agreement {
    /// Puts together what electors have signed, in any order.
    ///
    /// # Errors
    /// [`NoElection`].
    pub fn new(plan: Plan, vouches: Vec<Vouch>) -> Result<Self, NoElection> {
        let vouches = one_of_each(&plan, vouches, (|vouch: &Vouch| vouch.elector, "plan"))?;
        let agreement = Self { plan, vouches };
        agreement.verify()?;
        Ok(agreement)
    }

    /// Whether every elector has signed.
    ///
    /// # Errors
    /// [`NoElection`].
    pub fn verify(&self) -> Result<(), NoElection> {
        let ordered =
            one_of_each(&self.plan, self.vouches.clone(), (|of: &Vouch| of.elector, "plan"))?;
        match ordered.iter().find(|vouch| !vouch.verifies(&self.plan)) {
            Some(vouch) => Err(NoElection::Missing(vouch.elector.to_hex(), "plan")),
            None => Ok(()),
        }
    }

    /// Names the agreement with all commitments.
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/election/agreement");
        transcript.field(&self.plan.digest().0);
        for Vouch { elector, commitment, .. } in &self.vouches {
            transcript.field(&elector.0).field(&commitment.0);
        }
        transcript.finish()
    }
}

/// An elector's opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// Who opens.
    pub elector: VerifyingKey,
    /// The 32 bytes.
    pub secret: Digest,
    /// Its signature on the agreement and the bytes: they count for no other agreement.
    pub signature: Signature,
}

impl Reveal {
    /// Opens, after all have signed. Nobody does for two agreements on one plan.
    ///
    /// # Errors
    /// [`NoElection`] if not all have signed, or this key's own commitment is another one.
    pub fn sign(agreement: &Agreement, key: &SigningKey) -> Result<Self, NoElection> {
        agreement.verify()?;
        let (plan, elector) = (&agreement.plan, key.verifying_key());
        let own = agreement.vouches.iter().find(|vouch| vouch.elector == elector);
        let own = own.ok_or_else(|| NoElection::Stranger(elector.to_hex()))?;
        let secret = plan.secret(key);
        if own.commitment != plan.commitment(&elector, &secret) {
            return Err(NoElection::Opened(elector.to_hex()));
        }
        let signature = key.sign(&Self::digest(agreement, &secret));
        Ok(Self { elector, secret, signature })
    }

    fn digest(agreement: &Agreement, secret: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/election/reveal");
        transcript.field(&agreement.digest().0).field(&secret.0).finish()
    }
}

/// All that is needed to draw, and to check who was drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// What was agreed.
    pub agreement: Agreement,
    /// Of all electors, in their order.
    pub reveals: Vec<Reveal>,
}

impl Record {
    /// Puts together what electors have opened, in any order.
    ///
    /// # Errors
    /// [`NoElection`].
    pub fn new(agreement: Agreement, reveals: Vec<Reveal>) -> Result<Self, NoElection> {
        let of = |reveal: &Reveal| reveal.elector;
        let reveals = one_of_each(&agreement.plan, reveals, (of, "agreement"))?;
        let record = Self { agreement, reveals };
        record.beacon()?;
        Ok(record)
    }

    /// The beacon, of all that was opened.
    ///
    /// # Errors
    /// [`NoElection`].
    pub fn beacon(&self) -> Result<Beacon, NoElection> {
        let Self { agreement, reveals } = self;
        agreement.verify()?;
        let of = |reveal: &Reveal| reveal.elector;
        let reveals = one_of_each(&agreement.plan, reveals.clone(), (of, "agreement"))?;
        let mut transcript = Transcript::new("ostrakon/v1/election/beacon");
        transcript.field(&agreement.digest().0);
        for (Reveal { elector, secret, signature }, vouch) in reveals.iter().zip(&agreement.vouches)
        {
            if !elector.verifies(&Reveal::digest(agreement, secret), signature) {
                return Err(NoElection::Missing(elector.to_hex(), "agreement"));
            }
            if agreement.plan.commitment(elector, secret) != vouch.commitment {
                return Err(NoElection::Opened(elector.to_hex()));
            }
            transcript.field(&secret.0);
        }
        Ok(Beacon(transcript.finish().0))
    }

    /// Draws from the table on which the electors have agreed, with an engine that holds but for
    /// 2^-`engine`.
    ///
    /// # Errors
    /// [`NoElection`].
    pub fn draw<'a>(&self, table: &'a Table, engine: u32) -> Result<Vec<&'a Operator>, NoElection> {
        let plan = &self.agreement.plan;
        plan.is_of(table)?;
        let strength = plan.check(engine)?;
        Ok(table.draw(&self.beacon()?, &strength)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINE: u32 = 64;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn table() -> Table {
        Table::parse("a 6\nb 3\nc 1\nd 9\ne 4\n").unwrap()
    }

    fn plan() -> Plan {
        let mut electors: Vec<_> = (1..=3).map(|seed| key(seed).verifying_key()).collect();
        electors.sort();
        Plan {
            title: "Wages".into(),
            table: table().digest(),
            members: 3,
            corrupt: 50,
            withheld: 1,
            election: 0,
            security: 40,
            electors,
        }
    }

    fn agreement() -> Agreement {
        let plan = plan();
        let vouches = (1..=3).map(|seed| Vouch::sign(&plan, &key(seed))).collect();
        Agreement::new(plan, vouches).unwrap()
    }

    fn record() -> Record {
        let agreement = agreement();
        let reveals = (1..=3).map(|seed| Reveal::sign(&agreement, &key(seed)).unwrap()).collect();
        Record::new(agreement, reveals).unwrap()
    }

    #[test]
    fn what_all_have_signed_and_opened_draws_and_everybody_draws_the_same() {
        let (record, table) = (record(), table());
        let drawn = record.draw(&table, ENGINE).unwrap();
        assert_eq!(drawn.len(), 3);
        let mut turned = record.reveals.clone();
        turned.reverse();
        let again = Record::new(record.agreement.clone(), turned).unwrap();
        assert_eq!(again, record, "in any order");
        let other = Table::parse("a 6\nb 3\nc 1\nd 9\ne 5\n").unwrap();
        let refused = record.draw(&other, ENGINE).unwrap_err();
        assert!(matches!(refused, NoElection::Table { .. }), "{refused}");
        let weak = record.draw(&table, 40).unwrap_err();
        assert!(matches!(weak, NoElection::TooWeak(_)), "the engine counts too: {weak}");
    }

    /// Attack: the last one to open leaves it, or opens something else, to have another committee.
    #[test]
    fn without_every_opening_nothing_is_drawn() {
        let whole = record();
        for missing in 0..3 {
            let mut reveals = whole.reveals.clone();
            let left_out = reveals.remove(missing);
            let refused = Record::new(whole.agreement.clone(), reveals.clone()).unwrap_err();
            assert_eq!(refused, NoElection::Missing(left_out.elector.to_hex(), "agreement"));
            let seed = (1..=3).find(|seed| key(*seed).verifying_key() == left_out.elector).unwrap();
            let secret = Digest([9; 32]);
            let signature = key(seed).sign(&Reveal::digest(&whole.agreement, &secret));
            reveals.push(Reveal { secret, signature, ..left_out });
            let refused = Record::new(whole.agreement.clone(), reveals).unwrap_err();
            assert_eq!(refused, NoElection::Opened(left_out.elector.to_hex()));
        }
        let mut twice = whole.reveals.clone();
        twice[1] = twice[0];
        let refused = Record::new(whole.agreement, twice).unwrap_err();
        assert!(matches!(refused, NoElection::Stranger(_)), "{refused}");
    }

    /// Attack: an elector signs two commitments, and shows one of them to each of two honest ones;
    /// what these open for one agreement counts for no other one.
    #[test]
    fn an_opening_counts_for_one_agreement() {
        let one = agreement();
        let plan = &one.plan;
        let secret = Digest([7; 32]);
        let commitment = plan.commitment(&key(3).verifying_key(), &secret);
        let signature = key(3).sign(&Vouch::digest(plan, &commitment));
        let elector = key(3).verifying_key();
        let second = Vouch { elector, commitment, signature };
        let mut vouches: Vec<Vouch> =
            one.vouches.iter().copied().filter(|vouch| vouch.elector != elector).collect();
        vouches.push(second);
        let other = Agreement::new(plan.clone(), vouches).unwrap();
        let reveals =
            [Reveal::sign(&one, &key(1)).unwrap(), Reveal::sign(&other, &key(2)).unwrap()];
        for agreement in [&one, &other] {
            let mut all = reveals.to_vec();
            let signature = key(3).sign(&Reveal::digest(agreement, &secret));
            all.push(Reveal { elector, secret, signature });
            let refused = Record::new(agreement.clone(), all).unwrap_err();
            assert!(matches!(refused, NoElection::Missing(_, "agreement")), "{refused}");
        }
        let mistaken = Reveal::sign(&other, &key(3)).unwrap_err();
        assert_eq!(mistaken, NoElection::Opened(elector.to_hex()), "not what it keeps");
    }

    #[test]
    fn every_word_of_plan_and_agreement_is_signed() {
        let whole = agreement();
        let changes: [fn(&mut Plan); 7] = [
            |plan| plan.title = "Rents".into(),
            |plan| plan.table = Digest([1; 32]),
            |plan| plan.members = 4,
            |plan| plan.corrupt = 49,
            |plan| plan.withheld = 2,
            |plan| plan.election = 1,
            |plan| plan.security = 39,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut changed = whole.clone();
            change(&mut changed.plan);
            assert!(changed.verify().is_err(), "change {number}");
            assert_ne!(changed.digest(), whole.digest(), "change {number}");
        }
        let mut fewer = whole.clone();
        let gone = fewer.plan.electors.remove(0);
        fewer.vouches.retain(|vouch| vouch.elector != gone);
        assert!(fewer.verify().is_err(), "somebody is left out");
        let stranger = Vouch::sign(&whole.plan, &key(9));
        let mut others = whole.vouches.clone();
        others[0] = stranger;
        assert!(matches!(
            Agreement::new(whole.plan.clone(), others).unwrap_err(),
            NoElection::Stranger(_)
        ));
    }

    #[test]
    fn plans_that_nobody_should_agree_with_are_refused_with_the_reason() {
        let refused = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            plan.check(ENGINE).unwrap_err().to_string()
        };
        assert!(plan().check(ENGINE).is_ok());
        assert!(refused(|plan| plan.title = "two\nlines".into()).contains("one line"));
        assert!(refused(|plan| plan.electors.truncate(1)).contains("2 to 64 electors"));
        assert!(refused(|plan| plan.electors.reverse()).contains("order"));
        assert!(refused(|plan| plan.electors[1] = plan.electors[0]).contains("twice"));
        assert!(refused(|plan| plan.election = 2).contains("more elections"));
        assert!(refused(|plan| plan.withheld = 21).contains("more than 20"));
        assert!(refused(|plan| plan.corrupt = 0).contains("corrupt"));
        assert!(refused(|plan| plan.corrupt = MILLION).contains("corrupt"));
        assert!(refused(|plan| plan.members = 33).contains("2 to 32 members"));
        let weak = refused(|plan| plan.corrupt = 250_000);
        assert!(weak.contains("no member is honest") && weak.contains("take 21 members"), "{weak}");
    }
}

//! A member's directory: keys, configuration, the committee, data.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ostrakon_computation::{Card, Committee, ShareKey};
use ostrakon_crypto::{Secret, SigningKey, VerifyingKey};
use ostrakon_node::config::Https;
use ostrakon_stats::ExchangeKey;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::serving::cards::{Directory, Kind};
use crate::system;

/// Members of committees.
pub const KIND: Kind = Kind {
    command: "committee",
    server: "member",
    group: "committee",
    config: "member.toml",
    founded: "committee.json",
};
/// The seed of the member's key for shares.
const SHARES: &str = "shares.key";
/// The database.
const DATA: &str = "member.db";

/// The least minimum of reports that questions may have, unless the operator says otherwise.
pub const FEWEST_REPORTS: u32 = 10;

/// What an operator may change.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the public interface listens.
    pub http: SocketAddr,
    /// Where it listens for the other members.
    pub mesh: SocketAddr,
    /// Whose questions are taken; everybody's if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creators: Option<Vec<VerifyingKey>>,
    /// How much answers may tell of any one contributor in all: ε of differential privacy. Without
    /// it any question is taken, exact ones too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy_budget: Option<f64>,
    /// Questions with a smaller minimum of reports are refused: an exact answer about very few
    /// tells what one of them has reported.
    #[serde(default = "fewest_reports")]
    pub fewest_reports: u32,
    /// Takes questions with a circuit that reads all reports at once, which may tell anything of
    /// any one of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub circuits_of_all: bool,
    /// For how many days a computation that is over is kept whole; then its result and signatures
    /// alone are. 0 keeps everything for ever.
    #[serde(default = "keep_days")]
    pub keep_days: u32,
    /// How many questions that have not come to an end are taken at a time.
    #[serde(default = "open_questions")]
    pub open_questions: usize,
    /// How many of them may be one creator's.
    #[serde(default = "open_of_one_creator")]
    pub open_of_one_creator: usize,
    /// HTTPS without a proxy; files are looked for beside this one. Plain HTTP if it is left out.
    #[serde(default, skip_serializing_if = "Https::is_default")]
    pub https: Https,
}

fn keep_days() -> u32 {
    90
}

fn open_questions() -> usize {
    1000
}

fn open_of_one_creator() -> usize {
    100
}

fn fewest_reports() -> u32 {
    FEWEST_REPORTS
}

impl Settings {
    /// What an operator has not changed.
    pub fn new(http: SocketAddr, mesh: SocketAddr, fewest_reports: u32) -> Self {
        let (creators, privacy_budget) = (None, None);
        let (https, keep_days) = (Https::default(), keep_days());
        let circuits_of_all = false;
        Self {
            http,
            mesh,
            https,
            creators,
            privacy_budget,
            fewest_reports,
            circuits_of_all,
            keep_days,
            open_questions: open_questions(),
            open_of_one_creator: open_of_one_creator(),
        }
    }

    /// The privacy budget in thousandths of ε.
    ///
    /// # Errors
    /// If it is none.
    pub fn budget(&self) -> Result<Option<u64>> {
        let Some(budget) = self.privacy_budget else { return Ok(None) };
        ensure!((0.001..=1e6).contains(&budget), "`privacy_budget` must be from 0.001 to 1000000");
        Ok(Some(format!("{:.0}", budget * 1000.0).parse()?))
    }
}

/// A member's directory, read.
pub struct Home {
    /// Where.
    pub directory: Directory,
    /// The configuration.
    pub settings: Settings,
    /// The seed of its identity.
    pub identity: Zeroizing<[u8; 32]>,
    /// The seed of its key for shares.
    shares: Zeroizing<[u8; 32]>,
}

impl Home {
    /// Makes a member's keys and configuration, and returns its card.
    ///
    /// # Errors
    /// If there are some already, or they cannot be written.
    pub fn create(
        directory: Directory,
        settings: Settings,
        name: &str,
        url: &str,
        address: &str,
    ) -> Result<Card> {
        let (identity, shares) =
            (Zeroizing::new(system::random()), Zeroizing::new(system::random()));
        directory.create(&identity, &settings)?;
        directory.write_seed(SHARES, &shares)?;
        let home = Self { directory, settings, identity, shares };
        Ok(Card::sign(name, url, address, home.share_key(), &home.signing()))
    }

    /// Reads what [`Home::create`] made.
    ///
    /// # Errors
    /// If something is missing or wrong.
    pub fn open(directory: Directory) -> Result<Self> {
        let mut settings: Settings = directory.settings()?;
        let Https { certificate_file, key_file, .. } = &mut settings.https;
        ensure!(
            certificate_file.is_some() == key_file.is_some(),
            "{}: `https.certificate_file` and `https.key_file` go together: give both",
            directory.file(KIND.config).display()
        );
        [certificate_file, key_file].into_iter().flatten().for_each(|file| {
            *file = directory.path().join(&*file);
        });
        let identity = directory.identity()?;
        let shares = directory.seed(SHARES)?;
        Ok(Self { directory, settings, identity, shares })
    }

    /// The identity.
    pub fn signing(&self) -> SigningKey {
        SigningKey::from_seed(&self.identity)
    }

    /// The key for shares.
    pub fn exchange(&self) -> ExchangeKey {
        ExchangeKey::from_seed(&Secret::new(*self.shares))
    }

    /// The key for seeds of graphs.
    pub fn for_seeds(&self) -> ostrakon_crypto::sealed::ExchangeKey {
        let seed = Secret::new(*self.shares).derive("ostrakon/v1/committee/key for seeds", &[]);
        ostrakon_crypto::sealed::ExchangeKey::new(&seed)
    }

    /// The public halves of both, as they stand on the member's card.
    fn share_key(&self) -> ShareKey {
        let proven = self.exchange().member(&self.signing()).to_bytes();
        ShareKey::new(&proven, &self.for_seeds().public())
    }

    /// The database's file.
    pub fn data(&self) -> PathBuf {
        self.directory.file(DATA)
    }

    /// The committee, and this member's number in it.
    ///
    /// # Errors
    /// If there is none, or this member is not in it.
    pub fn committee(&self) -> Result<(Committee, usize)> {
        let committee: Committee = self.directory.founded()?;
        let number = self.number(&committee).with_context(|| self.directory.in_founded())?;
        Ok((committee, number))
    }

    fn number(&self, committee: &Committee) -> Result<usize> {
        committee.validate()?;
        let number = committee.number(&self.signing().verifying_key());
        let number = number.with_context(|| self.directory.absent())?;
        let same = committee.members[number].share_key == self.share_key();
        ensure!(same, "this member's card has another key for shares than {SHARES}");
        Ok(number)
    }
}

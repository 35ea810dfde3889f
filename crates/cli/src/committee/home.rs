//! A member's directory: keys, configuration, the committee, data.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_computation::{Card, Committee, ShareKey};
use ostrakon_crypto::{Secret, SigningKey, VerifyingKey};
use ostrakon_node::config::Https;
use ostrakon_stats::ExchangeKey;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{edge, secret};

/// The configuration.
const CONFIG: &str = "member.toml";
/// The seed of the member's identity.
const IDENTITY: &str = "identity.key";
/// The seed of the member's key for shares.
const SHARES: &str = "shares.key";
/// The committee, as `found` printed it.
pub const COMMITTEE: &str = "committee.json";
/// The database.
const DATA: &str = "member.db";
/// Held while a process serves.
const LOCK: &str = "lock";

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
    /// For how many days a computation that is over is kept whole; then its result and signatures
    /// alone are. 0 keeps everything for ever.
    #[serde(default = "keep_days")]
    pub keep_days: u32,
    /// HTTPS without a proxy; files are looked for beside this one. Plain HTTP if it is left out.
    #[serde(default, skip_serializing_if = "Https::is_default")]
    pub https: Https,
}

fn keep_days() -> u32 {
    90
}

fn fewest_reports() -> u32 {
    FEWEST_REPORTS
}

impl Settings {
    /// What an operator has not changed.
    pub fn new(http: SocketAddr, mesh: SocketAddr, fewest_reports: u32) -> Self {
        let (creators, privacy_budget) = (None, None);
        let (https, keep_days) = (Https::default(), keep_days());
        Self { http, mesh, https, creators, privacy_budget, fewest_reports, keep_days }
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
    pub directory: PathBuf,
    /// The configuration.
    pub settings: Settings,
    /// The seed of its identity.
    pub identity: Zeroizing<[u8; 32]>,
    /// The seed of its key for shares.
    shares: Zeroizing<[u8; 32]>,
}

impl Home {
    /// Makes a member's keys and configuration, and returns its card with this name, URL and
    /// address for the other members.
    ///
    /// # Errors
    /// If there are some already, or they cannot be written.
    pub fn create(
        directory: &Path,
        settings: Settings,
        [name, url, address]: [&str; 3],
    ) -> Result<Card> {
        secret::directory(directory)?;
        let hex = |seed: &[u8; 32]| Zeroizing::new(data_encoding::HEXLOWER.encode(seed) + "\n");
        let (identity, shares) = (Zeroizing::new(edge::random()), Zeroizing::new(edge::random()));
        let home = Self { directory: directory.to_owned(), settings, identity, shares };
        let signing = home.signing();
        let card = Card::sign(name, url, address, home.share_key().0, &signing);
        secret::write_new(&directory.join(IDENTITY), &hex(&home.identity))?;
        secret::write_new(&directory.join(SHARES), &hex(&home.shares))?;
        secret::write_new(&directory.join(CONFIG), &toml::to_string_pretty(&home.settings)?)?;
        Ok(card)
    }

    /// Reads what [`Home::create`] made.
    ///
    /// # Errors
    /// If something is missing or wrong.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(CONFIG);
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!("{} cannot be read; `ostrakon committee init` makes it", path.display())
        })?;
        let mut settings: Settings =
            toml::from_str(&text).with_context(|| path.display().to_string())?;
        let Https { certificate_file, key_file, .. } = &mut settings.https;
        ensure!(
            certificate_file.is_some() == key_file.is_some(),
            "{}: `https.certificate_file` and `https.key_file` go together: give both",
            path.display()
        );
        [certificate_file, key_file].into_iter().flatten().for_each(|file| {
            *file = directory.join(&*file);
        });
        let seed = |name| -> Result<Zeroizing<[u8; 32]>> {
            let text = Zeroizing::new(secret::read(&directory.join(name))?);
            let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).ok();
            let seed: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
            Ok(Zeroizing::new(seed.with_context(|| format!("{name} holds no key"))?))
        };
        let (identity, shares) = (seed(IDENTITY)?, seed(SHARES)?);
        Ok(Self { directory: directory.to_owned(), settings, identity, shares })
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
        self.directory.join(DATA)
    }

    /// The committee, and this member's number in it.
    ///
    /// # Errors
    /// If there is none, or this member is not in it.
    pub fn committee(&self) -> Result<(Committee, usize)> {
        let path = self.directory.join(COMMITTEE);
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!(
                "{} cannot be read: it must be what `ostrakon committee found` printed",
                path.display()
            )
        })?;
        let committee: Committee =
            serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        committee.validate().with_context(|| path.display().to_string())?;
        let signing = self.signing();
        let number = committee.number(&signing.verifying_key()).with_context(|| {
            format!(
                "{}: this member's card is not in it; hand in the card that `init` printed",
                path.display()
            )
        })?;
        let (own, card) = (self.share_key(), &committee.members[number].share_key);
        // A card of an earlier version has no key for seeds.
        let same = own.proven() == card.proven()
            && card.for_seeds().is_none_or(|key| Some(key) == own.for_seeds());
        ensure!(
            same,
            "{}: this member's card has another key for shares than {SHARES}",
            path.display()
        );
        Ok((committee, number))
    }

    /// Keeps other processes from using the directory until the lock is dropped.
    ///
    /// # Errors
    /// If one does.
    pub fn lock(&self) -> Result<std::fs::File> {
        match secret::lock(&self.directory.join(LOCK))? {
            Some(lock) => Ok(lock),
            None => bail!("another process serves {}", self.directory.display()),
        }
    }
}

//! `ostrakon committee election`: electors agree on a table of operators by their signatures, and
//! make the beacon with which a committee is drawn of it (`docs/spec/election.md`).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_computation::election::{Agreement, Plan, Record, Reveal, Strength, Vouch};
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::stats::elect::{document, table};
use crate::stats::key;
use crate::{output, secret};

/// Parts of all weight in which a plan tells a fraction of it.
const MILLION: f64 = 1e6;

/// The steps of an election. Each prints a document for the next one.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Writes down what is to be drawn of which table, for all electors to sign.
    Plan(Box<PlanOptions>),
    /// An elector signs the plan, if its own table is the plan's, and commits to its part of the
    /// beacon.
    Vouch(VouchOptions),
    /// Puts together what all electors have signed.
    Agree(AgreeOptions),
    /// An elector opens its part, once, after all have signed.
    Reveal(RevealOptions),
    /// Puts together what all electors have opened: `stats create --committee TABLE --election`
    /// draws with it.
    Finish(FinishOptions),
}

/// Options of `election plan`.
#[derive(clap::Args)]
pub struct PlanOptions {
    /// What the committee is for.
    #[arg(long)]
    title: String,
    /// The table of operators: a Tor consensus, or lines `NAME WEIGHT [FAMILY]`.
    #[arg(long, value_name = "FILE")]
    table: PathBuf,
    /// A file with the electors' keys, one at the beginning of each line, as `stats key` prints
    /// them.
    #[arg(long, value_name = "FILE")]
    electors: PathBuf,
    /// How many operators are drawn.
    #[arg(long, value_name = "COUNT", default_value_t = 26)]
    members: usize,
    /// The part of all weight that may be corrupt, in millionths at the finest.
    #[arg(long, value_name = "PART", default_value_t = 0.25)]
    corrupt: f64,
    /// How many elections of this title may come to nothing since an elector does not open.
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    withheld: u32,
    /// Which of the elections of this title this is: 0, or one more than the one that came to
    /// nothing.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    number: u32,
    /// A committee without an honest member is refused unless it is rarer than 2^-BITS.
    #[arg(long, value_name = "BITS", default_value_t = 40)]
    security: u32,
}

/// Options of `election vouch`.
#[derive(clap::Args)]
pub struct VouchOptions {
    /// What `election plan` printed.
    plan: PathBuf,
    /// The elector's own copy of the table.
    #[arg(long, value_name = "FILE")]
    table: PathBuf,
    /// The elector's key, as `stats key FILE` makes it. What it has signed is kept beside it.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// Options of `election agree`.
#[derive(clap::Args)]
pub struct AgreeOptions {
    /// What `election plan` printed.
    plan: PathBuf,
    /// What `election vouch` printed to each elector.
    #[arg(required = true, value_name = "VOUCH")]
    vouches: Vec<PathBuf>,
}

/// Options of `election reveal`.
#[derive(clap::Args)]
pub struct RevealOptions {
    /// What `election agree` printed.
    agreement: PathBuf,
    /// The elector's key.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// Options of `election finish`.
#[derive(clap::Args)]
pub struct FinishOptions {
    /// What `election agree` printed.
    agreement: PathBuf,
    /// What `election reveal` printed to each elector.
    #[arg(required = true, value_name = "REVEAL")]
    reveals: Vec<PathBuf>,
}

/// Runs one of the steps.
///
/// # Errors
/// As the steps say.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Plan(options) => plan(*options),
        Command::Vouch(options) => vouch(&options),
        Command::Agree(AgreeOptions { plan, vouches }) => {
            let agreement = Agreement::new(document(&plan)?, documents(&vouches)?)?;
            check(&agreement.plan)?;
            print(&agreement)?;
            let digest = agreement.digest().to_hex();
            eprintln!("All electors have signed. Each opens its part of agreement {digest} now.");
            Ok(())
        }
        Command::Reveal(options) => reveal(&options),
        Command::Finish(FinishOptions { agreement, reveals }) => {
            print(&Record::new(document(&agreement)?, documents(&reveals)?)?)?;
            eprintln!(
                "Whoever has this and the table draws the same: ostrakon stats create \
                 --committee TABLE --election THIS"
            );
            Ok(())
        }
    }
}

fn documents<T: DeserializeOwned>(paths: &[PathBuf]) -> Result<Vec<T>> {
    paths.iter().map(|path| document(path)).collect()
}

fn print(document: &impl Serialize) -> Result<()> {
    output::line(&serde_json::to_string_pretty(document)?)
}

fn check(plan: &Plan) -> Result<Strength> {
    Ok(plan.check(ostrakon_stats::security(plan.members, false))?)
}

fn plan(options: PlanOptions) -> Result<()> {
    let PlanOptions { title, electors, members, corrupt, withheld, number, security, .. } = options;
    let of = table(&options.table)?;
    let mut electors: Vec<VerifyingKey> = key::roster(&electors).context("--electors")?;
    electors.sort_unstable();
    ensure!((0.0..1.0).contains(&corrupt), "--corrupt must be above 0 and below 1");
    let millionths: u32 = format!("{:.0}", corrupt * MILLION).parse()?;
    let plan = Plan {
        title,
        table: of.digest(),
        members,
        corrupt: millionths,
        withheld,
        election: number,
        security,
        electors,
    };
    let strength = check(&plan).context("--members")?;
    ensure!(
        of.families() >= members,
        "{} has {} families, of which {members} cannot be drawn: take a larger table",
        options.table.display(),
        of.families()
    );
    print(&plan)?;
    let (digest, bound) = (plan.digest().to_hex(), strength.log2());
    eprintln!("plan {digest}: no member is honest with at most 2^{bound:.1}");
    Ok(())
}

/// What an elector has signed, so that it never signs another word in its place: a file for each,
/// in a directory beside its key.
struct Kept(PathBuf);

impl Kept {
    fn beside(key: &Path) -> Result<Self> {
        let mut directory = key.as_os_str().to_owned();
        directory.push(".elections");
        let directory = PathBuf::from(directory);
        secret::directory(&directory)?;
        Ok(Self(directory))
    }

    /// Keeps what is said on an occasion; an error if something else was said before.
    fn once(&self, occasion: &str, said: &Digest) -> Result<()> {
        let path = self.0.join(occasion);
        if !path.exists() {
            return secret::write_new(&path, &format!("{}\n", said.to_hex()));
        }
        let before = secret::read(&path)?;
        if before == said.to_hex() {
            return Ok(());
        }
        bail!(
            "this key has signed another one, {before}, in its place; two would let somebody \
             choose between two draws ({} says so)",
            path.display()
        )
    }
}

fn signing(path: &Path) -> Result<SigningKey> {
    Ok(key::read(path)?.key())
}

fn vouch(options: &VouchOptions) -> Result<()> {
    let VouchOptions { plan, table: own, key } = options;
    let plan: Plan = document(plan)?;
    check(&plan)?;
    plan.is_of(&table(own)?)?;
    let signing = signing(key)?;
    ensure!(
        plan.electors.contains(&signing.verifying_key()),
        "the key in {} is no elector's of this plan",
        key.display()
    );
    let occasion = format!("plan-{}", plan.occasion().to_hex());
    Kept::beside(key)?.once(&occasion, &plan.digest()).context("the plan")?;
    print(&Vouch::sign(&plan, &signing))
}

fn reveal(options: &RevealOptions) -> Result<()> {
    let RevealOptions { agreement, key } = options;
    let agreement: Agreement = document(agreement)?;
    check(&agreement.plan)?;
    let reveal = Reveal::sign(&agreement, &signing(key)?)?;
    let occasion = format!("agreement-{}", agreement.plan.digest().to_hex());
    Kept::beside(key)?.once(&occasion, &agreement.digest()).context("the agreement")?;
    print(&reveal)
}

//! `ostrakon decide verify`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ostrakon_client::visitor::Deed;
use ostrakon_decide::{Archive, Link, Refused, Report, Stage};

use super::{State, report};
use crate::client::{Account, Decision};
use crate::rooms::export;
use crate::{failure, secret, system};

/// Options of `decide verify`.
#[derive(clap::Args)]
pub struct Options {
    /// An exported file, checked offline, or a decision's link, checked at the servers; `-` takes a
    /// link from standard input, `@FILE` from a file.
    #[arg(value_name = "FILE|LINK")]
    what: String,
    /// With a file: the decision's link. Without it the check only shows that some servers kept the
    /// decision, not which.
    #[arg(long, value_parser = secret::link::<Link>)]
    link: Option<Link>,
    /// With a link: writes everything to this file, which can be checked offline.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With a link: tells the others, by a signed record, that this device has checked everything,
    /// if its account takes part.
    #[arg(long)]
    tell: bool,
    #[command(flatten)]
    state: State,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// With exit code 3 if anything does not hold.
pub async fn run(options: Options) -> Result<()> {
    if let Ok(link) = secret::link::<Link>(&options.what) {
        ensure!(options.link.is_none(), "--link goes with a file");
        return online(link, &options).await;
    }
    ensure!(options.output.is_none() && !options.tell, "--output and --tell go with a link");
    let path = Path::new(&options.what);
    let bytes =
        std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let report = check(&bytes, options.link.as_ref())?;
    report::show(&report, &Vec::new(), options.json)?;
    if options.link.is_none() {
        eprintln!(
            "Without --link this shows that these servers kept the decision, not that they are the link's."
        );
    }
    Ok(())
}

/// Checks an archive's bytes, and that it is of the decision and the servers that the link names.
///
/// # Errors
/// With exit code 3 if it is not.
pub fn check(bytes: &[u8], link: Option<&Link>) -> Result<Report> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| failure::unproven("the file is no archive: it is not text"))?;
    let report = Archive::verify(text, link.map(|link| &link.servers), &mut system::entropy());
    let report = report.map_err(|error| match error {
        Refused::Version(_) => failure::unproven(error.to_string()),
        error => failure::unproven(format!("not authentic: {error}")),
    })?;
    if link.is_some_and(|link| link.decision != report.decision) {
        return Err(failure::unproven(
            "not authentic: the archive is of another decision than the given link names",
        ));
    }
    Ok(report)
}

async fn online(link: Link, options: &Options) -> Result<()> {
    let mut account = options.state.account()?;
    let mut decision = super::read(link, &mut account).await?;
    let outcome = decision.outcome()?;
    if let Some(file) = &options.output {
        let text = decision.archive().to_text();
        check(text.as_bytes(), Some(&decision.link))?;
        export::write(file, &text)?;
    }
    if options.tell && outcome.is_some() {
        tell(&mut decision, &mut account).await?;
    }
    report::print(decision.chain()?, outcome, &decision.openings(), options.json)
}

async fn tell(decision: &mut Decision, account: &mut Account) -> Result<()> {
    let (own, chain) = (decision.visitor().person(), decision.chain()?);
    let told = own.is_none_or(|person| chain.people()[usize::from(person)].has_verified());
    if !told && chain.stage() == Stage::Closed {
        decision.carry_out(account, Deed::Verified).await?;
    }
    Ok(())
}

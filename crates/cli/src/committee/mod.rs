//! `ostrakon committee`: servers that compute on what people hand in, and learn nothing but the
//! result.

pub mod election;
mod home;
pub mod local;
mod serve;
mod status;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use ostrakon_computation::Committee;

use crate::output;
use crate::serving::cards::{self, Directory};
pub use home::FEWEST_REPORTS;
use home::{Home, KIND, Settings};
pub use serve::give_way;

/// What can be done with committees.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Makes the keys of one member, and prints its card for the others.
    Init(InitOptions),
    /// Makes one committee of several members' cards, and prints it.
    Found(FoundOptions),
    /// Agrees on a table of operators, and on the beacon with which a committee is drawn of it.
    #[command(subcommand)]
    Election(election::Command),
    /// Runs one member.
    Serve(serve::Options),
    /// Shows a member's operator what was asked, how far it is, and how many rounds it took.
    Status(status::Options),
    /// Runs a whole committee on this machine, set up on the first start.
    Up(local::Options),
}

/// Options of `committee init`.
#[derive(clap::Args)]
pub struct InitOptions {
    #[command(flatten)]
    member: cards::CardOptions,
    /// Where the public interface listens.
    #[arg(long, default_value = "0.0.0.0:7200")]
    http: SocketAddr,
    /// Where it listens for the other members.
    #[arg(long, default_value = "0.0.0.0:7300")]
    mesh: SocketAddr,
    /// Refuses questions for statistics whose minimum of reports is smaller: of very few, an answer
    /// tells what one of them has reported. `member.toml` keeps it.
    #[arg(long, value_name = "REPORTS", default_value_t = FEWEST_REPORTS, value_parser = clap::value_parser!(u32).range(1..))]
    fewest_reports: u32,
}

/// Options of `committee found`.
#[derive(clap::Args)]
pub struct FoundOptions {
    /// The committee's name.
    #[arg(long)]
    name: String,
    /// The members' cards, in their order.
    #[arg(required = true, value_name = "CARD")]
    cards: Vec<PathBuf>,
}

/// Runs one of the commands.
///
/// # Errors
/// As the commands say.
pub async fn run(command: Command) -> Result<()> {
    match command {
        Command::Init(options) => init(&options),
        Command::Found(options) => found(&options),
        Command::Election(command) => election::run(command),
        Command::Serve(options) => serve::run(options).await,
        Command::Status(options) => status::run(&options).await,
        Command::Up(options) => local::run(options).await,
    }
}

fn init(options: &InitOptions) -> Result<()> {
    let InitOptions { member, http, mesh, fewest_reports } = options;
    let directory = Directory::new(&member.home, &KIND);
    let settings = Settings::new(*http, *mesh, *fewest_reports);
    let card = Home::create(directory, settings, &member.name, &member.url, &member.address)?;
    member.print(&card, &KIND)
}

fn found(options: &FoundOptions) -> Result<()> {
    let cards = options.cards.iter().map(|path| cards::read_card(path, &KIND));
    let committee = Committee::found(&options.name, cards.collect::<Result<_>>()?)?;
    ostrakon_stats::asked::members(&committee)?;
    output::line(&serde_json::to_string_pretty(&committee)?)?;
    eprintln!(
        "The committee's digest, for all operators to compare: {}",
        committee.digest().to_hex()
    );
    Ok(())
}

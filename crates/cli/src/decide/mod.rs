//! `ostrakon decide`: private decisions.

mod answer;
pub mod create;
mod finish;
mod gather;
mod invite;
mod join;
pub mod plan;
pub mod report;
mod status;
pub mod verify;

use std::path::PathBuf;

use anyhow::Result;
use ostrakon_decide::Link;

use crate::client::{Account, Decision, http_client, member};
use crate::output;

/// What can be done with decisions.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Begins a decision, and prints a link for each person who is asked.
    Create(Box<create::Options>),
    /// Makes one link for all: whoever has it asks by name, and you approve of each.
    Gather(gather::Options),
    /// Shows who asks by a join link that this device made, and says who is taken in.
    Requests(gather::Answers),
    /// Asks to take part by a join link.
    Join(join::Options),
    /// Shows the invitations of a decision that was created on this device, or sends one by e-mail.
    Invite(invite::Options),
    /// Checks everything, answers, and prints the receipt. Accepts the link's invitation first, if
    /// need be.
    Answer(answer::Options),
    /// Shows how a decision stands, after checking everything.
    Status(status::Options),
    /// Removes somebody or calls a decision off, as its creator; otherwise says what it waits for.
    Finish(finish::Options),
    /// Checks a whole decision and its result, from an exported file or at its servers.
    Verify(verify::Options),
}

/// Where this device keeps its account.
#[derive(clap::Args)]
pub struct State {
    /// The directory with this device's account [default: decisions in the state directory of
    /// `ostrakon`]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl State {
    fn account(&self) -> Result<Account> {
        match &self.state_dir {
            Some(directory) => Account::open(directory),
            None => Account::open(&member::state_directory()?.join("decisions")),
        }
    }
}

/// Runs one of the commands.
///
/// # Errors
/// If a server does not answer or refuses, or something is not authentic.
pub async fn run(command: Command) -> Result<()> {
    match command {
        Command::Create(options) => create::run(*options).await,
        Command::Gather(options) => gather::run(options).await,
        Command::Requests(options) => gather::answer(options).await,
        Command::Join(options) => join::run(options).await,
        Command::Invite(options) => invite::run(options).await,
        Command::Answer(options) => answer::run(options).await,
        Command::Status(options) => status::run(options).await,
        Command::Finish(options) => finish::run(options).await,
        Command::Verify(options) => verify::run(options).await,
    }
}

/// Opens the decision of a link and reads all of it, checked, with a bar that shows how far it has
/// come.
async fn read(link: Link, account: &mut Account) -> Result<Decision> {
    let mut decision = Decision::open(&http_client()?, link, account.key()).await?;
    let bar = output::bar(0, "records checked");
    let read = decision
        .read(account, |done, all| {
            bar.set_length(u64::from(all));
            bar.set_position(u64::from(done));
        })
        .await;
    bar.finish_and_clear();
    read.map(|()| decision)
}

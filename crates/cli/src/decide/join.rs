//! `ostrakon decide join`: asks to take part by a join link.

use std::time::Duration;

use anyhow::{Result, bail};
use ostrakon_client::joining::LOOK_AGAIN;
use ostrakon_decide::{JoinLink, Link};

use super::State;
use crate::client::http_client;
use crate::client::joining::Joining;
use crate::{failure, output, secret};

/// Options of `decide join`.
#[derive(clap::Args)]
pub struct Options {
    /// The join link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<JoinLink>)]
    link: JoinLink,
    /// The name by which the others know you.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Waits until the decision has begun, and prints its link.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    state: State,
}

/// Runs the command.
///
/// # Errors
/// If the request is not taken, or it is refused.
pub async fn run(options: Options) -> Result<()> {
    let http = http_client()?;
    let device = options.state.account()?.key();
    let mut joining = Joining::open(&http, options.link.clone()).await?;
    let key = joining.account(&device);
    let own = key.verifying_key();
    let known = joining.word().is_some_and(|word| word.admitted.contains(&own));
    if !known {
        let request = joining.ask(&key, &options.name).await?;
        let digits = request.digits(&joining.deployment.operators);
        eprintln!("Asked as “{}”. Compare these digits with the creator: {digits}", options.name);
        // With a key at the servers the place is taken without another visit.
        joining.deployment.fill_stock(key, 1).await?;
    }
    loop {
        if let Some(word) = joining.word() {
            if word.refused.contains(&own) {
                bail!("the creator has refused the request");
            }
            match word.decision {
                Some(decision) if word.admitted.contains(&own) => {
                    let JoinLink { origin, servers, .. } = options.link;
                    let link = Link { origin, decision, servers, invitation: None };
                    return output::line(&link.to_string());
                }
                Some(_) => bail!("the decision has begun without you"),
                None => {}
            }
        }
        if !options.wait {
            eprintln!("The creator decides: give the same command again later, or --wait.");
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(LOOK_AGAIN)).await;
        match joining.look().await {
            Err(error) if !failure::is_unreachable(&error) => return Err(error),
            _ => {}
        }
    }
}

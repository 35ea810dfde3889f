//! `ostrakon mixer up`: all servers of a room on this machine.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ostrakon_asynchromix::Description;
use ostrakon_crypto::Digest;

use super::home::{Home, KIND, Settings};
use super::{RoomOptions, link_of};
use crate::serving::cards::{Directory, Loopback, TOKEN, run_until_stopped};
use crate::{output, system};

/// Options of `mixer up`.
#[derive(clap::Args)]
pub struct Options {
    /// Where the servers keep their keys and data; made on the first start.
    #[arg(long, default_value = "ostrakon-mixer")]
    data_dir: PathBuf,
    /// On the first start: how many servers [default: 4]. 4 and 5 bear one that fails or lies, 7
    /// bear two; 5 go on for ever without one.
    #[arg(long, value_parser = clap::value_parser!(u8).range(4..=11))]
    servers: Option<u8>,
    /// On the first start: the first server's public port; the others have the next ones.
    #[arg(long, default_value_t = 7400)]
    base_port: u16,
    /// On the first start: what the room is like. One person alone sees what it says.
    #[command(flatten)]
    room: RoomOptions,
    /// The directory of the web client's files.
    #[arg(long)]
    web: Option<PathBuf>,
}

impl Options {
    /// What `ostrakon up --engine asynchromix` runs.
    pub fn of_up(
        data_dir: PathBuf,
        servers: Option<u8>,
        base_port: u16,
        web: Option<PathBuf>,
    ) -> Self {
        let room = RoomOptions { places: 64, bytes: 280, seconds: 3 };
        Self { data_dir, servers, base_port, room, web }
    }
}

/// Servers of a new room, unless another number is asked for.
const SERVERS: u8 = 4;

/// Runs the servers until Ctrl-C.
///
/// # Errors
/// If they cannot be set up, or do not come to work.
pub async fn run(options: Options) -> Result<()> {
    let group = Loopback::new(&options.data_dir, &KIND);
    if !group.exists(options.servers).context("--data-dir")? {
        create(&options, &group).context("--data-dir")?;
    }
    // The room that `create` made.
    let home = Home::open(Directory::new(&group.home(0), &KIND)).context("--data-dir")?;
    let (description, room) = home.room().context("--data-dir")?;
    let cards = description.servers.iter();
    let servers = group.servers(cards.map(|card| (card.name.as_str(), card.url.as_str())));
    run_until_stopped(servers, options.web.as_deref(), "the servers make their common key", || {
        let name = &description.name;
        output::line(&format!("The room \"{name}\" is open. Any of these links leads there:"))?;
        for server in 0..description.servers.len() {
            output::line(&format!("  {}", link_of(&description, server, &room)))?;
        }
        eprintln!("{}", promise(&description));
        if options.web.is_some() {
            let (url, home) = (&description.servers[0].url, group.home(0));
            eprintln!(
                "What the first server's operator sees: {url}/#/operator, with the token in {}",
                home.join(TOKEN).display()
            );
        }
        Ok(())
    })
    .await
}

/// What people are told of a room with so many servers (step W6).
pub fn promise(description: &Description) -> String {
    let (servers, corrupt) = (description.servers.len(), description.corrupt);
    let named = |count: usize| if count == 1 { "one".to_owned() } else { count.to_string() };
    let some = named(corrupt);
    // Rounds are prepared by sets of 3t + 1, and the ledger needs all but t.
    let lasting = match (servers - (3 * corrupt + 1)).min(corrupt) {
        0 => format!(
            "but new rounds need all {servers}: without one, what is prepared lasts for a few rounds, \
             which open pages use up within half a minute, then the room waits, and one that lies can have \
             it thrown away. If a server may be down for long, found the room with {} servers, which \
             go on without one",
            servers + 1
        ),
        spare => format!("and new rounds go on without {}", named(spare)),
    };
    let trial = if description.shape.minimum == 1 {
        "\nThis room is a trial: whoever is alone in a round is alone on the board, so it hides nobody."
    } else {
        ""
    };
    format!(
        "Of {servers} servers {some} may fail, be blocked or lie at any moment: what is under way comes out, {lasting}.{trial}"
    )
}

fn create(options: &Options, group: &Loopback<'_>) -> Result<()> {
    let places = group.places(options.servers.unwrap_or(SERVERS), options.base_port)?;
    let mut servers = Vec::new();
    for place in &places {
        let directory = Directory::new(&place.home, &KIND);
        let settings = Settings { http: place.http, mesh: place.mesh };
        let (url, address) = (place.url(), place.mesh.to_string());
        servers.push(Home::create(&directory, &settings, &place.name, &url, &address)?);
    }
    let description = Description {
        name: "Agora".to_owned(),
        nonce: Digest(system::random()),
        corrupt: ostrakon_mixer::demo::corrupt(servers.len())?,
        servers,
        // One person alone is to see what it says.
        shape: options.room.shape(1),
        admitted: None,
    };
    drop(description.room()?);
    group.hand_out(&places, &description)
}

#[cfg(test)]
mod tests {
    use ostrakon_asynchromix::Card;
    use ostrakon_crypto::SigningKey;

    use super::*;

    #[test]
    fn what_is_promised_is_what_the_number_of_servers_bears() {
        let room = RoomOptions { places: 16, bytes: 8, seconds: 1 };
        let card =
            Card::sign("a", "http://a.example", "a.example:1", &SigningKey::from_seed(&[1; 32]));
        let promised = |servers: usize| {
            promise(&Description {
                name: "a".to_owned(),
                nonce: Digest([0; 32]),
                corrupt: ostrakon_mixer::demo::corrupt(servers).unwrap(),
                servers: vec![card.clone(); servers],
                shape: room.shape(4),
                admitted: None,
            })
        };
        for (servers, more) in [(4, 5), (7, 8), (10, 11)] {
            let told = promised(servers);
            let choice = format!("found the room with {more} servers, which go on without one");
            assert!(
                told.contains(&format!("need all {servers}")) && told.contains(&choice),
                "{told}"
            );
        }
        for (servers, some, spare) in
            [(5, "one", "one"), (6, "one", "one"), (8, "2", "one"), (9, "2", "2"), (11, "3", "one")]
        {
            let told = promised(servers);
            let begin = format!("Of {servers} servers {some} may fail");
            let end = format!("new rounds go on without {spare}.");
            assert!(told.starts_with(&begin) && told.ends_with(&end), "{told}");
        }
    }
}

//! `ostrakon mixer`: rooms whose servers may fail, be blocked or seized; and how people take part
//! in them (docs/spec/asynchromix.md, section 18).

mod evidence;
mod home;
mod link;
pub mod local;
mod say;
mod serve;
mod status;
mod visiting;
mod watch;
mod words;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use ostrakon_asynchromix::participant::key_of;
use ostrakon_asynchromix::{Card, Description, Shape};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_mixer::TICK;

use crate::serving::cards::{self, Directory};
use crate::{output, secret, system};
use home::{Home, KIND, Settings};
pub use link::{AnyLink, Link};
pub use say::say;
pub use watch::watch;

/// What can be done with servers of such rooms.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Makes the keys of one server, and prints its card for the others.
    Init(InitOptions),
    /// Makes one room of several servers' cards, and prints its description.
    Found(Box<FoundOptions>),
    /// Runs one server.
    Serve(serve::Options),
    /// Runs a whole room on this machine, set up on the first start.
    Up(local::Options),
    /// Tells how a room stands: what is open, for how many rounds what is prepared lasts, who is
    /// away or was caught lying, and what has ended.
    Status(status::Options),
    /// Gets from a room's servers what convicts one of them, as a file that anybody can judge.
    Evidence(evidence::Options),
    /// Judges a file of evidence, offline: whom it convicts, and of what.
    Judge(evidence::JudgeOptions),
}

/// Options of `mixer init`.
#[derive(clap::Args)]
pub struct InitOptions {
    #[command(flatten)]
    server: cards::CardOptions,
    /// Where the public interface listens.
    #[arg(long, default_value = "0.0.0.0:7400")]
    http: SocketAddr,
    /// Where it listens for the other servers.
    #[arg(long, default_value = "0.0.0.0:7500")]
    mesh: SocketAddr,
}

/// What a room is like.
#[derive(clap::Args, Clone, Debug)]
pub struct RoomOptions {
    /// Places of a round: so many can take part at a time. A power of two.
    #[arg(long, default_value_t = 128)]
    places: usize,
    /// Bytes of a message at most.
    #[arg(long, default_value_t = 280)]
    bytes: usize,
    /// Seconds of a round, since the first one has handed in. What is said while a round collects
    /// comes out with the next one, if that page has handed in its cover already.
    #[arg(long, default_value_t = 3)]
    seconds: u32,
}

impl RoomOptions {
    fn shape(&self, minimum: usize) -> Shape {
        let ticks = u64::from(self.seconds) * 1000 / u64::try_from(TICK.as_millis()).unwrap_or(1);
        Shape {
            rows: self.places,
            payload: self.bytes,
            minimum,
            ticks: u32::try_from(ticks).unwrap_or(u32::MAX),
        }
    }
}

/// Options of `mixer found`.
#[derive(clap::Args)]
pub struct FoundOptions {
    /// The room's name.
    #[arg(long)]
    name: String,
    #[command(flatten)]
    room: RoomOptions,
    /// With fewer who take part, nothing is opened. 1 is for trials only: whoever is alone then is
    /// alone on the board.
    #[arg(long, default_value_t = 4)]
    minimum: usize,
    /// Only who has one of so many links may take part; the links are written to --links.
    #[arg(long, requires = "links", value_name = "PEOPLE")]
    listed: Option<usize>,
    /// Where the links for --listed are written, one for each person.
    #[arg(long, requires = "listed", value_name = "FILE")]
    links: Option<PathBuf>,
    /// The servers' cards, in their order.
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
        Command::Serve(options) => serve::run(options).await,
        Command::Up(options) => local::run(options).await,
        Command::Status(options) => status::run(&options).await,
        Command::Evidence(options) => evidence::export(&options).await,
        Command::Judge(options) => evidence::judge(&options),
    }
}

fn init(options: &InitOptions) -> Result<()> {
    let InitOptions { server, http, mesh } = options;
    let directory = Directory::new(&server.home, &KIND);
    let settings = Settings { http: *http, mesh: *mesh };
    let card = Home::create(&directory, &settings, &server.name, &server.url, &server.address)?;
    server.print(&card, &KIND)
}

fn found(options: &FoundOptions) -> Result<()> {
    let read = |path: &PathBuf| -> Result<Card> {
        let card: Card = cards::read_card(path, &KIND)?;
        card.validate()?;
        Ok(card)
    };
    let servers = options.cards.iter().map(read).collect::<Result<Vec<_>>>()?;
    ensure!(
        options.minimum <= options.room.places,
        "--minimum is greater than --places: no round would ever be opened"
    );
    let seeds: Vec<Secret> =
        (0..options.listed.unwrap_or(0)).map(|_| Secret::new(system::random())).collect();
    let description = Description {
        name: options.name.clone(),
        nonce: Digest(system::random()),
        corrupt: ostrakon_mixer::demo::corrupt(servers.len())?,
        servers,
        shape: options.room.shape(options.minimum),
        admitted: options.listed.map(|_| seeds.iter().map(key_of).collect()),
    };
    let room = description.room()?;
    if let Some(people) = options.listed {
        ensure_enough(people, &description)?;
        if let Some(told) = turns(people, options.room.places) {
            eprintln!("{told}");
        }
    }
    if let Some(path) = &options.links {
        let link = |seed: &Secret| {
            let seed = Some(seed.clone());
            Link { seed, ..link_of(&description, 0, &room) }.to_string() + "\n"
        };
        secret::write_new(path, &seeds.iter().map(link).collect::<String>())?;
    }
    output::line(&serde_json::to_string_pretty(&description)?)?;
    let whose = match &options.links {
        Some(path) => {
            format!("for who only watches; those who take part have one of {}", path.display())
        }
        None => "for everybody".to_owned(),
    };
    eprintln!(
        "The room's digest, for all operators to compare: {}\n{}\nIts link, {whose}: {}",
        room.digest().to_hex(),
        local::promise(&description),
        link_of(&description, 0, &room)
    );
    Ok(())
}

/// A round's minimum leaves out the t homes that have most rows: of so few people no round would
/// ever be opened, however evenly they come.
fn ensure_enough(people: usize, description: &Description) -> Result<()> {
    let (servers, corrupt) = (description.servers.len(), description.corrupt);
    let minimum = description.shape.minimum;
    // As even as can be: so many homes have one more than the others.
    let fullest = corrupt * (people / servers) + corrupt.min(people % servers);
    ensure!(
        minimum == 1 || people - fullest >= minimum,
        "--listed {people} is too few for --minimum {minimum}: what the {corrupt} fullest of \
         {servers} servers collect does not count, so no round would ever be opened; name more \
         people or a smaller minimum"
    );
    Ok(())
}

/// What is told where more people are listed than a round has places.
fn turns(people: usize, places: usize) -> Option<String> {
    (people > places).then(|| {
        format!(
            "--listed {people}: a round has {places} places, so not all can take part in each, and \
             who finds none waits for the next one; --places {} has one for everybody",
            people.next_power_of_two()
        )
    })
}

/// The link at one of the servers.
fn link_of(description: &Description, server: usize, room: &ostrakon_asynchromix::Room) -> Link {
    Link { origin: description.servers[server].url.clone(), room: room.digest(), seed: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_no_minimum_is_met_with_is_refused() {
        let key = ostrakon_crypto::SigningKey::from_seed(&[1; 32]);
        let card = Card::sign("a", "http://a.example", "a.example:1", &key);
        let of = |servers: usize, corrupt, minimum| Description {
            name: "a".to_owned(),
            nonce: Digest([0; 32]),
            corrupt,
            servers: vec![card.clone(); servers],
            shape: Shape { rows: 16, payload: 8, minimum, ticks: 1 },
            admitted: None,
        };
        // Of five on four servers one has two.
        assert!(ensure_enough(5, &of(4, 1, 3)).is_ok());
        let told = ensure_enough(4, &of(4, 1, 4)).unwrap_err().to_string();
        assert!(told.contains("--listed 4") && told.contains("more people"), "{told}");
        assert!(ensure_enough(5, &of(4, 1, 4)).is_err());
        assert!(ensure_enough(6, &of(4, 1, 4)).is_ok());
        assert!(ensure_enough(7, &of(7, 2, 5)).is_ok() && ensure_enough(6, &of(7, 2, 5)).is_err());
        assert!(ensure_enough(1, &of(4, 1, 1)).is_ok(), "a trial");
    }

    #[test]
    fn a_list_longer_than_a_round_takes_turns_and_is_told_so() {
        assert_eq!(turns(128, 128), None);
        let told = turns(129, 128).unwrap();
        assert!(told.contains("a round has 128 places") && told.contains("--places 256"), "{told}");
    }
}

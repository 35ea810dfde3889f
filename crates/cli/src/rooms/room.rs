//! `ostrakon room`: what administrators do.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ostrakon_client::host::places_for;
use ostrakon_mixing::link::Link;
use ostrakon_mixing::room::{Admission, PRACTICE, USUAL_MINIMUM, minimum_for, people_for};
use ostrakon_mixing::{EngineKind, Mode, RoomId, engines};
use ostrakon_party::Trust;
use ostrakon_protocol::{NewRoom, RoomInfo, RoomState};
use reqwest::Method;
use serde::Serialize;

use crate::client::{Connection, http_client, origin};
use crate::serving::administrator::Administrator;
use crate::serving::site::Site;
use crate::{output, secret};

/// Places of a room unless something else is asked for.
const USUAL_CAPACITY: u32 = 192;

/// The commands about rooms.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Creates a room at all servers and prints its link.
    Create(Create),
    /// Lists the rooms.
    List(Target),
    /// Shows a room.
    Show(One),
    /// Closes a room for good. Its board remains.
    Close(One),
    /// Deletes a room at one server for good: it is closed at all, and this one erases its messages
    /// and shows it no more.
    Delete(One),
}

/// Whom to ask, and as whom.
#[derive(clap::Args)]
pub struct Target {
    /// A server's address, as in http://127.0.0.1:7000; the local servers' unless given.
    #[arg(long, value_parser = origin, requires = "token_file")]
    server: Option<String>,
    /// The file with the server's administrator token.
    #[arg(long, requires = "server")]
    token_file: Option<PathBuf>,
    /// Where the local servers keep their data.
    #[arg(long, default_value = "ostrakon-data", conflicts_with = "server")]
    data_dir: PathBuf,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// A room that exists.
#[derive(clap::Args)]
pub struct One {
    /// The room's id.
    #[arg(value_parser = room_id)]
    room: RoomId,
    #[command(flatten)]
    target: Target,
}

/// A room to be created.
#[derive(clap::Args)]
pub struct Create {
    /// The room's name.
    name: String,
    /// Bytes of a message, padding included: a multiple of 8 from 32 to 4096. A text may have two
    /// bytes less.
    #[arg(long, default_value_t = 256)]
    payload: u32,
    /// The most participants of an epoch [default: 192, and for at least twice as many as --people]
    #[arg(long)]
    capacity: Option<u32>,
    /// Seconds of an epoch.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// The least number of participants with which an epoch is published, whichever server's are
    /// left out: 3 takes five people. 1, two people, needs --without-crowd, and 0, for practice,
    /// is --without-crowd alone [default: 3, or what suits --people: three people are the fewest]
    #[arg(long)]
    minimum: Option<u32>,
    /// How many people are expected; shown to whoever waits.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    people: Option<u32>,
    /// Publishes what a single person says, or two with --minimum 1: everybody then knows whose
    /// it is. For practice.
    #[arg(long)]
    without_crowd: bool,
    /// The engine that mixes the messages; unless given, clarion with --messages, ruffle without.
    #[arg(long, value_parser = engine())]
    engine: Option<EngineKind>,
    /// What happens when a server cheats; --engine clarion is fair.
    #[arg(long, value_enum, default_value_t = ModeArg::Fair)]
    mode: ModeArg,
    /// What the room is for.
    #[arg(long, default_value = "")]
    purpose: String,
    /// The file with the key of the room's host, for `ostrakon host`. If there is none, a key is
    /// made.
    #[arg(long)]
    host_key: Option<PathBuf>,
    /// Only those take part whom the host admits or invites.
    #[arg(long, requires = "host_key")]
    members: bool,
    /// A room for messages between two people, for `ostrakon chat`: nothing in it can be read by
    /// anybody else. It needs --payload 256 or more, and keeps messages for a day unless
    /// --retention-days says otherwise.
    #[arg(long, conflicts_with_all = ["host_key", "members"])]
    messages: bool,
    /// Days after which messages are erased; never unless given.
    #[arg(long)]
    retention_days: Option<u32>,
    #[command(flatten)]
    target: Target,
}

/// The engines' names on the command line.
pub fn engine_names() -> impl Iterator<Item = PossibleValue> {
    EngineKind::ALL
        .into_iter()
        .map(|kind| PossibleValue::new(engines::name(kind)).help(engines::about(kind)))
}

/// Reads an engine's name.
pub fn engine() -> impl TypedValueParser<Value = EngineKind> {
    PossibleValuesParser::new(engine_names())
        .map(|name| engines::named(&name).expect("no other name is taken"))
}

/// [`Mode`] on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum ModeArg {
    /// The epoch stops before anything is revealed, and the messages enter the next one.
    Fair,
    /// A server that is proved honest finishes alone, and learns who said what.
    Robust,
}

fn room_id(text: &str) -> Result<RoomId, String> {
    RoomId::from_hex(text)
        .ok_or_else(|| "a room's id has 32 lower-case hexadecimal digits".to_owned())
}

/// A room with its links.
#[derive(Serialize)]
struct RoomJson<'a> {
    #[serde(flatten)]
    room: &'a RoomInfo,
    links: Vec<String>,
}

/// Runs one of the commands.
///
/// # Errors
/// If the server does not answer, or refuses.
pub async fn run(command: Command) -> Result<()> {
    match command {
        Command::Create(create) => {
            let administrator = administrator(&create.target)?;
            let room = administrator.create(create.new_room()?).await?;
            print(&administrator, &[room], create.target.json).await
        }
        Command::List(target) => {
            let administrator = administrator(&target)?;
            print(&administrator, &administrator.rooms().await?, target.json).await
        }
        Command::Show(one) => {
            let administrator = administrator(&one.target)?;
            let path = format!("rooms/{}", one.room.to_hex());
            let room = administrator.call(Method::GET, &path).await?;
            print(&administrator, &[room], one.target.json).await
        }
        Command::Close(one) => {
            let administrator = administrator(&one.target)?;
            let path = format!("rooms/{}", one.room.to_hex());
            let room = administrator.call(Method::DELETE, &path).await?;
            print(&administrator, &[room], one.target.json).await
        }
        Command::Delete(one) => delete(&one).await,
    }
}

/// What was deleted.
#[derive(Serialize)]
struct Deleted {
    deleted: String,
}

async fn delete(one: &One) -> Result<()> {
    let administrator = administrator(&one.target)?;
    let room = one.room.to_hex();
    administrator.delete(&room).await?;
    if one.target.json {
        return output::json(&Deleted { deleted: room });
    }
    output::line(&format!(
        "{room} is closed, and deleted at {}; the other servers keep its board until their operators delete it, too",
        administrator.origin()
    ))
}

impl Create {
    /// The minimum; none that hides nobody, unless that is said in words.
    fn minimum(&self, trust: &Trust) -> Result<u32> {
        match (self.without_crowd, self.minimum) {
            (true, Some(1)) => Ok(1),
            (true, None | Some(PRACTICE)) => Ok(PRACTICE),
            (true, Some(minimum)) => bail!(
                "--minimum {minimum} is a crowd, and --without-crowd asks for none: leave one of them out"
            ),
            (false, Some(PRACTICE)) => bail!(
                "--minimum 0 publishes what a single person says, and everybody then knows whose it is. Take 2 or more; or, for \
                 practice, say --without-crowd instead"
            ),
            (false, Some(1)) => bail!(
                "--minimum 1 is no crowd: a message of two people is known to both, and one server can leave somebody alone \
                 with it. Take 2 or more, or say --without-crowd"
            ),
            (false, Some(minimum)) => Ok(minimum),
            (false, None) => {
                Ok(self.people.map_or(USUAL_MINIMUM, |people| minimum_for(people, trust)))
            }
        }
    }

    /// The places.
    fn capacity(&self) -> u32 {
        let suits = || places_for(self.people.unwrap_or(0), USUAL_CAPACITY);
        self.capacity.unwrap_or_else(suits)
    }

    fn new_room(&self) -> Result<NewRoom> {
        let host = self
            .host_key
            .as_deref()
            .map(crate::rooms::host::key_in)
            .transpose()
            .context("--host-key")?;
        let room = NewRoom {
            purpose: self.purpose.clone(),
            host: host.map(|key| key.verifying_key()),
            admission: match (self.members, self.messages) {
                (_, true) => Admission::Messages,
                (true, false) => Admission::Members,
                (false, false) => Admission::Open,
            },
            retention_days: self.retention_days.or(self.messages.then_some(1)),
            payload: self.payload,
            capacity: self.capacity(),
            seconds: self.seconds,
            people: self.people,
            engine: self.engine,
            mode: match self.mode {
                ModeArg::Fair => Mode::Fair,
                ModeArg::Robust => Mode::Robust,
            },
            ..NewRoom::named(&self.name)
        };
        let trust = engines::usual_trust(room.clone().descriptor([0; 16]).engine);
        Ok(NewRoom { minimum: self.minimum(&trust)?, ..room })
    }
}

/// Who asks, as the options say it.
fn administrator(target: &Target) -> Result<Administrator> {
    let http = http_client()?;
    if let (Some(server), Some(file)) = (&target.server, &target.token_file) {
        return Ok(Administrator::new(
            Connection::new(http, server),
            secret::read(file).context("--token-file")?,
        ));
    }
    let site = Site::open(&target.data_dir).context(
        "--data-dir holds no local servers: `ostrakon up` makes some, and --server with --token-file \
         names another one",
    )?;
    site.administrator(http)
}

async fn print(administrator: &Administrator, rooms: &[RoomInfo], json: bool) -> Result<()> {
    for room in rooms {
        let links: Vec<_> = administrator.links(room).await?.iter().map(Link::to_string).collect();
        if json {
            output::json(&RoomJson { room, links })?;
            continue;
        }
        let state = if room.state == RoomState::Open { "open" } else { "closed" };
        let of = &room.descriptor;
        output::line(&format!(
            "{} ({state}): {}, {} slots of {} bytes, {} s, {}",
            of.name,
            room.id,
            of.capacity,
            of.payload,
            of.seconds,
            crowd(of.minimum, &engines::trust(of.engine, links.len())?)
        ))?;
        links.iter().try_for_each(|link| output::line(&format!("  {link}")))?;
    }
    Ok(())
}

/// How many are enough, in people.
fn crowd(minimum: u32, trust: &Trust) -> String {
    if minimum == PRACTICE {
        return "for practice, without a crowd".to_owned();
    }
    format!("minimum {minimum}: messages appear from {} people on", people_for(minimum, trust))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        create: Create,
    }

    fn minimum(arguments: &[&str]) -> Result<u32> {
        Line::try_parse_from([&["create", "Agora"], arguments].concat())?
            .create
            .minimum(&Trust::one_of_three())
    }

    #[test]
    fn the_minimum_and_the_places_suit_the_people_who_are_expected() {
        // As in the page's tests of the form.
        for (people, enough) in [(1, 3), (3, 3), (5, 3), (8, 5), (12, 8), (30, 8)] {
            let minimum = minimum(&["--people", &people.to_string()]).unwrap();
            assert_eq!(people_for(minimum, &Trust::one_of_three()), enough, "{people} people");
        }
        assert_eq!(minimum(&["--people", "3", "--minimum", "4"]).unwrap(), 4);
        let places = |arguments: &[&str]| {
            Line::try_parse_from([&["create", "Agora"], arguments].concat())
                .unwrap()
                .create
                .capacity()
        };
        assert_eq!(places(&[]), 192);
        assert_eq!(places(&["--people", "97"]), 384);
        assert_eq!(places(&["--people", "97", "--capacity", "12"]), 12);
    }

    /// As whoever opens one by the interface alone.
    #[test]
    fn a_room_for_messages_has_clarion_unless_it_is_asked_for_otherwise() {
        let engine = |arguments: &[&str]| {
            let line = Line::try_parse_from([&["create", "Letters"], arguments].concat());
            line.unwrap().create.new_room().unwrap().descriptor([0; 16]).engine
        };
        assert_eq!(engine(&[]), EngineKind::Ruffle);
        assert_eq!(engine(&["--messages"]), EngineKind::Clarion);
        assert_eq!(engine(&["--messages", "--engine", "ruffle"]), EngineKind::Ruffle);
        let robust = engine(&["--messages", "--mode", "robust"]);
        assert_eq!(robust, EngineKind::Ruffle, "the one that has that mode");
        let room = r#"{"name": "Letters", "admission": "messages"}"#;
        let room: NewRoom = serde_json::from_str(room).unwrap();
        assert_eq!(room.descriptor([0; 16]).engine, EngineKind::Clarion);
    }

    #[test]
    fn how_many_are_enough_is_told_in_people() {
        let trust = Trust::one_of_three();
        assert_eq!(crowd(3, &trust), "minimum 3: messages appear from 5 people on");
        assert!(crowd(PRACTICE, &trust).contains("without a crowd"));
    }

    #[test]
    fn a_room_has_a_crowd_unless_it_is_said_in_words_that_it_has_none() {
        assert_eq!(minimum(&[]).unwrap(), 3);
        assert_eq!(minimum(&["--minimum", "2"]).unwrap(), 2);
        let refused = minimum(&["--minimum", "1"]).unwrap_err().to_string();
        assert!(refused.contains("no crowd") && refused.contains("--without-crowd"), "{refused}");
        let none = minimum(&["--minimum", "0"]).unwrap_err().to_string();
        assert!(none.contains("a single person") && none.contains("--without-crowd"), "{none}");
        assert_eq!(minimum(&["--minimum", "0", "--without-crowd"]).unwrap(), PRACTICE);
        assert_eq!(minimum(&["--minimum", "1", "--without-crowd"]).unwrap(), 1);
        assert_eq!(minimum(&["--without-crowd"]).unwrap(), PRACTICE);
        let both = minimum(&["--minimum", "5", "--without-crowd"]).unwrap_err().to_string();
        assert!(both.contains("leave one of them out"), "{both}");
    }
}

//! `ostrakon chat`: messages between two people, in a room for messages.

mod kept;
mod order;
mod report;
mod session;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ostrakon_messaging::{Client, ContactLink};
use ostrakon_mixing::RowFormat;
use ostrakon_mixing::link::Link;
use ostrakon_mixing::room::Admission;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;

use self::kept::{Directory, Kept};
use self::order::Order;
use self::report::{Form, Report};
use self::session::{Manner, Session};
use crate::client::{Room, http_client};
use crate::{secret, system};

/// Entries of the board that are in memory. What comes to be missed is sent again.
const ENTRIES: usize = 32;
/// The name of a partner for practice.
const PRACTICE: &str = "practice partner";
/// Lines of standard input that wait.
const LINES: usize = 64;

/// The commands about messages.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Makes a link by which others can call you, and prints it. Give each person another one: each
    /// can be revoked by itself.
    Link(NewLink),
    /// Keeps somebody's contact link under a name.
    Add(Add),
    /// Lists contacts, messages, and your own links.
    List(List),
    /// Talks with a contact: what you type is sent. While the program runs you are present, and
    /// nobody learns whether you talk; but coming only to talk shows when you come.
    With(With),
    /// Is present all the time, so that being there says nothing: commands are read from standard
    /// input, messages are printed.
    Stay(Stay),
}

/// Where everything is kept.
#[derive(clap::Args)]
struct Keeping {
    /// Where contacts and messages are kept; $XDG_STATE_HOME/ostrakon or ~/.local/state/ostrakon
    /// unless given.
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// The file with the key that they are encrypted with, if it is not to lie beside them.
    #[arg(long)]
    key_file: Option<PathBuf>,
    /// Prints everything as JSON, one value a line.
    #[arg(long)]
    json: bool,
}

/// Options of `link`.
#[derive(clap::Args)]
pub struct NewLink {
    /// The link of a room for messages; `-` takes it from the first line of standard input, `@FILE`
    /// from a file.
    #[arg(value_parser = secret::link::<Link>)]
    room: Link,
    /// What you call the link.
    #[arg(long, default_value = "")]
    label: String,
    /// The name that those whom you call see, if you have none in this room yet.
    #[arg(long, default_value = "somebody")]
    name: String,
    /// Takes the link with this number back instead: nobody can call you by it any more.
    #[arg(long, value_name = "NUMBER")]
    revoke: Option<u32>,
    #[command(flatten)]
    keeping: Keeping,
}

/// Options of `add`.
#[derive(clap::Args)]
pub struct Add {
    /// The contact's link; `-` takes it from the first line of standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<ContactLink>)]
    link: ContactLink,
    /// What you call the contact.
    contact: String,
    /// The name that those whom you call see, if you have none in this room yet.
    #[arg(long, default_value = "somebody")]
    name: String,
    #[command(flatten)]
    keeping: Keeping,
}

/// Options of `list`.
#[derive(clap::Args)]
pub struct List {
    #[command(flatten)]
    keeping: Keeping,
}

/// Options of `with`.
#[derive(clap::Args)]
pub struct With {
    /// The contact's name or number.
    contact: String,
    /// What to say; the program ends when it is delivered. Without it, lines of standard input are
    /// sent, and the program ends when there are no more and all are delivered.
    text: Option<String>,
    #[command(flatten)]
    keeping: Keeping,
}

/// Options of `stay`.
#[derive(clap::Args)]
pub struct Stay {
    /// The link of the room; not needed if you have contacts or links in one room only.
    #[arg(value_parser = secret::link::<Link>)]
    room: Option<Link>,
    /// Accepts every call.
    #[arg(long)]
    accept: bool,
    /// A partner for practice: accepts every call, and answers everybody with their own words.
    #[arg(long)]
    practice: bool,
    #[command(flatten)]
    keeping: Keeping,
}

impl Keeping {
    fn directory(&self) -> Result<Directory> {
        Directory::open(kept::directory(self.state_dir.as_deref())?, self.key_file.clone())
    }

    fn report(&self) -> Report {
        Report { form: if self.json { Form::Json } else { Form::Words } }
    }
}

/// Runs one of the commands.
///
/// # Errors
/// If the room cannot be opened, or what is kept cannot be read or written.
pub async fn run(command: Command) -> Result<()> {
    match command {
        Command::Link(options) => link(options).await,
        Command::Add(options) => add(options).await,
        Command::List(options) => list(&options),
        Command::With(options) => with(options).await,
        Command::Stay(options) => stay(options).await,
    }
}

async fn link(options: NewLink) -> Result<()> {
    let directory = options.keeping.directory()?;
    let mut kept = client_in(&directory, options.room, &options.name).await?;
    if let Some(number) = options.revoke {
        kept.client.revoke(number)?;
        return kept.save();
    }
    let link = kept.client.add_link(&options.label, &mut system::entropy())?;
    kept.save()?;
    options.keeping.report().link(&ContactLink::in_room(&kept.room, link.callee))
}

async fn add(options: Add) -> Result<()> {
    let directory = options.keeping.directory()?;
    let mut kept = client_in(&directory, options.link.room_link(), &options.name).await?;
    let ContactLink { callee, practice, .. } = options.link;
    let number = kept.client.add_contact(callee, &options.contact)?;
    kept.save()?;
    if options.keeping.json {
        let contact = serde_json::json!({ "contact": number, "practice": practice });
        return crate::output::json(&contact);
    }
    let what =
        if practice { ", a partner for practice: a program that repeats your words" } else { "" };
    crate::output::line(&format!("{} is contact {number}{what}", options.contact))
}

fn list(options: &List) -> Result<()> {
    let directory = options.keeping.directory()?;
    let rooms = directory.rooms()?;
    if rooms.is_empty() {
        eprintln!("no contacts and no links yet: `chat link` makes a link, `chat add` keeps one");
    }
    for room in rooms {
        let kept = directory.client(&room)?;
        options.keeping.report().list(&kept.client, &kept.room)?;
    }
    Ok(())
}

async fn with(options: With) -> Result<()> {
    let directory = options.keeping.directory()?;
    let (mut kept, number) = kept_with(&directory, &options.contact)?;
    let room = open(kept.room.clone()).await?;
    let contact = session::contact(&kept.client, &number)?;
    kept.client.engage(contact.number, &mut system::entropy())?;
    kept.save()?;
    let (orders, received) = mpsc::channel(LINES);
    if let Some(text) = options.text {
        orders.send(Order::Say(number, text)).await?;
        drop(orders);
    } else {
        tokio::spawn(read_lines(orders, move |line| {
            (!line.is_empty()).then(|| Order::Say(number.clone(), line.to_owned()))
        }));
    }
    let manner = Manner { leaves_after: Some(contact.number), ..Manner::default() };
    Session::new(room, kept, manner, options.keeping.report()).run(received).await
}

/// The client that has a contact of this name or number, and the contact's number.
fn kept_with(directory: &Directory, name: &str) -> Result<(Kept, String)> {
    let mut found = None;
    for room in directory.rooms()? {
        let kept = directory.client(&room)?;
        let Ok(contact) = session::contact(&kept.client, name) else { continue };
        if found.is_some() {
            bail!("there is a contact {name} in more than one room: rename one of them");
        }
        found = Some((kept, contact.number.to_string()));
    }
    found.with_context(|| {
        format!("there is no contact {name}: `ostrakon chat add LINK NAME` keeps a link")
    })
}

async fn stay(options: Stay) -> Result<()> {
    let directory = options.keeping.directory()?;
    let kept = match options.room {
        Some(room) => {
            let name = if options.practice { PRACTICE } else { "somebody" };
            client_in(&directory, room, name).await?
        }
        None => match directory.rooms()?[..] {
            [room] => directory.client(&room)?,
            [] => bail!("there is no contact and no link yet: name the room by its link"),
            _ => bail!("there are contacts in several rooms: name one of them by its link"),
        },
    };
    let room = open(kept.room.clone()).await?;
    let (orders, received) = mpsc::channel(LINES);
    let report = options.keeping.report();
    tokio::spawn(read_lines(orders, move |line| match order::parse(line) {
        _ if line.trim().is_empty() => None,
        Ok(order) => Some(order),
        Err(error) => {
            report.complaint(&error);
            None
        }
    }));
    let accepts = options.accept || options.practice;
    let manner = Manner { accepts, echoes: options.practice, leaves_after: None };
    Session::new(room, kept, manner, report).run(received).await
}

/// Hands the lines of standard input on, as far as they say something.
async fn read_lines(orders: mpsc::Sender<Order>, read: impl Fn(&str) -> Option<Order>) {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(order) = read(&line)
            && orders.send(order).await.is_err()
        {
            return;
        }
    }
}

/// The room of a link, which must be for messages.
async fn open(link: Link) -> Result<Arc<Room>> {
    let room = Room::open_to_keep(&http_client()?, link, ENTRIES).await?;
    if room.descriptor.admission != Admission::Messages {
        bail!(
            "the room \"{}\" is not for messages, but for words to everybody: `ostrakon say` speaks there, and `ostrakon room \
             create NAME --messages` makes a room for messages",
            room.descriptor.name
        );
    }
    Ok(room)
}

/// A partner for practice in the room of a link, kept in this directory, and the link to call it
/// by. It accepts every call and answers everybody with their own words, as long as the future is
/// polled.
///
/// # Errors
/// If the room cannot be opened, or the directory cannot be used.
pub async fn practice(
    link: Link,
    path: PathBuf,
) -> Result<(ContactLink, impl Future<Output = Result<()>> + Send + 'static)> {
    let directory = Directory::open(path, None)?;
    let mut kept = client_in(&directory, link, PRACTICE).await?;
    let own = match kept.client.links().pop() {
        Some(own) => own,
        None => kept.client.add_link(PRACTICE, &mut system::entropy())?,
    };
    kept.save()?;
    let own = ContactLink::in_room(&kept.room, own.callee).for_practice();
    let room = open(kept.room.clone()).await?;
    let manner = Manner { accepts: true, echoes: true, leaves_after: None };
    let session = Session::new(room, kept, manner, Report { form: Form::Nothing });
    Ok((own, session.run(mpsc::channel(1).1)))
}

/// The client that is kept of a room, or a new one.
async fn client_in(directory: &Directory, link: Link, name: &str) -> Result<Kept> {
    if directory.has(&link.room) {
        return directory.client(&link.room);
    }
    let room = open(link.clone()).await?;
    let width = RowFormat::new(&room.descriptor, 0).limit();
    directory.add(link, Client::new(room.link.room, width, name)?)
}

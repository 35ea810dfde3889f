//! A visitor at work: it visits every server by itself, keeps what must be kept before it leaves,
//! and hears the news.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use data_encoding::BASE64URL_NOPAD;
use ostrakon_asynchromix::participant::{Kept, News};
use ostrakon_asynchromix::visit::Answer;
use ostrakon_asynchromix::{Description, Room, Visitor};
use ostrakon_crypto::Secret;
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use super::{Link, words};
use crate::client::http_client;
use crate::client::member::state_directory;
use crate::{failure, secret, system};

/// How often time passes for the visitor.
const TICK: Duration = Duration::from_millis(250);
/// The pause between two visits of a server.
const PAUSE: Duration = Duration::from_millis(400);
/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(20);
/// How long the room's description may take: whoever waits for it sees nothing yet.
const DESCRIPTION_TIME: Duration = Duration::from_secs(8);
/// The longest description that is read: a list of many keys.
const DESCRIPTION_BYTES: usize = 8 << 20;

/// What a device has of a room on its disk.
#[derive(Serialize, Deserialize)]
struct Record {
    /// Base64url of [`Kept`].
    kept: String,
    /// So that the link's own server may be away next time.
    description: Description,
}

/// The file of a device that takes part.
pub struct Memory {
    path: PathBuf,
    description: Description,
    last: Option<Kept>,
    _lock: std::fs::File,
}

impl Memory {
    fn save(&mut self, kept: Kept) -> Result<()> {
        if self.last.as_ref() == Some(&kept) {
            return Ok(());
        }
        let bytes = Zeroizing::new(wire::encode(&kept));
        let record =
            Record { kept: BASE64URL_NOPAD.encode(&bytes), description: self.description.clone() };
        secret::replace(&self.path, &Zeroizing::new(serde_json::to_string(&record)?))?;
        self.last = Some(kept);
        Ok(())
    }
}

/// What a device is shown.
pub enum Shown {
    /// News of the own message.
    News(News),
    /// The board may have grown, or the room stands otherwise.
    Changed,
}

/// A device in a room, visiting.
pub struct Visiting {
    state: Arc<Mutex<State>>,
    shown: mpsc::UnboundedReceiver<Result<Shown>>,
    names: Vec<String>,
    _tasks: JoinSet<()>,
}

struct State {
    visitor: Visitor,
    memory: Option<Memory>,
}

impl State {
    /// What leaves next, after what it depends on is durable.
    fn ask(&mut self, server: PartyId) -> Result<Vec<u8>> {
        self.save()?;
        Ok(self.visitor.ask(server))
    }

    fn save(&mut self) -> Result<()> {
        match (&mut self.memory, self.visitor.kept()) {
            (Some(memory), Some(kept)) => memory.save(kept),
            _ => Ok(()),
        }
    }
}

/// The description that the link names: from the disk, or from the link's server. The digest in the
/// link says which one is right, so a server that is asked for what is known could only be waited
/// for.
///
/// # Errors
/// If the link's server is away, or shows another room.
pub async fn describe(link: &Link, known: Option<Description>) -> Result<(Description, Room)> {
    if let Some(known) = known
        && let Ok(room) = known.room()
        && room.digest() == link.room
    {
        return Ok((known, room));
    }
    let read = async {
        let url = format!("{}/api/v1/mix", link.origin);
        let request = http_client()?.get(url).timeout(DESCRIPTION_TIME);
        let bytes = limited(request, DESCRIPTION_BYTES).await?;
        let description: Description = serde_json::from_slice(&bytes)?;
        anyhow::Ok(description)
    };
    let description = read.await.map_err(|error| {
        failure::unreachable(format!(
            "{} does not show its room ({error:#}); every server of the room has a link of its own: try another one's",
            link.origin
        ))
    })?;
    let room = description.room().map_err(|error| failure::unproven(error.to_string()))?;
    if room.digest() != link.room {
        return Err(failure::unproven(
            "the server shows another room than the link names; nothing was sent to it",
        ));
    }
    Ok((description, room))
}

/// An answer of so many bytes at most.
///
/// # Errors
/// If there is none, or it is longer.
pub async fn limited(request: reqwest::RequestBuilder, most: usize) -> Result<Vec<u8>> {
    let mut response = request.send().await?.error_for_status()?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > most {
            bail!("the answer is too long");
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

impl Visiting {
    /// Begins to watch.
    ///
    /// # Errors
    /// If the link's server is away, or shows another room.
    pub async fn watch(link: &Link) -> Result<Self> {
        let (description, room) = describe(link, None).await?;
        let visitor = Visitor::watching(Arc::new(room));
        Self::start(&description, State { visitor, memory: None })
    }

    /// Begins to take part, with what `directory` keeps of this device.
    ///
    /// # Errors
    /// Also if the directory cannot be used, another program takes part as this device, or the
    /// room's list does not name it.
    pub async fn take_part(link: &Link, directory: Option<&Path>) -> Result<Self> {
        let directory = directory.map_or_else(state_directory, |path| Ok(path.to_owned()))?;
        secret::directory(&directory)?;
        let seed = link.seed.clone().unwrap_or_else(|| Secret::new(system::random()));
        // Who has several invitations is several people.
        let name = match &link.seed {
            Some(seed) => ostrakon_asynchromix::participant::key_of(seed).to_hex(),
            None => link.room.to_hex(),
        };
        let lock = secret::lock(&directory.join(format!("mix-{name}.lock")))?;
        let lock = lock.context(
            "another `ostrakon say` takes part in this room as this device: wait until that is done",
        )?;
        let path = directory.join(format!("mix-{name}.json"));
        let (kept, known) = if path.exists() {
            let (kept, description) = read(&path)?;
            (kept, Some(description))
        } else {
            (Kept::new(*seed.expose()), None)
        };
        let (description, room) = describe(link, known).await?;
        let fresh = Secret::new(system::random());
        let visitor = Visitor::taking_part(Arc::new(room), &kept, fresh);
        let visitor = visitor.with_context(|| {
            format!("{} is of another room; move it away to begin anew", path.display())
        })?;
        if !visitor.is_admitted() {
            bail!(
                "only people with a link of their own may take part in this room; `ostrakon watch` shows its board to everybody"
            );
        }
        let memory = Memory { path, description: description.clone(), last: None, _lock: lock };
        Self::start(&description, State { visitor, memory: Some(memory) })
    }

    fn start(description: &Description, mut state: State) -> Result<Self> {
        state.save()?;
        let http = http_client()?;
        let longest = Answer::longest(state.visitor.room());
        let servers: Vec<_> = state.visitor.room().parties().zip(&description.servers).collect();
        let (tell, shown) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let visits: Vec<(PartyId, String)> = servers
            .iter()
            .map(|(party, card)| (*party, format!("{}/api/v1/mix", card.url)))
            .collect();
        let state = Arc::new(Mutex::new(state));
        for (party, url) in visits {
            let (state, http, tell) = (Arc::clone(&state), http.clone(), tell.clone());
            tasks.spawn(async move {
                loop {
                    if let Err(error) = visit(&state, party, &http, &url, longest, &tell).await {
                        drop(tell.send(Err(error)));
                        return;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }
        let clock = Arc::clone(&state);
        tasks.spawn(async move {
            loop {
                tokio::time::sleep(TICK).await;
                locked(&clock).visitor.tick();
                drop(tell.send(Ok(Shown::Changed)));
            }
        });
        Ok(Self { state, shown, names: words::names(description), _tasks: tasks })
    }

    /// What the visitor knows.
    pub fn with<T>(&self, read: impl FnOnce(&mut Visitor) -> T) -> T {
        read(&mut locked(&self.state).visitor)
    }

    /// The servers' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Waits for the next news.
    ///
    /// # Errors
    /// If what must be kept cannot be written: then nothing more leaves.
    pub async fn next(&mut self) -> Result<Shown> {
        self.shown.recv().await.context("nothing visits any more")?
    }

    /// Writes down what must be kept.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self) -> Result<()> {
        locked(&self.state).save()
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no panic while held")
}

fn read(path: &Path) -> Result<(Kept, Description)> {
    let broken = || format!("{} is broken: move it away to begin anew", path.display());
    let text = Zeroizing::new(secret::read_all(path)?);
    let record: Record = serde_json::from_str(&text).with_context(broken)?;
    let bytes = Zeroizing::new(BASE64URL_NOPAD.decode(record.kept.as_bytes())?);
    Ok((wire::decode(&bytes).with_context(broken)?, record.description))
}

/// One visit. A server that does not answer is asked again; only what concerns this device ends it.
async fn visit(
    state: &Mutex<State>,
    party: PartyId,
    http: &reqwest::Client,
    url: &str,
    longest: usize,
    tell: &mpsc::UnboundedSender<Result<Shown>>,
) -> Result<()> {
    let ask = locked(state).ask(party)?;
    let request = http.post(url).body(ask).timeout(ANSWER_TIME);
    let Ok(answer) = limited(request, longest).await else { return Ok(()) };
    let news = locked(state).visitor.take(party, &answer).unwrap_or_default();
    if !news.is_empty() {
        // What was said is said: that is known after a start, too.
        locked(state).save()?;
    }
    for news in news {
        drop(tell.send(Ok(Shown::News(news))));
    }
    drop(tell.send(Ok(Shown::Changed)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use ostrakon_asynchromix::{Card, Shape};
    use ostrakon_crypto::{Digest, SigningKey};

    use super::*;

    /// The link's server may be stopped with its sockets open: what is known is not asked for.
    #[tokio::test]
    async fn a_known_room_is_not_asked_for() {
        let card = |i: u8| {
            let key = SigningKey::from_seed(&[i; 32]);
            Card::sign(
                &format!("s{i}"),
                &format!("http://s{i}.test"),
                &format!("s{i}.test:7"),
                &key,
            )
        };
        let mut known = Description {
            name: "Agora".into(),
            nonce: Digest([7; 32]),
            corrupt: 1,
            servers: (0..4).map(card).collect(),
            shape: Shape { rows: 16, payload: 40, minimum: 3, ticks: 9 },
            admitted: None,
        };
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", silent.local_addr().unwrap());
        let link = Link { origin, room: known.room().unwrap().digest(), seed: None };
        let at_once = |known| tokio::time::timeout(Duration::ZERO, describe(&link, Some(known)));
        let (_, room) = at_once(known.clone()).await.expect("nobody is waited for").unwrap();
        assert_eq!(room.digest(), link.room);
        known.name = "another".into();
        assert!(at_once(known).await.is_err(), "another room is not taken for it");
    }
}

//! Participants: one `ostrakon say` process after another.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ostrakon_broadcast::Archive;
use ostrakon_mixing::link::Link;
use serde_json::Value;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::common::NOT_THERE;
use crate::common::servers::{PAUSE, Servers};

/// What was said: where on the board it is, according to its speaker, or `None` while its speaker
/// waits for that.
#[derive(Default)]
struct Said {
    messages: BTreeMap<String, Option<Value>>,
    /// How many messages of each speaker are on the board.
    counts: Vec<usize>,
}

/// Participants who say one thing after another, each as soon as the one before is on the board.
pub struct Speakers {
    said: Arc<Mutex<Said>>,
    tasks: JoinSet<()>,
    failed: Arc<AtomicBool>,
}

impl Speakers {
    /// Lets `count` participants speak.
    pub fn start(count: usize, links: &[Link]) -> Self {
        let said = Arc::new(Mutex::new(Said { messages: BTreeMap::new(), counts: vec![0; count] }));
        let failed = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for who in 0..count {
            let (said, failed, link) =
                (said.clone(), failed.clone(), links[who % links.len()].to_string());
            tasks.spawn(async move {
                speak(who, &link, &said).await;
                failed.store(true, Ordering::Relaxed);
            });
        }
        Self { said, tasks, failed }
    }

    /// Waits until everybody has said so much more that it is on the board.
    pub async fn more(&self, servers: &Servers, messages: usize) {
        let before = self.said.lock().expect("no panic while held").counts.clone();
        let more = async {
            loop {
                assert!(
                    !self.failed.load(Ordering::Relaxed),
                    "a participant failed; what it said is above"
                );
                let now = self.said.lock().expect("no panic while held").counts.clone();
                if before.iter().zip(&now).all(|(before, now)| before + messages <= *now) {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        servers.in_time("everybody's messages reach the board", more).await;
    }

    /// Silences everybody. Messages that are not known to be on the board may or may not come to be
    /// there.
    pub async fn end(mut self) -> Spoken {
        self.tasks.shutdown().await;
        assert!(
            !self.failed.load(Ordering::Relaxed),
            "a participant failed; what it said is above"
        );
        Spoken(std::mem::take(&mut self.said.lock().expect("no panic while held").messages))
    }
}

/// Speaks until it is stopped; returns if the program fails.
async fn speak(who: usize, link: &str, said: &Mutex<Said>) {
    for n in 0.. {
        let text = format!("message {n} of {who}");
        said.lock().expect("no panic while held").messages.insert(text.clone(), None);
        let place = loop {
            let mut say = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
            say.args(["say", link, &text, "--json"]).stdin(Stdio::null()).kill_on_drop(true);
            let output = say.output().await.expect("the program starts");
            if output.status.success() {
                break serde_json::from_slice(&output.stdout).expect("JSON");
            }
            if output.status.code() != Some(NOT_THERE) {
                eprintln!("{text}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
                return;
            }
        };
        let mut said = said.lock().expect("no panic while held");
        said.messages.insert(text, Some(place));
        said.counts[who] += 1;
    }
}

/// All that was said in a test.
pub struct Spoken(BTreeMap<String, Option<Value>>);

impl Spoken {
    /// Checks that what is known to be on the board is there once, at its place, and that there is
    /// nothing besides but, at most once each, what its speakers were still waiting for.
    pub fn check(&self, board: &Archive) {
        self.check_with(board, &[]);
    }

    /// Like [`Self::check`], when `others` may have been published too, at most once each. Returns
    /// how many were.
    pub fn check_with(&self, board: &Archive, others: &[String]) -> usize {
        let mut found: BTreeMap<&str, Vec<(usize, u64)>> = BTreeMap::new();
        for (index, signed) in board.entries.iter().enumerate() {
            for message in signed.entry.bodies() {
                let text = std::str::from_utf8(message).expect("only text was said");
                found.entry(text).or_default().push((index, signed.entry.epoch.number));
            }
        }
        for (text, place) in &self.0 {
            let places = found.remove(text.as_str()).unwrap_or_default();
            match place {
                Some(place) => {
                    let stated = (
                        place["entry"].as_u64().expect("an index"),
                        place["epoch"].as_u64().expect("a number"),
                    );
                    let places: Vec<_> =
                        places.iter().map(|(index, epoch)| (*index as u64, *epoch)).collect();
                    assert_eq!(places, [stated], "{text}");
                }
                None => assert!(places.len() <= 1, "{text} is on the board {places:?}"),
            }
        }
        let mut published = 0;
        for text in others {
            let places = found.remove(text.as_str()).unwrap_or_default();
            assert!(places.len() <= 1, "{text} is on the board {places:?}");
            published += places.len();
        }
        assert!(found.is_empty(), "never said: {found:?}");
        published
    }

    /// How many messages are known to be on the board.
    pub fn len(&self) -> usize {
        self.0.values().flatten().count()
    }
}

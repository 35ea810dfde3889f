//! A job as small as one can be: raised hands. Whoever asks a server has a hand raised under a
//! name; every server then raises one of its own; and when all servers have, each says that it has
//! seen them.
//!
//! Hands and who has seen them only grow, so it does not matter in which order the servers hear of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_job::{Deed, Driver, Invalid, Job, Port, Said, State, Subject};
use ostrakon_party::{PartyId, Servers, wire};
use ostrakon_protocol::ServiceError;
use serde::{Deserialize, Serialize};

/// Bytes of the longest name.
const NAME: usize = 40;

#[derive(Serialize, Deserialize)]
enum Word {
    /// A hand is up, under this name.
    Up(String),
    /// The author has seen that every server's hand is up.
    Seen,
}

impl Word {
    /// Reads a word that an honest server says.
    fn read(word: &[u8]) -> Result<Self, Invalid> {
        match wire::decode(word).map_err(|_| Invalid("a word about hands is well formed"))? {
            Self::Up(name) if name.is_empty() || name.len() > NAME => {
                Err(Invalid("a hand has a name of at most 40 bytes"))
            }
            word => Ok(word),
        }
    }
}

pub struct RaisedHands;

impl Job for RaisedHands {
    fn number(&self) -> u8 {
        1
    }

    fn name(&self) -> &'static str {
        "hands"
    }

    fn empty(&self, servers: &Servers, _: BTreeSet<Subject>) -> Box<dyn State> {
        Box::new(Hands { servers: servers.keys.len(), subjects: BTreeMap::new() })
    }

    fn is_never_valid(&self, _: PartyId, _: &Subject, word: &[u8]) -> bool {
        Word::read(word).is_err()
    }

    fn driver(&self, port: Arc<dyn Port>) -> Arc<dyn Driver> {
        Arc::new(Seeing(port))
    }
}

struct Seeing(Arc<dyn Port>);

impl Driver for Seeing {
    fn follow(self: Arc<Self>, deed: Deed) -> BoxFuture<'static, ()> {
        async move {
            // If it cannot be said now, it is when the server starts again.
            let _ = self.0.say(deed.subject, wire::encode(&Word::Seen)).await;
        }
        .boxed()
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Hands {
    servers: usize,
    subjects: BTreeMap<Subject, Raised>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Raised {
    names: BTreeSet<String>,
    by: BTreeSet<PartyId>,
    seen: BTreeSet<PartyId>,
}

fn own(me: PartyId) -> String {
    format!("server {}", me.0)
}

impl State for Hands {
    fn judge(&self, said: &Said<'_>, subject: &Subject, word: &[u8]) -> Result<bool, Invalid> {
        let word = Word::read(word)?;
        let Some(raised) = self.subjects.get(subject) else { return Ok(true) };
        Ok(match word {
            // Somebody may have taken a server's name before it.
            Word::Up(name) if name == own(said.author) => !raised.by.contains(&said.author),
            Word::Up(name) => !raised.names.contains(&name),
            Word::Seen => !raised.seen.contains(&said.author),
        })
    }

    fn apply(&mut self, by: (PartyId, u64), subject: &Subject, word: &[u8]) -> Vec<Deed> {
        let raised = self.subjects.entry(*subject).or_default();
        match Word::read(word).expect("it was judged") {
            Word::Seen => drop(raised.seen.insert(by.0)),
            Word::Up(name) => {
                let is_new = name == own(by.0) && raised.by.insert(by.0);
                raised.names.insert(name);
                if is_new && raised.by.len() == self.servers {
                    return vec![Deed { subject: *subject, what: Vec::new() }];
                }
            }
        }
        Vec::new()
    }

    fn due(&self, me: PartyId, _: u64) -> Option<(Subject, Vec<u8>)> {
        let missing = |(_, raised): &(&Subject, &Raised)| !raised.by.contains(&me);
        let (subject, _) = self.subjects.iter().find(missing)?;
        Some((*subject, wire::encode(&Word::Up(own(me)))))
    }

    fn undone(&self, me: PartyId) -> Vec<Deed> {
        let all = self
            .subjects
            .iter()
            .filter(|(_, raised)| raised.by.len() == self.servers && !raised.seen.contains(&me));
        all.map(|(subject, _)| Deed { subject: *subject, what: Vec::new() }).collect()
    }

    fn request(&self, _: &Subject, body: &[u8]) -> Result<Vec<u8>, ServiceError> {
        let word = wire::encode(&Word::Up(String::from_utf8_lossy(body).into_owned()));
        Word::read(&word).map_err(|Invalid(why)| ServiceError::Refused(why.into()))?;
        Ok(word)
    }

    fn view(&self, subject: &Subject) -> Option<serde_json::Value> {
        let Raised { names, seen, .. } = self.subjects.get(subject)?;
        Some(serde_json::json!({ "hands": names, "seen": seen.len() }))
    }
}

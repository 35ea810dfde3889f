//! What [`super::MixRoom`] and [`super::MixVisitor`] do, without a browser.

use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_asynchromix::board::Outcome;
use ostrakon_asynchromix::evidence::Deed;
use ostrakon_asynchromix::participant::{Kept, News};
use ostrakon_asynchromix::visitor::End;
use ostrakon_asynchromix::{Description, Room, Visitor};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::{PartyId, wire};
use serde::Serialize;
use zeroize::Zeroizing;

type Shown<T> = Result<T, String>;

/// Ticks of a server in a second.
const TICKS: u32 = 20;

#[expect(clippy::disallowed_methods, reason = "the browser is an edge: here randomness enters")]
fn random() -> Shown<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| "this browser offers no secure random numbers")?;
    Ok(bytes)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("writing plain data into memory does not fail")
}

pub struct MixRoom {
    description: Description,
    room: Arc<Room>,
}

#[derive(Serialize)]
struct Server<'a> {
    name: &'a str,
    url: &'a str,
}

#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    servers: Vec<Server<'a>>,
    corrupt: usize,
    places: usize,
    limit: usize,
    seconds: u32,
    minimum: usize,
    open: bool,
}

#[derive(Serialize)]
struct NewsJson {
    kind: &'static str,
    epoch: u64,
}

#[derive(Serialize)]
struct Convicted {
    server: PartyId,
    deed: Deed,
}

#[derive(Serialize)]
struct Here {
    entries: u64,
    epoch: Option<u64>,
    places: u32,
    rows: u32,
    /// Seconds for which the round has had rows.
    waited: u32,
    mixing: u32,
    ready: u32,
    ended: Option<End>,
    convicted: Vec<Convicted>,
    silent: Vec<PartyId>,
    admitted: bool,
    message: Option<String>,
    /// Whether the message is handed in.
    handed: bool,
    /// Whether a cover is, instead.
    covers: bool,
    /// Whether all places of the round are others'.
    left_out: bool,
    #[serde(rename = "in")]
    is_in: bool,
}

#[derive(Serialize)]
struct EntryJson {
    epoch: u64,
    accepted: usize,
    few: bool,
    messages: Vec<String>,
}

impl MixRoom {
    pub fn new(description: &str, digest: &str) -> Shown<Self> {
        let description: Description =
            serde_json::from_str(description).map_err(|error| error.to_string())?;
        let room = description.room().map_err(|error| error.to_string())?;
        if Digest::from_hex(digest) != Some(room.digest()) {
            return Err("the server shows another room than the link names".into());
        }
        Ok(Self { description, room: Arc::new(room) })
    }

    pub fn about(&self) -> String {
        let servers = &self.description.servers;
        let shape = self.room.shape();
        json(&About {
            name: &self.description.name,
            servers: servers.iter().map(|s| Server { name: &s.name, url: &s.url }).collect(),
            corrupt: self.description.corrupt,
            places: shape.rows,
            limit: shape.payload,
            seconds: shape.ticks.div_ceil(TICKS),
            minimum: shape.minimum,
            open: self.room.is_open(),
        })
    }

    pub fn watch(&self) -> Visitor {
        Visitor::watching(Arc::clone(&self.room))
    }

    pub fn take_part(&self, kept: Option<&[u8]>, seed: Option<&str>) -> Shown<Visitor> {
        let kept = match (kept, seed) {
            (Some(kept), _) => {
                wire::decode(kept).map_err(|_| "what this browser kept cannot be read")?
            }
            (None, Some(seed)) => {
                let seed = BASE64URL_NOPAD.decode(seed.as_bytes()).ok();
                let seed = seed.and_then(|seed| seed.try_into().ok());
                Kept::new(seed.ok_or("the link is incomplete: copy the whole link")?)
            }
            (None, None) => Kept::new(random()?),
        };
        let fresh = Secret::new(random()?);
        let visitor = Visitor::taking_part(Arc::clone(&self.room), &kept, fresh);
        visitor.ok_or_else(|| "what this browser kept is of another room".into())
    }
}

pub fn take(visitor: &mut Visitor, server: u8, answer: &[u8]) -> Shown<String> {
    let news = visitor.take(PartyId(server), answer).map_err(|error| error.to_string())?;
    let news: Vec<NewsJson> = news
        .into_iter()
        .map(|news| {
            let (kind, epoch) = match news {
                News::In(epoch) => ("in", epoch),
                News::Published(epoch) => ("published", epoch),
                News::Covered(epoch) => ("covered", epoch),
                News::Again(epoch) => ("again", epoch),
                News::Unknown(epoch) => ("unknown", epoch),
            };
            NewsJson { kind, epoch }
        })
        .collect();
    Ok(json(&news))
}

pub fn kept(visitor: &mut Visitor) -> Option<Vec<u8>> {
    visitor.kept().map(|kept| Zeroizing::new(wire::encode(&kept)).to_vec())
}

pub fn here(visitor: &Visitor) -> String {
    let here = visitor.here();
    let own = visitor.participant();
    let collecting = here.collecting.unwrap_or_default();
    let message = own.and_then(|participant| participant.message());
    json(&Here {
        entries: here.entries,
        epoch: here.collecting.map(|collecting| collecting.epoch),
        places: collecting.places,
        rows: collecting.rows,
        waited: collecting.age / TICKS,
        mixing: here.mixing,
        ready: here.ready,
        ended: here.ended,
        convicted: here
            .convicted
            .into_iter()
            .map(|(server, deed)| Convicted { server, deed })
            .collect(),
        silent: here.silent,
        admitted: visitor.is_admitted(),
        message: message.map(|text| String::from_utf8_lossy(text).into_owned()),
        handed: own.is_some_and(|participant| participant.carries()),
        covers: own.is_some_and(|participant| participant.covers()),
        left_out: visitor.is_left_out(),
        is_in: own.is_some_and(|participant| participant.is_in()),
    })
}

pub fn entries(visitor: &Visitor, first: f64) -> String {
    let entry = |signed: &Arc<ostrakon_asynchromix::board::SignedEntry>| {
        let few = signed.entry.outcome == Outcome::TooFew;
        let messages = match &signed.entry.outcome {
            Outcome::Messages(messages) => &messages[..],
            Outcome::TooFew => &[],
        };
        let text = |message: &Vec<u8>| String::from_utf8_lossy(message).into_owned();
        EntryJson {
            epoch: signed.entry.epoch,
            accepted: signed.entry.sealed.len(),
            few,
            messages: messages.iter().map(text).collect(),
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "JavaScript counts like this")]
    let new = |number: u64| number as f64 >= first;
    let entries: Vec<EntryJson> =
        visitor.wall().filter(|signed| new(signed.entry.epoch)).map(entry).collect();
    json(&entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_asynchromix::{Card, Shape};
    use ostrakon_crypto::SigningKey;

    fn description() -> Description {
        let card = |i: u8| {
            let key = SigningKey::from_seed(&[i; 32]);
            Card::sign(&format!("s{i}"), &format!("http://s{i}.test"), &format!("s{i}:1"), &key)
        };
        Description {
            name: "Agora".into(),
            nonce: Digest([1; 32]),
            corrupt: 1,
            servers: (0..4).map(card).collect(),
            shape: Shape { rows: 16, payload: 40, minimum: 1, ticks: 100 },
            admitted: None,
        }
    }

    #[test]
    fn another_room_than_the_links_is_refused() {
        let text = serde_json::to_string(&description()).unwrap();
        let digest = description().room().unwrap().digest().to_hex();
        let room = MixRoom::new(&text, &digest).unwrap();
        assert!(room.about().contains(r#""seconds":5,"minimum":1,"open":true"#));
        assert!(MixRoom::new(&text, &"00".repeat(32)).is_err());
        assert!(MixRoom::new("{}", &digest).is_err());
    }

    #[test]
    fn a_device_goes_on_with_what_it_kept() {
        let text = serde_json::to_string(&description()).unwrap();
        let digest = description().room().unwrap().digest().to_hex();
        let room = MixRoom::new(&text, &digest).unwrap();
        let mut visitor = room.take_part(None, None).unwrap();
        visitor.say(b"hello".to_vec()).unwrap();
        let kept = kept(&mut visitor).unwrap();
        let again = room.take_part(Some(&kept), None).unwrap();
        assert_eq!(again.participant().unwrap().key(), visitor.participant().unwrap().key());
        assert!(here(&again).contains(
            r#""message":"hello","handed":false,"covers":false,"left_out":false,"in":false"#
        ));
        assert!(room.take_part(Some(&kept[1..]), None).is_err());
        assert!(room.take_part(None, Some("short")).is_err());
        assert_eq!(entries(&again, 0.0), "[]");
    }
}

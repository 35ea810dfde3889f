//! The driver against the scripts that every front end is played (`client/tests/traces`), and what
//! becomes of a message whose room asks for fewer people than before.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use futures::future::BoxFuture;
use ostrakon_client::{Follower, Http, Millis, Scene};
use ostrakon_crypto::Digest;
use ostrakon_mixing::RoomDescriptor;
use ostrakon_mixing::link::Link;
use ostrakon_mixing::room::Servers;
use ostrakon_party::SessionId;
use ostrakon_protocol::ServersInfo;
use tokio::time::Instant;

use super::*;
use crate::client::connection::driver::{Machine, Transport};
use crate::client::room::servers_of;
use crate::client::{Connection, http_client};

#[path = "../../../../client/tests/participant/script.rs"]
mod script;

use self::script::{Said, Sent, Trace};

/// Servers that answer by a script, in tokio's virtual time.
struct Scripted {
    began: Instant,
    trace: Arc<Trace>,
    sent: Mutex<Vec<Sent>>,
}

impl Scripted {
    fn elapsed(&self) -> Millis {
        self.began.elapsed().as_millis() as Millis
    }
}

impl Transport for Scripted {
    fn now(&self) -> Millis {
        self.trace.start + self.elapsed()
    }

    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)> {
        let (at, party) = (self.elapsed(), party.0);
        let Http { path, body } = request;
        let body = body.map(|body| body.text());
        let patience = patience.as_millis() as Millis;
        let (delay, status, answer) = self.trace.answer(at, party, &path, patience);
        self.sent.lock().unwrap().push(Sent { at, party, path, body });
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            (status, answer.into_bytes())
        })
    }
}

/// Plays a script to a machine, which `act` does something for.
async fn play<M: Machine>(
    scripted: Arc<Scripted>,
    machine: M,
    heard: impl Fn(&mut M, Millis, &Said),
    mut act: impl FnMut(&mut M, Millis, M::Other),
) -> Vec<Sent> {
    let trace = scripted.trace.clone();
    let mut driver = Driver::new(machine, scripted.clone());
    let mut statuses = trace.statuses.iter().peekable();
    while scripted.elapsed() < trace.lasts {
        while let Some(said) = statuses.next_if(|said| said.at <= scripted.elapsed()) {
            driver.happen(|machine, now| heard(machine, now, said));
        }
        while let Some(other) = driver.next_other() {
            driver.happen(|machine, now| act(machine, now, other));
        }
        let word = statuses.peek().map_or(trace.lasts, |said| said.at);
        let word = Duration::from_millis(word.saturating_sub(scripted.elapsed()));
        tokio::select! {
            () = driver.turn() => {}
            () = tokio::time::sleep(word) => {}
        }
    }
    let sent = std::mem::take(&mut *scripted.sent.lock().unwrap());
    sent.into_iter().filter(|sent| sent.at < trace.lasts).collect()
}

async fn play_trace(name: &str) -> (Arc<Trace>, Vec<Sent>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let trace: Arc<Trace> = Arc::new(serde_json::from_str(&text).unwrap());
    let scripted = Arc::new(Scripted {
        began: Instant::now(),
        trace: Arc::clone(&trace),
        sent: Mutex::default(),
    });
    let servers: ServersInfo = serde_json::from_value(trace.servers.clone()).unwrap();
    let servers = servers_of(&servers).unwrap();
    let scene = Arc::new(Scene::new(servers, trace.descriptor.clone()));
    let (key, seed) = (SigningKey::from_seed(&trace.key), Secret::new(trace.seed));
    if trace.message.is_empty() {
        let follower = Follower::new(scene, seed, trace.back);
        return (trace, play(scripted, follower, |_, _, _| {}, |_, _, _| {}).await);
    }
    let before = trace.before.map(PartyId);
    let machine = ostrakon_client::Participant::new(scene, key, seed, before);
    let mut outbox = Outbox::default();
    outbox.agree(trace.descriptor.minimum);
    outbox.put(trace.message.as_bytes().to_vec()).unwrap();
    let heard = |machine: &mut ostrakon_client::Participant, now, said: &Said| {
        let status = said.status.as_ref().map(|status| (status, now));
        machine.heard(now, PartyId(said.party), status);
    };
    let sent = play(scripted, machine, heard, |machine, now, action| {
        if let Action::Fill(context) = action {
            let epoch = context.epoch.number;
            let content = outbox.content_among(epoch, context.minimum);
            machine.filled(now, epoch, content.map_or(Filled::Nothing, Filled::Row));
        }
    });
    (trace, sent.await)
}

#[tokio::test(start_paused = true)]
async fn the_command_line_sends_what_the_scripts_say() {
    for name in script::NAMES {
        let (trace, sent) = play_trace(name).await;
        assert!(!trace.requests.is_empty());
        assert_eq!(sent, trace.requests, "{name}");
    }
}

/// Of a room whose servers do not answer; it has agreed to a minimum of 3.
fn among_three() -> Participant {
    let keys = (0..3).map(|party| SigningKey::from_seed(&[party + 1; 32]).verifying_key());
    let servers = Servers { session: SessionId(Digest([9; 32])), keys: keys.collect() };
    let descriptor = RoomDescriptor { payload: 32, capacity: 9, ..RoomDescriptor::new("r") };
    let origin = "http://127.0.0.1:1".to_owned();
    let (room, digest) = (descriptor.id(), servers.digest());
    let link = Link { origin: origin.clone(), room, servers: digest, invitation: None };
    let http = http_client().unwrap();
    let connections = (0..3).map(|_| Connection::new(http.clone(), &origin)).collect();
    let room = Room::new(link, servers, descriptor, connections, false);
    let mut participant = Participant::new(Arc::new(room), Some(b"a".to_vec()), None).unwrap();
    participant.outbox.agree(3);
    participant
}

fn handed_in(epoch: u64) -> News {
    News::HandedIn { epoch, message: false }
}

#[tokio::test]
async fn who_has_handed_in_waits_for_it_although_the_minimum_was_lowered() {
    let mut participant = among_three();
    assert!(matches!(participant.fill(4, 3), Filled::Row(Content::Message(_))));
    assert_eq!(participant.fill(5, 2), Filled::Row(Content::Cover));
    participant.tell(handed_in(5), &mut |_| ());
    participant.unless_eased().unwrap();
    participant.over = Some(4);
    assert!(participant.unless_eased().is_err(), "epoch 4 has ended without it");
}

#[tokio::test]
async fn who_has_not_handed_in_is_told_once_a_cover_is_in_that_the_minimum_was_lowered() {
    let mut participant = among_three();
    assert_eq!(participant.fill(5, 2), Filled::Row(Content::Cover));
    participant.unless_eased().unwrap();
    participant.tell(handed_in(5), &mut |_| ());
    let told = participant.unless_eased().unwrap_err().to_string();
    assert!(told.contains("lowered how many are enough") && told.contains("give the same command"));
}

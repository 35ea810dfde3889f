//! The driver against the scripts that every front end is played (`client/tests/traces`), and what
//! becomes of a message whose room asks for fewer people than before.

use std::path::Path;

use ostrakon_client::{Follower, Http, Millis, Scene, servers_of};
use ostrakon_crypto::Digest;
use ostrakon_mixing::RoomDescriptor;
use ostrakon_mixing::link::Link;
use ostrakon_mixing::room::Servers;
use ostrakon_party::SessionId;
use ostrakon_protocol::ServersInfo;

use super::*;
use crate::client::connection::driver::played::{Answering, play};
use crate::client::{Connection, http_client};

#[path = "../../../../client/tests/participant/script.rs"]
mod script;

use self::script::{Said, Sent, Trace};

/// Servers that answer by a script, and what was sent to them.
struct Answers {
    trace: Arc<Trace>,
    sent: Vec<Sent>,
}

impl Answering for Answers {
    fn answer(
        &mut self,
        at: Millis,
        party: u8,
        request: &Http,
        patience: Millis,
    ) -> (Millis, u16, String) {
        let (path, body) = (request.path.clone(), request.body.as_ref().map(|body| body.text()));
        let answer = self.trace.answer(at, party, &path, patience);
        self.sent.push(Sent { at, party, path, body });
        answer
    }
}

async fn play_trace(name: &str) -> (Arc<Trace>, Vec<Sent>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let trace: Arc<Trace> = Arc::new(serde_json::from_str(&text).unwrap());
    let servers: ServersInfo = serde_json::from_value(trace.servers.clone()).unwrap();
    let servers = servers_of(&servers).unwrap();
    let scene = Arc::new(Scene::new(servers, trace.descriptor.clone()));
    let (key, seed) = (SigningKey::from_seed(&trace.key), Secret::new(trace.seed));
    let (lasts, answers) = (trace.lasts, Answers { trace: Arc::clone(&trace), sent: Vec::new() });
    let time = (trace.start, lasts);
    let in_time = |sent: Vec<Sent>| sent.into_iter().filter(|sent| sent.at < lasts).collect();
    if trace.message.is_empty() {
        let follower = Follower::new(scene, seed, trace.back);
        let wishes: &[(Millis, ())] = &[];
        let answers = play(time, answers, follower, wishes, |_, _, ()| {}, |_, _, _| {}).await;
        return (trace, in_time(answers.sent));
    }
    let before = trace.before.map(PartyId);
    let machine = ostrakon_client::Participant::new(scene, key, seed, before);
    let mut outbox = Outbox::default();
    outbox.agree(trace.descriptor.minimum);
    outbox.put(trace.message.as_bytes().to_vec()).unwrap();
    let words: Vec<_> = trace.statuses.iter().map(|said| (said.at, said)).collect();
    let heard = |machine: &mut ostrakon_client::Participant, now, said: &&Said| {
        let status = said.status.as_ref().map(|status| (status, now));
        machine.heard(now, PartyId(said.party), status);
    };
    let answers = play(time, answers, machine, &words, heard, |machine, now, action| {
        if let Action::Fill(context) = action {
            let epoch = context.epoch.number;
            let content = outbox.content_among(epoch, context.minimum);
            machine.filled(now, epoch, content.map_or(Filled::Nothing, Filled::Row));
        }
    });
    let sent = in_time(answers.await.sent);
    (trace, sent)
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

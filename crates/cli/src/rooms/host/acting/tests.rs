use std::sync::Mutex;
use std::time::Duration;

use futures::future::BoxFuture;
use ostrakon_client::host::Claiming;
use ostrakon_client::{Http, Millis, Scene};
use ostrakon_crypto::SigningKey;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServersInfo;
use tokio::time::Instant;

use super::*;
use crate::client::connection::driver::{Machine, Transport};
use crate::client::room::servers_of;

#[path = "../../../../../client/tests/host/script.rs"]
mod script;

use self::script::{CLAIM, Exchange, HOSTS, Played, Script};

/// Servers that answer by a script, in tokio's virtual time.
struct Scripted {
    began: Instant,
    start: Millis,
    played: Mutex<Played>,
}

impl Scripted {
    fn elapsed(&self) -> Millis {
        self.began.elapsed().as_millis() as Millis
    }
}

impl Transport for Scripted {
    fn now(&self) -> Millis {
        self.start + self.elapsed()
    }

    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)> {
        let patience = patience.as_millis() as Millis;
        let answer =
            self.played.lock().unwrap().answer(self.elapsed(), party.0, &request, patience);
        Box::pin(async move {
            let Exchange { delay, status, answer, .. } = answer;
            tokio::time::sleep(Duration::from_millis(delay)).await;
            (status, answer.into_bytes())
        })
    }
}

fn script(name: &str) -> Script {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn scene(script: &Script) -> Arc<Scene> {
    let info: ServersInfo = serde_json::from_value(script.servers.clone()).unwrap();
    Arc::new(Scene::new(servers_of(&info).unwrap(), script.descriptor.clone()))
}

/// Plays a script to a machine: what it asks. Wishes are carried out by `act`, and what else is to
/// be done by `other`.
async fn play<M: Machine>(
    script: &Script,
    machine: M,
    act: impl Fn(&mut M, Millis),
    other: impl Fn(&mut M, Millis, M::Other),
) -> Vec<Exchange> {
    let played = Mutex::new(Played::new(&script.exchanges));
    let scripted = Arc::new(Scripted { began: Instant::now(), start: script.start, played });
    let mut driver = Driver::new(machine, Arc::clone(&scripted));
    let mut wishes = script.wishes.iter().peekable();
    while scripted.elapsed() < script.lasts {
        while wishes.next_if(|wish| wish.at <= scripted.elapsed()).is_some() {
            driver.happen(&act);
        }
        while let Some(action) = driver.next_other() {
            driver.happen(|machine, now| other(machine, now, action));
        }
        let wish = wishes.peek().map_or(script.lasts, |wish| wish.at);
        let wish = Duration::from_millis(wish.saturating_sub(scripted.elapsed()));
        tokio::select! {
            () = driver.turn() => {}
            () = tokio::time::sleep(wish) => {}
        }
    }
    let asked = std::mem::take(&mut scripted.played.lock().unwrap().asked);
    asked.into_iter().filter(|one| one.at < script.lasts).collect()
}

#[tokio::test(start_paused = true)]
async fn the_command_line_acts_as_the_scripts_say() {
    for name in HOSTS {
        let script = script(name);
        let scene = scene(&script);
        let (key, seed) = (SigningKey::from_seed(&script.key), Secret::new(script.seed));
        let servers = servers_of(&serde_json::from_value(script.servers.clone()).unwrap()).unwrap();
        let log = HostLog::new(&servers, &script.descriptor);
        let machine = host::Host::new(scene, key, log, false, seed);
        let act = |host: &mut host::Host<HostLog>, now| {
            host.act(now);
        };
        let asked = play(&script, machine, act, |host, now, action| match action {
            Action::Decide { deed } => {
                let wish = &script.wishes[usize::try_from(deed).unwrap()];
                host.decided(now, Some(wish.deed.clone()));
            }
            Action::Keep(_) => host.kept(now, true),
            Action::Tell(_) | Action::Ask(_) => {}
        });
        let asked = asked.await;
        assert!(asked.len() > 5);
        assert_eq!(asked, script.exchanges, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_command_line_takes_an_invitation_as_the_script_says() {
    let script = script(CLAIM);
    let [key, invitation] =
        [script.key, script.invitation.unwrap()].map(|seed| SigningKey::from_seed(&seed));
    let claiming = Claiming::new(scene(&script), &invitation, &key, Secret::new(script.seed));
    let asked = play(&script, claiming, |_, _| {}, |_, _, _| {}).await;
    assert!(asked.len() >= 3);
    assert_eq!(asked, script.exchanges);
}

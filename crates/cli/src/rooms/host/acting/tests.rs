use ostrakon_client::host::Claiming;
use ostrakon_client::{Millis, Scene, servers_of};
use ostrakon_crypto::SigningKey;
use ostrakon_protocol::ServersInfo;

use super::*;
use crate::client::connection::driver::Machine;
use crate::client::connection::driver::played::play;
use crate::host_script::{CLAIM, Exchange, HOSTS, Played, Script};

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
async fn asked<M: Machine>(
    script: &Script,
    machine: M,
    act: impl Fn(&mut M, Millis),
    other: impl Fn(&mut M, Millis, M::Other),
) -> Vec<Exchange> {
    let wishes: Vec<_> = script.wishes.iter().map(|wish| (wish.at, ())).collect();
    let (time, played) = ((script.start, script.lasts), Played::new(&script.exchanges));
    let played = play(time, played, machine, &wishes, |machine, now, ()| act(machine, now), other);
    played.await.asked.into_iter().filter(|one| one.at < script.lasts).collect()
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
        let asked = asked(&script, machine, act, |host, now, action| match action {
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
    let asked = asked(&script, claiming, |_, _| {}, |_, _, _| {}).await;
    assert!(asked.len() >= 3);
    assert_eq!(asked, script.exchanges);
}

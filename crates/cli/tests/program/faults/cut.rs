//! Two servers are cut off from each other: the third carries their messages, until the wire is
//! whole again.

use ostrakon_mixing::link::Link;

use super::moment::Moment;
use super::proxy::{Proxy, Wire};
use super::{Choices, records};
use crate::common::nightly;
use crate::common::servers::{PAUSE, Servers};
use crate::common::speakers::Speakers;

/// The pairs; the first of each connects to the second.
const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn epochs_go_on_while_two_servers_are_cut_off_from_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    let mut proxies = Vec::new();
    for (from, to) in PAIRS {
        let proxy = Proxy::to(servers.mesh_port(to)).await;
        lead_through(&servers, from, to, &proxy);
        proxies.push(proxy);
    }
    servers.start_all();
    servers.ready().await;
    let links = servers.room(1);
    let speakers = Speakers::start(3, &links);
    speakers.more(&servers, 1).await;

    let mut choices = Choices::new();
    let rounds = if nightly() { 5 } else { 1 };
    for round in 0..rounds {
        // One of the pairs is drawn; at night all have their turn.
        let drawn = choices.below(3) as usize;
        let all = PAIRS.iter().zip(&proxies).enumerate();
        for (_, (pair, proxy)) in all.filter(|(n, _)| nightly() || *n == drawn) {
            cut(&servers, *pair, proxy, &speakers, Wire::Broken).await;
            kill(&mut servers, &mut choices, *pair).await;
            speakers.more(&servers, 1).await;
            heal(&servers, *pair, proxy, &speakers).await;
        }
        let silent = choices.below(3) as usize;
        println!("round {round}: silence between {:?}", PAIRS[silent]);
        cut(&servers, PAIRS[silent], &proxies[silent], &speakers, Wire::Silent).await;
        heal(&servers, PAIRS[silent], &proxies[silent], &speakers).await;
    }
    finish(servers, speakers, &links).await;
}

/// Has one server look for another at a proxy.
fn lead_through(servers: &Servers, from: usize, to: usize, proxy: &Proxy) {
    servers.reconfigure(from, |config| {
        config.servers[to].address = format!("127.0.0.1:{}", proxy.port)
    });
}

/// Cuts a wire. Messages come through all the same.
async fn cut(
    servers: &Servers,
    pair: (usize, usize),
    proxy: &Proxy,
    speakers: &Speakers,
    wire: Wire,
) {
    let before = proxy.carried();
    assert!(before > 0, "{pair:?} are connected through the proxy");
    proxy.set(wire);
    speakers.more(servers, 1).await;
    assert_eq!(proxy.carried(), before, "nothing comes through");
}

/// Kills a server at one end of a cut wire, at any moment, and starts it again.
async fn kill(servers: &mut Servers, choices: &mut Choices, pair: (usize, usize)) {
    let victim = if choices.below(2) == 0 { pair.0 } else { pair.1 };
    let moment = Moment::ALL[choices.below(Moment::ALL.len() as u64) as usize];
    println!("no wire between {pair:?}; server {victim} killed at {moment:?}");
    let data = servers.data(victim);
    servers.in_time(&format!("{moment:?} comes at server {victim}"), moment.comes(&data)).await;
    servers.kill(victim).await;
    servers.start(victim);
}

/// Mends a wire; the servers use it again.
async fn heal(servers: &Servers, pair: (usize, usize), proxy: &Proxy, speakers: &Speakers) {
    let before = proxy.carried();
    proxy.set(Wire::Whole);
    let direct = async {
        while proxy.carried() == before {
            tokio::time::sleep(PAUSE).await;
        }
    };
    servers.in_time(&format!("{pair:?} find each other again"), direct).await;
    speakers.more(servers, 1).await;
}

async fn finish(mut servers: Servers, speakers: Speakers, links: &[Link]) {
    let spoken = speakers.end().await;
    let boards = servers.boards(&links[0]).await;
    boards.iter().for_each(|board| spoken.check(board));
    println!("{} messages in {} entries", spoken.len(), boards[0].entries.len());
    servers.stop_all().await;
    records::check(&servers, &boards).await;
}

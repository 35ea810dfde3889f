//! Measures how fast long messages travel between two parties over loopback.
//!
//! `cargo run --release -p ostrakon-net --example loopback [MiB per message] [messages]`

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_net::{Config, Identity, Mesh, Quota, Reach, Timing};
use ostrakon_party::{
    Channel, Header, Instance, InstanceKind, Message, PartyId, Recipient, Roster, SessionId, Step,
    Tag,
};
use tokio::net::TcpListener;
use tokio::time::Instant;

fn tag(sequence: u32) -> Tag {
    Tag {
        instance: Instance { kind: InstanceKind::Batch, scope: [0; 16], number: 0 },
        step: Step(0),
        sequence,
    }
}

fn message(session: SessionId, from: u8, sequence: u32, body: &Bytes) -> Message {
    // The digest is left out: what is measured is the channel, which does not look at it.
    let header = Header {
        session,
        tag: tag(sequence),
        from: PartyId(from),
        to: Recipient::One(PartyId(1 - from)),
        length: body.len() as u64,
        digest: Digest([0; 32]),
    };
    Message {
        signed: header.sign(&SigningKey::from_seed(&[from + 1; 32])),
        body: body.clone(),
        depth: 1,
    }
}

async fn meshes(session: SessionId) -> Vec<Arc<Mesh>> {
    let keys = (1..3).map(|i| SigningKey::from_seed(&[i; 32]).verifying_key()).collect();
    let roster = Arc::new(Roster { session, keys });
    let mut listeners = Vec::new();
    let mut addresses = BTreeMap::new();
    for i in 0..2 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be bound");
        addresses.insert(PartyId(i), listener.local_addr().expect("it is bound").to_string());
        listeners.push(listener);
    }
    let start = |(i, listener)| {
        let config = Config {
            id: PartyId(i),
            roster: Arc::clone(&roster),
            identity: Identity::from_seed(&[i + 1; 32]),
            listener,
            addresses: addresses.clone(),
            timing: Timing::default(),
            quota: Quota::default(),
        };
        Mesh::start(config).expect("the configuration is sound")
    };
    (0..).zip(listeners).map(start).collect()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>().expect("a number"));
    let mib = arguments.next().unwrap_or(32);
    let count = arguments.next().unwrap_or(64);
    let session = SessionId(Digest([0; 32]));
    let meshes = meshes(session).await;
    while meshes.iter().enumerate().any(|(i, m)| {
        m.peer_state(PartyId(1 - i as u8)).is_none_or(|peer| peer.reach != Reach::Direct)
    }) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let body = Bytes::from(vec![0x5a; mib as usize * 1024 * 1024]);
    let (a, b) = (meshes[0].channel(), meshes[1].channel());
    let limit = body.len() as u64;

    let begun = Instant::now();
    for sequence in 0..count {
        a.post(PartyId(1), message(session, 0, sequence, &body));
        assert_eq!(b.collect(PartyId(0), tag(sequence), limit).await.body.len(), body.len());
    }
    report("one way", mib * count, begun);

    let begun = Instant::now();
    for sequence in count..2 * count {
        a.post(PartyId(1), message(session, 0, sequence, &body));
        b.post(PartyId(0), message(session, 1, sequence, &body));
        let both = tokio::join!(
            b.collect(PartyId(0), tag(sequence), limit),
            a.collect(PartyId(1), tag(sequence), limit)
        );
        assert_eq!(both.0.body.len() + both.1.body.len(), 2 * body.len());
    }
    report("each way, both at once", mib * count, begun);

    let begun = Instant::now();
    let rounds = 2000;
    for sequence in 2 * count..2 * count + rounds {
        ping_pong(&a, &b, session, sequence).await;
    }
    let each = begun.elapsed() / rounds / 2;
    println!("short messages, one after another: {} µs each", each.as_micros());
}

async fn ping_pong(a: &Arc<dyn Channel>, b: &Arc<dyn Channel>, session: SessionId, sequence: u32) {
    let body = Bytes::from_static(&[1; 64]);
    a.post(PartyId(1), message(session, 0, sequence, &body));
    b.collect(PartyId(0), tag(sequence), 64).await;
    b.post(PartyId(0), message(session, 1, sequence, &body));
    a.collect(PartyId(1), tag(sequence), 64).await;
}

fn report(what: &str, mib: u32, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    println!("{what}: {:.2} GB/s", f64::from(mib) * 1_048_576.0 / seconds / 1e9);
}

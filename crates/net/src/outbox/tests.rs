use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::{Header, InstanceKind, Recipient, SessionId, SignedHeader, Step};

use super::*;
use crate::frame::{CHUNK, Kind, Leg, PREFIX, Part, Prefix};

fn tag(number: u64, sequence: u32) -> Tag {
    Tag {
        instance: Instance { kind: InstanceKind::Batch, scope: [0; 16], number },
        step: Step(0),
        sequence,
    }
}

fn message(tag: Tag, length: usize) -> Message {
    let header = Header {
        session: SessionId(Digest([0; 32])),
        tag,
        from: PartyId(0),
        to: Recipient::All,
        length: length as u64,
        digest: Digest([0; 32]),
    };
    let signed = SignedHeader { header, signature: Signature([0; 64]) };
    Message { signed, body: vec![1; length].into(), depth: 0 }
}

fn link(id: u64, via: Option<PartyId>) -> Active {
    Active { id, via, wake: Arc::default(), cancel: Arc::default() }
}

fn outbox() -> (Outbox, Arc<Retired>) {
    let retired = Arc::<Retired>::default();
    let mut outbox = Outbox::new(Arc::clone(&retired));
    outbox.activate(link(1, None));
    (outbox, retired)
}

fn want(tag: Tag, limit: u64, again: bool) -> Want {
    Want { tag, limit, again, known: None }
}

/// Takes everything: kind and length of each frame.
fn drain(outbox: &mut Outbox, id: u64) -> Vec<(Kind, usize)> {
    let mut frames = Vec::new();
    loop {
        let mut out = Vec::new();
        let chunk = outbox.take(id, &mut out);
        out.extend_from_slice(&chunk);
        if out.is_empty() {
            return frames;
        }
        let mut rest = &out[..];
        while let Some((prefix, after)) = rest.split_first_chunk::<PREFIX>() {
            let prefix = Prefix::decode(prefix).unwrap();
            frames.push((prefix.kind, prefix.length));
            rest = &after[prefix.length..];
        }
    }
}

fn kinds(outbox: &mut Outbox, id: u64) -> Vec<Kind> {
    drain(outbox, id).into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn short_messages_are_pushed_and_long_ones_and_offers_wait() {
    let (mut outbox, _) = outbox();
    outbox.post(message(tag(0, 0), 10), true);
    outbox.post(message(tag(0, 1), frame::SMALL + 1), true);
    outbox.post(message(tag(0, 2), 10), false);
    assert_eq!(kinds(&mut outbox, 1), [Kind::Whole]);
    outbox.wanted(want(tag(0, 1), u64::MAX, false));
    outbox.wanted(want(tag(0, 2), u64::MAX, false));
    assert_eq!(kinds(&mut outbox, 1), [Kind::Head, Kind::Whole, Kind::Chunk]);
}

#[test]
fn a_want_that_crossed_the_message_is_not_answered_twice() {
    let (mut outbox, _) = outbox();
    outbox.post(message(tag(0, 0), 10), true);
    outbox.wanted(want(tag(0, 0), 10, true));
    assert_eq!(kinds(&mut outbox, 1), [Kind::Whole]);
    outbox.wanted(want(tag(0, 0), 10, false));
    assert_eq!(kinds(&mut outbox, 1), []);
    outbox.wanted(want(tag(0, 0), 10, true));
    assert_eq!(kinds(&mut outbox, 1), [Kind::Whole]);
    // Sent on an earlier link counts for nothing.
    outbox.activate(link(2, None));
    outbox.wanted(want(tag(0, 0), 10, false));
    assert_eq!(kinds(&mut outbox, 1), []);
    assert_eq!(kinds(&mut outbox, 2), [Kind::Whole]);
}

#[test]
fn a_remembered_want_is_answered_when_the_message_is_posted() {
    let (mut outbox, _) = outbox();
    outbox.wanted(want(tag(0, 0), u64::MAX, false));
    outbox.post(message(tag(0, 0), CHUNK + 1), true);
    assert_eq!(kinds(&mut outbox, 1), [Kind::Head, Kind::Chunk, Kind::Chunk]);
    outbox.wanted(want(tag(0, 1), 9, false));
    outbox.post(message(tag(0, 1), frame::SMALL + 1), false);
    let frames = drain(&mut outbox, 1);
    assert!(
        matches!(frames[..], [(Kind::Whole, length)] if length < 256),
        "the header alone: {frames:?}"
    );
}

#[test]
fn of_a_body_that_the_peer_has_the_header_travels() {
    let (mut outbox, _) = outbox();
    let body = message(tag(0, 0), CHUNK);
    let known = Some(body.signed.header.digest);
    outbox.post(body, true);
    let other = Want { known: Some(Digest([1; 32])), ..want(tag(0, 0), u64::MAX, true) };
    outbox.wanted(other);
    assert_eq!(kinds(&mut outbox, 1), [Kind::Head, Kind::Chunk]);
    outbox.wanted(Want { known, ..other });
    let frames = drain(&mut outbox, 1);
    assert!(matches!(frames[..], [(Kind::Whole, length)] if length < 256), "{frames:?}");
    // Also when it is asked for before it is posted.
    outbox.wanted(Want { known, ..want(tag(0, 1), u64::MAX, false) });
    outbox.post(message(tag(0, 1), CHUNK), true);
    assert_eq!(kinds(&mut outbox, 1), [Kind::Whole]);
}

#[test]
fn remembered_wants_are_bounded() {
    let (mut outbox, _) = outbox();
    for sequence in 0..50_000 {
        outbox.wanted(want(tag(0, sequence), 1, true));
    }
    assert_eq!(outbox.wanted.len(), MAX_WANTED);
}

#[test]
fn insistent_wants_queue_one_copy() {
    let (mut outbox, _) = outbox();
    outbox.post(message(tag(0, 0), 10 * CHUNK), true);
    for _ in 0..1000 {
        outbox.wanted(want(tag(0, 0), u64::MAX, true));
    }
    assert_eq!((outbox.lane.len(), outbox.transfers.len()), (1, 1));
}

#[test]
fn long_messages_take_turns_and_short_ones_overtake() {
    let (mut outbox, _) = outbox();
    for sequence in 0..2 {
        outbox.wanted(want(tag(0, sequence), u64::MAX, false));
        outbox.post(message(tag(0, sequence), 2 * CHUNK), true);
    }
    let mut transfers = Vec::new();
    for turn in 0..4 {
        let mut out = Vec::new();
        if turn == 2 {
            outbox.post(message(tag(0, 9), 10), true);
        }
        assert_eq!(outbox.take(1, &mut out).len(), CHUNK);
        let chunk = *out.last_chunk::<PREFIX>().unwrap();
        transfers.push(Prefix::decode(&chunk).unwrap().argument);
        assert_eq!(
            out.len() > PREFIX,
            turn == 0 || turn == 2,
            "headers ahead, and the short message in between"
        );
    }
    assert_eq!(transfers, [0, 1, 0, 1]);
}

#[test]
fn what_is_relayed_is_bounded_per_sender_and_takes_the_direct_link_only() {
    let (mut outbox, _) = outbox();
    let relay = |length| {
        let part = Part::Data(vec![0; length].into());
        Relay { peer: PartyId(0), leg: Leg::Arrived, circuit: 0, part }
    };
    let mut accepted = 0;
    while outbox.push_relay(PartyId(1), relay(60_000)) {
        accepted += 60_000;
    }
    assert!(accepted <= FORWARDED && accepted > FORWARDED - 70_000, "{accepted}");
    assert!(outbox.push_relay(PartyId(2), relay(60_000)), "another sender has its own share");
    drain(&mut outbox, 1);
    assert!(outbox.push_relay(PartyId(1), relay(60_000)));
    outbox.activate(link(2, Some(PartyId(2))));
    assert!(!outbox.push_relay(PartyId(1), relay(1)));
}

#[test]
fn purging_forgets_what_is_kept_wanted_and_queued() {
    let (mut outbox, retired) = outbox();
    outbox.post(message(tag(1, 0), 10), true);
    outbox.wanted(want(tag(1, 1), 10, false));
    outbox.wanted(want(tag(1, 2), u64::MAX, false));
    outbox.post(message(tag(1, 2), 3 * CHUNK), true);
    outbox.post(message(tag(2, 0), 10), true);
    retired.insert(tag(1, 0).instance);
    outbox.purge(&tag(1, 0).instance);
    outbox.post(message(tag(1, 3), 10), true);
    outbox.wanted(want(tag(1, 4), 10, true));
    assert_eq!(kinds(&mut outbox, 1), [Kind::Whole]);
    assert_eq!((outbox.kept.len(), outbox.wanted.len()), (1, 0));
}

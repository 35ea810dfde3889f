use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::{Header, InstanceKind, PartyId, Recipient, SessionId, Step};

use super::*;

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

fn inbox(quota: Quota) -> (Inbox, Arc<Retired>) {
    let retired = Arc::<Retired>::default();
    (Inbox::new(Arc::clone(&retired), quota), retired)
}

const LONG: usize = 100_000;

#[test]
fn unasked_messages_fill_the_quota_and_no_more() {
    let (mut inbox, _) = inbox(Quota { bytes: 10 * (1000 + OVERHEAD), messages: 100 });
    for sequence in 0..50 {
        inbox.deliver(message(tag(0, sequence), 1000));
        inbox.deliver(message(tag(0, sequence), 1000));
    }
    assert_eq!((inbox.early_messages, inbox.slots.len()), (10, 10));
    let now = Instant::now();
    for sequence in 0..10 {
        let (mut receiver, want) = inbox.collect(tag(0, sequence), 1000, now);
        assert!(want.is_none());
        assert_eq!(receiver.try_recv().unwrap().body.len(), 1000);
    }
    assert_eq!((inbox.early_messages, inbox.early_bytes), (0, 0));
    // Something was dropped, so a copy is asked for although one may have been sent.
    let (_receiver, want) = inbox.collect(tag(0, 20), 1000, now);
    assert!(matches!(want, Some(Frame::Want(Want { again: true, limit: 1000, .. }))));
}

#[test]
fn empty_messages_count_too() {
    let (mut inbox, _) = inbox(Quota { bytes: 1 << 20, messages: 5 });
    for sequence in 0..50 {
        inbox.deliver(message(tag(0, sequence), 0));
    }
    assert_eq!(inbox.slots.len(), 5);
}

#[test]
fn retiring_gives_the_quota_back_and_later_arrivals_are_ignored() {
    let (mut inbox, retired) = inbox(Quota::default());
    inbox.deliver(message(tag(1, 0), 10));
    inbox.deliver(message(tag(2, 0), 10));
    let (mut waiting, _) = inbox.collect(tag(1, 1), 1 << 20, Instant::now());
    inbox.begin(7, 1, message(tag(1, 1), LONG).signed, 0, LONG as u64);
    let out = inbox.take(7, 1).unwrap();
    retired.insert(tag(1, 0).instance);
    inbox.purge(&tag(1, 0).instance);
    inbox.put_back(out);
    inbox.deliver(message(tag(1, 2), 10));
    assert_eq!((inbox.early_messages, inbox.early_bytes), (1, 10 + OVERHEAD));
    assert_eq!((inbox.slots.len(), inbox.assemblies.len()), (1, 0));
    assert!(matches!(waiting.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
}

#[test]
fn room_is_made_only_for_what_is_awaited() {
    let (mut inbox, _) = inbox(Quota::default());
    let signed = |sequence, length| message(tag(0, sequence), length).signed;
    inbox.begin(1, 1, signed(0, LONG), 0, LONG as u64);
    let (mut low, _) = inbox.collect(tag(0, 1), 99_999, Instant::now());
    inbox.begin(1, 2, signed(1, LONG), 0, LONG as u64);
    assert!(inbox.assemblies.is_empty());
    assert!(
        low.try_recv().unwrap().body.is_empty(),
        "what was signed is handed on without the body"
    );
    let (_enough, _) = inbox.collect(tag(0, 2), 100_000, Instant::now());
    inbox.begin(1, 3, signed(2, LONG), 0, LONG as u64);
    // A second announcement of the same does not take more.
    inbox.begin(1, 4, signed(2, LONG), 0, LONG as u64);
    assert_eq!(inbox.assemblies.len(), 1);
    assert_eq!(inbox.take(1, 3).unwrap().missing(), LONG);
}

#[test]
fn what_is_arriving_is_not_asked_for_until_its_link_is_lost() {
    let (mut inbox, _) = inbox(Quota::default());
    let now = Instant::now();
    let later = now + Duration::from_secs(10);
    let (_receiver, want) = inbox.collect(tag(0, 0), 1 << 20, now);
    assert!(matches!(want, Some(Frame::Want(Want { again: false, .. }))));
    assert!(inbox.ask_due(now).is_empty());
    assert_eq!(inbox.ask_due(later).len(), 1);
    inbox.begin(1, 1, message(tag(0, 0), LONG).signed, 0, LONG as u64);
    assert!(inbox.ask_due(later + Duration::from_secs(10)).is_empty());
    inbox.lose(1);
    assert!(inbox.assemblies.is_empty());
    assert_eq!(inbox.ask_all(later).len(), 1);
}

#[test]
fn a_second_wait_gets_another_copy_and_duplicates_are_dropped() {
    let (mut inbox, _) = inbox(Quota::default());
    let now = Instant::now();
    let (mut first, _) = inbox.collect(tag(0, 0), 10, now);
    inbox.deliver(message(tag(0, 0), 1));
    assert_eq!(first.try_recv().unwrap().body.len(), 1);
    inbox.deliver(message(tag(0, 0), 2));
    assert_eq!(inbox.early_messages, 0);
    let (mut second, want) = inbox.collect(tag(0, 0), 10, now);
    assert!(want.is_none() && inbox.ask_due(now).is_empty(), "not at full speed");
    assert!(matches!(inbox.ask_due(now + MAX_PAUSE)[..], [Frame::Want(Want { again: true, .. })]));
    inbox.deliver(message(tag(0, 0), 3));
    assert_eq!(second.try_recv().unwrap().body.len(), 3);
}

#[test]
fn what_a_cancelled_wait_was_handed_goes_to_the_next() {
    let (mut inbox, _) = inbox(Quota { bytes: 0, messages: 0 });
    let (mut first, _) = inbox.collect(tag(0, 0), 10, Instant::now());
    inbox.deliver(message(tag(0, 0), 4));
    let unread = first.try_recv().unwrap();
    inbox.give_back(unread);
    let (mut second, want) = inbox.collect(tag(0, 0), 10, Instant::now());
    assert!(want.is_none());
    assert_eq!(second.try_recv().unwrap().body.len(), 4);
}
